"""What the rules for answers make of words: the values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.language.blocks import Reason
from iglu_marl.language.grammar.engine import NOTHING
from iglu_marl.language.grammar.makers import MAKERS, Core, Outside, cell, maker
from iglu_marl.language.placing import Put
from iglu_marl.language.references import At, Beside, Blocks, Level, NextTo, PartOf, Spot
from iglu_marl.language.shapes import Direction, Kind, Shape
from iglu_marl.language.verbs import Build, Copy, Extend, Move, Remove


@dataclass(frozen=True)
class Lacking:
    """A sentence that is whole but for one thing.

    reason: what it lacks. fill: the maker that makes an instruction of `slots` and the value of `slot`.
    """

    reason: Reason
    fill: str
    slot: str
    slots: tuple[tuple[str, Any], ...]

    def filled(self, value: Any) -> Any:
        """The instruction with the value; None where it does not fit."""
        made = MAKERS[self.fill](**dict(self.slots), **{self.slot: value})
        return None if made is NOTHING else made


@maker
def lacking(fill: str, slot: str, **slots: Any) -> Lacking:
    return Lacking(_LACKS[slot], fill, slot, tuple(slots.items()))


_LACKS = {
    "n": Reason.NO_NUMBER,
    "level": Reason.NO_HEIGHT,
    "way": Reason.NO_DIRECTION,
    "where": Reason.NO_PLACE,
    "color": Reason.NO_COLOR,
}


@maker
def move_one(blocks: Any, n: int, way: Direction) -> Any:
    return Move(blocks, ((way, n),))


@maker
def copy_one(blocks: Any, n: int, way: Direction) -> Any:
    return Copy(blocks, ((way, n),))


@maker
def copy_there(blocks: Any, where: Any) -> Any:
    return Copy(blocks, (), where)


@maker
def grown(blocks: Any, n: int, way: Direction = Direction.UP) -> Any:
    return Extend(blocks, way, n)


@maker
def remove_end(of: Any, n: int, way: Direction) -> Any:
    """The blocks of a number of layers at one end of something."""
    return Remove(Blocks((), Kind.BLOCK, n, way, where=PartOf(of)))


@maker
def aloft(new: Any, of: Any, level: int) -> Any:
    """Somewhere above something: `repair` knows the column."""
    return Put(new, (Beside(((Direction.UP, 1),), of), Level(level)))


@maker
def diagonal(n: int, c: int, where: Any, way: Any) -> Any:
    if not isinstance(way, tuple) or not isinstance(where, (At, Spot)):
        return NOTHING
    start = where.cell if isinstance(where, At) else (where.x, -1, where.z)
    return Build(Shape(Kind.DIAGONAL, (n,), way), (c,), At(start))


@dataclass(frozen=True)
class Tints:
    """Colours from the first block to the last; again: over and over."""

    colors: tuple[int, ...]
    again: bool = False


@dataclass(frozen=True)
class ColorOf:
    """The colour of something."""

    of: Any


@dataclass(frozen=True)
class CountOf:
    """As many as there are of something."""

    of: Any


@dataclass(frozen=True)
class Count:
    """So many: of a colour, or in total."""

    n: int
    color: int | None = None
    total: bool = False


@dataclass(frozen=True)
class Until:
    """As many as it takes.

    what: "edge" of the zone, "level" reached, "top" of something, "size" of what there is then, "square", or all "but"
    so many. value: the level, the thing, the size or the number.
    """

    what: str
    value: Any = None


@dataclass(frozen=True)
class Above:
    """So many steps above what the place is told from."""

    steps: int


@dataclass(frozen=True)
class LevelOf:
    """As high as the top of something."""

    of: Any


@dataclass(frozen=True)
class Which:
    """Which of several things: by a description, or by size. number: of its blocks. every: all of them,
    `number` in all. toward: the nearest to something, or the farthest.
    """

    core: Core | None = None
    every: bool = False
    most: bool | None = None
    number: int | None = None
    level: int | None = None
    corner: bool = False
    half: Direction | None = None
    toward: Toward | None = None


@dataclass(frozen=True)
class FreeCorner:
    """The one corner of the zone in which nothing stands."""


@dataclass(frozen=True)
class Toward:
    """The way that ends nearest to something; away: the way that ends farthest from it."""

    of: Any
    away: bool = False


@maker
def said_instead(c: int, x: int) -> Any:
    return c if c != x else NOTHING


@maker
def tints(one: int, two: int) -> Tints:
    return Tints((one, two))


@maker
def tints_alternating(one: int, two: int) -> Any:
    return Tints((one, two), True) if one != two else NOTHING


@maker
def color_of(of: Any) -> ColorOf:
    return ColorOf(of)


@maker
def count_of(of: Any) -> CountOf:
    return CountOf(of)


@maker
def count_colored(n: int, c: int) -> Count:
    return Count(n, c)


@maker
def count_total(n: int) -> Count:
    return Count(n, total=True)


@maker
def until_top(of: Any) -> Until:
    return Until("top", of)


@maker
def until_square() -> Until:
    return Until("square")


@maker
def until_edge() -> Until:
    return Until("edge")


@maker
def until_size(n: int) -> Until:
    return Until("size", n)


@maker
def until_level(n: int) -> Until:
    return Until("level", n)


@maker
def all_but(n: int) -> Until:
    return Until("but", n)


@maker
def level_of(of: Any) -> LevelOf:
    return LevelOf(of)


@maker
def steps_above(n: int) -> Any:
    return Above(n) if n else NOTHING


@maker
def spaces_above(n: int) -> Above:
    return Above(n + 1)


@maker
def which_all(n: int | None = None) -> Which:
    return Which(every=True, number=None if n is None else int(n))


@maker
def which_by(of: Any) -> Which:
    return Which(Core(where=NextTo(of)))


@maker
def which_toward(of: Any, far: bool = False) -> Which:
    return Which(toward=Toward(of, bool(far)))


@maker
def which_middle() -> Which:
    return Which(Core(middle=True))


@maker
def which_core(core: Core) -> Any:
    return NOTHING if isinstance(core.where, Outside) else Which(core)


@maker
def which_end(way: Direction, n: int = 1) -> Any:
    return Which(Core(extreme=way, rank=n)) if 1 <= n <= 9 else NOTHING


@maker
def which_level(n: int) -> Which:
    return Which(level=n)


@maker
def which_size(most: bool = False) -> Which:
    return Which(most=most)


@maker
def which_number(n: int) -> Which:
    return Which(number=n)


@maker
def which_corner() -> Which:
    return Which(corner=True)


@maker
def toward_thing(of: Any, away: bool = False) -> Toward:
    return Toward(of, away=away)


@maker
def toward_corner(x: Any) -> tuple[Direction, Direction]:
    return (
        Direction.EAST if x[0] > 0 else Direction.WEST,
        Direction.SOUTH if x[1] > 0 else Direction.NORTH,
    )


@maker
def free_corner() -> FreeCorner:
    return FreeCorner()


@maker
def same_way_of(way: Direction, **_: Any) -> Direction:
    return way


@maker
def at_height(where: Any, n: int) -> Any:
    return cell(where, n) if isinstance(where, Spot) else NOTHING


@maker
def which_near(far: bool = False) -> Which:
    return Which(Core(extreme=Direction.BEHIND if far else Direction.FRONT))


@maker
def which_half(way: Direction) -> Which:
    return Which(half=way)


@dataclass(frozen=True)
class Asked:
    """A question of a builder: its kind, and what it names."""

    kind: str
    about: tuple[tuple[str, Any], ...] = ()


@maker
def asked(kind: str, **about: Any) -> Asked:
    named = {
        name: value for name, value in about.items() if name not in ("x", "z")
    }  # words that do not matter
    return Asked(kind, tuple(named.items()))


@maker
def on_top_of_any(of: Any) -> Any:
    return Beside(((Direction.UP, 1),), of)


@maker
def own_side_of(x: Any, way: Direction) -> Any:
    return Beside(((way, 1),), x.of) if isinstance(x, (Beside, NextTo)) else NOTHING


@maker
def place_instead(where: Any, x: Any) -> Any:
    return where if where != x else NOTHING
