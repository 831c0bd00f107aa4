"""The views with axes: which pixels show a block, what hangs over air, and the board."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.rendering.axes import SIDE, axes_view
from iglu_marl.rendering.colors import BOARD, DIM, INK, PALE
from iglu_marl.rendering.palette import SHADE_TOP, SHADE_X, SHADE_Z, block_color

BLUE, RED = 1, 6
CELLS = [(0, 0), (3, -2), (-4, 1), (5, 5), (-5, -5)]


def pixel(view: np.ndarray, side: int, x: float, height: float, z: float) -> tuple[int, ...]:
    """The colour of a point in one of both views (1: from the south-east, the left one), by the scale of the page."""
    column = 256 + side * (x - z) * 21
    row = 327.68 + side * (x + z) * 10.5 - height * 22
    part = view[:, :SIDE] if side == 1 else view[:, SIDE:]
    return tuple(part[round(row), round(column)].tolist())


def around(view: np.ndarray, side: int, x: float, height: float, z: float) -> set[tuple[int, ...]]:
    """The colours within a pixel of a point: lines are one or two pixels wide."""
    across, down = 1 / 42, 1 / 21  # of a pixel, in cells
    return {
        pixel(view, side, x + side * (i * across + j * down), height, z + side * (j * down - i * across))
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
    }


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("x", "z"), CELLS)
def test_a_block_on_the_ground(side: int, x: int, z: int) -> None:
    view = axes_view(blocks_to_grid([(x, -1, z, RED)]))
    assert (view.shape, view.dtype) == ((512, 1024, 3), np.uint8)
    # Beside the number in the middle of the upper face; the faces that are turned to the viewer.
    for dx, dz in ((0.35, 0), (-0.35, 0), (0, 0.35), (0, -0.35)):
        assert pixel(view, side, x + dx, 1, z + dz) == block_color(RED, SHADE_TOP)
    for height in (0.25, 0.75):
        for along in (-0.25, 0.25):
            assert pixel(view, side, x + 0.5 * side, height, z + along) == block_color(RED, SHADE_X)
            assert pixel(view, side, x + along, height, z + 0.5 * side) == block_color(RED, SHADE_Z)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("x", "z"), CELLS)
@pytest.mark.parametrize("height", [1, 3, 8])
def test_a_block_over_air_has_a_dashed_line_down_to_a_cross(side: int, x: int, z: int, height: int) -> None:
    view = axes_view(blocks_to_grid([(x, height - 1, z, BLUE)]))
    for part in range(3 * height - 1):  # the uppermost dash is behind the block
        assert INK in around(view, side, x, part / 3 + 1 / 12, z)
    for dx in (-0.35, 0.35):
        for dz in (-0.35, 0.35):
            assert INK in around(view, side, x + dx, 0, z + dz)
            assert INK in around(view, side, x + dx / 2, 0, z + dz / 2)
    assert pixel(view, side, x + 0.35, height + 1, z) == block_color(BLUE, SHADE_TOP)


@pytest.mark.parametrize("side", [1, -1])
def test_a_line_ends_on_the_block_below(side: int) -> None:
    view = axes_view(blocks_to_grid([(0, -1, 0, RED), (0, 2, 0, BLUE)]))
    for dx, dz in ((0.35, -0.35), (-0.35, 0.35)):  # no cross on the ground or on the block
        assert pixel(view, side, dx, 1, dz) == block_color(RED, SHADE_TOP)
    assert INK in around(view, side, 0, 2 + 1 / 12, 0)


@pytest.mark.parametrize("side", [1, -1])
def test_the_board_is_11_cells_wide_and_its_pole_9_high(side: int) -> None:
    view = axes_view(np.zeros((9, 11, 11), np.int8))
    assert pixel(view, side, 5.3, 0, 5.3) == PALE
    assert pixel(view, side, 0, 0, 0) == PALE
    assert pixel(view, side, 6.2, 0, 3.5) == BOARD
    assert DIM in around(view, side, 0.5, 0, 0.25)  # between two cells
    far = -side * 5.5
    assert INK in around(view, side, far, 8.7, far)
    assert around(view, side, far, 9.3, far) == {BOARD}


def test_other_grids_are_refused() -> None:
    with pytest.raises(GridError):
        axes_view(np.zeros((9, 11, 10), np.int8))
