"""The bases of everything that tasks are drawn from: `TaskSource`, and `GroupedSource` over named lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.core.errors import DataError, StateError, TaskError

if TYPE_CHECKING:
    from iglu_marl.core.task import Task


class TaskSource:
    """The base of task sources.

    A subclass overrides `sample(rng)`, or `reset()` or `sample_task()` as the IGLU tools do: `draw`, and
    with it every environment, calls the one that was overridden last. `skipped` counts the tasks left out
    because they were complete at their start. One whose draws depend on more than the generator overrides
    `get_state` and `set_state` as well: environments save and restore it with their own state.
    """

    skipped: int = 0
    _rng: np.random.Generator | None = None

    def seed(self, rng: np.random.Generator | int | None) -> None:
        """Set where calls without a generator draw from."""
        self._rng = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)

    @property
    def rng(self) -> np.random.Generator:
        """The source's own generator, made at its first use unless `seed` gave one."""
        if self._rng is None:
            self.seed(None)
        assert self._rng is not None
        return self._rng

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """A random task, drawn from `rng` or from the source's own generator."""
        raise TaskError(f"{type(self).__name__} has to define sample(rng), reset() or sample_task()")

    def reset(self) -> Task:
        """A random task, under the name that `set_task_generator` objects use."""
        return self.sample()

    def sample_task(self) -> Task:
        """A random task, under the name of the 2021 tools."""
        return self.sample()

    def get_state(self) -> Any:
        """What later draws depend on besides the generator, as a value that does not change; None: on nothing."""
        return None

    def check_state(self, state: Any) -> None:
        """Raises `StateError` unless `set_state` can take this."""
        if not isinstance(state, type(self.get_state())):
            raise StateError(f"the state of {self!r} is {state!r:.80}, expected what its get_state returns")

    def set_state(self, state: Any) -> None:
        """Put back what `get_state` gave."""


class GroupedSource(TaskSource):
    """A source over `tasks`: names (of structures, start worlds or files), and for each its tasks or sessions."""

    tasks: dict[str, list[Any]]

    def entries(self) -> Iterator[Any]:
        """Each task or session, in order."""
        return (entry for entries in self.tasks.values() for entry in entries)

    def seed(self, rng: np.random.Generator | int | None) -> None:
        """Set where calls without a generator draw from, those of the sessions included."""
        super().seed(rng)
        for entry in self.entries():
            if isinstance(entry, TaskSource):
                entry.seed(self._rng)

    def sample_entry(self, rng: np.random.Generator) -> tuple[str, Any]:
        """A random name, and of it a random task or session. Raises `DataError` when there is none."""
        if not self.tasks:
            raise DataError(f"{self!r} holds no tasks, nothing can be drawn from it")
        names = list(self.tasks)
        name = names[int(rng.integers(len(names)))]
        entries = self.tasks[name]
        return name, entries[int(rng.integers(len(entries)))]

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """A random name of `tasks`, of it a random entry, and of a session a random turn."""
        generator = self.rng if rng is None else rng
        _, entry = self.sample_entry(generator)
        task: Task = entry.sample(generator) if isinstance(entry, TaskSource) else entry
        return task

    def __iter__(self) -> Iterator[Task]:
        return (task for entry in self.entries() for task in _tasks_of(entry))

    def __len__(self) -> int:
        return sum(len(_tasks_of(entry)) for entry in self.entries())


def _tasks_of(entry: Any) -> Any:
    """The turns of a session; a task by itself."""
    return entry if isinstance(entry, TaskSource) else (entry,)
