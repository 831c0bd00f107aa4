"""The time of a server: the system's, or that of a rehearsal."""

from __future__ import annotations

import contextlib
import time as system
from collections.abc import Callable, Iterator

_now: list[float] = []  # of a rehearsal, in seconds since 1970


def monotonic() -> float:
    """Return seconds that never go back."""
    return _now[0] if _now else system.monotonic()


def time() -> float:
    """Return seconds since 1970."""
    return _now[0] if _now else system.time()


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
