"""`iglu.tasks`: `RandomTasks`, `CustomTasks`, `TaskSet`."""

from __future__ import annotations

from iglu_marl.core.task import Task
from iglu_marl.tasks import CustomTasks, RandomTasks, TaskSet

__all__ = ["CustomTasks", "RandomTasks", "Task", "TaskSet"]
