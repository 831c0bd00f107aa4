"""`iglu_datasets` (IGLU 2022): `MultiturnDataset`, `SingleturnDataset`, `IGLUDataset`, `Task`, `Subtasks`.

Colour ids are those of the 2022 tools (1 blue, 2 green, 3 red, 4 orange, 5 purple, 6 yellow); pass `ids="iglu"` to a
dataset for those of this project.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy.typing as npt

from iglu_marl.compat import tasks
from iglu_marl.compat.absent import add_modules
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
    """The single-turn data. Further options: those of `iglu_marl.data.SingleturnDataset`, as `path=` and `rules=`."""

    session_type = Subtasks


IGLUDataset = MultiturnDataset
BLUE, GREEN, RED, ORANGE, PURPLE, YELLOW = range(1, 7)
inv_color_map = dict(enumerate(("blue", "green", "red", "orange", "purple", "yellow"), start=1))
color_map = {color: number for number, color in inv_color_map.items()}
_here = dict.fromkeys(("task", "multiturn_dataset", "singleturn_dataset"), sys.modules[__name__])
_absent = {
    "common": dict.fromkeys(("fix_log", "VOXELWORLD_GROUND_LEVEL"), "iglu_marl.data.read_action_log"),
    "download": {"download": "the command `iglu-marl data fetch`"},
}
add_modules(__name__, {**_here, **_absent})
