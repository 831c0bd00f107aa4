"""Checks of arguments. Each takes a name and a value, and raises `ConfigError` that names both."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from iglu_marl.core.errors import ConfigError

MAX_SEED = (1 << 128) - 1


def as_flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {value!r:.80}, expected True or False")
    return value


def check_flags(**flags: Any) -> None:
    """Check that each is True or False."""
    for name, value in flags.items():
        as_flag(name, value)


def check_option(name: str, value: Any, known: Iterable[str], more: str = "") -> None:
    """Check that the value is one of these strings."""
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{name} is {value!r:.80}, expected one of {', '.join(known)}{more}")


def as_count(name: str, value: Any, low: int, high: int, more: str = "") -> int:
    """Return an integer in low..high."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise ConfigError(f"{name} is {value!r:.80}, expected an integer in {low}..{high}{more}")
    return number


def as_rng(name: str, value: Any) -> np.random.Generator:
    """Return a generator from one, from a seed, or from None (a random seed)."""
    if value is None or isinstance(value, np.random.Generator):
        return np.random.default_rng(value)
    return np.random.default_rng(as_count(name, value, 0, MAX_SEED))


def as_number(name: str, value: Any, high: float = math.inf) -> float:
    """Return a finite number in 0..high."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(number) or not 0 <= number <= high:
        expected = "a finite number of 0 or more" if high == math.inf else f"a number in 0..{high:g}"
        raise ConfigError(f"{name} is {value!r:.80}, expected {expected}")
    return number
