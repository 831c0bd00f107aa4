"""What cannot be built: reasons that are true, and none for what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from worlds import world_with

from iglu_marl import Subtasks, Task
from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.envs.aec import raw_env
from iglu_marl.language.goals import GoalTask
from iglu_marl.planning.feasibility import why_impossible
from iglu_marl.planning.problem import Problem

BOTH = pytest.mark.parametrize("controls", ["walking", "flying"])

# --- nothing that can be done is denied ---------------------------------------------------------------------


def games(controls: str, count: int, steps: int) -> Iterator[tuple[Worlds, np.ndarray, int]]:
    """Yield start, a grid that random acts reached from there, and after how many steps."""
    encoding = Controls(controls)  # type: ignore[arg-type]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        blocks = {
            tuple(int(v) for v in rng.integers((-3, -1, -3), (4, 3, 4))): int(rng.integers(1, 7))
            for _ in range(int(rng.integers(0, 9)))
        }
        pose = Pose(*rng.uniform((-4, 0, -4, 0, -80), (4, 3, 4, 360, 30)))
        start = world_with([(*cell, color) for cell, color in blocks.items()], pose)
        start.inventory[0] = rng.integers(-1, 4, 6)
        start.speed[0] = rng.choice([0.0, 3.0, -2.0])
        state, reached = start.get_state(), {start.grid[0].tobytes(): 0}
        for number in range(steps):
            records, index = encoding.encode(act(controls, encoding, rng, number))
            step_at(state, 0, records, index)
            key = state["grid"][0].tobytes()
            if key not in reached:
                reached[key] = number + 1
                yield start, state["grid"][0].copy(), number + 1


def act(controls: str, encoding: Controls, rng: np.random.Generator, number: int) -> Any:
    if controls == "walking":
        weights = np.array([1, 3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 3, 3, 2, 3, 4, 9.0])
        return int(rng.choice(18, p=weights / weights.sum()))
    return {
        "movement": rng.choice([-1, 0, 0, 1], 3).astype(np.float32),
        "camera": rng.uniform(-5, 5, 2).astype(np.float32),
        "inventory": int(rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 6])),
        "placement": int(rng.choice([0, 1, 1, 2])),
    }


@BOTH
def test_nothing_that_was_done_is_called_impossible(controls: Any) -> None:
    for start, grid, _ in games(controls, 60, 25):
        assert why_impossible(Problem.of(start, grid, controls)) == ("", 0)


# --- targets of games ---------------------------------------------------------------------------------------


SQUARE = [(x, -1, z, 1) for x in range(-2, 3) for z in range(-2, 3)]  # 25 blue blocks
ROW = [(x, -1, 5, 1) for x in range(-5, 5)] + [(x, -1, 4, 1) for x in range(-5, 5)]  # all 20 blue blocks
OVERDRAWN = [(x, 0, z, 1) for x in range(-5, 0) for z in range(5)]  # 25 blue blocks stand, held are -5
FLOATING = [(0, 2, 0, 5)]
GOAL = GoalTask("There is a red block.", target_grid=SQUARE)
STAGES = Subtasks(["a", "b"], [SQUARE[:3], SQUARE], progressive=True)


def two(**blocks: int) -> dict[str, Any]:
    return {"builders": 2, "inventories": {"builder_0": blocks, "builder_1": blocks}}


@pytest.mark.parametrize(
    ("task", "options", "reason"),
    [
        (Task("", SQUARE), {}, "25 to place, 20 in the inventory, 0 to come back"),
        (Task("", SQUARE[:20]), {}, ""),
        (Task("", [*SQUARE[:20], (0, 1, 0, 6)]), {}, ""),
        (Task("", SQUARE), {"controls": "human-level"}, "25 to place"),
        (Task("", SQUARE), {"completion": "cover"}, "25 to place"),
        (Task("", SQUARE), {"builders": 2}, ""),  # 20 each
        (Task("", SQUARE), two(blue=12), "25 to place, 24 in the inventory"),
        (Task("", SQUARE), two(blue=13), ""),
        (Task("", SQUARE[:8]), {"inventories": {"builder_0": {"blue": 7}}}, "8 to place, 7 in the inventory"),
        (Task("", [(0, -1, 0, 6)]), two(blue=20), "red blocks: 1 to place, 0 in the inventory"),
        # blocks that stand at the start come back when they are removed
        (Task("", SQUARE[:20], starting_grid=ROW), {}, ""),
        (Task("", SQUARE[:21], starting_grid=ROW), {}, "21 to place, 0 in the inventory, 20 to come back"),
        (Task("", [*ROW, (0, 0, 0, 1)], starting_grid=ROW), {}, "1 to place, 0 in the inventory, 0 to come"),
        (Task("", [*ROW, (0, 0, 0, 1)], starting_grid=ROW), {"completion": "cover"}, ""),  # one may move
        (Task("", [*ROW, (0, 0, 0, 1)], starting_grid=ROW, invariant=True), {}, "21 to place"),
        (Task("", SQUARE[:20], starting_grid=ROW, invariant=True), {}, ""),
        # more may stand than the builder can place
        (Task("", OVERDRAWN, starting_grid=[*OVERDRAWN, (5, -1, 5, 2)]), {}, ""),
        (Task("", OVERDRAWN[:24], starting_grid=OVERDRAWN), {}, ""),
        (Task("", [*OVERDRAWN[:19], (5, -1, 5, 1)], starting_grid=OVERDRAWN), {}, ""),
        (Task("", [*OVERDRAWN[:20], (5, -1, 5, 1)], starting_grid=OVERDRAWN), {}, "1 to place, 0 in the"),
        (Task("", SQUARE, starting_grid=OVERDRAWN, invariant=True), {}, ""),
        # digging away
        (Task("", [], starting_grid=OVERDRAWN), {}, ""),
        # the last block floats
        (Task("", FLOATING), {"inventories": {"builder_0": {"purple": 1}}}, "floats alone"),
        (Task("", FLOATING), {"inventories": {"builder_0": {"purple": 1, "red": 1}}}, ""),
        (Task("", FLOATING), two(purple=1), ""),
        # what has no target, and what comes later
        (GOAL, {}, ""),
        (STAGES[0], {}, "25 to place"),
        (Subtasks(["a", "b"], [SQUARE[:3], SQUARE])[0], {}, ""),
    ],
)
def test_what_a_game_allows_decides_whether_a_target_is_impossible(
    task: Task, options: dict[str, Any], reason: str
) -> None:
    env = raw_env(tasks=task, **options)
    env.reset(seed=0)
    found = env.unwrapped.episode.reason_impossible()
    assert reason in found
    assert bool(reason) == bool(found)


def test_what_can_be_done_now_is_judged_from_now() -> None:
    """A used-up colour comes back when a block of it is taken away."""
    env = raw_env(tasks=Task("", SQUARE[:20]))
    env.reset(seed=0)
    worlds = env.unwrapped.episode.worlds
    worlds.inventory[0, 0] = 19  # one block was lost
    assert "20 to place, 19 in the inventory" in env.unwrapped.episode.reason_impossible()
    worlds.grid[0, 5, 0, 0] = 1
    assert env.unwrapped.episode.reason_impossible() == ""
