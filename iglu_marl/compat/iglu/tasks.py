"""`iglu.tasks`: `RandomTasks`, `CustomTasks`, `TaskSet`, `Task`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from iglu_marl import tasks as own
from iglu_marl.compat import tasks
from iglu_marl.compat.gridworld.tasks import Task

__all__ = ["CustomTasks", "RandomTasks", "Task", "TaskSet"]


class TaskSet(tasks.Chosen, own.TaskSet):
    """Structures of the corpus (see `iglu_marl.tasks.TaskSet`). `preset` maps their ids to tasks."""

    ids = "iglu"

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


sys.modules[f"{__name__}.task_set"] = sys.modules[__name__]  # for `from iglu.tasks.task_set import TaskSet`
