"""Random questions and statements about a scene: clear, and with balanced answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iglu_marl.core.errors import LanguageError
from iglu_marl.language.grammar.scene_sentences import question_text, things_in_words
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.graph import MIXED, Scene, Thing
from iglu_marl.language.scene.interpreter import Value, answer
from iglu_marl.language.scene.noun_phrases import LIKENESS, Link, Phrase
from iglu_marl.language.scene.program import (
    COLOR_WORDS,
    DIRECTIONS,
    EXTREMES,
    RELATIONS,
    SHAPE_NAMES,
    Program,
)
from iglu_marl.language.scene.questions import KINDS, Question, Slot, Template, question_templates

_TRIES = 200  # questions per scene
_TEMPLATE_TRIES = 15  # questions per template
_PICKS = 5  # references per question
_LARGEST_SHARE = 0.35  # of one number or name among a template's answers
_ONE = Slot("A", likeness=False, extreme=True)


@dataclass(frozen=True)
class Record:
    """A question or statement about one scene, its wording and its answer."""

    question: Question
    text: str
    answer: Value

    @property
    def program(self) -> Program:
        """The program of the question."""
        return self.question.program


class Generator:
    """Source of random questions and statements.

    Every "the" names exactly one thing of the scene, comparisons are of two things, and no answer is much more frequent
    than others. kinds: "question", "statement" or both. Raises `LanguageError` if a name is unknown.
    """

    def __init__(self, kinds: Iterable[str] = KINDS) -> None:
        self.kinds = read_names("kinds", kinds, KINDS)
        known = question_templates().values()
        self._choices = [(one, kind) for one in known for kind in one.kinds if kind in self.kinds]
        self._seen: dict[tuple[str, str], Counter[Value]] = {}

    def sample(self, scene: Scene, rng: np.random.Generator) -> Record:
        """Return a question or statement about a scene.

        Raises `LanguageError` if nothing can be asked about it.
        """
        for number in range(_TRIES):
            if number % _TEMPLATE_TRIES == 0:
                template, kind = self._choices[int(rng.integers(len(self._choices)))]
            question = self._draw(template, kind, scene, rng)
            if question is None:
                continue
            value = answer(question.program, scene)
            if (
                value is not None
                and self._is_sound(question, scene)
                and self._is_wanted(template, kind, value)
            ):
                return Record(question, question_text(question, rng), value)
        raise LanguageError(f"{_TRIES} tries gave no question about {scene!r} that is clear and balanced")

    def describe(self, scene: Scene, rng: np.random.Generator, count: int) -> list[Record]:
        """Return up to `count` different records about a scene."""
        found: dict[Program, Record] = {}
        for _ in range(3 * count):
            if len(found) == count:
                break
            try:
                record = self.sample(scene, rng)
            except LanguageError:
                break
            found.setdefault(record.program, record)
        return list(found.values())

    def _is_wanted(self, template: Template, kind: str, value: Value) -> bool:
        """Return whether an answer is not too frequent for its template; if so, count it."""
        seen = self._seen.setdefault((template.name, kind), Counter())
        value = things_in_words(value)
        if isinstance(value, bool):
            wanted = seen[value] <= seen[not value]
        else:
            wanted = seen[value] <= 1 + _LARGEST_SHARE * sum(seen.values())
        seen[value] += wanted
        return wanted

    @staticmethod
    def _is_sound(question: Question, scene: Scene) -> bool:
        """Return False for comparisons of a thing with itself, and for "all" of nothing."""
        fillings = dict(question.fillings)
        if question.template in ("all_color", "all_level"):
            return bool(answer(Program("exist", (fillings["A"].program,)), scene))
        if "B" not in fillings:
            return True
        if fillings["A"] == fillings["B"]:
            return False
        if any(
            part.function == "unique" and part.inputs[0] == fillings["A"].meant
            for part in question.program.walk()
        ):
            one, other = (Program("unique", (fillings[name].meant,)) for name in "AB")
            return answer(one, scene) != answer(other, scene)
        return True

    def _draw(self, template: Template, kind: str, scene: Scene, rng: np.random.Generator) -> Question | None:
        fillings: dict[str, Any] = {}
        for name, slot in template.slots.items():
            if slot.kind in ("A", "B"):
                draw = self._clear_phrase if name in template.definite else self._phrase
                fillings[name] = draw(slot, scene, rng)
        thing = _any_thing(scene, rng, SHAPE_NAMES)
        for name, slot in template.slots.items():
            if slot.kind == "R":
                fillings[name] = RELATIONS[int(rng.integers(len(RELATIONS)))]
            elif slot.kind == "C":
                fillings[name] = _color(thing, rng)
            elif slot.kind == "E":
                fillings[name] = DIRECTIONS[int(rng.integers(len(DIRECTIONS)))]
            elif slot.kind in ("H", "V"):
                true = None if thing is None else thing.height if slot.kind == "H" else thing.level
                fillings[name] = true if true and rng.random() < 0.7 else int(rng.integers(1, 4))
            elif slot.kind == "N":
                fillings[name] = self._number(template, fillings, scene, rng)
        if not all(template.slots[name].admits(value) for name, value in fillings.items()):
            return None
        return Question(template.name, kind, tuple((name, fillings[name]) for name in template.slots))

    @staticmethod
    def _number(template: Template, fillings: dict[str, Any], scene: Scene, rng: np.random.Generator) -> int:
        zero = Program("number", (), 0)
        program = template.program({**fillings, "N": 0})
        counted = next(part.inputs[0] for part in program.walk() if part.inputs[1:] == (zero,))
        true = answer(counted, scene)
        return int(true or 0) + int(rng.choice((0, 0, 1, -1, 2)))

    def _clear_phrase(
        self, slot: Slot, scene: Scene, rng: np.random.Generator, shapes: tuple[str, ...] = ()
    ) -> Phrase:
        for _ in range(_PICKS):
            phrase = self._phrase(slot, scene, rng, shapes, detailed=True)
            if slot.extreme and rng.random() < 0.2:
                way = EXTREMES[int(rng.integers(len(EXTREMES)))]
                phrase = replace(phrase, extreme=way, rank=1 + int(way != "middle" and rng.random() < 0.3))
            if _names_one(phrase, scene):
                break
        return phrase

    def _phrase(
        self,
        slot: Slot,
        scene: Scene,
        rng: np.random.Generator,
        shapes: tuple[str, ...] = (),
        detailed: bool = False,
    ) -> Phrase:
        """Return a phrase that fits a slot, mostly of something in the scene; detailed: with more attributes."""
        shapes = shapes or slot.shapes
        thing = _any_thing(scene, rng, shapes) if detailed or rng.random() < 0.85 else None
        if thing is None:
            return _any_phrase(slot, shapes, rng)
        colors = _colors(slot, thing, rng)
        often = 0.4 if detailed else 0.2
        size = thing.size if slot.size and thing.shape != "block" and rng.random() < often else None
        height = thing.height if slot.height and rng.random() < often / 2 else None
        level = thing.level if slot.height and height is None and rng.random() < often / 2 else None
        phrase = Phrase(thing.shape, colors, size, height, level=level)
        if slot.depth == 0 or rng.random() > (0.6 if not phrase.colors else 0.35):
            return phrase
        if slot.joined and rng.random() < 0.25:
            links = tuple(self._link(thing, replace(slot, depth=1), scene, rng) for _ in range(2))
            return replace(phrase, links=links, joined=("and", "or")[int(rng.integers(2))])
        return replace(phrase, links=(self._link(thing, slot, scene, rng),))

    def _link(self, thing: Thing, slot: Slot, scene: Scene, rng: np.random.Generator) -> Link:
        """Return a relation of a thing to another one that holds, or None after a few tries."""
        if slot.likeness and rng.random() < 0.15:
            likeness = LIKENESS[int(rng.integers(len(LIKENESS)))]
            return Link(likeness, self._clear_phrase(_ONE, scene, rng))
        relation, other = "", None
        for _ in range(_PICKS):
            other = _any_thing(scene, rng, SHAPE_NAMES)
            relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
            assert other is not None
            code = RELATIONS.index(relation)
            table = scene.table
            if kernels.related(table, len(table), scene.quarter, code, thing.number, other.number):
                break
        inner, shapes = replace(_ONE, depth=slot.depth - 1), (other.shape if other else "block",)
        if rng.random() < 0.35:
            return Link(relation, self._phrase(inner, scene, rng, shapes), definite=False)
        phrase = self._clear_phrase(inner, scene, rng, shapes)
        definite = _names_one(phrase, scene)
        return Link(relation, phrase if definite else replace(phrase, extreme=None, rank=1), definite)


def _names_one(phrase: Phrase, scene: Scene) -> bool:
    return bool(answer(Program("count", (phrase.meant,)), scene) == 1)


def read_names(what: str, names: Iterable[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Return known names, given one or several.

    Raises `LanguageError` if a name is unknown, or there are none.
    """
    if not isinstance(names, Iterable):
        raise LanguageError(f"{what} is {names!r:.80}, expected names from {', '.join(known)}")
    given = (names,) if isinstance(names, str) else tuple(names)
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise LanguageError(f"{what} holds {name!r:.80}, expected names from {', '.join(known)}")
    if not given:
        raise LanguageError(f"{what} is empty, expected names from {', '.join(known)}")
    return given


def _any_thing(scene: Scene, rng: np.random.Generator, shapes: tuple[str, ...]) -> Thing | None:
    """Return a random thing; each shape that exists is equally likely."""
    there = [found for shape in shapes if (found := scene.by_shape[shape])]
    if not there:
        return None
    found = there[int(rng.integers(len(there)))]
    if rng.random() < 0.35:  # most things lie on the ground
        found = tuple(thing for thing in found if thing.level > 1) or found
    return found[int(rng.integers(len(found)))]


def _any_phrase(slot: Slot, shapes: tuple[str, ...], rng: np.random.Generator) -> Phrase:
    """Return a phrase of something that the scene need not have."""
    shape = shapes[int(rng.integers(len(shapes)))]
    return Phrase(shape, (_color(None, rng),) if 1 in slot.colors and rng.random() < 0.9 else ())


def _colors(slot: Slot, thing: Thing, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the colours of a phrase about a thing: its own, with another one, or none."""
    if 1 not in slot.colors or thing.color == MIXED or (rng.random() >= 0.75 and thing.whole):
        return ()
    other = _color(None, rng)
    several = 2 in slot.colors and rng.random() < 0.2
    return tuple(dict.fromkeys((thing.color, other) if several else (thing.color,)))


def _color(thing: Thing | None, rng: np.random.Generator) -> str:
    if thing is not None and thing.color != MIXED and rng.random() < 0.6:
        return thing.color
    return COLOR_WORDS[int(rng.integers(len(COLOR_WORDS)))]
