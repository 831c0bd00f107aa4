"""Select a structure by --task-source, --data, --task and --seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.commands.options import expect_one_of
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.evaluation.selection import listed_tasks
from iglu_marl.tasks import TaskSet, sample_task
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
    found = all_tasks(tasks, data, task=task, seed=seed, progress=progress)
    return open_task(found[chosen_name(found, task, seed)])


def chosen_name(tasks: Mapping[str, Task], task: str | None, seed: int) -> str:
    """Return the name of a task, or that of one with something to build, by seed."""
    if task is not None:
        expect_one_of("--task", task, tasks)
        return task
    unfinished = [name for name, each in tasks.items() if not each.is_complete_at_start]
    known = unfinished or list(tasks)
    return known[int(np.random.default_rng(seed).integers(len(known)))]


def tasks_of_game(game: Mapping[str, Any], tasks: str | None, data: Path | None) -> dict[str, Task]:
    """Return all structures that are chosen, or else those of a game of a team that has its own."""
    if tasks is None and data is None and (source := game.get("tasks")) is not None:
        return {f"Number {k}": source.sample(np.random.default_rng(k)) for k in range(1, SAMPLES + 1)}
    return all_tasks(tasks, data)


def all_tasks(
    tasks: str | None = None,
    data: Path | None = None,
    *,
    task: str | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> dict[str, Task]:
    """Return all tasks of a source, the Minecraft Dialogue Corpus or the bundled set, by id.

    A repeated id becomes "ID (2)". task: the only one needed, of the corpus.
    """
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
