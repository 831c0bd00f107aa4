"""The small talk around instructions: what the scripted pair says besides them, and reading it back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np

from iglu_marl.core.errors import DialogueError
from iglu_marl.core.grid import color_id, color_name
from iglu_marl.language.templates import templates, words


class DialogueAct(str, Enum):
    """What can be said besides instructions. Members compare equal to their names in `templates.json`."""

    # the architect's
    GREETING = "greeting"
    COMPLETE = "complete"
    TRY_AGAIN = "try_again"
    GIVE_UP = "give_up"
    MISPLACED = "misplaced"  # a block that does not belong there
    MISCOLORED = "miscolored"  # and one that has another colour there
    # the builder's
    DONE = "done"
    OKAY = "okay"
    NO_BLOCKS = "no_blocks"  # of a colour
    OCCUPIED = "occupied"
    NOTHING_THERE = "nothing_there"
    WRONG_COLOR = "wrong_color"  # the block there has this colour
    UNREACHABLE = "unreachable"
    NOT_UNDERSTOOD = "not_understood"
    UNKNOWN_WORD = "unknown_word"
    UNKNOWN_NAMED = "unknown_named"  # the same with the word
    MEAN_OTHER = "mean_other"  # and with the nearest one that is known
    TAKEN_FOR = "taken_for"  # a word was taken for a misspelt other one
    NOT_READ = "not_read"  # the part that was not understood
    WHICH_READING = "which_reading"  # of two meanings of what was said
    OUTSIDE = "outside"
    WHICH_COLOR = "which_color"
    WHICH_HEIGHT = "which_height"
    WHICH_PLACE = "which_place"
    WHICH_ONE = "which_one"  # of several things that a description fits
    WHICH_BLOCK = "which_block"  # the same, of a colour
    WHICH_NUMBER = "which_number"
    WHICH_WAY = "which_way"
    NO_SUCH = "no_such"  # a description that fits nothing

    __str__ = str.__str__


@dataclass(frozen=True)
class Said:
    """Small talk that was understood: what it says, and of which colour id 1..6 where it names one."""

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
    """A wording of small talk: the preferred one, or with `rng` any of them.

    color: the id 1..6 for `NO_BLOCKS` and `WRONG_COLOR`. word, other: what talk about words names. Raises
    `DialogueError` for unknown talk and for a colour or word that is missing or out of place.
    """
    try:
        forms = templates()["talk"][DialogueAct(talk).value]
    except ValueError:
        raise DialogueError(f"unknown talk {talk!r}, expected one of {', '.join(DialogueAct)}") from None
    form: str = forms[0] if rng is None else forms[int(rng.integers(len(forms)))]
    if ("{color}" in form) != (color is not None):
        expected = "a colour id 1..6" if color is None else "None, since it names no colour"
        raise DialogueError(f"talk {str(talk)!r} got color={color!r}, expected {expected}")
    if ("{word}" in form) != bool(word) or ("{other}" in form) != bool(other):
        raise DialogueError(
            f"talk {str(talk)!r} got word={word!r} and other={other!r}, expected the words of {form!r}"
        )
    return form.format(color="" if color is None else color_name(color), word=word, other=other)


@lru_cache(maxsize=1)
def _meanings() -> dict[tuple[str, ...], Said]:
    meanings = {}
    for name, forms in templates()["talk"].items():
        for form in forms:
            if _FREE.search(form):
                continue
            for color in templates()["colors"] if "{color}" in form else [None]:
                said = Said(DialogueAct(name), None if color is None else color_id(color))
                meanings[tuple(words(form.format(color=color)))] = said
    return meanings


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[re.Pattern[str], DialogueAct]]:
    """Small talk with words of its own in it, as patterns of its words."""
    found = []
    for name, forms in templates()["talk"].items():
        for form in forms:
            if _FREE.search(form):
                parts = [re.escape(" ".join(words(part))) for part in _FREE.split(form)]
                found.append((re.compile(" ?.+ ?".join(parts)), DialogueAct(name)))
    return sorted(found, key=lambda pair: -len(pair[0].pattern))


def read(text: str) -> Said | None:
    """What a text says if it is small talk, whatever its case and punctuation; else None."""
    said = words(text)
    known = _meanings().get(tuple(said))
    if known is not None:
        return known
    plain = " ".join(said)
    return next((Said(act) for pattern, act in _patterns() if pattern.fullmatch(plain)), None)
