"""Block-by-block edits in plain words, and reading them back: the core that all instructions rest on.

Cells are told from the centre of the zone: so many blocks east or west and north or south of it, and a
height, 1 for the layer on the ground up to 9. `read_edit(words(say_edit(edit))) == edit` for every
edit and every wording. What cannot be read gives a `Failure` that says why, and never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import product
from operator import index
from typing import Any

import numpy as np

from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import Cell, Color, color_id, color_name, in_zone
from iglu_marl.language.templates import number_of, ordinal_digits, templates, words

MAX_WORDS = 16
MAX_CHARACTERS = 200

_GROUND_Y = -1


class EditKind(str, Enum):
    """What an instruction asks for. Members compare equal to their lower-case names."""

    PLACE = "place"
    REMOVE = "remove"
    REPLACE = "replace"

    __str__ = str.__str__


def _checked_color(color: Any, name: str, cell: Cell) -> int:
    if not isinstance(color, (int, np.integer)) or not 1 <= color <= 6:
        raise GridError(f"{name} of the edit at {cell} is {color!r}, expected a colour id 1..6")
    return int(color)


@dataclass(frozen=True)
class CellEdit:
    """One change of the world: `Edit("place", (0, -1, 0), color=6)`.

    action: place, remove or replace. cell: (x, y, z). color: the id 1..6 that is to be there (place,
        replace).
    old_color: the id 1..6 that is there, where it is named (remove, replace).

    Raises `GridError` for cells outside the zone and colours that do not fit the action.
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
                raise GridError(
                    f"the removal at {self.cell} has color={self.color!r}; name the block in old_color"
                )
        else:
            object.__setattr__(self, "color", _checked_color(self.color, "color", self.cell))
        if self.old_color is not None:
            if self.action is EditKind.PLACE:
                raise GridError(
                    f"the placement at {self.cell} has old_color={self.old_color!r}, expected None"
                )
            object.__setattr__(self, "old_color", _checked_color(self.old_color, "old_color", self.cell))
            if self.old_color == self.color:
                raise GridError(f"the edit at {self.cell} replaces colour {self.color} by itself")

    @classmethod
    def between(cls, cell: Cell, before: int, after: int) -> CellEdit:
        """The edit that turns colour id `before` at a cell into `after`; 0 is air. They have to differ."""
        if before == after:
            raise GridError(f"no edit turns {before} into {after} at {cell}")
        if before == Color.AIR:
            return cls(EditKind.PLACE, cell, color=after)
        if after == Color.AIR:
            return cls(EditKind.REMOVE, cell, old_color=before)
        return cls(EditKind.REPLACE, cell, color=after, old_color=before)

    @property
    def after(self) -> int:
        """The colour id at the cell when the edit is done; 0 after a removal."""
        return Color.AIR.value if self.color is None else self.color


class Reason(str, Enum):
    """Why a text is no instruction, or why an instruction cannot be followed."""

    # of texts
    EMPTY = "empty"  # nothing was said
    UNKNOWN_WORD = "unknown word"
    NOT_UNDERSTOOD = "not understood"  # known words, but no sentence of the grammar, or one with two meanings
    NO_COLOR = "no color"  # what to place, or what to change a block into, is not said
    NO_HEIGHT = "no height"
    NO_PLACE = "no place"
    NO_NUMBER = "no number"  # how long, how high, how far; or in a world, not as many blocks as places
    NO_DIRECTION = "no direction"
    OUTSIDE = "outside"  # a cell outside the zone
    # of instructions in a world
    AMBIGUOUS = "ambiguous"  # more than one thing or place fits the description
    NO_MATCH = "nothing matches"
    OCCUPIED = "occupied"
    WRONG_COLOR = "wrong color"  # the block there has another one
    NO_VIEW = "no view"  # left, right, front or behind, and it is not known how the builder stands

    __str__ = str.__str__


@dataclass(frozen=True)
class Failure:
    """A text that is no instruction, or an instruction that cannot be followed: why, what is to blame, the text.

    color: of the block in the way, for `WRONG_COLOR`. reference, choices: for `AMBIGUOUS`, the description and the
    things (groups of cells) that fit it.
    """

    reason: Reason
    detail: str
    text: str = ""
    color: int | None = None
    reference: Any = None
    choices: tuple[tuple[Cell, ...], ...] = ()

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


# -- saying


def _number(value: int, spelled: bool) -> str:
    return str(templates()["numbers"][value]) if spelled else str(value)


def place_fillings(x: int, z: int, swapped: bool, spelled: bool) -> tuple[str, dict[str, str]]:
    """Which list of phrases tells an offset from the centre, and what to fill into them."""
    steps = [(abs(x), "east" if x > 0 else "west"), (abs(z), "south" if z > 0 else "north")]
    if swapped:
        steps.reverse()
    steps = [step for step in steps if step[0]]
    if not steps:
        return "centre", {}
    (count, direction), *rest = steps
    fillings = {
        "n": _number(count, spelled),
        "blocks": "block" if count == 1 else "blocks",
        "direction": direction,
    }
    if not rest:
        return "straight", fillings
    return "corner", {**fillings, "n2": _number(rest[0][0], spelled), "direction2": rest[0][1]}


def _phrase(
    edit: CellEdit, sentence: str, where: str, height: str, place: str, swapped: bool, spelled: bool
) -> str:
    x, y, z = edit.cell
    level = y - _GROUND_Y + 1
    _, fillings = place_fillings(x, z, swapped, spelled)
    told = where.format(
        place=place.format(**fillings),
        height=height.format(n=_number(level, spelled), nth=templates()["ordinals"][level - 1]),
    )
    if edit.old_color is None:
        sentence = sentence.replace("{old} ", "")
    color = "" if edit.color is None else color_name(edit.color)
    old = "" if edit.old_color is None else color_name(edit.old_color)
    return sentence.format(a="an" if color[:1] in "aeiou" else "a", color=color, old=old, where=told)


def _options(edit: CellEdit) -> list[list[Any]]:
    """The choices that make up a wording, each with the preferred one first."""
    x, y, z = edit.cell
    kind, _ = place_fillings(x, z, False, False)
    all_of = templates()
    on_ground = y == _GROUND_Y
    return [
        all_of["instructions"][edit.action.value],
        all_of["where"][:: -1 if on_ground else 1],
        all_of["ground" if on_ground else "height"],
        all_of[kind],
        [False, True] if kind == "corner" else [False],
        [False, True],
    ]


def _fits(text: str) -> bool:
    return len(text) <= MAX_CHARACTERS and len(words(text)) <= MAX_WORDS


def edit_wordings(edit: CellEdit) -> Iterator[str]:
    """Every wording of an edit that fits a message (16 words, 200 characters), the preferred one first."""
    seen = set()
    for choices in product(*_options(edit)):
        text = _phrase(edit, *choices)
        if text not in seen and _fits(text):
            seen.add(text)
            yield text


def say_edit(edit: CellEdit, rng: np.random.Generator | None = None) -> str:
    """An instruction for an edit: the preferred wording, or with `rng` any of them."""
    if rng is not None:
        options = _options(edit)
        for _ in range(20):  # most wordings fit; the preferred one always does
            text = _phrase(edit, *(option[int(rng.integers(len(option)))] for option in options))
            if _fits(text):
                return text
    return next(edit_wordings(edit))


# -- reading


class _NoSentence(Exception):
    def __init__(self, reason: Reason, detail: str = "") -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


@lru_cache(maxsize=64)
def _group(name: str) -> frozenset[str]:
    return frozenset({name, *templates()["synonyms"].get(name, ())})


class _Reader:
    """Reads one instruction off a list of words, left to right, without guessing."""

    def __init__(self, said: list[str]) -> None:
        self.said = said
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        return self.said[self.at + ahead] if self.at + ahead < len(self.said) else ""

    def take(self, *allowed: str) -> bool:
        if self.peek() and self.peek() in allowed:
            self.at += 1
            return True
        return False

    def take_any(self, name: str) -> bool:
        return self.take(*_group(name))

    def expect(self, name: str) -> None:
        if not self.take_any(name):
            raise _NoSentence(Reason.NOT_UNDERSTOOD, self.rest())

    def rest(self) -> str:
        return " ".join(self.said[self.at :])

    def polite(self) -> None:
        while self.take(*templates()["polite"]):
            pass

    def color(self) -> int | None:
        if self.peek() in templates()["colors"]:
            self.at += 1
            return color_id(self.said[self.at - 1])
        return None

    def number_at(self, ahead: int) -> int | None:
        word, numbers = self.peek(ahead), templates()["numbers"]
        return numbers.index(word) if word in numbers else number_of(word)

    def instruction(self) -> CellEdit:
        self.polite()
        while self.take("and"):
            self.polite()
        verb = self.peek()
        action = _actions().get(verb)
        if action is None:
            raise _NoSentence(Reason.NOT_UNDERSTOOD, self.rest())
        self.at += 1
        edit = self.place() if action is EditKind.PLACE else self.change(action, verb)
        self.polite()
        if self.rest():
            raise _NoSentence(Reason.NOT_UNDERSTOOD, self.rest())
        return edit

    def place(self) -> CellEdit:
        self.take("a", "an", "one", "another", "1")
        color = self.color()
        self.expect("block")
        if color is None:
            raise _NoSentence(Reason.NO_COLOR)
        return CellEdit(EditKind.PLACE, self.where(), color=color)

    def change(self, action: EditKind, verb: str) -> CellEdit:
        away = verb == "take" and self.take("away")
        self.take("the")
        old = self.color()
        self.expect("block")
        cell = self.where()
        if action is EditKind.REMOVE:
            if verb == "take" and not away and not self.take("away"):
                raise _NoSentence(Reason.NOT_UNDERSTOOD, self.rest())
            return CellEdit(action, cell, old_color=old)
        joined = self.take_any("to")
        self.take("a", "an", "1")
        color = self.color()
        if color is None:
            raise _NoSentence(Reason.NOT_UNDERSTOOD if self.rest() else Reason.NO_COLOR, self.rest())
        if not joined and verb != "make":
            raise _NoSentence(Reason.NOT_UNDERSTOOD, self.rest())
        if not self.take("one"):
            self.take_any("block")
        if color == old:
            raise _NoSentence(Reason.NOT_UNDERSTOOD, f"{color_name(color)} to {color_name(color)}")
        return CellEdit(action, cell, color=color, old_color=old)

    def where(self) -> Cell:
        """The height and the place, in either order; both have to be told, once."""
        level: int | None = None
        offset: tuple[int, int] | None = None
        while True:
            start = self.at
            if (level is not None or offset is not None) and self.peek() == "and":
                self.at += 1
            if level is None and (level := self.height()) is not None:
                continue
            if offset is None and (offset := self.offset()) is not None:
                continue
            self.at = start
            break
        if offset is None or level is None:
            lacking = Reason.NO_PLACE if offset is None else Reason.NO_HEIGHT
            # Words that could have told it, but did not: better not understood than said to be missing.
            bare = not self.rest() or self.peek() in {
                "to",
                "with",
                "into",
                "by",
                "away",
                *templates()["colors"],
            }
            raise _NoSentence(lacking if bare else Reason.NOT_UNDERSTOOD, "" if bare else self.rest())
        x, z = offset
        y = level - 1 + _GROUND_Y
        if not in_zone(x, y, z):
            raise _NoSentence(Reason.OUTSIDE, f"({x}, {y}, {z})")
        return x, y, z

    def height(self) -> int | None:
        """`on the ground` | `at height 3` | `on level 3` | `on the third level`: the layer, from 1."""
        start = self.at
        if self.take("at", "on", "in"):
            the = self.take("the")
            if the and self.take_any("ground"):
                return 1
            ordinal = _ordinals().get(self.peek())
            if the and ordinal is not None and self.peek(1) in _group("level"):
                self.at += 2
                return ordinal
            number = self.number_at(1)
            if not the and number is not None and self.peek() in {"height", *_group("level")}:
                self.at += 2
                return number
        self.at = start
        return None

    def offset(self) -> tuple[int, int] | None:
        """`at the centre` | `2 blocks east and 3 north of the centre`: the steps (x, z) from the centre."""
        start = self.at
        if self.take("at", "in", "on") and self.take("the") and self.take_any("centre"):
            return 0, 0
        self.at = start
        first = self.step()
        if first is None:
            return None
        x, z = first[0]
        between = self.at
        self.take("and")
        second = self.step()
        if second is None:
            self.at = between
        elif second[1] == first[1]:
            raise _NoSentence(Reason.NOT_UNDERSTOOD, " ".join(self.said[start : self.at]))
        else:
            x, z = x + second[0][0], z + second[0][1]
        between = self.at
        if self.take_any("of"):
            self.take("the")
            if not self.take_any("centre"):
                self.at = between
        return x, z

    def step(self) -> tuple[tuple[int, int], str] | None:
        """`2 blocks east`: the step (x, z) and its axis."""
        number = self.number_at(0)
        if number is None:
            return None
        ahead = 2 if self.peek(1) in _group("block") else 1
        steps = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
        direction = self.peek(ahead)
        if direction not in steps:
            return None
        self.at += ahead + 1
        x, z = steps[direction]
        return (x * number, z * number), "x" if x else "z"


@lru_cache(maxsize=1)
def _actions() -> dict[str, EditKind]:
    """What each verb asks for: the verbs that the templates begin with, and their synonyms."""
    return {
        verb: action
        for action in EditKind
        for verb in (
            *_group(action.value),
            *(words(sentence)[0] for sentence in templates()["instructions"][action.value]),
        )
    }


@lru_cache(maxsize=1)
def _ordinals() -> dict[str, int]:
    numbered = list(enumerate(templates()["ordinals"], start=1))
    return {word: n for n, word in numbered} | {ordinal_digits(n): n for n, _ in numbered}


def read_edit(said: list[str]) -> CellEdit | Failure:
    """The edit that known words ask for, or why they do not.

    The order of height and place does not matter.
    """
    reader = _Reader(said)
    try:
        return reader.instruction()
    except _NoSentence as failure:
        return Failure(failure.reason, failure.detail)
