"""The lock of a running server on its folder, and on a database that is a file."""

from __future__ import annotations

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

    def check(self) -> None:
        """Take the lock again if the file was removed or replaced. Raises `DataError`."""
        if not self._file.has_lock():
            _log.error("the lock %s was removed, and is taken again", self._path)
            lost = self._file
            self._take()
            lost.close()

    def close(self) -> None:
        """Give the lock back."""
        self._file.close()
