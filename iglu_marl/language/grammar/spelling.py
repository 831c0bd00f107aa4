"""Misspelt words: the known words at edit distance one, and how likely each is meant."""

from __future__ import annotations

from collections.abc import Set
from difflib import get_close_matches
from itertools import product
from string import ascii_lowercase

from iglu_marl.language.grammar.engine import is_number

LEAST = 4
"""Shorter words are too near to too many others; only swapped letters are put right in them."""
REAL = frozenset(
    {"black", "brown", "white", "pink", "gray", "silver", "gold", "beige", "light", "blank", "black's"}
)
"""Words that are spelt right, and not known."""
MAX_CHOICES = 24
LONGEST = 24
"""Letters: longer words are no slips. There are as many slips as letters, and each is as long."""


def near(word: str, known: Set[str]) -> dict[str, int]:
    """The known words that one slip away from a word, with their rank.

    0: swapped letters, and a letter that is doubled or not; 1: a letter too much, too little, or another one. The first
    letter is seldom mistaken, and is kept unless it was swapped.
    """
    found: dict[str, int] = {}
    if word in REAL or not word.isalpha() or len(word) > LONGEST:
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
    """The ways to put words right that are not known, the likeliest first; [] when one of them cannot be."""
    options: list[list[tuple[int, str]]] = []
    for word in said:
        if word in known or is_number(word) or word == ".":
            options.append([(0, word)])
            continue
        found = sorted((rank, other) for other, rank in near(word, known).items())
        if not found:
            return []
        options.append(found[:MAX_CHOICES])
    count = 1
    for choices in options:
        count *= len(choices)
    if count > MAX_CHOICES:
        options = [choices[:2] for choices in options]
    ways = [(sum(rank for rank, _ in way), [word for _, word in way]) for way in product(*options)]
    return sorted(ways, key=lambda way: way[0])[:MAX_CHOICES]


def nearest(word: str, known: Set[str]) -> str:
    """The known word that looks most like another one, or ""."""
    slips = sorted((rank, other) for other, rank in near(word, known).items())
    if slips:
        return slips[0][1]
    similar = get_close_matches(word, sorted(other for other in known if len(other) > 3), 1, 0.75)
    return similar[0] if similar and word not in REAL else ""
