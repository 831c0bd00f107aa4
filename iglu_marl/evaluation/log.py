"""Logs of long jobs: JSON lines, each appended when its piece of work is done, from which the job goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from iglu_marl._version import __version__
from iglu_marl.core.errors import ConfigError, DataError

Row = TypeVar("Row")


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


class RowLog(Generic[Row]):
    """A header with the settings, and a line for each row; one that was begun with the same settings is gone on with.

    form: name and version of the format. what: of what it is a log, for messages. from_json, to_json: a row and its
    line. Raises `DataError` for a file that is no such log, and `ConfigError` for one with other settings.
    """

    def __init__(
        self,
        path: Path,
        settings: dict[str, Any],
        *,
        form: tuple[str, int],
        what: str,
        from_json: Callable[[dict[str, Any]], Row],
        to_json: Callable[[Row], dict[str, Any]],
    ) -> None:
        self.path, self._what, self._to_json = path, what, to_json
        header = {"format": form[0], "version": form[1], "iglu_marl": __version__, "settings": settings}
        header = json.loads(json.dumps(header))  # as it is read back
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]  # a line that was cut off is done again
        self.rows = self._read(content, whole, header, from_json)
        self._file = path.open("r+b" if path.exists() else "wb")
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._append(header)

    def _read(
        self,
        content: bytes,
        whole: bytes,
        header: dict[str, Any],
        from_json: Callable[[dict[str, Any]], Row],
    ) -> list[Row]:
        """The rows that are there."""
        advice = "choose another output folder"
        if not whole:
            if content and not _line(header).startswith(content[:20]):  # what is left of a header is no loss
                raise DataError(f"{self.path} is no log of {self._what}; {advice}")
            return []
        try:
            first, *rest = [json.loads(line) for line in whole.splitlines()]
            if first["format"] != header["format"]:
                raise KeyError("format")
            rows = [from_json(row) for row in rest]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path} is no log of {self._what} ({error!r:.60}); {advice}") from None
        known = {name: first.get(name) for name in header}
        if known != header:
            settings = header["settings"]
            odd = [name for name in settings if known["settings"].get(name) != settings[name]]
            raise ConfigError(
                f"{self.path} was begun with other settings ({', '.join(odd) or 'another version'}): "
                f"{known['settings']!s:.300}; {advice}"
            )
        return rows

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write(_line(line))
        self._file.flush()

    def add(self, row: Row) -> None:
        """Append a row."""
        self.rows.append(row)
        self._append(self._to_json(row))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
