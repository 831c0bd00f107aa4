"""Checked access to entries of an observation. Errors name entry, value and expectation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError, IgluMarlError
from iglu_marl.core.grid import BlockGrid, as_dense, as_grid


def observed(observation: Any, key: str, error: type[IgluMarlError]) -> Any:
    """Return an entry of an observation."""
    if isinstance(observation, Mapping) and key in observation:
        return observation[key]
    got = sorted(map(str, observation)) if isinstance(observation, Mapping) else f"{observation!r:.80}"
    raise error(f"the observation is {got}, expected a dict with {key!r}")


def observed_numbers(
    observation: Any, key: str, names: str, low: float, high: float, error: type[IgluMarlError]
) -> npt.NDArray[np.float64]:
    """Return as many numbers in low..high as there are words in `names`, float64."""
    value, count = observed(observation, key, error), len(names.split())
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if array.shape != (count,) or not ((low <= array) & (array <= high)).all():
        raise error(
            f"{key!r} of the observation is {value!r:.80}, expected {count} numbers in {low:g}..{high:g} ({names})"
        )
    return array


def observed_grid(observation: Any) -> BlockGrid:
    """Return `grid`, int8 [9, 11, 11] with air 0, also from grids of IGLU 2021, where air is -1."""
    array = as_dense(observed(observation, "grid", GridError), "grid")
    return as_grid(array + 1 if array.dtype.kind == "i" and array.min() == -1 else array)
