"""The order in which an architect asks for edits."""

from __future__ import annotations

import numpy as np
from worlds import BOTH, structure

from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.support import shut_off, supported_cells


@BOTH
def test_the_order_makes_all_edits_and_each_is_supported(controls: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        start, target = structure(rng, 15), structure(rng, 15)
        grid = start.copy()
        for edit in order_edits(start, target, controls):
            at = (edit.y + 1, edit.x + 5, edit.z + 5)
            if edit.color:
                assert grid[at] == 0
                assert supported_cells(grid != 0)[at], (seed, edit)
            else:
                assert grid[at] != 0
            grid[at] = edit.color
        np.testing.assert_array_equal(grid, target)


def test_the_order_fills_the_inside_first() -> None:
    cube = [(x, y, z, 1 + (x + y + z) % 6) for x in (0, 1, 2) for y in (-1, 0, 1) for z in (0, 1, 2)]
    ordered = [edit.cell for edit in order_edits(np.zeros((9, 11, 11)), blocks_to_grid(cube), "walking")]
    around = [
        (1 + dx, 0 + dy, 1 + dz) for dx, dy, dz in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0))
    ]
    assert ordered.index((1, 0, 1)) < max(ordered.index(cell) for cell in around)


def test_what_floats_inside_comes_before_the_last_wall() -> None:
    box = [(x, y, z) for x in range(-2, 3) for y in range(-1, 4) for z in range(-2, 3)]
    shell = [(*cell, 1) for cell in box if max(abs(cell[0]), abs(cell[1] - 1), abs(cell[2])) == 2]
    grid = np.zeros((9, 11, 11), np.int8)
    for edit in order_edits(grid, blocks_to_grid([*shell, (0, 1, 0, 6)]), "walking"):
        if edit.cell == (0, 1, 0):
            break
        grid[edit.y + 1, edit.x + 5, edit.z + 5] = edit.color
    assert shut_off(grid != 0, (0, 1, 0)) == set(), "the air around it leads out"
