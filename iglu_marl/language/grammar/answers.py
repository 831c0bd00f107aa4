"""Makers of the answer rules: values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.language.grammar.makers import CORNERS, define, maker
from iglu_marl.language.grammar.makers import MAKERS as MAKERS
from iglu_marl.language.meaning.context import Resolution
from iglu_marl.language.meaning.references import Anaphor, Blocks, Spot, resolve
from iglu_marl.language.meaning.regions import FLOOR


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
            found: set[Any] = {setting.color_at(cell) for item in items for cell in item}
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

    what: the "edge" of the zone, a "level", the "top" of something, a final "size", or "square".
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
define("put_claimed", lambda claim: Asked(claim.kind, (*claim.about, ("put", True))))
define("claimed", lambda claim, of=None: Asked(claim.kind, (*claim.about, ("of", of or Anaphor()))))
