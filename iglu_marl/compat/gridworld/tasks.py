"""`gridworld.tasks`: `Task`, `Tasks`, `Subtasks`, `DUMMY_TASK`, and the random and custom sources."""

from __future__ import annotations

from iglu_marl.core.task import Subtasks, Task
from iglu_marl.tasks import DUMMY_TASK, CustomTasks, RandomTasks
from iglu_marl.tasks import TaskSource as Tasks

__all__ = ["DUMMY_TASK", "CustomTasks", "RandomTasks", "Subtasks", "Task", "Tasks"]
