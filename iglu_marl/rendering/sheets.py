"""Sheets: a structure from all sides on one page, and many structures on one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering.colors import DIM, PAGE, TEXT, RGBColor
from iglu_marl.rendering.orbit import highest, orbit_view
from iglu_marl.rendering.palette import block_color
from iglu_marl.rendering.renderer import Box, Picture, check_size
from iglu_marl.rendering.text import cut, draw_text, width
from iglu_marl.rendering.top_down import layers_view, top_view
from iglu_marl.rendering.ui.widgets import rounded_mask

SHEET_SIZE = (800, 1120)
MIN_SIZE = (380, 530)
_SIDES = (
    ("from the south", 0.0),
    ("from the west", 90.0),
    ("from the north", 180.0),
    ("from the east", 270.0),
)
"""Name and azimuth of the four views around a structure."""

_TURN_DEG = 18.0  # past the side, so that depth shows
_ELEVATION_DEG = 32.0


class _Sheet:
    """A page with a header and panels; u is the scale, 1 at the standard size."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.height, self.width = check_size(size)
        if self.height < MIN_SIZE[0] or self.width < MIN_SIZE[1]:
            raise RenderError(f"size is {size!r}, expected at least {MIN_SIZE} (height, width)")
        self.u = min(self.height / SHEET_SIZE[0], self.width / SHEET_SIZE[1])
        self.margin, self.gap, self.label = (round(part * self.u) for part in (18, 14, 26))
        self.top, self.middle = round(62 * self.u), 34 * self.u  # below the header; middle of the header
        self.picture = Image.new("RGB", (self.width, self.height), PAGE)
        self.draw = ImageDraw.Draw(self.picture)
        self.free = float(self.width - self.margin)  # left end of the header's facts so far

    def text(self, x: float, y: float, text: str, color: RGBColor, pixels: float, align: str = "l") -> float:
        """Write a line, and return its width."""
        size = round(pixels * self.u)
        draw_text(self.draw, (x, y), text, size, color, align)
        return width(text, size)

    def fact(self, text: str, color: RGBColor, gap: float) -> None:
        """Write a line at the right of the header, `gap` left of the last one."""
        self.free -= gap * self.u
        self.free -= self.text(self.free, self.middle, text, color, 16, "r")

    def chip(self, fill: RGBColor) -> None:
        """Draw a small square beside a fact."""
        u, side = self.u, 14 * self.u
        x, y = self.free - 7 * u, self.middle - side / 2
        self.draw.rounded_rectangle((x - side, y, x, y + side), 3 * u, fill)
        self.free = x - side

    def title(self, text: str) -> None:
        room = max(self.free - self.margin - 24 * self.u, 1.0)
        line = cut(" ".join(text.split())[:400], round(23 * self.u), room)
        self.text(self.margin, self.middle, line, TEXT, 23)

    def panel(self, name: str, box: Box, draw: Callable[..., Picture]) -> None:
        """Draw a picture in a box (left, top, right, bottom), with its name above the left corner."""
        left, top, right, bottom = box
        self.text(left + 2 * self.u, top - 0.5 * self.label, name, DIM, 15)
        mask = rounded_mask((right - left, bottom - top), round(9 * self.u))
        self.picture.paste(Image.fromarray(draw(size=(bottom - top, right - left))), (left, top), mask)

    def rows(self, top: int, bottom: int, columns: int, count: int) -> list[Box]:
        """Return the boxes of panels of equal size, in rows of `columns`, between two heights."""
        lines = -(-count // columns)
        wide = (self.width - 2 * self.margin - (columns - 1) * self.gap) // columns
        high = (bottom - top - (lines - 1) * self.gap) // lines
        boxes = []
        for row, column in (divmod(k, columns) for k in range(count)):
            left, upper = self.margin + column * (wide + self.gap), top + row * (high + self.gap)
            boxes.append((left, upper + self.label, left + wide, upper + high))
        return boxes


def contact_sheet(grid: npt.ArrayLike, *, title: str = "", size: tuple[int, int] = SHEET_SIZE) -> Picture:
    """Return a sheet uint8[height, width, 3] with six views: four sides, from above, and layer by layer.

    The header shows the title, the number of blocks, the extent (east-west x north-south x height, in blocks), and the
    number of blocks of each colour. Raises `GridError` if the grid is invalid, `RenderError` if the size is invalid.

    Args:
        grid: dense grid [9, 11, 11].
        title: heading.
        size: height and width, at least (380, 530).

    """
    blocks = as_grid(grid)
    sheet = _Sheet(size)
    _structure_facts(sheet, blocks)
    sheet.title(title or "Structure")
    side = partial(orbit_view, blocks, elevation_deg=_ELEVATION_DEG, top=highest(blocks), smoothing=3)
    draws = [(name, partial(side, azimuth_deg=azimuth + _TURN_DEG)) for name, azimuth in _SIDES]
    draws.insert(2, ("from above", partial(top_view, blocks)))  # the last column has the flat views
    draws.append(("layers, north up", partial(layers_view, blocks)))
    for box, (name, draw) in zip(
        sheet.rows(sheet.top, sheet.height - sheet.margin, 3, 6), draws, strict=True
    ):
        sheet.panel(name, box, draw)
    return np.array(sheet.picture)


def gallery(structures: Mapping[str, npt.ArrayLike], *, across: int = 6, side: int = 240) -> Picture:
    """Return a picture uint8[height, width, 3] of structures (dense grids by name), each with its name below.

    `across`: structures in a row; `side`: pixels of each.
    """
    label = side // 8
    rows = -(-len(structures) // across)
    shape = min(len(structures), across) * side, rows * (side + label)
    sheet = Image.new("RGB", shape, tuple(PAGE))
    draw = ImageDraw.Draw(sheet)
    for number, (name, grid) in enumerate(structures.items()):
        x, y = number % across * side, number // across * (side + label)
        sheet.paste(Image.fromarray(orbit_view(grid, size=(side, side), smoothing=3)), (x, y))
        draw_text(
            draw, (x + side / 2, y + side + label / 2), cut(name, label // 2, side), label // 2, TEXT, "m"
        )
    return np.array(sheet)


def _structure_facts(sheet: _Sheet, blocks: BlockGrid) -> None:
    gap = 0.0
    for color in range(6, 0, -1):
        if count := int((blocks == color).sum()):
            sheet.fact(str(count), TEXT, gap)
            sheet.chip(block_color(color))
            gap = 15.0
    cells = np.argwhere(blocks)
    if len(cells):
        tall, wide, deep = (np.ptp(cells, axis=0) + 1).tolist()
        sheet.fact(f"{wide} x {deep} x {tall}", DIM, gap + 8)
    sheet.fact(f"{len(cells)} block{'' if len(cells) == 1 else 's'}", TEXT, 22 if len(cells) else 0)
