"""Support of blocks by their neighbours, and scaffolds."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import product

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BlockGrid, Cell, cells_of, in_zone, index_of
from iglu_marl.planning import kernels

Mask = npt.NDArray[np.bool_]

SIDES: tuple[Cell, ...] = ((0, -1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1), (0, 1, 0))
EDGES: tuple[Cell, ...] = tuple(
    (x, y, z) for x, y, z in product((0, -1, 1), repeat=3) if abs(x) + abs(y) + abs(z) == 2
)
AROUND: tuple[Cell, ...] = tuple((x, y, z) for x, y, z in product((-1, 0, 1), repeat=3) if x or y or z)


def near_cells(filled: Mask, links: Iterable[Cell]) -> Mask:
    """Return the cells, bool [9, 11, 11], with the ground or a filled cell at one of the offsets `links`."""
    padded = np.pad(filled, 1)
    padded[0] = True  # the ground
    near = np.zeros_like(filled)
    for x, y, z in links:
        near |= padded[y + 1 : y + 10, x + 1 : x + 12, z + 1 : z + 12]
    return near


def supported_cells(filled: Mask) -> Mask:
    """Return the cells, bool [9, 11, 11], that share a side with the ground or a filled cell."""
    return near_cells(filled, SIDES)


def touched_cells(filled: Mask) -> Mask:
    """Return the cells, bool [9, 11, 11], with the ground or a filled cell among the 26 around them."""
    return near_cells(filled, AROUND)


def neighbours(cell: Cell) -> list[Cell]:
    """Return the cells of the zone that share a side with a cell."""
    around = [(cell[0] + x, cell[1] + y, cell[2] + z) for x, y, z in SIDES]
    return [other for other in around if in_zone(*other)]


def carries(filled: Mask, wanted: Mask, cell: Cell) -> bool:
    """Return whether `cell` is the only support of a missing wanted neighbour."""
    waiting = [other for other in map(index_of, neighbours(cell)) if wanted[other] and not filled[other]]
    if not waiting:
        return False
    without = filled.copy()
    without[index_of(cell)] = False
    near = supported_cells(without)
    return not all(near[other] for other in waiting)


def shuts_in(filled: Mask, cell: Cell, left: Container[Cell]) -> bool:
    """Return whether a block at `cell` would cut off a cell in `left` from the open air."""
    return any(
        not filled[index_of(other)] and any(inside in left for inside in shut_off(filled, other, cell))
        for other in neighbours(cell)
    )


def shut_off(filled: Mask, start: Cell, closed: Cell | None = None) -> set[Cell]:
    """Return the enclosed air around `start`, with `closed` as filled; empty if it leads out of the zone."""
    y, x, z = index_of(start)
    if not filled[y:, x, z].any() and (closed is None or (closed[0], closed[2]) != (start[0], start[2])):
        return set()
    seen, todo = {start, closed or start}, [start]
    while todo:
        x, y, z = todo.pop()
        for dx, dy, dz in SIDES:
            other = (x + dx, y + dy, z + dz)
            if other[1] < -1 or other in seen:
                continue
            if not in_zone(*other):
                return set()
            if not filled[index_of(other)]:
                seen.add(other)
                todo.append(other)
    return seen if closed is None else seen - {closed}


def scaffold_color(
    grid: BlockGrid, desired: BlockGrid, inventory: npt.NDArray[np.int16], active: int = 0
) -> int:
    """Return the colour for scaffolds; 0 if the inventory is empty.

    It is the active colour if at least 3 are spare (saves a selection), else the colour with the most spare blocks.
    """
    missing = np.bincount(desired[grid != desired].ravel(), minlength=7)[1:]
    spare = inventory.astype(int) - missing
    if active and spare[active - 1] >= 3:
        return active
    best = int(np.argmax(np.where(inventory > 0, spare, -1000)))
    return best + 1 if inventory[best] > 0 else 0


def scaffold_for(
    grid: BlockGrid,
    desired: BlockGrid,
    inventory: npt.NDArray[np.int16],
    closed: Container[Cell] = (),
    links: tuple[Cell, ...] = SIDES,
) -> Cell | None:
    """Return the first cell of the shortest chain of scaffolds that supports a missing block.

    closed: missing cells that stay empty for now. links: offsets of possible supports.
    """
    missing, steps = (desired != 0) & (grid == 0), np.array(links)
    price = np.where(missing, kernels.CLOSED, kernels.SCAFFOLD)
    support = np.empty(grid.shape, np.int64)
    kernels.price_support(grid, price, steps, support)
    best: tuple[int, Cell] | None = None
    for x, y, z in cells_of(missing & (support > 0) & (support < kernels.CLOSED)).tolist():
        at = index_of((x, y, z))
        if inventory[desired[at] - 1] > 0 and (x, y, z) not in closed:
            if best is None or support[at] < best[0]:
                best = int(support[at]), (x, y, z)
    return best and kernels.first_scaffold(grid, price, steps, support, *best[1])


def pillars(grid: BlockGrid, desired: BlockGrid) -> Mask:
    """Return cells, bool [9, 11, 11], below floating blocks; as scaffolds they support every missing block."""
    built, found = grid != 0, np.zeros(grid.shape, bool)
    wanted = desired != 0
    while True:
        while (ready := wanted & ~built & supported_cells(built)).any():
            built |= ready
        floating = np.argwhere(wanted & ~built)
        if not len(floating):
            return found
        iy, ix, iz = floating[0]
        solid = np.flatnonzero(built[:iy, ix, iz])
        below = slice(solid.max() + 1 if len(solid) else 0, iy), ix, iz
        found[below] = built[below] = True
