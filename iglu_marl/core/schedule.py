"""Values that change in the course of training, and the clock of training."""

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
    """A piecewise linear value, constant before the first point and after the last.

    Args:
        points: (at, value) pairs, `at` ascending, both finite and 0 or more.
        unit: what `at` counts: finished "episodes", or builder "steps" in them.

    Each world has its own clock, which continues over resets. The value is constant within an episode.

    Raises:
        ConfigError: for other points or units.

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
        """Return the value after `at` steps or episodes, which may be an array."""
        ats, values = zip(*self.points, strict=True)
        return np.asarray(np.interp(np.asarray(at, np.float64), ats, values))


class TrainingClock:
    """Number of finished episodes and of builder steps in them: `episodes` and `steps`, int64 [count]."""

    def __init__(self, count: int) -> None:
        self.steps, self.episodes = np.zeros((2, count), np.int64)

    def close(self, chosen: Any, steps: npt.ArrayLike) -> None:
        """Count finished episodes of these worlds with their steps. Episodes without a step do not count."""
        self.steps[chosen] += steps
        self.episodes[chosen] += np.asarray(steps) > 0

    def value(self, schedule: Schedule, chosen: Any) -> npt.NDArray[np.float64]:
        """Return the current value of a schedule in these worlds."""
        return schedule.value((self.steps if schedule.unit == "steps" else self.episodes)[chosen])

    def get_state(self) -> npt.NDArray[np.int64]:
        """Return steps and episodes, int64 [2, count]."""
        return np.stack([self.steps, self.episodes])

    def check_state(self, state: Any) -> None:
        """Raise `StateError` unless `set_state` can take this. None is the beginning."""
        shape = (2, len(self.steps))
        if state is not None and not (
            isinstance(state, np.ndarray)
            and state.shape == shape
            and state.dtype == np.int64
            and (state >= 0).all()
        ):
            raise StateError(f"the clock is {state!r:.80}, expected int64{list(shape)} of 0 or more")

    def set_state(self, state: npt.NDArray[np.int64] | None) -> None:
        """Restore a state that `get_state` returned."""
        self.steps[:], self.episodes[:] = (0, 0) if state is None else state
