"""Recordings and replay pages of teams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl import ConfigError, DataError, Recorder, Role, StateError, parallel_env, play, raw_env, replay
from iglu_marl.agents import RandomArchitect, RandomBuilder
from iglu_marl.core.errors import AgentError
from iglu_marl.recording.offline import write_minari
from iglu_marl.recording.reading import read_recording
from iglu_marl.recording.values import checksum
from iglu_marl.rendering import ReplayRecorder

PLAIN = ("inventory", "compass", "dialog", "pose", "grid")
OPTIONS: dict[str, Any] = {
    "architects": 2, "builders": 3, "builder_can_ask": True, "builder_sees": PLAIN, "max_steps": 25,
    "sees": {"architect_0": ("half:north", "side:west")}, "hearers": {"builder_0": "architect_1"},
    "inventories": {"builder_1": {"red": 5}}, "rewards": "own",
}  # fmt: skip
POSES = [(0, 0, 1, 0, -60), (0, 0, -3, 180, -60), (2, 0, 2, 300, -50)]


def random_agents(env: Any) -> dict[str, Any]:
    made = {"a": RandomArchitect, "b": RandomBuilder}
    return {agent: made[agent[0]].for_env(env) for agent in env.possible_agents}  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [raw_env, parallel_env])
@pytest.mark.parametrize("chat", ["text", "tokens"])
def test_a_recorded_game_of_a_team_is_simulated_again(make: Any, chat: str, tmp_path: Path) -> None:
    turns = {"turn_steps": 4} if make is raw_env else {}
    env = make(**OPTIONS, chat=chat, **turns)
    page, path = ReplayRecorder(), tmp_path / "team.jsonl"
    with Recorder(path) as recorder:
        options: dict[str, Any] = {"pose": POSES}
        game = play(env, random_agents(env), seed=3, options=options, on_step=recorder)
        wrapped = recorder.wrap(make(**OPTIONS, chat=chat, **turns))
        play(wrapped, random_agents(env), seed=3, options=options)
    assert set(game.returns) == set(env.possible_agents)
    for episode in (0, 1):
        again = replay(path, episode=episode, on_step=page)
        assert (again.returns, again.dialogue, len(again.turns)) == (
            game.returns,
            game.dialogue,
            len(game.turns),
        )
        assert np.array_equal(again.grid, game.grid)
    header = read_recording(path)[0].header
    assert header["config"]["inventories"] == {"builder_1": [0, 0, 0, 0, 0, 5]}
    assert np.shape(header["pose"]) == (3, 5)
    assert np.shape(page.data["others"])[1:] == (2, 5)
    assert {speaker for speaker, _ in page.data["dialogue"]} <= {
        *(f"architect {k}" for k in range(2)), *(f"builder {k}" for k in range(3)),
    }  # fmt: skip


def test_what_another_builder_did_is_compared(tmp_path: Path) -> None:
    env = parallel_env(**OPTIONS)
    path = tmp_path / "team.jsonl"
    with Recorder(path) as recorder:
        play(env, random_agents(env), seed=3, on_step=recorder)
    lines = path.read_text(encoding="utf-8").splitlines()
    move = json.loads(lines[3])
    move["act"]["builder_2"] = {"act": 3, "say": ""}
    path.write_text("\n".join([*lines[:3], json.dumps(move), *lines[4:]]), encoding="utf-8")
    with pytest.raises(DataError, match="line 4"):
        replay(path)
    lines[3] = lines[3].replace("builder_2", "builder_x")
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match="no player"):
        read_recording(path, verify=False)


def test_the_checksum_covers_every_builder_and_the_dialogue() -> None:
    env = parallel_env(**OPTIONS)
    env.reset(seed=3, options={"pose": POSES})
    sums = [checksum(env.episode)]
    assert checksum(env.episode) == sums[0]
    for builder in range(3):
        env.episode.worlds.pose[builder, 0] += 1
        sums.append(checksum(env.episode))
    env.episode.dialogue = env.episode.dialogue.say(Role.ARCHITECT, "red")
    sums.append(checksum(env.episode))
    assert len({*sums}) == 5


def test_an_unfinished_game_of_a_team_resumes(tmp_path: Path) -> None:
    env = raw_env(**OPTIONS)
    path = tmp_path / "team.jsonl"
    with Recorder(path) as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=1)
        for _ in range(9):
            agent = wrapped.agent_selection
            wrapped.step("red" if agent[0] == "a" else {"act": 1, "say": ""})
    with Recorder(path) as recorder:
        again = recorder.resume()
    assert again.agent_selection == env.agent_selection
    assert np.array_equal(again.episode.worlds.state, env.episode.worlds.state)


def test_who_plays_in_a_team_is_named(tmp_path: Path) -> None:
    env = parallel_env(**OPTIONS)
    agents = random_agents(env)
    with pytest.raises(AgentError, match="lacks builder_2"):
        play(env, {agent: agents[agent] for agent in list(agents)[:-1]})
    with pytest.raises(AgentError, match="the key 'mason', expected architect_0, "):
        play(env, {**agents, "mason": agents["builder_0"]})
    path = tmp_path / "team.jsonl"
    with Recorder(path) as recorder:
        play(env, agents, seed=1, on_step=recorder)
    with pytest.raises(ConfigError, match="write_minari supports no teams yet"):
        write_minari(path, "iglu/team-v0")
    with pytest.raises(StateError, match="is over"), Recorder(path) as recorder:
        recorder.resume()
