"""Dialogues as numbers: words of a vocabulary, their speaker, age, and the colour that they name.

All colour names are one word, with the colour in a separate array, so that words about red blocks generalise to blue
ones. Compass directions are distinct from the builder's own directions, and rotated with its frame.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl import Dialogue, Role

LENGTH = 64  # default number of words that are read, the latest ones
PAD, UNKNOWN, COLOR = 0, 1, 2
COMPASS = 3  # 3 forward, 4 right, 5 back, 6 left in the frame: north, east, south, west in the map
LEFT, RIGHT = 7, 8
WORDS = ("<pad>", "<unknown>", "<color>", "<north>", "<east>", "<south>", "<west>", "left", "right")
COLOR_WORDS = {
    "blue": 1, "yellow": 2, "green": 3, "orange": 4, "purple": 5, "red": 6,
    "blues": 1, "yellows": 2, "greens": 3, "oranges": 4, "purples": 5, "reds": 6,
    "violet": 5, "yello": 2, "orage": 4, "purp": 5,
}  # fmt: skip
_SIDES = {"north": 3, "east": 4, "south": 5, "west": 6}
_SIDES.update({side + "ern": number for side, number in _SIDES.items()})
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_DIGITS = {str(number): word for number, word in enumerate(_NUMBERS)}
_WORD = re.compile(r"[a-z]+|[0-9]+|[?]")
_FACING = re.compile(r"\bfac(?:ing|e)\s+(?:the\s+)?(north|east|south|west)\b", re.IGNORECASE)
_AGES = 7


def words_of(text: str) -> list[str]:
    """Return the words of an utterance: lower case, digits spelled out."""
    text = text.lower().replace("'", "").replace("northeast", "north east").replace("northwest", "north west")
    text = text.replace("southeast", "south east").replace("southwest", "south west")
    found = _WORD.findall(text)
    return [_DIGITS.get(word, word) for word in found]


def facing(dialogue: Dialogue) -> float | None:
    """Return the yaw in degrees that the architect's last utterance asks the builder to face, or None."""
    for said in reversed(dialogue):
        if said.role is Role.ARCHITECT:
            found = _FACING.findall(said.text)
            return None if not found else 90.0 * ("north", "east", "south", "west").index(found[-1].lower())
    return None


class EncodedDialogue(NamedTuple):
    """The last words of a dialogue, each int64 [length], padded at the front.

    words: numbers in a vocabulary. colors: 1..6 where a colour is named. manner: 0 padding, else 1 + who (0 architect,
    1 builder) + 2 × (0 old, 1 said since the builder last did something) + 4 × (utterances since, up to 7).
    """

    words: npt.NDArray[np.int64]
    colors: npt.NDArray[np.int64]
    manner: npt.NDArray[np.int64]


MANNERS = 1 + 4 * (_AGES + 1)


class Vocabulary:
    """Known words by number. words: those after the special ones. length: number of words that are read."""

    def __init__(self, words: Iterable[str], length: int = LENGTH) -> None:
        self.length = length
        self.words = [*WORDS, *(word for word in words if word not in WORDS)]
        self._number = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue], *, least: int = 2, length: int = LENGTH) -> Vocabulary:
        """Make a vocabulary of the words that occur `least` times or more, the most frequent first."""
        counts: Counter[str] = Counter()
        for dialogue in dialogues:
            for said in dialogue:
                counts.update(word for word in words_of(said.text) if word not in COLOR_WORDS | _SIDES)
        kept = [word for word, count in counts.items() if count >= least]
        return cls(sorted(kept, key=lambda word: (-counts[word], word)), length)

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """Return the number of a word."""
        if word in COLOR_WORDS:
            return COLOR
        return _SIDES.get(word) or self._number.get(word, UNKNOWN)

    def encode(self, dialogue: Dialogue, new_from: int) -> EncodedDialogue:
        """Return a dialogue as numbers. new_from: the first utterance since the builder last acted."""
        columns: list[tuple[int, int, int]] = []
        last = len(dialogue) - 1
        for index in range(last, -1, -1):
            said = dialogue[index]
            who, new = int(said.role is Role.BUILDER), int(index >= new_from)
            manner = 1 + who + 2 * new + 4 * min(_AGES, last - index)
            spoken = [(self.number(word), COLOR_WORDS.get(word, 0), manner) for word in words_of(said.text)]
            columns = spoken + columns
            if len(columns) >= self.length:
                break
        table = np.zeros((self.length, 3), np.int64)
        kept = columns[-self.length :]
        if kept:
            table[-len(kept) :] = kept
        return EncodedDialogue(*table.T.copy())


def turned_words(words: npt.NDArray[np.int64], frame: int) -> npt.NDArray[np.int64]:
    """Return the words in a frame: compass directions become directions of the frame."""
    side = (words >= COMPASS) & (words < COMPASS + 4)
    turned = np.where(side, COMPASS + (words - COMPASS - frame % 4) % 4, words)
    if frame >= 4:
        swapped = turned.copy()
        for one, other in ((LEFT, RIGHT), (COMPASS + 1, COMPASS + 3)):
            swapped[turned == one], swapped[turned == other] = other, one
        turned = swapped
    return turned
