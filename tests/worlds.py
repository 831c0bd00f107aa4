"""What tests of planning share: worlds made of a few blocks, structures, and what plans lead to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid, color_id
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import Plan, plan
from iglu_marl.planning.problem import PlanLevel, planning_state
from iglu_marl.planning.simulation import step
from iglu_marl.planning.support import supported_cells

BOTH = pytest.mark.parametrize("controls", ["walking", "flying"])

Block = tuple[int, int, int, int]


def world_with(blocks: list[Block], pose: Pose | None = None) -> Worlds:
    """One world with these starting blocks."""
    worlds = Worlds(1)
    grid = blocks_to_grid(blocks)
    worlds.spawn(0, Task("", grid, starting_grid=grid), pose=pose)
    return worlds


def carry_out(worlds: Worlds, made: Plan) -> np.ndarray:
    """The grid after the plan's actions, by the encoding and kernel that every environment uses."""
    encoding, state = Controls(made.controls), worlds.get_state()  # type: ignore[arg-type]
    for action in made.actions:
        assert encoding.space.contains(action)
        records, index = encoding.encode(action)
        step_at(state, 0, records, index)
    return state["grid"][0]


def built(worlds: Worlds, edits: Any, controls: Any, level: PlanLevel = "shortest") -> Plan:
    """A plan that makes these edits and nothing else, and leaves the world that it is for alone."""
    before, wanted = worlds.get_state().tobytes(), np.array(worlds.grid[0])
    if isinstance(edits, np.ndarray):
        wanted = edits
    else:
        for x, y, z, color in edits:
            wanted[y + 1, x + 5, z + 5] = color
    made = plan(worlds, edits, controls, level)
    assert made.built, made.reason
    assert worlds.get_state().tobytes() == before
    np.testing.assert_array_equal(carry_out(worlds, made), wanted)
    return made


def replays(world: Any, actions: list[Any], controls: Any, desired: np.ndarray) -> bool:
    """Whether the actions, one by one, turn the world's grid into `desired`."""
    state = planning_state(world)
    for action in actions:
        step(state, controls, action)
    return bool(np.array_equal(state["grid"][0], desired))


def structure(rng: np.random.Generator, blocks: int = 8, levels: int = 3) -> np.ndarray:
    """A random structure without floating blocks, within two cells of a centre."""
    grid = np.zeros((9, 11, 11), np.int8)
    near = np.zeros(grid.shape, bool)
    x, z = rng.integers(1, 10, 2)
    near[:levels, max(0, x - 2) : x + 3, max(0, z - 2) : z + 3] = True
    for _ in range(int(rng.integers(1, blocks + 1))):
        free = np.argwhere(supported_cells(grid != 0) & near & (grid == 0))
        grid[tuple(free[rng.integers(len(free))])] = rng.integers(1, 7)
    return grid


def scenes(seed: int, count: int) -> Iterator[tuple[Worlds, np.ndarray]]:
    """Worlds with a few columns and a walker anywhere on the ground, and a grid with one cell other than there."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        world = Worlds(1)
        for x, z in rng.integers(0, 11, (rng.integers(6), 2)):
            world.grid[0, : rng.integers(1, 4), x, z] = rng.integers(1, 7)
        free = np.argwhere(~world.grid[0].any(0))
        (x, z), at = free[rng.integers(len(free))] - 5, tuple(rng.integers((3, 11, 11)))
        world.pose[0] = x, -0.25, z, 5.0 * rng.integers(72), 0.0
        target = world.grid[0].copy()
        target[at] = 0 if target[at] and number % 2 else 1 + (target[at] + rng.integers(5)) % 6
        yield world, target


def dev_structures(shared: Path) -> Iterator[tuple[str, np.ndarray]]:
    data = json.loads((shared / "data" / "structures-dev.json").read_text(encoding="utf-8"))
    names = {int(number): name for number, name in data["colours"].items()}
    for key, entry in data["structures"].items():
        blocks = [(x, y, z, color_id(names[c])) for x, y, z, c in entry["blocks"]]
        yield key, blocks_to_grid(blocks)
