"""Files that are whole whatever happens: moved to their place when they are done, or line by line by one process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import stat
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from iglu_marl.core.errors import DataError, IgluMarlError

PRIVATE = 0o600
"""The mode of files that only their owner reads, whatever the umask: what people said, and what models were told."""


def opened(path: str | os.PathLike[str], how: str, mode: int | None = None) -> IO[bytes]:
    """A binary file, unbuffered. mode: of a new one, None for that of the umask."""
    return open(
        path,
        how,
        buffering=0,
        opener=lambda name, flags: os.open(name, flags, 0o666 if mode is None else mode),
    )


def private_folder(path: str | os.PathLike[str]) -> Path:
    """A folder for what only its owner reads, made if it is not there; returns the path."""
    folder = Path(path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def made_folder(path: str | os.PathLike[str], error: type[IgluMarlError] = DataError) -> Path:
    """A folder, made with those above it if it is not there; returns the path. An `OSError` becomes `error`."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise error(f"{folder} cannot be used as a folder: {why(fault)}") from None
    return folder


def why(error: OSError) -> str:
    """The reason that an `OSError` gives, in one line."""
    return error.strerror or str(error).partition("\n")[0]


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], error: type[IgluMarlError] = DataError, mode: int | None = None
) -> Iterator[Path]:
    """A temporary name beside `path`, with its suffix, that is moved there at the end, or removed after an error.

    mode: of the file; None for that of the file in its place, and of the umask where there is none.
    A file of that name appears whole, or not at all. An `OSError` (a full disk, say) becomes `error`, which names
    the file.
    """
    final = Path(path)
    temporary = final.with_name(f".{final.stem}-{uuid.uuid4().hex[:8]}{final.suffix}")
    try:
        if mode is None and final.is_file():
            mode = stat.S_IMODE(final.stat().st_mode)
        if mode is not None:
            opened(temporary, "xb", mode).close()
        yield temporary
        temporary.replace(final)
    except OSError as fault:
        raise error(f"{final} cannot be written: {why(fault)}") from fault
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(
    path: str | os.PathLike[str],
    *,
    overwrite: bool | None = None,
    marker: str,
    holds: str = "",
    private: bool = False,
    error: type[IgluMarlError] = DataError,
) -> Iterator[Path]:
    """A temporary folder beside `path` that is moved there at the end, or removed after an error.

    path: a folder that does not exist yet or is empty; with `overwrite`, one is replaced that has a file `marker` with
    the text `holds` in it; None: there is no such choice. private: whether only its owner reads it.
    The folder appears whole, or not at all. Raises `error` for a folder in use, and for an `OSError` (a full disk).
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise error(f"{folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            choice = "" if overwrite is None else ", or overwrite=True"
            raise error(f"{folder} is not empty; choose another folder{choice}")
        found = folder / marker
        if not found.is_file() or holds not in found.read_text(encoding="utf-8", errors="replace"):
            what = f"has no {marker}" + (f" with {holds!r}" if holds else "")
            raise error(f"{folder} {what}: it is not overwritten, since it may be something else")
    beside = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(mode=0o700 if private else 0o777)
        yield beside
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(beside, folder)
    except OSError as fault:
        raise error(f"{folder} cannot be written: {why(fault)}") from fault
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def write_text(
    path: str | os.PathLike[str],
    text: str,
    error: type[IgluMarlError] = DataError,
    mode: int | None = None,
) -> Path:
    """Write a text as UTF-8, whole or not at all; returns the path. mode: as for `replacing`.

    Raises `error`, naming the file.
    """
    with replacing(path, error, mode) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)


_encode = json.JSONEncoder(separators=(",", ":")).encode  # made once: `json.dumps` makes one for each line


def json_line(content: Mapping[str, Any]) -> bytes:
    """A line of a file of JSON lines."""
    return _encode(content).encode("ascii") + b"\n"


class JsonLines:
    """A file of JSON lines for one process at a time, in which every line is there whole or not at all.

    The file is locked from opening to `close`, or until the process ends, however it ends. Meanwhile `.<name>.owner`
    beside it says who has it. mode: of a new file, None for that of the umask. Raises `DataError`, naming file and
    owner, where another has it, and when it cannot be opened or written.
    """

    def __init__(self, path: str | os.PathLike[str], mode: int | None = None) -> None:
        self.path = Path(path)
        self._owner = self.path.with_name(f".{self.path.name}.owner")
        with self._told():
            # Unbuffered and appending: each line is one write at the end of the file.
            self._file = opened(self.path, "a+b", mode)
        try:
            self._lock()
        except BaseException:
            self._file.close()
            raise

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.path} cannot be written: {why(error)}") from error

    def _lock(self) -> None:
        # The kernel's lock on the file itself: it leaves nothing behind, and ends with the process.
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                owner = self._owner.read_text(encoding="utf-8", errors="replace")[:200]
            except OSError:
                owner = "another process"
            raise DataError(
                f"{self.path} is being written by {owner}; wait until it has ended, or choose another file"
            ) from None
        except OSError as error:
            warnings.warn(
                f"{self.path} cannot be locked ({why(error)}): nothing else may write to it", stacklevel=4
            )
        self._release = weakref.finalize(self, _release, self._file, self._owner)  # at the latest at the end
        with contextlib.suppress(OSError):
            self._owner.write_text(f"process {os.getpid()} on {socket.gethostname()}", encoding="utf-8")

    def read(self) -> bytes:
        """All that is in the file."""
        with self._told():
            return self.path.read_bytes()

    def cut(self, size: int) -> None:
        """Leave the first `size` bytes of the file."""
        with self._told():
            self._file.truncate(size)

    def append(self, content: Mapping[str, Any]) -> None:
        """Append a line. Raises `DataError` when there is no room for it, and then nothing of it is there."""
        line = memoryview(json_line(content))
        with self._told():
            written = 0
            try:
                while line:  # once, unless the disk is full
                    count = self._file.write(line)
                    written, line = written + count, line[count:]
            except OSError:
                if written:
                    self._file.truncate(os.fstat(self._file.fileno()).st_size - written)
                raise

    def close(self) -> None:
        """Close the file, for others to use. May be called more than once."""
        self._release()


def _release(file: IO[bytes], owner: Path) -> None:
    import fcntl

    with contextlib.suppress(OSError):
        owner.unlink(missing_ok=True)
        fcntl.flock(file, fcntl.LOCK_UN)  # also where a forked process has the file open
    file.close()
