"""`iglu_datasets` (IGLU 2022): `MultiturnDataset`, `SingleturnDataset`, `IGLUDataset`, `Task`, `Subtasks`.

Colour ids are those of this project (1 blue, 2 yellow, 3 green, 4 orange, 5 purple, 6 red); pass
`ids="iglu2022"` to a dataset for the ids of the 2022 tools.
"""

from __future__ import annotations

from iglu_marl.core.task import Subtasks, Task
from iglu_marl.data.iglu.multiturn_dataset import IGLUDataset, MultiturnDataset
from iglu_marl.data.iglu.singleturn import SingleturnDataset

__all__ = ["IGLUDataset", "MultiturnDataset", "SingleturnDataset", "Subtasks", "Task"]
