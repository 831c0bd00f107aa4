"""What has been read once, kept for the next time: arrays in an .npz beside nothing that could run.

Reading a pack takes seconds to a minute, loading the result a fraction of a second. An entry belongs to a
pack's place, a kind of content and a version of the code that read it. It is written beside and moved into
place, under a lock, so that it is never seen half-written and two processes do not do the work twice; it is
made anew when the pack or the version has changed, or when it is damaged. Where nothing can be written,
everything works, only without a cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import BROKEN

__all__ = ["Arrays", "cache_folder", "cached", "json_array", "read_json"]

CACHE_VARIABLE = "IGLU_MARL_CACHE"
LAYOUT = "2"  # of the entries themselves
LOCK_TIMEOUT_S = 900.0  # longer than any pack takes to read; then it is read here too
_META = "__meta__"

Arrays = dict[str, npt.NDArray[Any]]
_log = logging.getLogger(__name__)


class Fingerprinted(Protocol):
    """What the cache needs to know of a pack."""

    @property
    def location(self) -> str:
        """Where it is."""

    @property
    def fingerprint(self) -> str:
        """A text that changes with the contents."""


def cache_folder() -> Path:
    """The folder of this package's cache: `IGLU_MARL_CACHE`, else the usual place for this user's caches."""
    place = os.environ.get(CACHE_VARIABLE)
    if place:
        return Path(os.path.abspath(Path(place).expanduser()))
    import platformdirs

    return Path(platformdirs.user_cache_dir("iglu_marl", appauthor=False))


def pack_folder() -> Path:
    """The user's own folder of fetched packs: `IGLU_MARL_CACHE`/packs, or in the usual place for caches."""
    return cache_folder() / "packs"


def json_array(value: Any) -> npt.NDArray[np.uint8]:
    """A JSON value as uint8 [bytes], to be kept among arrays. Raises `TypeError` for what JSON cannot hold."""
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode("utf-8"), dtype=np.uint8)


def read_json(array: npt.NDArray[Any]) -> Any:
    """The value that `json_array` has kept."""
    return json.loads(array.tobytes().decode("utf-8"))


def cached(pack: Fingerprinted, kind: str, version: str, build: Callable[[], Mapping[str, Any]]) -> Arrays:
    """The arrays that `build()` makes of `pack`, from the cache where possible.

    kind: what they are, such as "mdc-sessions": letters, digits, "-", "_" and ".". version: changes whenever
    the code of `build` gives something else. `build` returns arrays by name, without Python objects in them
    (strings as arrays of dtype U, anything else by `json_array`). The arrays returned are the caller's own.

    Raises what `build` raises; then nothing is kept. Raises `DataError` for arrays that cannot be kept safely.
    """
    if not re.fullmatch(r"[\w.-]+", kind):
        raise DataError(f"the kind {kind!r} of a cache entry is no file name: letters, digits, '-', '_', '.'")
    meta = {"layout": LAYOUT, "kind": kind, "version": version, "fingerprint": pack.fingerprint}
    place = hashlib.sha256(pack.location.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    try:
        path = cache_folder() / "parsed" / f"{kind}-{place}.npz"
    except (RuntimeError, KeyError):  # no home folder
        return _checked(build())
    found = _load(path, meta)
    if found is not None:
        return found
    with _locked(path) as locked:
        if locked:
            found = _load(path, meta)  # another process may have made it in the meantime
            if found is not None:
                return found
        arrays = _checked(build())
        if locked:
            _store(path, arrays, meta)
    return arrays


def _checked(built: Mapping[str, Any]) -> Arrays:
    arrays = {name: np.asarray(value) for name, value in built.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject or name == _META or not re.fullmatch(r"[\w.-]+", name):
            raise DataError(
                f"the array {name!r} of dtype {array.dtype} cannot be kept: expected a plain dtype, and a name of "
                "letters, digits, '-', '_', '.'"
            )
    return arrays


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Holds the lock of an entry; gives False where that is impossible."""
    import filelock

    lock = filelock.FileLock(f"{path}.lock", timeout=LOCK_TIMEOUT_S)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except (OSError, NotImplementedError) as error:  # filelock.Timeout is an OSError
        _log.info("going on without a cache: %s", error)
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def _load(path: Path, meta: dict[str, str]) -> Arrays | None:
    """The entry, or None when there is none, when it is stale, or when it is damaged."""
    try:
        with zipfile.ZipFile(path) as entry:
            kept = read_json(_read(entry, f"{_META}.npy"))
            names = kept.pop("arrays")  # counted here too: a damaged directory can hide a member
            if kept != meta:
                return None
            return {name: _read(entry, f"{name}.npy") for name in names}
    except FileNotFoundError:
        return None
    except (*BROKEN, KeyError, TypeError, AttributeError) as error:
        _log.info("the cache entry %s is made anew: %s", path, error)
        return None


def _read(entry: zipfile.ZipFile, name: str) -> npt.NDArray[Any]:
    with entry.open(name) as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # only at its end is a member's checksum compared
            raise ValueError(f"{name} is longer than its array")
        return array


def _store(path: Path, arrays: Arrays, meta: dict[str, str]) -> None:
    """Writes the entry beside its place and moves it there. Called under the lock."""
    beside = path.with_name(path.name + ".new")  # what a killed process has left is written over
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as entry:
            about = json_array({**meta, "arrays": list(arrays)})
            for name, array in {_META: about, **arrays}.items():
                with entry.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(beside, path)
    except OSError as error:  # no space left, say
        _log.info("%s is not kept: %s", path, error)
        with contextlib.suppress(OSError):
            beside.unlink()
