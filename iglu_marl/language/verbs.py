"""Instructions as typed values, and their effect on a world.

A `CellEdit` changes one cell, counted from the centre of the zone. The other instructions change what their references
mean in the world at hand: `outcomes` returns the worlds that an instruction leads to, `expand` its edits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, Color, as_grid, cell_index, color_name, in_zone
from iglu_marl.language.blocks import CellEdit, EditKind, Failure, Reason
from iglu_marl.language.blocks import Instruction as Instruction
from iglu_marl.language.placing import (
    ALIKE,
    BlockSpec,
    OtherSide,
    Sides,
    check_free,
    continuing,
    put,
    put_shape,
)
from iglu_marl.language.references import (
    Anaphor,
    AnyOf,
    At,
    Beside,
    Blocks,
    BuilderPosition,
    Context,
    Edge,
    Item,
    LastBlock,
    Level,
    Location,
    NamedCells,
    NextTo,
    NoFurtherChoice,
    Offset,
    PartOf,
    PluralAnaphor,
    Portion,
    Reference,
    Resolution,
    Spot,
    Unresolved,
    Where,
    checked_offset,
    find_items,
    is_several,
    resolve,
)
from iglu_marl.language.regions import FLOOR, connected
from iglu_marl.language.shapes import (
    COMPASS,
    VECTORS,
    Box,
    Direction,
    Kind,
    Shape,
    as_color,
    dot,
    outermost,
    scaled,
    shape_cells,
    shifted,
)

Grid = npt.NDArray[np.int8]
_Colored = tuple[Cell, int]

MAX_CHOICES = 12
"""Maximum number of choices of the builder that are tried."""
MAX_OUTCOMES = 64
"""Maximum number of worlds for an instruction with a choice, such as "next to"."""


def _check_blocks(value: Any, verb: str) -> None:
    if not isinstance(value, Reference) or isinstance(value, (BuilderPosition, Spot)):
        raise DialogueError(
            f"{verb} is asked for {value!r}, expected a reference to blocks, such as Blocks or Anaphor"
        )


def _check_no_cell(value: Any, what: str) -> None:
    if isinstance(value, Blocks) and value.is_cell:
        raise DialogueError(f"the block at {value.where} is {what}: use CellEdit")


def _check_where(value: Any, verb: str) -> None:
    if not isinstance(value, (AnyOf, At, Beside, NextTo, Spot)):
        raise DialogueError(f"the place of {verb} is {value!r}, expected At, Beside, NextTo or Spot")


@dataclass(frozen=True)
class Place(Instruction):
    """One block beside something, or one for each of several things. (A `CellEdit` places one at a cell.)

    count: total number of blocks beside several things, "3 blue blocks on top of the 3 red blocks": one each, or a
    tower where the things stand on each other and leave a single place.
    """

    color: int
    where: Beside | NextTo
    count: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "color", as_color(self.color, "color of a placement"))
        if not isinstance(self.where, (Beside, NextTo)):
            raise DialogueError(f"the place of a block is {self.where!r}, expected Beside or NextTo")
        if self.count is not None:
            if isinstance(self.count, bool) or not isinstance(self.count, int) or not 2 <= self.count <= 11:
                raise DialogueError(f"{self.count!r} blocks in all, expected None or 2..11")
            if not is_several(self.where) or [count for _, count in self.where.offset] != [1]:
                raise DialogueError(f"{self.count} blocks at {self.where!r}, expected a step from several")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        each = self.count is None
        new = BlockSpec(1 if each else self.count, self.color, each=each)
        return PlaceGoal(new, (self.where,))._worlds(setting)


@dataclass(frozen=True)
class Build(Instruction):
    """A shape from its first block: `Build(Shape("row", (3,), ("east",)), (6,), At((0, -1, 0)))`.

    colors: one id for all blocks. A row, column, tower or diagonal also takes one per block, or two that alternate.
    """

    shape: Shape
    colors: tuple[int, ...]
    where: Where | Spot

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            raise DialogueError(f"shape is {self.shape!r}, expected a Shape")
        colors = tuple(as_color(color, "a color of a shape") for color in self.colors)
        size = self.shape.sizes[0]
        if not colors or (len(colors) > 1 and not (self.shape.line and len(colors) in (2, size))):
            expected = f"1, 2 or {size}" if self.shape.line else "1"
            raise DialogueError(f"a {self.shape.kind} of {len(colors)} colors, expected {expected}")
        if len(colors) > 1 and len(set(colors)) == 1:
            colors = colors[:1]
        if len(colors) == size > 2 and len(set(colors[:2])) > 1 and colors == (colors[:2] * size)[:size]:
            colors = colors[:2]  # canonical form
        object.__setattr__(self, "colors", colors)
        _check_where(self.where, "a shape")

    def blocks(self, anchor: Cell, view: Direction | None) -> list[tuple[Cell, int]]:
        """Return the cells and colour ids from the first block at `anchor`; cells may lie outside the zone."""
        cells = shape_cells(self.shape, anchor, view)
        return [(cell, self.colors[i % len(self.colors)]) for i, cell in enumerate(cells)]

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        view = setting.view
        if view is None and any(way.relative for way in self.shape.directions):
            raise Unresolved(Reason.NO_VIEW, str(self.shape.kind))
        where: Any = self.where
        if self.shape.kind is Kind.DIAGONAL and isinstance(where, Spot):
            if setting.color_at(at := (where.x, FLOOR, where.z)):  # from that block on
                where = Beside(tuple((way, 1) for way in self.shape.directions), Blocks(where=At(at)))
        drawn, below = (
            self,
            isinstance(self.where, Beside) and self.where.offset[:1] == ((Direction.DOWN, 1),),
        )
        if below and self.shape.kind is Kind.TOWER and len(self.colors) == 1:  # it hangs from there
            drawn = replace(self, shape=Shape(Kind.COLUMN, self.shape.sizes, (Direction.DOWN,)))
        ways = put_shape(where, lambda cell: drawn.blocks(cell, view), setting)
        return _worlds(ways, self.where, setting)


@dataclass(frozen=True)
class Remove(Instruction):
    """Remove blocks."""

    blocks: Reference

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, "a removal")
        _check_no_cell(self.blocks, "removed")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if isinstance(self.blocks, (Anaphor, PluralAnaphor)) and setting.before is not None:
            gone = not any(map(setting.color_at, setting.last))
            if gone and isinstance(_last_part(setting.before[0]), (Remove, Undo)):
                return [
                    ExpectedWorld(setting.grid, setting.last)
                ]  # "the red block is wrong, remove it, take it away"
        cells = _cells(self.blocks, setting)
        world = _changed(setting, [(cell, 0) for cell in cells])
        if _is_part_of_it(self.blocks):  # "it" is still what it was: what is left of it
            rest = tuple(cell for cell in setting.last if cell not in cells)
            return [replace(world, cells=rest or world.cells)]
        return [world]


@dataclass(frozen=True)
class Replace(Instruction):
    """Recolour blocks. count: their number, if given."""

    blocks: Reference
    color: int
    count: int | None = None

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, "a change of color")
        _check_no_cell(self.blocks, "recolored")
        object.__setattr__(self, "color", as_color(self.color, "color of a change"))

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if isinstance(self.blocks, (Anaphor, LastBlock, PluralAnaphor)):  # also removed blocks
            cells = [cell for item in resolve(self.blocks, setting) for cell in item]
        else:
            cells = _cells(self.blocks, setting)
        if self.count not in (None, len(cells)):
            raise Unresolved(Reason.NO_NUMBER, f"{self.count} blocks for {len(cells)} places")
        return [_changed(setting, [(cell, self.color) for cell in cells])]


@dataclass(frozen=True)
class Move(Instruction):
    """Move blocks by steps, or `to` a place of their lowest block (or several that agree): one of the two."""

    blocks: Reference
    by: Offset = ()
    to: Any = None

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, "a move")
        object.__setattr__(self, "by", checked_offset(self.by))
        if bool(self.by) == (self.to is not None):
            raise DialogueError(f"a move by {self.by} to {self.to}, expected one of the two")
        several = isinstance(self.to, tuple)
        for to in self.to if several else (self.to,):
            if to is not None and not isinstance(to, (Edge, Level) if several else Edge):
                _check_where(to, "a move")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        cells = _cells(self.blocks, setting)
        if self.to is None:
            vectors = [setting.vector(self.by)]
        else:
            cleared = _changed(setting, [(cell, 0) for cell in cells])
            vectors = _vectors_to(self.to, cells, setting.then(cleared.grid, setting.last))
        return [_moved(cells, [shifted(cell, vector) for cell in cells], setting) for vector in vectors]


@dataclass(frozen=True)
class Copy(Instruction):
    """Copy blocks a number of steps away, or to a place; in another colour, if given.

    count: number of copies, each as far from the one before it.
    """

    blocks: Reference
    by: Offset = ()
    to: Any = None
    color: int | None = None
    count: int = 1

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, "a copy")
        object.__setattr__(self, "by", checked_offset(self.by))
        if bool(self.by) == (self.to is not None):
            raise DialogueError(f"a copy by {self.by} to {self.to}, expected one of the two")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        cells = _cells(self.blocks, setting)
        vectors = [setting.vector(self.by)] if self.to is None else _vectors_to(self.to, cells, setting, True)
        return [
            _added(
                setting,
                [
                    (shifted(cell, scaled(vector, i)), self.color or setting.color_at(cell))
                    for i in range(1, self.count + 1)
                    for cell in cells
                ],
            )
            for vector in vectors
        ]


@dataclass(frozen=True)
class Swap(Instruction):
    """Exchange the places of two things, or of the two that one reference means.

    only_colors: exchange the colours of two things of the same shape.
    """

    one: Reference
    other: Reference | None = None
    only_colors: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        parts = [self.one] if self.other is None else [self.one, self.other]
        items = [_cells(part, setting) for part in parts]
        if self.other is None:
            items = [list(item) for item in _filled(self.one, setting)]
        if not self.only_colors:
            return [_exchanged(items, setting)]
        colors = [{setting.color_at(cell) for cell in item} for item in items]
        if any(len(color) > 1 for color in colors):
            raise Unresolved(Reason.AMBIGUOUS, "what changes places: each is of several colours")
        stated = zip(items, reversed(colors), strict=True)
        return [_changed(setting, [(cell, color) for item, (color,) in stated for cell in item])]


@dataclass(frozen=True)
class Extend(Instruction):
    """Continue the outermost blocks of something in one direction (or two at once) `count` times, in their colours."""

    blocks: Reference
    direction: Direction | tuple[Direction, ...]
    count: int
    color: int | None = None

    def __post_init__(self) -> None:
        _check_blocks(self.blocks, "an extension")
        if not isinstance(self.direction, tuple):
            object.__setattr__(self, "direction", Direction(self.direction))
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 1 <= self.count <= 10:
            raise DialogueError(f"an extension by {self.count!r}, expected 1..10")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        ways = self.direction if isinstance(self.direction, tuple) else (self.direction,)
        vector = setting.vector(tuple((way, 1) for way in ways))
        blocks, items = [], _filled(self.blocks, setting)
        for item in items:
            blocks += _continued(item, vector, self.count, self.color, setting)
        made = _added(setting, blocks)
        return [_about(items, made) if vector[1] else made]


@dataclass(frozen=True)
class Resize(Instruction):
    """Make something taller, longer or shorter.

    Args:
        blocks: what is resized.
        size: number of blocks to add; of blocks in total if `to`; beyond `like`, if given.
        like: the thing to match.
        color: of new blocks.
        times: factor of its size.
        way: direction of growth; None = up, or for a row the direction in which it was laid.

    """

    blocks: Reference
    size: int | None = None
    to: bool = False
    like: Reference | None = None
    color: int | None = None
    times: float | None = None
    way: Direction | None = None

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        try:
            return [self._grown(setting)]
        except Unresolved as error:
            if not setting.chooses_where or error.failure.reason is not Reason.NO_DIRECTION:
                raise
        spans = Box.of(_cells(self.blocks, setting)).spans
        return [replace(self, way=way)._grown(setting) for way in COMPASS if dot(spans, VECTORS[way])]

    def _grown(self, setting: Resolution) -> ExpectedWorld:
        cells: list[tuple[Cell, int]] = []
        items = _filled(self.blocks, setting)
        if self.way and not (self.size or self.times or self.like) and all(len(item) == 1 for item in items):
            items = [tuple(cell for item in items for cell in item)]  # blocks that reach the edge together
        for item in items:
            cells += _resized(self, item, setting)
        check_free([block for block in cells if block[1]], setting)
        return _about(items, _changed(setting, cells))


@dataclass(frozen=True)
class Undo(Instruction):
    """Undo the last instructions."""

    count: int = 1

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if len(setting.further) < self.count:
            raise Unresolved(Reason.NO_MATCH, "nothing was done before")
        grid = setting.further[self.count - 1]
        cells = [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(grid != setting.grid)]
        return [ExpectedWorld(grid.copy(), tuple(cells))]


@dataclass(frozen=True)
class Repeat(Instruction):
    """The last instruction again, at another place or with something else."""

    where: Any = None
    of: Reference | None = None
    color: int | None = None

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        expanded = expand_anaphor(self, setting.before)
        if expanded is not self:
            return _follow(expanded, setting)
        on_top = isinstance(self.where, Edge) and min(setting.last, default=(0, 0, 0))[1] >= 0
        if self.where is None or on_top or not (setting.last or setting.before is None):  # the edge of what?
            raise Unresolved(Reason.NO_MATCH, "that cannot be done the same way")
        if isinstance(self.where, OtherSide):
            if self.color:
                raise Unresolved(Reason.NO_PLACE, "the other side of what")
            return [_opposite(setting)]
        return Copy(Anaphor(), to=self.where, color=self.color)._worlds(setting)


@dataclass(frozen=True)
class Correct(Instruction):
    """The last instruction with another colour, number, direction or place.

    higher: levels by which it is raised; something upright grows instead.
    other: the other one of two things that its reference could mean.
    """

    color: int | None = None
    count: int | None = None
    way: Direction | None = None
    where: Any = None
    higher: int | None = None
    other: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if setting.before is None and self == Correct(where=OtherSide()):  # what others placed
            made = _opposite(setting)
            gone = _changed(replace(setting, grid=made.grid), [(cell, 0) for cell in setting.last])
            return [replace(gone, cells=made.cells)]
        if self.higher is not None:
            return _follow(_shift(self, setting), setting)
        if setting.before is None:
            raise Unresolved(Reason.NO_MATCH, "nothing was done before")
        last, grid = setting.before
        back = replace(setting, grid=grid, last=setting.earlier[-1] if setting.earlier else ())
        if self.other:
            return _follow(_change_last_part(last, lambda part: _with_other(part, back)), back)
        expanded = expand_anaphor(self, setting.before)
        if expanded is not self:
            return _follow(expanded, back)
        if self == Correct(color=self.color):
            return Replace(Anaphor(), self.color)._worlds(setting)
        return _follow(_amended(self, last), back)  # raises what speaks against it


class Statement(Instruction):
    """Base of what asks for no change. It holds of the world that the instructions before it lead to, or fails."""

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        self.check(setting)
        return [ExpectedWorld(setting.grid, setting.last)]

    def check(self, setting: Resolution) -> None:
        """Raise `Unresolved` if it does not hold."""

    def kept(self, setting: Resolution) -> tuple[Cell, ...]:
        """Return the cells that must be at the end as they were at the start."""
        return ()


@dataclass(frozen=True)
class Name(Statement):
    """Give a name to something: "this is the mast".

    Args:
        word: singular of the name.
        of: what it names.
        plural: whether it names several things.

    """

    word: str
    of: Reference
    plural: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        named = NamedCells(tuple(_cells(self.of, setting)), self.plural)
        return [ExpectedWorld(setting.grid, setting.last, names={self.word: named})]


@dataclass(frozen=True)
class PlaceGoal(Instruction):
    """Place something new. where: all that was said of the place, () = nothing."""

    new: BlockSpec
    where: tuple[Location, ...] = ()
    fill: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        new, wheres = self.new, self.where
        last = None if setting.before is None else as_place_goal(_last_part(setting.before[0]))
        if new.again:
            new = replace(new, again=False)
            if isinstance(last, PlaceGoal) and last.new.kind is not Kind.BLOCK and new.kind is Kind.BLOCK:
                new = replace(last.new, color=new.color)
        wheres = wheres or continuing(replace(new, again=self.new.again), setting)
        ways = self._ways(new, wheres, setting)
        where = next((where for where in wheres if isinstance(where, NextTo)), wheres[0])
        return _worlds(ways, where, setting)

    def _ways(
        self, new: BlockSpec, wheres: tuple[Location, ...], setting: Resolution
    ) -> list[list[_Colored]]:
        """Return the ways to place it; if the builder may choose, in all directions where one is missing."""
        try:
            return put(new, wheres, self.fill, setting)
        except Unresolved as error:
            missing = error.failure.reason is Reason.NO_DIRECTION and not (new.way or new.axis)
            if not (missing and setting.chooses_where):
                raise
        found: list[list[_Colored]] = []
        turned = [replace(new, axis=axis) for axis in "xz"] + [replace(new, way=way) for way in COMPASS]
        for made in turned:
            with contextlib.suppress(Unresolved):
                found += put(made, wheres, self.fill, setting)
        if not found:
            raise Unresolved(Reason.NO_DIRECTION, str(new.kind))
        return found


def first_place(part: Any) -> Any:
    """Return the first place of a placement; None for anything else."""
    if isinstance(part, Place):
        return part.where
    return part.where[0] if isinstance(part, PlaceGoal) and part.where else None


@dataclass(frozen=True)
class Clear(Instruction):
    """Remove everything."""

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        return [_changed(setting, [(cell, 0) for cell in setting.blocks])]


@dataclass(frozen=True)
class SetFocus(Instruction):
    """Make something the referent of "it"."""

    at: Reference | Beside

    def __post_init__(self) -> None:
        if isinstance(self.at, AnyOf):  # "one of them is wrong": not any one
            object.__setattr__(self, "at", replace(self.at, stated=False))

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if isinstance(self.at, (Spot, Beside)):
            return [ExpectedWorld(setting.grid, self.at.anchors(setting)[0].cells)]
        return [ExpectedWorld(setting.grid, tuple(_cells(self.at, setting)))]


@dataclass(frozen=True)
class KeepOnly(Instruction):
    """What the previous instruction leaves as it is: "but leave the middle block"."""

    of: Reference

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if setting.before is None:
            return [ExpectedWorld(setting.grid, setting.last)]
        met = replace(setting, grid=setting.before[1])
        own = isinstance(self.of, Blocks) and self.of.where is None
        try:
            cells = _cells(replace(self.of, where=PartOf(Anaphor())) if own else self.of, met)  # type: ignore[type-var]
        except Unresolved:
            cells = _cells(self.of, met)
        added = (cell for cell in setting.last if setting.color_at(cell) and not met.color_at(cell))
        stated = [*cells, *(cell for cell in added if shifted(cell, VECTORS[Direction.DOWN]) in cells)]
        back = [(cell, met.color_at(cell)) for cell in stated if met.color_at(cell) != setting.color_at(cell)]
        rest = tuple(cell for cell in setting.last if cell not in cells)
        return [replace(_changed(setting, back), cells=rest)]


@dataclass(frozen=True)
class Choose(Statement):
    """The builder may choose where several fit: "any side is fine".

    what: "which" thing, "where" (also which way), or "any". ways: among these sides.
    """

    what: str = "any"
    ways: tuple[Direction, ...] = ()


@dataclass(frozen=True)
class Keep(Statement):
    """Something stays as it is: "the yellow one stays". of: None = all that stands there before the request.

    others: a number of things like the changed one, but other ones: "keep the other two"; 0 = all of them.
    """

    of: Reference | None = None
    others: int | None = None

    def kept(self, setting: Resolution) -> tuple[Cell, ...]:
        """Return the cells of that; what is not there before the request is what it led to."""
        met = setting if setting.start is None else replace(setting, grid=setting.start)
        if self.others is not None:
            return tuple(cell for item in self._other_things(met) for cell in item)
        if self.of is None:
            return tuple(met.blocks)
        return tuple(_cells(self.of, met))

    def _other_things(self, met: Resolution) -> list[Item]:
        stated = walk(met.before[0]) if met.before is not None else ()
        kinds = [part.kind for part in stated if isinstance(part, Blocks)]
        things = find_items(met, kinds[0], ()) if kinds else []
        items = [item for item in things if not {*met.last}.intersection(item)]
        if self.others and self.others != len(items):
            raise Unresolved(Reason.NO_MATCH, f"{len(items)} of {self.others} others")
        return items


@dataclass(frozen=True)
class AssertCount(Statement):
    """Check on what was said before: that it placed this number of blocks. left: that it left this number."""

    count: int
    color: int | None = None
    left: bool = False

    def check(self, setting: Resolution) -> None:
        """Raise `Unresolved` for another number."""
        there = {cell for cell, color in setting.blocks.items() if self.color in (None, color)}
        placed = there.intersection(cell for part in (*setting.earlier, setting.last) for cell in part)
        structures = map(set, find_items(setting, Kind.STRUCTURE, ()))
        near = [cell for item in structures if not item.isdisjoint(setting.last) for cell in item & there]
        counts = {len(placed), len(setting.last), len(there), len(near)}
        if self.left and setting.start is not None:
            items = connected(Resolution(grid=setting.start).blocks)
            whole = {cell for item in items if not {*item}.isdisjoint(setting.last) for cell in item}
            counts = {len(there & whole)}
        if self.count not in counts:
            raise Unresolved(Reason.NO_NUMBER, f"{len(placed)} blocks instead of {self.count}")


@dataclass(frozen=True)
class Ambiguous(Instruction):
    """Several readings of equal cost."""

    readings: tuple[Any, ...]

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        """Return the readings that can be followed, if all lead to the same worlds."""
        found: list[list[ExpectedWorld]] = []
        failure: Unresolved | None = None
        for reading in self.readings:
            try:
                found.append(_follow(reading, setting))
            except Unresolved as error:
                failure = failure or error
        if not found:
            assert failure is not None
            raise failure
        if len({world.grid.tobytes() for worlds in found for world in worlds[:1]}) > 1:
            raise Unresolved(Reason.AMBIGUOUS, f"{len(found)} readings")
        return found[0]


@dataclass(frozen=True)
class Pick(Instruction):
    """Answer to "which one?": the one at this place. Changes nothing itself."""

    where: Where

    def __post_init__(self) -> None:
        _check_where(self.where, "what is meant")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        raise Unresolved(Reason.NO_MATCH, "nothing was asked")


@dataclass(frozen=True)
class Facing(Instruction):
    """An instruction whose left, right, front and behind are those of somebody who looks in this direction.

    view: of the compass, or after a turn to the left, to the right or around ("front": towards the builder).
    """

    view: Direction
    then: Instruction

    def __post_init__(self) -> None:
        object.__setattr__(self, "view", Direction(self.view))
        if self.view.vertical:
            raise DialogueError(
                f"facing {self.view}, expected a direction of the compass, left, right or front"
            )
        if not isinstance(self.then, Instruction) or isinstance(self.then, (Facing, Pick)):
            raise DialogueError(f"facing {self.view} comes {self.then!r}, expected an instruction")

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        return _follow(self.then, setting.facing(setting.on_map(self.view)))


@dataclass(frozen=True)
class Sequence(Instruction):
    """Instructions in order. "It" is what the previous one changed."""

    parts: tuple[Instruction, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        object.__setattr__(self, "parts", parts)
        wrong = [
            part for part in parts if not isinstance(part, Instruction) or isinstance(part, (Sequence, Pick))
        ]
        if len(parts) < 2 or wrong:
            raise DialogueError(
                f"a sequence of {len(parts)} instructions, expected two or more, and no {wrong}"
            )
        views = [isinstance(part, Facing) for part in parts]
        if views != sorted(views):
            raise DialogueError(
                "a part without a view follows a Facing part, expected Facing in each later part"
            )

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        setting = replace(setting, start=setting.grid, kept=())
        found = [(ExpectedWorld(setting.grid, setting.last), setting)]
        for number, part in enumerate(self.parts, start=1):
            following: list[tuple[ExpectedWorld, Resolution]] = []
            failure: Unresolved | None = None
            remark = isinstance(part, (Statement, KeepOnly)) or (
                isinstance(part, SetFocus) and number < len(self.parts)
            )
            for met, now in found:
                try:
                    for outcome in _follow(part, now):
                        stated = expand_anaphor(part, now.before), now.grid
                        names = {**now.names, **outcome.names}
                        after = replace(now.then(outcome.grid, outcome.cells), before=stated, names=names)
                        if isinstance(part, Statement):
                            after = replace(now, names=names, kept=(*now.kept, *part.kept(now)))
                        same = not remark and np.array_equal(outcome.grid, now.grid)
                        idle = (*met.idle, number - 1) if same else met.idle
                        following.append((replace(outcome, idle=idle), after))
                except Unresolved as error:
                    failure = error
                    if isinstance(part, SetFocus) and number == len(self.parts):
                        following.append((met, now))  # a remark at the end: "the rest stays empty"
            if not following:
                assert failure is not None
                raise failure
            found = following[:MAX_OUTCOMES]
        before = setting.color_at
        found = [one for one in found if all(before(c) == one[1].color_at(c) for c in one[1].kept)]
        if not found:
            raise Unresolved(Reason.CONTRADICTION, "what was to stay has changed")
        return [
            replace(outcome, earlier=after.earlier[len(setting.earlier) :], names=after.names)
            for outcome, after in found
        ]


def bind_referent(instruction: Instruction, reference: Any, where: Where) -> Instruction:
    """Return the instruction in which an ambiguous `reference` means the one at `where`.

    A `Beside` that could be several cells becomes `where` itself.
    Raises `DialogueError` if the result is no valid instruction.
    """

    def changed(value: Any) -> Any:
        if value != reference:
            return value
        if isinstance(value, Blocks):
            return replace(value, extreme=None, rank=1, middle=False, where=where)
        if isinstance(value, AnyOf) and isinstance(value.of, Reference):
            return Blocks(where=where)
        return where

    found: Instruction = rebuilt(instruction, changed)
    return found


def walk(value: Any) -> Iterator[Any]:
    """Yield an instruction or a part of it, and all that it consists of."""
    yield value
    inside = value if isinstance(value, tuple) else ()
    if is_dataclass(value):
        inside = tuple(getattr(value, part.name) for part in fields(value))
    for part in inside:
        yield from walk(part)


def rebuilt(value: Any, changed: Callable[[Any], Any]) -> Any:
    """Return a value with what `changed` makes of it, or else with its parts rebuilt."""
    new = changed(value)
    if new is not value:
        return new
    if isinstance(value, tuple):
        return tuple(rebuilt(part, changed) for part in value)
    if not is_dataclass(value) or isinstance(value, (CellEdit, Shape)):
        return value
    parts = {part.name: rebuilt(getattr(value, part.name), changed) for part in fields(value)}
    return canonical(type(value), parts)


def canonical(kind: type, parts: dict[str, Any]) -> Any:
    """Return an instruction; a `CellEdit` if it is about one cell."""
    blocks, where = parts.get("blocks"), parts.get("where")
    if kind is Place and isinstance(where, At):
        return CellEdit(EditKind.PLACE, where.cell, color=parts["color"])
    if kind in (Remove, Replace) and isinstance(blocks, Blocks) and blocks.is_cell:
        assert isinstance(blocks.where, At)
        old, color = next(iter(blocks.colors), None), parts.get("color")
        action = EditKind.REMOVE if kind is Remove else EditKind.REPLACE
        return CellEdit(action, blocks.where.cell, color=color, old_color=None if old == color else old)
    return kind(**parts)


@dataclass(frozen=True)
class ExpectedWorld:
    """A world that an instruction leads to.

    Args:
        grid: int8 [9, 11, 11].
        cells: cells that the instruction is about, in order.
        earlier: the same for its parts before the last one.
        idle: indices of its parts that change nothing.
        names: names that it gives or extends.
        about: cells of the whole thing that it made taller, longer or shorter.

    """

    grid: Grid
    cells: tuple[Cell, ...]
    earlier: tuple[tuple[Cell, ...], ...] = ()
    idle: tuple[int, ...] = ()
    names: Mapping[str, NamedCells] = field(default_factory=dict, compare=False)
    about: tuple[Cell, ...] = ()


def outcomes(
    instruction: Instruction, grid: npt.ArrayLike, context: Context | None = None
) -> tuple[ExpectedWorld, ...] | Failure:
    """Return the worlds that an instruction leads to, the most plausible first; several if it leaves a choice.

    Returns:
        A `Failure` if there is none: `AMBIGUOUS`, `NO_MATCH`, `NO_NUMBER`, `OUTSIDE`, `OCCUPIED`, `WRONG_COLOR` or
        `NO_VIEW`.

    """
    setting = Resolution.of(grid, context or Context())
    free = frozenset(part.what for part in walk(instruction) if isinstance(part, Choose))
    try:
        found = _follow_choices(instruction, replace(setting, free=free))
    except Unresolved as error:
        found = _as_seen(instruction, setting) if error.failure.reason is Reason.NO_MATCH else []
        if not found:
            return error.failure
    distinct = {(outcome.grid.tobytes(), outcome.cells): outcome for outcome in found}
    return tuple(distinct.values())


def _follow_choices(instruction: Instruction, setting: Resolution) -> list[ExpectedWorld]:
    """Follow an instruction with each choice that it leaves to the builder, in order."""
    if not any(isinstance(part, AnyOf) for part in walk(instruction)):
        try:
            return _follow(instruction, setting)
        except Unresolved as error:
            several = error.failure.reference
            ambiguous = error.failure.reason is Reason.AMBIGUOUS and isinstance(several, Blocks)
            if not (setting.chooses_which and ambiguous and several.count == 1):
                raise
        one = AnyOf(replace(several, count=None))
        instruction = rebuilt(instruction, lambda part: one if part == several else part)
    found: list[ExpectedWorld] = []
    failures: list[Unresolved] = []
    for nth in range(MAX_CHOICES):
        made = rebuilt(instruction, lambda part: replace(part, nth=nth) if isinstance(part, AnyOf) else part)  # noqa: B023
        try:
            found += _follow(made, setting)
        except NoFurtherChoice as error:
            failures.append(error)
            break
        except Unresolved as error:
            failures.append(error)
    if not found:
        raise failures[0]
    return found


def _as_seen(instruction: Instruction, setting: Resolution) -> list[ExpectedWorld]:
    """Follow an instruction that takes a colour that is there for another; [] if that leads nowhere."""
    there = set(setting.blocks.values())
    taken = {one: other for one, other in _TAKEN_FOR.items() if one not in there and other in there}

    for colors in (*({one: other} for one, other in taken.items()), taken):
        seen = _recolored(instruction, colors)
        with contextlib.suppress(Unresolved):
            if seen != instruction:
                return _follow(seen, setting)
    return []


def _recolored(instruction: Instruction, colors: Mapping[Color, Color]) -> Any:
    def changed(value: Any) -> Any:
        if not isinstance(value, Blocks) or not colors.keys() & {*value.colors}:
            return value
        stated = (int(colors.get(Color(color), color)) for color in value.colors)
        return rebuilt(replace(value, colors=tuple(dict.fromkeys(stated))), changed)

    return rebuilt(instruction, changed)


_TAKEN_FOR = {Color.YELLOW: Color.ORANGE, Color.BLUE: Color.PURPLE, Color.PURPLE: Color.BLUE}


def expand(
    instruction: Instruction, grid: npt.ArrayLike, context: Context | None = None
) -> list[CellEdit] | Failure:
    """Return the edits that carry out an instruction; [] if the world is right already."""
    found = outcomes(instruction, grid, context)
    if isinstance(found, Failure):
        return found
    before, after = np.asarray(grid), found[0].grid
    cells = [cell for cell in found[0].cells if in_zone(*cell)]
    rest = [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(before != after)]
    return [
        CellEdit.between(cell, int(before[cell_index(*cell)]), int(after[cell_index(*cell)]))
        for cell in dict.fromkeys([*sorted(set(rest) - set(cells)), *cells])
        if before[cell_index(*cell)] != after[cell_index(*cell)]
    ]


def _follow(instruction: Instruction, setting: Resolution) -> list[ExpectedWorld]:
    if isinstance(instruction, CellEdit):
        return _edit(instruction, setting)
    if not isinstance(instruction, Instruction):
        raise DialogueError(f"instruction is {instruction!r:.80}, expected an Instruction")
    return instruction._worlds(setting)


def _changed(setting: Resolution, blocks: Iterable[tuple[Cell, int]]) -> ExpectedWorld:
    grid = setting.grid.copy()
    cells = []
    for cell, color in blocks:
        grid[cell_index(*cell)] = color
        cells.append(cell)
    return ExpectedWorld(grid, tuple(dict.fromkeys(cells)))


def _edit(edit: CellEdit, setting: Resolution) -> list[ExpectedWorld]:
    there = setting.color_at(edit.cell)
    if edit.action is EditKind.PLACE and there not in (0, edit.after):
        raise Unresolved(Reason.OCCUPIED, f"a {color_name(there)} block at {edit.cell}", color=there)
    if edit.action is not EditKind.PLACE and there != edit.after:
        if there == 0:
            raise Unresolved(Reason.NO_MATCH, f"no block at {edit.cell}")
        if edit.old_color not in (None, there):
            raise Unresolved(Reason.WRONG_COLOR, f"a {color_name(there)} block at {edit.cell}", color=there)
    if edit.action is EditKind.REMOVE and there == 0:
        raise Unresolved(Reason.NO_MATCH, f"no block at {edit.cell}")
    return [_changed(setting, [(edit.cell, edit.after)])]


def _worlds(ways: list[list[tuple[Cell, int]]], where: Location, setting: Resolution) -> list[ExpectedWorld]:
    """Return the worlds of a placement; only "next to" leaves the choice to the builder."""
    if len(ways) > 1 and not (setting.chooses_where or isinstance(where, NextTo)):
        cells = tuple(tuple(cell for cell, _ in blocks) for blocks in ways)
        raise Unresolved(Reason.AMBIGUOUS, f"{len(ways)} places", reference=where, choices=cells)
    return [_added(setting, blocks) for blocks in ways[:MAX_OUTCOMES]]


def _filled(reference: Reference, setting: Resolution) -> list[Item]:
    items = [tuple(cell for cell in item if setting.color_at(cell)) for item in resolve(reference, setting)]
    items = [item for item in items if item]
    if not items:
        raise Unresolved(Reason.NO_MATCH, "no block is there")
    return items


def _cells(reference: Reference, setting: Resolution) -> list[Cell]:
    return list(dict.fromkeys(cell for item in _filled(reference, setting) for cell in item))


def _is_part_of_it(blocks: Reference) -> bool:
    whole = blocks.of if isinstance(blocks, Portion) else None
    if isinstance(blocks, Blocks) and isinstance(blocks.where, PartOf):
        whole = blocks.where.of
    return isinstance(whole, Anaphor)


_REACH = {1: 7, 0: 5, -1: 1}
"""How far the zone reaches along a vector, by its vertical part."""


def _beside_itself(to: Any, cells: list[Cell], setting: Resolution) -> list[Cell]:
    """Return the vector that brings a copy beside all of its original; none if the place is elsewhere."""
    if not isinstance(to, Beside) or not to.offset:
        return []
    if {*cells}.isdisjoint(cell for item in resolve(to.of, setting) for cell in item):
        return []
    way, count = to.offset[0]
    step = setting.vector(((way, 1),))
    reach = [dot(cell, step) for cell in cells]
    return [scaled(step, max(reach) - min(reach) + count)]


def _agreeing(to: tuple[Any, ...], cells: list[Cell], setting: Resolution, own: bool) -> list[Cell]:
    """Return the vectors that bring something to several places at once; of levels, to that height."""
    first, *more = (_vectors_to(one, cells, setting, own) for one in to if not isinstance(one, Level))
    low = min(cell[1] for cell in cells) - FLOOR + 1
    levels = {one.height - low for one in to if isinstance(one, Level)}
    found = [one for one in first if all(one in other for other in more) and levels <= {one[1]}]
    if not found:
        raise Unresolved(Reason.NO_PLACE, "the places do not agree")
    return found


def _vectors_to(to: Any, cells: list[Cell], setting: Resolution, own: bool = False) -> list[Cell]:
    """Return the vectors that bring something to a place: its lowest block, or the one that fits a corner.

    to: also several places that must agree. own: a place on top of it lies beside all of it.
    """
    if isinstance(to, tuple):
        return _agreeing(to, cells, setting, own)
    if own and (vectors := _beside_itself(to, cells, setting)):
        return vectors
    if isinstance(to, Edge):
        step = setting.vector_of(to.way)
        far = _REACH[step[1]] - max(dot(cell, step) for cell in cells)
        return [scaled(step, far)]
    groups = to.anchors(setting)
    if len(groups) > 1:
        raise Unresolved(Reason.AMBIGUOUS, f"{len(groups)} places to move to", reference=to)
    goals = [cell for cell in groups[0].cells if in_zone(*cell)]
    if goals and isinstance(to, Beside):  # beside something tall: at its base
        goals = [cell for cell in goals if cell[1] == min(y for _, y, _ in goals)]
    if not goals:
        raise Unresolved(Reason.OUTSIDE, str(groups[0].cells[:1]))
    start = _base_of(cells, to)
    if len(goals) > 1 and not (setting.chooses_where or isinstance(to, NextTo)):
        raise Unresolved(Reason.AMBIGUOUS, f"{len(goals)} places to move to", reference=to)
    return [(goal[0] - start[0], goal[1] - start[1], goal[2] - start[2]) for goal in goals]


def _base_of(cells: list[Cell], to: Location) -> Cell:
    """Return the block that comes to stand at a place: the lowest one, or the one that fits a corner."""
    lowest = outermost(cells, (0, -1, 0))
    if len(lowest) == 1:
        return lowest[0]
    if not isinstance(to, Spot) or not abs(to.x) == abs(to.z) == 5:
        raise Unresolved(Reason.AMBIGUOUS, f"which of {len(lowest)} blocks shall stand there")
    box = Box.of(cells)
    return box.high[0] if to.x > 0 else box.low[0], box.low[1], box.high[2] if to.z > 0 else box.low[2]


def _moved(cells: list[Cell], goals: list[Cell], setting: Resolution) -> ExpectedWorld:
    """Return the world in which blocks are at other cells."""
    blocks = [(goal, setting.color_at(cell)) for cell, goal in zip(cells, goals, strict=True)]
    check_free(blocks, setting, frozenset(cells))
    cleared = _changed(setting, [(cell, 0) for cell in cells])
    return _changed(setting.then(cleared.grid, ()), blocks)


def _exchanged(items: list[list[Cell]], setting: Resolution) -> ExpectedWorld:
    """Return the world in which two things on the same outline have changed places."""
    lows = [Box.of(item).low for item in items]
    shapes = [[shifted(c, scaled(low, -1)) for c in item] for item, low in zip(items, lows, strict=True)]
    if {c[::2] for c in shapes[0]} != {c[::2] for c in shapes[1]}:
        raise Unresolved(Reason.AMBIGUOUS, "what changes places: they are not of one shape")
    goals = [shifted(c, low) for shape, low in zip(shapes, lows[::-1], strict=True) for c in shape]
    return _moved([*items[0], *items[1]], goals, setting)


def _added(setting: Resolution, blocks: list[tuple[Cell, int]]) -> ExpectedWorld:
    check_free(blocks, setting)
    return _changed(setting, blocks)


def _about(items: list[Item], made: ExpectedWorld) -> ExpectedWorld:
    after = Resolution(grid=made.grid)
    whole = dict.fromkeys(cell for part in (*items, made.cells) for cell in part if after.color_at(cell))
    return replace(made, about=tuple(whole))


def _continued(
    item: Item, vector: Cell, count: int, color: int | None, setting: Resolution
) -> list[tuple[Cell, int]]:
    """Return the blocks of further layers of something; color ALIKE: their colours go on repeating as before."""
    blocks = []
    for end in outermost(item, vector):
        line = [end]
        while color == ALIKE and (cell := shifted(line[-1], scaled(vector, -1))) in item:
            line.append(cell)
        colors = [color if color and color != ALIKE else setting.color_at(cell) for cell in line]
        periods = [n for n in range(1, len(line)) if colors[n:] == colors[:-n]] if color == ALIKE else [1]
        if not periods:
            raise Unresolved(Reason.AMBIGUOUS, "how the pattern goes on")
        blocks += [(shifted(end, scaled(vector, i)), colors[-i % periods[0]]) for i in range(1, count + 1)]
    return blocks


def _resized(instruction: Resize, item: Item, setting: Resolution) -> list[tuple[Cell, int]]:
    vector = VECTORS[_growth(instruction, item, setting)]
    reach = [dot(cell, vector) for cell in item]
    now = max(reach) - min(reach) + 1
    wanted = _wanted_size(instruction, vector, now, max(reach), setting)
    if wanted < 1:
        raise Unresolved(Reason.NO_NUMBER, f"{wanted} blocks")
    if wanted <= now:
        return [(cell, 0) for cell in item if dot(cell, vector) > max(reach) - (now - wanted)]
    return _continued(item, vector, wanted - now, instruction.color, setting)


def _growth(instruction: Resize, item: Item, setting: Resolution) -> Direction:
    """Return the direction of growth: that in which a row was laid, up for all else."""
    if instruction.way is not None:
        return setting.on_map(instruction.way)
    spans = Box.of(item).spans
    if spans[1] > 0 or (instruction.times is None and instruction.to) or not any(spans):
        return Direction.UP
    axis = spans.index(max(spans))
    laid = [cell for cell in setting.last if cell in item]
    if len(laid) < 2 or len(laid) < len(item) or sum(span > 0 for span in spans) > 1:
        raise Unresolved(Reason.NO_DIRECTION, "")
    ahead = laid[-1][axis] > laid[0][axis]
    return next(way for way in COMPASS if VECTORS[way][axis] == (1 if ahead else -1))


def _wanted_size(instruction: Resize, vector: Cell, now: int, edge: int, setting: Resolution) -> int:
    """Return the size along a vector; `edge` is how far it reaches now."""
    if instruction.like is not None:
        reach = [dot(cell, vector) for part in resolve(instruction.like, setting) for cell in part]
        return max(reach) - min(reach) + 1 + (instruction.size or 0)
    if instruction.times is not None:
        if now * instruction.times % 1:
            raise Unresolved(Reason.NO_NUMBER, f"half of {now}")
        return int(now * instruction.times)
    if instruction.size is None:  # up to the edge
        return now + _REACH[vector[1]] - edge
    return instruction.size if instruction.to else now + instruction.size


def _change_last_part(instruction: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(instruction, Facing):
        return replace(instruction, then=_change_last_part(instruction.then, change))
    if isinstance(instruction, Sequence) and not all(isinstance(one, CellEdit) for one in instruction.parts):
        last = max(
            (i for i, part in enumerate(instruction.parts) if not isinstance(part, Statement)), default=0
        )
        parts = [*instruction.parts]
        parts[last] = _change_last_part(parts[last], change)
        return Sequence(tuple(parts))
    if isinstance(instruction, Ambiguous):
        return Ambiguous(tuple(_change_last_part(reading, change) for reading in instruction.readings))
    return change(instruction)


def _last_part(instruction: Any) -> Any:
    if isinstance(instruction, Sequence):
        rest = [part for part in instruction.parts if not isinstance(part, Statement)]
        return _last_part((rest or instruction.parts)[-1])
    return instruction


def as_place_goal(instruction: Any) -> Any:
    """Return a placement as a `PlaceGoal`, if it can be one."""
    if isinstance(instruction, CellEdit) and instruction.action is EditKind.PLACE:
        return PlaceGoal(BlockSpec(1, instruction.after), (At(instruction.cell),))
    if isinstance(instruction, Place):
        return PlaceGoal(
            BlockSpec(1 if instruction.count is None else instruction.count, instruction.color),
            (instruction.where,),
        )
    if isinstance(instruction, Build) and len(instruction.colors) == 1 and len(instruction.shape.sizes) == 1:
        shape = instruction.shape
        kind = Kind.TOWER if shape.kind in (Kind.TOWER, Kind.COLUMN) else shape.kind
        if kind in (Kind.TOWER, Kind.ROW):
            way = shape.directions[0] if kind is Kind.ROW else None
            return PlaceGoal(
                BlockSpec(1, instruction.colors[0], kind, shape.sizes, way=way), (instruction.where,)
            )
    return instruction


def expand_anaphor(instruction: Any, before: tuple[Any, Grid] | None) -> Any:
    """Resolve "the same again" or a correction to an instruction, given the last one and the grid it met.

    What depends on the blocks themselves is returned as it is.
    """
    if before is None or not isinstance(instruction, (Repeat, Correct)):
        return instruction
    if isinstance(instruction, Correct) and (instruction.other or instruction.higher is not None):
        return instruction
    try:
        if isinstance(instruction, Repeat):
            return _repeated(instruction, before[0])
        return _amended(instruction, before[0])
    except Unresolved:
        return instruction


def _repeated(instruction: Repeat, last: Any) -> Any:
    def change(part: Any) -> Any:
        part = as_place_goal(part)
        if instruction == Repeat():
            if isinstance(part, (Move, Extend, Resize)):
                return part
            if isinstance(part, PlaceGoal) and part.where and isinstance(part.where[0], Beside):
                return replace(part, where=(replace(part.where[0], of=Anaphor()), *part.where[1:]))
        if instruction.of is not None and isinstance(part, PlaceGoal) and part.where:
            where = part.where[0]
            if isinstance(where, (Beside, Sides, NextTo)):
                if getattr(where.of, "of", None) == getattr(instruction.of, "of", 0) == Anaphor():
                    raise Unresolved(
                        Reason.NO_PLACE, "the end of what"
                    )  # "it" is no longer what had the ends
                return replace(part, where=(replace(where, of=instruction.of), *part.where[1:]))
        if instruction.where is not None and isinstance(part, PlaceGoal):
            new = part.new if instruction.color is None else replace(part.new, color=instruction.color)
            where = _relocate(part, instruction.where)
            stated = part.where[0] if part.where else None
            if not (isinstance(stated, Beside) and stated.of == Anaphor() == getattr(where, "of", None)):
                return replace(part, new=new, where=(where,))  # else "it" is no longer what it was
        raise Unresolved(Reason.NO_MATCH, "that cannot be done the same way")

    return _change_last_part(_last_part(last), change)


def _relocate(part: PlaceGoal, where: Any) -> Any:
    """Return a new place for the last placement: "on its other side" keeps its reference."""
    stated: Any = part.where[0] if part.where else None
    edge = getattr(stated, "of", None)
    if isinstance(edge, Portion) and edge.way and isinstance(where, Edge):
        if edge.of == Anaphor():
            raise Unresolved(Reason.NO_PLACE, "the edge of what")
        return replace(stated, of=replace(edge, way=where.way))  # "the same on the south edge"
    if isinstance(where, Beside) and isinstance(where.of, Anaphor) and isinstance(stated, Beside):
        return replace(stated, offset=where.offset)
    if isinstance(where, OtherSide):
        if isinstance(stated, Spot) and (stated.x, stated.z) != (0, 0):
            return Spot(-stated.x, -stated.z)
        if not isinstance(stated, Beside) or len(stated.offset) != 1 or stated.offset[0][0].vertical:
            raise Unresolved(Reason.NO_PLACE, "the other side of what")
        ((way, count),) = stated.offset
        return replace(stated, offset=((way.opposite, count),))
    return where


def _opposite(setting: Resolution) -> ExpectedWorld:
    """Return the world in which the last change is mirrored in the middle of what stood there before it.

    Raises `Unresolved` if nothing stood there, or if it was not on one side of it.
    """
    cells = [cell for cell in setting.last if setting.color_at(cell)]
    rest = [cell for cell in setting.blocks if cell not in cells]
    near = {shifted(cell, step) for cell in cells for step in VECTORS.values()}
    whole = [cell for item in connected(rest) if near.intersection(item) for cell in item] or rest
    if not cells or not whole:
        raise Unresolved(Reason.NO_PLACE, "the other side of what")
    box = Box.of(whole)
    twice = shifted(box.low, box.high)
    far = {axis: abs(sum(2 * cell[axis] - twice[axis] for cell in cells)) for axis in (0, 2)}
    if far[0] == far[2]:
        raise Unresolved(Reason.NO_PLACE, "the other side in which direction")
    return _added(
        setting,
        [(_image(cell, 0 if far[0] > far[2] else 2, twice), setting.color_at(cell)) for cell in cells],
    )


def _image(cell: Cell, axis: int, twice: Cell) -> Cell:
    """Return the mirror image of a cell along an axis; twice: double the coordinates of the middle."""
    x, y, z = (twice[i] - n if i == axis else n for i, n in enumerate(cell))
    return x, y, z


def _amended(instruction: Correct, last: Any) -> Any:
    def change(part: Any) -> Any:
        part = as_place_goal(part)
        if isinstance(part, Replace) and instruction.color is not None:
            return replace(part, color=instruction.color)
        if isinstance(part, Resize) and instruction.count is not None:
            return replace(part, size=instruction.count)
        if isinstance(part, Extend) and instruction.count is not None:
            return replace(part, count=instruction.count)
        if isinstance(part, Copy) and instruction.color is not None:
            return replace(part, color=instruction.color)
        if isinstance(part, (Move, Copy)) and len(part.by) == 1:
            ((way, count),) = part.by
            if instruction.count is not None or instruction.way is not None:
                return replace(part, by=((instruction.way or way, instruction.count or count),))
        if not isinstance(part, PlaceGoal):
            raise Unresolved(Reason.NO_MATCH, "that cannot be changed so")
        new, where = part.new, part.where
        if instruction.color is not None:
            new = replace(new, color=instruction.color)
        if instruction.count is not None:
            sized = new.kind is not Kind.BLOCK and len(new.sizes) == 1
            new = replace(new, sizes=(instruction.count,)) if sized else replace(new, count=instruction.count)
        if instruction.way is not None:
            first = where[0] if where else None
            line = new.kind is Kind.ROW or (new.kind is Kind.BLOCK and new.count != 1)
            if isinstance(first, Beside) and len(first.offset) == 1 and new.way is None:  # on another side
                where = (replace(first, offset=((instruction.way, first.offset[0][1]),)), *where[1:])
            elif line and not isinstance(first, Beside):
                new = replace(new, way=instruction.way)
            else:
                raise Unresolved(Reason.NO_MATCH, "that cannot be changed so")
        if instruction.where is not None:
            where = (_relocate(part, instruction.where),)
        return replace(part, new=new, where=where)

    try:
        return _change_last_part(last, change)
    except DialogueError as error:  # no such number of blocks can be
        raise Unresolved(Reason.NO_NUMBER, str(error)) from None


def _shift(instruction: Correct, setting: Resolution) -> Instruction:
    """Return the instruction that moves what was changed last."""
    assert instruction.higher is not None
    cells = [cell for cell in setting.last if setting.color_at(cell)]
    if not cells:
        raise Unresolved(Reason.NO_MATCH, "nothing was placed before")
    way = Direction.UP if instruction.higher > 0 else Direction.DOWN
    upright = len({cell[1] for cell in cells}) > 1
    if upright:
        return Resize(Anaphor(), instruction.higher)
    return Move(Anaphor(), ((way, abs(instruction.higher)),))


def _with_other(part: Any, setting: Resolution) -> Any:
    """Return an instruction about the other one of the two things that its reference could mean."""
    if any(isinstance(one, AnyOf) for one in walk(part)):
        return rebuilt(part, lambda one: replace(one, nth=one.nth + 1) if isinstance(one, AnyOf) else one)
    for reference in (one for one in walk(part) if isinstance(one, Blocks) and one.count == 1):
        chosen = resolve(reference, setting)
        plain = replace(reference, count=None, extreme=None, rank=1, middle=False, by_size=None)
        for described in (plain, replace(plain, colors=())):  # "the other tower" may have another colour
            others = [item for item in resolve(described, setting) if item not in chosen]
            if len(chosen) == len(others) == 1:
                one = replace(described, count=1, where=At(others[0][0]))
                return rebuilt(part, lambda value: one if value == reference else value)  # noqa: B023
    raise Unresolved(Reason.NO_MATCH, "there is no other one")


def progress(
    instruction: Instruction, before: npt.ArrayLike, after: npt.ArrayLike, context: Context | None = None
) -> float | Failure:
    """Return how much of an instruction is done, in [0, 1], or a `Failure` if it cannot be followed from `before`.

    It is 1 - (cells that are not as requested) / (cells that had to change), over the whole zone and at least 0: a
    wrong change costs as much as a right one gains. Of several possible worlds, the closest counts. If nothing had to
    change, it is 1 if nothing has, else 0.
    """
    found = outcomes(instruction, before, context)
    if isinstance(found, Failure):
        return found
    start, end = as_grid(before, "before"), as_grid(after, "after")
    best = 0.0
    for outcome in found:
        needed = int(np.count_nonzero(outcome.grid != start))
        left = int(np.count_nonzero(outcome.grid != end))
        best = max(best, 1.0 - left / max(1, needed))
    return best


def done(
    instruction: Instruction, before: npt.ArrayLike, after: npt.ArrayLike, context: Context | None = None
) -> bool:
    """Return whether `after` is a world that an instruction makes of `before`; False if it cannot be followed."""
    found = progress(instruction, before, after, context)
    return not isinstance(found, Failure) and found == 1.0
