"""The order in which an architect asks for blocks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import ZONE_SHAPE, Cell, as_grid, index_of
from iglu_marl.planning.problem import Edit, edits_between
from iglu_marl.planning.support import Mask, carries, shuts_in, supported_cells

# Cost of a level above the lowest missing block, in cells of distance. It is low for walkers, which finish a tower
# rather than climb it once per level, and high for fliers, which see best from above.
LEVEL_COST = {"walking": 0.7, "flying": 3.0}
FLOATING_COST = 100.0


def order_edits(grid: npt.ArrayLike, target: npt.ArrayLike, controls: ControlsName = "walking") -> list[Edit]:
    """Return all edits from one dense grid to another, ordered for building one by one.

    A block of a wrong colour gives two edits: its removal (color 0), and later its replacement. Removals come first,
    from the top, except blocks that support a missing one. Every block touches the ground or another block when it is
    placed, if the target allows it. A floating block is preferred to one that would enclose missing cells. Near blocks
    come first.
    """
    level_cost = LEVEL_COST.get(controls, LEVEL_COST["walking"])
    return [*_ordered(as_grid(grid, "grid").tobytes(), as_grid(target, "target").tobytes(), level_cost)]


@lru_cache(maxsize=1024)
def _ordered(before: bytes, after: bytes, level_cost: float) -> tuple[Edit, ...]:
    grid, target = (np.frombuffer(each, np.int8).reshape(ZONE_SHAPE) for each in (before, after))
    edits = edits_between(grid, target)
    filled, wanted = grid != 0, np.zeros(ZONE_SHAPE, bool)
    colors = {edit.cell: edit.color for edit in edits if edit.color}
    for cell in colors:
        wanted[index_of(cell)] = True
    standing = [edit.cell for edit in edits if filled[index_of(edit.cell)]]
    removals = sorted(standing, key=lambda cell: (-cell[1], cell))
    kept = [cell for cell in removals if cell not in colors and carries(filled, wanted, cell)]
    ordered: list[Edit] = []
    last: Cell = (0, -1, 0)
    for cell in removals:
        if cell not in kept:
            filled[index_of(cell)] = False
            ordered.append(Edit(*cell, 0))
    left = set(colors)
    while left:
        last = _next_cell(left, filled, last, level_cost)
        left.remove(last)
        filled[index_of(last)] = True
        ordered.append(Edit(*last, colors[last]))
    return (*ordered, *(Edit(*cell, 0) for cell in kept))


def _next_cell(left: set[Cell], filled: Mask, last: Cell, level_cost: float) -> Cell:
    near = supported_cells(filled)
    lowest = min(cell[1] for cell in left)

    def cost(cell: Cell) -> tuple[float, Cell]:
        apart = abs(cell[0] - last[0]) + abs(cell[1] - last[1]) + abs(cell[2] - last[2])
        price = apart + level_cost * (cell[1] - lowest)
        if not near[index_of(cell)]:
            price += FLOATING_COST + 10.0 * cell[1]
        return price, cell

    ranked = sorted(left, key=cost)  # floating cells last
    return next((cell for cell in ranked if not shuts_in(filled, cell, left)), ranked[0])
