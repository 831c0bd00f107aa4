"""Questions and statements about a scene: values with a program, any of many wordings, and reading those back.

The templates stand in `questions.json`. `parse(question.text(rng)) == question` for every question, template
and wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from iglu_marl.core.errors import LanguageError
from iglu_marl.language.blocks import Failure, Reason
from iglu_marl.language.phrases import (
    Choose,
    Phrase,
    PhraseReader,
    chooser,
    data,
    say_height,
    say_level,
    say_link,
    say_number,
    with_article,
)
from iglu_marl.language.scene.program import (
    COLOR_WORDS,
    DIRECTIONS,
    FUNCTIONS,
    MAX_HEIGHT,
    RELATIONS,
    SHAPE_NAMES,
    Program,
)
from iglu_marl.language.templates import number_of, words
from iglu_marl.language.templates import templates as instruction_data

STATEMENT, QUESTION = "statement", "question"
KINDS = (STATEMENT, QUESTION)
MAX_COUNT = 20  # the largest number of things that is spoken of
_READ = {"H": "height", "V": "level", "E": "extremes", "R": "links"}
_SLOT = re.compile(r"\{([a-zA-Z]+)(?::([#\w]+))?\}")


@dataclass(frozen=True)
class Slot:
    """What may stand in a place of a template.

    kind: "A" and "B" phrases, "R" a relation, "C" a colour, "H" the height of a top, "V" the level of a bottom, "E" the
    direction of an extreme, "N" a number of `low` or more. The rest is for phrases: how deep references may go, how
    many colours there may be, whether single blocks and what is always flat may be meant, whether size, height (and
    level), an extreme, likeness ("of the same color as") and two joined links may be told.
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
        """The shapes that may be meant."""
        out = {"block"} if not self.single else set() if self.flat else {"block", "row"}
        return tuple(name for name in SHAPE_NAMES if name not in out)

    def admits(self, value: Any) -> bool:
        """Whether a value may stand here."""
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
        if (
            phrase.shape not in self.shapes
            or len(phrase.colors) not in self.colors
            or phrase.depth > self.depth
        ):
            return False
        told = phrase.height is not None or phrase.level is not None
        if (phrase.size is not None and not self.size) or (told and not self.height):
            return False
        if phrase.extreme is not None and not self.extreme:
            return False
        if phrase.joined is not None and not self.joined:
            return False
        for link in phrase.links:
            if link.relation not in RELATIONS and not self.likeness:
                return False
            # A reference names one thing, so it has one colour at most; inside a pair it is simple.
            reference = _THE_ONE if link.definite else _ANY_ONE
            if not reference.admits(link.to) or (phrase.joined is not None and link.to.depth > 0):
                return False
        return True


_ANY_ONE = Slot("A", depth=9, likeness=False)
_THE_ONE = Slot("A", depth=9, likeness=False, extreme=True)


@dataclass(frozen=True)
class Template:
    """One pattern of `questions.json`: a program with places to fill, and its wordings."""

    name: str
    pattern: Any
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    slots: Mapping[str, Slot]

    def wordings(self, kind: str) -> tuple[str, ...]:
        """The wordings of a kind, the preferred one first."""
        return self.statements if kind == STATEMENT else self.questions

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that it has wordings for."""
        return tuple(kind for kind in KINDS if self.wordings(kind))

    @cached_property
    def definite(self) -> frozenset[str]:
        """The places whose phrases name one thing."""
        return frozenset(_definite(self.pattern))

    def program(self, fillings: Mapping[str, Any]) -> Program:
        """The program with its places filled."""
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


def _slots(described: Mapping[str, Any], texts: list[str], definite: set[str]) -> dict[str, Slot]:
    parts = {part for text in texts for match in _SLOT.finditer(text) for part in match.groups("")}
    names = sorted({part.removeprefix("#") for part in parts if part.removeprefix("#").isupper()})
    found = {}
    for name in names:
        options: dict[str, Any] = dict(described.get(name, {}))
        options |= {key: tuple(value) for key, value in options.items() if isinstance(value, list)}
        found[name] = Slot(name, extreme=name in definite, **options)
    return found


@lru_cache(maxsize=1)
def question_templates() -> dict[str, Template]:
    """All templates, by name."""
    found = {}
    for entry in data()["templates"]:
        statements, questions = entry.get("statements", []), entry.get("questions", [])
        slots = _slots(entry.get("slots", {}), statements + questions, set(_definite(entry["program"])))
        template = Template(entry["name"], entry["program"], tuple(statements), tuple(questions), slots)
        found[template.name] = template
    return found


@dataclass(frozen=True)
class Question:
    """A question or statement: a template with its places filled.

    template: a name in `question_templates()`. kind: "question" or "statement". fillings: (place, value)
    pairs, in the order of their names.

    Raises `LanguageError` for unknown names, for places that are missing, and for values that may not stand there.
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
                f"template {self.template} is no {self.kind!r}, expected {' or '.join(template.kinds)}"
            )
        if tuple(name for name, _ in self.fillings) != tuple(template.slots):
            raise LanguageError(
                f"template {self.template} is filled in {[name for name, _ in self.fillings]}, "
                f"expected {list(template.slots)}"
            )
        for name, value in self.fillings:
            if not template.slots[name].admits(value):
                raise LanguageError(
                    f"{value!r:.200} may not stand in place {name} of template {self.template}"
                )

    @classmethod
    def of(cls, template: str, kind: str, **fillings: Any) -> Question:
        """`Question.of("exist", "statement", A=Phrase("block", ("red",)))`."""
        return cls(template, kind, tuple(sorted(fillings.items())))

    @cached_property
    def program(self) -> Program:
        """What it asks, or states."""
        return question_templates()[self.template].program(dict(self.fillings))

    def text(self, rng: np.random.Generator | None = None) -> str:
        """Its preferred wording, or with `rng` a random one."""
        choose = chooser(rng)
        wording = choose(question_templates()[self.template].wordings(self.kind))
        fillings = dict(self.fillings)
        said = _SLOT.sub(lambda match: _say_slot(match[1], match[2], fillings, choose), wording)
        return said[0].upper() + said[1:]

    @property
    def is_possible(self) -> bool:
        """False for what no world can hold (see `Phrase.is_possible`), and for numbers that nothing can have."""
        fillings = dict(self.fillings)
        phrase, number = fillings["A"], fillings.get("N", 0)
        if self.template in ("count_is", "at_least") and not phrase.can_be(number):
            return False
        if self.template == "more_than" and not phrase.can_be(number + 1):
            return False
        if self.template == "size_is" and number not in phrase.sizes:
            return False
        if self.template == "tall_is" and all(top - level + 1 != number for level, top in phrase.spans):
            return False
        for name, told in (("H", "height"), ("V", "level")):
            if name in fillings and not replace(phrase, **{told: fillings[name]}).spans:
                return False
        return all(value.is_possible for value in fillings.values() if isinstance(value, Phrase))

    def __str__(self) -> str:
        return self.text()


def _say_slot(name: str, form: str | None, fillings: Mapping[str, Any], choose: Choose) -> str:
    if name == "is":
        return "is" if fillings[form or ""] == 1 else "are"
    value = fillings[name]
    if name == "N":
        return say_number(value, choose)
    if name == "H":
        return say_height(value, choose)
    if name == "V":
        return say_level(value, choose)
    if name == "E":
        return str(choose(data()["extremes"][value]))
    if name == "R":
        return say_link(value, choose)
    if name == "C":
        return str(value)
    return _say_phrase(value, form or "n", fillings, choose)


def _say_phrase(phrase: Phrase, form: str, fillings: Mapping[str, Any], choose: Choose) -> str:
    if form == "s":
        return phrase.say(True, choose)
    if form.startswith("#"):
        number = fillings[form[1:]]
        return f"{say_number(number, choose)} {phrase.say(number != 1, choose)}"
    if form == "n":
        return phrase.say(choose=choose)
    said = with_article(phrase.say(choose=choose), form == "the")
    return f"the{said}" if form == "the" else said


# -- reading


@dataclass(frozen=True)
class _Wording:
    template: Template
    kind: str
    parts: tuple[Any, ...]  # words, and (place, form) for what is filled in


@lru_cache(maxsize=1)
def _wordings() -> tuple[_Wording, ...]:
    found = []
    for template in question_templates().values():
        for kind in template.kinds:
            for text in template.wordings(kind):
                parts: list[Any] = []
                at = 0
                for match in _SLOT.finditer(text):
                    parts += words(text[at : match.start()])
                    parts.append((match[1], match[2]))
                    at = match.end()
                parts += [word for word in words(text[at:]) if word != "?"]
                found.append(_Wording(template, kind, tuple(parts)))
    return tuple(found)


def _matches(
    reader: PhraseReader, wording: _Wording, index: int, at: int, filled: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Every way to read the rest of a wording from a position to the end."""
    while index < len(wording.parts) and isinstance(wording.parts[index], str):
        if reader.word(at) != wording.parts[index]:
            return
        index, at = index + 1, at + 1
    if index == len(wording.parts):
        if at == len(reader.said):
            yield filled
        return
    name, form = wording.parts[index]
    for value, end in _fill(reader, wording.template, name, form, at, filled):
        more = filled if name == "is" else {**filled, **value}
        yield from _matches(reader, wording, index + 1, end, more)


def _fill(
    reader: PhraseReader, template: Template, name: str, form: str | None, at: int, filled: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], int]]:
    """What can stand in a place at a position: the values it gives, and where it ends."""
    if name == "is":
        if reader.word(at) in ("is", "are"):
            yield {}, at + 1
        return
    if name == "N":
        found: list[tuple[dict[str, Any], int]] = [({name: value}, end) for value, end in reader.number(at)]
    elif name in _READ:
        found = [({name: value}, end) for value, end in reader.read(_READ[name], at)]
    elif name == "C":
        found = [({name: reader.word(at)}, at + 1)]
    elif form is not None and form.startswith("#"):
        found = [
            ({form[1:]: number, name: phrase}, end)
            for number, after in reader.number(at)
            for phrase, end in reader.phrase(after)
        ]
    elif form in ("a", "the"):
        articles = ("the",) if form == "the" else ("a", "an")
        found = (
            [({name: phrase}, end) for phrase, end in reader.phrase(at + 1, form == "the")]
            if reader.word(at) in articles
            else []
        )
    else:
        found = [({name: phrase}, end) for phrase, end in reader.phrase(at)]
    for values, end in found:
        if all(template.slots[place].admits(value) for place, value in values.items()):
            yield values, end


def _readings(said: list[str]) -> list[Question]:
    asked = "?" in said
    reader = PhraseReader([word for word in said if word != "?"])
    found: dict[Question, None] = {}
    for wording in _wordings():
        if isinstance(wording.parts[0], str) and wording.parts[0] != reader.word(0):
            continue
        if asked and wording.kind == STATEMENT:
            continue
        for filled in _matches(reader, wording, 0, 0, {}):
            found.setdefault(Question.of(wording.template.name, wording.kind, **filled))
    return list(found)


def parse(text: str) -> Question | Failure:
    """The question or statement that a text is, or why it is none.

    Case, punctuation, number words and digits, and the ways to say a height do not matter; a question mark makes a
    question. Unknown words, and known ones in no order of a template, give a `Failure`, never a guess.
    """
    said = words(text)
    if not said:
        return Failure(Reason.EMPTY, "", text)
    known = question_words()
    for word in said:
        if word not in known and number_of(word) is None:
            return Failure(Reason.UNKNOWN_WORD, word, text)
    found = _readings(said)
    if len(found) == 1:
        return found[0]
    return Failure(Reason.NOT_UNDERSTOOD, "two readings" if found else " ".join(said), text)


@lru_cache(maxsize=1)
def question_words() -> dict[str, None]:
    """Every word that a question or statement can hold, in a fixed order."""
    content = data()
    texts = [
        "the a an is are that either and or ?",
        " ".join(COLOR_WORDS),
        " ".join(instruction_data()["numbers"]),
    ]
    texts += [word for forms in content["nouns"].values() for pair in forms for word in pair]
    texts += [
        text for part in ("relations", "likeness") for forms in content[part].values() for text in forms
    ]
    texts += [
        *content["ground"],
        *content["height"],
        *content["level"],
        *content["ends"].values(),
        *[text for texts in content["extremes"].values() for text in texts],
        content["size"],
        " ".join(instruction_data()["ordinals"]),
    ]
    for template in question_templates().values():
        texts += [*template.statements, *template.questions]
    texts += [str(number) for number in range(MAX_COUNT + 1)]
    texts += ["1st 2nd 3rd 4th 5th 6th 7th 8th 9th"]
    return dict.fromkeys(word for text in texts for word in words(re.sub(r"\{[^}]*\}", " ", text)))
