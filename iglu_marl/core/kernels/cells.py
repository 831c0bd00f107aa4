"""Solid cells, and cell indices."""

from __future__ import annotations

import math

import numpy as np

from iglu_marl.core import grid as zone
from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, ZONE_SHAPE
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.records import GROUND_RADIUS, GROUND_Y

CELLS = math.prod(ZONE_SHAPE)

in_zone = jit(zone.in_zone)


@jit
def solid(grid, x, y, z):
    """Return whether the cell (x, y, z) is a block or the ground."""
    if y == GROUND_Y:
        return abs(x) <= GROUND_RADIUS and abs(z) <= GROUND_RADIUS
    return in_zone(x, y, z) and grid[y - MIN_Y, x - MIN_X, z - MIN_Z] != 0


@jit
def touches(grid, x, y, z):
    """Return whether the cell (x, y, z) shares a face with a solid one."""
    return (
        solid(grid, x, y - 1, z)
        or solid(grid, x - 1, y, z)
        or solid(grid, x + 1, y, z)
        or solid(grid, x, y, z - 1)
        or solid(grid, x, y, z + 1)
        or solid(grid, x, y + 1, z)
    )


@jit
def cell_of(value):
    """Return the cell that holds a coordinate, ties to even (floor(x + .5) would move a wall at x = 0.5)."""
    return int(np.rint(value))


@jit
def flat_index(x, y, z):
    """Return the index of the cell (x, y, z) in a flat grid [9, 11, 11]."""
    return ((y - MIN_Y) * ZONE_SHAPE[1] + x - MIN_X) * ZONE_SHAPE[2] + z - MIN_Z
