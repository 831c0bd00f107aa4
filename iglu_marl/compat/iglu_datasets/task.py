"""`iglu_datasets.task`: `Task`, `Tasks`, `Subtasks`."""

from __future__ import annotations

from iglu_marl.compat.iglu_datasets import Subtasks, Task, Tasks

__all__ = ["Subtasks", "Task", "Tasks"]
