"""Recordings of games whose world was edited from outside: they replay bit for bit, are marked, and not measured."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from recorded_lines import chained, lines_of

import iglu_marl
from iglu_marl import (
    AgentError,
    DataError,
    Recorder,
    ReplayError,
    StateError,
    Task,
    parallel_env,
    play,
    raw_env,
    replay,
)
from iglu_marl.agents import RandomArchitect, RandomBuilder, ScriptedArchitect, ScriptedBuilder
from iglu_marl.benchmark import find, make, run, verify
from iglu_marl.benchmark.games import judged
from iglu_marl.benchmark.results import checksum
from iglu_marl.data.iglu.writer import EpisodeRecorder
from iglu_marl.game.episode import WorldEdit
from iglu_marl.recording import read_recording, repair
from iglu_marl.rendering import ReplayRecorder

GRID = [(0, -1, -2, 6), (1, -1, -2, 1), (1, 0, -2, 2)]
SEES = ("dialog", "inventory", "pose", "grid")
PLAIN: dict[str, Any] = {"tasks": Task("", GRID), "builder_sees": SEES, "max_steps": 20}
TEAM = {**PLAIN, "builders": 2, "architects": 2, "inventories": {"builder_1": {"red": 5}}}


def lone(**options: Any) -> Any:
    return gym.make("IGLUGridworldVector-v0", tasks=PLAIN["tasks"], max_steps=20, **options)


GAMES: dict[str, Any] = {
    "aec": lambda: iglu_marl.env(**PLAIN, turn_steps=3),
    "parallel": lambda: parallel_env(**PLAIN),
    "single": lone,
    "2022": lambda: lone(compat="iglu2022"),
    "architect": lambda: lone(architect=ScriptedArchitect(), turn_steps=4),
    "team": lambda: raw_env(**TEAM),
    "parallel team": lambda: parallel_env(**TEAM),
}
EVERY = pytest.mark.parametrize("name", GAMES)


def agents(env: Any) -> Any:
    if isinstance(env, gym.Env):
        return RandomBuilder.for_env(env)
    kinds = {"a": RandomArchitect, "b": RandomBuilder}
    return {agent: kinds[agent[0]].for_env(env) for agent in env.possible_agents}  # type: ignore[attr-defined]


class Editing:
    """Edits the world after some moves, and hands each moment on."""

    def __init__(self, recorder: Any = None) -> None:
        self.recorder, self.moves, self.states = recorder, -1, []

    def follow(self, trajectory: Any) -> None:
        if self.recorder is not None:
            self.recorder.follow(trajectory)

    def __call__(self, env: Any) -> None:
        if self.recorder is not None:
            self.recorder(env)
        self.moves += 1
        self.states.append(env.unwrapped.episode.worlds.state.tobytes())
        if any(env.unwrapped.episode.ended):
            return
        if self.moves in (0, 5, 6):
            env.unwrapped.edit([(3, -1, 3, self.moves), (0, -1, -2, 3)])
            env.unwrapped.edit([(2, -1, 3, 6), (0, -1, -2, 0)], builder=env.unwrapped.episode.agents[-1])


@EVERY
def test_a_recorded_edit_replays_bit_for_bit(name: str, tmp_path: Path) -> None:
    env, path = GAMES[name](), tmp_path / "game.jsonl"
    with Recorder(path) as recorder:
        editing = Editing(recorder)
        game = play(env, agents(env), seed=3, on_step=editing)
    states: list[bytes] = []
    again = replay(
        path,
        on_step=[lambda env: states.append(env.episode.worlds.state.tobytes()), page := ReplayRecorder()],
    )
    assert states == editing.states
    assert (again.edits, again.returns, again.intersection) == (6, game.returns, game.intersection)
    assert np.array_equal(again.grid, game.grid)
    (recording,) = read_recording(path)
    assert [len(move.edits) for move in recording.moves[:7]] == [2, 0, 0, 0, 0, 2, 2]
    assert recording.edits == recording.end["edits"] == 6  # type: ignore[index]
    assert recording.moves[0].edits[0] == WorldEdit(
        ((0, -1, -2, 3),), "builder_0"
    )  # the other cell was air already
    assert page.data["moments"] == len(editing.states)


def test_an_unfinished_game_resumes_after_its_last_edit(tmp_path: Path) -> None:
    env, path = raw_env(**PLAIN), tmp_path / "game.jsonl"
    with Recorder(path) as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=0)
        wrapped.step("one")
        env.edit(GRID[:1])
        wrapped.step(0)
        env.edit(GRID[1:2])
    assert [edit.blocks for edit in read_recording(path)[0].last_edits] == [tuple(GRID[1:2])]
    with Recorder(path) as recorder:
        again = recorder.resume()
        assert np.array_equal(again.episode.worlds.state, env.episode.worlds.state)
        wrapped = recorder.wrap(again)
        again.edit([(3, -1, 3, 4)])
        wrapped.step(0)
    assert replay(path).edits == 3
    assert [len(move.edits) for move in read_recording(path)[0].moves] == [0, 1, 2]


def test_the_edits_of_a_game_broken_off_stay_in_it(tmp_path: Path) -> None:
    env, path = raw_env(**PLAIN), tmp_path / "game.jsonl"
    with Recorder(path) as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=0)
        env.edit(GRID[:1])
        wrapped.reset(seed=1)
        wrapped.step("two")
    first, second = read_recording(path)
    assert (first.edits, len(first.moves), second.edits, len(second.moves)) == (1, 0, 0, 1)
    assert replay(path).edits == 1
    assert replay(path, episode=1).edits == 0


def test_an_edit_before_the_recording_is_refused(tmp_path: Path) -> None:
    env = raw_env(**PLAIN)
    env.reset(seed=0)
    env.edit(GRID[:1])
    with Recorder(tmp_path / "game.jsonl") as recorder, pytest.raises(StateError):
        recorder.begin(env, 0)


def edited(path: Path) -> Path:
    env = parallel_env(**PLAIN)
    with Recorder(path) as recorder:
        play(env, agents(env), seed=3, on_step=Editing(recorder))
    return path


def changed(path: Path, change: Any) -> Path:
    """Change the second edit, with a right hash chain."""
    lines = lines_of(path)
    change([line for line in lines if "edit" in line][1])
    path.write_bytes(chained(lines))
    return path


def test_another_edit_is_a_difference(tmp_path: Path) -> None:
    assert replay(changed(edited(tmp_path / "same.jsonl"), lambda line: None)).edits == 6
    path = changed(edited(tmp_path / "a.jsonl"), lambda line: line["edit"][1].__setitem__(3, 2))
    with pytest.raises(ReplayError):
        replay(path)
    path = changed(edited(tmp_path / "b.jsonl"), lambda line: line.update(builder="builder_7"))
    with pytest.raises(ReplayError, match="builder_7"):
        replay(path)
    path = edited(tmp_path / "c.jsonl")
    path.write_text(path.read_text().replace('"edit":[[', '"edit":[[0,', 1))
    with pytest.raises(DataError):
        read_recording(path)
    kept = repair(path)
    assert kept.damaged is not None


@pytest.mark.parametrize(
    "value", [{"edit": 3}, {"edit": [[1, 2]]}, {"edit": [3]}, {"builder": 5}, {"edit": [[0, 0, 0, 9]]}]
)
def test_a_line_that_is_no_edit_is_refused(value: Any, tmp_path: Path) -> None:
    path = changed(edited(tmp_path / "a.jsonl"), lambda line: line.update(value))
    with pytest.raises((DataError, ReplayError)):
        replay(path)


def test_exports_of_actions_refuse_edited_games(tmp_path: Path) -> None:
    path = edited(tmp_path / "a.jsonl")
    session = EpisodeRecorder()
    replay(path, on_step=session)
    with pytest.raises(DataError, match="edited from outside"):
        session.session("1-bridge")


# --------------------------------------------------------------------------------------------------- not measured


class Helpful(ScriptedBuilder):
    """Gets some of its blocks from outside, and then acts, or fails."""

    env: Any = None
    fails = False

    @classmethod
    def for_env(cls, env: Any) -> Any:
        made = super().for_env(env)
        made.env = env
        return made

    def act(self, observation: Any) -> Any:
        if not self.env.unwrapped.episode.edits:
            self.env.unwrapped.edit(self.env.unwrapped.episode.task.target_grid)
            if self.fails:
                raise RuntimeError("after the edit")
        return super().act(observation)


class Failing(Helpful):
    """Raises after the edit."""

    fails = True


@pytest.mark.parametrize("on_error", ["raise", "count"])
@pytest.mark.parametrize("builder", [Helpful, Failing])
def test_an_evaluation_refuses_edited_games(builder: Any, on_error: str) -> None:
    error = RuntimeError if builder is Failing and on_error == "raise" else AgentError
    with pytest.raises(error):
        iglu_marl.evaluate("scripted", builder, PLAIN["tasks"], on_error=on_error, progress=False)


def test_the_benchmark_refuses_edited_games() -> None:
    level = find("see-ground-v2")
    env = make(level)

    class Edits:
        """Edits the world of its game."""

        def reset(self, role: Any, seed: int | None) -> None:
            self.done = False

        def act(self, observation: Any) -> Any:
            if not self.done:
                env.unwrapped.edit([(3, -1, 3, 1)])
            self.done = True
            return 0

        def close(self) -> None: ...

    with pytest.raises(AgentError):
        judged(level, env, {"builder": Edits()}, level.tasks("train").sample(np.random.default_rng(0)), 0)


@pytest.mark.parametrize("edit", ['"edit":[[3,-1,3,1]],', '"edit":[],'])
def test_the_benchmark_does_not_verify_a_game_with_an_edit(edit: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    run("see-ground-v2", ["random"], episodes=2, controls=False, output=path, record=True)
    games = path.with_suffix(".games.jsonl")
    games.write_bytes(games.read_bytes().replace(b"{", b"{" + edit.encode(), 1))
    result = json.loads(path.read_text("utf-8"))
    result["recordings"]["sha256"] = hashlib.sha256(games.read_bytes()).hexdigest()
    result["checksum"] = checksum(result)
    path.write_text(json.dumps(result), "utf-8")
    with pytest.raises(DataError, match="cannot be replayed"):
        verify(path)
