"""The data file of small talk, colours and numbers, and the definition of a word."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:st|nd|rd|th)?|\?")


def words(text: str) -> list[str]:
    """Return the words, numbers and question marks of a text, in lower case."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))


@lru_cache(maxsize=1)
def templates() -> dict[str, Any]:
    """Return the content of `templates.json`: small talk, words for colours and numbers, spellings."""
    file = resources.files("iglu_marl.language").joinpath("templates.json")
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def ordinal_digits(number: int) -> str:
    """Return an ordinal in digits: `ordinal_digits(2) == "2nd"` (up to 9th)."""
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"
