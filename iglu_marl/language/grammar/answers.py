"""What the rules for answers make of words: the values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.core.grid import Cell
from iglu_marl.language.grammar.engine import NOTHING
from iglu_marl.language.grammar.makers import Core, Outside, maker
from iglu_marl.language.shapes import Direction


@dataclass(frozen=True)
class Tints:
    """Colours from the first block to the last, over and over."""

    colors: tuple[int, ...]


@dataclass(frozen=True)
class ColorOf:
    """The colour of something."""

    of: Any


@dataclass(frozen=True)
class CountOf:
    """As many as there are of something."""

    of: Any


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
    """Which of several things: by a description, or by size. every: all of them. number: of blocks."""

    core: Core | None = None
    every: bool = False
    most: bool | None = None
    number: int | None = None
    level: int | None = None
    corner: bool = False


@dataclass(frozen=True)
class FreeCorner:
    """The one corner of the zone in which nothing stands."""


@dataclass(frozen=True)
class Toward:
    """The way that ends nearest to something, or to a cell; away: the way that ends farthest from it."""

    of: Any = None
    cell: Cell | None = None
    away: bool = False


@maker
def said_instead(c: int, x: int) -> Any:
    return c if c != x else NOTHING


@maker
def tints(one: int, two: int) -> Tints:
    return Tints((one, two))


@maker
def tints_alternating(one: int, two: int) -> Any:
    return Tints((one, two)) if one != two else NOTHING


@maker
def color_of(of: Any) -> ColorOf:
    return ColorOf(of)


@maker
def count_of(of: Any) -> CountOf:
    return CountOf(of)


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
def which_all() -> Which:
    return Which(every=True)


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
def toward_corner(x: Any) -> Toward:
    return Toward(None, (x[0], -1, x[1]))


@maker
def free_corner() -> Any:
    return FreeCorner()


@maker
def same_way_of(way: Direction, **_: Any) -> Direction:
    return way
