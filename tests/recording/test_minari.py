"""Offline datasets: what was recorded comes back from Minari."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from made_packs import (
    GAME_COLUMNS,
    cache,  # noqa: F401 - a fixture
    game,
    original_file,
    rebuilt_file,
    start_file,
    table,
    write_zip,
)
from recorded_lines import chained, lines_of
from requirements import require
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import (
    AgentError,
    ConfigError,
    DataError,
    IgluMarlError,
    MissingExtraError,
    Recorder,
    ReplayError,
    Role,
    Task,
)
from iglu_marl.agents import OracleBuilder, RandomArchitect, RandomBuilder, agents_for
from iglu_marl.cli import app
from iglu_marl.data import nearest_controls, read_action_log, trajectory_of
from iglu_marl.data.report import Report
from iglu_marl.recording import read_recording
from iglu_marl.recording.action_logs import LogSkip, write_action_logs
from iglu_marl.recording.offline import write_episodes, write_minari

pytestmark = pytest.mark.system

SEES = ("dialog", "inventory", "pose", "grid")
TASKS = [Task("", [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 2)]), Task("", [(-2, -1, 3, 4)], task_id="one")]
NAMES = {"architect": "scripted", "builder": "scripted"}


@pytest.fixture(autouse=True)
def minari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    installed = importlib.util.find_spec("minari") and importlib.util.find_spec("h5py")
    require("minari", installed, "Minari with HDF5 is not installed (pip install '.[minari]')")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    import minari

    return minari


def games(path: Path, make: Any = iglu_marl.raw_env, **options: Any) -> Path:
    """Two games of the scripted pair."""
    settings = {"controls": "flying", "builder_sees": SEES, "max_steps": 300, "message_cost": 0.25}
    env = make(**{**settings, **options})
    with Recorder(path, agents=NAMES) as recorder:
        for seed, task in enumerate(TASKS):
            iglu_marl.play(env, agents_for(env), seed=seed, options={"task": task}, on_step=recorder)
    return path


def at(values: Any, index: int) -> Any:
    if isinstance(values, dict):
        return {key: at(part, index) for key, part in values.items()}
    return values[index, ...] if isinstance(values, np.ndarray) and values.dtype != object else values[index]


def assert_equal(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, str):
        assert one == (other.decode() if isinstance(other, bytes) else other)
    else:
        np.testing.assert_array_equal(one, other)


class Watched:
    """An agent that keeps what it observes."""

    def __init__(self, agent: Any, seen: list[Any]) -> None:
        self.agent, self.seen, self.privileged = agent, seen, getattr(agent, "privileged", False)

    def act(self, observation: Any) -> Any:
        self.seen.append(observation)
        return self.agent.act(observation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)


@pytest.mark.parametrize("agent", ["builder_0", "architect_0"])
@pytest.mark.parametrize("chat", ["text", "tokens"])
@pytest.mark.parametrize("make", [iglu_marl.raw_env, iglu_marl.parallel_env], ids=["aec", "parallel"])
def test_both_parts_come_back(make: Any, chat: str, agent: str, tmp_path: Path, minari: Any) -> None:
    """Observations are those of the agent in the game; actions and rewards those of the recording."""
    path = tmp_path / "a.jsonl"
    env = make(chat=chat, controls="flying", builder_sees=SEES, max_steps=300, message_cost=0.25)
    role = Role(agent.removesuffix("_0"))
    seen: list[list[Any]] = []
    with Recorder(path, agents=NAMES) as recorder:
        for seed, task in enumerate(TASKS):
            pair = agents_for(env)
            seen.append([])
            pair[role] = Watched(pair[role], seen[-1])
            iglu_marl.play(env, pair, seed=seed, options={"task": task}, on_step=recorder)
    write_minari(path, "iglu/games-v0", agent=agent)
    episodes = list(minari.load_dataset("iglu/games-v0"))
    for episode, observed, recording in zip(episodes, seen, read_recording(path), strict=True):
        own = [move.actions[role] for move in recording.moves if role in move.actions]
        assert len(episode.rewards) == len(own) == len(observed) > 0
        for step, (observation, action) in enumerate(zip(observed, own, strict=True)):
            assert_equal(observation, at(episode.observations, step))
            kept = at(episode.actions, step)
            assert_equal(
                kept, {key: np.asarray(action[key]) for key in kept} if isinstance(kept, dict) else action
            )
        assert sum(episode.rewards) == pytest.approx(recording.end["returns"][role.value])
        assert episode.terminations.tolist() == [False] * (len(own) - 1) + [True]
        assert not episode.truncations.any()


def test_short_messages_are_followed_by_silence(tmp_path: Path, minari: Any) -> None:
    """Tokens come first, as in the dialogue, then zeros up to the length of the space."""
    env = iglu_marl.raw_env(tasks=TASKS[0], chat="tokens", max_message_length=6, turn_steps=1, max_turns=2)
    with Recorder(tmp_path / "a.jsonl") as recorder:
        game = recorder.wrap(env)
        game.reset(seed=1)
        for action in ([7, 3], 0, [], 0):
            game.step(np.array(action, np.int64))
    write_minari(tmp_path / "a.jsonl", "iglu/games-v0", agent="architect_0")
    (episode,) = minari.load_dataset("iglu/games-v0")
    assert episode.actions.tolist() == [[7, 3, 0, 0, 0, 0], [0] * 6]


def test_the_builders_rewards_and_sights_are_those_of_the_game(tmp_path: Path, minari: Any) -> None:
    """Against what `last()` told the builder while the game was recorded."""
    env = iglu_marl.raw_env(tasks=TASKS[0], controls="flying", builder_sees=SEES, step_cost=0.125)
    pair = agents_for(env)
    for role, agent in pair.items():
        agent.reset(role, 0)
    seen: list[tuple[Any, float]] = []
    with Recorder(tmp_path / "a.jsonl") as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=5)
        for name in wrapped.agent_iter():
            observation, reward, terminated, truncated, _ = wrapped.last()
            if name == "builder_0":
                seen.append((observation, reward))
            over = terminated or truncated
            wrapped.step(None if over else pair[Role(name.removesuffix("_0"))].act(observation))
    write_minari(tmp_path / "a.jsonl", "iglu/games-v0")
    (episode,) = minari.load_dataset("iglu/games-v0")
    assert len(seen) == len(episode.rewards) + 1 > 5
    for step, (observation, reward) in enumerate(seen):
        assert_equal(observation, at(episode.observations, step))
        if step:
            assert episode.rewards[step - 1] == reward


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "IGLUGridworldVector-v0",
            {"architect": RandomArchitect(0.2), "turn_steps": 5, "action_space": "flying"},
        ),
        (
            "IGLUGridworldVector-v0",
            {"architect": RandomArchitect(0.2, tokens=True), "turn_steps": 3, "chat": "tokens"},
        ),
        ("IGLUGridworld-v0", {"compat": "iglu2022", "target_in_obs": True}),
        ("IGLUGridworldVector-v0", {"discretize": False}),
        ("IGLUSilentBuilder-v0", {"action_space": "continuous"}),
        ("IGLUSilentBuilder-v0", {"compat": "iglu2021"}),
        ("IGLUSilentBuilderVisual-v0", {"action_space": "discrete", "pov_size": (24, 32)}),
    ],
)
def test_lone_builders_come_back(name: str, options: Any, tmp_path: Path, minari: Any) -> None:
    env = gym.make(name, tasks=TASKS, max_steps=40, **options)
    seen: list[list[Any]] = [[], []]
    with Recorder(tmp_path / "a.jsonl") as recorder:
        for seed in range(2):
            builder = Watched(RandomBuilder.for_env(env), seen[seed])
            iglu_marl.play(env, builder, seed=seed, on_step=recorder)
    dataset = write_minari(tmp_path / "a.jsonl", "iglu/lone-v0")
    assert (dataset.observation_space, dataset.action_space) == (env.observation_space, env.action_space)
    for episode, observed in zip(dataset, seen, strict=True):
        assert len(episode.rewards) == len(observed)
        for step, observation in enumerate(observed):
            assert_equal(observation, at(episode.observations, step))
        assert episode.truncations[-1] or episode.terminations[-1]


def test_another_look_at_the_same_games(tmp_path: Path) -> None:
    path = games(tmp_path / "a.jsonl")
    dataset = write_minari(path, "iglu/seen-v0", sees=("pov", "dialog"))
    (first, _) = dataset
    assert first.observations.keys() == {"pov", "dialog"}
    assert len(np.unique(first.observations["pov"].reshape(len(first.rewards) + 1, -1), axis=0)) > 3
    with pytest.raises(ConfigError, match="the target never reaches the builder this way"):
        write_minari(path, "iglu/none-v0", sees=("target_grid",))
    lone = gym.make("IGLUSilentBuilder-v0", tasks=TASKS, action_space="flying")
    with Recorder(tmp_path / "b.jsonl") as recorder:
        iglu_marl.play(lone, OracleBuilder.for_env(lone), seed=0, on_step=recorder)
    dataset = write_minari(tmp_path / "b.jsonl", "iglu/silent-v0", sees=("pov",))
    assert dataset.observation_space.keys() == {"pov", "inventory", "compass", "chat"}
    with pytest.raises(ConfigError, match="'target_grid', which this builder cannot see"):
        write_minari(tmp_path / "b.jsonl", "iglu/none-v0", sees=("target_grid",))


def test_a_version_that_changes_pictures_is_refused(
    tmp_path: Path, minari: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minari, "__version__", "0.5.3")
    with pytest.raises(DataError, match=r"Minari 0\.5\.3 changes pictures \(JPEG\), expected another"):
        write_minari(games(tmp_path / "a.jsonl"), "iglu/games-v0")
    assert not minari.list_local_datasets()


def test_files_are_joined_and_appended_to(tmp_path: Path, minari: Any) -> None:
    one, two = games(tmp_path / "a.jsonl"), games(tmp_path / "b.jsonl")
    write_minari([one, read_recording(two)[1]], "iglu/games-v0", author="me", description="Ours.")
    write_minari(two, "iglu/games-v0", append=True)
    dataset = minari.load_dataset("iglu/games-v0")
    told = list(dataset.storage.get_episode_metadata(range(5)))
    assert [row["file"] for row in told] == ["a.jsonl"] * 2 + ["b.jsonl"] * 3
    assert [row["task"] for row in told] == ["", "one", "one", "", "one"]
    assert all(row["completed"] for row in told)
    assert dataset.storage.metadata["description"] == "Ours."
    other = games(tmp_path / "c.jsonl", max_steps=299)
    with pytest.raises(ConfigError, match="has other"):
        write_minari(games(tmp_path / "d.jsonl", chat="tokens"), "iglu/games-v0", append=True)
    with pytest.raises(ConfigError, match="no dataset 'iglu/new-v0'"):
        write_minari(one, "iglu/new-v0", append=True)
    with pytest.raises(ConfigError, match="max_steps is 299, expected 300"):
        write_minari([one, other], "iglu/both-v0")
    assert minari.load_dataset("iglu/games-v0").total_episodes == 5


# ------------------------------------------------------------------------------------------------- broken off


def turn_came(path: Path, agent: str) -> bool:
    """Whether a cut game stands at the agent's turn."""
    stands: list[Any] = []
    iglu_marl.replay(path, on_step=stands.append)
    return bool(stands[-1].agent_selection == agent)


@pytest.mark.parametrize("agent", ["builder_0", "architect_0"])
@pytest.mark.parametrize("make", [iglu_marl.raw_env, iglu_marl.parallel_env], ids=["aec", "parallel"])
def test_games_broken_off_anywhere(make: Any, agent: str, tmp_path: Path) -> None:
    """Every observation is one that the game had; the last step is a truncation."""
    lines = games(tmp_path / "a.jsonl", make).read_text().splitlines(keepends=True)
    (first, second) = (number for number, line in enumerate(lines) if '"format"' in line)
    role = agent.removesuffix("_0")
    whole = write_minari(tmp_path / "a.jsonl", "iglu/whole-v0", agent=agent)[0]
    for cut in range(first + 2, second - 2, 3):  # at turns of both
        path = tmp_path / f"{cut}.jsonl"
        path.write_text("".join(lines[:cut]) + lines[cut][:20])
        acted = [role in json.loads(line)["act"] for line in lines[1:cut]]
        nexts = sum(acted) - 1 if make is iglu_marl.raw_env and not turn_came(path, agent) else sum(acted)
        known = max(nexts, 0)
        if known == 0:
            with pytest.raises(DataError, match="expected at least one"):
                write_minari(path, f"iglu/cut{cut}-v0", agent=agent)
            continue
        (episode,) = write_minari(path, f"iglu/cut{cut}-v0", agent=agent)
        count = len(episode.rewards)
        assert count == known
        assert episode.truncations.tolist() == [False] * (count - 1) + [True]
        for step in range(count + 1):
            assert_equal(at(episode.observations, step), at(whole.observations, step))
        assert episode.rewards.tolist() == whole.rewards[:count].tolist()


def test_a_world_edited_from_outside_is_refused(tmp_path: Path, minari: Any) -> None:
    """Its actions do not give its observations. Nothing is written, not even the games before it."""
    env = iglu_marl.raw_env(tasks=TASKS, builder_sees=SEES)
    with Recorder(tmp_path / "b.jsonl") as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=0)
        wrapped.step("one")
        env.edit([(3, -1, 3, 1)])
        wrapped.step(0)
    with pytest.raises(DataError, match="edited from outside"):
        write_minari([games(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"], "iglu/games-v0")
    assert not minari.list_local_datasets()


def test_what_does_not_come_back_is_not_written(tmp_path: Path, minari: Any) -> None:
    path = games(tmp_path / "a.jsonl")
    path.write_text(path.read_text().replace('"note":""', '"note":"x"'))
    with pytest.raises(DataError, match="line 1: the line was changed"):
        write_minari(path, "iglu/none-v0")
    path = games(tmp_path / "b.jsonl")
    lines = lines_of(path)
    lines[0]["pose"] = [0, 0, 0.25, 0, 0]
    path.write_bytes(chained(lines))
    with pytest.raises(ReplayError, match="line 1: at the start"):
        write_minari(path, "iglu/none-v0")
    assert not list((tmp_path / "datasets").rglob("*.hdf5"))
    with pytest.raises(ConfigError, match="refuses the dataset id 'iglu/none'"):
        write_minari(games(tmp_path / "c.jsonl"), "iglu/none")
    with pytest.raises(AgentError, match="no agent 'bob'"):
        write_minari(tmp_path / "c.jsonl", "iglu/none-v0", agent="bob")
    with pytest.raises(DataError, match="there is no recording"):
        write_minari([], "iglu/none-v0")


def test_a_dataset_that_fails_half_way_is_removed(tmp_path: Path, minari: Any) -> None:
    space = gym.spaces.Box(0, 1, (1,))
    good = {
        "observations": np.zeros((2, 1)),
        "actions": np.zeros((1, 1)),
        "rewards": [0.0],
        "terminations": [True],
        "truncations": [False],
    }

    def episodes() -> Iterator[dict[str, Any]]:
        yield good
        yield {**good, "observations": [object(), object()]}

    with pytest.raises(DataError, match="episode 1 cannot be stored"):
        write_episodes("iglu/half-v0", episodes(), space, space)
    assert "iglu/half-v0" not in minari.list_local_datasets()
    write_episodes("iglu/half-v0", [good], space, space)
    with pytest.raises(IgluMarlError, match="already exists"):
        write_episodes("iglu/half-v0", [good], space, space)
    assert minari.load_dataset("iglu/half-v0").total_episodes == 1


# --------------------------------------------------------------------------------------------------- the command


def test_the_command(tmp_path: Path, minari: Any) -> None:
    path = games(tmp_path / "a.jsonl")

    def invoke(*words: str) -> Any:
        return CliRunner().invoke(app, ["replay", *words, "--minari", "iglu/games-v0"])

    assert invoke(str(path), "--episode", "1").exit_code == 0
    done = invoke(str(path), str(path), "--append", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["dataset"]["dataset"] == "iglu/games-v0"
    assert told["dataset"]["episodes"] == 5
    assert len(told["episodes"]) == 4
    assert "a.jsonl, episode 1" in invoke(str(path), str(path), "--append").stdout
    assert minari.load_dataset("iglu/games-v0").total_episodes == 9
    path.write_text(path.read_text().replace('"state":"', '"state":"f', 1))
    assert invoke(str(path), "--append").exit_code == 1
    assert minari.load_dataset("iglu/games-v0").total_episodes == 9


# -- action logs


def tape_of(*lines: str, blocks: Any = ((0, 63, 0, 57),), **more: Any) -> bytes:
    return json.dumps({"worldEndingState": {"blocks": blocks}, "tape": "\n".join(lines), **more}).encode()


PLACE = (
    "2 set_look (-0.25, 0)",
    "3 action select_and_place_block 57 0 63 0 0 64 4 0 0 -1",
    "4 block_change  (0, 63, 0, 0, 57)",
)
WALK = ("9 pos_change (0.5, 63, 4)", "12 pos_change (1.5, 63.5, 3)")
TAPES = [
    ("pack/one", tape_of("1 pos_change (0, 63, 4)", *PLACE, *WALK)),
    ("pack/damaged", b"{"),
    ("pack/silent", tape_of(*PLACE)),
    ("pack/empty", tape_of(blocks=())),
    ("pack/walk", tape_of(*WALK, blocks=())),
]
WORDS = Task("<Architect> hi\n<Builder> ☃?\n<Architect> one blue", [(0, -1, 0, 1)], "one blue")


@pytest.mark.parametrize("processes", [1, 2])
def test_action_logs_come_back_with_their_words(processes: int, minari: Any) -> None:
    report: Report[LogSkip] = Report()
    tasks = {"pack/one": WORDS}
    write_action_logs(TAPES, "iglu/tapes-v0", tasks=tasks, report=report, processes=processes)
    assert [(skip.reason, skip.name) for skip in report.skipped] == [
        (LogSkip.DAMAGED, "pack/damaged"),
        (LogSkip.NOTHING_DONE, "pack/empty"),
        (LogSkip.NOTHING_BUILT, "pack/walk"),
    ]
    assert report.tasks == 2
    dataset = minari.load_dataset("iglu/tapes-v0")
    episodes = list(dataset)
    told = list(dataset.storage.get_episode_metadata(range(2)))
    assert [(each["name"], each["instruction"], each["dialog"]) for each in told] == [
        ("pack/one", "one blue", WORDS.dialog),
        ("pack/silent", "", ""),
    ]
    for episode, name, content in ((episodes[0], *TAPES[0]), (episodes[1], *TAPES[2])):
        sequence = nearest_controls(trajectory_of(read_action_log(content, name=name)))
        count = len(episode.rewards)
        assert count + int(told[0 if name == "pack/one" else 1]["actions_left_out"]) == len(sequence)
        for step, worlds in zip(range(count + 1), sequence.replay(), strict=False):
            np.testing.assert_array_equal(episode.observations["grid"][step], worlds.grid[0])
            np.testing.assert_array_equal(episode.observations["target_grid"][step], sequence.trajectory.end)
            seen = worlds.seen_pose[0].astype(np.float32)
            np.testing.assert_array_equal(episode.observations["agentPos"][step], seen)
        for key, values in episode.actions.items():
            np.testing.assert_array_equal(values, [action[key] for action in sequence.actions[:count]])
        assert episode.terminations[-1]
    assert set(episodes[0].observations["dialog"]) == {WORDS.dialog}
    assert told[0]["actions_left_out"] == 1 + len(WALK), "what follows when the target stands"
    assert sum(episodes[0].rewards) == 2, "a block that was asked for"


@pytest.mark.usefixtures("cache")
def test_a_pack_becomes_a_dataset(tmp_path: Path, minari: Any) -> None:
    files = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, [game(1)]),
        start_file("1-c7/step-2"): tape_of(blocks=()),
        original_file(1): TAPES[0][1],
        rebuilt_file(1): tape_of(*PLACE),
        rebuilt_file(2): b"version https://git-lfs.github.com/spec/v1\nsize 5\n",
    }
    path = write_zip(tmp_path / "iglu-singleturn.zip", files)
    words = ["data", "export", "iglu-singleturn", "--data", path, "--format", "minari", "-o", "iglu/p-v0"]
    words += ["--stride", 2]
    result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    facts = json.loads(result.stdout)
    assert (facts["episodes"], facts["left_out"]) == (2, {"nothing_done": 1, "damaged": 1})
    dataset = minari.load_dataset("iglu/p-v0")
    told = list(dataset.storage.get_episode_metadata(range(2)))
    assert {(each["name"], each["instruction"]) for each in told} == {
        (original_file(1), "instruction 1"),
        (rebuilt_file(1), "instruction 1"),
    }


def test_without_minari_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minari", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '.*\[minari\]'"):
        write_action_logs([], "iglu/none-v0")
