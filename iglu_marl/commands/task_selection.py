"""Which structure or recorded session is meant: by the options --tasks, --data, --task and --seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.commands.options import expect_one_of
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.core.text import similar
from iglu_marl.data import bundled
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSet


def choose_task(
    tasks: Path | None = None,
    data: Path | None = None,
    task: str | None = None,
    seed: int = 0,
    *,
    progress: bool | None = None,
) -> Task:
    """A structure of a file, of the Minecraft Dialogue Corpus, or of the bundled set; by name or by the seed."""
    return _drawn(_found(tasks, data, task, progress), seed)


def all_tasks(
    tasks: Path | None = None, data: Path | None = None, *, progress: bool | None = None
) -> dict[str, Task]:
    """All structures of a file, of the Minecraft Dialogue Corpus, or of the bundled set, by name."""
    return {str(task.task_id): task for task in _found(tasks, data, None, progress)}


def _found(tasks: Path | None, data: Path | None, task: str | None, progress: bool | None) -> list[Task]:
    if tasks is not None and data is not None:
        raise ConfigError("--tasks does not go with --data: structures come from the one or the other")
    if data is not None:
        return corpus_tasks(data, task, progress)
    if tasks is not None:
        return list(StructureTasks(tasks, None if task is None else [task]))
    found = list(BundledTasks(mode="structures"))
    if task is None:
        return found
    names = [str(each.task_id) for each in found]
    expect_one_of("--task", task, names)
    return [found[names.index(task)]]


def _drawn(found: list[Any], seed: int) -> Any:
    return found[int(np.random.default_rng(seed).integers(len(found)))]


def corpus_tasks(
    data: Path, task: str | None, progress: bool | None = None, *, dialog: bool = False
) -> list[Task]:
    """Gold structures of the Minecraft Dialogue Corpus: the one that is named, or all.

    dialog: a task for each session, with what was said in it.
    """
    from iglu_marl.data.mdc.corpus import Corpus

    names = [task] if task is not None else list(Corpus.open(data, fetch=False, progress=progress).gold)
    return list(TaskSet(preset=names, path=data, dialog=dialog))


def choose_session(
    tasks: Path | None = None,
    data: Path | None = None,
    task: str | None = None,
    seed: int = 0,
    *,
    progress: bool | None = None,
) -> Subtasks:
    """The recorded session to be replayed, by the structure's name and the seed; its turns lead to each other."""
    if tasks is not None:
        raise ConfigError("--tasks has structures without dialogues; it does not go with a recorded dialogue")
    if data is None:
        sessions = bundled.load()
    else:
        from iglu_marl.data.mdc.dataset import CDMDataset

        structures = None if task is None else [task]
        sessions = CDMDataset(data, structures=structures, fetch=False, progress=progress).tasks
    if task is not None:
        if task not in sessions:
            expect_one_of("--task", task, list(sessions) or ["(no session of that structure)"])
        sessions = {task: sessions[task]}
    session = _drawn([session for found in sessions.values() for session in found], seed)
    # People's builds stay where they were: a turned or shifted first turn would not fit what was said next.
    kept = {"progressive": True, "invariant": False}
    return Subtasks(session.turns, session.structures, task_id=session.task_id, ids="iglu", **kept)


def find_structure(name: str, tasks: Path | None = None, data: Path | None = None) -> tuple[str, BlockGrid]:
    """A structure of a file, of the bundled set, or of the Minecraft Dialogue Corpus (C1..C157), by its name.

    tasks: the file. data: where the corpus is, by default where `TaskSet` looks for it. Returns the title that a
    picture shows, and the grid. Raises `ConfigError` or `TaskError` for names that do not exist, `DataError` where
    data is missing.
    """
    if tasks is None:
        bundled_tasks = {str(task.task_id): task for task in BundledTasks(mode="structures")}
        if name in bundled_tasks:
            return name, bundled_tasks[name].target_grid
        if name not in TaskSet.LISTED:
            raise ConfigError(
                f"there is no structure {name!r}{similar(name, bundled_tasks)}, expected C1..C{len(TaskSet.LISTED)} or "
                f"one of {', '.join(bundled_tasks)}"
            )
    source = StructureTasks(tasks, name) if tasks is not None else TaskSet([name], path=data, dialog=False)
    (structure,) = source.structures.values()
    title = structure.key if structure.key == structure.name else f"{structure.key}  {structure.name}"
    return title, structure.grid
