"""Base classes of task sources: `TaskSource`, and `GroupedSource` over named lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from iglu_marl.core.arguments import as_rng
from iglu_marl.core.errors import DataError, TaskError
from iglu_marl.core.text import similar

if TYPE_CHECKING:
    from iglu_marl.core.task import Task


class TaskSource:
    """The base of task sources.

    A subclass overrides `sample(rng)`, or `reset()` or `sample_task()` as the IGLU tools do:
    `iglu_marl.tasks.sample_task`, and with it every environment, calls the one that was overridden last. `skipped`
    counts the tasks left out because they were complete at their start.
    """

    skipped: int = 0
    _rng: np.random.Generator | None = None

    def seed(self, rng: np.random.Generator | int | None) -> None:
        """Seed the source's own generator, used by calls without one."""
        self._rng = as_rng("rng", rng)

    @property
    def rng(self) -> np.random.Generator:
        """The source's own generator, created at first use."""
        if self._rng is None:
            self.seed(None)
        assert self._rng is not None
        return self._rng

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Return a random task, drawn from `rng` or from the source's own generator."""
        raise TaskError(f"{type(self).__name__} has to define sample(rng), reset() or sample_task()")

    def reset(self) -> Task:
        """Return a random task. The name in `set_task_generator` objects."""
        return self.sample()

    def sample_task(self) -> Task:
        """Return a random task. The name in the 2021 tools."""
        return self.sample()


class _UnknownNameError(TaskError, KeyError):
    def __str__(self) -> str:
        return str(self.args[0])  # KeyError quotes it


class ByName(dict[str, list[Any]]):
    """Tasks or sessions by name. An unknown name is an error that is a `TaskError` and a `KeyError`."""

    def __missing__(self, name: object) -> list[Any]:
        names = [str(known) for known in self]
        raise _UnknownNameError(
            f"there are no tasks of {name!r:.80}{similar(str(name), names)}, expected one of {', '.join(names):.500}"
        )


class GroupedSource(TaskSource):
    """A source over `tasks`: tasks or sessions by name (of a structure, start world or file).

    `tasks[name]` raises an error that is a `TaskError` and a `KeyError` for an unknown name.
    """

    _tasks: dict[str, list[Any]]
    _by_name: ClassVar[type[ByName]] = ByName

    @property
    def tasks(self) -> dict[str, list[Any]]:
        """The tasks or sessions by name."""
        return self._tasks

    @tasks.setter
    def tasks(self, tasks: Mapping[str, list[Any]]) -> None:
        self._tasks = self._by_name(tasks)

    def entries(self) -> Iterator[Any]:
        """Iterate over all tasks and sessions, in order."""
        return (entry for entries in self.tasks.values() for entry in entries)

    def seed(self, rng: np.random.Generator | int | None) -> None:
        """Seed the source's own generator, and those of its sessions."""
        super().seed(rng)
        for entry in self.entries():
            if isinstance(entry, TaskSource):
                entry.seed(self._rng)

    def sample_entry(self, rng: np.random.Generator) -> tuple[str, Any]:
        """Return a random name and a random task or session of it. Raises `DataError` if there is none."""
        tasks = self._sampled()
        if not tasks:
            raise DataError(f"{self!r} holds no tasks, nothing can be drawn from it")
        names = list(tasks)
        name = names[int(rng.integers(len(names)))]
        entries = tasks[name]
        return name, entries[int(rng.integers(len(entries)))]

    def _sampled(self) -> Mapping[str, list[Any]]:
        """Return the tasks and sessions that are sampled, by name."""
        return self.tasks

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Return a task of a random name, and a random turn of a session."""
        generator = self.rng if rng is None else rng
        _, entry = self.sample_entry(generator)
        task: Task = entry.sample(generator) if isinstance(entry, TaskSource) else entry
        return task

    def __iter__(self) -> Iterator[Task]:
        return (task for entry in self.entries() for task in _tasks_of(entry))

    def __len__(self) -> int:
        return sum(len(_tasks_of(entry)) for entry in self.entries())


def _tasks_of(entry: Any) -> Any:
    return entry if isinstance(entry, TaskSource) else (entry,)
