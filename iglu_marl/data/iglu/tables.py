"""The CSV tables of the IGLU packs: utterances, games, questions and feedback."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from iglu_marl.core.errors import DataError

_LINE_BREAKS = re.compile(r"\$+")


def decoded(text: str | bytes, place: str) -> str:
    """The text of a file. Raises `DataError`, naming `place`, for what is not UTF-8."""
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8 text: {error}") from None


def read_table(table: bytes | str, columns: Iterable[str], place: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of CSV text, each with its line number; cells that are missing are "".

    Raises `DataError` for text that is not UTF-8, lacks one of `columns`, or is damaged.
    """
    reader = csv.DictReader(io.StringIO(decoded(table, place), newline=""), restval="")
    missing = [name for name in columns if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{place} has no column {', '.join(missing)}; its header is {reader.fieldnames}")
    try:
        return [(reader.line_num, record) for record in reader]
    except csv.Error as error:
        raise DataError(f"{place} is damaged at line {reader.line_num}: {error}") from None


def said(cell: str) -> str:
    """The utterance in a cell: every run of `$` is one line break."""
    return _LINE_BREAKS.sub("\n", cell).strip()
