"""Small talk around instructions: wordings of the scripted pair, and their reader."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import color_id, color_name
from iglu_marl.language.grammar.templates import templates, words


class DialogueAct(str, Enum):
    """Utterances besides instructions. Members compare equal to their names in `templates.json`."""

    # the architect's
    GREETING = "greeting"
    COMPLETE = "complete"
    TRY_AGAIN = "try_again"
    GIVE_UP = "give_up"
    OUT_OF_BLOCKS = "out_of_blocks"  # of a colour: the rest cannot be built
    MISPLACED = "misplaced"  # a wrong block
    MISCOLORED = "miscolored"  # a block of the wrong colour
    # the builder's
    DONE = "done"
    UNCHANGED = "unchanged"  # done, but a part changed nothing
    OKAY = "okay"
    NO_BLOCKS = "no_blocks"  # of a colour
    OCCUPIED = "occupied"
    NOTHING_THERE = "nothing_there"
    WRONG_COLOR = "wrong_color"  # of the block there
    UNREACHABLE = "unreachable"
    NOT_UNDERSTOOD = "not_understood"
    UNKNOWN_WORD = "unknown_word"
    UNKNOWN_NAMED = "unknown_named"  # names the word
    MEAN_OTHER = "mean_other"  # names the nearest known word
    NOT_READ = "not_read"  # names the part that was not understood
    OUTSIDE = "outside"
    WHICH_COLOR = "which_color"
    WHICH_HEIGHT = "which_height"
    WHICH_PLACE = "which_place"
    WHICH_ONE = "which_one"  # of several things that fit
    WHICH_BLOCK = "which_block"  # the same, of a colour
    WHICH_NUMBER = "which_number"
    WHICH_WAY = "which_way"
    WHAT_CHANGE = "what_change"  # since something is wrong
    NO_SUCH = "no_such"  # nothing fits

    __str__ = str.__str__


@dataclass(frozen=True)
class SmallTalk:
    """Small talk that was understood, and the colour id 1..6 that it names, if any."""

    talk: DialogueAct
    color: int | None = None


_FREE = re.compile(r"\{word\}|\{other\}")


def say(
    talk: DialogueAct | str,
    color: int | None = None,
    rng: np.random.Generator | None = None,
    word: str = "",
    other: str = "",
) -> str:
    """Return a wording of small talk: the preferred one, or with `rng` a random one.

    Raises `DialogueError` if the act is unknown, or a colour or word is missing or superfluous.

    Args:
        talk: the act.
        color: id 1..6 for `OUT_OF_BLOCKS`, `NO_BLOCKS` and `WRONG_COLOR`.
        rng: source of random wordings.
        word: for acts about a word, the word.
        other: for acts about two words, the second one.

    """
    try:
        forms = templates()["talk"][DialogueAct(talk).value]
    except ValueError:
        raise DialogueError(
            f"unknown dialogue act {talk!r}, expected one of {', '.join(DialogueAct)}"
        ) from None
    form: str = forms[0] if rng is None else forms[int(rng.integers(len(forms)))]
    if ("{color}" in form) != (color is not None):
        expected = "a color id 1..6" if color is None else "None, since it names no color"
        raise DialogueError(f"talk {str(talk)!r} got color={color!r}, expected {expected}")
    if ("{word}" in form) != bool(word) or ("{other}" in form) != bool(other):
        raise DialogueError(
            f"talk {str(talk)!r} got word={word!r} and other={other!r}, expected the words of {form!r}"
        )
    return form.format(color="" if color is None else color_name(color), word=word, other=other)


@lru_cache(maxsize=1)
def _meanings() -> dict[tuple[str, ...], SmallTalk]:
    meanings = {}
    for name, forms in templates()["talk"].items():
        for form in forms:
            if _FREE.search(form):
                continue
            for color in templates()["colors"] if "{color}" in form else [None]:
                said = SmallTalk(DialogueAct(name), None if color is None else color_id(color))
                meanings[tuple(words(form.format(color=color)))] = said
    return meanings


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[re.Pattern[str], DialogueAct]]:
    """Return small talk with free words as patterns."""
    found = []
    for name, forms in templates()["talk"].items():
        for form in forms:
            if _FREE.search(form):
                parts = [re.escape(" ".join(words(part))) for part in _FREE.split(form)]
                found.append((re.compile(" ?.+ ?".join(parts)), DialogueAct(name)))
    return sorted(found, key=lambda pair: -len(pair[0].pattern))


def parse_small_talk(text: str) -> SmallTalk | None:
    """Return the small talk in a text, whatever its case and punctuation; None if it is none."""
    said = words(text)
    known = _meanings().get(tuple(said))
    if known is not None:
        return known
    plain = " ".join(said)
    return next((SmallTalk(act) for pattern, act in _patterns() if pattern.fullmatch(plain)), None)
