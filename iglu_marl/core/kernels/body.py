"""Collision of the builder's body with cells and new blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import solid
from iglu_marl.core.kernels.records import EYE_HEIGHT


@jit
def body_fits(grid: npt.NDArray[np.int8], x: int, eye: int, z: int) -> bool:
    """Return whether a body fits with its eye in the cell (x, eye, z): that cell and the one below are free."""
    return not solid(grid, x, eye, z) and not solid(grid, x, eye - 1, z)


@jit
def in_the_way(eye_x: float, eye_y: float, eye_z: float, x: int, y: int, z: int) -> bool:
    """Return whether a body with this eye position blocks the cell (x, y, z). Boundaries are included."""
    if not (x - 0.5 <= eye_x and eye_x <= x + 0.5 and z - 0.5 <= eye_z and eye_z <= z + 0.5):
        return False
    legs = eye_y - EYE_HEIGHT
    return (y <= legs and legs <= y + 1) or (y <= legs + 1 and legs + 1 <= y + 1)


@jit
def many_in_the_way(
    eyes: npt.NDArray[np.float64], cells: npt.NDArray[np.int64], out: npt.NDArray[np.bool_]
) -> None:
    """Write `in_the_way` of eyes float64 [k, 3 or more] and cells int [k, 3] into `out` bool [k]."""
    for k in range(eyes.shape[0]):
        out[k] = in_the_way(eyes[k, 0], eyes[k, 1], eyes[k, 2], cells[k, 0], cells[k, 1], cells[k, 2])
