"""`gridworld.tasks.task`: `Task`, `Tasks`, `Subtasks`, `BUILD_ZONE_SIZE`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from iglu_marl.compat import tasks
from iglu_marl.compat.tasks import BUILD_ZONE_SIZE, Tasks
from iglu_marl.core import task as own

__all__ = ["BUILD_ZONE_SIZE", "Subtasks", "Task", "Tasks"]


class Task(tasks.Task):
    """A task: `Task(chat, target_grid)`.

    chat: the full conversation, with the current instruction. last_instruction: the current instruction; by default
    the architect's last utterance. invariant: whether the build may be rotated and shifted.
    """

    def __init__(
        self,
        chat: Any,
        target_grid: npt.ArrayLike,
        last_instruction: Any = None,
        starting_grid: Any = None,
        full_grid: Any = None,
        invariant: bool = True,
        *,
        task_id: str | None = None,
        ids: str | None = None,
    ) -> None:
        said = own.Task(chat, tasks.NOTHING, last_instruction, task_id=task_id, ids=ids)
        if isinstance(chat, str) and said.dialog != chat:  # the chat stays as it was written
            said = own.Task(chat, tasks.NOTHING, task_id=task_id, ids=ids)
        super().__init__(said, target_grid, starting_grid, full_grid, invariant)
        self._instruction = last_instruction if isinstance(last_instruction, str) else None


class Subtasks(tasks.Subtasks):
    """A session of such tasks, whose starting grids are lists of blocks (x, y, z, id)."""

    task_type = Task
    sparse_start = True
