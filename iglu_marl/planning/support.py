"""What holds on to what: support, and the scaffolds that give it."""

from __future__ import annotations

import heapq
from collections.abc import Container
from itertools import product

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.planning.edits import SIDES, rests_on, supported_cells, touched_cells

Grid = npt.NDArray[np.int8]


def carries(filled: npt.NDArray[np.bool_], desired: Grid, cell: Cell) -> bool:
    """Whether a missing block beside `cell` has nothing else to hold on to."""
    without = filled.copy()
    x, y, z = cell
    without[y + 1, x + 5, z + 5] = False
    for dx, dy, dz in SIDES:
        other = (x + dx, y + dy, z + dz)
        if in_zone(*other):
            at = other[1] + 1, other[0] + 5, other[2] + 5
            if desired[at] and not filled[at] and not rests_on(without, *other):
                return True
    return False


def scaffold_color(grid: Grid, desired: Grid, inventory: npt.NDArray[np.int16], active: int = 0) -> int:
    """The colour that is best used where any will do; 0 when nothing is in hand.

    The active one when it is plentiful (no action to select it), else the one with most to spare.
    """
    missing = np.bincount(desired[grid != desired].ravel(), minlength=7)[1:]
    spare = inventory.astype(int) - missing
    if active and spare[active - 1] >= 3:
        return active
    best = int(np.argmax(np.where(inventory > 0, spare, -1000)))
    return best + 1 if inventory[best] > 0 else 0


# Straight up first: a pillar can always be built. Then the other faces, then edges.
FACES = tuple(reversed(SIDES))
EDGES: tuple[Cell, ...] = tuple(
    (x, y, z) for x, y, z in product((0, -1, 1), repeat=3) if abs(x) + abs(y) + abs(z) == 2
)


def chain_to(
    grid: Grid,
    desired: Grid,
    inventory: npt.NDArray[np.int16],
    closed: Container[Cell],
    links: tuple[Cell, ...] = FACES,
) -> list[Cell]:
    """Empty cells, from one that is supported, that lead to a missing block without support; fewest first.

    closed: missing cells that are to stay empty for now. links: how a cell may lie to what it holds on to.
    """
    filled = grid != 0
    near = supported_cells(filled) if len(links) == len(FACES) else touched_cells(filled)
    missing = (desired != 0) & ~filled
    cells = [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(missing & ~near)]
    goals = {
        (x, y, z)
        for x, y, z in cells
        if (x, y, z) not in closed and inventory[desired[y + 1, x + 5, z + 5] - 1] > 0
    }
    queue: list[tuple[float, Cell, tuple[Cell, ...]]] = []
    for iy, ix, iz in np.argwhere(near & ~filled & ~missing):
        cell = (int(ix) - 5, int(iy) - 1, int(iz) - 5)
        queue.append((1.0, cell, (cell,)))
    heapq.heapify(queue)
    seen: set[Cell] = set()
    while queue:
        cost, cell, path = heapq.heappop(queue)
        if cell in goals:
            return list(path[:-1])
        if cell in seen:
            continue
        seen.add(cell)
        for number, (dx, dy, dz) in enumerate(links):
            new = (cell[0] + dx, cell[1] + dy, cell[2] + dz)
            if in_zone(*new) and new not in seen and not filled[new[1] + 1, new[0] + 5, new[2] + 5]:
                heapq.heappush(queue, (cost + 1.0 + 0.01 * number, new, (*path, new)))
    return []


def bridge_cells(
    grid: Grid, desired: Grid, inventory: npt.NDArray[np.int16], upright: bool = False
) -> npt.NDArray[np.bool_]:
    """Cells, bool [9, 11, 11], that scaffolds can fill so that every missing block has something to hold on to.

    Along the shortest chains; or upright, straight down from each: more cells, but all can be placed from above.
    """
    built, bridges = grid.copy(), np.zeros(grid.shape, bool)
    for _ in range(int(np.count_nonzero(desired))):
        while True:  # what can be placed by now is placed
            ready = (desired != 0) & (built == 0) & supported_cells(built != 0)
            if not ready.any():
                break
            built[ready] = desired[ready]
        chain = _pillar_to(built, desired) if upright else chain_to(built, desired, inventory, frozenset())
        if not chain:
            break
        for x, y, z in chain:
            bridges[y + 1, x + 5, z + 5] = True
            built[y + 1, x + 5, z + 5] = 1
    return bridges


def _pillar_to(built: Grid, desired: Grid) -> list[Cell]:
    """The empty cells below the lowest missing block, down to what holds."""
    missing = np.argwhere((desired != 0) & (built == 0))
    if not len(missing):
        return []
    iy, ix, iz = (int(v) for v in missing[0])
    solid = np.flatnonzero(built[:iy, ix, iz])
    lowest = int(solid.max()) + 1 if len(solid) else 0
    return [(ix - 5, y - 1, iz - 5) for y in range(lowest, iy)]
