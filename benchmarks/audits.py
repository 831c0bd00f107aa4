"""Compute shortcut baselines and references of levels with one builder, and of pairs with symbols.

All of them play the test split of fold 0. Imitation learns from tasks of the same split: from all if it can be
enumerated, else from others; from the training split where start positions or blocks identify the task. A level
passes if no baseline exceeds `TOLERANCE` times chance: the success rate of the best player that always builds the same
target. `timed`, `muted` and `blind` have power if `full`, which trains alike, exceeds chance; otherwise the learner
may be unable to learn the level.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines import cells_of_tasks, expert_actions, imitate, open_loop, random_play
from iglu_marl.benchmark.audits import AUDITS, CONTROLS, FORMAT, VERSION, Audit, read_audits
from iglu_marl.benchmark.catalog import Level, find
from iglu_marl.benchmark.controls import Scheduled
from iglu_marl.benchmark.games import silent_architect
from iglu_marl.benchmark.protocol import SeatedAgents
from iglu_marl.benchmark.splits import content_key, others, some_of
from iglu_marl.core.files import usable_path, write_text
from iglu_marl.core.task import Task
from iglu_marl.core.versions import versions
from iglu_marl.tasks.source import FiniteSource

AUDITED = ("see", "told", "pictures", "symbols", "human")
_ROUNDS = 1000  # approximate number of random episodes
_SEED = 0


def is_defined(level: Level, name: str) -> bool:
    """Whether a control is defined on a level."""
    if level.family not in AUDITED:
        return False
    speaks = not level.sees_target and level.family != "symbols"
    numbered = level.controls != "cells"  # the learner takes numbered actions
    return {
        "open loop": numbered,
        "timed": numbered,
        "muted": numbered and not level.sees_target,
        "blind": numbered and level.sees_target,
        "scrambled": speaks and not level.is_live,
        "full": numbered,
        "scripted": speaks,
    }.get(name, True)


def chance(level: Level, samples: int = 2048) -> float:
    """Return the success rate on the test split of the best player that always builds the same target.

    If the split cannot be enumerated, `samples` tasks choose the target, and as many others measure it.
    """
    source = level.tasks("test")
    if isinstance(source, FiniteSource):
        return max(Counter(map(content_key, source)).values()) / len(source)
    first, second = (Counter(map(content_key, some_of(source, samples, seed))) for seed in (1, 2))
    return second[first.most_common(1)[0][0]] / samples


def audit(
    level: str | Level,
    *,
    budget: int | None = None,
    tasks: int = 128,
    games: int = 16,
    demonstrations: int = 256,
    controls: Sequence[str] = CONTROLS,
    progress: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Compute the controls of a level: its shortcut baselines and references.

    Args:
        level: a level or its name.
        budget: environment steps of the search for a fixed sequence; None: the level's budget.
        tasks: number of tasks of the test split (all, if there are fewer).
        games: number of games of the scripted builder and the oracle.
        demonstrations: number of games that are imitated.
        controls: names of the controls.
        progress: called with the name of each control.

    Raises:
        ConfigError: if the level is unknown.

    """
    level = find(level)
    steps = level.budget if budget is None else min(budget, level.budget)
    tested = some_of(level.tasks("test"), tasks, _SEED)
    rounds = max(1, min(_ROUNDS // len(tested), steps // (level.max_steps * len(tested))))
    sees = tuple(name for name in level.sees if name != "dialog")
    missing = ("target",) if level.sees_target or level.is_pair or level.is_live else ("dialog",)
    shown: list[Any] = []

    def by_learning(*seen: str) -> float:
        if not shown:
            shown.extend(expert_actions(level, _imitated(level, demonstrations)))
        learned, actions = shown
        policy = imitate(level, learned, actions, seen, _SEED, cells=cells_of_tasks([*learned, *tested]))
        return float(policy.successes(tested).mean())

    def by_chance() -> float:
        if level.controls == "cells":
            return _scripted(level, "random", tested, games, "")
        return random_play(level, tested, rounds, _SEED)

    todo: dict[str, Callable[[], float]] = {
        "random": by_chance,
        "open loop": lambda: open_loop(level, tested, steps, _SEED),
        "timed": by_learning,
        "muted": lambda: by_learning(*sees),
        "blind": lambda: by_learning(*sees),
        "scrambled": lambda: _scripted(level, "scripted", tested, games, "scrambled"),
        "full": lambda: by_learning(*sees, *missing),
        "scripted": lambda: _scripted(level, "scripted", tested, games, ""),
        "oracle": lambda: _scripted(level, "oracle", tested, games, ""),
    }
    found: dict[str, float] = {}
    for name in controls:
        if is_defined(level, name):
            progress(name)
            found[name] = todo[name]()
    return Audit(level.name, level.digest, len(tested), chance(level, 16 * tasks), found)


def _imitated(level: Level, count: int) -> list[Task]:
    """Return the tasks of the demonstrations: none in which more than the message identifies a measured task."""
    source = level.tasks("test")
    if not isinstance(source, FiniteSource):
        return some_of(source, count, _SEED + 1)
    starts = [(task.pose, task.start_grid.tobytes()) for task in source]
    contents = [content_key(task) for task in source]
    mixed = len(set(zip(starts, contents, strict=True))) == len(set(starts)) * len(set(contents))
    return list(source) if mixed else some_of(level.tasks("train"), count, _SEED)


def _scripted(level: Level, builder: str, tasks: Sequence[Task], count: int, control: str) -> float:
    """Return the success rate of a named builder with each scripted architect, or with the dialogues of tasks.

    count: number of the tasks to play. control: name of a control; `scrambled` has the message of each other task, in
    at most 4 × `count` games per architect.
    """
    architect = silent_architect if builder != "scripted" and (level.is_pair or level.is_live) else None
    chosen = slice(None, None, max(1, len(tasks) // count))
    rest = others(tasks) if control == "scrambled" else [[task] for task in tasks]
    games = [(task, other) for task, part in zip(tasks[chosen], rest[chosen], strict=True) for other in part]
    order = np.random.default_rng(_SEED).permutation(len(games))[: 4 * count]
    with SeatedAgents(level, "test", [(architect, builder)], [_SEED], 0) as agents:
        pairs = product([games[place] for place in order], range(len(agents.partners)))
        scheduled = [
            Scheduled(number, task, other, partner) for number, ((task, other), partner) in enumerate(pairs)
        ]
        return float(np.mean([outcome.success for outcome, _ in agents.play(scheduled, control)]))


def write_audits(audits: Sequence[Audit], path: str | os.PathLike[str] = AUDITS) -> Path:
    """Write audits as JSON, atomically. Audits of other levels in the file are kept."""
    kept = read_audits(path) if usable_path(path).exists() else {}
    kept.update({entry.level: entry for entry in audits})
    entries = {name: kept[name]._asdict() for name in sorted(kept)}
    for entry in entries.values():
        del entry["level"]
    content = {"format": FORMAT, "version": VERSION, "versions": versions(), "levels": entries}
    return write_text(path, json.dumps(content, indent=1) + "\n")
