"""Misspelt words: the known words at edit distance one, ranked."""

from __future__ import annotations

from collections.abc import Set
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
from string import ascii_lowercase

from iglu_marl.language.grammar.engine import is_number
from iglu_marl.language.grammar.templates import templates

LEAST = 4
"""Minimum length; in shorter words, only swapped letters are corrected."""
REAL = frozenset(
    {"black", "brown", "white", "pink", "gray", "silver", "gold", "beige", "light", "blank", "black's"}
)
"""English words that are unknown but not misspelt, besides nouns."""
MAX_CHOICES = 24
LONGEST = 24
"""Maximum length in letters: the number of edits grows with the length."""


def near(word: str, known: Set[str]) -> dict[str, int]:
    """Return the known words at edit distance one, with their rank.

    0: swapped or doubled letters; 1: one letter added, missing or replaced. The first letter is kept unless swapped.
    """
    found: dict[str, int] = {}
    if word in REAL or is_noun(word) or not word.isalpha() or len(word) > LONGEST:
        return found
    swapped = [word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)]
    tiers = [swapped if len(word) >= LEAST - 1 else [], []]
    if len(word) >= LEAST:
        tiers[0] += [word[:i] + word[i - 1] + word[i:] for i in range(1, len(word) + 1)]
        tiers[0] += [word[:i] + word[i + 1 :] for i in range(1, len(word)) if word[i] == word[i - 1]]
        tiers[1] += [word[:i] + word[i + 1 :] for i in range(1, len(word))]
        for i, letter in product(range(1, len(word) + 1), ascii_lowercase):
            tiers[1] += [word[:i] + letter + word[i:], word[:i] + letter + word[i + 1 :]]
    for rank, tier in enumerate(tiers):
        for other in tier:
            if other in known and other != word:
                found.setdefault(other, rank)
    return found


def respellings(said: list[str], known: Set[str]) -> list[tuple[int, list[str]]]:
    """Return the ways to correct unknown words, the likeliest first; [] if one of them has no correction."""
    options: list[list[tuple[int, str]]] = []
    for word in said:
        if word in known or is_number(word) or word == ".":
            options.append([(0, word)])
            continue
        found = sorted((rank, other) for other, rank in near(word, known).items())
        if not found:
            return []
        options.append(found[:MAX_CHOICES])
    ways: list[tuple[int, list[str]]] = [(0, [])]
    for choices in options:  # keep the likeliest: the number doubles with each word
        longer = [(rank + more, [*way, word]) for rank, way in ways for more, word in choices]
        ways = sorted(longer, key=lambda way: way[0])[:MAX_CHOICES]
    return ways


@lru_cache(maxsize=1024)
def nearest(word: str, known: frozenset[str]) -> str:
    """Return the most similar known word, or ""."""
    slips = sorted((rank, other) for other, rank in near(word, known).items())
    if slips:
        return slips[0][1]
    similar = get_close_matches(word, sorted(other for other in known if len(other) > 3), 1, 0.75)
    return similar[0] if similar and word not in REAL and not is_noun(word) else ""


@lru_cache(maxsize=1)
def _nouns() -> frozenset[str]:
    return frozenset(word for line in templates()["common_nouns"] for word in line.split())


def is_noun(word: str) -> bool:
    """Return whether a word is a common noun in one of its numbers."""
    return word in _nouns() or singular(word)[0] in _nouns()


_IRREGULAR = {"feet": "foot", "teeth": "tooth", "leaves": "leaf", "shelves": "shelf", "men": "man"}


def singular(word: str) -> tuple[str, bool]:
    """Return the singular of a noun, and whether it is plural."""
    if word in _IRREGULAR:
        return _IRREGULAR[word], True
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y", True
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2], True
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1], True
    return word, False
