"""The encodings of 2021: sliding through blocks, and hopping from cell to cell."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import replays

from iglu_marl import Pose
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.planning import plan
from iglu_marl.tasks import RandomTasks

EMPTY = np.zeros((9, 11, 11), np.int8)
TOWER = np.asarray(blocks_to_grid([(2, y, -1, 1 + y % 6) for y in range(-1, 8)]), np.int8)
ROOF = np.asarray(
    blocks_to_grid(
        [(x, y, z, 1) for x in (-2, 2) for z in (-2, 2) for y in (-1, 0, 1, 2)]
        + [(x, 3, z, 2) for x in (-2, -1, 0, 1, 2) for z in (-2, 2)]
    ),
    np.int8,
)
CONTROLS = ("discrete", "continuous")


@pytest.mark.slow
@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("target", [TOWER, ROOF], ids=["tower", "roof"])
def test_what_is_high_is_built_and_nothing_stays(controls, target):
    made = plan((EMPTY, Pose()), target, controls)
    assert made.built, made.reason
    space = Controls(controls).space
    assert all(space.contains(action) for action in made.actions)
    assert replays((EMPTY, Pose()), made.actions, controls, target)
    assert (
        made.scaffolds or controls == "continuous"
    )  # without a way through the air there is a stair for a time


@pytest.mark.parametrize("controls", CONTROLS)
def test_what_stands_is_changed_and_taken_away(controls):
    target = TOWER.copy()
    target[TOWER > 0] = 3
    target[5:] = 0
    made = plan((TOWER, Pose(0.0, 0.0, 0.0, 137.0, 20.0)), target, controls)
    assert made.built, made.reason
    assert replays((TOWER, Pose(0.0, 0.0, 0.0, 137.0, 20.0)), made.actions, controls, target)


@pytest.mark.parametrize("controls", CONTROLS)
def test_a_builder_that_is_walled_in_gets_to_work(controls):
    walls = [(x, y, z, 1) for x in (-1, 0, 1) for z in (-1, 0, 1) for y in (-1, 0) if (x, z) != (0, 0)]
    start = np.asarray(blocks_to_grid(walls), np.int8)
    target = start.copy()
    target[0, 9, 9] = 4
    made = plan((start, Pose()), target, controls)
    assert made.built, made.reason


CUBE = np.asarray(
    blocks_to_grid(
        [(x, y, z, 1 + (x + 2 * y + z) % 6) for x in (1, 2, 3) for y in (-1, 0, 1) for z in (1, 2, 3)]
    ),
    np.int8,
)


@pytest.mark.parametrize("controls", CONTROLS)
@pytest.mark.parametrize("raised", [0, 6], ids=["on the ground", "at the top"])
def test_the_inside_of_a_cube_is_recoloured(controls, raised):
    start = np.roll(CUBE, raised, axis=0)
    target = start.copy()
    target[1 + raised, 7, 7] = 4 - target[1 + raised, 7, 7] % 3
    made = plan((start, Pose()), target, controls, "fast")
    assert made.built, made.reason
    assert replays((start, Pose()), made.actions, controls, target)


@pytest.mark.parametrize("place", [(5, 5), (5, -5), (-5, 5), (-5, -5)])
def test_a_tower_in_a_corner_takes_a_stair_of_two_columns(place):
    x, z = place
    tower = np.asarray(blocks_to_grid([(x, y, z, 1 + y % 6) for y in range(-1, 8)]), np.int8)
    made = plan((EMPTY, Pose()), tower, "discrete", "fast")
    assert made.built, made.reason
    assert len(made) < 60
    assert len(made.scaffolds) < 16


def test_a_way_out_is_closed_behind_oneself():
    """Out of the block that one stands in; then each hole is closed from the next one, farther and farther out."""
    hill = {(x, y, z) for x in range(-3, 4) for y in (-1, 0, 1) for z in (-2, -1, 0, 1, 2)}
    crawl = {(x, -1, 0) for x in (0, 1, 2, 3)}
    start = np.asarray(
        blocks_to_grid([(*cell, 1 + n % 6) for n, cell in enumerate(sorted(hill - crawl))]), np.int8
    )
    target = start.copy()
    target[0, 5, 5] = 6
    made = plan((start, Pose()), target, "discrete", "fast")
    assert made.built, made.reason
    assert len(made) < 30


@pytest.mark.slow
@pytest.mark.parametrize("controls", CONTROLS)
def test_random_structures(controls):
    tasks = RandomTasks(max_blocks=12, height_levels=5)
    rng = np.random.default_rng(4)
    for _ in range(25):
        task = tasks.sample(rng)
        made = plan((task.start_grid, Pose()), task.target_grid, controls, "fast")
        assert made.built, (task.target_grid.nonzero(), made.reason)


@pytest.mark.parametrize("place", [(5, 0), (-5, 0), (0, 5), (0, -5)])
@pytest.mark.parametrize(("controls", "steps"), [("discrete", [4, 31]), ("continuous", [8, 8])])
def test_all_four_ways_are_equally_long(place, controls, steps):
    """Onto the ground at the other side (three hops and a placement), and onto a tower there."""
    x, z = place
    for height, expected in zip((-1, 6), steps, strict=True):
        start = blocks_to_grid([(-x, y, -z, 1) for y in range(-1, height)])
        target = start + blocks_to_grid([(-x, height, -z, 3)])
        made = plan((start, Pose(x, -0.25, z)), target, controls, "fast")
        assert len(made) == expected
