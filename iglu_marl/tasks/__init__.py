"""Task sources: random, custom, named structures, and the bundled tasks.

A source has `sample(rng)` (also `reset()` and `sample_task()`) and `seed(rng)`. `sample_task(source, rng)` samples a
task from a source, a list, a function or an object of your own.
"""

from iglu_marl.tasks.bundled import BundledTasks, SessionTasks
from iglu_marl.tasks.cube_tasks import CubeTasks
from iglu_marl.tasks.custom import DUMMY_TASK, CustomTasks
from iglu_marl.tasks.imported import import_structure
from iglu_marl.tasks.random_tasks import RandomTasks
from iglu_marl.tasks.source import TaskSource, sample_task
from iglu_marl.tasks.spawn_poses import SpawnPoses
from iglu_marl.tasks.structures import StructureTasks
from iglu_marl.tasks.task_set import TaskSet

__all__ = [
    "DUMMY_TASK",
    "BundledTasks",
    "CubeTasks",
    "CustomTasks",
    "RandomTasks",
    "SessionTasks",
    "SpawnPoses",
    "StructureTasks",
    "TaskSet",
    "TaskSource",
    "import_structure",
    "sample_task",
]
