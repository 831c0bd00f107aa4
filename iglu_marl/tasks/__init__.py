"""Task sources: random, custom, named structures, and the bundled tasks.

A source has `sample(rng)` (also `reset()` and `sample_task()`) and `seed(rng)`. `sample_task(source, rng)` samples a
task from a source, a list, a function or an object of your own.
"""

from __future__ import annotations

from iglu_marl.core.lazy import deprecated_names
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.tasks.bundled import BundledTasks, SessionTasks
from iglu_marl.tasks.cube_tasks import CubeTasks
from iglu_marl.tasks.curriculum import Curriculum
from iglu_marl.tasks.custom import DUMMY_TASK, CustomTasks
from iglu_marl.tasks.random_tasks import RandomTasks
from iglu_marl.tasks.source import TaskSource, sample_task
from iglu_marl.tasks.spawn_poses import SpawnPoses
from iglu_marl.tasks.structures import StructureTasks
from iglu_marl.tasks.task_set import TaskSet

__all__ = [
    "DUMMY_TASK",
    "BundledTasks",
    "CubeTasks",
    "Curriculum",
    "CustomTasks",
    "RandomTasks",
    "SessionTasks",
    "SpawnPoses",
    "StructureTasks",
    "Subtasks",
    "Task",
    "TaskSet",
    "TaskSource",
    "sample_task",
]
__getattr__ = deprecated_names(
    __name__,
    {
        "draw": "iglu_marl.tasks.source:sample_task",
        "FiniteSource": "iglu_marl.tasks.source:FiniteSource",
        "is_source": "iglu_marl.tasks.source:is_source",
        "default_tasks": "iglu_marl.tasks.bundled:default_tasks",
        "Structure": "iglu_marl.tasks.structures:Structure",
        "load_structures": "iglu_marl.tasks.structures:load_structures",
    },
)
