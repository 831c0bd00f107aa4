"""Texts from outside: numbers in them, safe display and storage."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_DIGITS = 18  # so that a number fits 64 bits
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile(r"\\u[dD]")
# An escape of JSON: a pair of surrogates, or one alone (group 1), or any other.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)


def similar(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for an unknown name, such as " (did you mean 'kite'?)", or ""."""
    close = difflib.get_close_matches(str(name).lower(), list(known), 1, 0.75)
    return f" (did you mean {close[0]!r}?)" if close else ""


def plain_number(text: str) -> int | None:
    """Return the value of 1 to 18 digits 0 to 9; None for other texts, such as "", "-1", "²" and "٣"."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts "q_9" before "q_10"."""
    parts = [(plain_number(part), part) for part in re.findall(r"[0-9]+|[^0-9]+", text)]
    return [(-1, part) if number is None else (number, "") for number, part in parts]


def paired_escapes(json_text: str) -> str:
    r"""Return JSON text in which escapes of lone surrogates are `\ufffd`. The length stays."""
    if _SURROGATE.search(json_text) is None:  # as in nearly all texts
        return json_text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], json_text)


def fix_surrogates(text: str) -> str:
    """Return a text that UTF-8 can encode: surrogate pairs become characters, lone surrogates U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def strip_control(text: str) -> str:
    """Return a text without control, invisible and writing-direction characters.

    Line ends become line feeds, tabs spaces, lone surrogates U+FFFD. The text never gets longer.
    """
    if text.isascii() and text.isprintable():  # as nearly all texts
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").replace("\u2028", "\n")
    return fix_surrogates(_CONTROL.sub("", text))
