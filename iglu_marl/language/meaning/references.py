"""References: the blocks, groups and places that a description means in a given world."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, TypeGuard

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.core.grid import cells_of as cells_in
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import MAX_DISTANCE, NoFurtherChoice, Offset, Resolution, Unresolved
from iglu_marl.language.meaning.matching import (
    RUNS,
    described,
    find_items,
    furthest,
    just_mentioned,
    ranked_by_size,
    related_items,
    whole_things,
)
from iglu_marl.language.meaning.parts import PORTIONS, all_of, middle_of, side_of
from iglu_marl.language.meaning.regions import (
    FLOOR,
    REACH,
    Anchors,
    climbed,
    connected,
    free_cells,
    gaps_between,
    joined,
    merged,
    on_column,
    outer,
)
from iglu_marl.language.meaning.regions import Item as Item
from iglu_marl.language.meaning.shapes import (
    COMPASS,
    VECTORS,
    Box,
    Direction,
    Kind,
    Noun,
    as_color,
    dot,
    outermost,
    scaled,
    shifted,
)
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.graph import table_of

MAX_CELLS = 150
"""Number of blocks of a thing in which parts are looked for."""


def checked_offset(steps: Iterable[tuple[Any, Any]]) -> Offset:
    """Return steps with their directions as `Direction`s.

    Raises `DialogueError` if a step is wrong, or two steps go along one axis.
    """
    try:
        offset = tuple((Direction(way), count) for way, count in steps)
    except (TypeError, ValueError) as error:
        raise DialogueError(f"offset is {steps!r}, expected pairs (direction, count): {error}") from None
    for way, count in offset:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_DISTANCE:
            raise DialogueError(f"offset has {count!r} steps {way}, expected 1..{MAX_DISTANCE}")
    if len({way.axis for way, _ in offset}) < len(offset):
        raise DialogueError(f"offset {steps!r} goes along one axis twice")
    if len({way.relative for way, _ in offset if not way.vertical}) > 1:
        raise DialogueError(f"offset {steps!r} mixes directions of the map with directions of the builder")
    return offset


class Reference:
    """Base of what means things of a world."""

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the things that it means.

        Raises `Unresolved` if nothing fits, or more than the reference says.
        """
        raise NotImplementedError


class Location:
    """Base of places, for new blocks (`anchors`) and of things (`fitting`)."""

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells for new blocks, one entry per thing that the place is relative to.

        Raises `Unresolved` if the place does not exist or is ambiguous.
        """
        raise NotImplementedError

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items that are at this place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Anaphor(Reference):
    """What the last instruction changed, as a whole ("it")."""

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the thing."""
        return [setting.mentioned or setting.last or _only_thing(setting)]


@dataclass(frozen=True)
class LastBlock(Reference):
    """The last block that was changed."""

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the block."""
        return [(setting.last or _only_thing(setting))[-1:]]


@dataclass(frozen=True)
class BuilderPosition(Reference):
    """Where the builder stands ("you")."""

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the cell of the feet."""
        if setting.position is None:
            raise Unresolved(Reason.NO_VIEW, "you")
        x, y, z = setting.position
        return [((int(np.floor(x + 0.5)), round(y - 0.75), int(np.floor(z + 0.5))),)]


@dataclass(frozen=True)
class At(Location):
    """A cell (x, y, z) of the zone."""

    cell: Cell

    def __post_init__(self) -> None:
        cell = tuple(int(value) for value in self.cell)
        if len(cell) != 3 or not in_zone(*cell):
            raise DialogueError(f"cell {self.cell!r} is not in the build zone (x, z in -5..5, y in -1..7)")
        object.__setattr__(self, "cell", cell)

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cell."""
        return [Anchors((self.cell,))]

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items with a block there."""
        return [item for item in items if self.cell in item]


@dataclass(frozen=True)
class Spot(Reference, Location):
    """A column of the map: on the ground, or on top of what stands there."""

    x: int
    z: int

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return its cell on the ground."""
        return [((self.x, FLOOR, self.z),)]

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the first free cell."""
        along = [(1, 0, 0)] * (abs(self.z) == REACH) + [(0, 0, 1)] * (abs(self.x) == REACH)
        return [Anchors((on_column(self.x, self.z, setting),), axes=tuple(along))]

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items with a block there."""
        return [item for item in items if (self.x, self.z) in {(x, z) for x, _, z in item}]


@dataclass(frozen=True)
class Each:
    """A place at each of several things."""

    where: Any


@dataclass(frozen=True)
class Level(Location):
    """A layer of the zone, 1 = on the ground."""

    height: int

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the layer."""
        line = range(-REACH, REACH + 1)
        return [Anchors(tuple((x, self.height + FLOOR - 1, z) for x in line for z in line))]

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items that begin there."""
        return [item for item in items if Box.of(item).low[1] == self.height + FLOOR - 1]


@dataclass(frozen=True)
class Furthest(Location):
    """Filter: furthest from something or, with `near`, nearest to it; or furthest in a direction, or between two.

    where: another place that holds. along: only what stretches in that direction.
    """

    of: Reference | tuple[Direction, ...]
    near: bool = False
    where: Location | None = None
    along: bool = False

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items at the largest or smallest distance."""
        items = items if self.where is None else self.where.fitting(reference, items, setting)
        far: dict[Item, float]
        if isinstance(self.of, tuple):
            vector = setting.vector(tuple((way, 1) for way in self.of))
            long = [i for i in items if any(map(operator.mul, Box.of(i).spans, vector)) or len(i) == 1]
            items = long if self.along else items
            far = {item: max(dot(cell, vector) for cell in item) for item in items}
        else:
            others = {cell for item in resolve(self.of, setting) for cell in item}
            pairs = {item: product(item, others) for item in items if others.isdisjoint(item)}
            far = {item: min(math.dist(a, b) for a, b in both) for item, both in pairs.items()}
        best = (min if self.near else max)(far.values(), default=0)
        return [item for item in items if far.get(item) == best]


@dataclass(frozen=True)
class Between(Location):
    """The cells between two things, or between (and inside) several.

    `of` names several things; else `one` and `other` are the two. With none of them, any gap is meant.
    """

    one: Reference | None = None
    other: Reference | None = None
    line: bool = False

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return gaps: straight lines of free cells between blocks."""
        if self.one is None:
            cells = frozenset(setting.blocks)
            gaps = gaps_between(setting, cells, cells)
            if not gaps:
                raise Unresolved(Reason.NO_MATCH, "there is no gap")
        else:
            cells = frozenset(cell for item in resolve(self.one, setting) for cell in item)
            other = self.one if self.other is None else self.other
            others = frozenset(cell for item in resolve(other, setting) for cell in item)
            gaps = gaps_between(setting, cells, others)
            if not gaps:
                raise Unresolved(Reason.NO_MATCH, "nothing is free between them")
        gaps = merged(gaps)
        if self.line and self.one is not None:
            gaps = self._one_layer(gaps, setting)
            if self.other is None and not joined(cells, gaps):
                raise Unresolved(Reason.AMBIGUOUS, "which of them")
        return [Anchors(gap, None, (), True) for gap in gaps]

    def _one_layer(self, gaps: list[Item], setting: Resolution) -> list[Item]:
        """Return the highest line of each gap: towers are connected at their tops."""
        layer = max(cell[1] for gap in gaps for cell in gap)
        ends = [(at.x, FLOOR, at.z) for at in (self.one, self.other) if isinstance(at, Spot)]
        ends = free_cells(ends, setting)  # "from corner to corner": with the corners
        lines = [tuple(cell for cell in gap if cell[1] == layer) for gap in gaps]
        return [(*line, *ends) for line in lines if line]


@dataclass(frozen=True)
class PluralAnaphor(Reference):
    """Several things that were changed last, by one instruction or by two ("they").

    both: exactly two things, such as two towers that were built one after the other.
    """

    both: bool = False

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return one item per block, if they are not two things."""
        if self.both and (two := _last_two(setting)):
            return two
        if self.both and not setting.last and len(things := connected(setting.blocks)) == 2:
            return things
        cells = list(setting.mentioned or setting.last)
        for part in reversed(setting.earlier):
            if len(cells) > 1 or setting.mentioned:
                break
            cells = list(dict.fromkeys((*part, *cells)))
        cells = cells or list(_only_thing(setting))
        standing: list[Item] = [(cell,) for cell in cells if setting.color_at(cell)]
        return standing or [tuple(cells)]  # removed blocks count too


@dataclass(frozen=True)
class Floating(Location):
    """Filter: not connected to the ground; with `whole=False`, not on the ground itself."""

    whole: bool = True

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items above the ground."""
        structures = find_items(setting, Kind.STRUCTURE, ()) if self.whole else []
        standing = {cell for group in structures if Box.of(group).low[1] == FLOOR for cell in group}
        return [item for item in items if standing.isdisjoint(item) and Box.of(item).low[1] > FLOOR]


@dataclass(frozen=True)
class Edge(Location):
    """The row of cells along an edge of the zone."""

    way: Direction

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the row on the ground."""
        vector = setting.vector_of(self.way)
        axis = (abs(vector[2]), 0, abs(vector[0]))
        start = shifted(scaled(vector, REACH), (0, FLOOR, 0))
        line = tuple(shifted(start, scaled(axis, n)) for n in range(-REACH, REACH + 1))
        return [Anchors(line, whole=True, axes=(axis,))]

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items that lie along it."""
        vector = setting.vector_of(self.way)
        return [item for item in items if all(dot(cell, vector) == REACH for cell in item)]


@dataclass(frozen=True)
class PartOf(Location):
    """Filter: part of something, as in "the top block of the tower"."""

    of: Reference

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items that lie in it."""
        whole = {cell for part in resolve(self.of, setting) for cell in part}
        return [item for item in items if whole.issuperset(item)]


@dataclass(frozen=True)
class Recent(Reference):
    """What earlier instructions placed: "the block you just placed", "those three blue blocks".

    Args:
        colors, kind: appearance.
        count: number of things, None = all.
        nth: 1 = the first one, -1 = the last one; with `count`, that many from there on.
        extreme: the furthest in this direction.

    """

    colors: tuple[int, ...] = ()
    kind: Kind = Kind.BLOCK
    count: int | None = None
    nth: int | None = None
    extreme: Direction | None = None

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return what the last instruction that fits placed."""
        for cells in (setting.last, *reversed(setting.earlier)):
            there = self._colored([cell for cell in cells if setting.color_at(cell)], setting)
            if self.nth is not None and there:
                there = self._numbered(there, self.nth, setting)
            if not there:
                continue
            if self.extreme is not None:
                there = outermost(there, setting.vector_of(self.extreme))
            if self.kind is not Kind.BLOCK:
                whole = [item for item in find_items(setting, self.kind, ()) if set(there) <= set(item)]
                return whole if len(whole) == 1 else [tuple(there)]
            if self.nth is not None or self.count in (None, len(there)):
                return [(cell,) for cell in there]
        if self == Recent(nth=1, count=1) and not setting.last:
            return [_only_thing(setting)]
        if self.kind is not Kind.BLOCK and self.count == 1 and not setting.last:  # that others built
            return resolve(Blocks(self.colors, self.kind), setting)
        raise Unresolved(Reason.NO_MATCH, "nothing like that was placed before")

    def _colored(self, cells: list[Cell], setting: Resolution) -> list[Cell]:
        return [cell for cell in cells if setting.color_at(cell) in self.colors] if self.colors else cells

    def _numbered(self, there: list[Cell], nth: int, setting: Resolution) -> list[Cell]:
        """Return the blocks from the nth one on, [] if there are fewer."""
        start = nth - (nth > 0)
        if nth > 0 and self.count == 1:
            placed = [cell for part in setting.earlier for cell in part] or there
            return self._colored(placed, setting)[start:nth]
        least = -nth if self.colors else 1 + (self.count or 1)  # "the last two" implies more than two
        return there[start:][: self.count] if len(there) >= least else []


@dataclass(frozen=True)
class Portion(Reference):
    """The ends, corners, middle or blocks of something.

    way: only those on this side; with "half", the half there.
    layers: how many layers on this side.
    cuts: only those in these of its layers, rows, columns or blocks: the unit, the end from which they are counted
        (None: from the ground, or where it makes no difference) and their numbers, 0 = the middle, -1 = the last.
    """

    of: Reference
    which: str
    way: Direction | None = None
    layers: int = 1
    cuts: tuple[tuple[str, Direction | None, Sequence[int]], ...] = ()

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return its blocks, one thing per block."""
        found: list[Item] = []
        items = resolve(self.of, setting)
        if isinstance(self.of, Anaphor) and self.cuts:
            items = self._wholes(items[0], setting) or items
        if len(items) > 1 and all(len(item) == 1 for item in items):
            items = [tuple(cell for item in items for cell in item)]  # of blocks, taken together
        for item in items:
            if self.cuts:
                cells = set.intersection(*(_numbered(item, *cut, setting) for cut in self.cuts))
            else:
                cells = {*self._cells(item, setting)}
            if not cells:
                raise Unresolved(Reason.NO_MATCH, f"{self.which} of that")
            found += [(cell,) for cell in sorted(cells)]
        return list(dict.fromkeys(found))

    def _wholes(self, item: Item, setting: Resolution) -> list[Item]:
        """Return all to which a thing belongs; of something that was removed, what is left."""
        around = {shifted(cell, way) for cell in item for way in VECTORS.values()}
        gone = not any(map(setting.color_at, item))
        whole = around if gone else set[Cell]()
        return [one for one in connected(setting.blocks) if not whole.isdisjoint(one)]

    def _cells(self, item: Item, setting: Resolution) -> list[Cell]:
        if self.way is not None:
            return self._side(item, setting.vector_of(self.way))
        return PORTIONS.get(self.which, all_of)(item, Box.of(item))

    def _side(self, item: Item, vector: Cell) -> list[Cell]:
        """Return the part in the outermost layers on one side; of one block, the block."""
        rest, found = item, list[Cell]()
        for _ in range(self.layers if len(item) > 1 else 0):
            found += side_of(rest, self.which, vector) if rest else []
            rest = tuple(cell for cell in rest if cell not in found)
        across = self.which == "ends" and len(found) == len(item) > 1
        return [] if across else found or list(item)


def _ways_to_count(spans: Cell, unit: str) -> list[Direction]:
    """Return the ends from which layers, rows, columns or blocks can be counted where none is said."""
    ways = [way for way in COMPASS if any(map(operator.mul, spans, VECTORS[way]))]
    upright = unit == "layer" or (spans[1] and unit == "row") or (not ways and unit == "block")
    return [Direction.DOWN] if upright else ways


def _numbered(
    item: Item, unit: str, way: Direction | None, numbers: Sequence[int], setting: Resolution
) -> set[Cell]:
    """Return the layers, rows, columns or blocks of a thing with these numbers: see `Portion`."""
    found = []
    for vector in map(setting.vector_of, _ways_to_count(Box.of(item).spans, unit) if way is None else [way]):
        far = {cell: -dot(cell, vector) for cell in item}
        first, end = min(far.values()) - 1, max(far.values()) - min(far.values()) + 2
        places = [n % end if n else end / 2 for n in numbers if n < end]
        found.append({cell for cell, reach in far.items() if reach - first in places})
        lacking = isinstance(numbers, tuple) and len(places) < len(numbers)
        if lacking or (unit == "block" and len(found[-1]) > len(places)):
            raise Unresolved(Reason.NO_MATCH, f"that {unit}")
    if numbers[0] and (any(one != found[0] for one in found) or (not way and isinstance(numbers, range))):
        raise Unresolved(Reason.NO_DIRECTION, "from which end")
    return {*item}.intersection(*found)


@dataclass(frozen=True)
class AnyOf(Reference, Location):
    """One of several things or places, which the builder chooses: "one of the towers", "in any corner".

    nth: its choice. stated: whether that is its choice without further words, unlike "in a corner".
    """

    of: Any
    nth: int = 0
    stated: bool = True

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the thing that is chosen."""
        return [self._chosen(resolve(self.of, setting), setting)]

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the place that is chosen: free ones on the ground come first."""
        groups = sorted(self.of.anchors(setting), key=lambda group: max(cell[1] for cell in group.cells))
        return [self._chosen(groups, setting)]

    def _chosen(self, options: list[Any], setting: Resolution) -> Any:
        if len(options) > 1 and not (self.stated or setting.free):
            cells = tuple(getattr(option, "cells", option) for option in options)
            raise Unresolved(Reason.AMBIGUOUS, f"one of {len(options)}", reference=self, choices=cells)
        if self.nth >= len(options):
            raise NoFurtherChoice(Reason.NO_MATCH, f"{len(options)} choices")
        return options[self.nth]


@dataclass(frozen=True)
class Union(Reference):
    """Several references together: "the red block and the blue row"."""

    parts: tuple[Reference, ...]

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the things of each part, each once."""
        return list(dict.fromkeys(item for part in self.parts for item in resolve(part, setting)))


@dataclass(frozen=True)
class Blocks(Reference):
    """Blocks or groups by appearance and place: `Blocks((6,), "row", count=1)` is "the red row".

    Raises `DialogueError` if the values make no description.

    Args:
        colors: ids 1..6 to choose from, () = any.
        kind: a `Kind`, or a name that was given.
        count: number of things that fit, None = all that fit, one at least.
        extreme: the furthest in this direction ("the highest", "the northernmost").
        size: of a row, column or tower.
        where: only those at this place. One step from something is a relation to it (see
            `iglu_marl.language.scene.graph`): all in that relation, or the nearest where one is meant.
        rank: 2..9 for the second, third, ... from that end.
        middle: those in the middle of a line of all that fit.
        unless: exclude these.
        by_size: only the "largest" or "smallest".
        one: worded as "the red one", which can be all of a red tower, or "the two northern ones", of four towers.

    """

    colors: tuple[int, ...] = ()
    kind: Kind | Noun = Kind.BLOCK
    count: int | None = 1
    extreme: Direction | None = None
    size: int | None = None
    where: Location | None = None
    rank: int = 1
    middle: bool = False
    unless: Reference | None = None
    by_size: str | None = None
    one: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        colors = tuple(as_color(color, "a color of a description") for color in self.colors)
        if len(set(colors)) < len(colors):
            raise DialogueError(f"colors {colors} of a description, expected each once")
        try:
            if not isinstance(self.kind, Noun):
                object.__setattr__(self, "kind", Kind(self.kind))
            if self.extreme is not None:
                object.__setattr__(self, "extreme", Direction(self.extreme))
        except ValueError as error:
            raise DialogueError(f"kind or extreme of a description: {error}") from None
        if self.kind in (Kind.H, Kind.X, Kind.CUBE):
            raise DialogueError(f"a description of a {self.kind}, expected a kind that scenes have")
        object.__setattr__(self, "colors", colors)
        self._check_numbers()
        if self.where is not None and getattr(type(self.where), "fitting", None) in (None, Location.fitting):
            raise DialogueError(f"where of a description is {self.where!r}, expected a place of things")

    def _check_numbers(self) -> None:
        if self.count is not None and not 1 <= self.count <= 99:
            raise DialogueError(f"count of a description is {self.count!r}, expected None or 1..99")
        largest = 1 if self.kind is Kind.BLOCK else 11 if self.kind in RUNS else 121
        if self.size is not None and not 2 <= self.size <= largest:
            expected = "none" if largest == 1 else f"2..{largest}"
            raise DialogueError(f"size {self.size!r} of a {self.kind}, expected {expected}")
        if self.rank != 1 and (
            (self.extreme is None and self.by_size is None) or self.count != 1 or not 2 <= self.rank <= 9
        ):
            raise DialogueError(
                f"rank {self.rank!r} of a description, expected 2..9 of one thing from one end"
            )
        if self.middle and (self.extreme is not None or self.count is None):
            raise DialogueError("middle=True of a description, expected a count and no extreme")

    def resolve(self, setting: Resolution) -> list[Item]:
        """Return the things that fit, if they are as many as stated."""
        items = find_items(setting, self.kind, self.colors, self.count)
        if self.count == 1 and len(self.colors) > 1 and self.kind is not Kind.BLOCK:
            items = [item for item in items if {*map(setting.color_at, item)} >= {*self.colors}]
        if self.size is not None:
            items = [item for item in items if len(item) == self.size]
        if items and self.is_of_several:
            return _in_each_part(self, items, setting)
        items = self._at_place(items, setting)
        if not items or (isinstance(self.kind, Noun) and self.extreme is not None and len(items) == 1):
            raise Unresolved(Reason.NO_MATCH, described(self))  # "the lowest step" is one of several
        found = self.selected(items, setting)
        plain = self.kind is Kind.BLOCK and self.where is None and self.extreme is not None
        if self.count is None and len(found) == 1 < len(items) and plain:  # "the top blocks"
            detail = f"one is the {self.extreme} most {described(self)}, not several"
            raise Unresolved(Reason.AMBIGUOUS, detail, reference=self)
        return _counted(self, found, setting)

    def _at_place(self, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items at the place that was given, without those that were excluded."""
        if items and self.where is not None:
            items = self.where.fitting(self, items, setting) or _placed_on_part(self, items, setting)
        if self.unless is None:
            return items
        left_out = {cell for item in resolve(self.unless, setting) for cell in item}
        return [item for item in items if not left_out.intersection(item)]

    def selected(self, items: list[Item], setting: Resolution) -> list[Item]:
        """Return those of some items that are largest or smallest, furthest, or in the middle."""
        if self.by_size is not None:
            items = ranked_by_size(self, items)
        if self.extreme is not None:
            items = furthest(self, items, setting)
        return _in_the_middle(self, items) if self.middle else items

    @property
    def is_of_several(self) -> bool:
        """Whether one thing in each of several is meant: "the tops of the towers"."""
        of = self.where.of if isinstance(self.where, PartOf) else None
        several = isinstance(of, Blocks) and of.count != 1
        return several and self.count == 1 and (self.extreme is not None or self.middle)

    @property
    def is_cell(self) -> bool:
        """Whether only the block at one cell is meant, as in a `CellEdit`."""
        plain = self.kind is Kind.BLOCK and self.count == 1 and len(self.colors) < 2 and not self.middle
        return plain and self.extreme is None and isinstance(self.where, At)


@dataclass(frozen=True)
class Beside(Location):
    """The cell a number of steps from something; no steps = in its place.

    From a group, count from the side that the first step leaves through, at its lowest layer for a horizontal step:
    "to the east of the tower" is on the ground if the tower is. Several things ("each") have one place each.
    """

    offset: Offset
    of: Reference

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", checked_offset(self.offset))
        if not isinstance(self.of, Reference):
            raise DialogueError(f"a place beside {self.of!r}, expected a reference")

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the cells beyond each thing on that side."""
        try:
            items = resolve(self.of, setting)
        except Unresolved as error:
            items = self._with_room(setting)
            if len(items) != 1 or error.failure.reason is not Reason.AMBIGUOUS:
                raise
        if not self.offset:
            return [self._in_place(items, setting)]
        (way, distance), *more = self.offset
        flipped = isinstance(self.of, BuilderPosition)
        vector = setting.vector(((way, 1),), flipped)
        if flipped and not way.vertical:
            x, _, z = shifted(items[0][0], setting.vector(self.offset, flipped))
            return [Anchors((on_column(x, z, setting),), vector)]
        above_last = way is Direction.UP and isinstance(self.of, (Anaphor, LastBlock))
        if above_last and not any(map(setting.color_at, items[0])):  # where something was removed
            return [Anchors(tuple(outermost(items[0], (0, -1, 0))), vector)]
        rest = setting.vector(tuple(more), flipped)
        found = []
        for item in items:
            cells = [shifted(cell, rest) for cell in outer(item, vector, distance)]
            if above_last and isinstance(self.of, Anaphor):  # on all that stands on it by now
                cells = [climbed(cell, setting) for cell in cells]
            found.append(Anchors(tuple(cells), vector, item))
        return found

    def _with_room(self, setting: Resolution) -> list[Item]:
        """Return the things above or below which the place is free, if one of them is meant."""
        ways = {way: setting.vector(((way, distance),)) for way, distance in self.offset if way.vertical}
        if len(ways) != len(self.offset) or len(ways) != 1 or not isinstance(self.of, Blocks):
            return []
        if self.of.count != 1 or self.of.rank > 1 or self.of.middle:
            return []
        ((way, vector),) = ways.items()
        ends = (
            (item, shifted(cell, vector))
            for item in resolve(replace(self.of, count=None), setting)
            for cell in outermost(item, VECTORS[way])
        )
        return [item for item, cell in ends if in_zone(*cell) and not setting.color_at(cell)]

    def _in_place(self, items: list[Item], setting: Resolution) -> Anchors:
        cells = tuple(dict.fromkeys(cell for item in items for cell in item))
        if isinstance(self.of, Anaphor) and setting.before is not None and all(map(setting.color_at, cells)):
            left = (setting.before[1] != 0) & (setting.grid == 0)  # "there" is where a part of it was removed
            cells = tuple(map(tuple, cells_in(left).tolist())) or cells
        elif isinstance(self.of, Anaphor):
            cells = tuple(cell for cell in cells if not setting.color_at(cell)) or cells
        return Anchors(cells, None, cells)

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items in that relation, or that number of steps away."""
        others = resolve(self.of, setting)
        if len(self.offset) == 1 and self.offset[0][1] == 1:
            way = self.offset[0][0]
            if isinstance(self.of, BuilderPosition) and way in (Direction.FRONT, Direction.BEHIND):
                way = way.opposite  # of the builder itself
            relation = {Direction.UP: "above", Direction.DOWN: "below"}.get(way) or setting.on_map(way).value
            return related_items(reference, relation, items, others)
        vector = setting.vector(self.offset, isinstance(self.of, BuilderPosition))
        near = {shifted(cell, vector) for item in others for cell in item}
        near -= {cell for item in others for cell in item if self.offset}
        return [item for item in items if not near.isdisjoint(item)]


@dataclass(frozen=True)
class NextTo(Location):
    """Any free cell that touches something from the north, east, south or west."""

    of: Reference

    def __post_init__(self) -> None:
        if not isinstance(self.of, Reference):
            raise DialogueError(f"a place next to {self.of!r}, expected a reference")

    def anchors(self, setting: Resolution) -> list[Anchors]:
        """Return the free cells around each thing."""
        found = []
        for item in resolve(self.of, setting):
            around = dict.fromkeys(cell for way in COMPASS for cell in outer(item, VECTORS[way]))
            found.append(Anchors(tuple(cell for cell in around if not setting.color_at(cell)), None, item))
        return found

    def fitting(self, reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
        """Return the items that touch it."""
        return related_items(reference, "next_to", items, resolve(self.of, setting))


Where = At | Beside | NextTo


def is_several(where: Any) -> TypeGuard[Beside]:
    """Return whether a place is relative to more than one thing, or to all that fit."""
    return isinstance(where, Beside) and isinstance(where.of, Blocks) and where.of.count != 1


def resolve(reference: Reference, setting: Resolution) -> list[Item]:
    """Return the things that a reference means, by its own method."""
    return reference.resolve(setting)


def _last_two(setting: Resolution) -> list[Item]:
    found: list[Item] = []
    for part in dict.fromkeys((setting.last, *reversed(setting.earlier))):
        met = {cell for item in found for cell in item}
        cells = {cell for cell in part if setting.color_at(cell)} - met
        if len(cells) == 2 and len({cell[1] for cell in cells}) == 1:
            found += [(cell,) for cell in cells]  # two blocks beside each other are two things
        else:
            found += connected(cells)
        if len(found) >= 2:
            break
    return found if len(found) == 2 else []


def _only_thing(setting: Resolution) -> Item:
    """Return what "it" means before any change: the only thing in the world."""
    items = find_items(setting, Kind.STRUCTURE if len(setting.blocks) > 1 else Kind.BLOCK, ())
    if len(items) != 1 or len(items[0]) < len(setting.blocks):  # a block by itself is no structure
        asked = Anaphor() if setting.blocks else None
        raise Unresolved(Reason.NO_MATCH, "nothing was changed before", reference=asked)
    return items[0]


def _in_the_middle(reference: Blocks, items: list[Item]) -> list[Item]:
    count = reference.count or 1
    rest, odd = divmod(len(items) - count, 2)
    table, first = table_of(items)
    given, out = np.zeros((2, len(table)), np.uint8)
    given[first:] = 1
    given[len(table) - 1] = (
        count == 1 or len(items) % 2
    )  # of an even number the line is seen by leaving one out
    kernels.middle(table, len(table), given, out)
    box = Box.of(cells := tuple(cell for item in items for cell in item))
    if reference == Blocks(middle=True) and not out.any() and 0 in box.spans:  # of a layer or a wall
        if central := middle_of(cells, box):
            return [tuple(central)]
    if not out.any() or (count > 1 and (odd or rest < 0)):
        detail = f"the middle of {len(items)} {described(reference)}"
        raise Unresolved(Reason.AMBIGUOUS, detail, reference=reference, choices=tuple(items))
    if count > 1:
        return sorted(items)[rest : len(items) - rest]
    return [item for item, fits in zip(items, out[first:], strict=True) if fits]


def _counted(reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
    count = reference.count
    if count is None or len(items) == count:
        return items
    if len(items) < count:
        raise Unresolved(Reason.NO_MATCH, f"{len(items)} of {count} {described(reference)}")
    if lately := just_mentioned(reference, items, count, setting):
        return lately
    cells = {cell for item in items for cell in item}
    if reference.one and (met := whole_things(reference, cells, setting)):
        return met
    detail = f"{len(items)} of {described(reference)}"
    raise Unresolved(Reason.AMBIGUOUS, detail, reference=reference, choices=tuple(items))


def _placed_on_part(reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
    """The block on top of the tower: of another colour, since it would belong to the tower otherwise."""
    where = reference.where
    if not (
        isinstance(where, Beside) and isinstance(where.of, Blocks) and where.of == Blocks((), where.of.kind)
    ):
        return []
    found: dict[Item, None] = {}
    for color in range(1, 7) if where.of.kind in RUNS else ():
        try:
            stated = replace(where, of=replace(where.of, colors=(color,)))
            fits = stated.fitting(reference, items, setting)
        except Unresolved:
            continue
        found |= dict.fromkeys(fits)
    return list(found)


def _in_each_part(reference: Blocks, items: list[Item], setting: Resolution) -> list[Item]:
    assert isinstance(reference.where, PartOf)
    found: list[Item] = []
    for part in resolve(reference.where.of, setting):
        inside = [item for item in items if set(part).issuperset(item)]
        if not inside:
            raise Unresolved(Reason.NO_MATCH, described(reference))
        if reference.middle:
            inside = _in_the_middle(reference, inside)
        else:
            inside = furthest(reference, inside, setting)
        found += _counted(reference, inside, setting)
    return list(dict.fromkeys(found))
