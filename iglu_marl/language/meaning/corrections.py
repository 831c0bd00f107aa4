"""The last request again, or corrected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import Cell
from iglu_marl.language.meaning.blocks import Instruction, Reason, walk
from iglu_marl.language.meaning.context import Resolution, Unresolved
from iglu_marl.language.meaning.placing import OtherSide, Sides
from iglu_marl.language.meaning.references import (
    Anaphor,
    AnyOf,
    At,
    Beside,
    Blocks,
    Edge,
    NextTo,
    Portion,
    Reference,
    Spot,
    resolve,
)
from iglu_marl.language.meaning.regions import connected
from iglu_marl.language.meaning.shapes import VECTORS, Box, Direction, Kind, shifted
from iglu_marl.language.meaning.verbs import (
    Copy,
    Extend,
    Move,
    PlaceGoal,
    Replace,
    Resize,
    as_place_goal,
    change_last_part,
    follow,
    last_part,
    rebuilt,
)
from iglu_marl.language.meaning.worlds import ExpectedWorld, Grid, added_world, changed_world


@dataclass(frozen=True)
class Repeat(Instruction):
    """The last instruction again, at another place or with something else."""

    where: Any = None
    of: Reference | None = None
    color: int | None = None

    def expanded(self, before: tuple[Any, Grid] | None) -> Any:
        """Return the last instruction elsewhere; itself if that depends on the blocks, or if there is none."""
        return self if before is None else _unless_unresolved(_repeated, self, before[0])

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        expanded = self.expanded(setting.before)
        if expanded is not self:
            return follow(expanded, setting)
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

    def expanded(self, before: tuple[Any, Grid] | None) -> Any:
        """Return the last instruction, changed; itself if that depends on the blocks, or if there is none."""
        if before is None or self.other or self.higher is not None:
            return self
        return _unless_unresolved(_amended, self, before[0])

    def _worlds(self, setting: Resolution) -> list[ExpectedWorld]:
        if setting.before is None and self == Correct(where=OtherSide()):  # what others placed
            made = _opposite(setting)
            gone = changed_world(replace(setting, grid=made.grid), [(cell, 0) for cell in setting.last])
            return [replace(gone, cells=made.cells)]
        if self.higher is not None:
            return follow(_shift(self, setting), setting)
        if setting.before is None:
            raise Unresolved(Reason.NO_MATCH, "nothing was done before")
        last, grid = setting.before
        back = replace(setting, grid=grid, last=setting.earlier[-1] if setting.earlier else ())
        if self.other:
            return follow(change_last_part(last, lambda part: _with_other(part, back)), back)
        expanded = self.expanded(setting.before)
        if expanded is not self:
            return follow(expanded, back)
        if self == Correct(color=self.color):
            return Replace(Anaphor(), self.color)._worlds(setting)
        return follow(_amended(self, last), back)  # raises what speaks against it


def _unless_unresolved(change: Callable[[Any, Any], Any], instruction: Any, last: Any) -> Any:
    try:
        return change(instruction, last)
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

    return change_last_part(last_part(last), change)


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
    return added_world(
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
        return change_last_part(last, change)
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
