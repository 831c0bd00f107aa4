"""Compilation of kernels with Numba, with a cache on disk.

Numba's own cache goes by the file of a function, and does not notice edits of other files that it uses. Here, one
folder belongs to one state of all kernel files, and is named by their digest. So kernels may call each other across
files. Nothing is written beside the sources.

The folders are in the user's cache folder, or under `NUMBA_CACHE_DIR`. Without a cache, kernels are compiled in every
process. Before the first one is compiled, a line says so on the error stream.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import platformdirs
from numba.core import caching

PACKAGE = Path(__file__).parents[1]
# Files with kernels, and files whose constants or functions they use; tests/test_architecture.py keeps them complete.
SOURCES = re.compile(r".*kernels\.py|.*\bkernels/\w+\.py|core/grid\.py|rendering/palette\.py")
KEPT = 8  # folders of the states used last: several versions and installs share a place
PROGRESS_VARIABLE = "IGLU_MARL_PROGRESS"  # "0": say nothing while kernels are compiled

Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger(__name__)


def jit(function: Function) -> Function:
    """Compile a function at its first call, or load it from the cache. Only kernel files are cached."""
    # No fastmath anywhere: the dynamics are exact to the last bit.
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True)(function)
    # NUMBA_DISABLE_JIT leaves functions as they are. A generator that was loaded cannot be compiled into others.
    if compiled is not function and not isgeneratorfunction(function):
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError:  # no locator
            compiled._cache = _NoCache()
    return cast(Function, compiled)


@lru_cache(maxsize=1)
def kernel_files() -> dict[str, str]:
    """Return the files that the digest is made of: path -> name inside the package."""
    files = sorted(os.path.join(folder, name) for folder, _, names in os.walk(PACKAGE) for name in names)
    named = {path: path[len(str(PACKAGE)) + 1 :].replace(os.sep, "/") for path in files}
    return {path: name for path, name in named.items() if SOURCES.fullmatch(name)}


@lru_cache(maxsize=1)
def digest() -> str:
    """Return a digest of the kernel files and the compilers."""
    total = hashlib.blake2b(numba.__version__.encode(), digest_size=8)  # 16 letters
    for path, name in kernel_files().items():
        total.update(f"\0{name}\0".encode() + Path(path).read_bytes())
    return total.hexdigest()


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the cache folder of this state, created if missing; None if it cannot be created."""
    if numba.config.CACHE_DIR:
        place = Path(numba.config.CACHE_DIR).absolute() / "iglu_marl"
    else:
        place = platformdirs.user_cache_path("iglu_marl", appauthor=False) / "kernels"
    folder = place / digest()
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _sweep(place)
    except OSError as error:
        _log.info("kernels are compiled in every process: %s", error)
        return None
    with suppress(OSError):  # it may be somebody else's, and still be read
        os.utime(folder)
    return folder


def _sweep(place: Path) -> None:
    """Remove all cache folders but those used last. A process that still uses one compiles again."""
    folders = [path for path in place.iterdir() if re.fullmatch(r"[0-9a-f]{16}", path.name)]
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


class _Locator(caching.InTreeCacheLocator):
    """Place of a cached kernel: one folder for all, named by the digest of the sources."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator | None:
        return cls(py_func, py_file) if py_file in kernel_files() and cache_folder() else None

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return digest()

    def get_disambiguator(self) -> str:
        return f"{kernel_files()[self._py_file].replace('/', '.')}-{self._lineno}"


_announced = False


def _announce(where: str) -> None:
    """Write one line to the error stream before the first kernel is compiled."""
    global _announced
    if not _announced and os.environ.get(PROGRESS_VARIABLE) != "0":
        with suppress(
            AttributeError, OSError, ValueError
        ):  # it may be missing, closed, or an object of the user's
            sys.stderr.write(f"iglu_marl: compiling kernels, {where} (up to half a minute)\n")
            sys.stderr.flush()
    _announced = True


class _Result(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _KernelCache(caching.FunctionCache):
    """A cache that may fail: then the kernel is compiled and used."""

    _impl_class = _Result

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        loaded = None
        try:
            loaded = super().load_overload(sig, target_context)
        except Exception as error:  # a damaged file can raise anything
            _log.info("the cache of %s cannot be read and is rebuilt: %r", self._name, error)
            with suppress(OSError):
                self.flush()
        if loaded is None:
            _announce("once for this version")
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        from filelock import FileLock

        try:
            # Numba reads the index of a function, adds to it and writes it: one process at a time.
            with FileLock(Path(self.cache_path) / "lock", timeout=10):
                super().save_overload(sig, data)
        except (OSError, NotImplementedError) as error:  # a full disk, or one without locks
            _log.info("%s is not cached: %s", self._name, error)


class _NoCache(caching.NullCache):
    """No cache, where none can be written."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _announce("in every process: no cache folder can be written")
