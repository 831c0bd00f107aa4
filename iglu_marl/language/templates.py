"""The data file of all wordings, read once, and what counts as a word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import Any

from iglu_marl.core.text import plain_number

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:st|nd|rd|th)?|\?")
_PLACEHOLDER = re.compile(r"\{\w+\}")

HIGHEST_NUMBER = 20
"""Numbers 0..20 have words and digits of their own in the vocabulary."""


def words(text: str) -> list[str]:
    """The words, numbers and question marks of a text, in lower case; all else only separates them."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def number_of(word: str) -> int | None:
    """The number that a word tells in digits 0 to 9, or None. Its first six count: there is less of everything."""
    return plain_number(word[:6])


def _content(name: str) -> dict[str, Any]:
    file = resources.files("iglu_marl.language").joinpath(name)
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


@lru_cache(maxsize=1)
def templates() -> dict[str, Any]:
    """The content of `templates.json`: edits of one cell, and small talk."""
    return _content("templates.json")


@lru_cache(maxsize=1)
def verb_templates() -> dict[str, Any]:
    """The content of `verbs.json`: sentences about blocks, groups and shapes, and what else is understood."""
    return _content("verbs.json")


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for entry in part:
            yield from _texts(entry)
    elif isinstance(part, dict):
        for entry in part.values():
            yield from _texts(entry)


def template_words() -> list[str]:
    """Every word that the templates, their fillings and their synonyms can hold, each once, in order."""
    found: dict[str, None] = {}
    for text in (*_texts(templates()), *_texts(verb_templates())):
        found.update(dict.fromkeys(words(_PLACEHOLDER.sub(" ", text))))
    found.update(dict.fromkeys(str(number) for number in range(HIGHEST_NUMBER + 1)))
    found.update(dict.fromkeys(ordinal_digits(number) for number in range(1, 10)))
    return list(found)


def ordinal_digits(number: int) -> str:
    """An ordinal in digits: `ordinal_digits(2) == "2nd"` (up to 9th)."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"
