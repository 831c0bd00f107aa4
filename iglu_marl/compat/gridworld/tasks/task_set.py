"""`gridworld.tasks.task_set`: `RandomTasks`, `CustomTasks`, `DUMMY_TASK`."""

from __future__ import annotations

from iglu_marl.compat.gridworld.tasks import BUILD_ZONE_SIZE, DUMMY_TASK, CustomTasks, RandomTasks, Task, Tasks

__all__ = ["BUILD_ZONE_SIZE", "DUMMY_TASK", "CustomTasks", "RandomTasks", "Task", "Tasks"]
