"""The line of sight, used by hands, pointing people and planners."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import cell_of, solid
from iglu_marl.core.kernels.records import NO_CELL, RADIANS, RAY_SAMPLES, RAY_SAMPLES_PER_CELL

Vector = tuple[float, float, float]
Cell = tuple[int, int, int]


@jit
def gaze(yaw_deg: float, pitch_deg: float) -> Vector:
    """Return the gaze as a unit vector (x, y, z). Yaw 0 is north (-z) and grows clockwise; pitch +90 is straight up."""
    around, tilt = (yaw_deg - 90.0) * RADIANS, pitch_deg * RADIANS
    level = math.cos(tilt)
    return math.cos(around) * level, math.sin(tilt), math.sin(around) * level


@jit
def next_cell(at: Vector, way: Vector) -> tuple[Vector, int]:
    """Return the first sample along a unit vector that is in another cell, and the number of samples to it.

    Samples are 1/5 cell apart, so they can cross an edge: consecutive cells need not share a face.
    """
    x, y, z = at
    dx, dy, dz = way[0] / RAY_SAMPLES_PER_CELL, way[1] / RAY_SAMPLES_PER_CELL, way[2] / RAY_SAMPLES_PER_CELL
    cx, cy, cz = cell_of(x), cell_of(y), cell_of(z)
    on = 0
    while on < RAY_SAMPLES:
        x, y, z, on = x + dx, y + dy, z + dz, on + 1
        if cell_of(x) != cx or cell_of(y) != cy or cell_of(z) != cz:
            break
    return (x, y, z), on


@jit
def cells_along(eye: Vector, way: Vector) -> Iterator[Cell]:
    """Yield the cells (x, y, z) that a ray samples from an eye along a unit vector."""
    at, sample = eye, 0
    while sample < RAY_SAMPLES:
        yield cell_of(at[0]), cell_of(at[1]), cell_of(at[2])
        at, on = next_cell(at, way)
        sample += on


@jit
def cast(
    grid: npt.NDArray[np.int8],
    eye: Vector,
    way: Vector,
    hit: npt.NDArray[np.int8],
    before: npt.NDArray[np.int8],
) -> bool:
    """Return whether a ray hits a solid cell. Write that cell to `hit` int8 [3], the cell before it to `before`.

    Both are `NO_CELL` without a hit, and `before` alone if the eye is inside the solid cell.
    """
    return reach(grid, eye, way, hit, before) >= 0


@jit
def reach(
    grid: npt.NDArray[np.int8],
    eye: Vector,
    way: Vector,
    hit: npt.NDArray[np.int8],
    before: npt.NDArray[np.int8],
) -> int:
    """Return the number of the first sample in a solid cell, or -1. Write the cells as `cast` does."""
    at, sample = eye, 0
    last = NO_CELL, NO_CELL, NO_CELL
    while sample < RAY_SAMPLES:
        cell = cell_of(at[0]), cell_of(at[1]), cell_of(at[2])
        if solid(grid, cell[0], cell[1], cell[2]):
            hit[0], hit[1], hit[2] = cell
            before[0], before[1], before[2] = last
            return sample
        last = cell
        at, on = next_cell(at, way)
        sample += on
    hit[:] = NO_CELL
    before[:] = NO_CELL
    return -1


@jit
def cast_many(
    grid: npt.NDArray[np.int8],
    poses: npt.NDArray[np.float64],
    hits: npt.NDArray[np.int8],
    befores: npt.NDArray[np.int8],
) -> None:
    """Cast rays of poses float64 [k, 5] (x, y, z, yaw, pitch), into int8 [k, 3] each."""
    for k in range(poses.shape[0]):
        eye = poses[k, 0], poses[k, 1], poses[k, 2]
        cast(grid, eye, gaze(poses[k, 3], poses[k, 4]), hits[k], befores[k])
