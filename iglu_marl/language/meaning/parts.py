"""Parts of a thing: its ends, corners and middle."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from iglu_marl.core.grid import Cell
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Unresolved
from iglu_marl.language.meaning.regions import Item
from iglu_marl.language.meaning.shapes import VECTORS, Box, Direction, dot, outermost, shifted


def all_of(item: Item, box: Box) -> list[Cell]:
    """Return all blocks."""
    return list(item)


def _neighbours(item: Item) -> dict[Cell, list[Cell]]:
    """Return the ways in which each block of a thing touches another one of it."""
    own = set(item)
    return {cell: [way for way in VECTORS.values() if shifted(cell, way) in own] for cell in item}


def _ends_of(item: Item, box: Box) -> list[Cell]:
    near = _neighbours(item)
    tips = [cell for cell in item if len(near[cell]) == 1]
    if len(tips) > 1:
        return tips  # also of a cross, or of a line that bends
    long = box.spans.index(max(box.spans))
    return [cell for cell in item if cell[long] in (box.low[long], box.high[long])]


def middle_of(item: Item, box: Box) -> list[Cell]:
    """Return the block in the middle; of something wide, else the highest there, or the cell below what is free."""
    x, y, z = shifted(box.low, box.high)
    column = [cell for cell in item if (2 * cell[0], 2 * cell[2]) == (x, z)]
    middle = [cell for cell in column if 2 * cell[1] == y]
    if middle or not (box.spans[0] and box.spans[2]) or x % 2 or z % 2:
        return middle
    return [max(column, default=(x // 2, box.low[1] - 1, z // 2))]


def _peak_of(item: Item, box: Box) -> list[Cell]:
    """Return the highest block, the middle one of several."""
    top = outermost(item, VECTORS[Direction.UP])
    found = top if len(top) == 1 else [cell for cell in middle_of(tuple(top), Box.of(top)) if cell in top]
    if not found:
        raise Unresolved(Reason.AMBIGUOUS, f"{len(top)} blocks are the highest")
    return found


def side_of(item: Item, which: str, vector: Cell) -> list[Cell]:
    """Return the part on one side."""
    if which == "half":
        reach = [dot(cell, vector) for cell in item]
        return [cell for cell in item if 2 * dot(cell, vector) > min(reach) + max(reach)]
    return outermost(_box_corners(item, Box.of(item)) if which == "corners" else item, vector)


def _corners_of(item: Item, box: Box) -> list[Cell]:
    """Return the corners of a thing: of an open line that bends, its bends; none of a block."""
    wide = [span + 1 for span in box.spans if span]
    if len(wide) == 2 and len(item) < prod(wide):
        near = _neighbours(item)
        bends = [cell for cell in item if len(near[cell]) == 2 and any(shifted(*near[cell]))]
        if bends:
            return bends
    return _box_corners(item, box) if wide else []


def _box_corners(item: Item, box: Box) -> list[Cell]:
    ends = list(zip(box.low, box.high, strict=True))
    return [cell for cell in item if all(n in end for n, end in zip(cell, ends, strict=True))]


PORTIONS: dict[str, Callable[[Item, Box], list[Cell]]] = {
    "ends": _ends_of,
    "tip": lambda item, box: outermost(item, VECTORS[Direction.UP]) if box.spans[1] else _ends_of(item, box),
    "corners": _corners_of,
    "middle": middle_of,
    "peak": _peak_of,
}
"""Parts of a thing in its box, by their names."""
