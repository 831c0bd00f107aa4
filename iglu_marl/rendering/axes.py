"""Two views of a structure, from opposite sides, with numbered axes from which places can be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import Cell, as_grid, cells_of, color_at, in_zone
from iglu_marl.rendering.colors import BOARD, DIM, INK, PALE
from iglu_marl.rendering.palette import SHADE_TOP, SHADE_X, SHADE_Z, block_color
from iglu_marl.rendering.text import font

SIDE = 512  # pixels of each view
_EAST, _DOWN, _UP = 21.0, 10.5, 22.0  # pixels of a cell: across, into the depth, and in height
_REACH = 5.5  # cells from the centre to the edge of the board
_HEIGHTS = 9

Point = tuple[float, float]


def axes_view(grid: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return views of a structure from the south-east and from the north-west: uint8[512, 1024, 3].

    The numbers at the board's edges are blocks east (E), west (W), north (N) or south (S) of the centre column. A pole
    at a corner shows heights. The topmost block of each pile carries its height, and a dashed line leads from a block
    over air to what is below.

    Args:
        grid: dense grid [9, 11, 11] of color ids. Raises `GridError` for others.

    """
    built = as_grid(grid)
    return np.concatenate([_view(built, side) for side in (1, -1)], axis=1)


def _view(grid: npt.NDArray[Any], side: int) -> npt.NDArray[np.uint8]:
    """Return the view from the south-east (`side` 1) or the north-west (-1)."""
    image = Image.new("RGB", (SIDE, SIDE), BOARD)
    draw = ImageDraw.Draw(image)
    at = partial(_at, side)
    _board(draw, at, side)
    for cell, color in sorted(_parts(grid), key=lambda part: side * (part[0][0] + part[0][2]) + part[0][1]):
        if color:
            _block(draw, at, side, cell, color)
            if not in_zone(*_above(cell)) or not color_at(grid, _above(cell)):
                x, y, z = cell
                _write(draw, at(x, y + 2, z), str(y + 2))
        else:
            _drop(draw, at, cell)
    return np.asarray(image, dtype=np.uint8)


def _at(side: int, x: float, height: float, z: float) -> Point:
    """Return the pixel of a point; `height` is in cells above the ground."""
    across, depth = side * (x - z), side * (x + z)
    return SIDE / 2 + across * _EAST, SIDE * 0.64 + depth * _DOWN - height * _UP


def _above(cell: Cell) -> Cell:
    x, y, z = cell
    return x, y + 1, z


def _parts(grid: npt.NDArray[Any]) -> Iterator[tuple[Cell, int]]:
    """Yield what is drawn, by cell: blocks by colour id, and 0 for air below a block that hangs over it."""
    for x, y, z in cells_of(grid).tolist():
        yield (x, y, z), color_at(grid, (x, y, z))
        below = y - 1
        while below >= -1 and not color_at(grid, (x, below, z)):
            yield (x, below, z), 0
            below -= 1


def _board(draw: ImageDraw.ImageDraw, at: Any, side: int) -> None:
    """Draw the board with its numbers, compass points and the pole of heights at the far corner."""
    far = -side * _REACH
    corners = [
        at(x, 0, z) for x, z in ((-_REACH, -_REACH), (_REACH, -_REACH), (_REACH, _REACH), (-_REACH, _REACH))
    ]
    draw.polygon(corners, fill=PALE)
    for line in np.arange(-_REACH, _REACH + 1):
        for one, other in (((line, -_REACH), (line, _REACH)), ((-_REACH, line), (_REACH, line))):
            draw.line([at(one[0], 0, one[1]), at(other[0], 0, other[1])], fill=DIM)
    near = side * (_REACH + 0.7)
    for number in range(-5, 6):
        _write(draw, at(number, 0, near), f"{abs(number)}{'E' if number > 0 else 'W'}" if number else "0")
        _write(draw, at(near, 0, number), f"{abs(number)}{'S' if number > 0 else 'N'}" if number else "0")
    for x, z, name in ((0, -1, "NORTH"), (0, 1, "SOUTH"), (1, 0, "EAST"), (-1, 0, "WEST")):
        _write(draw, at(x * (_REACH + 2), 0, z * (_REACH + 2)), name)
    draw.line([at(far, 0, far), at(far, _HEIGHTS, far)], fill=INK)
    for height in range(1, _HEIGHTS + 1):
        x, y = at(far, height - 0.5, far)
        draw.line([at(far, height, far), (x + 5, at(far, height, far)[1])], fill=INK)
        _write(draw, (x - 9, y), str(height))


def _block(draw: ImageDraw.ImageDraw, at: Any, side: int, cell: Cell, color: int) -> None:
    x, y, z = cell
    low, high = y + 1.0, y + 2.0
    near_x, near_z = x + side * 0.5, z + side * 0.5
    square = [(x + dx, z + dz) for dx, dz in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]
    faces = (
        [at(px, high, pz) for px, pz in square],
        [at(near_x, h, pz) for h, pz in ((low, z - 0.5), (low, z + 0.5), (high, z + 0.5), (high, z - 0.5))],
        [at(px, h, near_z) for h, px in ((low, x - 0.5), (low, x + 0.5), (high, x + 0.5), (high, x - 0.5))],
    )
    for face, shade in zip(faces, (SHADE_TOP, SHADE_X, SHADE_Z), strict=True):
        draw.polygon(face, fill=block_color(color, shade), outline=INK)


def _drop(draw: ImageDraw.ImageDraw, at: Any, cell: Cell) -> None:
    """Draw a dashed line through a cell of air, and a cross on the ground where it ends."""
    x, y, z = cell
    for part in range(3):
        draw.line([at(x, y + 1 + part / 3, z), at(x, y + 1 + part / 3 + 1 / 6, z)], fill=INK, width=2)
    if y == -1:
        for dx, dz in ((0.35, 0.35), (0.35, -0.35)):
            draw.line([at(x - dx, 0, z - dz), at(x + dx, 0, z + dz)], fill=INK)


def _write(draw: ImageDraw.ImageDraw, place: Point, text: str) -> None:
    draw.text(place, text, fill=INK, font=font(13), anchor="mm", stroke_width=1, stroke_fill=BOARD)
