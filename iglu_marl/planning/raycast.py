"""Vectorised rays, collisions and angles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.kernels.body import many_in_the_way
from iglu_marl.core.kernels.ray import cast_many

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int8]


def cast_rays(grid: BlockGrid, poses: Floats) -> tuple[Cells, Cells]:
    """Return the solid cells hit from poses float64 [k, 5], and the cells before them, int8 [k, 3] each.

    Both are `NO_CELL` if nothing is in reach. Only the cell before is `NO_CELL` if the eye is inside the hit cell.
    """
    hits, befores = (np.empty((len(poses), 3), np.int8) for _ in range(2))
    cast_many(grid, poses, hits, befores)
    return hits, befores


def blocked_by_body(poses: Floats, cells: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return whether the builder's body prevents a block, bool [k]; cells: one, or int [k, 3]."""
    blocked = np.empty(len(poses), bool)
    many_in_the_way(poses, np.ascontiguousarray(np.broadcast_to(cells, (len(poses), 3)), np.int64), blocked)
    return blocked


def bearing(offsets: Floats) -> Floats:
    """Return yaw and pitch in degrees, float64 [..., 2], of the directions `offsets`, float64 [..., 3]."""
    x, y, z = np.moveaxis(offsets, -1, 0)
    yaw = np.degrees(np.arctan2(z, x)) + 90.0
    return np.stack([yaw % 360.0, np.degrees(np.arctan2(y, np.hypot(x, z)))], axis=-1)


def turn_deg(start: npt.ArrayLike, end: npt.ArrayLike) -> Floats:
    """Return the shorter turn from one yaw to another, in -180..180 degrees."""
    return (np.asarray(end) - np.asarray(start) + 180.0) % 360.0 - 180.0
