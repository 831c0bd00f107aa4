"""The codes that a stranger may have, see `iglu_marl.benchmark.strangers`.

A code gives a symbol to each of four places and of six colors, and says how these are put in a message.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import ConfigError

Array = npt.NDArray[Any]
Kind = Literal["code", "words", "listen"]

_CIRCLE = (5, 3, 1, 2, 0, 4)  # red, orange, yellow, green, blue, purple, as color - 1
_SIDES = (
    ("north", "east", "south", "west"),
    ("front", "right", "back", "left"),
    ("twelve", "three", "six", "nine"),
)
_HUES = (
    ("red", "orange", "yellow", "green", "blue", "purple"),
    ("blood", "amber", "lemon", "grass", "sky", "plum"),
    ("mars", "sun", "desert", "forest", "sea", "night"),
)
_WORDINGS = ("put COLOR at PLACE", "PLACE gets COLOR", "a COLOR block PLACE please", "now PLACE COLOR")


class Language(NamedTuple):
    """All codes that a stranger of a kind may have.

    places: the symbol of each place, int [codes, 4]. colors: that of each color, int [codes, 6]. place_tokens,
    color_tokens: the token of each symbol, int [styles, symbols]. wordings: tokens of a message, int [wordings,
    length]; -1 stands for the place, -2 for the color. vocabulary: number of tokens.
    """

    places: Array
    colors: Array
    place_tokens: Array
    color_tokens: Array
    wordings: Array
    vocabulary: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of codes of places and colors, styles of both, and wordings: the parts of a stranger's code."""
        tables = (self.places, self.colors, self.place_tokens, self.color_tokens, self.wordings)
        return tuple(map(len, tables))

    def say(self, codes: Array, blocks: Array) -> Array:
        """Return the messages [n, length] about blocks, (place, color) from 0 on."""
        place, color, place_style, color_style, wording = codes.T
        place_symbols, color_symbols = self.places[place, blocks[:, 0]], self.colors[color, blocks[:, 1]]
        said = self.wordings[wording]
        said = np.where(said == -1, self.place_tokens[place_style, place_symbols][:, None], said)
        return np.where(said == -2, self.color_tokens[color_style, color_symbols][:, None], said)

    def symbols(self, messages: Array) -> Array:
        """Return the symbols of place and color in messages, int [n, 2]; -1: none."""
        found = []
        for tokens in (self.place_tokens, self.color_tokens):
            symbol_of = np.full(self.vocabulary + 1, -1)
            symbol_of[tokens] = np.arange(tokens.shape[1])
            found.append(symbol_of[messages].max(axis=1))
        return np.stack(found, axis=1)

    def read(self, codes: Array, messages: Array) -> Array:
        """Return the blocks that messages mean in these codes, from 0 on; -1: not understood."""
        symbols = self.symbols(messages)
        tables = self.places[codes[:, 0]], self.colors[codes[:, 1]]
        means = [table == own[:, None] for table, own in zip(tables, symbols.T, strict=True)]
        return np.stack([np.where(part.any(axis=1), part.argmax(axis=1), -1) for part in means], axis=1)


@lru_cache
def language(kind: Kind) -> Language:
    """Return the codes of a kind of level. Raises `ConfigError` for an unknown kind."""
    if kind == "words":
        return _words()
    if kind not in ("code", "listen"):
        raise ConfigError(f"kind is {kind!r}, expected code, words or listen")
    most_places, most_colors = (8, 8) if kind == "code" else (4, 6)
    places, colors = (
        np.array([*permutations(range(most_places), 4)]),
        np.array([*permutations(range(most_colors), 6)]),
    )
    tokens = np.arange(1, most_places + most_colors + 1)[None]
    wordings = np.array([[-1, -2]])
    return Language(places, colors, tokens[:, :most_places], tokens[:, most_places:], wordings, tokens.size)


def _words() -> Language:
    texts = (*_WORDINGS, *map(" ".join, (*_SIDES, *_HUES)))
    words = sorted({word for text in texts for word in text.split()} - {"PLACE", "COLOR"})
    token = {word: number for number, word in enumerate(words, start=1)} | {"PLACE": -1, "COLOR": -2}
    wordings = np.array([[*(token[word] for word in text.split()), 0, 0, 0][:5] for text in _WORDINGS])
    sides, hues = (np.array([[token[word] for word in own] for own in lists]) for lists in (_SIDES, _HUES))
    colors = np.zeros((12, 6), np.int64)
    colors[:, _CIRCLE] = _counted(6)
    return Language(_counted(4), colors, sides, hues, wordings, len(words))


def kind_of(level: str) -> Kind:
    """Return the kind of a level of the family, by its name."""
    return level.split("-")[1]  # type: ignore[return-value]


def _counted(size: int) -> Array:
    """Return all ways to count from 0 to `size` - 1 around a circle: any start, both directions."""
    ways = [(way * np.arange(size) + start) % size for start, way in product(range(size), (1, -1))]
    return np.array(ways)
