"""What holds for every text from outside: which number it tells, and that one can show and keep it, also in tables."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

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
    """What an unknown name was perhaps meant to be, for a message: " (did you mean 'kite'?)"; "" without an idea."""
    close = difflib.get_close_matches(str(name).lower(), list(known), 1, 0.75)
    return f" (did you mean {close[0]!r}?)" if close else ""


def plain_number(text: str) -> int | None:
    """The number that 1 to 18 digits 0 to 9 tell; None for everything else, such as "", "-1", "²" and "٣"."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def natural_key(text: str) -> list[tuple[int, str]]:
    """A key that sorts "q_9" before "q_10"."""
    parts = [(plain_number(part), part) for part in re.findall(r"[0-9]+|[^0-9]+", text)]
    return [(-1, part) if number is None else (number, "") for number, part in parts]


def paired_escapes(json_text: str) -> str:
    r"""JSON text in which the escape of a surrogate alone is `\ufffd` instead; as long as before."""
    if _SURROGATE.search(json_text) is None:  # as in nearly all texts
        return json_text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], json_text)


def well_formed(text: str) -> str:
    """The text as UTF-8 can hold it: a surrogate pair becomes its character, a surrogate alone becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def cleaned(text: str) -> str:
    """A text as one can show and keep it: no control or invisible marks, none that turn the direction of writing.

    Line ends become line feeds, tabs spaces, halves of surrogate pairs U+FFFD. Never longer than before.
    """
    if text.isascii() and text.isprintable():  # as nearly all texts
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").replace("\u2028", "\n")
    return well_formed(_CONTROL.sub("", text))


# --------------------------------------------------------------------------------------------- texts in tables

# What has a meaning in Markdown; an underscore inside a word has none.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_TAGS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LINE_END = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the wide forms


def markdown_text(text: str) -> str:
    """The text as it is to be read in Markdown, on one line: without markup, links and HTML."""
    plain = re.sub("[&<>]", lambda found: _TAGS[found[0]], _LINE_END.sub(" ", text))
    return _MARKUP.sub(lambda found: f"\\{found[0]}", plain)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """CSV of which a spreadsheet calculates nothing: what begins like a formula gets an apostrophe, unless a number.

    Line ends inside of cells become line feeds.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_harmless(value) for value in line] for line in lines)
    return file.getvalue()


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = f"'{value}" if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value) else value
    return _LINE_END.sub("\n", shown).replace("\0", "\ufffd")
