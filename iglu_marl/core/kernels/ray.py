"""The line of sight: the one ray by which hands act, people point and planners aim."""

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
    """Unit vector (x, y, z) of the gaze. Yaw 0 looks north (-z) and grows clockwise; pitch +90 looks straight up."""
    around, tilt = (yaw_deg - 90.0) * RADIANS, pitch_deg * RADIANS
    level = math.cos(tilt)
    return math.cos(around) * level, math.sin(tilt), math.sin(around) * level


@jit
def next_cell(at: Vector, way: Vector) -> tuple[Vector, int]:
    """The first sample behind one that lies in another cell, along a unit vector, and how many samples on that is.

    Samples are 1/5 cell apart, so they can jump across an edge: a cell need not share a face with the next.
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
    """The cells (x, y, z) that a ray samples from an eye along a unit vector, whatever is in them."""
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
    """Whether a ray meets something solid: that cell into `hit` int8 [3], the cell sampled before it into `before`.

    Both are `NO_CELL` where it meets nothing; `before` alone where the eye is inside the solid cell.
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
    """The number of the first sample of a ray that is in something solid, and the cells as `cast` tells; -1 without."""
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
    """`cast` for poses float64 [k, 5] (x, y, z, yaw, pitch), into int8 [k, 3] each."""
    for k in range(poses.shape[0]):
        eye = poses[k, 0], poses[k, 1], poses[k, 2]
        cast(grid, eye, gaze(poses[k, 3], poses[k, 4]), hits[k], befores[k])
