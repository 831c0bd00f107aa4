"""Who plays and what is played: agents by name, class or function, and tasks from any source."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError, ConfigError
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.core.text import similar
from iglu_marl.game.agent import Agent
from iglu_marl.tasks import BundledTasks, StructureTasks, TaskSource, draw
from iglu_marl.tasks.random_tasks import RandomTasks

DRAWN = 20  # tasks of a source without an end

Factory = Callable[[Any], Agent]


def named(agents: Any, role: Role) -> dict[str, Any]:
    """Agents by name: from a name, a class or function, several of them, or a mapping from names to them.

    "partners" stands for all the names of `iglu_marl.agents.scripted.partners`.
    Raises `AgentError` for what makes no agent, and for two of one name.
    """
    if isinstance(agents, Mapping):
        found = dict(agents)
    else:
        listed = [agents] if isinstance(agents, str) or callable(agents) else list(agents)
        given = [part for entry in listed for part in (_partners(role) if entry == "partners" else [entry])]
        names = [part if isinstance(part, str) else getattr(part, "__name__", repr(part)) for part in given]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise AgentError(f"{role.value}s has {twice[0]!r} twice; a mapping can give them different names")
        found = dict(zip(names, given, strict=True))
    if not found:
        raise AgentError(f"{role.value}s is empty, expected at least one")
    for spec in found.values():
        factory(spec, role)
    return found


def _partners(role: Role) -> list[str]:
    from iglu_marl.agents.scripted import partners

    return list(partners.ARCHITECTS if role is Role.ARCHITECT else partners.BUILDERS)


def factory(spec: Any, role: Role) -> Factory:
    """What makes an agent for an environment. Raises `AgentError`.

    spec: a name of `iglu_marl.agents`, "module:attribute", a class with `for_env(env)`, or a function of the
    environment.
    """
    if isinstance(spec, str):
        from iglu_marl.agents import registry

        found = registry.find(spec, role)
        if found is None and ":" not in spec:
            known = registry.known(role)
            raise AgentError(
                f"{role.value} {spec!r} is unknown{similar(spec, known)}, expected one of {', '.join(known)}, "
                "llm:MODEL@ENDPOINT, or module:attribute"
            )
        spec = _imported(spec, role) if found is None else found
    if hasattr(spec, "for_env"):
        return spec.for_env
    if not callable(spec):
        raise AgentError(
            f"{role.value} is {spec!r:.80}, expected a name, a class with for_env, or a function of the environment"
        )
    return spec


def _asked(specs: Mapping[str, Any], role: Role, question: str) -> dict[str, Any]:
    """What the makers of agents say of themselves, where they say it (LLM agents), by name.

    `functools.partial` of a `for_env` hands on what it was given.
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
    """The settings that agents do not get from here, by name: what `describe()` of their classes says."""
    return _asked(specs, role, "describe")


def games_at_once(specs: Mapping[str, Any], role: Role) -> int:
    """In how many games at once the agents are to play: the most that `games_at_once()` of their classes says, or 1."""
    return max(_asked(specs, role, "games_at_once").values(), default=1)


def _imported(spec: str, role: Role) -> Any:
    module, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise AgentError(f"{role.value} {spec!r} cannot be imported: {error}") from None


def tasks_of(tasks: Any, *, count: int | None = None, seed: int = 0) -> list[Task]:
    """The tasks to be played.

    tasks: "bundled" (structures), "turns" (those of the bundled sessions), "random" (up to 8 blocks, 3 levels, 6
    colours), the path of a file of structures; a `Task`, a session, a list, or any task source, which is seeded. count:
    that many of them at most; of a source without an end so many are drawn (default 20). Raises `ConfigError`
    when there are none.
    """
    if isinstance(tasks, (str, os.PathLike)):
        tasks = _tasks_by_name(os.fspath(tasks))
    if count is not None and count < 1:
        raise ConfigError(f"count is {count}, expected 1 or more")
    rng = np.random.default_rng(seed)
    if isinstance(tasks, TaskSource):
        tasks.seed(rng)
    if is_task(tasks):
        found = [tasks]
    elif _ends(tasks):
        found = list(tasks)
    else:
        found = [draw(tasks, rng) for _ in range(count or DRAWN)]
    if not found or not all(map(is_task, found)):
        raise ConfigError(f"tasks is {tasks!r:.80}, expected tasks, at least one")
    return [as_task(task) for task in found[:count]]


def _ends(tasks: Any) -> bool:
    """Whether there are so many tasks, and no more."""
    try:
        return len(tasks) >= 0 and hasattr(tasks, "__iter__")
    except TypeError:
        return False


def _tasks_by_name(name: str) -> Any:
    if name == "bundled":
        return BundledTasks(mode="structures")
    if name == "turns":
        return BundledTasks(mode="turns")
    if name == "random":
        return RandomTasks(max_blocks=8, height_levels=3, num_colors=6)
    return StructureTasks(name)


def digest(task: Task) -> str:
    """A name for the content of a task: 12 hexadecimal digits."""
    made = hashlib.blake2b(digest_size=6)
    part: Task | None = task
    while part is not None:
        made.update(
            repr((part.dialog, part.instruction, part.is_invariant, part.ids)).encode("utf-8", "replace")
        )
        for grid in (part.target_grid, part.start_grid, part.full_grid):
            made.update(b"-" if grid is None else grid.tobytes())
        part = part.next_task
    return made.hexdigest()
