"""Modifiers of new blocks, and other values of which the grammar makes instructions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from iglu_marl.core.grid import Cell
from iglu_marl.language.grammar.expressions import reject_if, require
from iglu_marl.language.meaning.references import Location
from iglu_marl.language.meaning.shapes import Direction


@dataclass(frozen=True)
class View:
    """The direction in which somebody looks from here on."""

    way: Direction


@dataclass(frozen=True)
class Remark:
    """Words that are no request."""


@dataclass(frozen=True)
class Complaint(Remark):
    """Words that something is wrong: at the end of a text they take back what was asked for."""


@dataclass(frozen=True)
class Modifiers:
    """Modifiers of new blocks: place, position, size and others."""

    where: tuple[Location, ...] = ()
    standing: bool | None = None
    way: Direction | None = None
    axis: str | None = None
    tall: int | None = None
    long: int | None = None
    each: bool = False
    gap: int | None = None
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
    by: Any = None
    again: tuple[tuple[str, Any], ...] = ()  # what the verb or the noun must allow: a "line", a "pattern"

    def plus(self, other: Modifiers) -> Modifiers:
        """Return both together; raise `Rejected` if they contradict each other."""
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
                stated[name] = agreed(one, two)
        return replace(self, **stated)

    def only(self, *names: str) -> None:
        """Raise `Rejected` if a field besides these is set."""
        require(self == Modifiers(**{name: getattr(self, name) for name in names}))


PLAIN = Modifiers()


def agreed(one: Any, two: Any) -> Any:
    """Return the value of a property; raise `Rejected` for two values."""
    reject_if(one is not None and two is not None and one != two)
    return two if one is None else one


@dataclass(frozen=True)
class Outside:
    """A cell outside the zone."""

    cell: Cell


@dataclass(frozen=True)
class InColor:
    """The colour of what the instruction before it places: "make it two taller, in yellow"."""

    color: int
