"""Placements that leave a part open to common sense, and the rules that complete them.

`Place` and `Build` specify everything. A `PlaceGoal` keeps what was said; `put` completes it from the blocks in the
world. Worlds that are equally plausible make the placement ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, cell_index, color_name, in_zone
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.references import (
    Anaphor,
    Beside,
    Between,
    Blocks,
    Item,
    Level,
    Location,
    NextTo,
    Portion,
    Reference,
    resolve,
)
from iglu_marl.language.meaning.regions import FLOOR, REACH, Anchors, free_cells, on_column, outer, ring
from iglu_marl.language.meaning.shapes import (
    COMPASS,
    VECTORS,
    Box,
    Direction,
    Kind,
    dot,
    figure,
    outermost,
    scaled,
    shifted,
)

ALIKE = -1
"""Colour of a `BlockSpec`: that of the thing that its place is relative to."""
SAME = 0
"""Colour of a `BlockSpec`: that of the block placed last."""
ANY_COLOR = -2
"""Colour of a `BlockSpec`: one that the builder chooses."""


@dataclass(frozen=True)
class Spots(Location):
    """Several columns of the map, (x, z) each.

    free: only the empty ones. implied: of the map, or the corners of a plate that was placed last.
    """

    at: tuple[tuple[int, int], ...]
    free: bool = False
    implied: bool = field(default=False, compare=False)

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cell on each column."""
        box = Box.of(setting.last or ((0, 0, 0),))
        if self.implied and min(box.spans[0], box.spans[2]) > 0 and not box.spans[1]:
            corners = Beside(((Direction.UP, 1),), Portion(Anaphor(), "corners")).anchors(setting)
            return [one for one in corners if not self.free or not any(map(setting.color_at, one.cells))]
        open_ = [(x, z) for x, z in self.at if not self.free or not setting.color_at((x, FLOOR, z))]
        return [Anchors((on_column(x, z, setting),)) for x, z in open_]

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items with a block on one of them."""
        return [item for item in items if any((x, z) in self.at for x, _, z in item)]


@dataclass(frozen=True)
class Sides(Location):
    """Several sides of something.

    which: "every" free one, "four", "both" of two opposite ones, the "ends" of a line, all "around" in its layer with
    the corners, the "diagonal" ones at its corners, or a tuple of directions.
    """

    of: Reference
    which: str | tuple[Direction, ...] = "every"

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells on each side of each thing."""
        return [anchor for item in resolve(self.of, setting) for anchor in self._of_item(item, setting)]

    def _of_item(self, item: Item, setting: Resolution) -> list[Anchors]:
        if self.which == "around":
            return [Anchors(tuple(ring(item)), None, item, True)]
        if self.which == "diagonal":
            (west, low, north), (east, _, south) = Box.of(item).low, Box.of(item).high
            return [Anchors(((x, low, z),)) for x, z in product((west - 1, east + 1), (north - 1, south + 1))]
        return [Anchors(outer(item, way), way, item) for way in self._vectors(item, setting)]

    def _vectors(self, item: Item, setting: Resolution) -> list[Cell]:
        """Return the directions of the sides of a thing."""
        if not isinstance(self.which, str):
            return [setting.vector_of(way) for way in self.which]
        if self.which == "ends" or (self.which == "both" and any(Box.of(item).spans)):
            return self._along(item)
        if self.which == "both":
            if setting.view is None:
                raise Unresolved(Reason.AMBIGUOUS, "which two sides")
            return [setting.vector_of(way) for way in (Direction.LEFT, Direction.RIGHT)]
        if self.which == "every":  # neither the ground nor the border of the zone is a side of it
            return [way for way in VECTORS.values() if all(in_zone(*cell) for cell in outer(item, way))]
        return [VECTORS[way] for way in COMPASS]

    def _along(self, item: Item) -> list[Cell]:
        """Return the two directions in which a thing is longest."""
        spans = Box.of(item).spans
        axis = spans.index(max(spans))
        if spans.count(max(spans)) > 1 or (self.which == "both" and axis == 1):
            raise Unresolved(Reason.AMBIGUOUS, "which two sides")
        unit: Cell = (int(axis == 0), int(axis == 1), int(axis == 2))
        return [scaled(unit, -1), unit]


@dataclass(frozen=True)
class Opposite(Location):
    """The place opposite to something, mirrored in the middle of the map; None = what was mentioned last."""

    of: Reference | None = None

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cell on the opposite column."""
        x, _, z = resolve(self.of or Anaphor(), setting)[0][0]
        return [Anchors((on_column(-x, -z, setting),))]


@dataclass(frozen=True)
class OtherSide(Location):
    """The place opposite to the last placement."""


@dataclass(frozen=True)
class BlockSpec:
    """What is to be placed: `BlockSpec(3, 6)` is three red blocks, `BlockSpec(2, 1, Kind.TOWER, (3,))` two blue towers.

    Args:
        count: number of blocks or shapes, None = as many as the place needs.
        color: an id 1..6, `SAME`, `ALIKE`, or None when not given.
        sizes: of a shape, () when not given.
        standing: True = upright, False = level, None = not given.
        way: direction in which it goes.
        axis: "x", "y", "z", "side" or "depth", along which it lies in either direction.
        each: `count` is per place.
        gap: free cells to its reference, and between its blocks.
        hollow: without its middle.
        like, times, taller: as tall or long as `like`, times `times`, plus `taller`.
        centred: in the middle of its place.
        vague: several, but the number was not given.
        again: "another one", of the shape placed last.
        shade: the thing whose colour it has.
        flat: in one layer.

    """

    count: int | None = 1
    color: int | None = None
    kind: Kind = Kind.BLOCK
    sizes: tuple[int, ...] = ()
    standing: bool | None = None
    way: Direction | None = None
    axis: str | None = None
    each: bool = False
    gap: int = 0
    hollow: bool = False
    like: Reference | None = None
    taller: int = 0
    times: float = 1
    centred: bool = False
    vague: bool = False
    again: bool = False
    shade: Reference | None = None
    flat: bool = False

    def __post_init__(self) -> None:
        if self.count is not None and not 1 <= self.count <= 121:
            raise DialogueError(f"{self.count} blocks, expected 1..121")
        if any(not 1 <= size <= 11 for size in self.sizes):
            raise DialogueError(f"sizes {self.sizes}, expected 1..11")


ALONG = {"x": "east to west", "z": "north to south", "side": "left to right", "depth": "front to back"}
"""Axes of level lines, in words."""
Line = tuple[Cell, ...]
"""Cells of one way in which new blocks can lie or stand."""
_UP, _DOWN = VECTORS[Direction.UP], VECTORS[Direction.DOWN]


def _spaced(where: Location, gap: int) -> Location:
    if gap and isinstance(where, Beside) and where.offset:
        (way, count), *rest = where.offset
        return Beside(((way, count + gap), *rest), where.of)
    return where


def put(
    new: BlockSpec, wheres: tuple[Location, ...], fill: bool, setting: Resolution
) -> list[list[tuple[Cell, int]]]:
    """Return the blocks of a placement, once per equally plausible way.

    1. One block goes to the one cell that the place means.
    2. Blocks for several things: one each, if there are as many or if "each" was said.
    3. Several blocks above or below one block make a tower; beside it, a row in that direction.
    4. A shape lies where it fits: on something of its length, along it; else in the direction of its place.
    5. What was said of directions and postures holds of the result: see `_Placing.as_stated`.

    Raises `Unresolved` if nothing fits, or if something was left open.
    """
    if not wheres:
        raise Unresolved(Reason.NO_PLACE, "")
    color = _color(new, wheres, setting)
    stated = tuple(_spaced(where, new.gap) for where in wheres)
    if stated != wheres:
        new = replace(new, gap=0)
    new = _with_length(new, setting)
    new, groups = _adapted(new, _combined(stated, setting))
    all_of_it = new.kind is Kind.BLOCK and not (new.standing is False or new.centred)
    placing = _Placing(new, color, setting)
    if fill or (all_of_it and all(group.whole for group in groups)):
        lines = placing.as_stated(placing.fill(groups, fill))
    else:
        lines = placing.put_at(groups)
    return [[(cell, color) for cell in line] for line in lines]


def _adapted(new: BlockSpec, groups: list[Anchors]) -> tuple[BlockSpec, list[Anchors]]:
    """Return new blocks and their places, each adapted to the other."""
    if new.kind is Kind.ROW and not new.sizes and all(group.whole for group in groups):
        new = replace(new, kind=Kind.BLOCK, count=None)
    if new.centred and not new.each and all(group.way in (None, _UP) for group in groups):
        groups = _middle(1 if _stands(new, None) else (*new.sizes, new.count or 0)[0], groups)
    if new.gap and (new.way is None or new.kind not in (Kind.BLOCK, Kind.ROW)):
        raise Unresolved(Reason.NO_DIRECTION, f"how they lie with gaps of {new.gap}")
    return new, groups


def put_shape(
    where: Location, blocks: Callable[[Cell], list[tuple[Cell, int]]], setting: Resolution
) -> list[list[tuple[Cell, int]]]:
    """Place a fully specified shape, `blocks(first cell)`, at each thing that the place means."""
    groups = _combined((where,), setting)
    found: list[list[list[tuple[Cell, int]]]] = []
    failure: Unresolved | None = None
    for group in groups:
        first = _nearest(BlockSpec(), group, list(group.cells))
        options = []
        for made in map(blocks, outermost(first, (0, -1, 0)) if first and group.way is None else first):
            try:
                check_free(made, setting)
            except Unresolved as error:
                if len(groups) > 1 and error.failure.reason is Reason.OUTSIDE:
                    raise
                failure = error
            else:
                options.append(made)
        inside = set(group.cells)
        lying = [made for made in options if inside.issuperset(cell for cell, _ in made)]
        found += [lying or options] * bool(options)
    if not found:
        raise failure or Unresolved(Reason.NO_MATCH, "no such place")
    return [[block for part in choice for block in part] for choice in islice(product(*found), 64)]


def _check_inside(cells: Iterable[Cell]) -> None:
    """Raise `Unresolved` for a cell outside the zone: a request is never cut off there."""
    for cell in cells:
        if not in_zone(*cell):
            raise Unresolved(Reason.OUTSIDE, str(cell))


def check_free(
    blocks: Iterable[tuple[Cell, int]], setting: Resolution, ignore: frozenset[Cell] = frozenset()
) -> None:
    """Raise `Unresolved` if blocks lie outside the zone, or others are in their way."""
    for cell, color in blocks:
        _check_inside([cell])
        there = setting.color_at(cell)
        if cell not in ignore and there not in (0, color):
            raise Unresolved(Reason.OCCUPIED, f"a {color_name(there)} block at {cell}", color=there)


def _middle(n: int, groups: list[Anchors]) -> list[Anchors]:
    """Return the middle `n` cells of a longer line of places; all of other places."""
    cells = sorted({cell for group in groups for cell in group.cells})
    if n >= len(cells) or not n or not _in_a_line(cells):
        return groups
    if (len(cells) - n) % 2:
        raise Unresolved(Reason.NO_PLACE, f"the middle {n} of {len(cells)} places")
    start, item = (len(cells) - n) // 2, tuple(cell for group in groups for cell in group.item)
    return [replace(groups[0], cells=tuple(cells[start : start + n]), item=item)]


def _with_length(new: BlockSpec, setting: Resolution) -> BlockSpec:
    """Return new blocks with the height or length that matches another thing."""
    if new.like is None:
        return new
    spans = [Box.of(item).spans for item in resolve(new.like, setting)]
    found = {(y if new.kind is Kind.TOWER else max(x, z)) + 1 for x, y, z in spans}
    if len(found) != 1:
        raise Unresolved(Reason.NO_NUMBER, "they are not alike")
    length = found.pop() * new.times + new.taller
    sizes = new.sizes[:1] if new.kind is Kind.WALL and len(new.sizes) == 1 else ()  # its height
    if not sizes and (length % 1 or new.sizes not in ((), (length,))):
        raise Unresolved(Reason.NO_NUMBER, f"{length:g} blocks")
    return replace(new, sizes=(int(length), *sizes), like=None, taller=0, times=1)


def _color(new: BlockSpec, wheres: tuple[Location, ...], setting: Resolution) -> int:
    if new.color is None:
        raise Unresolved(Reason.NO_COLOR, "")
    if new.color > SAME or new.color == ANY_COLOR:
        return max(new.color, 1)
    if new.color == SAME and setting.color is not None and new.shade is None:
        return setting.color
    things = (getattr(where, "of", getattr(where, "one", None)) for where in wheres)
    near = [of for of in (new.shade, *things) if isinstance(of, Reference)]
    cells = list(setting.last)
    if near and (new.color == ALIKE or (setting.before is None and not cells)):
        cells = [cell for item in resolve(near[0], setting) for cell in item]
    found = _colors_of(cells, setting)
    if len(found) != 1:
        raise Unresolved(Reason.NO_COLOR, "")
    return found.pop()


def _colors_of(cells: list[Cell], setting: Resolution) -> set[int]:
    found = {setting.color_at(cell) for cell in cells} - {0}
    if found or setting.before is None:
        return found
    before = setting.before[1]  # what is gone had a colour too
    return {int(before[cell_index(*cell)]) for cell in cells if in_zone(*cell)} - {0}


def _combined(wheres: tuple[Location, ...], setting: Resolution) -> list[Anchors]:
    first, *others = sorted(wheres, key=lambda where: isinstance(where, (Level, NextTo)))
    if isinstance(first, Between) and any(isinstance(where, Level) for where in others):
        first = replace(first, line=False)  # the level says which line
    groups = first.anchors(setting)
    for where in others:
        more = where.anchors(setting)
        along = {axis for group in more for axis in group.axes}
        allowed = {cell for group in more for cell in group.cells}
        narrowed = []
        for group in groups:
            axes = tuple(along) if len(along) == 1 and len(group.axes) != 1 else group.axes
            cells = tuple(cell for cell in group.cells if cell in allowed)
            narrowed += [replace(group, axes=axes, cells=cells)] * bool(cells)
        groups = narrowed
        if not groups:
            raise Unresolved(Reason.NO_MATCH, "no such place")
    return groups


def _lying(
    new: BlockSpec, a: int, b: int, drawn: frozenset[tuple[int, int]], setting: Resolution
) -> dict[tuple[int, int], frozenset[tuple[int, int]]]:
    """Return the ways in which a figure of a x b cells can lie: its width and depth, and its cells."""
    ways = {(a, b): drawn, (b, a): frozenset((v, u) for u, v in drawn)}
    axes = [] if new.axis is None else _axes(new.axis, setting)
    if len(axes) != 1:
        return ways
    turned = (a, b) if bool(axes[0][0]) is (a >= b) else (b, a)
    return {turned: ways[turned]}


def _in_a_line(cells: Sequence[Cell]) -> bool:
    return sorted(Box.of(cells).spans) == [0, 0, len(cells) - 1]


def _outside_own(groups: list[Anchors]) -> list[Anchors]:
    """Return the places beside things without the cells of the things; none of them is empty."""
    own = {cell for group in groups for cell in group.item}
    kept = (
        (group, tuple(cell for cell in group.cells if not (group.item and group.way and cell in own)))
        for group in groups
    )
    return [replace(group, cells=cells) for group, cells in kept if cells]


def _run(start: Cell, vector: Cell, n: int, gap: int = 0) -> Line:
    return tuple(shifted(start, scaled(vector, i * (1 + gap))) for i in range(n))


def _inside(free: list[Cell], vectors: list[Cell], n: int, gap: int = 0) -> list[Line]:
    """Return the lines of n blocks along vectors within some cells."""
    runs = (_run(cell, vector, n, gap) for cell in free for vector in vectors)
    return [run for run in runs if set(free).issuperset(run)]


def _nearest(new: BlockSpec, group: Anchors, free: list[Cell]) -> list[Cell]:
    """Return the cells where new blocks begin: of the outermost side, at the lowest layer."""
    upright = new.standing or new.kind in (Kind.COLUMN, Kind.TOWER)
    if group.way is not None:
        free = outermost(free, group.way)
        upright = group.way[1] == 0
    return outermost(free, (0, -1, 0)) if upright else free


def _stands(new: BlockSpec, stated: Cell | None) -> bool | None:
    """Return whether new blocks stand upright, None if the place decides."""
    if new.kind in (Kind.COLUMN, Kind.TOWER) or new.axis == "y" or (stated is not None and stated[1]):
        return True
    if new.standing is None and (new.kind is Kind.ROW or stated is not None):
        return False
    return new.standing


def _axes(axis: str | None, setting: Resolution) -> list[Cell]:
    east, south = VECTORS[Direction.EAST], VECTORS[Direction.SOUTH]
    if axis in ("side", "depth"):
        vector = setting.vector_of(Direction.RIGHT if axis == "side" else Direction.BEHIND)
        return [(abs(vector[0]), 0, abs(vector[2]))]
    return {"x": [east], "z": [south]}.get(axis or "", [east, south])


FIGURES = (
    *(Kind.SQUARE, Kind.RECTANGLE, Kind.WALL, Kind.CUBE, Kind.PLUS, Kind.L, Kind.T),
    *(Kind.U, Kind.H, Kind.RING, Kind.X),
)


@dataclass(frozen=True)
class _Placing:
    """New blocks in a world. Methods return the lines of cells in which they can lie, one per plausible way."""

    new: BlockSpec
    color: int
    setting: Resolution

    def fill(self, groups: list[Anchors], stated: bool) -> list[Line]:
        """Fill places; stated: with that word."""
        cells = tuple(dict.fromkeys(c for group in groups for c in free_cells(group.cells, self.setting)))
        count, sizes = self.new.count, [len(group.cells) for group in groups]
        if not cells:
            raise Unresolved(Reason.NO_MATCH, "nothing is free there")
        if count == len(cells):
            return [cells]
        _check_inside(cell for group in groups for cell in group.cells)
        if count == len(groups) and all(size % 2 for size in sizes) and not stated:
            return [tuple(sorted(group.cells)[len(group.cells) // 2] for group in groups)]
        if count is not None and not (stated and count == 1 < len(groups) and {*sizes} == {1}):
            raise Unresolved(Reason.NO_NUMBER, f"{count} blocks for {len(cells)} places")
        return [cells]

    def put_at(self, groups: list[Anchors]) -> list[Line]:
        """Place at one or several things."""
        new, count = self.new, self.new.count
        groups = self.of_one_stack(_outside_own(groups))
        if not groups:
            raise Unresolved(Reason.OCCUPIED, "no place is free")
        if len(groups) > 1:
            return ([] if new.each else self.covering(groups)) or self.put_at_several(groups)
        if new.kind is not Kind.BLOCK and count not in (None, 1):
            raise Unresolved(Reason.NO_PLACE, f"where each of the {count} goes")
        if new.kind is Kind.BLOCK and count is None and not new.each and len(groups[0].cells) == 1:
            raise Unresolved(Reason.NO_NUMBER, "")
        return self.at_one(groups[0])

    def of_one_stack(self, groups: list[Anchors]) -> list[Anchors]:
        """Return things that stand on each other as one, if what is placed stands upright."""
        things = tuple(cell for group in groups for cell in group.item or ())
        upright = not self.new.each and (self.new.standing or self.new.kind is Kind.TOWER)
        one_side = len({group.way for group in groups}) == 1 == len({(x, z) for x, _, z in things})
        if not (upright and one_side):
            return groups
        cells = tuple(cell for group in groups for cell in group.cells)
        return [replace(groups[0], cells=cells, item=things)]

    def covering(self, groups: list[Anchors]) -> list[Line]:
        """Return the places of something level on top of all things together, centred on them if possible.

        Without a size it reaches as far as they do. [] if it lies on none or only on some of them.
        """
        new, cells = self.new, [cell for group in groups for cell in group.cells]
        wall = new.kind is Kind.WALL and len(new.sizes) == 2
        row = wall or self.is_row(len(cells))
        level = len({cell[1] for cell in cells}) == 1 and all(group.way == _UP for group in groups)
        if not (row or self.is_flat()) or not level or new.gap or new.way is not None:
            return []
        found = self.around(Box.of(cells), row, new.sizes[-1] if wall or len(new.sizes) > 2 else 1)
        middle = [line for line, centred in found.items() if centred]
        return middle if middle or new.kind is Kind.BLOCK else [*found]

    def around(self, box: Box, row: bool, deep: int) -> dict[Line, bool]:
        """Return the free places of something level over a box, and whether each is centred on it."""
        (west, low, north), (east, _, south) = box.low, box.high
        a, b, drawn = self.drawn((east - west + 1, south - north + 1), row)
        found: dict[Line, bool] = {}
        for (wide, far), one in _lying(self.new, a, b, drawn, self.setting).items():
            for x, z in product(range(east - wide + 1, west + 1), range(south - far + 1, north + 1)):
                line = tuple((x + u, low + k, z + v) for u, v in sorted(one) for k in range(deep))
                if len(free_cells(line, self.setting)) == len(line):
                    found[line] = (2 * x + wide, 2 * z + far) == (west + east + 1, north + south + 1)
        return found

    def is_row(self, size: int) -> bool:
        """Return whether it is a row, or more blocks than lie on a place of this size."""
        longer = self.new.kind is Kind.BLOCK and (self.new.count or 1) > size
        return (self.new.kind is Kind.ROW or longer) and not self.new.standing

    def is_flat(self) -> bool:
        """Return whether it is a figure that lies on things, of any size or a square or rectangle as large as they."""
        new = self.new
        flat = new.kind in FIGURES and new.kind not in (Kind.WALL, Kind.CUBE) and not new.standing
        return flat and (new.sizes != () or new.kind not in FIGURES[4:])

    def drawn(self, spans: tuple[int, int], row: bool) -> tuple[int, int, frozenset[tuple[int, int]]]:
        """Return the width, depth and cells of something level over a place of these spans."""
        new = self.new
        a, b = (*(new.sizes or spans), *new.sizes[:1])[:2]
        if row:
            a = new.sizes[0] if new.sizes else max(spans) if new.count in (None, 1) else new.count or 1
            b = 1
        drawn = frozenset((u, 0) for u in range(a)) if row else figure(new.kind, a, b)
        return a, b, drawn - ({(a // 2, b // 2)} if new.hollow else set())

    def put_at_several(self, groups: list[Anchors]) -> list[Line]:
        """Place the same at each of several things, or a number of blocks in all."""
        new, count, shape = self.new, self.new.count, self.new.kind is not Kind.BLOCK
        if shape and count not in (None, 1, len(groups)):
            raise Unresolved(Reason.NO_NUMBER, f"{count} for {len(groups)} places")
        if shape or new.each or count in (1, None):
            one = replace(new, count=count if new.each and not shape else 1)
            lines = replace(self, new=one).for_each(groups)
            return lines if shape or one.count != 1 else self.as_stated(lines)
        return self.in_all(groups, count or 0)

    def solid(self) -> tuple[tuple[int, int, int], frozenset[tuple[int, int]]]:
        """Return the width, height and depth of a figure, and its cells in a plane."""
        new = self.new
        if not new.sizes:
            raise Unresolved(Reason.NO_NUMBER, str(new.kind))
        width, height = (*new.sizes, new.sizes[0])[:2]
        depth = new.sizes[2] if len(new.sizes) > 2 else width if new.kind is Kind.CUBE else 1
        left_out = {(width // 2, height // 2)} if new.hollow else set()
        return (width, height, depth), figure(new.kind, width, height) - left_out

    def in_all(self, groups: list[Anchors], count: int) -> list[Line]:
        """Place a number of blocks at several things together."""
        new = self.new
        arranged = bool(new.standing) or new.way is not None
        if count == len(groups) and not arranged:
            ways = replace(self, new=BlockSpec(1, new.color)).for_each(groups, all_of_them=True)
            if lines := [way for way in ways if new.standing is None or _in_a_line(way)]:
                return lines
            raise Unresolved(Reason.NO_NUMBER, f"one line of {count} for {count} places that lie in none")
        free = tuple(dict.fromkeys(c for group in groups for c in free_cells(group.cells, self.setting)))
        if count == len(free) and not arranged:
            return [free]
        if len(free) == 1:
            return self.at_one(Anchors(free, groups[0].way))
        what = f"one line of {count}" if arranged else f"{count} blocks"
        raise Unresolved(Reason.NO_NUMBER, f"{what} for {len(free)} places")

    def for_each(self, groups: list[Anchors], all_of_them: bool = False) -> list[Line]:
        """Place the same at each thing. Skip occupied places unless a number was given."""
        found = []
        failure: Unresolved | None = None
        for group in groups:
            try:
                found.append(self.at_one(group)[:4])
            except Unresolved as error:
                if all_of_them or error.failure.reason is not Reason.OCCUPIED:
                    raise
                failure = error
        if not found:
            raise failure or Unresolved(Reason.NO_MATCH, "no such place")
        return [tuple(cell for part in choice for cell in part) for choice in islice(product(*found), 64)]

    def at_one(self, group: Anchors) -> list[Line]:
        """Place at one thing, or at a place of the map."""
        new, setting = self.new, self.setting
        cells = [cell for cell in group.cells if in_zone(*cell)]
        shaped = new.kind is Kind.RECTANGLE and not new.sizes
        if not cells or (group.item and (new.count is None if new.kind is Kind.BLOCK else shaped)):
            _check_inside(group.cells)
        # at a place of the map, blocks that are right already may stay
        allowed = (0, self.color) if group.way is None and not group.item else (0,)
        free = [cell for cell in cells if setting.color_at(cell) in allowed]
        if not free:
            check_free([(cells[0], -1)], setting)
        lines = self.lines(group, free)
        distinct = {frozenset(line): line for line in lines if self.fits(line, allowed)}
        if not distinct:
            check_free(((cell, self.color) for line in lines for cell in line), setting)
            raise Unresolved(Reason.NO_DIRECTION, "it does not fit")
        return self.as_stated(list(distinct.values()))

    def as_stated(self, lines: list[Line]) -> list[Line]:
        """Return the lines of which all holds that was said of their direction and posture.

        Raises `Unresolved` with what does not hold, if there is none.
        """
        unlike = [self.contradiction(line) for line in lines]
        found = [line for line, what in zip(lines, unlike, strict=True) if what is None]
        if lines and not found:
            raise Unresolved(Reason.CONTRADICTION, str(unlike[0]))
        return found

    def contradiction(self, line: Line) -> str | None:
        """Return what was said of the direction or posture of new blocks, and does not hold of their cells."""
        new, spans = self.new, Box.of(line).spans
        if len(line) < 2:
            return None
        figure_ = new.kind in FIGURES
        upright = spans[1] > 0 and (figure_ or not (spans[0] or spans[2]))
        what = f"{len(line)} blocks"
        along = _axes(new.axis, self.setting) if new.axis in ALONG else []
        if along and ((upright and not figure_) or not any(dot(spans, axis) for axis in along)):
            return f"{'upright' if upright else what} and {ALONG[str(new.axis)]}"
        if new.way is not None:
            vector = self.setting.vector_of(new.way)
            ahead = dot(shifted(line[-1], scaled(line[0], -1)), vector) > 0
            if not (any(one and span for one, span in zip(vector, spans, strict=True)) if figure_ else ahead):
                return f"{'upright' if upright else what} and {new.way}"
        if (new.flat and spans[1] > 0) or (new.standing is False and not figure_ and spans[1] > 0):
            return "upright and level"
        if new.standing and not upright:
            return f"{what} and upright"
        if new.gap and new.kind in (Kind.BLOCK, Kind.ROW) and sum(spans) != (len(line) - 1) * (1 + new.gap):
            return f"{what} and a gap of {new.gap}"
        return None

    def fits(self, line: Line, allowed: tuple[int, ...]) -> bool:
        """Return whether a line is inside the zone and free, or of allowed colours."""
        return all(in_zone(*cell) and self.setting.color_at(cell) in allowed for cell in line)

    def lines(self, group: Anchors, free: list[Cell]) -> list[Line]:
        """Return the cells of each way in which new blocks lie or stand at a place."""
        new, way, kind = self.new, group.way, self.new.kind
        if kind in FIGURES:
            layer = kind is Kind.RECTANGLE and not new.sizes and group.item  # on all of it
            return [tuple(free)] if layer else self.figures(group, free)
        if kind not in (Kind.BLOCK, Kind.ROW, Kind.COLUMN, Kind.TOWER):
            raise Unresolved(Reason.NO_DIRECTION, str(kind))
        lowest = _nearest(new, group, free)
        if kind is Kind.BLOCK and not new.sizes and new.count in (None, 1):
            middle = [sorted(lowest)[len(lowest) // 2]] if new.centred and len(lowest) % 2 else lowest
            return [(cell,) for cell in middle] if new.count else [tuple(free)]
        n = next(iter(new.sizes), new.count if kind is Kind.BLOCK else None)
        if n is None and kind is not Kind.ROW:
            raise Unresolved(Reason.NO_HEIGHT, str(kind))
        if n is None and not (group.item and way in (_UP, _DOWN)):
            raise Unresolved(Reason.NO_NUMBER, str(kind))
        return self.runs(group, n or len(free), free, lowest)  # as long as what it lies on

    def runs(self, group: Anchors, n: int, free: list[Cell], lowest: list[Cell]) -> list[Line]:
        """Return the lines of n blocks at a place."""
        new, way = self.new, group.way
        stated = self.setting.vector_of(new.way) if new.way is not None else None
        standing = _stands(new, stated)
        if standing is None:
            if len(free) == n:
                return [tuple(free)]
            level = new.flat or new.axis is not None
            if way is None and not level and (len(free) > 1 or group.item):
                raise Unresolved(Reason.NO_DIRECTION, "")
            standing = not level and (way is None or way[1] != 0)
            if way is not None and not way[1] and new.axis is None:
                return [_run(cell, way, n) for cell in lowest]
        if not standing:
            return self.level_rows(group, n, free, lowest)
        if n > 1 and new.standing is None:
            self.check_height(group, lowest)
        down = any(vector is not None and vector[1] < 0 for vector in (way, stated))
        return [_run(cell, (0, -1 if down else 1, 0), n) for cell in lowest]

    def check_height(self, group: Anchors, lowest: list[Cell]) -> None:
        """Raise `Unresolved` if something upright is beside what floats: there, or on the ground?"""
        floats = all(cell[1] > FLOOR for cell in group.item)
        beside = group.way is not None and not group.way[1]
        if floats and beside and not any(self.setting.color_at(shifted(c, (0, -1, 0))) for c in lowest):
            raise Unresolved(Reason.NO_HEIGHT, str(self.new.kind))

    def level_rows(self, group: Anchors, n: int, free: list[Cell], lowest: list[Cell]) -> list[Line]:
        """Return the rows of n blocks at a place."""
        new, way = self.new, group.way
        if new.way is not None:
            stated = self.setting.vector_of(new.way)
            return _inside(free, [stated], n, new.gap) or [_run(cell, stated, n, new.gap) for cell in lowest]
        axes = list(group.axes) or _axes(new.axis, self.setting)
        lying = _inside(free, axes, n)
        if way is None or way[1]:
            return _rows_at(group, n, axes, lying, free, lowest)
        across = new.axis is not None and all(dot(vector, way) == 0 for vector in axes)
        if lying:
            return lying if across or len(lowest) > 1 else [_run(lowest[0], way, n)]
        if new.kind is Kind.BLOCK and len(free) == n:
            return [tuple(free)]
        if across and len(lowest) == 1:  # a row past one block
            starts = {shifted(lowest[0], scaled(axes[0], -back)) for back in (n // 2, (n - 1) // 2)}
            return [_run(start, axes[0], n) for start in sorted(starts)]
        return [_run(cell, way, n) for cell in lowest]

    def figures(self, group: Anchors, free: list[Cell]) -> list[Line]:
        """Return flat or upright figures, and cubes, at a place of the map or on all of their reference.

        Centred in the centre; along the middle of an edge; from a corner inwards.
        """
        new, setting = self.new, self.setting
        (width, height, depth), drawn = self.solid()
        upright = new.kind is Kind.WALL if new.standing is None else new.standing
        standing = upright and new.kind is not Kind.CUBE
        single = len(free) == 1
        if single and new.way is not None and not new.way.vertical:
            (x, y, z), (east, _, south) = free[0], setting.vector_of(new.way)
            return [tuple((x + u * east, y + v, z + u * south) for u, v in sorted(drawn))]
        if single and group.way is None and not group.item:
            own = group.axes[0] if len(group.axes) == 1 else (0, 0, 0)
            along = new.axis or {(1, 0, 0): "x", (0, 0, 1): "z"}.get(own)
            return _at_spot(drawn, (width, height, depth), free[0], standing, along, setting)
        sides = {(height, width): frozenset((v, u) for u, v in drawn), (width, height): drawn}
        found = [] if standing else [line for ab in sides for line in _on_all(sides[ab], ab, depth, free)]
        found = found or self.covering([replace(group, cells=tuple(free))])
        if not found:
            raise Unresolved(Reason.NO_DIRECTION, str(new.kind))
        return found


def _on_all(
    drawn: frozenset[tuple[int, int]], ab: tuple[int, int], depth: int, free: list[Cell]
) -> list[Line]:
    """Return the places of a level figure where all of its rectangle is among some cells."""
    return [
        tuple((x + u, y + k, z + v) for u, v in sorted(drawn) for k in range(depth))
        for x, y, z in free
        if set(free).issuperset((x + i, y, z + j) for i in range(ab[0]) for j in range(ab[1]))
    ]


def _rows_at(
    group: Anchors, n: int, axes: list[Cell], lying: list[Item], free: list[Cell], lowest: list[Cell]
) -> list[Line]:
    """Return the level rows at a place that has no side: the only one inside the zone, or about a middle."""
    if group.way is None and len(lowest) == 1 and not group.item:
        runs = [_run(lowest[0], scaled(vector, sign), n) for vector in axes for sign in (1, -1)]
        runs = [run for run in runs if all(in_zone(*cell) for cell in run)]
        if len(runs) == 1:
            return runs
    if lying and len(free) > 1:
        return lying
    if len(axes) == 1 and n % 2 == 1 and len(lowest) == 1:
        return [_run(shifted(lowest[0], scaled(axes[0], -(n // 2))), axes[0], n)]
    raise Unresolved(Reason.NO_DIRECTION, "")


def _at_spot(
    drawn: frozenset[tuple[int, int]],
    sizes: tuple[int, int, int],
    spot: Cell,
    standing: bool,
    axis: str | None,
    setting: Resolution,
) -> list[Line]:
    (width, height, depth), (x, y, z) = sizes, spot

    def begin(at: int, length: int) -> int:
        if abs(at) == REACH:
            return at if at < 0 else at - length + 1
        if length % 2 == 0:
            raise Unresolved(Reason.NO_PLACE, f"the middle of {length} blocks")
        return at - length // 2

    if not standing:
        if axis is not None and _axes(axis, setting)[0][2]:  # the first side goes that way
            drawn, width, height = frozenset((v, u) for u, v in drawn), height, width
        west, north = begin(x, width), begin(z, height)
        # v goes north: a letter reads the right way for somebody who looks north
        flat = [(u, v, k) for u, v in sorted(drawn) for k in range(depth)]
        return [tuple((west + u, y + k, north + height - 1 - v) for u, v, k in flat)]
    along_x, along_z = abs(z) == REACH != abs(x), abs(x) == REACH != abs(z)
    if axis is not None:
        vector = _axes(axis, setting)[0]
        along_x, along_z = bool(vector[0]), bool(vector[2])
    if along_x == along_z:
        raise Unresolved(Reason.NO_DIRECTION, "which way it stands")
    start = begin(x if along_x else z, width)
    if along_x:
        return [tuple((start + u, y + v, z) for u, v in sorted(drawn))]
    return [tuple((x, y + v, start + u) for u, v in sorted(drawn))]
