"""The builder's frame: the zone rotated by quarter turns until the builder looks along -z, optionally mirrored.

In the frame, "left" is -x and "in front" is -z in every direction. A frame is a number 0..7: quarter turns, plus 4 for
the mirror image (x becomes -x), which is used for data augmentation. Cells are numbered as in a flattened grid [y, x,
z].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import ZONE_SHAPE, cells_of, index_of

FRAMES, MIRROR = 8, 4
_PLACES = cells_of(np.ones(ZONE_SHAPE))  # by number
CELLS = len(_PLACES)

Array = npt.NDArray[np.int64]


def cell_number(x: int, y: int, z: int) -> int:
    """Return the number of the cell (x, y, z), with x and z in -5..5 and y in -1..7."""
    return int(np.ravel_multi_index(index_of((x, y, z)), ZONE_SHAPE))


def cell_of(number: int) -> tuple[int, int, int]:
    """Return the cell (x, y, z) of a number."""
    x, y, z = _PLACES[number].tolist()
    return x, y, z


def frame_of(yaw_deg: float) -> int:
    """Return the frame of a builder with that yaw: the nearest quarter turn."""
    return int(np.floor(yaw_deg / 90.0 + 0.5)) % 4


def turned(x: float, z: float, frame: int) -> tuple[float, float]:
    """Return horizontal coordinates in a frame."""
    for _ in range(frame % 4):
        x, z = z, -x
    return (-x if frame >= MIRROR else x), z


def _table() -> tuple[Array, Array]:
    into = np.zeros((FRAMES, CELLS), np.int64)  # number in the map -> number in the frame
    for frame in range(FRAMES):
        for number in range(CELLS):
            x, y, z = cell_of(number)
            new_x, new_z = turned(x, z, frame)
            into[frame, number] = cell_number(int(new_x), y, int(new_z))
    return into, np.argsort(into, axis=1)


INTO, OUT_OF = _table()
"""int64 [8, 1089]: the number that a cell of the map has in a frame, and the other way round.

`values[OUT_OF[frame]]` are the values [1089] of a grid in a frame.
"""
