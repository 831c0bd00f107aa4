"""`gridworld.data.iglu_dataset`: `IGLUDataset`, `SingleTurnIGLUDataset`."""

from __future__ import annotations

from iglu_marl.compat.absent import absent_names
from iglu_marl.compat.gridworld.data import IGLUDataset, SingleTurnIGLUDataset
from iglu_marl.compat.gridworld.tasks.task import Subtasks, Task, Tasks

__all__ = ["IGLUDataset", "SingleTurnIGLUDataset", "Subtasks", "Task", "Tasks"]

__getattr__ = absent_names(
    __name__,
    {
        "VOXELWORLD_GROUND_LEVEL": "iglu_marl.data, whose datasets have heights from the ground",
        "download": "the command `iglu-marl data fetch`",
        "fix_log": "iglu_marl.data.MultiturnDataset(...).report()",
        "fix_xyz": "iglu_marl.data, whose datasets have coordinates of the zone",
    },
)
