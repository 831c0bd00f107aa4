"""Flat views, contact sheets, before / after / difference, and the commands that write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from iglu_marl import GridError
from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid
from iglu_marl.rendering import contact_sheet, layers_view, top_view
from iglu_marl.rendering.sheets import SHEET_SIZE

EMPTY = np.zeros(ZONE_SHAPE, np.int8)
SOME = blocks_to_grid([(2, -1, 1, 6), (2, 0, 1, 3), (-4, 3, -2, 1), (0, -1, 5, 4)])

Picture = npt.NDArray[np.uint8]


def changed(one: Picture, other: Picture) -> npt.NDArray[np.bool_]:
    return (one != other).any(axis=2)


def middle(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Column and row of the middle of the box around a mask."""
    rows, columns = np.nonzero(mask)
    return np.array([(columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2])


# ------------------------------------------------------------------------------------------------------- from above


def spot(x: int, z: int, size: tuple[int, int] = (400, 500)) -> npt.NDArray[np.float64]:
    return middle(changed(top_view(EMPTY, size=size), top_view(blocks_to_grid([(x, -1, z, 6)]), size=size)))


def test_from_above_north_is_up_and_east_is_right() -> None:
    center = spot(0, 0)
    cell = (spot(5, 0) - center)[0] / 5
    assert cell > 20
    for x, z in ((1, 0), (-5, 5), (4, -3), (0, -5)):
        assert np.abs(spot(x, z) - center - cell * np.array([x, z])).max() <= 1.5


@pytest.mark.parametrize("view", [top_view, layers_view, contact_sheet])
def test_views_leave_their_input_alone_and_repeat(view: Any) -> None:
    grid = SOME.astype(np.int64)
    before = grid.copy()
    first, second = view(grid), view(SOME)
    assert first.dtype == np.uint8
    assert (grid == before).all()
    assert (first == second).all()
    first[:] = 0
    assert (view(grid) == second).all()


@pytest.mark.parametrize("view", [top_view, layers_view])
@pytest.mark.parametrize("size", [(64, 64), (64, 400), (300, 81), (720, 1280)])
def test_flat_views_have_the_size_they_were_asked_for(view: Any, size: tuple[int, int]) -> None:
    assert view(SOME, size=size).shape == (*size, 3)
    assert changed(view(SOME, size=size), view(EMPTY, size=size)).any()


@pytest.mark.parametrize("view", [top_view, layers_view, contact_sheet])
def test_views_refuse_what_they_cannot_draw(view: Any) -> None:
    for size in ((20, 400), (400, 20), (0, 0), (400, 9999)):
        with pytest.raises(RenderError):
            view(SOME, size=size)
    with pytest.raises(GridError):
        view(np.zeros((9, 9, 9)))
    with pytest.raises(GridError):
        view(np.full(ZONE_SHAPE, 7))


# ----------------------------------------------------------------------------------------------------------- sheets


def test_the_view_from_the_north_is_that_from_the_south_of_the_structure_turned_round() -> None:
    """But for the letters of the compass, which do not turn along."""
    down = (SHEET_SIZE[0] - 18 + 14 - 62) // 2  # from a panel to the one below it
    south = contact_sheet(SOME)[92:412, 20:368]
    north = contact_sheet(SOME[:, ::-1, ::-1])[92 + down : 412 + down, 20:368]
    wrong = contact_sheet(SOME)[92 + down : 412 + down, 20:368]
    letters = changed(south, north).mean()
    assert 0 < letters < 0.02
    assert changed(south, wrong).mean() > 2 * letters


@pytest.mark.parametrize("title", ["", "x", "a very long title " * 40, "zwölf ☃ \U0001f600\n\ttab\x00"])
def test_titles_of_all_kinds(title: str) -> None:
    assert contact_sheet(SOME, title=title).shape == (*SHEET_SIZE, 3)
