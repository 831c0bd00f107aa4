"""Download of packs: limited in size, checked, and installed atomically.

The bytes go to `<file>.part`. Size, hash and contents are checked before this file is moved into place. A lock lets one
process download; others wait and use its file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import logging
import os
import re
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import error_reason
from iglu_marl.core.parsing import PlaceholderError, check_placeholder
from iglu_marl.core.text import plain_number
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import PackInfo, known_file, open_as
from iglu_marl.data.progress import progress_bar

TRIES = 3
WAIT_S = 1.0  # after the first failed try, then twice as long
TIMEOUT_S = (10.0, 30.0)  # to connect, and between bytes
CHUNK = 1 << 16  # bytes
LARGEST = 1 << 28  # bytes of a file of unknown size; upstream's largest has less than half of it
_ENCODINGS = ("", "identity", "gzip", "deflate")  # others, or several, may unpack to any size at once
_BUSY = (408, 429, 500, 502, 503, 504)  # temporary errors

_log = logging.getLogger(__name__)


class FetchError(DataError):
    """A download failed."""


class WrongDataError(FetchError):
    """The downloaded file is not the expected one and was not installed."""


class _TemporaryError(Exception):
    """A try failed; another one may succeed."""


def _request(info: PackInfo, part: Path, progress: bool | None) -> None:
    """Send one request and write its body to `part`. Raises `_TemporaryError` if another try may succeed."""
    with extra("data"):
        import requests

    with requests.Session() as session:
        if urlsplit(info.url).scheme == "https":
            del session.adapters["http://"]  # a redirect to http is not followed
        headers = {"Accept-Encoding": "identity"}  # so that sizes are those of the file
        try:
            with session.get(info.url, headers=headers, stream=True, timeout=TIMEOUT_S) as response:
                answer = f"answered {response.status_code} {response.reason}"
                if response.status_code in _BUSY:
                    raise _TemporaryError(f"it {answer}")
                if response.status_code != 200:
                    raise FetchError(f"{info.url} {answer}")
                _write_body(info, response, part, progress)
        except requests.exceptions.InvalidSchema as error:
            raise FetchError(f"{info.url} redirects, expected to an address with https: {error}") from error
        except requests.exceptions.RequestException as error:
            reason = re.sub(r"^.*\(Caused by (.*)\)$", r"\1", " ".join(str(error).split()))
            raise _TemporaryError(reason or type(error).__name__) from error


def _write_body(info: PackInfo, response: Any, part: Path, progress: bool | None) -> None:
    from rich.progress import DownloadColumn, TransferSpeedColumn

    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise FetchError(f"{info.url} sends the encoding {encoding!r:.60}, expected none or gzip")
    encoded = encoding not in ("", "identity")
    length = None if encoded else plain_number(response.headers.get("Content-Length", ""))
    limit = LARGEST if info.size is None else info.size
    received = 0
    with part.open("wb") as file, progress_bar(progress, DownloadColumn(), TransferSpeedColumn()) as bar:
        task = bar.add_task(part.stem, total=info.size or length)
        for chunk in response.iter_content(CHUNK):
            if not received:
                _check_start(info, chunk, length, limit)
            received += len(chunk)
            if received > limit:
                raise WrongDataError(f"{info.url} sends more than the expected {limit:,} bytes")
            file.write(chunk)
            bar.update(task, completed=received)
        os.fsync(file.fileno())


def _check_start(info: PackInfo, first: bytes, length: int | None, limit: int) -> None:
    """Raise `WrongDataError` for a web page, a pointer, or a length that is wrong or too large."""
    try:
        check_placeholder(first[:1024], f"what {info.url} sends")
    except PlaceholderError as error:
        raise WrongDataError(str(error)) from None
    if length is not None and (length > limit or (length < limit and info.size is not None)):
        most = "at most " if info.size is None else ""
        raise WrongDataError(f"{info.url} sends {length:,} bytes, expected {most}{limit:,}")


def sha256_of(path: Path) -> str:
    """Return the hash of a file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _check_pack(info: PackInfo, path: Path) -> None:
    """Raise `DataError` unless a file is this pack, with its known hash or else with right checksums in it."""
    if info.sha256 is not None and (digest := sha256_of(path)) != info.sha256:
        raise DataError(f"its sha256 is {digest}, expected {info.sha256}")
    if not info.markers:
        return
    with open_as(info, path) as pack:
        for name in pack.names() if info.sha256 is None else ():
            with contextlib.suppress(PlaceholderError):  # upstream has some
                pack.read(name)


def _fetch(info: PackInfo, target: Path, progress: bool | None) -> None:
    """Download, check and install a pack. The caller holds the lock."""
    part = target.with_name(target.name + ".part")
    try:
        for number in range(1, TRIES + 1):
            try:
                _request(info, part, progress)
                break
            except _TemporaryError as error:
                if number == TRIES:
                    raise FetchError(
                        f"{info.url} could not be fetched in {TRIES} tries: {error}; a copy from elsewhere goes to "
                        f"{target}"
                    ) from error
                _log.info("%s: %s; trying again", info.url, error)
                time.sleep(WAIT_S * 2 ** (number - 1))
        try:
            _check_pack(info, part)
        except DataError as error:
            raise WrongDataError(f"{info.url} was fetched and is wrong: {error}; it was removed") from error
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _locked(target: Path) -> AbstractContextManager[Any]:
    """Lock a file for one process, until the end of the returned context."""
    import filelock

    lock = filelock.FileLock(f"{target}.lock")
    try:
        return lock.acquire(timeout=0)
    except filelock.Timeout:
        _log.warning("another process is fetching %s; waiting for it", target)
        return lock.acquire()


def fetch_pack(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    force: bool = False,
    progress: bool | None = None,
) -> Path:
    """Download the zip of a pack, or the file of skills, to a folder unless it exists, and return its path.

    Args:
        name: a key of `PACKS`, or "skills".
        folder: target folder; default: the user's folder of packs.
        url: another address; size and hash must still fit.
        force: download it even if it exists; the old file is replaced at the end.
        progress: show a bar on the error stream (default: if it is a terminal).

    Raises:
        WrongDataError: if the file is not the expected one.
        FetchError: if the download fails.
        DataError: if the name is unknown.

    """
    known = known_file(name)
    info = dataclasses.replace(known, url=url or known.url)
    if urlsplit(info.url).scheme not in ("http", "https"):
        raise FetchError(f"url is {info.url!r}, expected an address with http:// or https://")
    place = pack_folder() if folder is None else Path(os.path.abspath(Path(folder).expanduser()))
    target = place / info.filename
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _locked(target):
            if force or not target.exists():
                _fetch(info, target, progress)
    except OSError as error:
        raise FetchError(f"{target} cannot be written: {error_reason(error)}") from error
    return target
