"""Reading instructions: a grammar that keeps every reading of a text, so that two readings are noticed.

Each rule takes a position in the list of words and gives all (value, next position) that it can be read as. A text is
understood when exactly one instruction is left that covers all of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from iglu_marl.core.errors import DialogueError, GridError
from iglu_marl.language.blocks import CellEdit, EditKind, Reason
from iglu_marl.language.lexicon import Readings, rule, tried
from iglu_marl.language.nouns import Nouns
from iglu_marl.language.references import At, Beside, Blocks, It, Reference, Where, is_several
from iglu_marl.language.shapes import COMPASS, Direction, Kind, Shape, plus
from iglu_marl.language.verbs import (
    Build,
    Copy,
    Extend,
    Facing,
    Instruction,
    Mirror,
    Move,
    Pick,
    Place,
    Remove,
    Replace,
    Then,
)

MAX_READ_WORDS = 160
MAX_READINGS = 3  # more are not looked for: two are too many already


class Grammar(Nouns):
    """All readings of a list of known words as instructions."""

    def readings(self) -> list[Instruction]:
        """The distinct instructions that cover all words, at most `MAX_READINGS`."""
        if len(self.said) > MAX_READ_WORDS:
            return []
        found: dict[Instruction, None] = {}
        for parts, _ in self.text(0):
            found[parts[0] if len(parts) == 1 else Then(parts)] = None
            if len(found) >= MAX_READINGS:
                break
        return list(found)

    # -- texts

    @rule
    def text(self, at: int) -> Readings:
        """Everything from here to the end: a tuple of instructions."""
        for part, end in self.part(self.joints(at)):
            rest = self.joints(end)
            if rest >= len(self.said):
                yield (part,), rest
            elif not isinstance(part, Pick):
                for following, last in self.text(rest):
                    if not isinstance(part, Facing) or isinstance(following[0], Facing):
                        yield (part, *following), last

    def joints(self, at: int) -> int:
        """Past all words that only join instructions."""
        while True:
            told = self.generous and self.get(at + 1) != "mean"  # "I placed", but not "I mean"
            fillers = self.any(at, "filler") if told else ()
            end = max((*self.any(at, "joint"), *fillers), default=at)
            if end == at:
                return at
            at = end

    @rule
    def part(self, at: int) -> Readings:
        """One instruction, or a view with all the instructions under it."""
        yield from self.sentence(at)
        for view, end in self.view(at):
            for parts, last in self.sentences(self.joints(end)):
                if not isinstance(parts[-1], Pick):
                    yield Facing(view, parts[0] if len(parts) == 1 else Then(parts)), last

    @rule
    def sentences(self, at: int) -> Readings:
        """One instruction or more: a tuple."""
        for one, end in self.sentence(at):
            yield (one,), end
            if not isinstance(one, Pick):
                yield from (((one, *more), last) for more, last in self.sentences(self.joints(end)))

    @rule
    def view(self, at: int) -> Readings:
        """`facing north`: the direction."""
        for middle in self.any(at, "facing"):
            for way in COMPASS:
                yield from ((way, end) for end in self.word(middle, way.value))

    @rule
    def sentence(self, at: int) -> Readings:
        """One instruction."""
        for verb in (
            self.placing,
            self.building,
            self.removing,
            self.replacing,
            self.moving,
            self.copying,
            self.mirroring,
            self.extending,
            self.picking,
        ):
            for make, end in verb(at):
                try:
                    yield make(), end
                except (DialogueError, GridError):
                    continue  # words that fit together to nothing that can be

    # -- verbs: rules that give a function which makes the instruction

    @rule
    def placing(self, at: int) -> Readings:
        """`place a red block on top of it`, `on top of it place a red block`."""
        verbs = [*self.any(at, "place")]
        if self.generous and at > 0 and self.get(at - 1) in ("and", "then"):
            verbs.append(at)  # "and a blue block on top of it"
        for verb in verbs:
            for color, middle in self.new_block(verb):
                self.lacks(Reason.NO_PLACE, middle)
                for where, end in self.where(middle):
                    yield _maker(_placement, color, where), end
        for where, middle in self.where(at):
            for verb in self.any(middle, "place"):
                for color, end in self.new_block(verb):
                    yield _maker(_placement, color, where), end

    @rule
    def new_block(self, at: int) -> Readings:
        """`a red block`."""
        for start in self.any(at, "article"):
            for color, middle in self.color(start):
                for end in self.any(middle, "one block"):
                    yield color, end

    @rule
    def building(self, at: int) -> Readings:
        """`build a red row of 3 east from the centre, level 1`, `stack 3 red blocks on it`."""
        for verb in self.any(at, "build"):
            for (shape, colors), middle in self.new_shape(verb):
                self.lacks(Reason.NO_PLACE, middle)
                for where, end in self.start(middle):
                    yield _maker(Build, shape, colors, where), end
            yield from self.counted_blocks(verb)
        for where, middle in self.start(at):
            for verb in self.any(middle, "build"):
                for (shape, colors), end in self.new_shape(verb):
                    yield _maker(Build, shape, colors, where), end
                for (count, color), told in self.some_blocks(verb):
                    if not self.in_all(where, at, middle):
                        for end in self.any(told, "vertically"):
                            yield _maker(Build, Shape(Kind.TOWER, (count,)), (color,), where), end
        for verb in self.any(at, "stack"):
            for (count, color), middle in self.some_blocks(verb):
                for where, end in self.start(middle):
                    if self.in_all(where, middle, end):
                        yield _maker(Place, color, where, count), end
                    else:
                        yield _maker(Build, Shape(Kind.TOWER, (count,)), (color,), where), end

    @rule
    def some_blocks(self, at: int) -> Readings:
        """`3 red blocks`: (count, colour id)."""
        for count, middle in self.number(at):
            for color, noun in self.color(middle):
                if 2 <= count <= 11:
                    yield from (((count, color), end) for end in self.any(noun, "many block"))

    def in_all(self, where: Where, at: int, end: int) -> bool:
        """Whether a number of blocks beside something is that of all blocks: it is told of several things, and not
        of "each". at, end: where the words for the place begin and end.
        """
        each = (place for place in range(at, end) if self.get(place) in ("each", "every"))
        return is_several(where) and not any((where.of, end) in self.reference(place) for place in each)

    @rule
    def counted_blocks(self, at: int) -> Readings:
        """`3 red blocks on top of the blue block`, `2 red blocks to the east of it, in a row`."""
        for (count, color), told in self.some_blocks(at):
            yield from self.arranged(count, color, told)
        if self.generous:  # one for each, if there are several
            for color, noun in self.color(at):
                for middle in self.any(noun, "many block"):
                    for where, end in self.beside(middle):
                        if isinstance(where, Beside) and isinstance(where.of, Blocks) and where.of.count != 1:
                            yield _maker(Place, color, where), end

    def arranged(self, count: int, color: int, at: int) -> Readings:
        """Where a number of blocks goes, and how they stand, before or after it.

        Beside several things goes one for each, however they are arranged.
        """
        for middle in self.any(at, "vertically"):
            for where, end in self.where(middle):
                if self.in_all(where, middle, end):
                    continue
                if isinstance(where, At) or (isinstance(where, Beside) and where.offset):
                    down = isinstance(where, Beside) and where.offset[0][0] is Direction.DOWN
                    shape = (Kind.COLUMN, (count,), (Direction.DOWN,)) if down else (Kind.TOWER, (count,))
                    for found in tried(Shape, *shape):
                        yield _maker(Build, found, (color,), where), end
        for middle in (at, *self.any(at, "horizontally")):
            across = middle > at
            for where, end in self.where(middle):
                if not isinstance(where, Beside) or len(where.offset) != 1 or where.offset[0][1] != 1:
                    continue
                way = where.offset[0][0]
                if self.in_all(where, middle, end):
                    if not across:
                        yield _maker(Place, color, where, count), end
                elif across:
                    if not way.vertical:
                        yield _maker(Build, Shape(Kind.ROW, (count,), (way,)), (color,), where), end
                elif way is Direction.UP:
                    tower = Shape(Kind.TOWER, (count,))
                    for last in self.maybe(end, "vertically"):
                        yield _maker(Build, tower, (color,), where), last
                elif way is Direction.DOWN:
                    column = Shape(Kind.COLUMN, (count,), (way,))
                    for last in (
                        self.maybe(end, "vertically") if self.generous else self.any(end, "vertically")
                    ):
                        yield _maker(Build, column, (color,), where), last
                else:
                    row = Shape(Kind.ROW, (count,), (way,))
                    for last in self.any(end, "horizontally"):
                        yield _maker(Build, row, (color,), where), last
                    if self.generous:
                        yield _maker(Build, row, (color,), where), end

    @rule
    def removing(self, at: int) -> Readings:
        """`remove the red row`, `take it away`."""
        for verb in self.any(at, "remove"):
            for blocks, end in self.reference(verb):
                yield _maker(_removal, blocks), end
        for verb in self.word(at, "take"):
            for blocks, middle in self.reference(verb):
                yield from ((_maker(_removal, blocks), end) for end in self.word(middle, "away"))

    @rule
    def replacing(self, at: int) -> Readings:
        """`replace it with blue`, `make it blue`."""
        for verb in self.any(at, "replace"):
            for blocks, middle in self.reference(verb):
                self.lacks(Reason.NO_COLOR, middle)
                for to in self.any(middle, "to"):
                    yield from self.new_color(blocks, to)
            if self.generous:  # "replace with red": what was just taken away
                for to in self.any(verb, "to"):
                    yield from self.new_color(It(), to)
        for verb in self.any(at, "turn"):
            for blocks, middle in self.reference(verb):
                yield from self.new_color(blocks, middle)

    def new_color(self, blocks: Reference, at: int) -> Readings:
        """`red`, `a red one`, `red blocks`."""
        for start in (at, *self.any(at, "article")):
            for color, middle in self.color(start):
                for end in self.maybe(middle, "one"):
                    yield _maker(_change, blocks, color), end

    @rule
    def moving(self, at: int) -> Readings:
        """`move it 2 north`, `move it on top of the red block`."""
        for verb in self.any(at, "move"):
            for blocks, middle in self.reference(verb, True):
                self.lacks(Reason.NO_PLACE, middle)
                for offset, end in self.steps(middle):
                    yield _maker(Move, blocks, offset), end
                for start in self.optional(middle, "to"):
                    for where, end in self.where(start):
                        yield _maker(Move, blocks, (), where), end

    @rule
    def copying(self, at: int) -> Readings:
        """`copy it 2 north`."""
        for verb in self.any(at, "copy"):
            for blocks, middle in self.reference(verb, True):
                self.lacks(Reason.NO_PLACE, middle)
                for offset, end in self.steps(middle):
                    yield _maker(Copy, blocks, offset), end

    @rule
    def mirroring(self, at: int) -> Readings:
        """`mirror it to the east about the centre`."""
        for verb in self.any(at, "mirror"):
            for blocks, middle in self.reference(verb, True):
                self.lacks(Reason.NO_DIRECTION, middle)
                for way, end in self.way(middle):
                    yield _maker(Mirror, blocks, way), end
                    for about in self.any(end, "mirror_centre"):
                        for last in self.any(about, "centre"):
                            yield _maker(Mirror, blocks, way, True), last

    @rule
    def extending(self, at: int) -> Readings:
        """`extend the row by 2 to the east`."""
        for verb in self.any(at, "extend"):
            for blocks, middle in self.reference(verb, True):
                self.lacks(Reason.NO_NUMBER, middle)
                for start in self.optional(middle, "by"):
                    for count, counted in self.number(start):
                        for unit in self.maybe(counted, "block_units"):
                            self.lacks(Reason.NO_DIRECTION, unit)
                            for way, end in self.way(unit):
                                yield _maker(Extend, blocks, way, count), end
                for way, told in self.way(middle):
                    for start in self.optional(told, "by"):
                        for count, counted in self.number(start):
                            for end in self.maybe(counted, "block_units"):
                                yield _maker(Extend, blocks, way, count), end

    @rule
    def picking(self, at: int) -> Readings:
        """`the one at the centre, on the ground`."""
        for start in self.any(at, "pick"):
            for where, end in self.where(start):
                yield _maker(Pick, where), end

    # -- shapes

    @rule
    def new_shape(self, at: int) -> Readings:
        """`a red row of 3 to the east`, `a tower of red, 2 blue and green`: (shape, colours)."""
        for start in self.any(at, "article"):
            for color, middle in ((None, start), *self.color(start)):
                for kind in Kind:
                    for end in self.any(middle, f"one {kind.value}"):
                        if kind not in (Kind.BLOCK, Kind.STRUCTURE):
                            yield from self.measured(kind, color, end)

    def measured(self, kind: Kind, color: int | None, at: int) -> Readings:
        """What follows the name of a shape: its sizes, directions and colours."""
        self.lacks(Reason.NO_NUMBER, at)
        for of in self.word(at, "of"):
            for (sizes, colors), middle in self.amount(color, of):
                self.lacks(Reason.NO_DIRECTION, middle)
                yield from self.shaped(kind, sizes, colors, middle)
        if kind is Kind.TOWER or (self.generous and kind is Kind.COLUMN):
            yield from self.tall(color, at)

    def tall(self, color: int | None, at: int) -> Readings:
        """`3 blocks high` after "a red tower", `red blocks 3 high` after "a tower of"."""
        starts: list[tuple[int | None, int]] = [(color, at)]
        if color is None:
            for of in self.word(at, "of"):
                for told, middle in self.color(of):
                    starts += ((told, end) for end in self.any(middle, "many block"))
        for paint, start in starts:
            if paint is None:
                continue
            for count, middle in self.number(start):
                for unit in self.maybe(middle, "block_units"):
                    for end in self.any(unit, "height_words"):
                        for shape in tried(Shape, Kind.TOWER, (count,)):
                            yield (shape, (paint,)), end

    @rule
    def paint(self, at: int) -> Readings:
        """`red, 2 blue and green`: colour ids, one per block; `5 alternating red and blue`: with the number."""
        for count, middle in self.number(at):
            for told in self.word(middle, "alternating"):
                for one, between in self.color(told):
                    for start in self.optional(between, "and"):
                        for other, end in self.color(start):
                            yield (count, (one, other)), end
        yield from (((len(colors), colors), end) for colors, end in self.runs(at))

    @rule
    def runs(self, at: int) -> Readings:
        """`red, 2 blue and green`: one colour id per block."""
        for count, start in ((1, at), *self.number(at)):
            for color, middle in self.color(start):
                if 1 <= count <= 11:
                    yield (color,) * count, middle
                    for following in self.optional(middle, "and"):
                        for more, end in self.runs(following):
                            if len(more) + count <= 11:
                                yield (color,) * count + more, end

    def amount(self, color: int | None, at: int) -> Readings:
        """The first size of a shape and its colours: `3`, or with colours `3 red blocks`."""
        if color is not None:
            for count, middle in self.number(at):
                for end in self.maybe(middle, "block_units"):
                    yield (count, (color,)), end
            return
        for (count, colors), middle in self.paint(at):
            for end in self.maybe(middle, "one"):
                yield (count, colors), end

    def shaped(self, kind: Kind, size: int, colors: tuple[int, ...], at: int) -> Readings:
        """The rest of a shape after its first size."""
        for sizes, ways, end in self.form(kind, size, at):
            makers: list[Any] = [tried(Shape, kind, sizes, ways)]
            if kind is Kind.PLUS:
                makers = [tried(plus, size, *ways)]
            for shapes in makers:
                yield from (((shape, colors), end) for shape in shapes)

    def form(
        self, kind: Kind, size: int, at: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[Direction, ...], int]]:
        """The sizes and directions that follow a first size: `east and 2 up`."""
        if kind is Kind.TOWER:
            yield (size,), (), at
            for end in self.any(at, "height_words"):
                yield (size,), (), end
            return
        if kind is Kind.COLUMN and self.generous:
            yield (size,), (Direction.UP,), at
        for one, middle in self.way(at):
            if kind in (Kind.ROW, Kind.COLUMN, Kind.STAIRCASE):
                yield (size,), (one,), middle
                continue
            for start in self.optional(middle, "and"):
                if kind in (Kind.SQUARE, Kind.PLUS, Kind.DIAGONAL):
                    for other, end in self.way(start):
                        yield (size,), (one, other), end
                    continue
                for second, counted in self.number(start):
                    for other, end in self.way(counted):
                        if kind is not Kind.WALL:
                            yield (size, second), (one, other), end
                        elif other is Direction.UP:
                            yield (size, second), (one,), end


def _maker(make: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    return _Call(make, arguments)


class _Call:
    """A call that is yet to be made; equal to one with equal arguments."""

    def __init__(self, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.key = make, arguments

    def __call__(self) -> Any:
        make, arguments = self.key
        return make(*arguments)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _placement(color: int, where: Where) -> Instruction:
    if isinstance(where, At):
        return CellEdit(EditKind.PLACE, where.cell, color=color)
    return Place(color, where)


def _single(blocks: Reference) -> Blocks | None:
    """A description of one block at a cell of the map, if it is one."""
    return blocks if isinstance(blocks, Blocks) and blocks.is_cell else None


def _removal(blocks: Reference) -> Instruction:
    single = _single(blocks)
    if single is None:
        return Remove(blocks)
    assert isinstance(single.where, At)
    return CellEdit(EditKind.REMOVE, single.where.cell, old_color=next(iter(single.colors), None))


def _change(blocks: Reference, color: int) -> Instruction:
    single = _single(blocks)
    if single is None:
        return Replace(blocks, color)
    assert isinstance(single.where, At)
    old = next(iter(single.colors), None)
    return CellEdit(EditKind.REPLACE, single.where.cell, color=color, old_color=old)
