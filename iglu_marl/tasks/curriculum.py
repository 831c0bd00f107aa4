"""A source of tasks that grow harder as the builder grows better."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import StateError, TaskError
from iglu_marl.core.task import Task
from iglu_marl.tasks.source import StatefulSources, TaskSource, draw, is_source


class CurriculumState(NamedTuple):
    """How far a `Curriculum` is: its stage, the latest episodes that count, and the states of sources in its stages."""

    stage: int
    latest: tuple[bool, ...]
    within: tuple[Any, ...]


class Curriculum(TaskSource):
    """Sources of tasks, the easiest first, of which the next is begun when the latest episodes went well.

    stages: whatever gives tasks (see `draw`), at least one.
    threshold: share of the latest `window` episodes that have to be successes, in (0, 1].
    window: how many episodes are looked at; after each stage they are counted anew.
    rehearsal: how often a task of an earlier stage is drawn (each as likely as the others), in [0, 1).

    The environment draws from it, and whoever trains tells it with `record` how episodes ended; between two such
    calls it is a source like any other, decided by the environment's seed. Environments save and restore with their
    state how far it is. Raises `TaskError` for anything else.
    """

    def __init__(
        self, stages: Sequence[Any], threshold: float = 0.8, window: int = 500, rehearsal: float = 0.2
    ) -> None:
        if isinstance(stages, (str, bytes)) or not isinstance(stages, Sequence) or not stages:
            raise TaskError(f"Curriculum got stages={stages!r:.80}, expected a list of at least one source")
        for number, stage in enumerate(stages):
            if not is_source(stage):
                raise TaskError(f"Curriculum got stages[{number}]={stage!r:.80}, expected a source of tasks")
        if not 0 < threshold <= 1:
            raise TaskError(f"Curriculum got threshold={threshold!r}, expected a share in (0, 1]")
        if isinstance(window, bool) or not isinstance(window, (int, np.integer)) or window < 1:
            raise TaskError(f"Curriculum got window={window!r}, expected an integer, at least 1")
        if not 0 <= rehearsal < 1:
            raise TaskError(f"Curriculum got rehearsal={rehearsal!r}, expected a share in [0, 1)")
        self.stages = tuple(stages)
        self.threshold, self.window, self.rehearsal = float(threshold), int(window), float(rehearsal)
        self.stage = 0
        self._latest: deque[bool] = deque(maxlen=self.window)
        self._within = StatefulSources(self.stages)

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """A task of the stage that has been reached, or at times of an earlier one."""
        generator = self.rng if rng is None else rng
        stage = self.stage
        if stage and self.rehearsal and generator.random() < self.rehearsal:
            stage = int(generator.integers(stage))
        return draw(self.stages[stage], generator)

    def record(self, successes: Iterable[Any]) -> bool:
        """Take note of how episodes ended, in their order (True: a success). Returns whether a stage was passed.

        At the last stage nothing more happens. Episodes that are told after a stage was passed within the same call
        are left out: they belong to the stage before.
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
        """How far it is."""
        return CurriculumState(self.stage, tuple(self._latest), self._within.get_state())

    def check_state(self, state: Any) -> None:
        """Raises `StateError` unless `set_state` can take this."""
        super().check_state(state)
        if type(state.stage) is not int or not 0 <= state.stage < len(self.stages):
            raise StateError(
                f"the stage is {state.stage!r}, expected an integer in 0..{len(self.stages) - 1}"
            )
        if not isinstance(state.latest, tuple) or len(state.latest) > self.window:
            raise StateError(
                f"the latest episodes are {state.latest!r:.80}, expected a tuple of at most {self.window}"
            )
        self._within.check_state(state.within)

    def set_state(self, state: CurriculumState) -> None:
        """Put back what `get_state` gave."""
        self.stage = state.stage
        self._latest = deque(state.latest, self.window)
        self._within.set_state(state.within)

    def __repr__(self) -> str:
        return f"Curriculum(stage {self.stage} of 0..{len(self.stages) - 1})"
