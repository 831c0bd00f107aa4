"""Logs of long jobs: JSON lines, written after each piece of work, from which the job resumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

from iglu_marl._version import __version__
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import JsonLines, json_line
from iglu_marl.core.parsing import parse_json, wrap_errors

Row = TypeVar("Row")
DIFFERENCES = 4  # shown in a message


class RowLog(Generic[Row]):
    """A log file: a header with the settings, and a line per row. A log with the same settings is continued.

    Only one process can open a log at a time.

    path: the file; None: rows are kept in memory only. settings: settings of the job, JSON-ready. form: name and
    version of the format. what: kind of the log, for messages. from_json: reads a row from its line. to_json: returns
    the line of a row.

    Raises `DataError` if the file is not a log of this kind, or another process has it. Raises `ConfigError` if the
    log has other settings.
    """

    def __init__(
        self,
        path: Path | None,
        settings: dict[str, Any],
        *,
        form: tuple[str, int],
        what: str,
        from_json: Callable[[dict[str, Any]], Row],
        to_json: Callable[[Row], dict[str, Any]],
    ) -> None:
        self.path, self._what, self._to_json = path, what, to_json
        self.rows: list[Row] = []
        self._file: JsonLines | None = None
        if path is None:
            return
        header = {"format": form[0], "version": form[1], "iglu_marl": __version__, "settings": settings}
        header = json.loads(json.dumps(header))  # as it is read back
        file = self._file = JsonLines(path)
        try:
            content = file.read()
            whole = content[: content.rfind(b"\n") + 1]  # drop an incomplete last line
            self.rows = self._read(content, whole, header, from_json)
            file.cut(len(whole))
            if not whole:
                file.append(header)
        except BaseException:
            file.close()
            raise

    def _read(
        self,
        content: bytes,
        whole: bytes,
        header: dict[str, Any],
        from_json: Callable[[dict[str, Any]], Row],
    ) -> list[Row]:
        advice = "choose another folder (output=…)"
        if not whole:
            if not json_line(header).startswith(content[:20]):  # unless it is an incomplete header
                raise DataError(f"{self.path} is no log of {self._what}; {advice}")
            return []
        no_log = f"{self.path} is no log of {self._what} ({advice}): line"
        begun, *rest = whole.splitlines()
        with wrap_errors(f"{no_log} 1"):
            first = parse_json(begun, f"{no_log} 1")
            if first["format"] != header["format"] or not isinstance(first["settings"], dict):
                raise DataError(f"format is {first['format']!r:.60}, expected {header['format']!r}")
        known = {name: first.get(name) for name in header}
        if known != header:
            odd = [
                *_differences(known.pop("settings"), header.pop("settings")),
                *_differences(known, header),
            ]
            more = [f"and {len(odd) - DIFFERENCES} more"] if len(odd) > DIFFERENCES else []
            listed = ", ".join([*odd[:DIFFERENCES], *more])
            raise ConfigError(f"{self.path} was begun with other settings: {listed}; {advice}")
        rows = []
        for number, line in enumerate(rest, start=2):
            with wrap_errors(f"{no_log} {number}"):
                rows.append(from_json(parse_json(line, f"{no_log} {number}")))
        return rows

    def add(self, row: Row) -> None:
        """Append a row. Raises `DataError` if the disk is full."""
        if self._file is not None:
            self._file.append(self._to_json(row))
        self.rows.append(row)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _differences(begun: Any, now: Any, name: str = "") -> Iterator[str]:
    """Yield the differences between two trees of settings, such as `config.max_steps was 100, is 200`."""
    if isinstance(begun, dict) and isinstance(now, dict):
        for key in {**begun, **now}:
            yield from _differences(begun.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif begun != now:
        yield f"{name} was {begun!r:.60}, is {now!r:.60}"
