"""Questions and statements about a scene: values with a program.

The templates are in `questions.json`, their words in the grammar. `parse(question.text(rng)) == question` for every
question, template and wording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from iglu_marl.core.errors import LanguageError
from iglu_marl.language.scene.noun_phrases import Phrase
from iglu_marl.language.scene.program import (
    COLOR_WORDS,
    DIRECTIONS,
    FUNCTIONS,
    MAX_HEIGHT,
    RELATIONS,
    SHAPE_NAMES,
    Program,
)

STATEMENT, QUESTION = "statement", "question"
KINDS = (STATEMENT, QUESTION)
MAX_COUNT = 20  # largest number of things


@dataclass(frozen=True)
class Slot:
    """Values that fit a slot of a template.

    Args:
        kind: "A" and "B" phrases, "R" a relation, "C" a colour, "H" the height of a top, "V" the level of a bottom,
            "E" the direction of an extreme, "N" a number of `low` or more.
        depth: maximum depth of references in a phrase.
        colors: numbers of colours that a phrase may have.
        single, flat: whether a phrase may be of single blocks, and of shapes that are always flat.
        size, height, likeness, joined, extreme: whether a phrase may have these.

    """

    kind: str
    low: int = 0
    depth: int = 0
    colors: tuple[int, ...] = (0, 1)
    single: bool = True
    flat: bool = True
    size: bool = True
    height: bool = True
    likeness: bool = True
    joined: bool = False
    extreme: bool = False

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes that fit."""
        out = {"block"} if not self.single else set() if self.flat else {"block", "row"}
        return tuple(name for name in SHAPE_NAMES if name not in out)

    def admits(self, value: Any) -> bool:
        """Return whether a value fits."""
        if self.kind in ("A", "B"):
            return isinstance(value, Phrase) and self._admits_phrase(value)
        if self.kind == "R":
            return value in RELATIONS
        if self.kind == "C":
            return value in COLOR_WORDS
        if self.kind == "E":
            return value in DIRECTIONS
        low, high = (1, MAX_HEIGHT) if self.kind in "HV" else (self.low, MAX_COUNT)
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    def _admits_phrase(self, phrase: Phrase) -> bool:
        stated = phrase.height is not None or phrase.level is not None
        if (
            phrase.shape not in self.shapes
            or len(phrase.colors) not in self.colors
            or phrase.depth > self.depth
            or (phrase.size is not None and not self.size)
            or (stated and not self.height)
            or (phrase.extreme is not None and not self.extreme)
            or (phrase.joined is not None and not self.joined)
        ):
            return False
        for link in phrase.links:
            if link.relation not in RELATIONS and not self.likeness:
                return False
            # A reference has at most one colour; inside a pair it has no references.
            reference = _THE_ONE if link.definite else _ANY_ONE
            if not reference.admits(link.to) or (phrase.joined is not None and link.to.depth > 0):
                return False
        return True


_ANY_ONE = Slot("A", depth=9, likeness=False)
_THE_ONE = Slot("A", depth=9, likeness=False, extreme=True)


@dataclass(frozen=True)
class Template:
    """One entry of `questions.json`: a program with slots. kinds: whether it is a question, a statement or both."""

    name: str
    pattern: Any
    kinds: tuple[str, ...]
    slots: Mapping[str, Slot]

    @cached_property
    def definite(self) -> frozenset[str]:
        """The slots whose phrases name one thing."""
        return frozenset(_definite(self.pattern))

    def program(self, fillings: Mapping[str, Any]) -> Program:
        """Return the program with its slots filled."""
        return _filled(self.pattern, fillings)


def _definite(pattern: Any) -> Iterator[str]:
    if isinstance(pattern, list):
        if pattern[0] == "unique" and isinstance(pattern[1], str):
            yield pattern[1]
        for part in pattern[1:]:
            yield from _definite(part)


def _filled(pattern: Any, fillings: Mapping[str, Any]) -> Program:
    if isinstance(pattern, list):
        name, *arguments = pattern
        signature = FUNCTIONS[name]
        one = fillings.get(arguments[0]) if name == "unique" and isinstance(arguments[0], str) else None
        if one is not None:
            return Program("unique", (one.meant,))
        inputs = tuple(_filled(part, fillings) for part in arguments[: len(signature.inputs)])
        value = arguments[-1] if signature.value is not None else None
        return Program(name, inputs, fillings.get(value, value) if isinstance(value, str) else value)
    filling = fillings.get(pattern, pattern) if isinstance(pattern, str) else pattern
    if isinstance(filling, Phrase):
        return filling.program
    return Program("number" if isinstance(filling, int) else "color", (), filling)


def _leaves(pattern: Any) -> Iterator[Any]:
    for part in pattern[1:]:
        if isinstance(part, list):
            yield from _leaves(part)
        else:
            yield part


def _slots(described: Mapping[str, Any], program: Any) -> dict[str, Slot]:
    definite = set(_definite(program))
    found = {}
    for name in sorted({part for part in _leaves(program) if isinstance(part, str) and part.isupper()}):
        options: dict[str, Any] = dict(described.get(name, {}))
        options |= {key: tuple(value) for key, value in options.items() if isinstance(value, list)}
        found[name] = Slot(name, extreme=name in definite, **options)
    return found


@lru_cache(maxsize=1)
def question_templates() -> dict[str, Template]:
    """Return all templates by name."""
    file = resources.files("iglu_marl.language").joinpath("questions.json")
    found = {}
    for entry in json.loads(file.read_text(encoding="utf-8"))["templates"]:
        name, program = entry["name"], entry["program"]
        kinds = tuple(entry.get("kinds", KINDS))
        found[name] = Template(name, program, kinds, _slots(entry["slots"], program))
    return found


@dataclass(frozen=True)
class Question:
    """A question or statement: a template with its slots filled.

    template: a name in `question_templates()`. kind: "question" or "statement". fillings: (slot, value) pairs, sorted.
    Raises `LanguageError` if a name is unknown, a slot is missing, or a value does not fit.
    """

    template: str
    kind: str
    fillings: tuple[tuple[str, Any], ...]

    def __post_init__(self) -> None:
        template = question_templates().get(self.template)
        if template is None:
            raise LanguageError(
                f"unknown template {self.template!r}, expected one of {', '.join(question_templates())}"
            )
        if self.kind not in template.kinds:
            raise LanguageError(
                f"template {self.template} has kind {self.kind!r}, expected {' or '.join(template.kinds)}"
            )
        if tuple(name for name, _ in self.fillings) != tuple(template.slots):
            raise LanguageError(
                f"template {self.template} is filled in {[name for name, _ in self.fillings]}, "
                f"expected {list(template.slots)}"
            )
        for name, value in self.fillings:
            if not template.slots[name].admits(value):
                raise LanguageError(f"{value!r:.200} does not fit slot {name} of template {self.template}")

    @classmethod
    def of(cls, template: str, kind: str, **fillings: Any) -> Question:
        """Make a question: `Question.of("exist", "statement", A=Phrase("block", ("red",)))`."""
        return cls(template, kind, tuple(sorted(fillings.items())))

    @cached_property
    def program(self) -> Program:
        """The program of the question or statement."""
        return question_templates()[self.template].program(dict(self.fillings))
