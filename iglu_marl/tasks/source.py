"""`sample_task`: sample a task from any kind of source."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl.core.errors import StateError, TaskError
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.core.task_source import TaskSource as TaskSource

MAX_SKIPS = 1000
"""`sample_task` raises an error after this number of tasks in a row that ask for no change."""

_CALLS = ("sample", "reset", "sample_task")
_OTHERS = ("act", "step")  # methods of agents and environments, whose `reset` returns no task


class StatefulSources:
    """The stateful sources within a source (see `sample_task`), saved together."""

    def __init__(self, source: Any) -> None:
        self._sources = tuple(_stateful(source))

    def get_state(self) -> tuple[Any, ...]:
        """Return their states."""
        return tuple(source.get_state() for source in self._sources)

    def check_state(self, states: Any) -> None:
        """Raise `StateError` unless these are states of these sources. An empty tuple always fits."""
        if not isinstance(states, tuple) or len(states) not in (0, len(self._sources)):
            raise StateError(
                f"the state of the tasks is {states!r:.80}, expected the states of {len(self._sources)} sources"
            )
        for source, state in zip(self._sources, states, strict=False):
            source.check_state(state)

    def set_state(self, states: tuple[Any, ...]) -> None:
        """Restore the states of `get_state`."""
        for source, state in zip(self._sources, states, strict=False):
            source.set_state(state)


def _stateful(source: Any) -> Iterator[TaskSource]:
    if isinstance(source, TaskSource):
        if type(source).get_state is not TaskSource.get_state:
            yield source
    elif isinstance(source, (list, tuple, Mapping)):
        for part in source.values() if isinstance(source, Mapping) else source:
            yield from _stateful(part)


class FiniteSource(TaskSource):
    """A source over a fixed list of tasks, sampled uniformly."""

    def __init__(self, tasks: Sequence[Task], name: str) -> None:
        if not tasks:
            raise TaskError(f"{name} holds no tasks, expected at least one")
        self._all = tuple(tasks)

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a task of the list."""
        generator = self.rng if rng is None else rng
        return self._all[int(generator.integers(len(self._all)))]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._all)

    def __getitem__(self, index: int) -> Task:
        return self._all[index]


_OWN = {"sample": FiniteSource.sample, "reset": TaskSource.reset, "sample_task": TaskSource.sample_task}


def finite_tasks(source: Any) -> tuple[Task, ...] | None:
    """Return the tasks of a source from which `sample_task` takes number `rng.integers(len(tasks))`; else None."""
    if isinstance(source, (list, tuple)):
        return tuple(source) if source and all(isinstance(task, Task) for task in source) else None
    if not isinstance(source, FiniteSource):
        return None
    own = vars(source)
    if any(name in own or getattr(type(source), name) is not method for name, method in _OWN.items()):
        return None
    return tuple(source)


@lru_cache(maxsize=256)
def _takes_rng(function: Callable[..., Any], bound: bool) -> str:
    """Return how a function takes the generator: "rng" (by name), "first" (first argument) or "no"."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    except (TypeError, ValueError):
        return "no"
    if any(p.name == "rng" and p.kind is not p.POSITIONAL_ONLY for p in parameters):
        return "rng"
    first = parameters[0] if parameters else None
    if first is not None and first.kind is first.VAR_POSITIONAL:
        return "first"
    if first is not None and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        return "first" if first.default is first.empty else "no"
    return "no"


def _call(function: Callable[..., Any], rng: np.random.Generator, owner: Any = None) -> Any:
    inner = getattr(function, "__func__", None)
    try:
        way = _takes_rng(inner or function, inner is not None)
    except TypeError:  # a callable that is not hashable
        way = "no"
    if way == "rng":
        return function(rng=rng)
    if way == "first":
        return function(rng)
    # Without a parameter for the generator: seed the source, so that its own calls are reproducible.
    if isinstance(owner, TaskSource) and owner.rng is not rng:
        owner.seed(rng)
    return function()


def _sampling_method(source: Any) -> Callable[..., Any] | None:
    """Return the method `sample`, `reset` or `sample_task` that was overridden last."""
    if any(callable(getattr(source, name, None)) for name in _OTHERS):
        return None
    own = getattr(source, "__dict__", {})
    for name in _CALLS:
        if callable(own.get(name)):
            return own[name]
    for cls in type(source).__mro__:
        for name in _CALLS:
            if callable(getattr(cls, name, None)) and name in cls.__dict__:
                return getattr(source, name)
    for name in _CALLS:  # by __getattr__, as in wrappers
        method = getattr(source, name, None)
        if callable(method):
            return method
    return None


def is_source(value: Any) -> bool:
    """Whether `sample_task` accepts a value as a source."""
    if isinstance(value, (str, bytes, type)):
        return False
    if isinstance(value, (list, tuple, Mapping)):
        parts = value.values() if isinstance(value, Mapping) else value
        return len(value) > 0 and all(is_source(part) for part in parts)
    if is_task(value) or _sampling_method(value) is not None:
        return True
    return callable(value) or isinstance(value, Iterator)


def draw_task(source: Any, rng: np.random.Generator, adapt: Callable[[Task], Task] = as_task) -> Task:
    """Sample a task as `sample_task` does, also one that asks for no change. These are counted only."""
    if is_task(source):
        return adapt(as_task(source))
    if isinstance(source, (str, bytes, type)):
        raise _no_source(source)
    if isinstance(source, (list, tuple, Mapping)):
        parts = list(source.values()) if isinstance(source, Mapping) else source
        if not parts:
            raise TaskError("the list of tasks is empty, expected at least one")
        return draw_task(parts[int(rng.integers(len(parts)))], rng, adapt)
    method = _sampling_method(source)
    if method is not None:
        drawn = _call(method, rng, source)
    elif isinstance(source, Iterator):
        drawn = next(source, None)
        if drawn is None:
            raise TaskError(f"the task generator {source!r} has run out of tasks")
    elif callable(source):
        drawn = _call(source, rng)
    else:
        raise _no_source(source)
    if drawn is not source and isinstance(drawn, (TaskSource, list, tuple, Mapping)):
        return draw_task(drawn, rng, adapt)
    if not is_task(drawn):
        raise TaskError(f"the task source {source!r} gave {drawn!r}, expected a Task")
    task = adapt(as_task(drawn))
    if isinstance(source, TaskSource) and task.is_complete_at_start:
        source.skipped += 1
    return task


def _no_source(value: Any) -> TaskError:
    expected = "a Task, a source object, a list or a function"
    return TaskError(f"{value!r} is no source of tasks; expected {expected}")


def open_task(task: Task) -> Task:
    """Return a task. Raises `TaskError` if neither it nor a following turn asks for a change."""
    turn: Task | None = task
    while turn is not None and turn.is_complete_at_start:
        turn = turn.next_task
    if turn is None:
        name = "" if task.task_id is None else f" {task.task_id!r}"
        raise TaskError(
            f"the task{name} is complete at its start, expected one that asks for a change: a target that differs from "
            "the starting blocks"
        )
    return task


def sample_task(
    source: Any,
    rng: np.random.Generator,
    adapt: Callable[[Task], Task] = as_task,
    check: Callable[[Task], Task] = open_task,
) -> Task:
    """Sample a task. Tasks that ask for no change are skipped and counted in the source's `skipped`.

    Args:
        source: a `Task` (returned as it is), a `Subtasks` session, an object with `sample`, `reset` or `sample_task`
            (with a generator or no argument), a list or dict of sources, a function, or an iterator.
        rng: the generator.
        adapt: changes each task before it is looked at.
        check: of a source that is a `Task` itself: returns the task, or raises an error.

    Raises:
        TaskError: if this is not a source, it gives something else than a `Task`, or its only task or `MAX_SKIPS` tasks
            in a row ask for no change.

    """
    if is_task(source):
        return check(adapt(as_task(source)))
    for _ in range(MAX_SKIPS):
        task = draw_task(source, rng, adapt)
        if not task.is_complete_at_start:
            return task
    raise TaskError(f"{MAX_SKIPS} tasks in a row from {source!r} were complete at their start")
