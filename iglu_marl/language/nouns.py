"""The noun half of the grammar: directions, cells, places, and references to blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.language.blocks import Reason
from iglu_marl.language.lexicon import Ends, Readings, Words, ordinals, phrases, rule, tried
from iglu_marl.language.references import At, Beside, Blocks, It, LastBlock, NextTo, Offset, You
from iglu_marl.language.shapes import COMPASS, VECTORS, Direction, Kind
from iglu_marl.language.templates import verb_templates

_SIDEWAYS = (*COMPASS, Direction.LEFT, Direction.RIGHT)


class Nouns(Words):
    """Rules for what instructions are about."""

    # -- directions

    @rule
    def way(self, at: int) -> Readings:
        """`east`, `to the east`, `going up`, `towards you`."""
        for start in self.maybe(at, "going"):
            for direction in Direction:
                for end in self.any(start, f"way {direction.value}"):
                    yield direction, end
        for direction in _SIDEWAYS:
            for middle in self.word(at, "towards"):
                for after in self.word(middle, "the"):
                    yield from ((direction, end) for end in self.word(after, direction.value))

    @rule
    def step(self, at: int) -> Readings:
        """`2 blocks east`: (direction, count)."""
        for count, middle in self.number(at):
            for unit in self.maybe(middle, "block_units"):
                for direction in Direction:
                    for end in self.any(unit, f"way {direction.value}"):
                        yield (direction, count), end

    @rule
    def steps(self, at: int) -> Readings:
        """`2 blocks east and 1 up`: an offset."""
        for one, middle in self.step(at):
            yield (one,), middle
            for start in self.optional(middle, "and"):
                for more, end in self.steps(start):
                    yield (one, *more), end

    # -- cells of the map

    @rule
    def cell(self, at: int) -> Readings:
        """A cell that is told from the centre: a place and a height, in either order."""
        for place, middle in self.spot(at):
            self.lacks(Reason.NO_HEIGHT, middle)
            for start in self.optional(middle, "and"):
                for level, end in self.height(start):
                    yield from self.inside(place, level, end)
            if self.generous:
                yield from self.inside(place, 1, middle)
        for level, middle in self.height(at):
            for start in self.optional(middle, "and"):
                for place, end in self.spot(start):
                    yield from self.inside(place, level, end)

    def inside(self, place: tuple[int, int], level: int, end: int) -> Readings:
        """A place and a height as a cell, unless it lies outside the zone."""
        cell: Cell = (place[0], level - 2, place[1])
        if in_zone(*cell):
            yield cell, end
        else:
            self.lacking.append(Reason.OUTSIDE)

    @rule
    def height(self, at: int) -> Readings:
        """`on the ground`, `at height 3`, `level 3`, `on the third level`: the layer, from 1."""
        for start in self.optional(at, "at", "on", "in"):
            for unit in self.word(start, *(word for (word,) in phrases()["level"])):
                yield from self.number(unit)
            for the in self.word(start, "the"):
                ordinal = ordinals().get(self.get(the))
                if ordinal is not None:
                    for end in self.any(the + 1, "level"):
                        yield ordinal, end
                if start > at:
                    yield from ((1, end) for end in self.any(the, "ground"))

    @rule
    def spot(self, at: int) -> Readings:
        """`the centre`, `2 blocks east and 3 north of the centre`, `in the northwest corner`: (x, z)."""
        for start in self.optional(at, "at", "in", "on", "from"):
            for the in self.optional(start, "the"):
                for middle in self.any(the, "centre"):
                    yield from (((0, 0), end) for end in self.of_the_zone(middle))
                for (x, z), middle in self.corner(the):
                    yield from (((x, z), end) for end in self.of_the_zone(middle))
        for offset, middle in self.steps(at):
            ways = [way for way, _ in offset]
            if (
                len(offset) > 2
                or not set(ways) <= set(COMPASS)
                or len({way.axis for way in ways}) < len(ways)
            ):
                continue
            x, z = (sum(VECTORS[way][axis] * count for way, count in offset) for axis in (0, 2))
            yield (x, z), middle
            for of in self.any(middle, "of"):
                for the in self.optional(of, "the"):
                    yield from (((x, z), end) for end in self.any(the, "centre"))

    def of_the_zone(self, at: int, *prepositions: str) -> Ends:
        """Past `of the map` and the like, and past nothing."""
        yield at
        for of in (*self.any(at, "of"), *self.word(at, *prepositions)):
            for the in self.word(of, "the"):
                yield from self.any(the, "zone")

    @rule
    def corner(self, at: int) -> Readings:
        """`northwest corner`, `NW corner`: (x, z)."""
        for upright, side in product((Direction.NORTH, Direction.SOUTH), (Direction.EAST, Direction.WEST)):
            name = upright.value + side.value
            short = verb_templates()["understood"]["corner_short"][name]
            ends = [*self.word(at, name, *short)]
            for middle in self.word(at, upright.value):
                ends += self.word(middle, side.value)
            for end in ends:
                for last in self.any(end, "corner"):
                    yield (5 * VECTORS[side][0], 5 * VECTORS[upright][2]), last

    # -- places

    @rule
    def where(self, at: int, clear: bool = False) -> Readings:
        """Any place. clear: see `reference`."""
        for cell, end in self.cell(at):
            yield At(cell), end
        yield from self.beside(at, clear)

    @rule
    def start(self, at: int) -> Readings:
        """The place where a shape begins."""
        for middle in (
            *self.optional(at, "starting", "centered", "around"),
            *self.word(at, "from", "at"),
            *(
                end
                for start in self.word(at, "starting", "centered")
                for end in self.word(start, "from", "at", "on")
            ),
        ):
            yield from self.where(middle)

    @rule
    def beside(self, at: int, clear: bool = False) -> Readings:
        """`on top of it`, `2 blocks north and 1 east of the red block`, `next to it`, `in place of it`."""
        for middle in self.any(at, "next_to"):
            yield from (
                (where, end) for of, end in self.reference(middle, clear) for where in tried(NextTo, of)
            )
        for middle in self.any(at, "in_place"):
            yield from ((Beside((), of), end) for of, end in self.reference(middle, clear))
        for end in self.any(at, "its_place"):
            yield Beside((), It()), end
        for start in self.maybe(at, "adjacent"):
            yield from self.related((), 1, start, clear)
        for before, start in ((), at), *self.steps_before(at):
            for count, middle in self.number(start):
                for unit in self.maybe(middle, "block_units"):
                    yield from self.related(before, count, unit, clear)
        for way in _SIDEWAYS:
            for end in self.any(at, f"its side {way.value}"):
                yield Beside(((way, 1),), It()), end
        if self.generous:
            for end in self.any(at, "on_it"):
                yield Beside(((Direction.UP, 1),), It()), end

    def steps_before(self, at: int) -> Readings:
        """`2 blocks north and` before the last step of an offset."""
        for offset, middle in self.steps(at):
            yield from ((offset, end) for end in self.optional(middle, "and"))

    def related(self, before: Offset, count: int, at: int, clear: bool) -> Readings:
        """A relation and what it is to: the last step of an offset."""
        for direction in Direction:
            for middle in self.any(at, f"relation {direction.value}"):
                for of, end in self.reference(middle, clear):
                    for where in tried(Beside, (*before, (direction, count)), of):
                        yield where, end

    # -- references

    @rule
    def reference(self, at: int, clear: bool = False) -> Readings:
        """`it`, `the last block`, `you`, or a description.

        clear: of what is described only that follows which begins with "that is"; the rest belongs to the verb.
        """
        for end in self.any(at, "it"):
            yield It(), end
        for middle in self.word(at, "the"):
            for last in self.word(middle, "last"):
                yield from ((LastBlock(), end) for end in self.any(last, "one block"))
        for end in self.any(at, "last_block"):
            yield LastBlock(), end
        for end in self.word(at, "you"):
            yield You(), end
        for end in self.any(at, "everything"):
            yield Blocks(count=None), end
        for start, least, most in self.quantified(at):
            for blocks, end in self.described(start, least, most):
                yield blocks, end
                yield from self.placed(blocks, end, clear)

    def placed(self, blocks: Blocks, at: int, clear: bool) -> Readings:
        """A description, and where what it describes is."""
        starts = [*(self.any if clear else self.maybe)(at, "that_is")]
        for start in starts:
            for where, end in self.where(start, clear):
                yield replace(blocks, where=where), end
        if self.generous:
            for end in self.of_the_zone(at, "in"):
                yield blocks, end
        if blocks.extreme is None and not blocks.middle:
            for start in starts:
                for way in Direction:
                    for end in self.any(start, f"extreme of {way.value}"):
                        yield Blocks(blocks.colors, blocks.kind, blocks.count, way, blocks.size), end

    def quantified(self, at: int) -> Iterator[tuple[int, str, int | None]]:
        """(next position, grammatical number or "" for either, how many; None = as many as there are)."""
        for end in self.any(at, "article"):
            yield end, "one", 1
        for end in self.any(at, "every"):
            yield end, "one", None
        for end in self.any(at, "each_of"):
            yield end, "many", None
            for count, last in self.number(end):
                yield last, "many", count
        if self.generous:
            for end in self.any(at, "every"):
                yield end, "many", None
        for end in self.any(at, "both"):
            yield end, "many", 2
        for end in self.any(at, "all"):
            yield end, "many", None
            for count, last in self.number(end):
                yield last, "many", count
        for the in (at, *self.any(at, "the")):
            for count, end in self.number(the):
                if count > 1 or the > at:
                    yield end, "one" if count == 1 else "many", count
            if the > at:
                yield the, "one", 1
                yield the, "many", None
        if self.generous:
            yield at, "many", None

    def described(self, at: int, number: str, count: int | None) -> Readings:
        """`highest red block`, `top 2 blue and green blocks`, `row of 3 red blocks`."""
        if number == "one" and count == 1:
            yield from self.ranked(at)
        for extreme, start in self.extreme(at):
            for n, colored in self.counted(start, extreme, number, count):
                for _, plain in self.adjectives(colored):
                    for colors, noun in self.colors(plain):
                        for _, named in self.adjectives(noun):
                            yield from self.kind_of_blocks(
                                named, number if n == count else "many", n, extreme, colors
                            )

    def ranked(self, at: int) -> Readings:
        """`second red block from the left`, `middle red block`."""
        rank = ordinals().get(self.get(at), 1)
        if rank > 1:
            for blocks, end in self.plain_blocks(at + 1):
                for of in self.word(end, "from"):
                    for start in self.optional(of, "the"):
                        for way in Direction:
                            for last in self.any(start, f"end {way.value}"):
                                yield replace(blocks, extreme=way, rank=rank), last
        for middle in self.any(at, "middle"):
            for blocks, end in self.plain_blocks(middle):
                yield replace(blocks, middle=True), end

    @rule
    def plain_blocks(self, at: int) -> Readings:
        """`red block`, `row of 3 red blocks`: descriptions of one thing."""
        for colors, noun in self.colors(at):
            yield from self.kind_of_blocks(noun, "one", 1, None, colors)

    def counted(self, at: int, extreme: Direction | None, number: str, count: int | None) -> Readings:
        """`2` in "the top 2 blocks"; a number that was told before stays."""
        yield count, at
        if extreme is not None and number == "many" and count is None:
            for n, end in self.number(at):
                if n > 1:
                    yield n, end

    @rule
    def adjectives(self, at: int) -> Readings:
        """Past words such as "vertical", if they may be passed over."""
        yield None, at
        for middle in self.any(at, "adjectives"):
            if self.generous:
                yield from self.adjectives(middle)

    @rule
    def extreme(self, at: int) -> Readings:
        """`highest`: its direction; and none."""
        yield None, at
        for direction in Direction:
            yield from ((direction, end) for end in self.any(at, f"extreme {direction.value}"))

    @rule
    def colors(self, at: int) -> Readings:
        """`red`, `red and blue`, or none: a tuple of ids."""
        yield (), at
        for one, middle in self.color(at):
            yield (one,), middle
            for start in self.optional(middle, "and", "or"):
                for more, end in self.colors(start):
                    if more and one not in more:
                        yield (one, *more), end

    def kind_of_blocks(
        self, at: int, number: str, count: int | None, extreme: Direction | None, colors: tuple[int, ...]
    ) -> Readings:
        """`block`, `row of 3`, `row of red blocks`: what ends a description."""
        for kind in Kind:
            for end in self.any(at, f"{number} {kind.value}"):
                yield from ((found, end) for found in tried(Blocks, colors, kind, count, extreme))
                if kind is Kind.BLOCK:
                    continue
                for of in self.word(end, "of"):
                    for size, last in self.number(of):
                        yield from (
                            (found, last) for found in tried(Blocks, colors, kind, count, extreme, size)
                        )
                    if not colors:
                        yield from self.made_of(of, kind, count, extreme)

    def made_of(self, at: int, kind: Kind, count: int | None, extreme: Direction | None) -> Readings:
        """`3 red blocks` in "the row of 3 red blocks"."""
        for size, start in ((None, at), *self.number(at)):
            for colors, noun in self.colors(start):
                if colors or size is not None:
                    for end in self.any(noun, "many block"):
                        yield from (
                            (found, end) for found in tried(Blocks, colors, kind, count, extreme, size)
                        )
