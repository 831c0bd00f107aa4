"""Download of packs, with resume and atomic installation.

Received bytes go to `<file>.part`; `<file>.part.json` describes the file they belong to. The next run resumes an
interrupted download, or restarts it if the server's file has changed. Size, hash and contents are checked before the
file is moved into place. A lock lets one process download; others wait and use its file.
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
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import PlaceholderError, check_placeholder
from iglu_marl.core.text import plain_number
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import PackInfo, known_pack, open_as
from iglu_marl.data.progress import progress_bar

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 30.0
RETRIES = 5  # in a row without a new byte
BACKOFF_S = 0.5  # 0, 1, 2, 4, ... seconds between tries
LONGEST_WAIT_S = 60.0
LOCK_TIMEOUT_S = 3600.0
CHUNK = 1 << 15  # bytes
LARGEST = 1 << 28  # bytes of a file of unknown size; upstream's largest has less than half of it
SLOWEST, WINDOW_S = 1024.0, 60.0  # minimum bytes per second, averaged over a window
_ENCODINGS = ("", "identity", "gzip", "deflate")  # others, or several, may unpack to any size at once
_BUSY = (408, 429, 500, 502, 503, 504)  # temporary errors

_log = logging.getLogger(__name__)


class FetchError(DataError):
    """A download failed. The received bytes are kept, and the next try resumes."""


class WrongDataError(FetchError):
    """The downloaded file is not the expected one and was not installed."""


class _Interrupted(Exception):
    """A response was interrupted; a retry may help."""


@dataclass(frozen=True)
class Download:
    """A download: address, target file, checks and limits."""

    url: str  # address
    target: Path  # file to write
    size: int | None = None  # expected bytes; None if unknown
    sha256: str | None = None  # expected hash; None if unknown
    check: Callable[[Path], None] | None = None  # raises `DataError` if the whole file is wrong
    retries: int = RETRIES  # tries in a row without a new byte
    backoff_s: float = BACKOFF_S  # wait between tries, in seconds
    # Seconds to connect, and between bytes.
    timeout_s: tuple[float, float] = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    limit: int = LARGEST  # maximum bytes if the size is unknown
    slowest: float = SLOWEST  # minimum bytes per second, averaged over `window_s`
    window_s: float = WINDOW_S  # seconds

    @property
    def most(self) -> int:
        """Maximum number of bytes."""
        return self.limit if self.size is None else self.size

    @property
    def part(self) -> Path:
        """File of the received bytes."""
        return self.target.with_name(self.target.name + ".part")

    @property
    def note(self) -> Path:
        """JSON file about `part`."""
        return self.target.with_name(self.target.name + ".part.json")


@dataclass
class _State:
    """A running download: the received bytes, and the server's headers for them."""

    plan: Download
    session: Any
    show: Callable[[int, int | None], object]
    etag: str = ""
    modified: str = ""
    total: int | None = None
    resumed: bool = False  # whether bytes of an earlier connection are in use

    @property
    def done(self) -> int:
        """Number of received bytes."""
        try:
            return self.plan.part.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def expected(self) -> int | None:
        """Bytes of the whole file, if known."""
        return self.plan.size if self.plan.size is not None else self.total

    def load_note(self) -> None:
        """Resume the state of an earlier run for the same address."""
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
        """Delete the received bytes."""
        self.etag = self.modified = ""
        self.total = None
        self.resumed = False
        for path in (self.plan.part, self.plan.note):
            path.unlink(missing_ok=True)

    def begin(self, response: Any) -> None:
        """Start with this response, and write its note before the first byte."""
        self.forget()
        self.total = _length(response)
        if not _encoded(response):
            self.etag = response.headers.get("ETag", "")
            self.modified = response.headers.get("Last-Modified", "")
        note = {"url": self.plan.url, "etag": self.etag, "modified": self.modified, "total": self.total}
        write_text(self.plan.note, json.dumps(note), FetchError)

    def headers(self) -> dict[str, str]:
        """Return the request headers for the missing bytes."""
        headers = {"Accept-Encoding": "identity"}  # so that sizes are those of the file
        # A weak ETag allows other bytes.
        validator = self.etag if self.etag.startswith('"') else self.modified
        if self.done and (validator or self.plan.sha256):  # otherwise the parts could be of two files
            headers["Range"] = f"bytes={self.done}-"
            if validator:
                headers["If-Range"] = validator
        return headers


def _encoded(response: Any) -> bool:
    return response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity")


def _length(response: Any) -> int | None:
    """Return the bytes of the whole file from the headers of a full response; None if unknown."""
    return None if _encoded(response) else plain_number(response.headers.get("Content-Length", ""))


def _session(plan: Download) -> Any:
    """Return a session that retries connections and busy servers with growing waits, and honors Retry-After.

    It does not follow a redirect from https to http.
    """
    with extra("data"):
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

    class Patient(Retry):
        """Limits the wait that the server asks for."""

        def get_retry_after(self, response: Any) -> float | None:
            asked = super().get_retry_after(response)
            return None if asked is None else min(asked, LONGEST_WAIT_S)

    class Session(requests.Session):
        def get_redirect_target(self, resp: Any) -> str | None:
            target = super().get_redirect_target(resp)
            if target is not None and urlsplit(resp.url).scheme == "https":
                place = urljoin(resp.url, target)
                if urlsplit(place).scheme != "https":
                    raise FetchError(f"{plan.url} redirects to {place}, expected https; not followed")
            return target

    retry = Patient(
        total=plan.retries,
        connect=min(plan.retries, 2),  # fail soon without a network
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
    """Send one request and read its response. Raises `_Interrupted` if the response ends early."""
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
    text = " ".join(str(error).split())
    return re.sub(r"^.*\(Caused by (.*)\)$", r"\1", text) or type(error).__name__


def _kept(state: _State) -> str:
    """Return the end of a message about the received bytes."""
    done = state.done
    return f"; {done:,} bytes are kept in {state.plan.part}, run it again to resume" if done else ""


def _take(state: _State, response: Any) -> None:
    plan, status = state.plan, int(response.status_code)
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise FetchError(f"{plan.url} sends the encoding {encoding!r:.60}, expected none or gzip")
    span = response.headers.get("Content-Range", "").strip()
    if status == 416 and state.done:
        if span == f"bytes */{state.done}":  # complete
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
        _check_start(plan, first, _length(response))  # before the received bytes are deleted
        state.begin(response)
        _append(state, itertools.chain([first], chunks))
    else:
        raise FetchError(f"{plan.url} answered {status} {response.reason}{_kept(state)}")


def _chunks(state: _State, response: Any) -> Iterator[bytes]:
    """Yield chunks as they arrive. Raises `FetchError` if the server is too slow."""
    plan = state.plan
    begun, got = time.monotonic(), 0
    while chunk := response.raw.read1(CHUNK, decode_content=True):
        yield chunk
        got += len(chunk)
        seconds = time.monotonic() - begun
        if seconds >= plan.window_s:
            if got < plan.slowest * seconds:
                raise FetchError(
                    f"{plan.url} sends {got / seconds:,.0f} bytes a second, expected {plan.slowest:,.0f} or more"
                    f"{_kept(state)}"
                )
            begun, got = time.monotonic(), 0


def _append(state: _State, chunks: Iterable[bytes]) -> None:
    plan, expected, done = state.plan, state.expected, state.done
    most = plan.most if state.total is None or plan.size is not None else min(plan.limit, state.total)
    if (expected or 0) > plan.most:
        state.forget()
        raise WrongDataError(f"{plan.url} sends {expected:,} bytes, expected at most {plan.most:,}")
    _check_space(plan, (expected or 0) - done)
    with plan.part.open("ab") as part:
        for chunk in chunks:
            part.write(chunk)
            part.flush()  # keep the bytes if this process is killed
            done += len(chunk)
            state.show(done, expected)
            if done > most:
                break
        os.fsync(part.fileno())
    if done > most:
        state.forget()
        raise WrongDataError(f"{plan.url} sends more than the expected {most:,} bytes")


def _check_start(plan: Download, first: bytes, total: int | None) -> None:
    """Raise `WrongDataError` for a web page, a Git LFS pointer, or a wrong size."""
    try:
        check_placeholder(first, f"what {plan.url} sends")
    except PlaceholderError as error:
        raise WrongDataError(str(error)) from None
    if plan.size is not None and total is not None and total != plan.size:
        raise WrongDataError(f"{plan.url} sends {total:,} bytes, expected {plan.size:,}")


def _check_space(plan: Download, needed: int) -> None:
    free = shutil.disk_usage(plan.part.parent).free
    if needed > free:
        raise FetchError(f"{plan.part.parent} has {free:,} bytes free, expected {needed:,} or more")


def sha256_of(path: Path) -> str:
    """Return the hash of a file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _fault(plan: Download) -> str | None:
    """Return what is wrong with the complete file; None if nothing is."""
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
    """Send requests until the file is complete. Give up after `retries` tries without a new byte."""
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


def _fetch(plan: Download, show: Callable[[int, int | None], object]) -> None:
    """Download, check and install the file. The caller holds the lock."""
    with contextlib.closing(_session(plan)) as session:
        state = _State(plan, session, show)
        state.load_note()
        if state.expected is None or state.done != state.expected:
            _receive_all(state)
        fault = _fault(plan)
        if fault and state.resumed:  # the parts may be of two files
            _log.info("%s: %s; restarting", plan.url, fault)
            state.forget()
            _receive_all(state)
            fault = _fault(plan)
    if fault:
        plan.part.unlink()
        plan.note.unlink(missing_ok=True)
        raise WrongDataError(f"{plan.url} was fetched and is wrong: {fault}; it was removed")
    os.replace(plan.part, plan.target)
    plan.note.unlink(missing_ok=True)


@contextlib.contextmanager
def _single_process(target: Path) -> Iterator[None]:
    """Hold the lock of a file, so that one process at a time downloads it."""
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
    """Download the file to `plan.target` unless it exists, and return its path.

    `progress` shows a bar on the error stream (default: if it is a terminal). Raises `FetchError` if the download
    fails, and `WrongDataError` if the file is not the expected one.
    """
    from rich.progress import DownloadColumn, TransferSpeedColumn

    try:
        plan.target.parent.mkdir(parents=True, exist_ok=True)
        with _single_process(plan.target):
            if not plan.target.exists():
                with progress_bar(progress, DownloadColumn(), TransferSpeedColumn()) as bar:
                    task = bar.add_task(plan.target.name, total=None)
                    _fetch(plan, lambda done, total: bar.update(task, completed=done, total=total))
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
) -> Path:
    """Download the zip of a pack to a folder unless it exists, and return its path.

    Args:
        name: a key of `PACKS`.
        folder: target folder; default: the user's folder of packs.
        url: another address; size and hash must still fit.
        force: download it even if it exists; the old file is replaced at the end.
        progress: as in `download`.

    Raises:
        WrongDataError: if the file is not the expected one.
        FetchError: if the download fails.
        DataError: if the name is unknown.

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
    )
    if urlsplit(plan.url).scheme not in ("http", "https"):
        raise FetchError(f"url is {plan.url!r}, expected an address with http:// or https://")
    found = download(plan, progress=progress)
    if force:
        os.replace(found, target)
    return target


def _check_pack(info: PackInfo, path: Path) -> None:
    """Check that a file is this pack and, without a known hash, that all checksums in it are right."""
    with open_as(info, path) as pack:
        if info.sha256 is None:
            for name in pack.names():
                with contextlib.suppress(PlaceholderError):  # upstream has some
                    pack.read(name)
