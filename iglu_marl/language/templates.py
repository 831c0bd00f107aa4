"""The data file of small talk, colours and numbers, read once, and what counts as a word."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any

from iglu_marl.core.text import plain_number

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:st|nd|rd|th)?|\?")


def words(text: str) -> list[str]:
    """The words, numbers and question marks of a text, in lower case; all else only separates them."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def number_of(word: str) -> int | None:
    """The number that a word tells in digits 0 to 9, or None. Its first six count: there is less of everything."""
    return plain_number(word[:6])


@lru_cache(maxsize=1)
def templates() -> dict[str, Any]:
    """The content of `templates.json`: small talk, and the words for colours and numbers."""
    file = resources.files("iglu_marl.language").joinpath("templates.json")
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def ordinal_digits(number: int) -> str:
    """An ordinal in digits: `ordinal_digits(2) == "2nd"` (up to 9th)."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"
