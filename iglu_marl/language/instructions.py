"""Instructions in plain words, and reading them back.

`parse(render(instruction)) == instruction` for every instruction and every wording. What cannot be read gives a
`Failure` that says why, and never a guess: a text with two readings is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.language import dialogue_acts
from iglu_marl.language.blocks import (
    MAX_CHARACTERS,
    MAX_WORDS,
    CellEdit,
    EditKind,
    Failure,
    Reason,
    edit_wordings,
    say_edit,
)
from iglu_marl.language.dialogue_acts import DialogueAct
from iglu_marl.language.grammar.reader import read_text
from iglu_marl.language.phrasing import at_random, every, first, say_with, tersest
from iglu_marl.language.references import Context
from iglu_marl.language.templates import words
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
    "say",
    "wordings",
]

_TRIES = 20


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


def say(
    what: Instruction | DialogueAct | str,
    color: int | None = None,
    rng: np.random.Generator | None = None,
    **words: str,
) -> str:
    """An instruction, or small talk, in words: what `render` and `iglu_marl.language.dialogue_acts.say` say.

    Raises `DialogueError` for an instruction that can be read, not said.
    """
    if isinstance(what, str):  # acts are strings too
        return dialogue_acts.say(what, color, rng, **words)
    return render(what, rng)


def parse(text: str, context: Context | None = None) -> Instruction | Failure:
    """The instruction in a text, or why there is none.

    Case, punctuation, spelling (centre, center), number words and synonyms do not matter. Several sentences make a
    `Then`. Of several readings the plainest counts; when several are as plain, all are kept (`Either`), and
    the world decides. Words that are not known, and texts without a reading, are failures: nothing that was said is
    dropped.

    context: what is told may refer to; None = nothing. No word is read otherwise for it: what is referred to is looked
    up by `outcomes`.
    """
    return cast("Instruction | Failure", read_text(text))
