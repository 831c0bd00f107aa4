"""Instructions in plain words, and reading them back.

`parse(render(instruction)) == instruction` for every instruction and every wording. What cannot be read gives a
`Failure` that says why, and never a guess: a text with two readings is not understood.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
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
)
from iglu_marl.language.dialogue_acts import DialogueAct
from iglu_marl.language.grammar import scene_makers
from iglu_marl.language.grammar.inverses import INVERSES
from iglu_marl.language.grammar.makers import View
from iglu_marl.language.grammar.reader import grammar, read_text
from iglu_marl.language.grammar.speaker import (
    OneOf,
    Speaker,
    Together,
    Wording,
    any_of,
    by_weight,
    every,
    plainest,
    spelled,
)
from iglu_marl.language.references import Context, Where
from iglu_marl.language.templates import words
from iglu_marl.language.verbs import Facing, Instruction, Pick, Then

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
    "render_place",
    "say",
    "wordings",
]

_TRIES = 20


def fits(text: str, max_words: int = MAX_WORDS, max_characters: int = MAX_CHARACTERS) -> bool:
    """Whether a text has so few words and characters."""
    return len(text) <= max_characters and len(words(text)) <= max_words


@lru_cache(maxsize=1)
def speaker() -> Speaker:
    """What says instructions and questions by the grammar by which they are read."""
    return Speaker(grammar(), INVERSES | scene_makers.INVERSES)


def _sentences(instruction: Instruction) -> Wording:
    """All ways to say an instruction, but for the last full stop."""
    if isinstance(instruction, Then):
        parts: list[Wording] = []
        for part in instruction.parts:
            parts += [".", OneOf(("", "then", "and"))] if parts else []
            parts.append(_sentences(part))
        return Together(tuple(parts))
    if isinstance(instruction, Facing):
        return Together((_said("viewed", View(instruction.view)), _sentences(instruction.then)))
    return _said("picked" if isinstance(instruction, Pick) else "clause", instruction)


def _said(category: str, value: object) -> Wording:
    said = speaker().wording(category, value)
    if said is None:
        raise DialogueError(f"there are no words for {value!r:.200}: it can be read, not said")
    return said


def _text(instruction: Instruction) -> Wording:
    return Together((_sentences(instruction), "."))


def wordings(instruction: Instruction) -> Iterator[str]:
    """Every wording of an instruction, each once, the preferred one first.

    Of an `CellEdit`, those that fit a message (16 words, 200 characters); of others all, however long.
    """
    seen = set()
    for text in map(spelled, every(_text(instruction))):
        if text not in seen and (fits(text) or not isinstance(instruction, CellEdit)):
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
    said = _text(instruction)
    wanted = MAX_WORDS if max_words is None else max_words
    if rng is not None:
        for _ in range(_TRIES):
            text = spelled(any_of(said, rng))
            if fits(text, wanted, max_characters):
                return text
    text = spelled(plainest(said))
    if fits(text, wanted, max_characters):
        return text
    by_words = by_weight(said, lambda word: len(words(word)))
    for found in reversed(by_words.values()):
        text = spelled(found)
        if fits(text, wanted, max_characters):
            return text
    text = spelled(next(iter(by_weight(said, lambda word: len(word) + 1).values())))
    if max_words is None and len(text) <= max_characters:
        return text
    raise DialogueError(
        f"no wording within {wanted} words and {max_characters} characters; the shortest is {text!r}"
    )


def render_place(where: Where) -> str:
    """A place in words, as it is said within a sentence: "2 blocks east of the centre, on the ground"."""
    return rendered("where", where)


def rendered(category: str, value: object, rng: np.random.Generator | None = None) -> str:
    """A value of a category of the grammar within a sentence: the preferred wording, or with `rng` any of them."""
    said = _said(category, value)
    return spelled(plainest(said) if rng is None else any_of(said, rng), sentence=False)


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
