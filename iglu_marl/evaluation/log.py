"""The file to which an evaluation writes each game when it is over, and from which it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

from iglu_marl import __version__
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.tables import FORMAT, VERSION, Row


class Log:
    """The file to which each game is appended when it is over."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.rows = path, list[Row]()
        header = {"format": FORMAT, "version": VERSION, "iglu_marl": __version__, "settings": settings}
        self._file: IO[str] | None = None
        whole = self._read(header) if path.exists() else 0
        self._file = path.open("r+" if path.exists() else "w", encoding="utf-8")
        self._file.truncate(whole)  # a line that was cut off is played again
        self._file.seek(whole)
        if not whole:
            self._append(header)

    def _read(self, header: dict[str, Any]) -> int:
        """Read the games that are there; the length of the whole lines in bytes."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        if not lines:
            if content and not json.dumps(header).encode().startswith(content[:20]):
                raise DataError(f"{self.path} is no log of an evaluation; choose another output folder")
            return 0
        try:
            first, *rest = [json.loads(line) for line in lines]
            if first["format"] != FORMAT:
                raise KeyError("format")
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path} is no log of an evaluation ({error!r:.60}); choose another output folder"
            ) from None
        known = {name: first.get(name) for name in header}
        if known != header:
            odd = [
                name for name in header["settings"] if known["settings"].get(name) != header["settings"][name]
            ]
            raise ConfigError(
                f"{self.path} was begun with other settings ({', '.join(odd) or 'another version'}): "
                f"{known['settings']!s:.300}; choose another output folder"
            )
        self.rows = rest
        return whole

    def _append(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()

    def add(self, row: Row) -> None:
        """Append a game."""
        self.rows.append(row)
        self._append(row)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
