"""Misspelt words and plurals of nouns."""

from __future__ import annotations

from collections.abc import Set
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
from string import ascii_lowercase

from iglu_marl.language.grammar.templates import templates

REAL = frozenset(
    {"black", "brown", "white", "pink", "gray", "silver", "gold", "beige", "light", "blank", "black's"}
)
"""English words that are unknown but not misspelt, besides nouns."""
LONGEST = 24  # letters of a word that may be misspelt


def slips(word: str, known: Set[str]) -> set[str]:
    """Return the known words with the same first letter at edit distance one; of short words with letters swapped."""
    if word in REAL or is_noun(word) or len(word) > LONGEST:
        return set()
    halves = [(word[:i], word[i:]) for i in range(1, len(word) + 1)]
    made = {one + two[1::-1] + two[2:] for one, two in halves}
    if len(word) > 3:
        made |= {one + two[1:] for one, two in halves}
        made |= {
            one + letter + two[cut:] for (one, two), letter, cut in product(halves, ascii_lowercase, (0, 1))
        }
    return made & known


@lru_cache(maxsize=1024)
def nearest(word: str, known: frozenset[str]) -> str:
    """Return the most similar known word, or ""."""
    if word in REAL or is_noun(word) or len(word) > LONGEST:
        return ""
    similar = get_close_matches(word, sorted(other for other in known if len(other) > 2), 1, 0.75)
    return similar[0] if similar else ""


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
