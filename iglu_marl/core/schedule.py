"""Numbers that change in the course of training, and the clock that they go by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import ConfigError, StateError

UNITS = ("steps", "episodes")


@dataclass(frozen=True)
class Schedule:
    """A number that is linear between points, and constant before the first and after the last.

    points: (at, value) pairs, `at` ascending, both finite and 0 or more.
    unit: what `at` counts: "steps", builder steps in the episodes that are over, or "episodes", how many are over.

    Each world has a clock of its own, which goes on over resets, with a seed or without. An episode has one value from
    beginning to end. Raises `ConfigError` for anything else.
    """

    points: tuple[tuple[float, float], ...]
    unit: Literal["steps", "episodes"] = "steps"

    def __post_init__(self) -> None:
        expected = "(at, value) pairs of finite numbers of 0 or more, ascending in at"
        try:
            points = tuple((float(at), float(value)) for at, value in self.points)
        except (TypeError, ValueError, OverflowError):
            raise ConfigError(f"points of a Schedule are {self.points!r:.200}, expected {expected}") from None
        fine = all(math.isfinite(number) and number >= 0 for point in points for number in point)
        ascending = all(one[0] < other[0] for one, other in pairwise(points))
        if not points or not fine or not ascending:
            raise ConfigError(f"points of a Schedule are {self.points!r:.200}, expected {expected}")
        if self.unit not in UNITS:
            raise ConfigError(f"unit of a Schedule is {self.unit!r}, expected 'steps' or 'episodes'")
        object.__setattr__(self, "points", points)

    def value(self, at: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The number after so many steps or episodes; of an array, an array."""
        ats, values = zip(*self.points, strict=True)
        return np.asarray(np.interp(np.asarray(at, np.float64), ats, values))


class TrainingClock:
    """How many episodes are over, and how many builder steps they had: `episodes` and `steps`, int64 [count]."""

    def __init__(self, count: int) -> None:
        self.steps, self.episodes = np.zeros((2, count), np.int64)

    def close(self, chosen: Any, steps: npt.ArrayLike) -> None:
        """Episodes of these worlds are over, after so many steps; one without a step does not count."""
        self.steps[chosen] += steps
        self.episodes[chosen] += np.asarray(steps) > 0

    def value(self, schedule: Schedule, chosen: Any) -> npt.NDArray[np.float64]:
        """The number of a schedule now, in these worlds."""
        return schedule.value((self.steps if schedule.unit == "steps" else self.episodes)[chosen])

    def get_state(self) -> npt.NDArray[np.int64]:
        """int64 [2, count]: steps and episodes."""
        return np.stack([self.steps, self.episodes])

    def check_state(self, state: Any) -> None:
        """Raises `StateError` unless `set_state` can take this. None is taken for the beginning."""
        shape = (2, len(self.steps))
        if state is not None and not (
            isinstance(state, np.ndarray)
            and state.shape == shape
            and state.dtype == np.int64
            and (state >= 0).all()
        ):
            raise StateError(f"the clock is {state!r:.80}, expected int64{list(shape)} of 0 or more")

    def set_state(self, state: npt.NDArray[np.int64] | None) -> None:
        """Put back what `get_state` gave."""
        self.steps[:], self.episodes[:] = (0, 0) if state is None else state
