"""Threads that share a batch.

Kernels release the interpreter's lock, so Python threads run them in parallel. Unlike OpenMP threads, these work after
a fork and from several threads at once, and nothing is compiled twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from iglu_marl.core.errors import ConfigError, StateError

Kernel = Callable[..., Any]
Method = TypeVar("Method", bound=Callable[..., Any])


def exclusive(method: Method) -> Method:
    """Decorate a method: one thread at a time, by the object's `thread_lock`. Others get a `StateError`."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        lock = self.thread_lock
        if not lock.acquire(False):
            raise StateError("the environment is already in use by another thread, expected one at a time")
        try:
            return method(self, *args, **kwargs)
        finally:
            lock.release()

    return cast(Method, guarded)


class ThreadPool:
    """`num_threads` threads, the caller included, that run a kernel over parts of a range.

    Threads start at the first use in each process. Raises `ConfigError` for a number below 1.
    """

    def __init__(self, num_threads: int = 1) -> None:
        whole = isinstance(num_threads, (int, np.integer)) and not isinstance(num_threads, bool)
        if not whole or num_threads < 1:
            raise ConfigError(f"num_threads is {num_threads!r}, expected an integer of 1 or more")
        self.num_threads = int(num_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, kernel: Kernel, arguments: tuple[Any, ...], count: int, least: int = 1) -> int:
        """Run `kernel(*arguments, first, last)` over parts of 0..count, each of `least` or more.

        Returns the sum of the results (None counts as 0). Raises the error of a part after all have ended.
        """
        parts = min(self.num_threads, count // least)
        if parts <= 1:
            return kernel(*arguments, 0, count) or 0
        ends = [count * part // parts for part in range(parts + 1)]
        pool = self._helpers()
        others = [pool.submit(kernel, *arguments, ends[i], ends[i + 1]) for i in range(1, parts)]
        try:
            total = kernel(*arguments, 0, ends[1]) or 0
        finally:
            results = [other.exception() or other.result() for other in others]  # waits for every part
        for result in results:
            if isinstance(result, BaseException):
                raise result
            total += result or 0
        return total

    def _helpers(self) -> ThreadPoolExecutor:
        """Return the threads of this process: threads do not survive a fork."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.num_threads - 1, "iglu_marl")
            self._process = os.getpid()
        return self._pool

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}  # threads stay with their process
