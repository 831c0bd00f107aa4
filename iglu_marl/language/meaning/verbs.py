"""Instructions as typed values, and their effect on a world.

A `CellEdit` changes one cell, counted from the centre of the zone. The other instructions change what their references
mean in the world at hand: `outcomes` returns the worlds that an instruction leads to, `expand` its edits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell, Color, as_grid, cell_index, in_zone
from iglu_marl.language.meaning.blocks import CellEdit, EditKind, Failure, Reason, walk
from iglu_marl.language.meaning.blocks import Instruction as Instruction
from iglu_marl.language.meaning.context import (
    Context,
    NoFurtherChoice,
    Offset,
    Resolution,
    Unresolved,
)
from iglu_marl.language.meaning.placing import (
    BlockSpec,
    check_free,
    put,
    put_shape,
)
from iglu_marl.language.meaning.references import (
    Anaphor,
    AnyOf,
    At,
    Beside,
    Blocks,
    BuilderPosition,
    Edge,
    LastBlock,
    Level,
    Location,
    NextTo,
    PartOf,
    PluralAnaphor,
    Portion,
    Reference,
    Spot,
    Where,
    checked_offset,
    is_several,
    resolve,
)
from iglu_marl.language.meaning.regions import FLOOR, connected
from iglu_marl.language.meaning.shapes import (
    COMPASS,
    VECTORS,
    Box,
    Direction,
    Kind,
    Shape,
    as_color,
    dot,
    scaled,
    shape_cells,
    shifted,
)
from iglu_marl.language.meaning.statements import Choose, Statement
from iglu_marl.language.meaning.worlds import (
    MAX_OUTCOMES,
    ColoredCell,
    ExpectedWorld,
    about_whole,
    added_world,
    changed_world,
    continued_blocks,
    edited_worlds,
    exchanged_world,
    moved_world,
    placed_worlds,
    resized_blocks,
    standing_cells,
    standing_items,
    vectors_to,
)

MAX_CHOICES = 12
"""Maximum number of choices of the builder that are tried."""


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
        return placed_worlds(ways, self.where, setting)


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
            if gone and isinstance(last_part(setting.before[0]), (Remove, Undo)):
                return [
                    ExpectedWorld(setting.grid, setting.last)
                ]  # "the red block is wrong, remove it, take it away"
        cells = standing_cells(self.blocks, setting)
        world = changed_world(setting, [(cell, 0) for cell in cells])
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
            cells = standing_cells(self.blocks, setting)
        if self.count not in (None, len(cells)):
            raise Unresolved(Reason.NO_NUMBER, f"{self.count} blocks for {len(cells)} places")
        return [changed_world(setting, [(cell, self.color) for cell in cells])]


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
        cells = standing_cells(self.blocks, setting)
        if self.to is None:
            vectors = [setting.vector(self.by)]
        else:
            cleared = changed_world(setting, [(cell, 0) for cell in cells])
            vectors = vectors_to(self.to, cells, setting.then(cleared.grid, setting.last))
        return [moved_world(cells, [shifted(cell, vector) for cell in cells], setting) for vector in vectors]


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
        cells = standing_cells(self.blocks, setting)
        vectors = [setting.vector(self.by)] if self.to is None else vectors_to(self.to, cells, setting, True)
        return [
            added_world(
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
        items = [standing_cells(part, setting) for part in parts]
        if self.other is None:
            items = [list(item) for item in standing_items(self.one, setting)]
        if not self.only_colors:
            return [exchanged_world(items, setting)]
        colors = [{setting.color_at(cell) for cell in item} for item in items]
        if any(len(color) > 1 for color in colors):
            raise Unresolved(Reason.AMBIGUOUS, "what changes places: each is of several colours")
        stated = zip(items, reversed(colors), strict=True)
        return [changed_world(setting, [(cell, color) for item, (color,) in stated for cell in item])]


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
        blocks, items = [], standing_items(self.blocks, setting)
        for item in items:
            blocks += continued_blocks(item, vector, self.count, self.color, setting)
        made = added_world(setting, blocks)
        return [about_whole(items, made) if vector[1] else made]


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
        spans = Box.of(standing_cells(self.blocks, setting)).spans
        return [replace(self, way=way)._grown(setting) for way in COMPASS if dot(spans, VECTORS[way])]

    def _grown(self, setting: Resolution) -> ExpectedWorld:
        cells: list[tuple[Cell, int]] = []
        items = standing_items(self.blocks, setting)
        colors = {setting.color_at(cell) for item in items for cell in item}
        if isinstance(self.blocks, Blocks) and self.blocks.kind is Kind.TOWER and self.blocks.count is None:
            if any(len(one) == 1 and setting.color_at(one[0]) in colors for one in connected(setting.blocks)):
                what = "whether a single block is a tower"
                raise Unresolved(Reason.AMBIGUOUS, what, reference=self.blocks)
        if self.way and not (self.size or self.times or self.like) and all(len(item) == 1 for item in items):
            items = [tuple(cell for item in items for cell in item)]  # blocks that reach the edge together
        for item in items:
            cells += resized_blocks(self, item, setting)
        check_free([block for block in cells if block[1]], setting)
        return about_whole(items, changed_world(setting, cells))


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
class PlaceGoal(Instruction):
    """Place something new. where: all that was said of the place, () = nothing."""

    new: BlockSpec
    where: tuple[Location, ...] = ()
    fill: bool = False

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        new, wheres = self.new, self.where
        if new.again:
            last = None if setting.before is None else as_place_goal(last_part(setting.before[0]))
            new = replace(new, again=False)
            if isinstance(last, PlaceGoal) and last.new.kind is not Kind.BLOCK and new.kind is Kind.BLOCK:
                new = replace(last.new, color=new.color)
        ways = self._ways(new, wheres, setting)
        where = next((where for where in wheres if isinstance(where, NextTo)), wheres[0])
        return placed_worlds(ways, where, setting)

    def _ways(
        self, new: BlockSpec, wheres: tuple[Location, ...], setting: Resolution
    ) -> list[list[ColoredCell]]:
        """Return the ways to place it; if the builder may choose, in all directions where one is missing."""
        try:
            return put(new, wheres, self.fill, setting)
        except Unresolved as error:
            missing = error.failure.reason is Reason.NO_DIRECTION and not (new.way or new.axis)
            if not (missing and setting.chooses_where):
                raise
        found: list[list[ColoredCell]] = []
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
        return [changed_world(setting, [(cell, 0) for cell in setting.blocks])]


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
        return [ExpectedWorld(setting.grid, tuple(standing_cells(self.at, setting)))]


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
            cells = standing_cells(replace(self.of, where=PartOf(Anaphor())) if own else self.of, met)  # type: ignore[type-var]
        except Unresolved:
            cells = standing_cells(self.of, met)
        added = (cell for cell in setting.last if setting.color_at(cell) and not met.color_at(cell))
        stated = [*cells, *(cell for cell in added if shifted(cell, VECTORS[Direction.DOWN]) in cells)]
        back = [(cell, met.color_at(cell)) for cell in stated if met.color_at(cell) != setting.color_at(cell)]
        rest = tuple(cell for cell in setting.last if cell not in cells)
        return [replace(changed_world(setting, back), cells=rest)]


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
                found.append(follow(reading, setting))
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
        return follow(self.then, setting.facing(setting.on_map(self.view)))


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
                    for outcome in follow(part, now):
                        stated = part.expanded(now.before), now.grid
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
            return follow(instruction, setting)
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
            found += follow(made, setting)
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
                return follow(seen, setting)
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


def follow(instruction: Instruction, setting: Resolution) -> list[ExpectedWorld]:
    """Return the worlds that an instruction leads to."""
    if isinstance(instruction, CellEdit):
        return edited_worlds(instruction, setting)
    if not isinstance(instruction, Instruction):
        raise DialogueError(f"instruction is {instruction!r:.80}, expected an Instruction")
    return instruction._worlds(setting)


def _is_part_of_it(blocks: Reference) -> bool:
    whole = blocks.of if isinstance(blocks, Portion) else None
    if isinstance(blocks, Blocks) and isinstance(blocks.where, PartOf):
        whole = blocks.where.of
    return isinstance(whole, Anaphor)


def change_last_part(instruction: Any, change: Callable[[Any], Any]) -> Any:
    """Return an instruction with a change of its last part that is no statement."""
    if isinstance(instruction, Facing):
        return replace(instruction, then=change_last_part(instruction.then, change))
    if isinstance(instruction, Sequence) and not all(isinstance(one, CellEdit) for one in instruction.parts):
        last = max(
            (i for i, part in enumerate(instruction.parts) if not isinstance(part, Statement)), default=0
        )
        parts = [*instruction.parts]
        parts[last] = change_last_part(parts[last], change)
        return Sequence(tuple(parts))
    if isinstance(instruction, Ambiguous):
        return Ambiguous(tuple(change_last_part(reading, change) for reading in instruction.readings))
    return change(instruction)


def last_part(instruction: Any) -> Any:
    """Return the last part that is no statement."""
    if isinstance(instruction, Sequence):
        rest = [part for part in instruction.parts if not isinstance(part, Statement)]
        return last_part((rest or instruction.parts)[-1])
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
