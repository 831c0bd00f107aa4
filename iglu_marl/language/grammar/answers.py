"""Makers of the answer rules: values that fill what an instruction lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iglu_marl.language.grammar.makers import MAKERS as MAKERS
from iglu_marl.language.grammar.makers import define
from iglu_marl.language.meaning.references import Anaphor, Blocks

_ANY = Blocks()


@dataclass(frozen=True)
class Selection:
    """One of several things: by a noun phrase, or by its number of blocks.

    every: all of them, `number` in total. free: the builder may choose.
    """

    core: Blocks = _ANY
    every: bool = False
    number: int | None = None
    free: bool = False


define("Selection", Selection)


@dataclass(frozen=True)
class Asked:
    """A question: its kind, and what it names; "of" is the thing that it is about."""

    kind: str
    about: tuple[tuple[str, Any], ...] = ()

    @property
    def of_it(self) -> bool:
        """Whether it is about "it", or about nothing that it names."""
        return isinstance(dict(self.about).get("of", Anaphor()), Anaphor)


_ALL = Blocks(count=None)
# "x" is any words
define("asked", lambda kind, **about: Asked(kind, tuple((k, one) for k, one in about.items() if k != "x")))
define("asked_of_all", lambda kind: Asked(kind, (("of", _ALL),)))
define("of_all", lambda q: Asked(q.kind, tuple({**dict(q.about), "of": _ALL}.items())) if q.of_it else q)
define("put_claimed", lambda claim: Asked(claim.kind, (*claim.about, ("put", True))))
define("claimed", lambda claim, of=None: Asked(claim.kind, (*claim.about, ("of", of or Anaphor()))))
