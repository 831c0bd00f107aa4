"""The time of a server, or that of a rehearsal.

It is the system's when the process started, and goes on evenly: nobody runs out of time when the clock is set.
"""

from __future__ import annotations

import contextlib
import time as system
from collections.abc import Callable, Iterator

_now: list[float] = []  # of a rehearsal, in seconds since 1970


def _passed() -> float:
    """Return seconds that also pass while the machine sleeps."""
    boot = getattr(system, "CLOCK_BOOTTIME", None)  # of Linux
    return system.monotonic() if boot is None else system.clock_gettime(boot)


_START = system.time() - _passed()


def monotonic() -> float:
    """Return seconds that never go back."""
    return _now[0] if _now else system.monotonic()


def time() -> float:
    """Return seconds since 1970."""
    return _now[0] if _now else _START + _passed()


@contextlib.contextmanager
def simulated() -> Iterator[Callable[[float], None]]:
    """Stop the time of this process's server; the function that it yields lets it pass, by seconds."""
    _now[:] = [system.time()]

    def pass_by(seconds: float) -> None:
        _now[0] += seconds

    try:
        yield pass_by
    finally:
        _now.clear()
