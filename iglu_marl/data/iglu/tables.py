"""The CSV tables of the IGLU packs: utterances, games, questions and feedback."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import MIB, decoded
from iglu_marl.data.report import Report, SkipReason

TABLE_LIMIT = 32 * MIB  # bytes; upstream's largest table has 2 MB

Record = dict[str, str]  # cells by column
Row = TypeVar("Row")

_LINE_BREAKS = re.compile(r"\$+")
# What pandas reads as an empty cell, and writes for one: a table that it has saved again is read as before.
EMPTY = frozenset(
    (
        "NULL",
        "null",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
        "NA",
        "<NA>",
        "N/A",
        "n/a",
        "None",
        "#N/A",
        "#NA",
        "1.#IND",
    )
)


def _cells(text: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield (first line, cells) of each record of CSV text, with a `DataError` for a record that cannot be read.

    A bad record (a cell too long, a quote that is never closed) does not affect the next ones. In a record of several
    lines, quotes in the wrong place are refused, since they may join records.
    """
    lines = list(io.StringIO(text, newline=""))
    begin = 0
    while begin < len(lines):
        reader = csv.reader(lines[number] for number in range(begin, len(lines)))
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


def _records(
    table: bytes | str, columns: Iterable[str], place: str
) -> Iterator[tuple[int, Record | DataError]]:
    """Yield (line, row) of CSV text with a header; missing cells are "". A row that cannot be read is a `DataError`."""
    records = ((line, cells) for line, cells in _cells(decoded(table, place)) if cells != [])
    line, header = next(records, (1, []))
    if isinstance(header, DataError):
        raise DataError(f"{place}, line {line}: {header}")
    missing = [name for name in columns if name not in header]
    if missing:
        raise DataError(
            f"{place} has no column {', '.join(missing)}; its header is {header!s:.300}, expected commas between names"
        )
    for line, cells in records:
        if isinstance(cells, DataError):
            yield line, DataError(f"{place}, line {line}: {cells}")
        else:
            known = ("" if cell in EMPTY else cell for cell in cells)
            yield line, {**dict.fromkeys(header, ""), **dict(zip(header, known, strict=False))}


def read_table(
    table: bytes | str,
    columns: Sequence[str],
    parse: Callable[[Record, int], Row | None],
    report: Report[Any],
    bad_row: SkipReason,
    place: str,
) -> list[Row]:
    """Return the rows of a CSV table with a header, in order, as `parse` makes them of cells by column and the line.

    Rows that cannot be read, or for which `parse` returns None, are entries of the report with the reason `bad_row`;
    the first of the required `columns` names them. Many of them are also a warning. `place` names the table. Raises
    `DataError` if the text is not UTF-8 or lacks a column.
    """
    rows: list[Row] = []
    for line, record in _records(table, columns, place):
        report.rows += 1
        if isinstance(record, DataError):
            report.skip(bad_row, detail=str(record))
        elif (row := parse(record, line)) is None:
            report.skip(bad_row, record[columns[0]].strip(), detail=f"line {line}")
        else:
            rows.append(row)
    bad = [entry for entry in report.skipped if entry.reason is bad_row]
    if len(bad) >= max(10, report.rows / 10):
        warnings.warn(
            f"{place}: {len(bad):,} of {report.rows:,} rows cannot be used, such as {bad[0]!s:.200}; see report()",
            stacklevel=4,
        )
    return rows


def cell_text(cell: str) -> str:
    """Return the utterance in a cell, where each run of `$` is one line break."""
    return _LINE_BREAKS.sub("\n", cell).strip()
