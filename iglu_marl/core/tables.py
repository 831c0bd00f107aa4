"""Tables as Markdown, CSV, LaTeX and HTML. Cells are plain texts and numbers, which each form escapes."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# What has a meaning in Markdown; an underscore inside a word has none.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])")
_TAGS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LINE_END = re.compile(r"\r\n|[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the wide forms
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "–": "--",
}


class Table(NamedTuple):
    """A table.

    head: names of the columns. title: heading above it. notes: lines below it.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()


class Code(str):
    """A cell that Markdown shows as code, such as the name of a level."""

    __slots__ = ()


class Markup(str):
    """A cell that is HTML or Markdown already, whichever is written."""

    __slots__ = ()


# ------------------------------------------------------------------------------------------------------- Markdown


def markdown_text(text: str) -> str:
    """Return the text escaped for Markdown, on one line."""
    plain = re.sub("[&<>]", lambda tag: _TAGS[tag[0]], _LINE_END.sub(" ", text))
    return _MARKUP.sub(lambda mark: f"\\{mark[0]}", plain)


def markdown_rows(table: Table) -> list[list[str]]:
    """Return the cells of the rows as Markdown."""
    return [list(map(_markdown_cell, row)) for row in table.rows]


def _markdown_cell(cell: Any) -> str:
    if isinstance(cell, Markup):
        return str(cell)
    return f"`{cell}`" if isinstance(cell, Code) else markdown_text(str(cell))


def markdown_table(table: Table) -> str:
    """Return heading, table and notes as Markdown."""
    lines = [list(map(markdown_text, table.head)), ["---"] * len(table.head), *markdown_rows(table)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    heading = f"## {markdown_text(table.title)}\n\n" if table.title else ""
    notes = "".join(f"- {markdown_text(note)}\n" for note in table.notes)
    return heading + text + (f"\n{notes}" if notes else "")


# ------------------------------------------------------------------------------------------------------------ CSV


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Return CSV that spreadsheets do not evaluate: a cell that begins like a formula gets an apostrophe.

    Numbers stay. Line ends inside cells become line feeds.
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_harmless(value) for value in line] for line in lines)
    return file.getvalue()


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    shown = f"'{value}" if value.startswith(_FORMULA) and not _NUMBER.fullmatch(value) else value
    return _LINE_END.sub("\n", shown).replace("\0", "\ufffd")


# ---------------------------------------------------------------------------------------------------------- LaTeX


def latex_table(table: Table) -> str:
    """Return the table for LaTeX with the package booktabs, and its title as a comment.

    Columns after the first that hold numbers are aligned right.
    """
    lines = [[_latex_text(cell) for cell in row] for row in (table.head, *table.rows)]
    columns = list(zip(*lines[1:], strict=True))[1:]
    kinds = "".join("r" if any(text[:1].isdigit() for text in column) else "l" for column in columns)
    head, *body = (" & ".join(row) + r" \\" for row in lines)
    parts = (
        rf"\begin{{tabular}}{{l{kinds}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    )
    return (f"% {table.title}\n" if table.title else "") + "\n".join(parts) + "\n"


def _latex_text(cell: Any) -> str:
    return "".join(_LATEX.get(character, character) for character in _LINE_END.sub(" ", str(cell)))


# ----------------------------------------------------------------------------------------------------------- HTML


def html_table(table: Table) -> str:
    """Return the table as HTML, without title and notes."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.head)
    lines = []
    for row in table.rows:
        cells = [cell if isinstance(cell, Markup) else html.escape(str(cell)) for cell in row]
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


# ------------------------------------------------------------------------------------------------------ all forms

TABLE_FORMS = ("markdown", "csv", "latex")


def tables_as(form: str, tables: Iterable[Table]) -> str:
    """Return tables in one of `TABLE_FORMS`, with an empty line between two. CSV has no titles and notes."""
    writers = {
        "markdown": markdown_table,
        "csv": lambda table: csv_text([table.head, *table.rows]),
        "latex": latex_table,
    }
    return "\n".join(map(writers[form], tables))
