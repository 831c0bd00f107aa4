"""Sampling of tasks for a batch: a generator per world, and tasks prepared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError, StateError, TaskError
from iglu_marl.core.kernels.records import WORLD, EpisodeRules
from iglu_marl.core.kernels.step import speak_at
from iglu_marl.core.pose import TeamPose, poses_of
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import prepare
from iglu_marl.game.chat import Chat, TokenChat
from iglu_marl.tasks import sample_task
from iglu_marl.tasks.source import MAX_SKIPS, TaskSource, finite_tasks

INDEX_BUFFER = 32  # indices sampled at once per world from a finite source
KEPT = 4096  # prepared tasks, 7 KB each, cached for other sources

_COLUMNS = ("words", "tasks", "dialogues", "has_next", "objectives", "seen", "starts")

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def check_like(value: Any, ours: Array, name: str) -> None:
    """Raise `StateError` unless a saved array has shape and dtype of `ours`, as from an environment like this."""
    saved = np.asarray(value)
    if saved.shape != ours.shape or saved.dtype != ours.dtype:
        raise StateError(
            f"the state's {name} is {saved.dtype}{list(saved.shape)}, expected {ours.dtype}{list(ours.shape)}"
        )


def rows_of_dialogs(chat: Chat, count: int) -> Array:
    """Return an array of `count` observed dialogues: int32 [count, length] of tokens, or object [count] of texts."""
    if isinstance(chat, TokenChat):
        return np.zeros((count, chat.dialog_length), np.int32)
    return np.full(count, "", object)


class Prepared:
    """Tasks with their ready-made first states, by number.

    recorded: whether episodes begin after the architect's first turn, with the tasks' own dialogues.

    | attribute | type | content |
    |---|---|---|
    | `words` | uint64 [capacity, words] | the records, for `begin_many` |
    | `tasks` | object [capacity] | |
    | `has_next` | bool [capacity] | whether a next turn follows |
    | `objectives` | object [capacity] | None if the target is the objective |
    | `dialogues` | object [capacity] | dialogues at the start |
    | `seen` | object [capacity] or int32 [capacity, length] | the same as observed, texts or tokens |
    | `starts` | float64 [capacity, team, 5] | where the builders of a team start; nan: all as in the record |
    """

    def __init__(self, rules: EpisodeRules, chat: Chat, recorded: bool, team: int) -> None:
        self.rules, self.chat, self.recorded, self.team = rules, chat, recorded, team
        self.numbers: dict[tuple[Task, Task | None, int], int] = {}
        self.limit = KEPT
        self.any_objective = False
        self._reserve(16)

    def _reserve(self, capacity: int) -> None:
        count = len(self.numbers)
        kept = [getattr(self, name)[:count] for name in _COLUMNS] if count else []
        self.records = np.zeros(capacity, WORLD)
        self.words = self.records.view(np.uint64).reshape(capacity, -1)
        self.tasks, self.dialogues = np.empty(capacity, object), np.empty(capacity, object)
        self.has_next, self.objectives = np.zeros(capacity, np.bool_), np.full(capacity, None, object)
        self.seen = rows_of_dialogs(self.chat, capacity)
        self.starts = np.full((capacity, self.team, 5), np.nan)
        for name, values in zip(_COLUMNS, kept, strict=False):
            getattr(self, name)[:count] = values

    def number_of(self, task: Task) -> int:
        """Return the number of a task, and prepare a new one."""
        # Equality of tasks ignores the next turn and the objective.
        following, objective = task.next_task, task.objective
        number = self.numbers.get((task, following, id(objective)))
        if number is None:
            number = len(self.numbers)
            if number == len(self.tasks):
                self._reserve(2 * number)
            self.words[number] = prepare(task, self.rules).view(np.uint64)
            dialogue, written = Dialogue(), None
            if self.recorded:
                speak_at(self.records, number)
                dialogue, written = task.dialogue, task.dialog
            self.tasks[number], self.dialogues[number] = task, dialogue
            self.seen[number] = self.chat.show(dialogue, written)
            self.starts[number] = np.nan
            if self.team > 1 and isinstance(task.pose, TeamPose):
                self.starts[number] = poses_of(task.pose, self.team)
            self.has_next[number] = following is not None
            self.objectives[number] = objective
            self.any_objective |= objective is not None
            self.numbers[task, following, id(objective)] = number
        return number

    def make_room(self, count: int) -> bool:
        """Forget all tasks if `count` further ones are too many. Return whether this happened."""
        too_many = len(self.numbers) > 0 and len(self.numbers) + count > self.limit
        if too_many:
            self.numbers.clear()
        return too_many

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "words": None}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self.words = self.records.view(np.uint64).reshape(len(self.records), -1)  # has to be a view of these


class TaskSamplingState(NamedTuple):
    """States of the generators (None: not seeded yet), buffered indices, and how many of them are used."""

    generators: tuple[Any, ...]
    ahead: Array
    used: Array


class TaskSampling:
    """Samples the next tasks of worlds, as single environments would from their own generators.

    For a finite source, indices are buffered and all tasks prepared once: no Python runs per world. Other sources are
    sampled once per episode. `adapt` changes sampled tasks, `check` is that of single tasks (see `sample_task`).
    """

    def __init__(
        self, count: int, adapt: Callable[[Task], Task], prepared: Prepared, check: Callable[[Task], Task]
    ) -> None:
        self.count, self.prepared = count, prepared
        self._adapt, self._check = adapt, check
        self._generators: list[np.random.Generator | None] = [None] * count
        self._saved: list[Any] = [None] * count  # a generator's state, if unchanged since
        self._ahead = np.zeros((count, INDEX_BUFFER), np.int64)
        self._used = np.full(count, INDEX_BUFFER)
        self._source: Any = None
        self._tasks: tuple[Task, ...] | None = None

    # -- generators

    def seed(self, seeds: Sequence[int | None], chosen: Indices) -> None:
        """Seed the generators of the chosen worlds; None keeps one, or seeds it from the system."""
        for world, seed in zip(chosen.tolist(), seeds, strict=True):
            if seed is not None:
                self._generators[world], _ = seeding.np_random(seed)
                self._saved[world] = None
                self._used[world] = INDEX_BUFFER

    def generator(self, world: int) -> np.random.Generator:
        """Return a world's generator, seeded from the system if it has no seed."""
        generator, saved = self._generators[world], self._saved[world]
        if generator is None:
            generator = self._generators[world] = np.random.Generator(np.random.PCG64())
            if saved is not None:
                generator.bit_generator.state = saved
        self._saved[world] = None
        return generator

    # -- sources

    def use(self, source: Any) -> None:
        """Set the source."""
        self._source, self._tasks = source, finite_tasks(source)
        self.prepared.limit = KEPT
        self._used[:] = INDEX_BUFFER
        self.prepared.numbers.clear()
        self._prepare_tasks()

    def _prepare_tasks(self) -> None:
        if self._tasks is None:
            return
        self.prepared.limit = KEPT + len(self._tasks)
        played = [self._adapt(task) for task in self._tasks]
        self._numbers = np.array([self.prepared.number_of(task) for task in played])
        self._complete = np.array([task.is_complete_at_start for task in played])

    def sample(self, chosen: Indices) -> Indices:
        """Return the numbers (in `prepared`) of the chosen worlds' next tasks."""
        if self._tasks is not None:
            return self._sample_finite(chosen)
        source, number_of = self._source, self.prepared.number_of
        self.prepared.make_room(len(chosen))
        generator = self.generator
        drawn = [
            number_of(sample_task(source, generator(world), self._adapt, self._check))
            for world in chosen.tolist()
        ]
        return np.array(drawn, np.int64)

    def _sample_finite(self, chosen: Indices) -> Indices:
        picked = self._next(chosen)
        complete = self._complete[picked]
        for _ in range(MAX_SKIPS):
            if not complete.any():
                return self._numbers[picked]
            again = np.flatnonzero(complete)
            if isinstance(self._source, TaskSource):
                self._source.skipped += len(again)
            picked[again] = self._next(chosen[again])
            complete = self._complete[picked]
        raise TaskError(f"{MAX_SKIPS} tasks in a row from {self._source!r} were complete at their start")

    def _next(self, chosen: Indices) -> Indices:
        """Return the next index of each chosen world's generator."""
        assert self._tasks is not None
        used = self._used[chosen]
        for world in chosen[used == INDEX_BUFFER].tolist():
            # Sampling many at once gives the same numbers as sampling one at a time.
            self._ahead[world] = self.generator(world).integers(len(self._tasks), size=INDEX_BUFFER)
        used[used == INDEX_BUFFER] = 0
        self._used[chosen] = used + 1
        return self._ahead[chosen, used]

    def given(self, tasks: Sequence[Task]) -> Indices:
        """Return the numbers of given tasks."""
        if self.prepared.make_room(len(tasks)):
            self._prepare_tasks()
        return np.array([self.prepared.number_of(self._check(self._adapt(task))) for task in tasks], np.int64)

    # -- saving

    def get_state(self) -> TaskSamplingState:
        """Return the states of the generators."""
        for world, generator in enumerate(self._generators):
            if generator is not None and self._saved[world] is None:
                self._saved[world] = generator.bit_generator.state
        return TaskSamplingState(tuple(self._saved), self._ahead.copy(), self._used.copy())

    def check_state(self, state: TaskSamplingState) -> None:
        """Raise `StateError` unless `set_state` can take this."""
        check_like(state.used, self._used, "used")
        check_like(state.ahead, self._ahead, "ahead")
        waiting = state.ahead[np.arange(INDEX_BUFFER) >= state.used[:, None]]
        count = 0 if self._tasks is None else len(self._tasks)
        if count and waiting.max(initial=0) >= count:
            raise StateError(
                f"the state's next task is number {waiting.max()}, expected 0..{count - 1}: as many tasks"
            )

    def set_state(self, state: TaskSamplingState) -> None:
        """Restore a state that `get_state` returned."""
        self._saved, self._generators = list(state.generators), [None] * self.count
        self._ahead, self._used = state.ahead.copy(), state.used.copy()


def read_seeds(seed: Any, chosen: Indices, count: int) -> list[int | None]:
    """Return the seeds of the chosen worlds: s + i for world i of an integer s, else one for each of `count` worlds.

    Raises `ConfigError` for other seeds.
    """
    if seed is None:
        return [None] * len(chosen)
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        seeds: list[Any] = [int(seed) + world for world in chosen.tolist()]
    elif isinstance(seed, (list, tuple, np.ndarray)) and len(seed) == count:
        seeds = [None if seed[world] is None else seed[world] for world in chosen.tolist()]
    else:
        raise ConfigError(f"seed is {seed!r:.80}, expected None, an integer, or a list of {count} of them")
    for number in seeds:
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if number is not None and not (whole and number >= 0):
            raise ConfigError(f"seed is {number!r}, expected None or an integer of 0 or more")
    return [None if number is None else int(number) for number in seeds]
