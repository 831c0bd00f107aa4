"""The lock of a running server on its folder, and on a database that is a file."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import PRIVATE, JsonLines

_log = logging.getLogger("uvicorn.error")


class FileLock:
    """The lock on a file that says that a server runs. Raises `DataError`, with these words, if another has it."""

    def __init__(self, path: Path, taken: str) -> None:
        self._path, self._taken = path, taken
        self._take()

    def _take(self) -> None:
        try:
            self._file = JsonLines(self._path, PRIVATE)
        except DataError as error:
            raise DataError(f"{self._taken}: {error}") from None
        self._places = self._places_now()

    def _places_now(self) -> list[tuple[int, int]]:
        """Return where the file and its lock are; one that is missing is left out."""
        places = []
        for path in (self._path, self._path.with_name(f".{self._path.name}.lock")):
            with contextlib.suppress(OSError):
                found = path.stat()
                places.append((found.st_dev, found.st_ino))
        return places

    def check(self) -> None:
        """Take the lock again if the file was removed or replaced. Raises `DataError`."""
        if self._places_now() != self._places:
            _log.error("the lock %s was removed, and is taken again", self._path)
            self._file.close()
            self._take()

    def close(self) -> None:
        """Give the lock back."""
        self._file.close()
