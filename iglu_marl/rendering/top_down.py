"""Flat views of a structure: from straight above, and layer by layer. North is up, west is left.

A height counts layers from the ground, as instructions do: a block on the ground (y = -1) has height 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import colors
from iglu_marl.rendering.colors import DIM, INK, TEXT, RGBColor, blended
from iglu_marl.rendering.palette import block_color
from iglu_marl.rendering.renderer import Picture, check_size
from iglu_marl.rendering.text import draw_text

MIN_SIDE = 64  # pixels

_SMOOTH = 2  # drawn larger by this factor, then reduced
_LINE: RGBColor = (210, 216, 226)
_CENTER: RGBColor = (150, 160, 178)
_BELOW: RGBColor = (160, 168, 184)


def _contrast(color: RGBColor) -> RGBColor:
    light = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]
    return INK if light > 120 else (255, 255, 255)


class _Board:
    """An 11 × 11 board on a picture, drawn in cells from its north-west corner."""

    def __init__(self, draw: ImageDraw.ImageDraw, left: int, top: int, cell: int) -> None:
        self.draw, self.left, self.top, self.cell = draw, left, top, cell
        draw.rectangle(self.box(0, 0, side=11.0), fill=colors.BOARD)
        for k in range(12):
            draw.line((*self.at(k, 0), *self.at(k, 11)), fill=_LINE)
            draw.line((*self.at(0, k), *self.at(11, k)), fill=_LINE)
        inset = 0.5 - max(1.0 / cell, 0.08)
        draw.ellipse(self.box(5, 5, inset), fill=_CENTER)

    def at(self, x: float, z: float) -> tuple[float, float]:
        return self.left + x * self.cell, self.top + z * self.cell

    def box(
        self, x: float, z: float, inset: float = 0.0, side: float = 1.0
    ) -> tuple[float, float, float, float]:
        """Return the corners (left, top, right, bottom) of a cell, `inset` smaller on each side."""
        return *self.at(x + inset, z + inset), *self.at(x + side - inset, z + side - inset)

    def thick(self, share: float) -> int:
        """Return the width of a line in pixels, by its share of a cell."""
        return max(1, round(share * self.cell))

    def block(self, ix: int, iz: int, fill: RGBColor) -> None:
        self.draw.rectangle(
            self.box(ix, iz), fill=fill, outline=blended(fill, INK, 0.3), width=self.thick(0.07)
        )

    def write(self, x: float, z: float, text: str, color: RGBColor, size: float, align: str = "m") -> None:
        draw_text(self.draw, self.at(x, z), text, round(size * self.cell), color, align)

    def axes(self) -> None:
        """Write coordinates below and at the left, and compass letters around."""
        for value in range(-5, 6):
            self.write(value + 5.5, 11.55, str(value), DIM, 0.46)
            self.write(-0.55, value + 5.5, str(value), DIM, 0.46)
        for letter, x, z, color, size in (
            ("N", 5.5, -0.55, colors.ACCENT, 0.62), ("E", 11.55, 5.5, DIM, 0.62), ("S", 5.5, 12.3, DIM, 0.62),
            ("W", -1.3, 5.5, DIM, 0.62), ("x", 11.55, 11.55, _CENTER, 0.46), ("z", -0.55, -0.55, _CENTER, 0.46),
        ):  # fmt: skip
            self.write(x, z, letter, color, size)


def _page(size: tuple[int, int]) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """Return an empty picture for (height, width) pixels, enlarged by `_SMOOTH`."""
    height, width = check_size(size)
    if min(height, width) < MIN_SIDE:
        raise RenderError(f"size is {size!r}, expected at least {MIN_SIDE} pixels (height, width)")
    picture = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH), colors.PANEL)
    return picture, ImageDraw.Draw(picture)


def top_view(grid: npt.ArrayLike, *, size: tuple[int, int] = (360, 360)) -> Picture:
    """Return a structure from straight above, uint8[height, width, 3], with labelled axes x and z.

    Each column shows the colour and the height of its highest block; lower ones are darker. A ring in the corner marks
    a column with a gap below. Raises `GridError` if the grid is invalid, `RenderError` if the size is invalid.

    Args:
        grid: dense grid [9, 11, 11].
        size: height and width, at least 64 pixels.

    """
    blocks = as_grid(grid)
    picture, draw = _page(size)
    cell = int(min(picture.width / 14.0, picture.height / 14.2))
    left = round((picture.width - 11 * cell) / 2 + 0.3 * cell)
    board = _Board(draw, left, round((picture.height - 11 * cell) / 2 - 0.35 * cell), cell)
    for ix, iz in np.argwhere(blocks.any(axis=0)).tolist():
        column = np.flatnonzero(blocks[:, ix, iz])
        peak = int(column[-1])
        color = blended(block_color(int(blocks[peak, ix, iz])), INK, 0.025 * (8 - peak))
        board.block(ix, iz, color)
        board.write(ix + 0.5, iz + 0.5, str(peak + 1), _contrast(color), 0.56)
        if len(column) <= peak:
            ring = board.box(ix + 0.68, iz + 0.1, side=0.22)
            draw.ellipse(ring, outline=_contrast(color), width=board.thick(0.07))
    board.axes()
    return np.array(picture.reduce(_SMOOTH))


def layers_view(grid: npt.ArrayLike, *, size: tuple[int, int] = (360, 360)) -> Picture:
    """Return the layers of a structure, lowest first, as maps with north up: uint8[height, width, 3].

    Small squares are blocks of the layer below. Raises `GridError` if the grid is invalid, `RenderError` if the size is
    invalid.

    Args:
        grid: dense grid [9, 11, 11].
        size: height and width, at least 64 pixels.

    """
    blocks = as_grid(grid)
    used = np.flatnonzero(blocks.any(axis=(1, 2)))
    count = int(used[-1]) + 1 if len(used) else 1
    picture, draw = _page(size)
    width, height = picture.size
    pad = 0.02 * min(width, height)
    columns = max(  # those with the largest maps
        range(1, count + 1), key=lambda k: min(width / (12 * k), height / (13 * math.ceil(count / k)))
    )
    rows = math.ceil(count / columns)
    wide, high = (width - 2 * pad) / columns, (height - 2 * pad) / rows
    cell = int(min(wide / 11.8, high / 13.0))
    high = min(high, 13.6 * cell)
    upper = (height - rows * high) / 2
    for layer in range(count):
        left = round(pad + layer % columns * wide + (wide - 11 * cell) / 2)
        top = round(upper + layer // columns * high + (high - 11 * cell) / 2 + 0.7 * cell)
        board = _Board(draw, left, top, cell)
        board.write(0, -0.8, f"height {layer + 1}", TEXT, 1.05, "l")
        _fill_layer(board, blocks, layer)
    return np.array(picture.reduce(_SMOOTH))


def _fill_layer(board: _Board, grid: BlockGrid, layer: int) -> None:
    for ix, iz in np.argwhere(grid[layer]).tolist():
        board.block(ix, iz, block_color(int(grid[layer, ix, iz])))
    if layer:
        for ix, iz in np.argwhere(grid[layer - 1] * (grid[layer] == 0)).tolist():
            board.draw.rectangle(board.box(ix, iz, 0.32), outline=_BELOW, width=board.thick(0.06))
