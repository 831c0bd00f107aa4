"""Makers of the answer rules: values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.language.blocks import Reason
from iglu_marl.language.grammar.expressions import Rejected, reject_if
from iglu_marl.language.grammar.makers import MAKERS, define, maker
from iglu_marl.language.references import Anaphor, At, Beside, Blocks, Level, PartOf, Spot
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
class ColorOf:
    """The colour of something."""

    of: Any


@dataclass(frozen=True)
class CountOf:
    """The number of blocks of something."""

    of: Any


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


@dataclass(frozen=True)
class LevelOf:
    """The height of the top of something."""

    of: Any


@dataclass(frozen=True)
class Selection:
    """One of several things: by a noun phrase, size, number of blocks or place.

    every: all of them, `number` in total. toward: the nearest to something, or the farthest.
    """

    core: Blocks | None = None
    every: bool = False
    most: bool | None = None
    number: int | None = None
    level: int | None = None
    corner: bool = False
    half: Direction | None = None
    toward: Toward | None = None


@dataclass(frozen=True)
class FreeCorner:
    """The one empty corner of the zone."""


@dataclass(frozen=True)
class Toward:
    """The direction that ends nearest to something; away: farthest from it."""

    of: Any
    away: bool = False


for one in (ColorList, ColorOf, CountOf, Count, Until, Above, LevelOf, Selection, FreeCorner, Toward):
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
