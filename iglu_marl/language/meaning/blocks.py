"""Edits of one cell, to which all instructions reduce, and the reasons for failures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from operator import index
from typing import Any

import numpy as np

from iglu_marl.core.errors import ConfigError, GridError
from iglu_marl.core.grid import Cell, Color, in_zone

MAX_WORDS = 16
MAX_CHARACTERS = 200


class EditKind(str, Enum):
    """Kind of an edit. Members compare equal to their lower-case names."""

    PLACE = "place"
    REMOVE = "remove"
    REPLACE = "replace"

    __str__ = str.__str__


def _checked_color(color: Any, name: str, cell: Cell) -> int:
    if not isinstance(color, (int, np.integer)) or not 1 <= color <= 6:
        raise GridError(f"{name} of the edit at {cell} is {color!r}, expected a color id 1..6")
    return int(color)


class Instruction:
    """Base of all instructions, which are dataclasses.

    only_names: whether it gives a name and does nothing else.
    """

    only_names = False

    def expanded(self, before: tuple[Any, Any] | None) -> Any:
        """Return what it stands for, given the last instruction and the grid that it met: itself, see `Correct`."""
        return self

    def _worlds(self, setting: Any) -> list[Any]:
        """Return the worlds that it leads to, the most plausible first; raise `Unresolved` if there is none."""
        raise ConfigError(f"{type(self).__name__}() is no instruction, expected one of its subclasses")


@dataclass(frozen=True)
class CellEdit(Instruction):
    """One change of the world: `CellEdit("place", (0, -1, 0), color=6)`.

    Raises `GridError` if the cell is outside the zone, or a colour does not fit the action.

    Args:
        action: place, remove or replace.
        cell: (x, y, z).
        color: new id 1..6 (place, replace).
        old_color: id 1..6 of the present block, if named (remove, replace).

    """

    action: EditKind
    cell: Cell
    color: int | None = None
    old_color: int | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "action", EditKind(self.action))
        except ValueError:
            raise GridError(f"unknown edit {self.action!r}, expected place, remove or replace") from None
        try:
            x, y, z = (index(value) for value in self.cell)
        except (TypeError, ValueError):
            raise GridError(
                f"the cell of an edit is {self.cell!r}, expected three integers (x, y, z)"
            ) from None
        if not in_zone(x, y, z):
            raise GridError(f"edit at {(x, y, z)} lies outside the build zone (x, z in -5..5, y in -1..7)")
        object.__setattr__(self, "cell", (x, y, z))
        if self.action is EditKind.REMOVE:
            if self.color is not None:
                raise GridError(f"a removal at {self.cell} has color={self.color!r}; name it in old_color")
        else:
            object.__setattr__(self, "color", _checked_color(self.color, "color", self.cell))
        if self.old_color is not None:
            if self.action is EditKind.PLACE:
                raise GridError(
                    f"the placement at {self.cell} has old_color={self.old_color!r}, expected None"
                )
            object.__setattr__(self, "old_color", _checked_color(self.old_color, "old_color", self.cell))
            if self.old_color == self.color:
                raise GridError(f"the edit at {self.cell} replaces color {self.color} by itself")

    @classmethod
    def between(cls, cell: Cell, before: int, after: int) -> CellEdit:
        """Return the edit that changes a cell from colour id `before` to a different `after`; 0 is air."""
        if before == after:
            raise GridError(f"edit at {cell} changes {before} to {after}, expected two different color ids")
        if before == Color.AIR:
            return cls(EditKind.PLACE, cell, color=after)
        if after == Color.AIR:
            return cls(EditKind.REMOVE, cell, old_color=before)
        return cls(EditKind.REPLACE, cell, color=after, old_color=before)

    @property
    def after(self) -> int:
        """The colour id after the edit; 0 for a removal."""
        return Color.AIR.value if self.color is None else self.color


class Reason(str, Enum):
    """Why a text is not an instruction, or why an instruction cannot be followed."""

    # of texts
    EMPTY = "empty"
    UNKNOWN_WORD = "unknown word"
    NOT_UNDERSTOOD = "not understood"  # known words, but not one sentence of the grammar
    CONTRADICTION = "contradiction"  # the detail names what contradicts what
    NO_COLOR = "no color"  # of new or recoloured blocks
    NO_HEIGHT = "no height"
    NO_PLACE = "no place"
    NO_NUMBER = "no number"  # length, height, distance; or the numbers of blocks and places differ
    NO_DIRECTION = "no direction"
    OUTSIDE = "outside"  # a cell outside the zone
    # of instructions in a world
    AMBIGUOUS = "ambiguous"  # several things or places fit
    NO_MATCH = "nothing matches"
    OCCUPIED = "occupied"
    WRONG_COLOR = "wrong color"  # of the block there
    NO_VIEW = "no view"  # left, right, front or behind without the builder's pose

    __str__ = str.__str__


_PLACES = ("At", "Beside", "Between", "Corners", "Edge", "Level", "NextTo", "Sides", "Spot")
_MISSING = {
    Reason.UNKNOWN_WORD: "word",
    Reason.NO_COLOR: "color",
    Reason.NO_HEIGHT: "height",
    Reason.NO_PLACE: "place",
    Reason.NO_NUMBER: "count",
    Reason.NO_DIRECTION: "direction",
    Reason.NO_VIEW: "direction",
    Reason.NO_MATCH: "referent",
}


@dataclass(frozen=True)
class Failure:
    """A text that is not an instruction, or an instruction that cannot be followed. It is falsy.

    Args:
        reason: the kind of failure.
        detail: the words, colours or things that cause it.
        text: the text that was read.
        color: of the block in the way, for `WRONG_COLOR`.
        reference, choices: for `AMBIGUOUS`, the reference and the things (groups of cells) that fit it.
        suggestion: the nearest known thing, "" if there is none.
        partial: the instruction so far, if one thing is missing.

    """

    reason: Reason
    detail: str
    text: str = ""
    color: int | None = None
    reference: Any = None
    choices: tuple[tuple[Cell, ...], ...] = ()
    suggestion: str = ""
    partial: Any = None

    @property
    def missing(self) -> str | None:
        """What is missing: color, height, place, count, direction, referent or word; None = nothing."""
        if self.reason is Reason.AMBIGUOUS:
            return "place" if type(self.reference).__name__ in _PLACES else "referent"
        return _MISSING.get(self.reason)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


def walk(value: Any) -> Iterator[Any]:
    """Yield an instruction or a part of it, and all that it consists of."""
    yield value
    inside = value if isinstance(value, tuple) else ()
    if is_dataclass(value):
        inside = tuple(getattr(value, part.name) for part in fields(value))
    for part in inside:
        yield from walk(part)
