"""`sample_task`: sample a task from any kind of source."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from iglu_marl.core.errors import TaskError
from iglu_marl.core.task import Task, as_task, is_task
from iglu_marl.core.task_source import TaskSource as TaskSource

MAX_SKIPS = 1000
"""`sample_task` raises an error after this number of tasks in a row that ask for no change."""

_CALLS = ("sample", "reset", "sample_task")
_LISTS = (list, tuple, Mapping)
_OTHERS = ("act", "step")  # methods of agents and environments, whose `reset` returns no task


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


def source_fault(value: Any, place: str, inside: bool = False) -> str:
    """Return what is wrong with a source of tasks, "" if nothing. A wrong element of a list is named by its place.

    Names are no sources here (see `iglu_marl.tasks.named`).

    inside: whether the value is part of a list or was given by a source. Then a list of values that are neither sources
        nor lists is itself the wrong element, such as a block.
    """
    if not isinstance(value, _LISTS):
        return "" if _is_source(value) else _expected(value, place)
    if not value:
        return f"{place} is {value!r}, expected at least one task"
    items = list(value.items() if isinstance(value, Mapping) else enumerate(value))
    if inside and not any(isinstance(part, _LISTS) or _is_source(part) for _, part in items):
        return _expected(value, place)
    faults = (source_fault(part, f"{place}[{key!r}]", inside=True) for key, part in items)
    return next(filter(None, faults), "")


def _is_source(value: Any) -> bool:
    """Whether a value is a source, apart from lists: its function can be called without arguments, or with one."""
    if is_task(value) or isinstance(value, (str, bytes, type)):
        return is_task(value)
    method = _sampling_method(value)
    function = value if method is None else method
    if not callable(function):
        return isinstance(function, Iterator)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a builtin
        return True
    required = [
        p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return len(required) <= 1


def _expected(value: Any, place: str) -> str:
    shown = f"{value!r:.80}"
    if isinstance(value, type):
        shown = f"the class {value.__name__}, not an object of it"
    elif isinstance(value, np.ndarray):
        shown = f"an array of shape {value.shape}"
    return (
        f'{place} is {shown}, expected a Task, such as Task("", [(x, y, z, color)]), a source with sample(), a list '
        "of them, or a function"
    )


def draw_task(
    source: Any,
    rng: np.random.Generator,
    adapt: Callable[[Task], Task] = as_task,
    place: str = "the source",
) -> Task:
    """Sample a task as `sample_task` does, also one that asks for no change. These are counted only."""
    if is_task(source):
        return adapt(as_task(source))
    if isinstance(source, _LISTS):
        if not source:
            raise TaskError(source_fault(source, place))
        keys = list(source) if isinstance(source, Mapping) else range(len(source))
        key = keys[int(rng.integers(len(keys)))]
        return draw_task(source[key], rng, adapt, f"{place}[{key!r}]")
    method = None if isinstance(source, (str, bytes, type)) else _sampling_method(source)
    if method is not None:
        drawn = _call(method, rng, source)
    elif isinstance(source, Iterator):
        drawn = next(source, None)
        if drawn is None:
            raise TaskError(f"the task generator {source!r} has run out of tasks")
    elif callable(source) and not isinstance(source, type):
        drawn = _call(source, rng)
    else:
        raise TaskError(_expected(source, place))
    if drawn is not source and isinstance(drawn, (TaskSource, *_LISTS)):
        given = f"what {source!r:.80} gave"
        if fault := source_fault(drawn, given, inside=True):
            raise TaskError(fault)
        return draw_task(drawn, rng, adapt, given)
    if not is_task(drawn):
        raise TaskError(_expected(drawn, f"what {source!r:.80} gave"))
    task = adapt(as_task(drawn))
    if isinstance(source, TaskSource) and task.is_complete_at_start:
        source.skipped += not (task.unbuilt and getattr(source, "keep_unbuilt", False))
    return task


def open_task(task: Task) -> Task:
    """Return a task. Raises `TaskError` if neither it nor a following turn asks for a change.

    A task that is marked as unbuilt is returned: its instruction asks for one. The game ends with the first step.
    """
    if task.unbuilt:
        return task
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

    Unbuilt tasks of a source with `keep_unbuilt` are returned.

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
        if not task.is_complete_at_start or (task.unbuilt and getattr(source, "keep_unbuilt", False)):
            return task
    raise TaskError(f"{MAX_SKIPS} tasks in a row from {source!r} were complete at their start")
