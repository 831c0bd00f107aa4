"""What holds on to what, and which scaffolds lead to what floats; rays, bodies and constants of all planners."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Block, world_with

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid, index_of
from iglu_marl.core.kernels.records import CONTROL, FLYING, NO_CELL, PLACE_IN_THE_WAY, PLACE_OUTSIDE
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Pose
from iglu_marl.planning.kernels import CAMERA_DEG, SCAFFOLD
from iglu_marl.planning.raycast import blocked_by_body, cast_rays
from iglu_marl.planning.support import (
    AROUND,
    SIDES,
    carries,
    pillars,
    scaffold_for,
    scaffold_prices,
    supported_cells,
    touched_cells,
)

FULL = np.full(6, 20, np.int16)
TABLE: list[Block] = [(x, 2, z, 4) for x in (-1, 0, 1) for z in (-1, 0, 1)] + [(4, 3, 4, 1)]


def test_camera_steps_are_those_of_the_controls() -> None:
    assert CAMERA_DEG == CAMERA_STEP_DEG == Controls("flying").camera_limit


def test_support() -> None:
    filled = blocks_to_grid([(0, 3, 0, 1)]) != 0
    assert supported_cells(filled)[0].all()
    assert supported_cells(filled)[1:].sum() == 6
    assert touched_cells(filled)[1:].sum() == 26
    wanted = blocks_to_grid([(1, 3, 0, 1), (0, 3, 1, 2)]) != 0
    assert carries(filled, wanted, (0, 3, 0))
    assert not carries(filled, wanted & False, (0, 3, 0))
    held = filled | (blocks_to_grid([(2, 3, 0, 1), (0, 3, 2, 1)]) != 0)
    assert not carries(held, wanted, (0, 3, 0))


def built_up(grid: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """What stands when all that can be placed of the wanted cells is placed."""
    built = grid != 0
    while (ready := wanted & ~built & supported_cells(built)).any():
        built |= ready
    return built


@pytest.mark.parametrize("start", [[], [(0, y, 0, 1) for y in range(-1, 2)], [(4, 2, 4, 1)]])
def test_chains_of_scaffolds_lead_to_what_floats(start: list[Block]) -> None:
    """One scaffold after the other is placed where it holds, and there are no more of them than it takes."""
    grid, desired = np.array(blocks_to_grid(start)), blocks_to_grid(TABLE)
    floating = (desired != 0) & (grid == 0) & ~supported_cells(grid != 0)
    _, support = scaffold_prices(grid, desired != 0, np.array(SIDES), through=False)
    needed = int(support[floating].min()) // SCAFFOLD
    for left in range(needed, 0, -1):
        assert not (floating & supported_cells(grid != 0)).any(), left
        cell = scaffold_for(grid, desired, FULL)
        assert cell is not None
        assert supported_cells(grid != 0)[index_of(cell)]
        assert desired[index_of(cell)] == 0
        grid[index_of(cell)] = 6
    assert (floating & supported_cells(grid != 0)).any()


def test_no_scaffold_where_there_is_no_block_or_no_need() -> None:
    grid, desired = np.zeros((9, 11, 11), np.int8), blocks_to_grid([(0, 2, 0, 1)])
    assert scaffold_for(grid, desired, FULL) == (0, -1, 0)  # straight below, from the ground
    assert scaffold_for(grid, desired, np.zeros(6, np.int16)) is None
    assert scaffold_for(grid, desired, FULL, closed={(0, 2, 0)}) is None
    assert scaffold_for(grid, blocks_to_grid([(0, -1, 0, 1)]), FULL) is None
    diagonal = scaffold_for(grid, desired, FULL, links=AROUND)
    assert diagonal is not None
    assert diagonal[1] == -1


def test_pillars_hold_everything() -> None:
    desired = blocks_to_grid(TABLE)
    grid = np.zeros_like(desired)
    found = pillars(grid, desired)
    assert not found[desired != 0].any()
    wanted = (desired != 0) | found
    np.testing.assert_array_equal(built_up(grid, wanted), wanted)
    assert not pillars(grid, blocks_to_grid([(0, -1, 0, 1), (0, 0, 0, 1)])).any()


def test_rays_and_bodies_are_those_of_the_hands() -> None:
    worlds = world_with([(0, -1, -2, 3), (2, 1, 1, 4)], Pose(0.3, 0.9, 0.2, 0.0, 0.0))
    rng = np.random.default_rng(0)
    poses = np.concatenate(
        [np.tile(worlds.pose[0, :3], (700, 1)), rng.uniform((0, -90), (360, 90), (700, 2))], 1
    )
    hits, befores = cast_rays(worlds.grid[0], poses)
    control = np.zeros(1, CONTROL)
    control["place"], control["mode"] = 1, FLYING
    for pose, hit, before in zip(poses, hits, befores, strict=True):
        state = worlds.get_state()
        state["pose"][0] = pose
        step_at(state, 0, control, 0)
        assert (state["hit"][0] == hit).all()
        if hit[0] != NO_CELL:
            assert (state["before"][0] == before).all()
            in_way = bool(blocked_by_body(pose[None], before)[0])
            assert in_way == (state["event"][0] == PLACE_IN_THE_WAY) or state["event"][0] == PLACE_OUTSIDE
