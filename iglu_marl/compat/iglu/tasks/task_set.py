"""`iglu.tasks.task_set`, where the documentation of 2021 imports `TaskSet` and `RandomTasks` from."""

from __future__ import annotations

from iglu_marl.compat.iglu.tasks import CustomTasks, RandomTasks, Task, TaskSet

__all__ = ["CustomTasks", "RandomTasks", "Task", "TaskSet"]
