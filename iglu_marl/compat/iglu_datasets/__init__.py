"""`iglu_datasets` (IGLU 2022): `MultiturnDataset`, `SingleturnDataset`, `IGLUDataset`, `Task`, `Subtasks`.

Colour ids are those of the 2022 tools (1 blue, 2 green, 3 red, 4 orange, 5 purple, 6 yellow); pass `ids="iglu"` to a
dataset for those of this project.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from iglu_marl.compat import tasks
from iglu_marl.compat.gridworld import data
from iglu_marl.compat.tasks import BUILD_ZONE_SIZE, Tasks
from iglu_marl.core import task as own

__all__ = [
    "BUILD_ZONE_SIZE",
    "IGLUDataset",
    "MultiturnDataset",
    "SingleturnDataset",
    "Subtasks",
    "Task",
    "Tasks",
]


class Task(tasks.Task):
    """A task: `Task(instruction, target_grid)`.

    dialog: the conversation, with or without the current instruction; None: nothing was said before.
    """

    def __init__(
        self,
        instruction: Any,
        target_grid: npt.ArrayLike,
        dialog: Any = None,
        starting_grid: Any = None,
        full_grid: Any = None,
        invariant: bool = True,
        *,
        task_id: str | None = None,
        ids: str | None = None,
    ) -> None:
        said = own.Task(dialog or "", tasks.NOTHING, instruction, task_id=task_id, ids=ids)
        super().__init__(said, target_grid, starting_grid, full_grid, invariant)
        self._instruction = instruction if isinstance(instruction, str) else None


class Subtasks(tasks.Subtasks):
    """A session of such tasks, whose starting grids are dense, as documented."""

    task_type = Task


class MultiturnDataset(data.IGLUDataset):
    """The multi-turn data. Further options: those of `iglu_marl.data.MultiturnDataset`, as `path=`."""

    session_type = Subtasks


class SingleturnDataset(data.SingleTurnIGLUDataset):
    """The single-turn data. keep_unmodified, keep_wrong_builds: see `gridworld.data`, `rules`.

    Further options: those of `iglu_marl.data.SingleturnDataset`, as `path=`.
    """

    session_type = Subtasks

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        force_download: bool = False,
        limit: int | None = None,
        keep_unmodified: bool | None = None,
        keep_wrong_builds: bool | None = None,
        **options: Any,
    ) -> None:
        kept = (keep_unmodified, keep_wrong_builds)
        if kept != (None, None):
            options.setdefault("rules", data.rules_of(*kept))
        super().__init__(dataset_version, task_kwargs, force_download, limit, **options)


IGLUDataset = MultiturnDataset
