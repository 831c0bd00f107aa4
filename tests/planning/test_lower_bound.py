"""Lower bounds are never above what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from worlds import Block, world_with

from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.kernels.step import step_at, step_many
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import lower_bound, plan
from iglu_marl.planning.lower_bound import Bound

BOTH = pytest.mark.parametrize("controls", ["walking", "flying"])

# --- against an exhaustive search ---------------------------------------------------------------------------

FIELDS = ("pose", "speed", "slices", "active", "inventory", "grid")


def shortest(worlds: Worlds, target: np.ndarray, limit: int) -> int | None:
    """Steps of the shortest walking plan, by trying every action in every state; None if above the limit."""
    table = Controls("walking").encode(0)[0][:18]
    states = worlds.get_state()[:1]
    seen: set[bytes] = set()
    for steps in range(limit + 1):
        if (states["grid"] == target).all(axis=(1, 2, 3)).any():
            return steps
        if steps == limit:
            return None
        grown = []
        for start in range(0, len(states), 512):
            many = np.repeat(states[start : start + 512], len(table))
            step_many(many, np.tile(table, len(many) // len(table)))
            keys = np.concatenate(
                [np.ascontiguousarray(many[f]).reshape(len(many), -1).view(np.uint8) for f in FIELDS], 1
            )
            fresh = []
            for number, key in enumerate(keys):
                if (known := key.tobytes()) not in seen:
                    seen.add(known)
                    fresh.append(number)
            grown.append(many[fresh])
        states = np.concatenate(grown)
    return None


TINY: dict[str, tuple[list[Block], Pose, list[Block], int]] = {
    "look down and place": ([], Pose(0, -0.25, 0, 0, -5), [(0, -1, -4, 1)], 5),
    "another colour": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 3)], 4),
    "two in a row": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 1), (0, -1, -1, 1)], 5),
    "two side by side": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -3, 1), (1, -1, -3, 1)], 5),
    "a step aside": ([], Pose(0.4, -0.25, 0, 0, -30), [(1, -1, -2, 1)], 4),
    "break": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -10), [], 4),
    "recolour": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -35), [(0, -1, -2, 4)], 5),
    "on top": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -5), [(0, -1, -2, 1), (0, 0, -2, 1)], 5),
    "to the left": ([], Pose(0, -0.25, 0, 315, -20), [(-3, -1, -2, 1)], 4),
}


@pytest.mark.parametrize("name", TINY)
def test_no_plan_is_shorter(name: str) -> None:
    blocks, pose, wanted, limit = TINY[name]
    worlds, target = world_with(blocks, pose), blocks_to_grid(wanted)
    found = shortest(worlds, target, limit)
    assert found is not None
    assert lower_bound(worlds, target, "walking").steps <= found
    made = plan(worlds, target, "walking")
    assert made.built
    assert found <= len(made) <= found + 2


# --- against whatever happens to be built -------------------------------------------------------------------


def games(controls: str, count: int, steps: int) -> Iterator[tuple[Worlds, np.ndarray, int]]:
    """(start, a grid that was reached, after so many steps): random acts from random starts."""
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
def test_no_bound_denies_what_was_done(controls: str) -> None:
    tight = checked = 0
    for start, grid, steps in games(controls, 60, 25):
        bound = lower_bound(start, grid, controls)  # type: ignore[arg-type]
        assert bound.steps <= steps, (bound, steps)
        checked += 1
        tight += bound.steps == steps
    assert checked > 60
    assert tight > 2


# --- its parts ----------------------------------------------------------------------------------------------


@BOTH
def test_nothing_to_do_takes_no_steps(controls: Any) -> None:
    assert lower_bound(world_with([(0, -1, 0, 1)]), [(0, -1, 0, 1)], controls) == Bound(0)


SCAFFOLDS: dict[str, tuple[list[Block], list[Block], int]] = {
    "on the ground": ([], [(0, -1, 0, 1)], 0),
    "floating": ([], [(0, 3, 0, 1)], 4),
    "joined by an edge": ([], [(0, 3, 0, 1), (1, 4, 1, 1)], 4),
    "the highest counts": ([], [(-5, 2, -5, 1), (5, 3, 5, 1)], 4),
    "one will do for both": ([], [(-1, 3, 0, 1), (1, 3, 0, 1)], 4),
    "beside a tower": ([(0, y, 0, 1) for y in range(-1, 6)], [(2, 3, 0, 1)], 1),
}


@BOTH
@pytest.mark.parametrize("name", SCAFFOLDS)
def test_scaffolds_to_what_floats(name: str, controls: Any) -> None:
    blocks, edits, scaffolds = SCAFFOLDS[name]
    bound = lower_bound(world_with(blocks), edits, controls)
    assert (bound.acts, bound.scaffolds) == (len(edits), 2 * scaffolds)


def test_acts_and_selects() -> None:
    tower = [(0, y, -3, 1 + (y > 0)) for y in range(-1, 6)]
    assert lower_bound(Worlds(1), tower, "walking") == Bound(7, selects=1)
    assert lower_bound(Worlds(1), tower, "flying") == Bound(7)
    recolour = lower_bound(world_with([(0, -1, 0, 1)]), [(0, -1, 0, 2)], "flying")
    assert recolour == Bound(2)
