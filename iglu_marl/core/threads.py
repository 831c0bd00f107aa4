"""Sharing a batch among threads.

The kernels release the interpreter's lock, so plain Python threads run them side by side: nothing has to be compiled
twice, and unlike the threads of OpenMP they may be used after a fork and from several threads at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from iglu_marl.core.errors import ConfigError

Kernel = Callable[..., Any]


class Crew:
    """`num_threads` threads that run a kernel over parts of a range, the caller's own among them.

    Threads start at the first use, in each process anew, and never where one is asked for. Raises `ConfigError` for a
    number below 1.
    """

    def __init__(self, num_threads: int = 1) -> None:
        whole = isinstance(num_threads, (int, np.integer)) and not isinstance(num_threads, bool)
        if not whole or num_threads < 1:
            raise ConfigError(f"num_threads is {num_threads!r}, expected an integer of 1 or more")
        self.num_threads = int(num_threads)
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0

    def run(self, kernel: Kernel, arguments: tuple[Any, ...], count: int, least: int = 1) -> int:
        """`kernel(*arguments, first, last)` over parts of 0..count, each of `least` or more.

        Returns the sum of what the parts return (None counts as 0). An error in a part is raised here, after all.
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
        """The threads of this process: those of a parent do not survive a fork."""
        if self._pool is None or self._process != os.getpid():
            self._pool = ThreadPoolExecutor(self.num_threads - 1, "iglu_marl")
            self._process = os.getpid()
        return self._pool

    def close(self) -> None:
        """Let the threads end."""
        if self._pool is not None and self._process == os.getpid():
            self._pool.shutdown()
        self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}  # threads stay with their process
