"""`controls="cells"` and "cells-in-reach": equal in every view, recorded, under the rules of placing and breaking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import ActionError, AgentError, ConfigError, Controls, Pose, Recorder, Task, Worlds
from iglu_marl.agents import LLMBuilder, OracleBuilder, agents_for
from iglu_marl.agents.human.controls import InputMapper
from iglu_marl.agents.team import TeamBuilder
from iglu_marl.core.controls import at_rest
from iglu_marl.core.grid import MIN_CORNER, index_of
from iglu_marl.envs import VectorGame
from iglu_marl.envs.wrappers import align, discretize, mask
from iglu_marl.game.episode import EVENTS
from iglu_marl.recording import read_recording, replay

NAMES = ("cells", "cells-in-reach")
VECTOR = "IGLUGridworldVector-v0"
TASK = Task("", [(2, -1, -3, 6), (2, 0, -3, 1)], starting_grid=[(4, -1, 4, 3)], invariant=False)
OPTIONS: dict[str, Any] = {"task": TASK, "pose": (0.0, -0.25, 0.0, 0.0, -30.0)}
CHAT: dict[str, Any] = {"chat": "tokens", "vocabulary": 5, "max_message_length": 1, "dialog_length": 4}
END = np.array([0, 0, 0, 7])


def placed(name: str, cells: list[tuple[int, ...]], pose: Any, start: Any = None) -> list[str]:
    """What becomes of cells (x, y, z, color), one after the other."""
    worlds, controls, events = Worlds(1), Controls(name), []  # type: ignore[arg-type]
    worlds.spawn(0, Task("", [(5, 7, 5, 1)], starting_grid=start, invariant=False), pose=pose)
    for *cell, color in cells:
        worlds.step(controls.encode_batch([np.array([*index_of(cell), color])]))
        events.append(EVENTS[worlds.event[0]])
    assert worlds.pose[0].tolist() == list(pose)
    return events


def test_reach_is_what_the_hands_could_do_from_there() -> None:
    pose = (-5, -0.25, 0, 90, 0)
    far, near = (5, -1, 0, 1), (1, -1, 0, 1)
    assert placed("cells", [far, near], pose) == ["placed"] * 2
    assert placed("cells-in-reach", [far, near], pose) == ["place: nothing in reach", "placed"]
    wall = [(-3, y, z, 2) for y in range(-1, 5) for z in range(-5, 6)]
    behind = [(-1, -1, 0, 1), (-4, -1, 0, 1), (-4, 0, 1, 1)]
    assert placed("cells-in-reach", behind, pose, wall) == ["place: nothing in reach", "placed", "placed"]
    row = [(-2, -1, 0, 3), (-1, -1, 0, 3)]
    assert (
        placed("cells-in-reach", [(-1, -1, 0, 0), (-2, -1, 0, 0)], pose, row) == ["removed"] * 2
    )  # from above
    assert placed("cells-in-reach", [(-1, -1, 0, 0)], pose, wall + row) == ["remove: nothing in reach"]
    assert placed("cells-in-reach", [(-2, -1, 0, 4), (-2, -1, 0, 4)], pose, row) == ["placed", "nothing"]
    assert placed("cells-in-reach", [(-2, 1, 0, 4), (-5, -1, 0, 4)], pose) == [
        "place: nothing in reach",
        "place: builder in the way",
    ]


def test_what_can_be_reached_is_what_turning_and_using_the_hands_does() -> None:
    """Against many directions of gaze, with the kernel's own hands."""
    rng = np.random.default_rng(8)
    walking = Controls("human-level")
    still = dict.fromkeys(walking.space.spaces, 0)  # type: ignore[attr-defined]
    grid = np.zeros((9, 11, 11), np.int8)
    grid[tuple(rng.integers((0, 0, 0), (3, 11, 11), (40, 3)).T)] = 2
    grid[:3, 4:7, 4:7] = 0
    task = Task("", [(5, 7, 5, 1)], starting_grid=grid, invariant=False)
    looks = [(yaw, pitch) for yaw in range(0, 360, 2) for pitch in range(-80, 50, 2)]
    seen: set[tuple[int, ...]] = set()
    worlds = Worlds(len(looks))
    for i, (yaw, pitch) in enumerate(looks):
        worlds.spawn(i, task, pose=(0, 0.75, 0, yaw, pitch))
    worlds.step(walking.encode_batch([{**still, "camera": (0.0, 0.0), "use": 1}] * len(looks)))
    for i in np.flatnonzero(worlds.change[:, 3] != worlds.change[:, 4]):
        seen.add(tuple(worlds.change[i, :3].tolist()))
    assert len(seen) > 30
    cells = Controls("cells-in-reach")
    tries = [tuple(cell) for cell in (np.argwhere(grid[:5] == 0)[:, [1, 0, 2]] + MIN_CORNER).tolist()]
    worlds = Worlds(len(tries))
    for i in range(len(tries)):
        worlds.spawn(i, task, pose=(0, 0.75, 0, 0, 0))
    worlds.step(cells.encode_batch([np.array([*index_of(cell), 1]) for cell in tries]))
    reached = {cell for cell, event in zip(tries, worlds.event, strict=True) if EVENTS[event] == "placed"}
    assert len(seen & reached) > 0.9 * len(reached)  # a direction may fall between two of the grid of gazes
    assert len(seen & reached) > 0.8 * len(seen)  # or meet a face beside its middle


@pytest.mark.parametrize("name", NAMES)
def test_the_last_color_ends_the_turn_and_does_nothing(name: str) -> None:
    env = iglu_marl.raw_env(controls=name, tasks=TASK)
    env.reset(seed=0)
    env.step("")
    assert env.action_space("builder_0") == gym.spaces.MultiDiscrete([9, 11, 11, 8])
    assert at_rest(env.action_space("builder_0")).tolist() == END.tolist()
    hand = env.episode.worlds.active.tolist()
    env.step(np.array([0, 4, 4, 7]))
    assert env.agent_selection == "architect_0"
    assert env.infos["builder_0"]["event"] == "nothing"
    assert env.episode.worlds.active.tolist() == hand
    assert gym.make(VECTOR, action_space=name).action_space == gym.spaces.MultiDiscrete([9, 11, 11, 7])
    with pytest.raises(ActionError, match="expected 1 times four integers"):
        gym.make(VECTOR, action_space=name).unwrapped.setup.controls.encode([0, 0, 0, 7])
    with pytest.raises(ConfigError, match="in which the builder moves"):
        iglu_marl.env(controls=name, select_and_place=True)


MAKERS: dict[str, Any] = {
    "aec": iglu_marl.env,
    "parallel": iglu_marl.parallel_env,
    "single": lambda **more: gym.make(VECTOR, **more),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", MAKERS)
def test_games_are_recorded_and_replayed(name: str, view: str, tmp_path: Path) -> None:
    sees = {"builder_sees": ("grid", "pose", "dialog")}
    env = MAKERS[view](tasks=TASK, controls=name, max_steps=30, **sees)
    path = tmp_path / "games.jsonl"
    agents: Any = OracleBuilder.for_env(env) if view == "single" else agents_for(env, builder="oracle")
    with Recorder(path) as recorder:
        assert iglu_marl.play(env, agents, seed=0, on_step=recorder).builder_steps == 3
    assert replay(path).completed
    assert read_recording(path)[0].header["controls"]["name"] == name


def test_the_scripted_pair_builds_by_cells() -> None:
    env = iglu_marl.env(
        controls="cells", builder_can_ask=True, builder_sees=("grid", "pose", "dialog", "inventory")
    )
    start = {
        "task": Task("", [(3, -1, 3, 6), (3, 0, 3, 6), (4, -1, 3, 1)]),
        "pose": Pose(-5, -0.25, -5, 0, 0),
    }
    assert iglu_marl.play(env, agents_for(env), seed=0, options=start).completed


def test_agents_that_move_say_so() -> None:
    for maker in (LLMBuilder, TeamBuilder):
        with pytest.raises(AgentError, match=r"the game has controls='cells', and a \w+ moves"):
            maker.for_env(iglu_marl.env(controls="cells"))
    with pytest.raises(AgentError, match="keys move a builder"):
        InputMapper("cells")


def test_wrappers_keep_actions_on_cells() -> None:
    """`discretize` leaves them, `align` puts the message before the cell; there are too many of them to mask."""
    games = VectorGame(2, controls="cells", builder_sees=("grid", "dialog"), max_turns=None, **CHAT)
    wrapped = align(discretize(games))
    assert wrapped.action_space("builder_0").nvec.tolist() == [6, 9, 11, 11, 8]
    wrapped.reset(seed=0, options=OPTIONS)
    acts = np.array([[0, 0, 2, 3, 1]] * 2)
    wrapped.step({"architect_0": acts * 0, "builder_0": acts})
    assert games.worlds.grid[:, 0, 2, 3].tolist() == [1, 1]
    for env in (games, gym.make(VECTOR, action_space="cells")):
        with pytest.raises(ConfigError, match="no masks of cells"):
            mask(env)
