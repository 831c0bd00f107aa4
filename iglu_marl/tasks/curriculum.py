"""A task source that moves to harder tasks as the builder succeeds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import StateError, TaskError
from iglu_marl.core.task import Task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import StatefulSources, TaskSource, sample_task


class CurriculumState(NamedTuple):
    """State of a `Curriculum`: stage, results of the latest episodes, and states of the stages' sources."""

    stage: int
    latest: tuple[bool, ...]
    within: tuple[Any, ...]


class Curriculum(TaskSource):
    """Task sources in order of difficulty; success moves to the next one.

    The training loop reports with `record` how episodes ended. Between these calls, the environment's seed determines
    the tasks. Environments save and restore the curriculum's state with their own.

    Args:
        stages: at least one task source (see `sample_task`) or name of one, the easiest first.
        threshold: share of successes among the latest `window` episodes to pass a stage, in (0, 1].
        window: number of episodes; the count restarts after each stage.
        rehearsal: probability of a task from an earlier stage, in [0, 1).

    Raises:
        TaskError: if an argument is wrong.

    """

    def __init__(
        self, stages: Sequence[Any], threshold: float = 0.8, window: int = 500, rehearsal: float = 0.2
    ) -> None:
        if isinstance(stages, (str, bytes)) or not isinstance(stages, Sequence) or not stages:
            raise TaskError(f"Curriculum got stages={stages!r:.80}, expected a list of at least one source")
        if not 0 < threshold <= 1:
            raise TaskError(f"Curriculum got threshold={threshold!r}, expected a share in (0, 1]")
        if isinstance(window, bool) or not isinstance(window, (int, np.integer)) or window < 1:
            raise TaskError(f"Curriculum got window={window!r}, expected an integer, at least 1")
        if not 0 <= rehearsal < 1:
            raise TaskError(f"Curriculum got rehearsal={rehearsal!r}, expected a share in [0, 1)")
        self.stages = tuple(
            as_source(stage, f"Curriculum: stages[{number}]", TaskError)
            for number, stage in enumerate(stages)
        )
        self.threshold, self.window, self.rehearsal = float(threshold), int(window), float(rehearsal)
        self.stage = 0
        self._latest: deque[bool] = deque(maxlen=self.window)
        self._within = StatefulSources(self.stages)

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a task of the current stage, or with probability `rehearsal` of an earlier one."""
        generator = self.rng if rng is None else rng
        stage = self.stage
        if stage and self.rehearsal and generator.random() < self.rehearsal:
            stage = int(generator.integers(stage))
        return sample_task(self.stages[stage], generator)

    def record(self, successes: Iterable[Any]) -> bool:
        """Report how episodes ended, in order (True: success), and return whether a stage was passed.

        Episodes after the passing one in the same call are ignored, since they belong to the stage before. At the last
        stage, nothing changes.
        """
        if self.stage == len(self.stages) - 1:
            return False
        for success in successes:
            self._latest.append(bool(success))
            if len(self._latest) == self.window and sum(self._latest) >= self.threshold * self.window:
                self.stage += 1
                self._latest.clear()
                return True
        return False

    def get_state(self) -> CurriculumState:
        """Return the state."""
        return CurriculumState(self.stage, tuple(self._latest), self._within.get_state())

    def check_state(self, state: Any) -> None:
        """Raise `StateError` unless this is a state of this curriculum."""
        super().check_state(state)
        if state.stage >= len(self.stages):
            raise StateError(f"the stage is {state.stage}, expected an integer in 0..{len(self.stages) - 1}")
        self._within.check_state(state.within)

    def set_state(self, state: CurriculumState) -> None:
        """Restore a state of `get_state`."""
        self.stage = state.stage
        self._latest = deque(state.latest, self.window)
        self._within.set_state(state.within)

    def __repr__(self) -> str:
        return f"Curriculum(stage {self.stage} of 0..{len(self.stages) - 1})"
