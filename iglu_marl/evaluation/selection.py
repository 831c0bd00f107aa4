"""Agents by name, class or function, and tasks from any source."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from iglu_marl.agents.registry import factory as factory
from iglu_marl.core.arguments import as_rng
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError, TaskError
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.tasks import TaskSource, sample_task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import open_task

DRAWN = 20  # tasks of an infinite source
Item = TypeVar("Item")


def named(agents: Any, role: Role) -> dict[str, Any]:
    """Return agents by label, from a name, a class or function, a list of them, or a mapping.

    Raises `AgentError` if an entry makes no agent, or two have the same label.
    """
    if isinstance(agents, Mapping):
        found = dict(agents)
    else:
        several = isinstance(agents, Iterable) and not (isinstance(agents, str) or callable(agents))
        given = list(agents) if several else [agents]
        names = [part if isinstance(part, str) else getattr(part, "__name__", repr(part)) for part in given]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise AgentError(f"{role.value}s has {twice[0]!r} twice; a mapping can give them different names")
        found = dict(zip(names, given, strict=True))
    if not found:
        raise AgentError(f"{role.value}s is empty, expected at least one")
    for spec in found.values():
        factory(spec, role)
    return found


def _asked(specs: Mapping[str, Any], role: Role, question: str) -> dict[str, Any]:
    """Call a method of the agents' classes that have it (LLM agents); return the answers by label.

    Settings given through `functools.partial` are passed on.
    """
    found = {}
    for name, spec in specs.items():
        make = factory(spec, role)
        given = make.keywords if isinstance(make, functools.partial) else {}
        maker = getattr(make.func if isinstance(make, functools.partial) else make, "__self__", None)
        if hasattr(maker, question):
            settings = {key: value for key, value in given.items() if key == "settings"}
            found[name] = getattr(maker, question)(**settings)
    return found


def described(specs: Mapping[str, Any], role: Role) -> dict[str, Any]:
    """Return the settings of agents that describe themselves (`describe()`), by label."""
    return _asked(specs, role, "describe")


def games_at_once(specs: Mapping[str, Any], role: Role) -> int:
    """Return the largest number of concurrent games that an agent asks for (`games_at_once()`), at least 1."""
    return max(_asked(specs, role, "games_at_once").values(), default=1)


def without_unbuilt(
    items: Iterable[Item], is_unbuilt: Callable[[Item], bool], keep_unbuilt: bool
) -> tuple[list[Item], dict[str, int]]:
    """Return the items to measure, and how many were left out by reason: `{"unbuilt": 61}`."""
    given = list(items)
    kept = given if keep_unbuilt else [item for item in given if not is_unbuilt(item)]
    if given and not kept:
        raise TaskError(
            f"all tasks are unbuilt ({len(given)}): nobody built what they ask for; keep_unbuilt=True keeps them"
        )
    count = len(given) - len(kept)
    return kept, {"unbuilt": count} if count else {}


def left_out_text(left_out: Mapping[str, int]) -> str:
    """Return counts of what was left out as text: "left out: 61 unbuilt"; "" for none."""
    listed = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
    return f"left out: {listed}" if listed else ""


def tasks_of(
    tasks: Any, *, count: int | None = None, seed: int = 0, keep_unbuilt: bool = False
) -> list[Task]:
    """Return the tasks to play. One without id is called "task-0" and so on.

    Args:
        tasks: "bundled" (structures), "turns" (turns of the bundled sessions), "random" (up to 8 blocks, 3 layers, 6
            colors), a corpus or a part of it ("iglu-singleturn:test"), a file of structures, FILE.py:Class or
            module:Class of a task source, a `Task`, a session, a list, or a task source.
        count: largest number of tasks; an infinite source is sampled this often (default 20).
        seed: seed of a task source.
        keep_unbuilt: whether tasks stay whose target nobody built (`Task.unbuilt`).

    Raises:
        ConfigError: if there are no tasks.
        TaskError: if no task asks for a change, or all are unbuilt.

    """
    return select_tasks(tasks, count=count, seed=seed, keep_unbuilt=keep_unbuilt)[0]


def select_tasks(
    tasks: Any, *, count: int | None = None, seed: int = 0, keep_unbuilt: bool = False
) -> tuple[list[Task], dict[str, int]]:
    """Return the tasks to play, as `tasks_of`, and how many were left out by reason: "unbuilt", "without a change"."""
    listed = listed_tasks(tasks, count=count, seed=seed)
    whole, left_out = without_unbuilt(listed, lambda task: task.unbuilt, keep_unbuilt)
    open_tasks = [task for task in whole if task.unbuilt or not task.is_complete_at_start]
    open_tasks = open_tasks or [open_task(whole[0])]
    if unchanged := len(whole) - len(open_tasks):
        left_out["without a change"] = unchanged
    return open_tasks[:count], left_out


def listed_tasks(tasks: Any, *, count: int | None = None, seed: int = 0) -> list[Task]:
    """Return all tasks of a finite source, also those that ask for no change; of an infinite one, samples.

    The arguments are those of `tasks_of`. Raises `ConfigError` if there are no tasks.
    """
    tasks = as_source(tasks)
    if count is not None and count < 1:
        raise ConfigError(f"count is {count}, expected 1 or more")
    rng = as_rng("seed", seed)
    if isinstance(tasks, TaskSource):
        tasks.seed(rng)
    listed = [tasks] if is_task(tasks) else _listed(tasks)
    if listed is None:
        listed = [sample_task(tasks, rng) for _ in range(count or DRAWN)]
    for number, task in enumerate(listed):
        if not is_task(task):
            raise ConfigError(f"tasks[{number}] is {task!r:.80}, expected a Task")
    return [_with_name(as_task(task), number) for number, task in enumerate(listed)]


def _with_name(task: Task, number: int) -> Task:
    return task if task.task_id else task.replace(task_id=f"task-{number}")


def _listed(tasks: Any) -> list[Any] | None:
    """Return the tasks of a finite source; None for an infinite one."""
    try:
        return list(tasks) if len(tasks) >= 0 and hasattr(tasks, "__iter__") else None
    except TypeError:
        return None


def digest(task: Task) -> str:
    """Return a hash of all that makes a task but its name, 12 hexadecimal digits."""
    made = hashlib.blake2b(digest_size=6)
    turn: Task | None = task
    while turn is not None:
        fields: tuple[Any, ...] = (turn.dialog, turn.instruction, turn.is_invariant, turn.ids)
        if turn.pose is not None:  # so that tasks without one have the hashes of version 0.3
            fields += (turn.pose,)
        made.update(repr(fields).encode("utf-8", "replace"))
        for grid in (turn.target_grid, turn.start_grid, turn.full_grid):
            made.update(b"-" if grid is None else grid.tobytes())
        turn = turn.next_task
    return made.hexdigest()


def digest_of(tasks: Iterable[Task]) -> str:
    """Return a hash of tasks without their start poses, as result files have it, 12 hexadecimal digits."""
    digests = (digest(task.replace(pose=None)) for task in tasks)
    return hashlib.blake2b("".join(digests).encode(), digest_size=6).hexdigest()
