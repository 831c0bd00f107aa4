"""Sheets: a structure from all sides on one page, and a change as before, after and difference."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import lettering, plans, views
from iglu_marl.rendering.painter import check_size
from iglu_marl.rendering.plans import ADDED, RECOLORED, REMOVED, Change, block_color, change_of
from iglu_marl.rendering.theme import DIM, GOOD, PAGE, RGB, TEXT, corners

SHEET_SIZE = (800, 1120)
CHANGE_SIZE = (860, 1120)
MIN_SIZE = (380, 530)
SIDES = (
    ("from the south", 0.0),
    ("from the west", 90.0),
    ("from the north", 180.0),
    ("from the east", 270.0),
)
"""Name and azimuth of the four views around a structure: who stands in the south looks north."""

_TURN_DEG = 18.0  # past the side, so that depth shows
_ELEVATION_DEG = 32.0
_PALE: RGB = (196, 202, 212)
_LOOKS = (
    views.Look(wash=0.62),  # kept
    views.Look(edge=ADDED),
    views.Look(edge=REMOVED, wash=0.35),
    views.Look(edge=RECOLORED),
)


class _Sheet:
    """A page with a header and panels; u is 1/1120 of the width of the standard size."""

    def __init__(self, size: tuple[int, int], standard: tuple[int, int]) -> None:
        height, width = check_size(size)
        if height < MIN_SIZE[0] or width < MIN_SIZE[1]:
            raise RenderError(f"size is {size!r}, expected at least {MIN_SIZE} (height, width)")
        self.u = min(height / standard[0], width / standard[1])
        self.margin, self.gap = round(18 * self.u), round(14 * self.u)
        self.label = round(26 * self.u)
        self.width, self.height = width, height
        self.picture = Image.new("RGB", (width, height), PAGE)
        self.draw = ImageDraw.Draw(self.picture)
        self.top = round(62 * self.u)  # of what stands below the header

    def text(self, x: float, y: float, text: str, color: RGB, pixels: float, align: str = "l") -> float:
        """Write a line; returns its width."""
        size = round(pixels * self.u)
        lettering.write(self.draw, (x, y), text, size, color, align)
        return lettering.width(text, size)

    def title(self, text: str, room: float) -> None:
        size = round(23 * self.u)
        line = lettering.cut(" ".join(text.split())[:400], size, max(room, 1.0))
        lettering.write(self.draw, (self.margin, 34 * self.u), line, size, TEXT)

    def panel(self, name: str, box: tuple[int, int, int, int], pixels: npt.NDArray[np.uint8]) -> None:
        """A named picture in a box (left, top, right, bottom), the name above its left corner."""
        left, top, right, bottom = box
        self.text(left + 2 * self.u, top - 0.5 * self.label, name, DIM, 15)
        mask = corners((right - left, bottom - top), round(9 * self.u))
        self.picture.paste(Image.fromarray(pixels), (left, top), mask)

    def rows(self, top: int, bottom: int, columns: int, count: int) -> list[tuple[int, int, int, int]]:
        """Boxes of panels in rows of `columns`, all of one size, their names included, between two heights."""
        lines = -(-count // columns)
        wide = (self.width - 2 * self.margin - (columns - 1) * self.gap) // columns
        high = (bottom - top - (lines - 1) * self.gap) // lines
        boxes = []
        for k in range(count):
            left, upper = (
                self.margin + k % columns * (wide + self.gap),
                top + k // columns * (high + self.gap),
            )
            boxes.append((left, upper + self.label, left + wide, upper + high))
        return boxes


def contact_sheet(
    grid: npt.ArrayLike, *, title: str = "", size: tuple[int, int] = SHEET_SIZE
) -> npt.NDArray[np.uint8]:
    """A dense grid [9, 11, 11] in six views: from four sides, from above, and layer by layer.

    The header holds the title, the number of blocks, the extent (east-west x north-south x height, in
    blocks) and how many blocks there are of each colour. `size` is (height, width), at least (380, 530).
    Returns uint8[height, width, 3]. Raises `GridError` for bad grids and `RenderError` for bad sizes.
    """
    blocks = as_grid(grid)
    sheet = _Sheet(size, SHEET_SIZE)
    sheet.title(title or "Structure", _structure_facts(sheet, blocks) - sheet.margin - 24 * sheet.u)
    boxes = sheet.rows(sheet.top, sheet.height - sheet.margin, 3, 6)
    top = views.highest(blocks)
    draws = [
        (name, partial(_side, blocks, azimuth_deg=azimuth + _TURN_DEG, top=top)) for name, azimuth in SIDES
    ]
    draws += [
        ("from above", partial(plans.top_view, blocks)),
        ("layers, north up", partial(plans.layers_view, blocks)),
    ]
    order = (0, 1, 4, 2, 3, 5)  # the flat views stand in the last column
    for box, index in zip(boxes, order, strict=True):
        name, draw = draws[index]
        sheet.panel(name, box, draw(size=(box[3] - box[1], box[2] - box[0])))
    return np.asarray(sheet.picture).copy()


def _side(
    blocks: BlockGrid, *, azimuth_deg: float, top: float, size: tuple[int, int]
) -> npt.NDArray[np.uint8]:
    return views.orbit_view(
        blocks, size=size, azimuth_deg=azimuth_deg, elevation_deg=_ELEVATION_DEG, top=top, smoothing=3
    )


def _structure_facts(sheet: _Sheet, blocks: BlockGrid) -> float:
    """Counts and extent at the right of the header; returns where they begin."""
    u, middle = sheet.u, 34 * sheet.u
    x = float(sheet.width - sheet.margin)
    for color in range(6, 0, -1):
        count = int((blocks == color).sum())
        if not count:
            continue
        x -= sheet.text(x, middle, str(count), TEXT, 16, "r") + 7 * u
        chip = 13 * u
        sheet.draw.rounded_rectangle(
            (x - chip, middle - chip / 2, x, middle + chip / 2), 3 * u, fill=block_color(color)
        )
        x -= chip + 15 * u
    cells = np.argwhere(blocks)
    if len(cells):
        tall, wide, deep = (cells.max(axis=0) - cells.min(axis=0) + 1).tolist()
        x -= 8 * u
        x -= sheet.text(x, middle, f"{wide} x {deep} x {tall}", DIM, 16, "r") + 22 * u
    number = int((blocks != 0).sum())
    x -= sheet.text(x, middle, f"{number} block{'' if number == 1 else 's'}", TEXT, 16, "r")
    return x


def change_sheet(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    *,
    title: str = "",
    caption: str = "",
    size: tuple[int, int] = CHANGE_SIZE,
) -> npt.NDArray[np.uint8]:
    """Two dense grids [9, 11, 11] as before, after and difference, and the changed layers as maps.

    In the difference, blocks that stay are pale; added, removed (translucent) and recoloured ones have edges
    of their own, which the header explains and counts. `title` stands in the header, `caption` (an
    instruction, say) below it. `size` is (height, width), at least (380, 530). Returns
    uint8[height, width, 3]. Raises `GridError` for bad grids and `RenderError` for bad sizes.
    """
    old, new = as_grid(before, "before"), as_grid(after, "after")
    change = change_of(old, new)
    sheet = _Sheet(size, CHANGE_SIZE)
    sheet.title(title or "Change", _change_facts(sheet, change) - sheet.margin - 24 * sheet.u)
    upper = _caption(sheet, caption)
    lower = sheet.height - sheet.margin
    middle = round(upper + 0.53 * (lower - upper))
    top = views.highest(old, new)
    boxes = sheet.rows(upper, middle, 3, 3)
    high, wide = boxes[0][3] - boxes[0][1], boxes[0][2] - boxes[0][0]
    for name, box, grid in (("before", boxes[0], old), ("after", boxes[1], new)):
        sheet.panel(name, box, views.orbit_view(grid, size=(high, wide), top=top, smoothing=3))
    sheet.panel("difference", boxes[2], _difference(old, new, change, (high, wide), top))
    (box,) = sheet.rows(middle + sheet.gap, lower, 1, 1)
    maps = plans.layers_view(new, before=old, size=(box[3] - box[1], box[2] - box[0]))
    changed = bool((old != new).any())
    sheet.panel("changed layers, north up" if changed else "layers, north up", box, maps)
    return np.asarray(sheet.picture).copy()


def _caption(sheet: _Sheet, caption: str) -> int:
    """At most three lines below the header; returns where the panels may begin."""
    if not caption.strip():
        return sheet.top
    pixels = round(17 * sheet.u)
    width = sheet.width - 2 * sheet.margin
    lines = lettering.wrapped(caption.strip()[:1200], pixels, width)
    if len(lines) > 3:
        lines = (*lines[:2], lettering.cut(f"{lines[2]} ...", pixels, width))
    for number, line in enumerate(lines):
        sheet.text(sheet.margin, (70 + 24 * number) * sheet.u, line, DIM, 17)
    return round((70 + 24 * len(lines)) * sheet.u)


def _change_facts(sheet: _Sheet, change: Change) -> float:
    """The legend with counts at the right of the header; returns where it begins."""
    u, middle = sheet.u, 34 * sheet.u
    x, chip = float(sheet.width - sheet.margin), 14 * u
    if not (change.added | change.removed | change.recolored).any():
        return x - sheet.text(x, middle, "no difference", GOOD, 16, "r")
    for name, mask, edge, fill in (
        ("kept", change.kept, _PALE, _PALE),
        ("recoloured", change.recolored, block_color(1), block_color(4)),
        ("removed", change.removed, REMOVED, PAGE),
        ("added", change.added, ADDED, PAGE),
    ):
        x -= sheet.text(x, middle, f"{int(mask.sum())} {name}", TEXT if mask.any() else DIM, 16, "r") + 7 * u
        box = (x - chip, middle - chip / 2, x, middle + chip / 2)
        if name == "recoloured":
            sheet.draw.rectangle(box, fill=fill)
            sheet.draw.polygon([box[:2], (box[2], box[1]), (box[0], box[3])], fill=edge)
        else:
            sheet.draw.rounded_rectangle(box, 3 * u, fill=fill, outline=edge, width=max(1, round(3 * u)))
        x -= chip + 18 * u
    return x


def _difference(
    old: BlockGrid, new: BlockGrid, change: Change, size: tuple[int, int], top: float
) -> npt.NDArray[np.uint8]:
    """The new grid with its changes marked, and the removed blocks translucent."""
    smoothing = 3
    camera = views.orbit_camera(
        (size[0] * smoothing, size[1] * smoothing),
        views.DEFAULT_AZIMUTH_DEG,
        views.DEFAULT_ELEVATION_DEG,
        top,
    )
    marked = new + 6 * change.added + 18 * change.recolored
    solid = marked.astype(np.int8)
    ghosted = np.where(change.removed, old + 12, solid).astype(np.int8) if change.removed.any() else None
    picture = views.board_picture(solid, ghosted, camera, _LOOKS)
    return np.asarray(picture.reduce(smoothing)).copy()
