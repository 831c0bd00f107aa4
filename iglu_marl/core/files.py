"""Atomic writing: files and folders that appear whole or not at all, and files of JSON lines for one process."""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import math
import os
import shutil
import socket
import stat
import tempfile
import uuid
import warnings
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from iglu_marl.core.errors import DataError, IgluMarlError

PRIVATE = 0o600
"""Mode of files that only their owner may read, such as conversations and prompts."""


def opened(path: str | os.PathLike[str], how: str, mode: int | None = None) -> IO[bytes]:
    """Open a binary file, unbuffered. mode: permissions of a new file; None: those of the umask."""
    permissions = 0o666 if mode is None else mode
    return open(path, how, buffering=0, opener=lambda name, flags: os.open(name, flags, permissions))


def private_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder that only its owner may read, if it is missing. Return its path."""
    return made_folder(path, mode=0o700)


def made_folder(path: str | os.PathLike[str], mode: int = 0o777) -> Path:
    """Create a folder and its parents if they are missing. Return its path. An `OSError` becomes a `DataError`."""
    folder = usable_path(path, named=False)
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as fault:
        raise DataError(f"{folder} cannot be used as a folder: {error_reason(fault)}") from None
    return folder


def error_reason(error: OSError) -> str:
    """Return the reason of an `OSError`, in one line."""
    return error.strerror or str(error).partition("\n")[0]


def usable_path(
    path: str | os.PathLike[str], error: type[IgluMarlError] = DataError, *, named: bool = True
) -> Path:
    """Return the path. Raise `error` if no file can be there, such as for a name of 5,000 characters.

    named: whether the path must end with a name, as a file's does.
    """
    found = Path(path)
    try:
        if named and not found.name:
            raise ValueError("it has no file name")
        os.lstat(found)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as fault:
        reason = error_reason(fault) if isinstance(fault, OSError) else str(fault)
        raise error(f"{str(found)!r:.200} cannot be used as a path: {reason}") from None
    return found


def check_writable(
    path: str | os.PathLike[str],
    error: type[IgluMarlError] = DataError,
    *,
    folder: bool = False,
    parents: bool = False,
) -> Path:
    """Return the path. Raise `error` if nothing can be written there, before the work that is to be written.

    Args:
        path: a file or folder to write, which may exist.
        error: raised instead of an `OSError`.
        folder: whether it is a folder, which is created with its parents.
        parents: whether the parents of a file are created; otherwise its folder must exist.

    """
    place = usable_path(path, error, named=not folder)
    existing = place.parent
    if folder or parents:
        folders = (place, *place.parents) if folder else place.parents
        existing = next(one for one in folders if os.path.lexists(one))
    try:
        if place.is_dir() and not folder:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as fault:
        raise error(f"{place} cannot be written: {error_reason(fault)}") from None
    return place


@contextlib.contextmanager
def atomic_write(
    path: str | os.PathLike[str], error: type[IgluMarlError] = DataError, mode: int | None = None
) -> Iterator[Path]:
    """Yield a temporary path beside `path`. Move it there at the end, or remove it after an error.

    The new content is on the disk before the old one goes. A symbolic link stays and its target is replaced. A
    read-only file is not replaced. A process that was forked inside leaves the file to its parent.

    Args:
        path: the file, which appears whole or not at all.
        error: raised instead of an `OSError`, such as a full disk; names the file.
        mode: permissions; None: those of the existing file, or of the umask.

    """
    final = usable_path(path, error)
    owner = os.getpid()
    if final.is_symlink():  # it stays, and leads to the new content
        final = final.resolve()
    temporary = final.with_name(f".{final.stem}-{uuid.uuid4().hex[:8]}{final.suffix}")
    try:
        if final.is_file():
            existing = stat.S_IMODE(final.stat().st_mode)
            if not existing & 0o222:
                raise PermissionError(errno.EACCES, "it is read-only")
            mode = existing if mode is None else mode
        if mode is not None:
            opened(temporary, "xb", mode).close()
        yield temporary
        if os.getpid() == owner:
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
            temporary.replace(final)
            _sync_folder(final.parent)
    except OSError as fault:
        raise error(f"{final} cannot be written: {error_reason(fault)}") from fault
    finally:
        if os.getpid() == owner:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def _sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where a system can open folders."""
    with contextlib.suppress(OSError):
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def new_folder(
    path: str | os.PathLike[str], *, private: bool = False, error: type[IgluMarlError] = DataError
) -> Iterator[Path]:
    """Yield a temporary folder beside `path`. Move it there at the end, or remove it after an error.

    A process that was forked inside leaves the folder to its parent.

    Args:
        path: a folder that is missing or empty.
        private: whether only its owner may read it.
        error: raised for a folder in use, and instead of an `OSError`.

    """
    folder = usable_path(path, error, named=False)
    if folder.exists() and not folder.is_dir():
        raise error(f"{folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise error(f"{folder} is not empty; choose another folder")
    owner = os.getpid()
    beside = usable_path(folder, error).with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(mode=0o700 if private else 0o777)
        yield beside
        if os.getpid() == owner:
            if folder.exists():
                folder.rmdir()
            os.replace(beside, folder)
            _sync_folder(folder.parent)
    except OSError as fault:
        raise error(f"{folder} cannot be written: {error_reason(fault)}") from fault
    finally:
        if os.getpid() == owner:
            shutil.rmtree(beside, ignore_errors=True)


def write_text(
    path: str | os.PathLike[str],
    text: str,
    error: type[IgluMarlError] = DataError,
    mode: int | None = None,
) -> Path:
    """Write a text as UTF-8, whole or not at all. Return the path. mode, error: as for `atomic_write`."""
    with atomic_write(path, error, mode) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)


_encode = json.JSONEncoder(separators=(",", ":")).encode  # made once: `json.dumps` makes one for each line


def json_ready(value: Any, digits: int | None = None) -> Any:
    """Return the value for JSON: tuples as lists, nan and infinity as None, floats rounded to `digits`."""
    if isinstance(value, Mapping):
        return {key: json_ready(part, digits) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(part, digits) for part in value]
    if not isinstance(value, float):
        return value
    return (value if digits is None else round(value, digits)) if math.isfinite(value) else None


def json_line(content: Mapping[str, Any]) -> bytes:
    """Return a line of a file of JSON lines."""
    return _encode(content).encode("ascii") + b"\n"


class JsonLines:
    """A file of JSON lines for one process at a time. Each line is written whole or not at all.

    `.<name>.lock` beside it is locked until `close` or the end of the process; `.<name>.owner` names the owner. A
    forked process is another one: it can close its copy, and changes nothing.

    Raises:
        DataError: if another process has the file, or it cannot be opened or written.

    """

    def __init__(self, path: str | os.PathLike[str], mode: int | None = None) -> None:
        self.path = usable_path(path)
        if self.path.is_fifo() or self.path.is_char_device():
            raise DataError(f"{self.path} is a pipe or a device, expected a regular file")
        self._process = os.getpid()
        with self._wrap_errors():
            real = self.path.resolve()
            # Unbuffered and appending: each line is one write at the end of the file.
            self._file = opened(self.path, "a+b", mode)
        try:
            self._lock(real)
        except BaseException:
            self._file.close()
            raise

    @contextlib.contextmanager
    def _wrap_errors(self) -> Iterator[None]:
        if not self.is_owner:
            raise DataError(
                f"{self.path} is being written by process {self._process}, of which this one is a fork; "
                "choose another file"
            )
        try:
            yield
        except OSError as error:
            raise DataError(f"{self.path} cannot be written: {error_reason(error)}") from error

    @property
    def is_owner(self) -> bool:
        """Whether this process has opened the file, and not one that it was forked from."""
        return self._process == os.getpid()

    def _lock(self, real: Path) -> None:
        from filelock import FileLock, Timeout

        owner = real.with_name(f".{real.name}.owner")
        self._lock_path = real.with_name(f".{real.name}.lock")
        lock = FileLock(self._lock_path, timeout=0, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            try:
                holder = owner.read_text(encoding="utf-8", errors="replace")[:200]
            except OSError:
                holder = "another process"
            raise DataError(
                f"{self.path} is being written by {holder}; wait until it has ended, or choose another file"
            ) from None
        except (OSError, NotImplementedError) as error:
            warnings.warn(
                f"{self.path} cannot be locked ({error}): nothing else may write to it", stacklevel=4
            )
        self._place = _place_of(self._lock_path)
        self._release = weakref.finalize(self, _release, self._process, self._file, lock, owner, self._place)
        self._release.atexit = False
        atexit.register(self._release)  # at the latest; registered last, so before filelock frees its locks
        with contextlib.suppress(OSError):
            owner.write_text(f"process {self._process} on {socket.gethostname()}", encoding="utf-8")

    def has_lock(self) -> bool:
        """Return whether the lock was not removed or replaced since, so that another process can have it."""
        return _place_of(self._lock_path) == self._place

    def read(self) -> bytes:
        """Return the content of the file."""
        with self._wrap_errors():
            return self.path.read_bytes()

    def cut(self, size: int) -> None:
        """Truncate the file to `size` bytes."""
        with self._wrap_errors():
            self._file.truncate(size)

    def append(self, content: Mapping[str, Any] | bytes) -> None:
        """Append a line (as bytes: with its line feed). Raises `DataError`, and writes nothing, if the disk is full."""
        line = memoryview(content if isinstance(content, bytes) else json_line(content))
        with self._wrap_errors():
            written = 0
            try:
                while line:  # once, unless the disk is full
                    count = self._file.write(line)
                    written, line = written + count, line[count:]
            except OSError:
                if written:
                    self._file.truncate(os.fstat(self._file.fileno()).st_size - written)
                raise

    def sync(self) -> None:
        """Wait until all lines are on the disk."""
        with self._wrap_errors():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close and unlock the file. May be called more than once."""
        self._release()
        atexit.unregister(self._release)


def _place_of(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _release(process: int, file: IO[bytes], lock: Any, owner: Path, place: tuple[int, int] | None) -> None:
    file.close()
    if process != os.getpid():  # a fork has the lock of its parent
        return
    if lock.is_locked and _place_of(Path(lock.lock_file)) == place:  # else it is another's by now
        with contextlib.suppress(OSError):
            owner.unlink(missing_ok=True)
            # Before the release: filelock looks whether the file that it has locked still has its name.
            Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
