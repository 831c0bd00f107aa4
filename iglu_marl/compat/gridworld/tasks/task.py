"""`gridworld.tasks.task`: `Task`, `Tasks`, `Subtasks`, `BUILD_ZONE_SIZE`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy.typing as npt

from iglu_marl.compat import tasks
from iglu_marl.compat.tasks import BUILD_ZONE_SIZE, Tasks

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
        said = tasks.task_of_text(chat, last_instruction, task_id, ids)
        super().__init__(said, target_grid, starting_grid, full_grid, invariant)


class Subtasks(tasks.Subtasks):
    """A session of such tasks. The starting grid of the first turn is an empty list, as of one of blocks."""

    task_type = Task
    no_start: ClassVar[Any] = []
