"""Edits: the net actions between two grids, and the grid after some actions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy.typing as npt

from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import BlockGrid, NetAction, as_grid, cells_of, color_at, in_zone, index_of


def net_actions(before: npt.ArrayLike, after: npt.ArrayLike) -> frozenset[NetAction]:
    """Return the fewest actions that lead from one grid to another; a recolouring is a removal and a placement."""
    old, new = as_grid(before, "before"), as_grid(after, "after")
    actions = set()
    for x, y, z in cells_of(old != new).tolist():
        for place, grid in ((False, old), (True, new)):
            if color := color_at(grid, (x, y, z)):
                actions.add(NetAction(place, x, y, z, color))
    return frozenset(actions)


def net_edits(before: npt.ArrayLike, after: npt.ArrayLike) -> list[NetAction]:
    """Return the fewest actions from one grid to another: removals before placements, from the ground up."""
    return sorted(net_actions(before, after), key=lambda action: (action.place, action.y, action.x, action.z))


def edited(grid: BlockGrid, actions: Iterable[tuple[bool, int, int, int, int]]) -> BlockGrid:
    """Return a grid after actions in their order; a removal empties its cell, whatever is there.

    Raises `GridError` if a cell is outside the zone or a color outside 1..6.
    """
    after = as_grid(grid).copy()
    for place, x, y, z, color in actions:
        if not in_zone(x, y, z):
            raise GridError(f"action at {x, y, z} lies outside the build zone (x, z in -5..5, y in -1..7)")
        if place and color not in range(1, 7):
            raise GridError(f"action at {x, y, z} places color {color!r}, expected 1..6")
        after[index_of((x, y, z))] = color if place else 0
    return after
