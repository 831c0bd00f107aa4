"""Tasks written by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from iglu_marl.core.errors import TaskError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.task import Subtasks, Task, as_task, is_task
from iglu_marl.tasks.source import FiniteSource

DUMMY_TASK = Task("", blocks_to_grid([(0, -1, 0, 1)]), task_id="dummy", ids="iglu")
"""A task for experiments: one blue block, without dialogue."""


class CustomTasks(FiniteSource):
    """Tasks from (conversation, target grid) pairs, `Task` objects and `Subtasks` sessions.

    A conversation is text with `<Architect>` and `<Builder>` lines, a `Dialogue`, or a list of utterances. A grid is
    dense [9, 11, 11] or a list of blocks. A session gives a task per turn.

    Args:
        goals: the pairs, tasks and sessions.
        ids: color ids of the grids in pairs (see `Task`).

    Raises:
        TaskError: if an entry is something else.

    """

    def __init__(self, goals: Iterable[Any], *, ids: str | None = None) -> None:
        try:
            entries = list(goals)
        except TypeError:
            raise TaskError(
                f"CustomTasks got {goals!r}, expected a list of (conversation, grid) pairs"
            ) from None
        tasks: list[Task] = []
        for number, entry in enumerate(entries):
            if is_task(entry):
                tasks.append(as_task(entry))
            elif isinstance(entry, Subtasks):
                tasks.extend(entry)
            elif isinstance(entry, (tuple, list)) and len(entry) == 2:
                tasks.append(Task(entry[0], entry[1], task_id=f"custom-{number}", ids=ids))
            else:
                kind = f"array of shape {entry.shape}" if isinstance(entry, np.ndarray) else repr(entry)
                raise TaskError(
                    f"custom task {number} is {kind}, expected a (conversation, grid) pair or a Task"
                )
        super().__init__(tasks, "CustomTasks")
