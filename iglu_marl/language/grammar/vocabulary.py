"""Vocabularies for token chat: words of the templates or of a corpus, and symbols without meaning.

They implement the `Codec` protocol of `iglu_marl.core.dialogue`. Token 0 is padding.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, ClassVar

import numpy as np

from iglu_marl.core.dialogue import Codec
from iglu_marl.core.errors import ConfigError, DialogueError
from iglu_marl.core.text import plain_number
from iglu_marl.language.grammar.templates import words

PADDING = 0
UNKNOWN = 1
UNKNOWN_TEXT = "<unk>"
MAX_SYMBOLS = 1_000_000


@lru_cache(maxsize=1)
def vocabulary_words() -> tuple[str, ...]:
    """Return the closed word list in token order. New versions only append to it."""
    file = resources.files("iglu_marl.language").joinpath("words.txt")
    return tuple(file.read_text(encoding="utf-8").split())


def _checked(tokens: Iterable[int], size: int) -> list[int]:
    """Return tokens without padding; raise `DialogueError` for a token outside the vocabulary."""
    checked = []
    for token in np.asarray(tokens if isinstance(tokens, np.ndarray) else list(tokens)).ravel().tolist():
        if not isinstance(token, int) or not 0 <= token < size:
            raise DialogueError(f"token {token!r} is not in the vocabulary, expected integers 0..{size - 1}")
        if token != PADDING:
            checked.append(token)
    return checked


@lru_cache(maxsize=1 << 14)
def _tokens_of(text: str) -> tuple[int, ...]:
    return tuple(_numbers().get(word, UNKNOWN) for word in words(text))


@lru_cache(maxsize=1)
def _numbers() -> dict[str, int]:
    return {word: number for number, word in enumerate(vocabulary_words(), start=UNKNOWN + 1)}


class WordCodec:
    """A vocabulary of words, one token per word; `fit_vocabulary` makes it of a corpus.

    Case and punctuation are lost, except for question marks. Another word becomes the unknown-word token 1.

    Args:
        known: the words, in the order of their tokens from 2 on.
        dialog_length: tokens of the longest conversation that is to be observed, for the option `dialog_length`.

    """

    name = "words"

    def __init__(self, known: Iterable[str], dialog_length: int | None = None) -> None:
        self.words = tuple(known)
        self.dialog_length = dialog_length
        self._texts = dict(enumerate(("", UNKNOWN_TEXT, *self.words)))
        self._numbers = {word: number for number, word in self._texts.items() if number > UNKNOWN}

    @property
    def version(self) -> str:
        """Hash of the words, 8 hexadecimal digits."""
        return hashlib.sha256(" ".join(self.words).encode()).hexdigest()[:8]

    @property
    def size(self) -> int:
        """Number of tokens, with padding and the unknown word."""
        return len(self._texts)

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return [self._numbers.get(word, UNKNOWN) for word in words(text)]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the words of tokens in lower case, without padding.

        Raises `DialogueError` if a token is not in the vocabulary.
        """
        texts = self._texts
        if (
            isinstance(tokens, np.ndarray) and tokens.dtype.kind in "iu" and tokens.ndim == 1
        ):  # the usual form, read fast
            try:
                return " ".join([texts[token] for token in tokens.tolist() if token]).replace(" ?", "?")
            except KeyError:
                pass  # `_checked` raises
        return " ".join([texts[token] for token in _checked(tokens, self.size)]).replace(" ?", "?")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordCodec) and (self.name, self.words) == (other.name, other.words)

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(version {self.version}, {self.size} tokens)"


class TemplateCodec(WordCodec):
    """The closed vocabulary of the instruction templates. New versions only append words."""

    name = "templates"
    version = "3"

    def __init__(self) -> None:
        super().__init__(vocabulary_words())

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return [*_tokens_of(text)]


def fit_vocabulary(texts: Iterable[Any], least: int = 2) -> WordCodec:
    """Return a vocabulary of the words in texts, the most frequent first; its `dialog_length` fits each of them.

    Args:
        texts: a dataset, or texts, dialogues, tasks and sessions.
        least: how often a word occurs in different utterances at least; others become the unknown word.

    Raises:
        ConfigError: if there is no text.

    """
    counts: Counter[str] = Counter()
    lengths: dict[str, int] = {}
    longest = 0
    for one in [texts] if isinstance(texts, str) else texts:
        said = [one] if isinstance(one, str) else [each.text for each in getattr(one, "dialogue", one)]
        for text in said:
            if text not in lengths:
                found = words(text)
                counts.update(found)
                lengths[text] = len(found)
        longest = max(longest, sum(lengths[text] + 1 for text in said))  # with the mark of the speaker
    kept = [word for word, count in counts.items() if count >= least]
    if not kept:
        raise ConfigError(
            f"texts have no word that occurs {least} times, expected texts, dialogues or a dataset"
        )
    return WordCodec(sorted(kept, key=lambda word: (-counts[word], word)), longest)


@dataclass(frozen=True)
class SymbolCodec:
    """`count` symbols without meaning, for emergent languages; in text `s1`, `s2`, ...

    `encode` ignores everything else in a text. Raises `ConfigError` if `count` is below 1.
    """

    count: int
    name: ClassVar[str] = "symbols"
    version: ClassVar[str] = "1"

    def __post_init__(self) -> None:
        whole = isinstance(self.count, (int, np.integer)) and not isinstance(self.count, bool)
        if not whole or not 1 <= self.count <= MAX_SYMBOLS:
            raise ConfigError(f"vocabulary of {self.count!r} symbols, expected an integer 1..{MAX_SYMBOLS}")
        object.__setattr__(self, "count", int(self.count))

    @property
    def size(self) -> int:
        """Number of tokens, with padding."""
        return self.count + 1

    def encode(self, text: str) -> list[int]:
        """Return the numbers of the symbols in a text."""
        found = []
        for part in text.split():
            number = plain_number(part[1:])
            if part[0] in "sS" and number is not None and 1 <= number <= self.count:
                found.append(number)
        return found

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the symbols of tokens, without padding.

        Raises `DialogueError` if a token is not in 0..count.
        """
        return " ".join(f"s{token}" for token in _checked(tokens, self.size))


def make_codec(vocabulary: Any) -> Codec:
    """Return the codec of a configuration: "templates", a number of symbols, or a codec itself.

    Raises `ConfigError` if it is anything else.
    """
    if vocabulary == "templates":
        return TemplateCodec()
    if isinstance(vocabulary, (int, np.integer)) and not isinstance(vocabulary, bool):
        return SymbolCodec(int(vocabulary))
    if isinstance(vocabulary, Codec):
        return vocabulary
    raise ConfigError(f"vocabulary is {vocabulary!r}, expected 'templates', a number of symbols or a Codec")
