"""In which order to build: what an architect says next, block by block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.planning.edits import SIDES, Edit, edits_between, supported_cells

# What a level above the lowest missing block counts, in cells of distance: a walker had rather finish a tower than
# climb it once per level; a flier sees best from above.
LEVEL_COST = {"walking": 0.7, "flying": 3.0}
SHUT_COST = 50.0
FLOATING_COST = 100.0


def order_edits(grid: npt.ArrayLike, target: npt.ArrayLike, controls: ControlsName = "walking") -> list[Edit]:
    """All edits from one dense grid to another, ordered for building one by one.

    A block of a wrong colour gives two edits, its removal (color 0) and later its replacement. Blocks to be removed
    go first, from the top, except those that a block still to be placed holds on to. Every block touches the ground or
    another block when its turn comes, as long as the target allows that; none shuts in a cell that is still to be
    filled; and what comes next is near.
    """
    edits = edits_between(grid, target)
    filled = np.asarray(grid) != 0
    colors = {edit.cell: edit.color for edit in edits if edit.color}
    removals = sorted(
        (edit.cell for edit in edits if filled[_at(edit.cell)]), key=lambda cell: (-cell[1], cell)
    )
    level_cost = LEVEL_COST.get(controls, LEVEL_COST["walking"])
    ordered: list[Edit] = []
    last: Cell = (0, -1, 0)

    def remove(cells: list[Cell]) -> None:
        for cell in cells:
            filled[_at(cell)] = False
            removals.remove(cell)
            ordered.append(Edit(*cell, 0))

    remove([cell for cell in removals if cell in colors or not _holds(filled, cell, colors)])
    left = set(colors)
    while left:
        last = _next_cell(left, filled, last, level_cost)
        left.remove(last)
        filled[_at(last)] = True
        ordered.append(Edit(*last, colors[last]))
    remove(list(removals))
    return ordered


def _at(cell: Cell) -> tuple[int, int, int]:
    return cell[1] + 1, cell[0] + 5, cell[2] + 5


def _neighbours(cell: Cell) -> list[Cell]:
    around = [(cell[0] + dx, cell[1] + dy, cell[2] + dz) for dx, dy, dz in SIDES]
    return [other for other in around if in_zone(*other)]


def _holds(filled: npt.NDArray[np.bool_], cell: Cell, wanted: dict[Cell, int]) -> bool:
    """Whether a block still to be placed beside `cell` has nothing else to hold on to."""
    without = filled.copy()
    without[_at(cell)] = False
    near = supported_cells(without)
    return any(
        other in wanted and not filled[_at(other)] and not near[_at(other)] for other in _neighbours(cell)
    )


def _next_cell(left: set[Cell], filled: npt.NDArray[np.bool_], last: Cell, level_cost: float) -> Cell:
    near = supported_cells(filled)
    lowest = min(cell[1] for cell in left)

    def cost(cell: Cell) -> tuple[float, Cell]:
        apart = abs(cell[0] - last[0]) + abs(cell[1] - last[1]) + abs(cell[2] - last[2])
        price = apart + level_cost * (cell[1] - lowest)
        if not near[_at(cell)]:
            price += FLOATING_COST + 10.0 * cell[1]
        return price, cell

    ranked = sorted(left, key=cost)
    for cell in ranked:
        if near[_at(cell)] and not shuts_in(filled, cell, left):
            return cell
    return ranked[0]


def shuts_in(filled: npt.NDArray[np.bool_], cell: Cell, left: set[Cell]) -> bool:
    """Whether a block at `cell` would cut off a neighbouring cell in `left` from the open air."""
    return any(
        other in left and not filled[_at(other)] and not _open(filled, other, cell)
        for other in _neighbours(cell)
    )


def _open(filled: npt.NDArray[np.bool_], start: Cell, closed: Cell) -> bool:
    """Whether air leads from `start`, past `closed`, out of the zone."""
    seen, todo = {start, closed}, [start]
    while todo:
        x, y, z = todo.pop()
        for dx, dy, dz in SIDES:
            other = (x + dx, y + dy, z + dz)
            if other[1] < -1 or other in seen:
                continue
            if not in_zone(*other):
                return True
            seen.add(other)
            if not filled[_at(other)]:
                todo.append(other)
    return False
