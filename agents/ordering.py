"""In which order blocks are asked for, so that each can be built when its turn comes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell
from iglu_marl.planning import edits_between

_SIDES = ((0, -1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1), (0, 1, 0))


def _touches(filled: set[Cell], cell: Cell) -> bool:
    """Whether a cell rests on the ground or shares a side with a filled one."""
    x, y, z = cell
    return y == -1 or any((x + dx, y + dy, z + dz) in filled for dx, dy, dz in _SIDES)


def next_cells(grid: npt.ArrayLike, target: npt.ArrayLike, near: Cell | None = None) -> list[Cell]:
    """The cells (x, y, z) that differ between two grids [9, 11, 11], the best one to change next first.

    Blocks that do not belong come first, from the top; then what rests on something, from the ground up, what floats
    last. Among equals, what lies nearest to `near` (the centre, if None).
    """
    edits = edits_between(grid, target)
    filled = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(np.asarray(grid))}
    x0, y0, z0 = near or (0, -1, 0)

    def rank(edit: tuple[int, int, int, int]) -> tuple[int, int, int, Cell]:
        x, y, z, color = edit
        far = abs(x - x0) + abs(z - z0)
        if (x, y, z) in filled:
            return (1 if color else 0, -y, far, (x, y, z))
        return (2 if _touches(filled, (x, y, z)) else 3, y, far, (x, y, z))

    return [edit.cell for edit in sorted(edits, key=rank)]


def least_tried(cells: Iterable[Cell], tries: dict[Cell, int]) -> Cell:
    """The first of the cells among those that were tried least often."""
    return min(cells, key=lambda cell: tries.get(cell, 0))
