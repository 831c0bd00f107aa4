"""Compiled search for scaffolds, and constants of all planners."""

from __future__ import annotations

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, ZONE_SHAPE
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import in_zone, solid
from iglu_marl.core.kernels.records import RAY_SAMPLES, RAY_SAMPLES_PER_CELL

CAMERA_DEG = 5.0  # the largest camera change in one step
REACH = (RAY_SAMPLES - 1) / RAY_SAMPLES_PER_CELL  # of the hands, in cells

SCAFFOLD = 1000  # price of a cell that is filled temporarily
CLOSED = 10**6  # price of a cell that stays empty


@jit
def price_support(grid, price, links, support):
    """Write the price of the supports of each air cell into `support`, int64 [9, 11, 11].

    A cell is placed against the ground or a block at one of the offsets `links`, int [k, 3]; cells in between are
    filled first, each at its `price`, int64 [9, 11, 11].
    """
    support[:] = CLOSED
    changed = True
    while changed:
        changed = False
        for iy in range(ZONE_SHAPE[0]):
            for ix in range(ZONE_SHAPE[1]):
                for iz in range(ZONE_SHAPE[2]):
                    if grid[iy, ix, iz] != 0:
                        continue
                    best = support[iy, ix, iz]
                    for d in range(len(links)):
                        x, y, z = ix + MIN_X + links[d, 0], iy + MIN_Y + links[d, 1], iz + MIN_Z + links[d, 2]
                        if solid(grid, x, y, z):
                            best = 0
                        elif in_zone(x, y, z):
                            at = y - MIN_Y, x - MIN_X, z - MIN_Z
                            best = min(best, support[at] + price[at])
                    if best < support[iy, ix, iz]:
                        support[iy, ix, iz] = best
                        changed = True


@jit
def first_scaffold(grid, price, links, support, x, y, z):
    """Return the first scaffold (x, y, z) on the cheapest chain to a cell, or the cell if it needs none.

    Ties are resolved by the order of the links.
    """
    first = x, y, z
    here = support[y - MIN_Y, x - MIN_X, z - MIN_Z]
    while 0 < here < CLOSED:
        for d in range(len(links)):
            nx, ny, nz = x + links[d, 0], y + links[d, 1], z + links[d, 2]
            if in_zone(nx, ny, nz) and grid[ny - MIN_Y, nx - MIN_X, nz - MIN_Z] == 0:
                at = ny - MIN_Y, nx - MIN_X, nz - MIN_Z
                if support[at] + price[at] == here:
                    x, y, z, here = nx, ny, nz, support[at]
                    if price[at] == SCAFFOLD:
                        first = x, y, z
                    break
    return first
