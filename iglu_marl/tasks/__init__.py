"""Task sources: random, custom, named structures, and the tasks that come with the package.

A source has `sample(rng)` (also `reset()` and `sample_task()`) and `seed(rng)`. `draw(source, rng)` takes
a task from any of them, from lists, from functions and from objects of your own.
"""

from __future__ import annotations

from iglu_marl.core.task import Subtasks, Task
from iglu_marl.tasks.bundled import BundledTasks, SessionTasks, default_tasks
from iglu_marl.tasks.curriculum import Curriculum
from iglu_marl.tasks.custom import DUMMY_TASK, CustomTasks
from iglu_marl.tasks.random_tasks import RandomTasks
from iglu_marl.tasks.source import FiniteSource, TaskSource, draw, is_source
from iglu_marl.tasks.spawn_poses import SpawnPoses
from iglu_marl.tasks.structures import Structure, StructureTasks, load_structures
from iglu_marl.tasks.task_set import TaskSet

__all__ = [
    "DUMMY_TASK",
    "BundledTasks",
    "Curriculum",
    "CustomTasks",
    "FiniteSource",
    "RandomTasks",
    "SessionTasks",
    "SpawnPoses",
    "Structure",
    "StructureTasks",
    "Subtasks",
    "Task",
    "TaskSet",
    "TaskSource",
    "default_tasks",
    "draw",
    "is_source",
    "load_structures",
]
