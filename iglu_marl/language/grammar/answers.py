"""Makers of the answer rules: values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.language.blocks import Reason
from iglu_marl.language.grammar.expressions import Rejected, reject_if
from iglu_marl.language.grammar.makers import CORNERS, MAKERS, define, maker
from iglu_marl.language.references import (
    FLOOR,
    Anaphor,
    At,
    Beside,
    Blocks,
    Level,
    PartOf,
    Resolution,
    Spot,
    resolve,
)
from iglu_marl.language.shapes import Direction, Kind, Shape
from iglu_marl.language.verbs import Build, Copy, Extend, Move, PlaceGoal, Remove


@dataclass(frozen=True)
class Incomplete:
    """A sentence that lacks one thing.

    reason: what it lacks. fill: the maker of the instruction, given `slots` and the value of `slot`.
    """

    reason: Reason
    fill: str
    slot: str
    slots: tuple[tuple[str, Any], ...]

    def filled(self, value: Any) -> Any:
        """Return the instruction with the value; None if it does not fit."""
        try:
            return MAKERS[self.fill](**dict(self.slots), **{self.slot: value})
        except Rejected:
            return None


@maker
def lacking(fill: str, slot: str, **slots: Any) -> Incomplete:
    return Incomplete(_LACKS[slot], fill, slot, tuple(slots.items()))


_LACKS = {
    "n": Reason.NO_NUMBER,
    "level": Reason.NO_HEIGHT,
    "way": Reason.NO_DIRECTION,
    "where": Reason.NO_PLACE,
    "color": Reason.NO_COLOR,
}


define("move_one", lambda blocks, n, way: Move(blocks, ((way, n),)))
define("copy_one", lambda blocks, n, way: Copy(blocks, ((way, n),)))
define("copy_there", lambda blocks, where: Copy(blocks, (), where))
define("grown", lambda blocks, n, way=Direction.UP: Extend(blocks, way, n))


@maker
def remove_end(of: Any, n: int, way: Direction) -> Any:
    """Remove a number of layers at one end of something."""
    return Remove(Blocks((), Kind.BLOCK, n, way, where=PartOf(of)))


@maker
def aloft(new: Any, of: Any, level: int) -> Any:
    """Place above something at an unknown height, which `repair` asks for."""
    return PlaceGoal(new, (Beside(((Direction.UP, 1),), of), Level(level)))


@maker
def diagonal(n: int, c: int, where: Any, way: Any) -> Any:
    reject_if(not isinstance(way, tuple) or not isinstance(where, (At, Spot)))
    start = where.cell if isinstance(where, At) else (where.x, -1, where.z)
    return Build(Shape(Kind.DIAGONAL, (n,), way), (c,), At(start))


@dataclass(frozen=True)
class ColorList:
    """Colours from the first block to the last; again: repeated."""

    colors: tuple[int, ...]
    again: bool = False


@dataclass(frozen=True)
class ValueOf:
    """The "color", "count" or "level" of something, or the only free "corner" of the zone."""

    what: str
    of: Any = None

    def found(self, setting: Resolution) -> Any:
        """Return the value in a world; None if there are several."""
        items = [] if self.of is None else resolve(self.of, setting)
        if self.what == "count":
            return len(items)
        if self.what == "color":
            found = {setting.color_at(cell) for item in items for cell in item}
        elif self.what == "level":
            found = {max(cell[1] for cell in item) - FLOOR + 1 for item in items}
        else:
            found = {Spot(x, z) for x, z in CORNERS if not setting.color_at((x, FLOOR, z))}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Count:
    """A number of blocks: of a colour, or in total."""

    n: int
    color: int | None = None
    total: bool = False


@dataclass(frozen=True)
class Until:
    """A number of blocks given by a limit.

    what: the "edge" of the zone, a "level", the "top" of something, a final "size", "square", or all "but" a number.
    value: the level, thing, size or number.
    """

    what: str
    value: Any = None


@dataclass(frozen=True)
class Above:
    """A number of steps above the reference."""

    steps: int


_ANY = Blocks()


@dataclass(frozen=True)
class Selection:
    """One of several things: by a noun phrase, or by its number of blocks.

    every: all of them, `number` in total.
    """

    core: Blocks = _ANY
    every: bool = False
    number: int | None = None


@dataclass(frozen=True)
class Toward:
    """The direction that ends nearest to something; away: farthest from it."""

    of: Any
    away: bool = False


for one in (ColorList, ValueOf, Count, Until, Above, Selection, Toward):
    define(one.__name__, one)


@dataclass(frozen=True)
class Asked:
    """A question: its kind, and what it names; "of" is the thing that it is about."""

    kind: str
    about: tuple[tuple[str, Any], ...] = ()

    @property
    def of_it(self) -> bool:
        """Whether it is about "it", or about nothing that it names."""
        return isinstance(dict(self.about).get("of", Anaphor()), Anaphor)


@maker
def asked(kind: str, **about: Any) -> Asked:
    return Asked(
        kind, tuple((name, value) for name, value in about.items() if name != "x")
    )  # "x" is any words


_ALL = Blocks(count=None)
define("asked_of_all", lambda kind: Asked(kind, (("of", _ALL),)))
define("of_all", lambda q: Asked(q.kind, tuple({**dict(q.about), "of": _ALL}.items())) if q.of_it else q)
define("claimed", lambda claim, of=None: Asked(claim.kind, (*claim.about, ("of", of or Anaphor()))))
