"""Which sources are a fixed list, so that many tasks can be drawn from them at once."""

from __future__ import annotations

from typing import Any

from iglu_marl.core.task import Task
from iglu_marl.tasks.source import FiniteSource, TaskSource

_OWN = {"sample": FiniteSource.sample, "reset": TaskSource.reset, "sample_task": TaskSource.sample_task}


def stock_of(source: Any) -> tuple[Task, ...] | None:
    """The tasks of a source from which `draw` takes number `rng.integers(len(tasks))`; None for other sources."""
    if isinstance(source, (list, tuple)):
        return tuple(source) if source and all(isinstance(task, Task) for task in source) else None
    if not isinstance(source, FiniteSource):
        return None
    own = vars(source)
    if any(name in own or getattr(type(source), name) is not method for name, method in _OWN.items()):
        return None
    return tuple(source[number] for number in range(len(source)))
