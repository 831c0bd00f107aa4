"""The build zone: from cells to indices and back."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import (
    BLOCKS_PER_COLOR,
    COLOR_NAMES,
    MAX_CORNER,
    MIN_CORNER,
    ZONE_SHAPE,
    Color,
    cell_index,
    cells_of,
    grid_to_blocks,
    in_zone,
    index_of,
)
from iglu_marl.core.kernels import cells

EVERYWHERE = cells_of(np.ones(ZONE_SHAPE))


def test_colours_have_the_numbers_of_iglu() -> None:
    numbers = {"air": 0, "blue": 1, "yellow": 2, "green": 3, "orange": 4, "purple": 5, "red": 6}
    assert {color.name.lower(): color.value for color in Color} == numbers
    assert COLOR_NAMES == tuple(numbers)
    assert BLOCKS_PER_COLOR == 20
    assert ZONE_SHAPE == (9, 11, 11)


def test_the_corners_are_the_first_and_the_last_cell() -> None:
    assert tuple(EVERYWHERE[0]) == MIN_CORNER == (-5, -1, -5)
    assert tuple(EVERYWHERE[-1]) == MAX_CORNER == (5, 7, 5)


def test_every_cell_has_one_index_and_every_index_one_cell() -> None:
    grid = np.zeros(ZONE_SHAPE, np.int64)
    for number, cell in enumerate(EVERYWHERE.tolist(), start=1):
        assert in_zone(*cell)
        assert cell_index(*cell) == index_of(cell)
        grid[index_of(cell)] = number
        assert cells.flat_index(*cell) == number - 1
    assert (grid.ravel() == np.arange(1, 1090)).all()
    assert (grid[index_of(EVERYWHERE.T)] == np.arange(1, 1090)).all()


def test_cells_of_are_those_of_the_blocks() -> None:
    grid = np.random.default_rng(0).integers(0, 7, ZONE_SHAPE) * (
        np.random.default_rng(1).random(ZONE_SHAPE) < 0.1
    )
    assert sorted(map(tuple, cells_of(grid).tolist())) == [block[:3] for block in grid_to_blocks(grid)]
    assert cells_of(np.zeros(ZONE_SHAPE)).shape == (0, 3)


@pytest.mark.parametrize("cell", [(-6, 0, 0), (0, 8, 0), (0, -2, 0), (0, 0, 6)])
def test_a_cell_outside_has_no_index(cell: tuple[int, int, int]) -> None:
    assert not in_zone(*cell)
    assert not cells.in_zone(*cell)
    with pytest.raises(GridError, match="outside the build zone"):
        cell_index(*cell)
