"""Instructions in plain words, and reading them back.

`parse(render(instruction)) == instruction` for every instruction and every wording. What cannot be read gives a
`Failure` that says why, and never a guess: a text with two readings is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.language.blocks import (
    MAX_CHARACTERS,
    MAX_WORDS,
    CellEdit,
    EditKind,
    Failure,
    Reason,
    edit_wordings,
    read_edit,
    say_edit,
)
from iglu_marl.language.grammar import Grammar
from iglu_marl.language.phrasing import at_random, every, first, say_with, tersest
from iglu_marl.language.templates import number_of, template_words, templates, words
from iglu_marl.language.verbs import Instruction

__all__ = [
    "MAX_CHARACTERS",
    "MAX_WORDS",
    "CellEdit",
    "EditKind",
    "Failure",
    "Reason",
    "fits",
    "parse",
    "render",
    "wordings",
]

_TRIES = 20
# Reasons of the reader of edits that say more than "not understood".
_TELLING = (Reason.NO_COLOR, Reason.NO_HEIGHT, Reason.NO_PLACE, Reason.OUTSIDE)


def fits(text: str, max_words: int = MAX_WORDS, max_characters: int = MAX_CHARACTERS) -> bool:
    """Whether a text has so few words and characters."""
    return len(text) <= max_characters and len(words(text)) <= max_words


def wordings(instruction: Instruction) -> Iterator[str]:
    """Every wording of an instruction, each once, the preferred one first.

    Of an `CellEdit`, those that fit a message (16 words, 200 characters); of others all, however long.
    """
    if isinstance(instruction, CellEdit):
        yield from edit_wordings(instruction)
        return
    seen = set()
    for text in every(lambda choose: say_with(instruction, choose)):
        if text not in seen:
            seen.add(text)
            yield text


def render(
    instruction: Instruction,
    rng: np.random.Generator | None = None,
    *,
    max_words: int | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> str:
    """An instruction in words: the preferred wording, or with `rng` any of them.

    Wordings of at most 16 words are taken as far as there are any. max_words, max_characters: what a message of the
    chat holds (tokens: words); raises `DialogueError` when no wording is short enough.
    """
    if isinstance(instruction, CellEdit) and max_words is None:
        return say_edit(instruction, rng)
    wanted = MAX_WORDS if max_words is None else max_words
    if rng is not None:
        choose = at_random(rng)
        for _ in range(_TRIES):
            text = say_with(instruction, choose)
            if fits(text, wanted, max_characters):
                return text
    for choose in (first, tersest):
        text = say_with(instruction, choose)
        if fits(text, wanted, max_characters):
            return text
    if max_words is None and len(text) <= max_characters:
        return text
    raise DialogueError(
        f"no wording within {wanted} words and {max_characters} characters; the shortest is {text!r}"
    )


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    return frozenset(template_words())


def parse(text: str, *, generous: bool = False) -> Instruction | Failure:
    """The instruction in a text, or why there is none.

    Case, punctuation, spelling (centre, center), number words and synonyms do not matter. Several sentences make a
    `Then`. Words that are not in the vocabulary, and texts with more than one reading, are failures.

    generous: also reads instructions that leave something open, in the way in which people mostly mean them: a place
    without a height is on the ground; "3 blocks to the east of it" are a row going east, "3 blocks under it" a column
    going down; a column stands up; "red blocks" are all red blocks; adjectives such as "vertical" are passed over.
    """
    said = words(text)
    if not said:
        return Failure(Reason.EMPTY, "", text)
    known = _known_words()
    for word in said:
        if word not in known and number_of(word) is None:
            return Failure(Reason.UNKNOWN_WORD, word, text)
    edit = read_edit(said)
    if isinstance(edit, CellEdit):
        return edit
    grammar = Grammar(said, generous)
    readings = grammar.readings()
    if len(readings) == 1:
        return readings[0]
    if readings:
        return Failure(Reason.NOT_UNDERSTOOD, f"it can be read as {readings[0]} and as {readings[1]}", text)
    if edit.reason in _TELLING or _began_as_edit(edit, said):
        return Failure(edit.reason, edit.detail, text)
    if grammar.lacking:
        return Failure(grammar.lacking[-1], "", text)
    return Failure(Reason.NOT_UNDERSTOOD, " ".join(said[grammar.furthest :]) or edit.detail, text)


def _began_as_edit(failure: Failure, said: list[str]) -> bool:
    """Whether the reader of edits got past the block: then it knows best what is wrong."""
    blocks = {"block", *templates()["synonyms"]["block"]}
    blamed = words(failure.detail)
    return bool(blamed) and not blocks.isdisjoint(said[: -len(blamed)]) and blamed != said
