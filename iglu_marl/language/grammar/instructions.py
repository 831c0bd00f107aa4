"""Instructions in plain words, and their reader.

`parse(render(instruction)) == instruction` for every instruction and every wording. A text that cannot be read gives a
`Failure` with the reason, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import cast

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.language.grammar import dialogue_acts, scene_makers
from iglu_marl.language.grammar.any_wording import AnyWording
from iglu_marl.language.grammar.dialogue_acts import DialogueAct
from iglu_marl.language.grammar.inverses import INVERSES
from iglu_marl.language.grammar.modifiers import View
from iglu_marl.language.grammar.reader import grammar, read_text
from iglu_marl.language.grammar.speaker import (
    OneOf,
    Speaker,
    Together,
    Wording,
    any_of,
    by_weight,
    plainest,
    spelled,
)
from iglu_marl.language.grammar.templates import words
from iglu_marl.language.meaning.blocks import MAX_CHARACTERS, MAX_WORDS, Failure, walk
from iglu_marl.language.meaning.context import Context
from iglu_marl.language.meaning.references import Where
from iglu_marl.language.meaning.shapes import Noun
from iglu_marl.language.meaning.verbs import Build, Facing, Instruction, Pick, Sequence

_TRIES = 20


def fits(text: str, max_words: int = MAX_WORDS, max_characters: int = MAX_CHARACTERS) -> bool:
    """Return whether a text is within these numbers of words and characters."""
    return len(text) <= max_characters and len(words(text)) <= max_words


@lru_cache(maxsize=1)
def speaker() -> Speaker:
    """Return the speaker of the grammar."""
    return Speaker(grammar(), INVERSES | scene_makers.INVERSES)


@lru_cache(maxsize=1)
def _any_wording() -> AnyWording:
    return AnyWording(speaker())


def _sentences(instruction: Instruction, flags: frozenset[str]) -> Wording:
    if isinstance(instruction, Sequence):
        parts: list[Wording] = []
        for part in instruction.parts:
            parts += [".", OneOf(("", "then", "and"))] if parts else []
            parts.append(_sentences(part, flags))
        return Together(tuple(parts))
    if isinstance(instruction, Facing):
        return Together((_said("viewed", View(instruction.view)), _sentences(instruction.then, flags)))
    return _said("picked" if isinstance(instruction, Pick) else "clause", instruction, flags)


def _said(category: str, value: object, flags: frozenset[str] = frozenset()) -> Wording:
    said = speaker().wording(category, value, flags)
    if said is None:
        raise DialogueError(f"no wording of {value!r:.200}, expected an instruction that can be said")
    return said


def _text(instruction: Instruction, brief: bool = False) -> Wording:
    """Return the wordings of an instruction; brief: those for messages of few tokens."""
    return Together((_sentences(instruction, frozenset({"brief"} if brief else ())), "."))


_SENTENCES = ("clause", "remark", "naming", "amendment", "repeated", "holds")
"""Categories of whole sentences."""


def _by_any_rules(instruction: Instruction, error: DialogueError) -> Wording:
    """Return a wording by rules of which one at least is only read; raise the error if there is none.

    Such rules are not made for speaking, so what they say must read back to the same meaning.
    """
    words = " . ".join(map(" ".join, _sentences_by_any_rules(instruction, error))).split()
    text: Wording = Together((*words, "."))
    named = frozenset(part.word for part in walk(instruction) if isinstance(part, Noun))
    if read_text(spelled(plainest(text)), named) != instruction:
        raise error
    return text


def _sentences_by_any_rules(instruction: Instruction, error: DialogueError) -> Iterator[tuple[str, ...]]:
    if isinstance(instruction, Sequence):
        for part in instruction.parts:
            yield from _sentences_by_any_rules(part, error)
    elif isinstance(instruction, Facing):
        first, *rest = _sentences_by_any_rules(instruction.then, error)
        yield (*plainest(_said("viewed", View(instruction.view))), *first)
        yield from rest
    else:
        found = (_any_wording().words(category, instruction) for category in _SENTENCES)
        words = next((words for words in found if words is not None), None)
        if words is None:
            raise error
        yield words


def render(
    instruction: Instruction,
    rng: np.random.Generator | None = None,
    *,
    max_words: int | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> str:
    """Return an instruction in words: the preferred wording, or with `rng` a random one.

    Wordings of at most 16 words are preferred, but for shapes.
    Raises `DialogueError` if no wording is short enough, or the instruction can only be read.

    Args:
        instruction: what to say.
        rng: source of random wordings.
        max_words: capacity of a chat message (for tokens: in tokens).
        max_characters: capacity of a chat message.

    """
    return rendering(instruction, rng, max_words, max_characters)()


def rendering(
    instruction: Instruction,
    rng: np.random.Generator | None,
    max_words: int | None = None,
    max_characters: int = MAX_CHARACTERS,
) -> Callable[[], str]:
    """Make the random choices of `render`, and return a function that returns its text."""
    first = instruction.parts[0] if isinstance(instruction, Sequence) else instruction
    wanted = max_words or (max_characters if isinstance(first, Build) else MAX_WORDS)
    try:
        said = _text(instruction, brief=max_words is not None)
    except DialogueError as error:
        said = _by_any_rules(instruction, error)
    if rng is not None:
        for _ in range(_TRIES):
            text = spelled(any_of(said, rng))
            if fits(text, wanted, max_characters):
                return partial(str, text)
    return partial(_fitting, said, wanted, max_characters, max_words is None)


def _fitting(said: Wording, wanted: int, max_characters: int, longer: bool) -> str:
    """Return the preferred wording that fits. longer: whether it may have more than the wanted words."""
    text = spelled(plainest(said))
    if fits(text, wanted, max_characters):
        return text
    by_words = by_weight(said, lambda word: len(words(word)))
    for found in reversed(by_words.values()):
        text = spelled(found)
        if fits(text, wanted, max_characters):
            return text
    text = spelled(next(iter(by_weight(said, lambda word: len(word) + 1).values())))
    if longer and len(text) <= max_characters:
        return text
    raise DialogueError(
        f"no wording within {wanted} words and {max_characters} characters; the shortest is {text!r}"
    )


def render_place(where: Where) -> str:
    """Return a place in words, as within a sentence: "2 blocks east of the centre, on the ground"."""
    return rendered("where", where)


def rendered(category: str, value: object, rng: np.random.Generator | None = None) -> str:
    """Return a value of a grammar category in words: the preferred wording, or with `rng` a random one."""
    said = _said(category, value)
    return spelled(plainest(said) if rng is None else any_of(said, rng), sentence=False)


def say(
    what: Instruction | DialogueAct | str,
    color: int | None = None,
    rng: np.random.Generator | None = None,
    **words: str,
) -> str:
    """Return an instruction or small talk in words, by `render` or `iglu_marl.language.grammar.dialogue_acts.say`.

    Raises `DialogueError` if the instruction can only be read.
    """
    if isinstance(what, str):  # dialogue acts are strings
        return dialogue_acts.say(what, color, rng, **words)
    return render(what, rng)


def parse(text: str, context: Context | None = None) -> Instruction | Failure:
    """Return the instruction in a text, or a `Failure`.

    Case, punctuation, spelling (centre, center), number words and synonyms do not matter. Several sentences make a
    `Sequence`. The reading of least cost counts; several of them make an `Ambiguous`, which the world decides. An
    unknown word, or a text without a reading, is a failure: no word is ignored.

    context: its names can be used in the text; `outcomes` resolves references.
    """
    names = frozenset(context.names) if context is not None else frozenset()
    return cast("Instruction | Failure", read_text(text, names))
