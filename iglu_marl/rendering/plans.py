"""Flat views of a structure: from straight above, and layer by layer. North is up, west is left.

A height counts layers from the ground, as instructions do: a block on the ground (y = -1) is at height 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import MAX_X, MIN_X, BlockGrid, as_grid
from iglu_marl.rendering import lettering, palette
from iglu_marl.rendering.painter import check_size
from iglu_marl.rendering.theme import DIM, PANEL, RGB, TEXT

MIN_SIDE = 64  # pixels
ADDED: RGB = (18, 205, 105)
REMOVED: RGB = (255, 24, 170)
RECOLORED: RGB = (30, 36, 50)

_SMOOTH = 2  # drawn so much larger, then reduced
_BOARD: RGB = (243, 245, 249)
_LINE: RGB = (210, 216, 226)
_CENTER: RGB = (150, 160, 178)
_NORTH: RGB = (255, 196, 61)
_BELOW: RGB = (160, 168, 184)
_INK: RGB = (22, 26, 36)
_AXIS = tuple(range(MIN_X, MAX_X + 1))


class Change(NamedTuple):
    """What differs between two grids: bool [9, 11, 11] each, and blocks that stay as they are."""

    added: npt.NDArray[np.bool_]
    removed: npt.NDArray[np.bool_]
    recolored: npt.NDArray[np.bool_]
    kept: npt.NDArray[np.bool_]


def change_of(before: npt.ArrayLike, after: npt.ArrayLike) -> Change:
    """The change from one dense grid [9, 11, 11] to another. Raises `GridError` for bad grids."""
    old, new = as_grid(before, "before"), as_grid(after, "after")
    both = (old != 0) & (new != 0)
    return Change((old == 0) & (new != 0), (old != 0) & (new == 0), both & (old != new), both & (old == new))


def block_color(color: int) -> RGB:
    """The colour of a block's top by its id 1..6."""
    red, green, blue = palette.RGB[palette.block_index(color, palette.SHADE_TOP, palette.FILL)].tolist()
    return red, green, blue


def blended(color: RGB, other: RGB, share: float) -> RGB:
    """`color` with a share (0..1) of `other` in it."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(color, other, strict=True))
    return red, green, blue


def _contrast(color: RGB) -> RGB:
    """Ink that is legible on a colour."""
    light = 0.299 * color[0] + 0.587 * color[1] + 0.114 * color[2]
    return _INK if light > 120 else (255, 255, 255)


class _Board:
    """An 11 × 11 board on a picture: where its cells are, and how they are filled."""

    def __init__(self, draw: ImageDraw.ImageDraw, left: int, top: int, cell: int) -> None:
        self.draw, self.left, self.top, self.cell = draw, left, top, cell
        side = 11 * cell
        draw.rectangle((left, top, left + side, top + side), fill=_BOARD)
        for k in range(12):
            draw.line((left + k * cell, top, left + k * cell, top + side), fill=_LINE)
            draw.line((left, top + k * cell, left + side, top + k * cell), fill=_LINE)
        middle = (left + side / 2, top + side / 2)
        radius = max(1.0, 0.08 * cell)
        draw.ellipse(
            (middle[0] - radius, middle[1] - radius, middle[0] + radius, middle[1] + radius), fill=_CENTER
        )

    def box(self, ix: int, iz: int, inset: float = 0.0) -> tuple[float, float, float, float]:
        """The corners of a cell, `inset` of its side smaller on each side."""
        x, y, shift = self.left + ix * self.cell, self.top + iz * self.cell, inset * self.cell
        return x + shift, y + shift, x + self.cell - shift, y + self.cell - shift

    def block(self, ix: int, iz: int, fill: RGB, edge: RGB | None = None, width: float = 0.07) -> None:
        """A filled cell with an edge."""
        pixels = max(1, round(width * self.cell))
        self.draw.rectangle(
            self.box(ix, iz), fill=fill, outline=edge or blended(fill, _INK, 0.3), width=pixels
        )

    def letters(self, ix: int, iz: int, text: str, color: RGB, size: float = 0.56) -> None:
        """A short text in the middle of a cell."""
        left, top, right, bottom = self.box(ix, iz)
        font = lettering.font(round(size * self.cell))
        self.draw.text(((left + right) / 2, (top + bottom) / 2), text, color, font, anchor="mm")

    def axes(self) -> None:
        """Coordinates below and at the left, compass letters outside of the sides."""
        side, gap = 11 * self.cell, 0.55 * self.cell
        font, bold = lettering.font(round(0.46 * self.cell)), lettering.font(round(0.62 * self.cell))
        for k, value in enumerate(_AXIS):
            at = (k + 0.5) * self.cell
            self.draw.text((self.left + at, self.top + side + gap), str(value), DIM, font, anchor="mm")
            self.draw.text((self.left - gap, self.top + at), str(value), DIM, font, anchor="mm")
        middle, far = side / 2, 1.3 * self.cell
        x, z = self.left + side + gap, self.top + side + gap
        for letter, place, color in (
            ("N", (self.left + middle, self.top - gap), _NORTH),
            ("E", (self.left + side + gap, self.top + middle), DIM),
            ("S", (self.left + middle, self.top + side + far), DIM),
            ("W", (self.left - far, self.top + middle), DIM),
            ("x", (x, z), _CENTER),
            ("z", (self.left - gap, self.top - gap), _CENTER),
        ):
            self.draw.text(place, letter, color, bold if letter.isupper() else font, anchor="mm")


def _checked(size: tuple[int, int]) -> tuple[int, int]:
    height, width = check_size(size)
    if min(height, width) < MIN_SIDE:
        raise RenderError(f"size is {size!r}, expected at least {MIN_SIDE} pixels (height, width)")
    return height, width


def top_view(grid: npt.ArrayLike, *, size: tuple[int, int] = (360, 360)) -> npt.NDArray[np.uint8]:
    """A dense grid [9, 11, 11] from straight above, uint8[height, width, 3], with labelled axes x and z.

    Each column shows the colour of its highest block and that block's height; lower ones are darker. A ring
    in the corner says that the column has a gap below. `size` is (height, width), at least 64 pixels. Raises
    `GridError` for bad grids and `RenderError` for bad sizes.
    """
    height, width = _checked(size)
    blocks = as_grid(grid)
    picture = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH), PANEL)
    draw = ImageDraw.Draw(picture)
    cell = int(min(picture.width / 14.0, picture.height / 14.2))
    left = round((picture.width - 11 * cell) / 2 + 0.3 * cell)
    board = _Board(draw, left, round((picture.height - 11 * cell) / 2 - 0.35 * cell), cell)
    for ix, iz in np.argwhere(blocks.any(axis=0)).tolist():
        column = np.flatnonzero(blocks[:, ix, iz])
        peak = int(column[-1])
        color = block_color(int(blocks[peak, ix, iz]))
        color = blended(color, _INK, 0.025 * (8 - peak))
        board.block(ix, iz, color)
        board.letters(ix, iz, str(peak + 1), _contrast(color))
        if len(column) <= peak:
            ring = board.box(ix, iz)
            radius = 0.22 * cell
            x, z = ring[2] - 0.1 * cell - radius, ring[1] + 0.1 * cell
            width_ = max(1, round(0.07 * cell))
            draw.ellipse((x, z, x + radius, z + radius), outline=_contrast(color), width=width_)
    board.axes()
    return np.asarray(picture.reduce(_SMOOTH)).copy()


def _columns(count: int, width: int, height: int) -> int:
    """How many maps to put side by side so that they become largest."""
    return max(range(1, count + 1), key=lambda k: min(width / (12 * k), height / (13 * math.ceil(count / k))))


def layers_view(
    grid: npt.ArrayLike,
    *,
    before: npt.ArrayLike | None = None,
    size: tuple[int, int] = (360, 360),
) -> npt.NDArray[np.uint8]:
    """The layers of a dense grid [9, 11, 11], lowest first, as maps with north up: uint8[height, width, 3].

    Small squares are blocks of the layer below. With `before`, an earlier grid, what changed since stands out:
    "+" added, "x" removed, and recoloured cells with the old colour in the upper left half; layers without a
    change are left out unless there is none at all. `size` is (height, width), at least 64 pixels. Raises
    `GridError` for bad grids and `RenderError` for bad sizes.
    """
    height, width = _checked(size)
    new = as_grid(grid)
    old = None if before is None else as_grid(before, "before")
    layers = _shown_layers(new, old)
    picture = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH), PANEL)
    draw = ImageDraw.Draw(picture)
    pad = 0.02 * min(picture.size)
    columns = _columns(len(layers), picture.width, picture.height)
    rows = math.ceil(len(layers) / columns)
    wide, high = (picture.width - 2 * pad) / columns, (picture.height - 2 * pad) / rows
    cell = int(min(wide / 11.8, high / 13.0))
    high = min(high, 13.6 * cell)
    upper = (picture.height - rows * high) / 2
    for number, layer in enumerate(layers):
        column, row = number % columns, number // columns
        left = round(pad + column * wide + (wide - 11 * cell) / 2)
        top = round(upper + row * high + (high - 11 * cell) / 2 + 0.7 * cell)
        font = lettering.font(round(1.05 * cell))
        draw.text((left, top - 0.8 * cell), f"height {layer + 1}", TEXT, font, anchor="lm")
        board = _Board(draw, left, top, cell)
        if old is None:
            _fill_layer(board, new, layer)
        else:
            _fill_change(board, old[layer], new[layer])
    return np.asarray(picture.reduce(_SMOOTH)).copy()


def _shown_layers(new: BlockGrid, old: BlockGrid | None) -> list[int]:
    """All layers up to the highest block; of a change only those in which something changed."""
    if old is not None and (old != new).any():
        return np.flatnonzero((old != new).any(axis=(1, 2))).tolist()
    used = np.flatnonzero(new.any(axis=(1, 2)))
    return list(range(int(used[-1]) + 1)) if len(used) else [0]


def _fill_layer(board: _Board, grid: BlockGrid, layer: int) -> None:
    for ix, iz in np.argwhere(grid[layer]).tolist():
        board.block(ix, iz, block_color(int(grid[layer, ix, iz])))
    if layer:
        for ix, iz in np.argwhere(grid[layer - 1] * (grid[layer] == 0)).tolist():
            board.draw.rectangle(
                board.box(ix, iz, 0.32), outline=_BELOW, width=max(1, round(0.06 * board.cell))
            )


def _fill_change(board: _Board, old: npt.NDArray[np.int8], new: npt.NDArray[np.int8]) -> None:
    for ix, iz in np.argwhere((old != 0) | (new != 0)).tolist():
        was, is_ = int(old[ix, iz]), int(new[ix, iz])
        if was == is_:
            board.block(ix, iz, blended(block_color(is_), _BOARD, 0.62))
        elif not was:
            board.block(ix, iz, block_color(is_), ADDED, 0.13)
            board.letters(ix, iz, "+", _contrast(block_color(is_)), 0.9)
        elif not is_:
            board.block(ix, iz, blended(block_color(was), _BOARD, 0.72), REMOVED, 0.13)
            x0, y0, x1, y1 = board.box(ix, iz, 0.3)
            width = max(1, round(0.1 * board.cell))
            board.draw.line((x0, y0, x1, y1), fill=REMOVED, width=width)
            board.draw.line((x0, y1, x1, y0), fill=REMOVED, width=width)
        else:
            board.block(ix, iz, block_color(is_), RECOLORED, 0.13)
            x0, y0, x1, y1 = board.box(ix, iz, 0.13)
            board.draw.polygon([(x0, y0), (x1, y0), (x0, y1)], fill=block_color(was))
            board.draw.line((x1, y0, x0, y1), fill=RECOLORED, width=max(1, round(0.08 * board.cell)))
