"""Objectives of tasks other than building the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.worlds import Worlds


class Objective(Protocol):
    """The interface of `Task.objective`, which replaces the target. Immutable.

    Clocks and budgets stay those of the kernel. A class may have a static `score_each(objectives, worlds, indices)`
    that scores many at once in a batch. Example: `iglu_marl.language.goals.GoalObjective`.
    """

    @property
    def text(self) -> str:
        """The objective in words: the architect's observation `goal`."""

    @property
    def program(self) -> str:
        """The objective as a program: the architect's observation `goal_program`."""

    def score(
        self, worlds: Worlds, indices: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return rewards float64 [k] of the last step, and bool [k] whether it is reached, of k worlds."""


def pay_objective(
    score: Callable[[Worlds, Sequence[int]], Any], worlds: Worlds, indices: Sequence[int]
) -> None:
    """Replace reward and end of the last step in k worlds by the result of `score`."""
    rewards, reached = score(worlds, indices)
    worlds.reward[indices] = rewards - worlds.step_cost[indices]
    worlds.shaping[indices] = 0.0
    worlds.terminated[indices] = reached
