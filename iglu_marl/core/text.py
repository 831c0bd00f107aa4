"""Texts from outside: numbers in them, safe display and storage, and tables in Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import difflib
import html
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


# --------------------------------------------------------------------------------------------- texts in tables

# What has a meaning in Markdown; an underscore inside a word has none.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_TAGS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LINE_END = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the wide forms


def markdown_text(text: str) -> str:
    """Return the text escaped for Markdown, on one line."""
    plain = re.sub("[&<>]", lambda found: _TAGS[found[0]], _LINE_END.sub(" ", text))
    return _MARKUP.sub(lambda found: f"\\{found[0]}", plain)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; cells are Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Return CSV that spreadsheets do not evaluate: a cell that begins like a formula gets an apostrophe.

    Numbers stay. Line ends inside cells become line feeds.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_harmless(value) for value in line] for line in lines)
    return file.getvalue()


TABLE_FORMS = ("markdown", "csv", "latex")
_PLAIN = re.compile(r"\\([\\`*\[\]|~_])|[`*]")  # Markdown in cells: escapes, and marks that are left out
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
}


def tables_as(form: str, document: str) -> str:
    """Return the tables of a Markdown document in one of `TABLE_FORMS`, with an empty line between two.

    Markdown and LaTeX keep the headings, LaTeX as comments. LaTeX needs the package booktabs; columns after the first
    that hold numbers are aligned right. CSV has plain texts.
    """
    parts = re.findall(r"^#+ .*\n|(?:^\|.*\|\n)+", document, re.MULTILINE)
    if form == "markdown":
        return "\n".join(parts)
    found, heading = [], ""
    for part in parts:
        if part.startswith("#"):
            heading = part.lstrip("#") if form == "latex" else ""
            continue
        lines = [_cells(line) for line in part.splitlines() if not line.startswith("| ---")]
        found.append(f"%{heading}" * bool(heading) + (csv_text if form == "csv" else _latex_table)(lines))
    return "\n".join(found)


def _cells(line: str) -> list[str]:
    """Return the plain texts of a Markdown table's line."""
    texts = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [html.unescape(_PLAIN.sub(lambda found: found[1] or "", text.strip())) for text in texts]


def _latex_table(lines: Sequence[Sequence[str]]) -> str:
    heads, *rows = ([_latex_text(text) for text in line] for line in lines)
    columns = [*zip(*rows, strict=True)][1:]
    kinds = "".join("r" if any(text[:1].isdigit() for text in column) else "l" for column in columns)
    body = [" & ".join(row) + r" \\" for row in rows]
    begin, head = rf"\begin{{tabular}}{{l{kinds}}}", " & ".join(heads) + r" \\"
    parts = (begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}")
    return "\n".join(parts) + "\n"


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text).replace("–", "--")


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = f"'{value}" if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value) else value
    return _LINE_END.sub("\n", shown).replace("\0", "\ufffd")
