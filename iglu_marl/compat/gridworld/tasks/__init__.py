"""`gridworld.tasks`: `Task`, `Tasks`, `Subtasks`, `DUMMY_TASK`, and the random and custom sources."""

from __future__ import annotations

from iglu_marl.compat.gridworld.tasks.task import BUILD_ZONE_SIZE, Subtasks, Task, Tasks
from iglu_marl.compat.tasks import CustomTasks, RandomTasks

__all__ = ["BUILD_ZONE_SIZE", "DUMMY_TASK", "CustomTasks", "RandomTasks", "Subtasks", "Task", "Tasks"]

DUMMY_TASK = Task("", [(5, 7, 5, 1)], task_id="dummy")
"""A task for trying things out: one blue block in a corner at the top, as in 2022, and nothing said."""
