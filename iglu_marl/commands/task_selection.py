"""Select a structure by --task-source, --data, --task and --seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.commands.options import expect_one_of
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.evaluation.selection import listed_tasks
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSet, sample_task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import open_task

SAMPLES = 20  # structures of a team that come from a generator


def choose_task(
    tasks: str | None = None,
    data: Path | None = None,
    task: str | None = None,
    seed: int = 0,
    *,
    own: Any = None,
    progress: bool | None = None,
) -> Task:
    """Return a task of a source, the Minecraft Dialogue Corpus or the bundled set, by name or seed.

    By seed it is one with something to build. own: source of the game of a team, if nothing else is chosen. Raises
    `TaskError` if nothing is to be built.
    """
    if own is not None and tasks is None and data is None and task is None:
        return sample_task(own, np.random.default_rng(seed))
    found = _found(tasks, data, task, seed, progress)
    return open_task(found[chosen_name(found, task, seed)])


def chosen_name(tasks: Mapping[str, Task], task: str | None, seed: int) -> str:
    """Return the name of a task, or that of one with something to build, by seed."""
    if task is not None:
        expect_one_of("--task", task, tasks)
        return task
    unfinished = [name for name, each in tasks.items() if not each.is_complete_at_start]
    known = unfinished or list(tasks)
    return known[int(np.random.default_rng(seed).integers(len(known)))]


def all_tasks(
    tasks: str | None = None, data: Path | None = None, *, progress: bool | None = None
) -> dict[str, Task]:
    """Return all tasks of a source, the Minecraft Dialogue Corpus or the bundled set, by name."""
    return _found(tasks, data, None, 0, progress)


def tasks_of_game(game: Mapping[str, Any], tasks: str | None, data: Path | None) -> dict[str, Task]:
    """Return all structures that are chosen, or else those of a game of a team that has its own."""
    if tasks is None and data is None and (source := game.get("tasks")) is not None:
        return {f"Number {k}": source.sample(np.random.default_rng(k)) for k in range(1, SAMPLES + 1)}
    return all_tasks(tasks, data)


def _found(
    tasks: str | None, data: Path | None, task: str | None, seed: int, progress: bool | None
) -> dict[str, Task]:
    """Return tasks by id, or "ID (2)" where an id is repeated. task: the only one needed, of the corpus."""
    if tasks is not None and data is not None:
        raise ConfigError("--task-source and --data exclude each other, but both are given")
    found: dict[str, Task] = {}
    if data is not None:
        listed = corpus_tasks(data, task, progress)
    else:
        listed = listed_tasks("bundled" if tasks is None else tasks, seed=seed)
    repeats: Counter[str] = Counter()
    for each in listed:
        name = str(each.task_id)
        repeats[name] += 1
        found[name if repeats[name] == 1 else f"{name} ({repeats[name]})"] = each
    return found


def corpus_tasks(
    data: Path, task: str | None, progress: bool | None = None, *, dialog: bool = False
) -> list[Task]:
    """Return the named or all target structures of the Minecraft Dialogue Corpus.

    dialog: Return a task per session instead, with its dialogue.
    """
    from iglu_marl.data.mdc.corpus import Corpus

    names = [task] if task is not None else list(Corpus.open(data, fetch=False, progress=progress).gold)
    return list(TaskSet(preset=names, path=data, dialog=dialog))


def find_structure(name: str, tasks: str | None = None, data: Path | None = None) -> tuple[str, BlockGrid]:
    """Return the title and grid of a structure by name.

    Args:
        name: Name in the file, in the bundled set, or in the Minecraft Dialogue Corpus (C1..C157).
        tasks: Source of tasks, by name.
        data: Place of the corpus. Default: where `TaskSet` looks for it.

    Raises:
        ConfigError, TaskError: If the name does not exist.
        DataError: If the corpus is missing.

    """
    if tasks is not None:
        source = as_source(tasks)
        if not isinstance(source, StructureTasks):
            found = all_tasks(tasks)
            expect_one_of("NAME", name, found)
            return name, found[name].target_grid
        expect_one_of("NAME", name, source.structures)
    else:
        bundled_tasks = {str(task.task_id): task for task in BundledTasks(mode="structures")}
        if name in bundled_tasks:
            return name, bundled_tasks[name].target_grid
        if name not in TaskSet.LISTED:
            raise ConfigError(
                f"there is no structure {name!r}{similar(name, bundled_tasks)}, expected C1..C{len(TaskSet.LISTED)} or "
                f"one of {', '.join(bundled_tasks)}"
            )
        source = TaskSet([name], path=data, dialog=False)
    structure = source.structures[name]
    title = structure.key if structure.key == structure.name else f"{structure.key}: {structure.name}"
    return title, structure.grid
