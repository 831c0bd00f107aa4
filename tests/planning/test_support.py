"""What holds on to what, and which scaffolds lead to what floats."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Block

from iglu_marl.core.grid import blocks_to_grid, cells_of, index_of
from iglu_marl.planning.support import (
    AROUND,
    carries,
    neighbours,
    pillars,
    scaffold_for,
    shut_off,
    shuts_in,
    supported_cells,
    touched_cells,
)

FULL = np.full(6, 20, np.int16)
TABLE: list[Block] = [(x, 2, z, 4) for x in (-1, 0, 1) for z in (-1, 0, 1)] + [(4, 3, 4, 1)]


def test_support() -> None:
    filled = blocks_to_grid([(0, 3, 0, 1)]) != 0
    assert supported_cells(filled)[0].all()
    beside = [(-1, 3, 0), (0, 2, 0), (0, 3, -1), (0, 3, 1), (0, 4, 0), (1, 3, 0)]
    assert sorted(neighbours((0, 3, 0))) == beside
    assert [
        cell for cell in map(tuple, cells_of(supported_cells(filled)).tolist()) if cell[1] >= 0
    ] == sorted(beside, key=index_of)
    assert touched_cells(filled)[1:].sum() == 26
    wanted = blocks_to_grid([(1, 3, 0, 1), (0, 3, 1, 2)]) != 0
    assert carries(filled, wanted, (0, 3, 0))
    assert not carries(filled, wanted & False, (0, 3, 0))
    held = filled | (blocks_to_grid([(2, 3, 0, 1), (0, 3, 2, 1)]) != 0)
    assert not carries(held, wanted, (0, 3, 0))


def test_air_is_shut_off_where_no_way_leads_out() -> None:
    """Two cells of air in a box on the ground, with a chimney above the second one."""
    air = {(1, 0, 2), (2, 0, 2)}
    box = {(x, y, z) for x in (0, 1, 2, 3) for y in (-1, 0, 1, 2) for z in (1, 2, 3)} - air
    shut = blocks_to_grid([(*cell, 1) for cell in sorted(box)]) != 0
    assert shut_off(shut, (1, 0, 2)) == shut_off(shut, (2, 0, 2)) == air
    chimney = shut.copy()
    chimney[index_of((2, 1, 2))] = chimney[index_of((2, 2, 2))] = False
    assert shut_off(chimney, (1, 0, 2)) == shut_off(chimney, (2, 0, 2)) == set()
    assert shut_off(chimney, (1, 0, 2), closed=(2, 2, 2)) == air | {(2, 1, 2)}
    assert shuts_in(chimney, (2, 2, 2), {(1, 0, 2)})
    assert not shuts_in(chimney, (2, 2, 2), {(4, 4, 4)})
    assert not shuts_in(chimney, (4, -1, 2), {(1, 0, 2)})


def built_up(grid: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """What stands when all that can be placed of the wanted cells is placed."""
    built = grid != 0
    while (ready := wanted & ~built & supported_cells(built)).any():
        built |= ready
    return built


@pytest.mark.parametrize(
    ("start", "needed"), [([], 3), ([(0, y, 0, 1) for y in range(-1, 2)], 1), ([(4, 2, 4, 1)], 3)]
)
def test_chains_of_scaffolds_lead_to_what_floats(start: list[Block], needed: int) -> None:
    """One scaffold after the other is placed where it holds, and there are no more of them than it takes."""
    grid, desired = np.array(blocks_to_grid(start)), blocks_to_grid(TABLE)
    floating = (desired != 0) & (grid == 0) & ~supported_cells(grid != 0)
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
