"""Questions, statements and answers about scenes, in words."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from iglu_marl.language.grammar.instructions import rendered
from iglu_marl.language.grammar.reader import read_question
from iglu_marl.language.meaning.blocks import Failure
from iglu_marl.language.scene.graph import Thing
from iglu_marl.language.scene.noun_phrases import Phrase
from iglu_marl.language.scene.program import COLOR_WORDS
from iglu_marl.language.scene.questions import QUESTION, Question


def say_thing(thing: Thing) -> str:
    """Describe a thing: "a red tower of three blocks"."""
    size = None if thing.shape == "block" else thing.size
    if thing.color in COLOR_WORDS:
        return rendered("a_thing", Phrase(thing.shape, (thing.color,), size))
    return f"a {thing.color} {rendered('thing', Phrase(thing.shape, (), size))}"


def say_answer(value: Any) -> str:
    """Describe an answer: "yes", "3", "a red row of two blocks and a blue block", "nothing", "that is not clear".

    Of things that overlap, describe only the largest.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Thing):
        return say_thing(value)
    if isinstance(value, tuple):
        stated: list[Thing] = []
        for thing in sorted(value, key=lambda thing: (-thing.size, thing.number)):
            if not any(set(thing.cells) <= set(other.cells) for other in stated):
                stated.append(thing)
        return " and ".join(map(say_thing, stated)) or "nothing"
    return "that is not clear" if value is None else str(value)


def things_in_words(value: Any) -> Any:
    """Return an answer with its things in words."""
    return say_answer(value) if isinstance(value, (Thing, tuple)) else value


def question_text(question: Question, rng: np.random.Generator | None = None) -> str:
    """Return the preferred wording of a question or statement, or with `rng` a random one."""
    text = rendered(question.kind, question, rng)
    return f"{text[0].upper()}{text[1:]}{'?' if question.kind == QUESTION else '.'}"


def parse_question(text: str) -> Question | Failure:
    """Return the question or statement about a scene in a text, or a `Failure`, never a guess.

    Case, punctuation, number words and digits do not matter. A question mark makes a question.
    """
    return cast("Question | Failure", read_question(text))
