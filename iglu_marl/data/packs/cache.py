"""Cache of parsed packs: arrays in .npz files, without pickle.

Parsing a pack takes seconds to a minute, loading the result a fraction of a second. An entry belongs to a pack's
place, a kind of content and a version of the parser. It is rebuilt when one of these changes or it is damaged. It is
written atomically. A read-only disk disables the cache.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import atomic_write
from iglu_marl.core.parsing import BROKEN
from iglu_marl.data.packs.archive import Pack

CACHE_VARIABLE = "IGLU_MARL_CACHE"
LAYOUT = "3"  # version of the entries' format
_META = "__meta__"

Arrays = dict[str, npt.NDArray[Any]]
_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the folder of this package's cache: `IGLU_MARL_CACHE`, or else the user's cache folder."""
    place = os.environ.get(CACHE_VARIABLE)
    if place:
        return Path(os.path.abspath(Path(place).expanduser()))
    import platformdirs

    return Path(platformdirs.user_cache_dir("iglu_marl", appauthor=False))


def pack_folder() -> Path:
    """Return the user's folder of fetched packs, `packs` in `cache_folder()`."""
    return cache_folder() / "packs"


def json_array(value: Any) -> npt.NDArray[np.uint8]:
    """Encode a JSON value as an array, uint8 [bytes]. Raises `TypeError` for other values."""
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode("utf-8"), dtype=np.uint8)


def read_json(array: npt.NDArray[Any]) -> Any:
    """Decode the value of `json_array`."""
    return json.loads(array.tobytes().decode("utf-8"))


def cached(pack: Pack, kind: str, version: str, build: Callable[[], Mapping[str, Any]]) -> Arrays:
    """Return the arrays that `build()` makes of `pack`, from the cache if possible.

    Args:
        pack: the pack.
        kind: name of the entry, a file name such as "mdc".
        version: must change when `build` returns something else.
        build: returns arrays by name, without Python objects (see `json_array`). Its errors are passed on.

    Returns:
        Arrays that the caller owns.

    """
    meta = {"layout": LAYOUT, "kind": kind, "version": version, "fingerprint": pack.fingerprint}
    place = hashlib.sha256(pack.location.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    try:
        path = cache_folder() / "parsed" / f"{kind}-{place}.npz"
    except (RuntimeError, KeyError):  # no home folder
        return _built(build)
    entry = _load(path, meta)
    if entry is None:
        entry = _built(build)
        _store(path, entry, meta)
    return entry


def _built(build: Callable[[], Mapping[str, Any]]) -> Arrays:
    arrays = {name: np.asarray(value) for name, value in build().items()}
    assert not any(array.dtype.hasobject for array in arrays.values())  # they would need pickle
    return arrays


def _load(path: Path, meta: dict[str, str]) -> Arrays | None:
    """Return the entry; None if it is missing, stale or damaged."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as entry:
            stored = read_json(entry[_META])
            names = stored.pop("arrays")  # a damaged zip directory can hide an array
            return {name: entry[name] for name in names} if stored == meta else None
    except FileNotFoundError:
        return None
    except (*BROKEN, KeyError, TypeError, AttributeError) as error:
        _log.info("the cache entry %s is rebuilt: %s", path, error)
        return None


def _store(path: Path, arrays: Arrays, meta: dict[str, str]) -> None:
    about = json_array({**meta, "arrays": list(arrays)})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as beside, beside.open("wb") as file:
            # Uncompressed: then NumPy reads each array to the end of its member, and the checksum is compared.
            np.savez(file, **{_META: about, **arrays})  # type: ignore[arg-type] # no array is called "allow_pickle"
    except (OSError, DataError) as error:  # no space left, say
        _log.info("the cache is disabled: %s", error)
