"""The CSV tables of the IGLU packs: utterances, games, questions and feedback."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import MIB, decoded

TABLE_LIMIT = 256 * MIB  # bytes; upstream's largest table has 2 MB

_LINE_BREAKS = re.compile(r"\$+")


def csv_records(text: str, *, strict: bool = False) -> Iterator[tuple[int, list[str] | DataError]]:
    """The records of CSV text, each with the line in which it begins; a `DataError` for one that cannot be read.

    Such a record (a cell too long, a quote that is never closed) takes no other with it. strict: whether quotes in
    the wrong place are refused; they always are in a record of several lines, which may be none but look so for them.
    """
    lines = list(io.StringIO(text, newline=""))
    begin = 0
    while begin < len(lines):
        reader = csv.reader((lines[number] for number in range(begin, len(lines))), strict=strict)
        first = start = begin
        try:
            for cells in reader:
                after = first + reader.line_num
                if after > start + 1 or after == len(lines):
                    _check_quotes(lines[start:after])
                yield start + 1, cells
                start = after
            return
        except csv.Error as error:
            yield start + 1, DataError(f"no CSV: {error}")
            begin = _after(lines, start) if "field limit" in str(error) else start + 1


def _check_quotes(record: list[str]) -> None:
    """Raises `csv.Error` for a record that ends within quotes, and for one of several lines that is not strict CSV."""
    try:
        for _ in csv.reader(record, strict=True):
            pass
    except csv.Error as error:
        if len(record) > 1 or "unexpected end" in str(error):
            raise csv.Error(f"a quote is not closed, or in the wrong place ({error})") from None


def _after(lines: list[str], start: int) -> int:
    """The line behind a record with a cell that is too long: where its quotes are closed, else the next one."""
    quotes = 0
    for number in range(start, len(lines)):
        quotes += lines[number].count('"')
        if quotes % 2 == 0:
            return number + 1
    return start + 1


def read_table(
    table: bytes | str, columns: Iterable[str], place: str
) -> Iterator[tuple[int, dict[str, str] | DataError]]:
    """The rows of CSV text, each with its line number; cells that are missing are "".

    A row that cannot be read is a `DataError` that names its line. Raises `DataError` for text that is not UTF-8 or
    lacks one of `columns`.
    """
    records = ((line, cells) for line, cells in csv_records(decoded(table, place)) if cells != [])
    line, header = next(records, (1, []))
    if isinstance(header, DataError):
        raise DataError(f"{place}, line {line}: {header}")
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(f"{place} has no column {', '.join(missing)}; its header is {header!s:.300}")
    for line, cells in records:
        if isinstance(cells, DataError):
            yield line, DataError(f"{place}, line {line}: {cells}")
        else:
            yield line, {**dict.fromkeys(header, ""), **dict(zip(header, cells, strict=False))}


def said(cell: str) -> str:
    """The utterance in a cell: every run of `$` is one line break."""
    return _LINE_BREAKS.sub("\n", cell).strip()
