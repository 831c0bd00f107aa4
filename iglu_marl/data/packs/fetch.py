"""Fetching packs: downloads that can be interrupted at any moment and are only ever installed whole.

What arrives goes to `<file>.part`, with a note beside it of what it is a part of. An interrupted download is
continued by the next one, in this run or a later one; when the server's file has changed in the meantime, it
starts anew. Size, hash and contents are checked before the file is moved to its place. A lock beside the file
lets only one process fetch it; others wait and then use what it has fetched.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import logging
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import PlaceholderError, check_placeholder
from iglu_marl.core.text import plain_number
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import PackInfo, known_pack, open_as

__all__ = ["FetchError", "WrongDataError", "download", "fetch_pack", "sha256_of"]

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 30.0
RETRIES = 5  # in a row without a new byte; each new byte gives all of them back
BACKOFF_S = 0.5  # 0, 1, 2, 4, ... seconds between tries
LONGEST_WAIT_S = 60.0
LOCK_TIMEOUT_S = 3600.0
CHUNK = 1 << 15  # bytes that are taken at once
LARGEST = 1 << 30  # bytes of a file of unknown size; upstream's largest has about a tenth of it
SLOWEST, WINDOW_S = 1024.0, 60.0  # bytes a second, on average over a window, that a server has to bring
_ENCODINGS = ("", "identity", "gzip", "deflate")  # others, and several, may unpack to any amount at once
_BUSY = (408, 429, 500, 502, 503, 504)  # answers that may be different in a moment

_log = logging.getLogger(__name__)


class FetchError(DataError):
    """A download did not succeed. What has arrived is kept, and the next try goes on from there."""


class WrongDataError(FetchError):
    """What was downloaded is not what was expected, and was not installed."""


class _Interrupted(Exception):
    """An answer broke off; trying again may help."""


@dataclass(frozen=True)
class Download:
    """What to download, where to, and how to know that it is right.

    size, sha256: bytes and hash of the file, None if not known. limit: bytes that it may have at most where the size
    is not known. check: looks at the whole file and raises `DataError` if it is wrong. retries: tries in a row that may
    bring nothing. slowest: bytes a second, averaged over `window_s`. The rest are seconds.
    """

    url: str
    target: Path
    size: int | None = None
    sha256: str | None = None
    check: Callable[[Path], None] | None = None
    retries: int = RETRIES
    backoff_s: float = BACKOFF_S
    timeout_s: tuple[float, float] = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    limit: int = LARGEST
    slowest: float = SLOWEST
    window_s: float = WINDOW_S

    @property
    def most(self) -> int:
        """Bytes that may arrive at most."""
        return self.limit if self.size is None else self.size

    @property
    def part(self) -> Path:
        """Where the bytes go until they are all there."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def note(self) -> Path:
        """What the part is a part of: JSON."""
        return self.target.with_name(self.target.name + ".part.json")

    @property
    def bad(self) -> Path:
        """Where a whole file goes that turned out wrong."""
        return self.target.with_name(self.target.name + ".bad")


# ------------------------------------------------------------------------------------------------- progress


@dataclass
class _Meter:
    """The progress bar, or nothing."""

    bar: Any = None
    task: Any = None

    def show(self, done: int, total: int | None) -> None:
        if self.bar is not None:
            self.bar.update(self.task, completed=done, total=total)


@contextlib.contextmanager
def _meter(name: str, wanted: bool | None) -> Iterator[_Meter]:
    """A progress bar on the error stream; by default only where that is a terminal."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield _Meter()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.progress import TransferSpeedColumn as SpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), SpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        yield _Meter(bar, bar.add_task(name, total=None))


# ------------------------------------------------------------------------------------------- one connection


@dataclass
class _State:
    """A download on its way: how much is there, and what the server said that it belongs to."""

    plan: Download
    session: Any
    meter: _Meter
    etag: str = ""
    modified: str = ""
    total: int | None = None
    resumed: bool = False  # whether bytes of an earlier connection are in use

    @property
    def done(self) -> int:
        """Bytes that have arrived."""
        try:
            return self.plan.part.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def expected(self) -> int | None:
        """Bytes of the whole file, if known."""
        return self.plan.size if self.plan.size is not None else self.total

    def recall(self) -> None:
        """Takes over what an earlier run has left, if it is of the same address."""
        try:
            note = json.loads(self.plan.note.read_text(encoding="utf-8"))
            same = note["url"] == self.plan.url
            self.etag, self.modified = str(note["etag"]), str(note["modified"])
            self.total = None if note["total"] is None else int(note["total"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            same = False
        self.resumed = same and self.done > 0
        if not same:
            self.forget()

    def forget(self) -> None:
        """Starts anew."""
        self.etag = self.modified = ""
        self.total = None
        self.resumed = False
        for path in (self.plan.part, self.plan.note):
            path.unlink(missing_ok=True)

    def begin(self, response: Any) -> None:
        """Starts anew with this answer, and notes what it is before its first byte is written."""
        self.forget()
        self.total = _length(response)
        if not _encoded(response):
            self.etag = response.headers.get("ETag", "")
            self.modified = response.headers.get("Last-Modified", "")
        note = {"url": self.plan.url, "etag": self.etag, "modified": self.modified, "total": self.total}
        write_text(self.plan.note, json.dumps(note), FetchError)

    def headers(self) -> dict[str, str]:
        """The request for what is still missing. "identity": sizes are those of the file itself."""
        headers = {"Accept-Encoding": "identity"}
        validator = self.etag if self.etag.startswith('"') else self.modified  # weak ETags promise no bytes
        if self.done and (validator or self.plan.sha256):  # without either, parts could be of two files
            headers["Range"] = f"bytes={self.done}-"
            if validator:
                headers["If-Range"] = validator
        return headers


def _encoded(response: Any) -> bool:
    return response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")


def _length(response: Any) -> int | None:
    """Bytes of the whole file by the head of a full answer, if it tells."""
    return None if _encoded(response) else plain_number(response.headers.get("Content-Length", ""))


def _session(plan: Download) -> Any:
    """Retries connections and busy servers by itself, with growing waits, honouring Retry-After.

    It goes from an encrypted address to encrypted ones only.
    """
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    class Patient(Retry):
        """Waits as long as the server asks for, within reason."""

        def get_retry_after(self, response: Any) -> float | None:
            asked = super().get_retry_after(response)
            return None if asked is None else min(asked, LONGEST_WAIT_S)

    class Session(requests.Session):
        def get_redirect_target(self, resp: Any) -> str | None:
            target = super().get_redirect_target(resp)
            if target is not None and urlsplit(resp.url).scheme == "https":
                place = urljoin(resp.url, target)
                if urlsplit(place).scheme != "https":
                    raise FetchError(f"{plan.url} leads to {place}, which is not encrypted; not followed")
            return target

    retry = Patient(
        total=plan.retries,
        connect=min(plan.retries, 2),  # without a network, the answer should not take long
        status_forcelist=_BUSY,
        allowed_methods={"GET"},
        backoff_factor=plan.backoff_s,
        raise_on_status=False,
    )
    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry))
    return session


def _receive(state: _State) -> None:
    """One request and all of its answer. Raises `_Interrupted` when the answer broke off."""
    import requests
    import urllib3

    plan = state.plan
    try:
        response = state.session.get(
            plan.url, headers=state.headers(), stream=True, timeout=plan.timeout_s, allow_redirects=True
        )
    except requests.exceptions.RequestException as error:
        raise FetchError(f"{plan.url} could not be reached: {_cause(error)}{_kept(state)}") from error
    with contextlib.closing(response):
        try:
            _take(state, response)
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _Interrupted(_cause(error)) from error
    if state.total is not None and state.done < state.total:
        raise _Interrupted(f"it broke off at {state.done:,} of {state.total:,} bytes")


def _cause(error: BaseException) -> str:
    """The innermost reason of a chain of network errors, on one line."""
    text = " ".join(str(error).split())
    return re.sub(r"^.*\(Caused by (.*)\)$", r"\1", text) or type(error).__name__


def _kept(state: _State) -> str:
    """What to say about the part that has arrived."""
    done = state.done
    return f"; {done:,} bytes are kept in {state.plan.part}, run it again to go on from there" if done else ""


def _take(state: _State, response: Any) -> None:
    """Writes what an answer brings."""
    plan, status = state.plan, int(response.status_code)
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise FetchError(f"{plan.url} sends the encoding {encoding!r:.60}, expected none or gzip")
    span = response.headers.get("Content-Range", "").strip()
    if status == 416 and state.done:
        if span == f"bytes */{state.done}":  # all of it is there
            state.total = state.done
            return
        state.forget()
        raise _Interrupted("the server has no such part of the file")
    if status == 206:
        match = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)", span)
        if not match or int(match.group(1)) != state.done:
            state.forget()
            raise _Interrupted(f"the server sent another part of the file: {span!r}")
        state.total = None if match.group(2) == "*" else int(match.group(2))
        state.resumed = True
        _append(state, _chunks(state, response))
    elif status == 200:
        chunks = _chunks(state, response)
        first = next((chunk for chunk in chunks if chunk), b"")
        _check_start(plan, first, _length(response))  # before anything kept so far is given up
        state.begin(response)
        _append(state, itertools.chain([first], chunks))
    else:
        raise FetchError(f"{plan.url} answered {status} {response.reason}{_kept(state)}")


def _chunks(state: _State, response: Any) -> Iterator[bytes]:
    """What arrives, as it arrives. Raises `FetchError` where that is too slow to come to an end."""
    plan = state.plan
    begun, got = time.monotonic(), 0
    while chunk := response.raw.read1(CHUNK, decode_content=True):
        yield chunk
        got += len(chunk)
        seconds = time.monotonic() - begun
        if seconds >= plan.window_s:
            if got < plan.slowest * seconds:
                raise FetchError(
                    f"{plan.url} brings {got / seconds:,.0f} bytes a second, expected {plan.slowest:,.0f} or more"
                    f"{_kept(state)}"
                )
            begun, got = time.monotonic(), 0


def _append(state: _State, chunks: Iterable[bytes]) -> None:
    """Appends to the part as it arrives."""
    plan, expected, done = state.plan, state.expected, state.done
    most = plan.most if state.total is None or plan.size is not None else min(plan.limit, state.total)
    if (expected or 0) > plan.most:
        state.forget()
        raise WrongDataError(f"{plan.url} sends {expected:,} bytes, expected at most {plan.most:,}")
    _check_space(plan, (expected or 0) - done)
    with plan.part.open("ab") as part:
        for chunk in chunks:
            part.write(chunk)
            part.flush()  # what has arrived outlives this process
            done += len(chunk)
            state.meter.show(done, expected)
            if done > most:
                break
        os.fsync(part.fileno())
    if done > most:
        state.forget()
        raise WrongDataError(f"{plan.url} sends more than the expected {most:,} bytes")


def _check_start(plan: Download, first: bytes, total: int | None) -> None:
    """A web page, a Git LFS pointer or a file of another size is seen at its first bytes."""
    try:
        check_placeholder(first, f"what {plan.url} sends")
    except PlaceholderError as error:
        raise WrongDataError(str(error)) from None
    if plan.size is not None and total is not None and total != plan.size:
        raise WrongDataError(f"{plan.url} sends {total:,} bytes, expected {plan.size:,}")


def _check_space(plan: Download, needed: int) -> None:
    free = shutil.disk_usage(plan.part.parent).free
    if needed > free:
        raise FetchError(f"{plan.part.parent} has {free:,} bytes free, and {needed:,} more are needed")


# ----------------------------------------------------------------------------------------- a whole download


def sha256_of(path: Path) -> str:
    """The hash of a file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _fault(plan: Download) -> str | None:
    """What is wrong with the whole file that has arrived."""
    size = plan.part.stat().st_size
    if plan.size is not None and size != plan.size:
        return f"it has {size:,} bytes, expected {plan.size:,}"
    if plan.sha256 is not None:
        found = sha256_of(plan.part)
        if found != plan.sha256.lower():
            return f"its sha256 is {found}, expected {plan.sha256}"
    if plan.check is not None:
        try:
            plan.check(plan.part)
        except DataError as error:
            return str(error)
    return None


def _receive_all(state: _State) -> None:
    """Requests until all has arrived. Gives up after some tries in a row without a new byte."""
    plan, idle, most = state.plan, 0, state.done
    while True:
        try:
            _receive(state)
            return
        except _Interrupted as error:
            idle = 0 if state.done > most else idle + 1
            most = max(most, state.done)
            if idle > plan.retries:
                raise FetchError(f"{plan.url} could not be fetched whole: {error}{_kept(state)}") from error
            _log.info("%s: %s; trying again", plan.url, error)
            time.sleep(min(plan.backoff_s * 2**idle, LONGEST_WAIT_S) if idle else 0.0)


def _fetch(plan: Download, meter: _Meter) -> None:
    """Everything between an empty folder and the file in its place. Called under the lock."""
    with contextlib.closing(_session(plan)) as session:
        state = _State(plan, session, meter)
        state.recall()
        if state.expected is None or state.done != state.expected:  # else only the last steps are left
            _receive_all(state)
        fault = _fault(plan)
        if fault and state.resumed:  # the parts may have been of two files
            _log.info("%s: %s; starting anew", plan.url, fault)
            state.forget()
            _receive_all(state)
            fault = _fault(plan)
    if fault:
        os.replace(plan.part, plan.bad)
        plan.note.unlink(missing_ok=True)
        raise WrongDataError(f"{plan.url} was fetched and is wrong: {fault}; it was moved to {plan.bad}")
    os.replace(plan.part, plan.target)
    plan.note.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Only one process at a time fetches a file."""
    import filelock

    lock = filelock.FileLock(f"{target}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        _log.warning("another process is fetching %s; waiting for it", target)
        try:
            lock.acquire(timeout=LOCK_TIMEOUT_S)
        except filelock.Timeout:
            raise FetchError(f"another process has been fetching {target} for an hour") from None
    try:
        yield
    finally:
        lock.release()


def download(plan: Download, *, progress: bool | None = None) -> Path:
    """The file at `plan.target`, fetched if it is not there; returns its path.

    progress: whether to show a bar on the error stream (default: if that is a terminal). Raises `FetchError`
    with the cause when it cannot be had, `WrongDataError` when it is not what was expected.
    """
    try:
        plan.target.parent.mkdir(parents=True, exist_ok=True)
        with _alone(plan.target):
            if not plan.target.exists():
                with _meter(plan.target.name, progress) as meter:
                    _fetch(plan, meter)
    except OSError as error:
        raise FetchError(f"{plan.target} cannot be written: {error.strerror or error}") from error
    return plan.target


def fetch_pack(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    force: bool = False,
    progress: bool | None = None,
    retries: int = RETRIES,
    backoff_s: float = BACKOFF_S,
    timeout_s: tuple[float, float] = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
) -> Path:
    """The zip of a pack in `folder` (default: this user's own), downloaded unless it is there.

    url: fetch it from another address; size and hash must still be right. force: fetch it even if it is
    there; the old one stays until the new one is whole. progress: as in `download`. retries: tries in a row
    that may bring nothing; backoff_s, timeout_s (to connect, between bytes): seconds.

    Raises `FetchError` with the cause, `WrongDataError` when what arrives is something else, and `DataError`
    for an unknown name.
    """
    info = known_pack(name)
    place = pack_folder() if folder is None else Path(os.path.abspath(Path(folder).expanduser()))
    target = place / info.filename
    plan = Download(
        url=url or info.url,
        target=target.with_name(target.name + ".again") if force else target,
        size=info.size,
        sha256=info.sha256,
        check=lambda path: _check_pack(info, path),
        retries=retries,
        backoff_s=backoff_s,
        timeout_s=timeout_s,
    )
    if urlsplit(plan.url).scheme not in ("http", "https"):
        raise FetchError(f"{plan.url!r} is no address that can be fetched, expected http:// or https://")
    found = download(plan, progress=progress)
    if force:
        os.replace(found, target)
    return target


def _check_pack(info: PackInfo, path: Path) -> None:
    """A fetched pack must open and be that pack; without a known hash, every checksum in it must be right."""
    with open_as(info, path) as pack:
        if info.sha256 is None:
            for name in pack.names():
                with contextlib.suppress(PlaceholderError):  # as upstream has it
                    pack.check(name)
