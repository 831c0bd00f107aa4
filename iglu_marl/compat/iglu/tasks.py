"""`iglu.tasks`: `RandomTasks`, `CustomTasks`, `TaskSet`, `Task`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from iglu_marl import tasks as own
from iglu_marl.compat import tasks
from iglu_marl.compat.absent import add_modules
from iglu_marl.compat.gridworld.tasks import Task

__all__ = ["CustomTasks", "RandomTasks", "Task", "TaskSet"]

_SIMPLEST = ["C3", "C8", "C12", "C14", "C32", "C17"]


class TaskSet(tasks.Chosen, own.TaskSet):
    """Structures of the corpus (see `iglu_marl.tasks.TaskSet`). `preset` maps their ids to tasks."""

    ids = "iglu"

    def __init__(self, preset: Any = ("C8",), task_id: str | None = None, **options: Any) -> None:
        """Choose ids, "simplest", or "one_task" with a `task_id`. options: those of `iglu_marl.tasks.TaskSet`."""
        presets = {"simplest": _SIMPLEST, "one_task": [task_id or "C8"]}
        super().__init__(presets.get(preset, preset) if isinstance(preset, str) else preset, **options)

    @property
    def task_ids(self) -> list[str]:
        """The ids in use."""
        return list(self.tasks)

    @property
    def preset(self) -> Any:
        """The first task of each structure in use, by its id."""
        return {key: self._view(self[key]) for key in self.tasks}

    @staticmethod
    def subset(task_set: Iterable[str]) -> dict[str, str]:
        """Return the lines of these ids in `TaskSet.ALL`."""
        chosen = set(task_set)
        return {key: line for key, line in TaskSet.ALL.items() if key in chosen}


class RandomTasks(tasks.RandomTasks):
    """Random tasks (see `iglu_marl.tasks.RandomTasks`)."""

    ids = "iglu"


class CustomTasks(tasks.CustomTasks):
    """Tasks from (conversation, grid) pairs."""

    ids = "iglu"

    def __init__(self, goals: Iterable[Any]) -> None:
        super().__init__(goals)


add_modules(__name__, dict.fromkeys(("task_set", "task"), sys.modules[__name__]))
