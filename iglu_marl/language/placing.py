"""Placements that leave a part open to common sense, and the rules that complete them.

`Place` and `Build` specify everything. A `PlaceGoal` keeps what was said; `put` completes it from the blocks in the
world. Worlds that are equally plausible make the placement ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, cell_index, color_name, in_zone
from iglu_marl.language.blocks import Instruction, Reason
from iglu_marl.language.references import (
    Anaphor,
    At,
    Beside,
    Blocks,
    Item,
    Level,
    Location,
    NextTo,
    Portion,
    Reference,
    Resolution,
    SameLevel,
    Spot,
    Unresolved,
    resolve,
)
from iglu_marl.language.regions import FLOOR, REACH, Anchors, free_cells, on_column, outer, ring
from iglu_marl.language.shapes import (
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


@dataclass(frozen=True)
class Corners(Location):
    """On each corner of something."""

    of: Reference

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells on top of each corner."""
        return Beside(((Direction.UP, 1),), Portion(self.of, "corners")).anchors(setting)


@dataclass(frozen=True)
class Spots(Location):
    """Several columns of the map, (x, z) each; free: only the empty ones."""

    at: tuple[tuple[int, int], ...]
    free: bool = False

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cell on each column."""
        open_ = [(x, z) for x, z in self.at if not self.free or not setting.color_at((x, FLOOR, z))]
        return [Anchors((on_column(x, z, setting),)) for x, z in open_]


@dataclass(frozen=True)
class Anchored(Location):
    """Where a corner or an end of what is placed comes to lie.

    part: on which side, toward +x and toward +z: (-5, -5) is the north-west corner, (-5, 0) the west end.
    """

    part: tuple[int, int]
    at: Location

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cell of that part."""
        return self.at.anchors(setting)

    def lines(self, new: BlockSpec, height: int, setting: Resolution) -> list[tuple[Cell, ...]]:
        """Return the cells of each way in which a level shape lies. height: of its layer, 1 = on the ground.

        Raises:
            Unresolved: if its size is open, or if several blocks are at that side of it.

        """
        if not new.sizes or new.standing or not (new.kind is Kind.ROW or new.kind in FIGURES):
            raise Unresolved(Reason.NO_NUMBER, str(new.kind))
        width, depth = (new.sizes[0], 1) if new.kind is Kind.ROW else (*new.sizes, new.sizes[0])[:2]
        tall = new.sizes[2] if len(new.sizes) > 2 else 1
        drawn = frozenset(product(range(width), (0,))) if depth == 1 else figure(new.kind, width, depth)
        found = []
        (group,) = self.at.anchors(setting)
        for (a, b), cells in _lying(new, width, depth, drawn, setting).items():
            if (self.part[0] == 0 and a > 1) or (self.part[1] == 0 and b > 1):
                continue
            x = group.cells[0][0] - (a - 1 if self.part[0] > 0 else 0)
            z = group.cells[0][2] - (b - 1 if self.part[1] > 0 else 0)
            low = FLOOR + height - 1
            found.append(tuple((x + u, low + k, z + v) for u, v in sorted(cells) for k in range(tall)))
        if not found:
            raise Unresolved(Reason.NO_DIRECTION, str(new.kind))
        return found


@dataclass(frozen=True)
class Sides(Location):
    """Several sides of something.

    which: "every" free one, "four", "both" of two opposite ones, the "ends" of a line, all "around" in its layer with
    the corners, or a tuple of directions.
    """

    of: Reference
    which: str | tuple[Direction, ...] = "every"

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells on each side of each thing."""
        return [anchor for item in resolve(self.of, setting) for anchor in self._of_item(item, setting)]

    def _of_item(self, item: Item, setting: Resolution) -> list[Anchors]:
        if self.which == "around":
            return [Anchors(tuple(ring(item)), None, item, True)]
        spans = Box.of(item).spans
        if not isinstance(self.which, str):
            ways = [VECTORS[setting.on_map(way)] for way in self.which]
        elif self.which == "ends" or (self.which == "both" and any(spans)):
            axis = spans.index(max(spans))
            if spans.count(max(spans)) > 1 or (self.which == "both" and axis == 1):
                raise Unresolved(Reason.AMBIGUOUS, "which two sides")
            unit: Cell = (int(axis == 0), int(axis == 1), int(axis == 2))
            ways = [scaled(unit, -1), unit]
        elif self.which == "both":
            if setting.view is None:
                raise Unresolved(Reason.AMBIGUOUS, "which two sides")
            ways = [VECTORS[setting.on_map(way)] for way in (Direction.LEFT, Direction.RIGHT)]
        else:
            ways = [VECTORS[way] for way in COMPASS]
        if self.which == "every":
            upright = (VECTORS[Direction.UP], VECTORS[Direction.DOWN])  # the ground is no side of it
            ways += [way for way in upright if all(in_zone(*cell) for cell in outer(item, way))]
        return [Anchors(outer(item, way), way, item) for way in ways]


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
    """The place opposite to the last placement, or opposite to what stands on one side of something."""

    of: Reference | None = None

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells opposite to the only side where something stands."""
        if self.of is None:
            raise Unresolved(Reason.NO_PLACE, "the other side of what")
        (item, *more), vectors = resolve(self.of, setting), [VECTORS[way] for way in COMPASS]
        taken = [vector for vector in vectors if any(map(setting.color_at, outer(item, vector)))]
        if more or len(taken) != 1:
            raise Unresolved(Reason.NO_PLACE, "the other side from what")
        vector = scaled(taken[0], -1)
        return [Anchors(outer(item, vector), vector, item)]


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
        bare_ends: all but the two ends of its place.
        again: "another one", of the shape placed last.
        until: number of blocks in total, with those that exist already.
        shade: the thing whose colour it has.

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
    bare_ends: bool = False
    again: bool = False
    until: int | None = None
    shade: Reference | None = None

    def __post_init__(self) -> None:
        if self.count is not None and not 1 <= self.count <= 121:
            raise DialogueError(f"{self.count} blocks, expected 1..121")
        if any(not 1 <= size <= 11 for size in self.sizes):
            raise DialogueError(f"sizes {self.sizes}, expected 1..11")


@dataclass(frozen=True)
class PlaceGoal(Instruction):
    """Place something new. where: all that was said of the place, () = nothing."""

    new: BlockSpec
    where: tuple[Location, ...] = ()
    fill: bool = False


@dataclass(frozen=True)
class Clear(Instruction):
    """Remove everything."""


@dataclass(frozen=True)
class SetFocus(Instruction):
    """Make something the referent of "it"."""

    at: Reference | Beside


@dataclass(frozen=True)
class KeepOnly(Instruction):
    """What the previous instruction leaves as it is: "but leave the middle block"."""

    of: Reference


@dataclass(frozen=True)
class AssertCount(Instruction):
    """Check on what was said before: that it placed this number of blocks."""

    count: int
    color: int | None = None


@dataclass(frozen=True)
class Ambiguous(Instruction):
    """Several readings of equal cost."""

    readings: tuple[Any, ...]


def _spaced(where: Location, gap: int) -> Location:
    if gap and isinstance(where, Beside) and where.offset:
        (way, count), *rest = where.offset
        return Beside(((way, count + gap), *rest), where.of)
    return where


def put(instruction: PlaceGoal, setting: Resolution) -> list[list[tuple[Cell, int]]]:
    """Return the blocks of a placement, once per equally plausible way.

    1. One block goes to the one cell that the place means.
    2. Blocks for several things: one each, if there are as many or if "each" was said.
    3. Several blocks above or below one block make a tower; beside it, a row in that direction.
    4. A shape lies where it fits: on something of its length, along it; else in the direction of its place.

    Raises:
        Unresolved: if nothing fits, or if something was left open.

    """
    new = instruction.new
    if not instruction.where:
        raise Unresolved(Reason.NO_PLACE, "")
    color = _color(new, instruction.where, setting)
    stated = tuple(_spaced(where, new.gap) for where in instruction.where)
    if stated != instruction.where:
        new = replace(new, gap=0)
    new = _with_length(new, setting)
    if len(stated) == 1 and isinstance(stated[0], Spot) and new.way is not None and not new.way.vertical:
        cell = (stated[0].x, FLOOR, stated[0].z)
        if any(cell in part for part in (setting.last, *setting.earlier)) and setting.color_at(cell):
            stated = (
                Beside(((new.way, 1),), Blocks(where=At(cell))),
            )  # "and two more to the east of the centre"
    if fixed := [where for where in stated if isinstance(where, Anchored)]:
        layers = [where.height for where in stated if isinstance(where, Level)] or [1]
        if len(fixed) > 1 or len(layers) > 1 or len(stated) > 2:
            raise Unresolved(Reason.NO_PLACE, "two places")
        lines = {frozenset(line): line for line in fixed[0].lines(new, layers[0], setting)}
        ways = [[(cell, color) for cell in line] for line in lines.values()]
        for way in ways:
            check_free(way, setting)
        return ways
    groups = _combined(stated, setting)
    if new.kind is Kind.ROW and not new.sizes and all(group.whole for group in groups):
        new = replace(new, kind=Kind.BLOCK, count=None)
    if new.bare_ends:
        groups = _without_ends(groups)
    new = _up_to(new, groups)
    if new.centred and not new.each and all(group.way in (None, VECTORS[Direction.UP]) for group in groups):
        groups = _middle(1 if _stands(new, None) else (*new.sizes, new.count or 0)[0], groups)
    if new.gap and (new.way is None or (new.kind is not Kind.BLOCK and new.kind is not Kind.ROW)):
        raise Unresolved(Reason.NO_DIRECTION, f"how they lie with gaps of {new.gap}")
    laid = new.standing is False or new.centred
    if instruction.fill or (new.kind is Kind.BLOCK and not laid and all(group.whole for group in groups)):
        return _fill(new, groups, color, setting, instruction.fill)
    return _put_at(new, groups, color, setting)


def continuing(new: BlockSpec, setting: Resolution) -> tuple[Location, ...]:
    """Return the place of "two more": behind the line that was placed last, which grows; () if there is none."""
    cells = [cell for cell in setting.last if setting.color_at(cell)]
    if new.color != SAME or new.kind is not Kind.BLOCK or len(cells) < 2 or not _in_a_line(cells):
        return ()
    if len({cell[1] for cell in cells}) > 1:
        return (Beside(((Direction.UP, 1),), Anaphor()),)
    if setting.before is None:  # built by others, in an unknown order
        return ()
    along = [way for way in COMPASS if dot(cells[-1], VECTORS[way]) > dot(cells[0], VECTORS[way])]
    return (Beside(((along[0], 1),), Anaphor()),)


def put_shape(
    where: Location, blocks: Callable[[Cell], list[tuple[Cell, int]]], setting: Resolution
) -> list[list[tuple[Cell, int]]]:
    """Place a fully specified shape, `blocks(first cell)`, at each thing that the place means."""
    groups = _combined((where,), setting)
    several = len(groups) > 1
    found: list[list[list[tuple[Cell, int]]]] = []
    failure: Unresolved | None = None
    for group in groups:
        first = [line[0] for line in _lines(BlockSpec(1), group, list(group.cells), setting)]
        if group.way is None:
            first = [cell for cell in first if cell[1] == min(other[1] for other in first)]
        options = []
        for cell in first:
            made = blocks(cell)
            try:
                check_free(made, setting)
            except Unresolved as error:
                if several and error.failure.reason is Reason.OUTSIDE:
                    raise
                failure = error
                continue
            options.append(made)
        inside = set(group.cells)
        lying = [made for made in options if inside.issuperset(cell for cell, _ in made)]
        if options:
            found.append(lying or options)
        elif not several:
            break
    if not found:
        raise failure or Unresolved(Reason.NO_MATCH, "no such place")
    return [[block for part in choice for block in part] for choice in product(*found)][:64]


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


def _without_ends(groups: list[Anchors]) -> list[Anchors]:
    cells = [cell for group in groups for cell in group.cells]
    box = Box.of(cells)
    axis = box.spans.index(max(box.spans))
    ends = {box.low[axis], box.high[axis]}
    kept = [(group, tuple(cell for cell in group.cells if cell[axis] not in ends)) for group in groups]
    return [replace(group, cells=inner) for group, inner in kept if inner]


def _middle(n: int, groups: list[Anchors]) -> list[Anchors]:
    """Return the middle `n` cells of a longer line of places; all of other places."""
    cells = sorted({cell for group in groups for cell in group.cells})
    if n >= len(cells) or not n or not _in_a_line(cells):
        return groups
    if (len(cells) - n) % 2:
        raise Unresolved(Reason.NO_PLACE, f"the middle {n} of {len(cells)} places")
    start, item = (len(cells) - n) // 2, tuple(cell for group in groups for cell in group.item)
    return [replace(groups[0], cells=tuple(cells[start : start + n]), item=item)]


def _up_to(new: BlockSpec, groups: list[Anchors]) -> BlockSpec:
    """Return the blocks that lack up to a total height."""
    if new.until is None:
        return new
    standing = {cell[1] for group in groups for cell in group.item}
    if new.until <= len(standing):
        raise Unresolved(Reason.NO_NUMBER, f"{len(standing)} of {new.until} are there")
    lacking = new.until - len(standing)
    if new.count not in (None, lacking):
        raise Unresolved(Reason.NO_NUMBER, f"{new.count} blocks instead of {lacking}")
    return replace(new, count=lacking, kind=Kind.BLOCK, sizes=(), standing=True, until=None)


def _with_length(new: BlockSpec, setting: Resolution) -> BlockSpec:
    """Return new blocks with the height or length that matches another thing."""
    if new.like is None:
        return new
    found = set()
    for item in resolve(new.like, setting):
        x, y, z = Box.of(item).spans
        found.add((y if new.kind is Kind.TOWER else max(x, z)) + 1)
    if len(found) != 1:
        raise Unresolved(Reason.NO_NUMBER, "they are not alike")
    length = found.pop() * new.times + new.taller
    if new.kind is Kind.WALL and len(new.sizes) == 1:  # its height
        return replace(new, sizes=(int(length), *new.sizes), like=None, taller=0, times=1)
    if length % 1 or new.sizes not in ((), (length,)):
        raise Unresolved(Reason.NO_NUMBER, f"{length:g} blocks")
    return replace(new, sizes=(int(length),), like=None, taller=0, times=1)


def _color(new: BlockSpec, wheres: tuple[Location, ...], setting: Resolution) -> int:
    if new.color is None:
        raise Unresolved(Reason.NO_COLOR, "")
    if new.color > SAME:
        return new.color
    told_from = [
        of for where in wheres if (of := getattr(where, "of", getattr(where, "one", None))) is not None
    ]
    cells = list(setting.last)
    if new.shade is not None:
        told_from = [new.shade]
    if told_from and (new.color == ALIKE or (setting.before is None and not cells)):
        cells = [cell for item in resolve(told_from[0], setting) for cell in item]
    found = {setting.color_at(cell) for cell in cells} - {0}
    if not found and setting.before is not None:  # what is gone had a colour too
        found = {int(setting.before[1][cell_index(*cell)]) for cell in cells if in_zone(*cell)} - {0}
    if len(found) != 1:
        raise Unresolved(Reason.NO_COLOR, "")
    return found.pop()


def _combined(wheres: tuple[Location, ...], setting: Resolution) -> list[Anchors]:
    first, *others = sorted(wheres, key=lambda where: isinstance(where, (Level, SameLevel, NextTo)))
    groups = first.anchors(setting)
    for where in others:
        along = {axis for group in where.anchors(setting) for axis in group.axes}
        groups = [
            replace(group, axes=tuple(along)) if len(along) == 1 and len(group.axes) != 1 else group
            for group in groups
        ]
        allowed = {cell for group in where.anchors(setting) for cell in group.cells}
        groups = [
            replace(group, cells=cells)
            for group in groups
            if (cells := tuple(cell for cell in group.cells if cell in allowed))
        ]
        if not groups:
            raise Unresolved(Reason.NO_MATCH, "no such place")
    return groups


def _fill(
    new: BlockSpec, groups: list[Anchors], color: int, setting: Resolution, stated: bool
) -> list[list[tuple[Cell, int]]]:
    cells = list(dict.fromkeys(cell for group in groups for cell in free_cells(group.cells, setting)))
    if not cells:
        raise Unresolved(Reason.NO_MATCH, "nothing is free there")
    count = new.count
    if count != len(cells):
        _check_inside(cell for group in groups for cell in group.cells)
    if count is not None and count != len(cells):
        if all(len(group.cells) % 2 == 1 for group in groups) and count in (1, len(groups)) and not stated:
            middles = [sorted(group.cells)[len(group.cells) // 2] for group in groups]
            if count == len(middles):
                return [[(cell, color) for cell in middles]]
        if not (stated and count == 1 and len(groups) > 1 and all(len(group.cells) == 1 for group in groups)):
            raise Unresolved(Reason.NO_NUMBER, f"{count} blocks for {len(cells)} places")
    return [[(cell, color) for cell in cells]]


def _put_at(
    new: BlockSpec, groups: list[Anchors], color: int, setting: Resolution
) -> list[list[tuple[Cell, int]]]:
    count, shape = new.count, new.kind is not Kind.BLOCK
    own = {cell for group in groups for cell in group.item}
    groups = [
        replace(group, cells=tuple(cell for cell in group.cells if cell not in own))
        if group.item and group.way is not None
        else group
        for group in groups
    ]
    groups = [group for group in groups if group.cells]
    if not groups:
        raise Unresolved(Reason.OCCUPIED, "no place is free")
    if len(groups) > 1 and new.centred and count == 1:  # in the middle of them all
        cells = tuple(dict.fromkeys(cell for group in groups for cell in group.cells))
        if len(cells) % 2 == 0:
            raise Unresolved(Reason.NO_PLACE, f"the middle of {len(cells)} places")
        groups = [replace(groups[0], cells=cells, item=tuple(own))]
    if len(groups) > 1 and not new.each and (lines := _covering(new, groups, setting)):
        return [[(cell, color) for cell in line] for line in lines]
    if len(groups) > 1:
        return _put_at_several(new, groups, color, setting)
    if not shape and count is None and not new.each and len(groups[0].cells) == 1:
        raise Unresolved(Reason.NO_NUMBER, "")
    if shape and count not in (None, 1):
        raise Unresolved(Reason.NO_PLACE, f"where each of the {count} goes")
    return _at_one(new, groups[0], color, setting)


def _covering(new: BlockSpec, groups: list[Anchors], setting: Resolution) -> list[tuple[Cell, ...]]:
    """Return the places of something level on top of all things together, centred on them if possible.

    Without a size it reaches as far as they do. [] if it lies on none or only on some of them.
    """
    cells = [cell for group in groups for cell in group.cells]
    level = {cell[1] for cell in cells}
    flat = new.kind in (Kind.ROW, *FIGURES) and new.kind not in (Kind.WALL, Kind.CUBE)
    wall = new.kind is Kind.WALL and len(new.sizes) == 2
    row = (
        wall
        or (new.kind is Kind.ROW and not new.standing)
        or (not new.standing and new.kind is Kind.BLOCK and (new.count or 1) > len(cells))
    )
    if not ((flat and not new.standing) or row) or any(
        group.way != VECTORS[Direction.UP] for group in groups
    ):
        return []
    if len(level) > 1 or new.gap or new.way is not None or (not new.sizes and new.kind in FIGURES[4:]):
        return []
    low = [min(cell[axis] for cell in cells) for axis in range(3)]
    high = [max(cell[axis] for cell in cells) for axis in range(3)]
    spans = high[0] - low[0] + 1, high[2] - low[2] + 1
    if row:
        n = new.sizes[0] if new.sizes else max(spans) if new.count in (None, 1) else new.count
        a, b, drawn = n, 1, frozenset((u, 0) for u in range(n))
    else:
        a, b = (*(new.sizes or spans), *new.sizes[:1])[:2]
        drawn = figure(new.kind, a, b)
    if new.hollow:
        drawn -= {(a // 2, b // 2)}
    deep = new.sizes[-1] if wall or len(new.sizes) > 2 else 1
    found: dict[tuple[Cell, ...], bool] = {}
    for (wide, far), one in _lying(new, a, b, drawn, setting).items():
        for x, z in product(range(high[0] - wide + 1, low[0] + 1), range(high[2] - far + 1, low[2] + 1)):
            line = tuple((x + u, min(level) + k, z + v) for u, v in sorted(one) for k in range(deep))
            if all(in_zone(*cell) and not setting.color_at(cell) for cell in line):
                found[line] = (2 * x + wide, 2 * z + far) == (low[0] + high[0] + 1, low[2] + high[2] + 1)
    middle = [line for line, centred in found.items() if centred]
    return middle if middle or new.kind is Kind.BLOCK else [*found]


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


def _put_at_several(
    new: BlockSpec, groups: list[Anchors], color: int, setting: Resolution
) -> list[list[tuple[Cell, int]]]:
    """Place the same at each of several things, or a number of blocks in all."""
    count, shape = new.count, new.kind is not Kind.BLOCK
    if shape and count not in (None, 1, len(groups)):
        raise Unresolved(Reason.NO_NUMBER, f"{count} for {len(groups)} places")
    if shape or new.each or count in (1, None):
        one = replace(new, count=count if new.each and not shape else 1)
        return _for_each(one, groups, color, setting)
    arranged = bool(new.standing) or new.way is not None
    if count == len(groups) and not arranged:
        ways = _for_each(BlockSpec(1, new.color), groups, color, setting, all_of_them=True)
        if new.standing is None or (lines := [way for way in ways if _in_a_line([c for c, _ in way])]):
            return ways if new.standing is None else lines
        raise Unresolved(Reason.NO_NUMBER, f"one line of {count} for {count} places that lie in none")
    free = list(dict.fromkeys(cell for group in groups for cell in free_cells(group.cells, setting)))
    if count == len(free) and not arranged:
        return [[(cell, color) for cell in free]]
    if len(free) == 1:
        return _at_one(new, Anchors(tuple(free), groups[0].way), color, setting)
    what = f"one line of {count}" if arranged else f"{count} blocks"
    raise Unresolved(Reason.NO_NUMBER, f"{what} for {len(free)} places")


def _in_a_line(cells: list[Cell]) -> bool:
    return sorted(Box.of(cells).spans) == [0, 0, len(cells) - 1]


def _for_each(
    new: BlockSpec, groups: list[Anchors], color: int, setting: Resolution, all_of_them: bool = False
) -> list[list[tuple[Cell, int]]]:
    """Place the same at each thing. Skip occupied places unless a number was given."""
    found = []
    failure: Unresolved | None = None
    for group in groups:
        try:
            found.append(_at_one(new, group, color, setting))
        except Unresolved as error:
            if all_of_them or error.failure.reason is not Reason.OCCUPIED:
                raise
            failure = error
    if not found:
        raise failure or Unresolved(Reason.NO_MATCH, "no such place")
    return [
        [block for part in choice for block in part]
        for choice in product(*(options[:4] for options in found))
    ][:64]


def _at_one(new: BlockSpec, group: Anchors, color: int, setting: Resolution) -> list[list[tuple[Cell, int]]]:
    cells = [cell for cell in group.cells if in_zone(*cell)]
    all_of_it = new.count is None if new.kind is Kind.BLOCK else new.kind is Kind.RECTANGLE and not new.sizes
    if not cells or (group.item and all_of_it):
        _check_inside(group.cells)
    fixed = group.way is None and not group.item  # a place of the map: blocks that are right already may stay
    allowed = (0, color) if fixed else (0,)
    free = [cell for cell in cells if setting.color_at(cell) in allowed]
    if not free:
        there = setting.color_at(cells[0])
        raise Unresolved(Reason.OCCUPIED, f"a {color_name(there)} block at {cells[0]}", color=there)
    lines = _lines(new, group, free, setting)
    good = [
        line for line in lines if all(in_zone(*cell) and setting.color_at(cell) in allowed for cell in line)
    ]
    distinct = list({frozenset(line): line for line in good}.values())
    if not distinct:
        for line in lines:
            check_free([(cell, color) for cell in line], setting)
        raise Unresolved(Reason.NO_DIRECTION, "it does not fit")
    return [[(cell, color) for cell in line] for line in distinct]


def _run(start: Cell, vector: Cell, n: int, gap: int = 0) -> tuple[Cell, ...]:
    x, y, z = (part * (1 + gap) for part in vector)
    return tuple((start[0] + i * x, start[1] + i * y, start[2] + i * z) for i in range(n))


def _lines(new: BlockSpec, group: Anchors, free: list[Cell], setting: Resolution) -> list[tuple[Cell, ...]]:
    """Return the cells of each way in which new blocks lie or stand at a place."""
    way, kind = group.way, new.kind
    if kind in FIGURES:
        return _figures(new, group, free, setting)
    if kind not in (Kind.BLOCK, Kind.ROW, Kind.COLUMN, Kind.TOWER):
        raise Unresolved(Reason.NO_DIRECTION, str(kind))
    n = new.sizes[0] if new.sizes else new.count if kind is Kind.BLOCK else None
    lowest = _nearest(new, group, free)
    if kind is Kind.BLOCK and n == 1:
        middle = [sorted(lowest)[len(lowest) // 2]]
        return [(cell,) for cell in (middle if new.centred and len(lowest) % 2 else lowest)]
    if kind is Kind.BLOCK and n is None:
        return [tuple(free)]
    if n is None:
        if kind is not Kind.ROW or not group.item or way is None or not way[1]:
            raise Unresolved(Reason.NO_NUMBER if kind is Kind.ROW else Reason.NO_HEIGHT, str(kind))
        n = len(free)  # as long as what it lies on
    stated = VECTORS[setting.on_map(new.way)] if new.way is not None else None
    standing = _stands(new, stated)
    if standing is None:
        if len(free) == n:
            return [tuple(free)]
        if way is None and (len(free) > 1 or group.item):
            raise Unresolved(Reason.NO_DIRECTION, "")
        standing = way is None or way[1] != 0
        if way is not None and not standing and new.axis is None:
            return [_run(cell, way, n) for cell in lowest]
    if not standing:
        return _level_rows(new, group, n, free, lowest, setting)
    floats = all(cell[1] > FLOOR for cell in group.item)
    if n > 1 and new.standing is None and way is not None and not way[1] and floats:
        if not any(setting.color_at(shifted(cell, (0, -1, 0))) for cell in lowest):
            raise Unresolved(Reason.NO_HEIGHT, str(kind))  # beside what floats: there, or on the ground
    down = any(vector is not None and vector[1] < 0 for vector in (way, stated))
    return [_run(cell, (0, -1 if down else 1, 0), n) for cell in lowest]


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


def _level_rows(
    new: BlockSpec, group: Anchors, n: int, free: list[Cell], lowest: list[Cell], setting: Resolution
) -> list[tuple[Cell, ...]]:
    inside, way = set(free), group.way
    if new.way is not None:
        stated = VECTORS[setting.on_map(new.way)]
        runs = [_run(cell, stated, n, new.gap) for cell in free]
        return [run for run in runs if inside.issuperset(run)] or [
            _run(cell, stated, n, new.gap) for cell in lowest
        ]
    axes = list(group.axes) or _axes(new.axis, setting)
    runs = [_run(cell, vector, n) for cell in free for vector in axes]
    lying = [run for run in runs if inside.issuperset(run)]
    if new.centred and lying:
        return [sorted(lying)[len(lying) // 2]] if len(lying) % 2 else lying
    if way is None or way[1]:
        return _rows_at(group, n, axes, lying, free, lowest)
    if not lying and new.kind is Kind.BLOCK and len(free) == n:
        return [tuple(free)]
    across = new.axis is not None and all(dot(vector, way) == 0 for vector in axes)
    if lying and (across or len(lowest) > 1):
        return lying
    if across and len(lowest) == 1:  # a row past one block
        return [
            _run(shifted(lowest[0], scaled(axes[0], -back)), axes[0], n) for back in {n // 2, (n - 1) // 2}
        ]
    return [_run(cell, way, n) for cell in lowest]


def _rows_at(
    group: Anchors, n: int, axes: list[Cell], lying: list[Item], free: list[Cell], lowest: list[Cell]
) -> list[tuple[Cell, ...]]:
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


def _axes(axis: str | None, setting: Resolution) -> list[Cell]:
    east, south = VECTORS[Direction.EAST], VECTORS[Direction.SOUTH]
    if axis in ("side", "depth"):
        vector = VECTORS[setting.on_map(Direction.RIGHT if axis == "side" else Direction.BEHIND)]
        return [(abs(vector[0]), 0, abs(vector[2]))]
    return {"x": [east], "z": [south]}.get(axis or "", [east, south])


FIGURES = (
    Kind.SQUARE,
    Kind.RECTANGLE,
    Kind.WALL,
    Kind.CUBE,
    Kind.PLUS,
    Kind.L,
    Kind.T,
    Kind.U,
    Kind.H,
    Kind.RING,
    Kind.X,
)


def _figures(new: BlockSpec, group: Anchors, free: list[Cell], setting: Resolution) -> list[tuple[Cell, ...]]:
    """Return flat or upright figures, and cubes, at a place of the map or on all of their reference.

    Centred in the centre; along the middle of an edge; from a corner inwards.
    """
    if not new.sizes:
        if new.kind is Kind.RECTANGLE and group.item:
            return [tuple(free)]  # a layer on all of it
        raise Unresolved(Reason.NO_NUMBER, str(new.kind))
    width, height = (*new.sizes, new.sizes[0])[:2]
    depth = new.sizes[2] if len(new.sizes) > 2 else width if new.kind is Kind.CUBE else 1
    drawn = figure(new.kind, width, height)
    if new.hollow:
        drawn -= {(width // 2, height // 2)}
    standing = new.standing if new.standing is not None else new.kind is Kind.WALL
    if new.kind is Kind.CUBE:
        standing = False
    spot = free[0]
    if new.way is not None and len(free) == 1 and not new.way.vertical:
        vector = VECTORS[setting.on_map(new.way)]
        return [
            tuple((spot[0] + u * vector[0], spot[1] + v, spot[2] + u * vector[2]) for u, v in sorted(drawn))
        ]
    if group.way is None and not group.item and len(free) == 1:
        along = new.axis or {(1, 0, 0): "x", (0, 0, 1): "z"}.get(
            group.axes[0] if len(group.axes) == 1 else spot
        )
        return _at_spot(drawn, (width, height, depth), spot, standing, along, setting)
    found = []
    for a, b in {(width, height), (height, width)}:
        for x, y, z in free:
            cells = [(x + i, y, z + j) for i in range(a) for j in range(b)]
            if not standing and set(free).issuperset(cells):
                placed = drawn if (a, b) == (width, height) else {(v, u) for u, v in drawn}
                found.append(tuple((x + u, y + k, z + v) for u, v in sorted(placed) for k in range(depth)))
    found = found or _covering(new, [replace(group, cells=tuple(free))], setting)
    if not found:
        raise Unresolved(Reason.NO_DIRECTION, str(new.kind))
    return found


def _at_spot(
    drawn: frozenset[tuple[int, int]],
    sizes: tuple[int, int, int],
    spot: Cell,
    standing: bool,
    axis: str | None,
    setting: Resolution,
) -> list[tuple[Cell, ...]]:
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
    along_x = abs(z) == REACH and abs(x) != REACH
    along_z = abs(x) == REACH and abs(z) != REACH
    if axis is not None:
        vector = _axes(axis, setting)[0]
        along_x, along_z = bool(vector[0]), bool(vector[2])
    if along_x == along_z:
        raise Unresolved(Reason.NO_DIRECTION, "which way it stands")
    start = begin(x if along_x else z, width)
    if along_x:
        return [tuple((start + u, y + v, z) for u, v in sorted(drawn))]
    return [tuple((x, y + v, start + u) for u, v in sorted(drawn))]
