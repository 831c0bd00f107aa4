"""The CSV tables of the IGLU packs: utterances, games, questions and feedback."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import MIB, decoded

TABLE_LIMIT = 32 * MIB  # bytes; upstream's largest table has 2 MB

_LINE_BREAKS = re.compile(r"\$+")


def csv_records(text: str, *, strict: bool = False) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield (first line, cells) of each record of CSV text, with a `DataError` for a record that cannot be read.

    A bad record (a cell too long, a quote that is never closed) does not affect the next ones. `strict` refuses quotes
    in the wrong place; in a record of several lines they are always refused, since they may join records.
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
            begin = _next_record(lines, start) if "field limit" in str(error) else start + 1


def _check_quotes(record: list[str]) -> None:
    """Raise `csv.Error` for a record that ends within quotes, or has several lines and is not strict CSV."""
    try:
        for _ in csv.reader(record, strict=True):
            pass
    except csv.Error as error:
        if len(record) > 1 or "unexpected end" in str(error):
            raise csv.Error(f"a quote is not closed, or in the wrong place ({error})") from None


def _next_record(lines: list[str], start: int) -> int:
    """Return the line after a record with a too long cell: after its closing quote, or else the next line."""
    quotes = 0
    for number in range(start, len(lines)):
        quotes += lines[number].count('"')
        if quotes % 2 == 0:
            return number + 1
    return start + 1


def read_table(
    table: bytes | str, columns: Iterable[str], place: str
) -> Iterator[tuple[int, dict[str, str] | DataError]]:
    """Yield (line, row) of CSV text with a header; missing cells are "".

    A row that cannot be read is a `DataError`. Raises `DataError` if the text is not UTF-8 or lacks one of `columns`.
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
    """Return the utterance in a cell, where each run of `$` is one line break."""
    return _LINE_BREAKS.sub("\n", cell).strip()
