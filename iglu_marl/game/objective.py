"""What a game can be about instead of building the target: the seam through which other rooms say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.worlds import Worlds


class Objective(Protocol):
    """What a task asks for instead of its target: `Task.objective`. A value: it keeps nothing of an episode.

    The clocks, and the end by budget, stay the kernel's. A class may also have a static `score_each(objectives, worlds,
    indices)`, by which a batch asks about many of them at once. `iglu_marl.language.goals.GoalObjective` is one.
    """

    @property
    def text(self) -> str:
        """What is asked for, in words: the architect's sight `goal`."""

    @property
    def program(self) -> str:
        """The same, formally: the architect's sight `goal_program`."""

    def score(
        self, worlds: Worlds, indices: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Rewards float64 [k] of the last step, and bool [k] whether it is reached, of k worlds as they are now."""
