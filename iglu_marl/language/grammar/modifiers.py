"""Modifiers of new blocks, and other values of which the grammar makes instructions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from iglu_marl.core.grid import Cell, color_name
from iglu_marl.language.grammar.engine import Contradiction
from iglu_marl.language.meaning.placing import ALIKE, ANY_COLOR, SAME, BlockSpec
from iglu_marl.language.meaning.references import Location
from iglu_marl.language.meaning.shapes import Direction


@dataclass(frozen=True)
class View:
    """The direction in which somebody looks from here on.

    kind: of somebody who is "facing" it, or the "order" to turn there; "seen": the direction belongs to a picture.
    Behind a request, the first and the last belong to it.
    """

    way: Direction
    kind: str = "facing"


@dataclass(frozen=True)
class Around:
    """New blocks with their place: "a border around the red block"."""

    new: BlockSpec
    where: Any


@dataclass(frozen=True)
class Remark:
    """Words that are no request."""


@dataclass(frozen=True)
class Topic:
    """What the next instruction is about: "start with the red one", "the tower is 2 too high" (2 is `count`)."""

    of: Any
    count: int | None = None


@dataclass(frozen=True)
class Modifiers:
    """Modifiers of new blocks: place, position, size and others."""

    where: tuple[Location, ...] = ()
    standing: bool | None = None
    way: Direction | None = None
    axis: str | None = None
    tall: int | None = None
    long: int | None = None
    wide: int | None = None
    each: bool = False
    also: Any = None
    split: bool = False
    one_each: bool = False
    gap: int | None = None
    under: int | None = None
    color: int | None = None
    like: Any = None
    shade: Any = None
    area: tuple[int, ...] | None = None
    hollow: bool | None = None
    four: bool | None = None
    total: int | None = None
    flat: bool | None = None
    centred: bool | None = None
    origin: Any = None
    taller: int | None = None
    times: float | None = None
    more: tuple[tuple[Any, Modifiers], ...] = ()
    by: Any = None
    again: tuple[tuple[str, Any], ...] = ()  # repeated properties: see `_check_repetitions`

    def plus(self, other: Modifiers) -> Modifiers:
        """Return both together; raise `Contradiction` if they contradict each other."""
        if self == PLAIN or other == PLAIN:
            return other if self == PLAIN else self
        stated: dict[str, Any] = {}
        for name, two in vars(other).items():
            one, default = getattr(self, name), getattr(PLAIN, name)
            if two == default:
                continue
            if default is not None:  # a tuple or a flag
                stated[name] = one + two if isinstance(one, tuple) else two
            else:
                stated[name] = agreed(name, one, two)
        return replace(self, **stated)

    def only(self, what: str, *names: str) -> None:
        """Raise `Contradiction` if a field besides these is set."""
        plain = Modifiers(**{name: getattr(self, name) for name in names})
        for name, value in vars(self).items():
            if value != getattr(plain, name):
                raise Contradiction(f"{what} and {property_words(name, value)}")


PLAIN = Modifiers()


def color_word(color: int | None) -> str:
    return "" if color in (None, SAME, ALIKE, ANY_COLOR) else color_name(color or 0)


def property_words(name: str, value: Any) -> str:
    if name in ("where", "also"):
        return "another place"
    if name == "color":
        return color_word(value) or "the same color"
    if name == "standing":
        return "upright" if value else "level"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value} {name}"
    return str(value) if isinstance(value, Direction) else name.replace("_", " ")


def agreed(name: str, one: Any, two: Any) -> Any:
    """Return the value of a property; raise `Contradiction` for two values."""
    if one is not None and two is not None and one != two:
        raise Contradiction(f"{property_words(name, one)} and {property_words(name, two)}")
    return two if one is None else one


@dataclass(frozen=True)
class Outside:
    """A cell outside the zone."""

    cell: Cell


@dataclass(frozen=True)
class CellCount:
    """A number of cells to fill."""

    where: Any
    count: int


@dataclass(frozen=True)
class InColor:
    """The colour of what the instruction before it places: "make it two taller, in yellow"."""

    color: int
