"""The tasks of a batch: drawn for each world from a generator of its own, prepared once, begun many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError, StateError, TaskError
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.core.kernels.step import speak_at
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Terms, prepare
from iglu_marl.envs.base import put_generator
from iglu_marl.game.chat import Chat, TokenChat
from iglu_marl.tasks import draw
from iglu_marl.tasks.source import MAX_SKIPS, TaskSource, stock_of

AHEAD = 32  # numbers drawn at once from a world's generator where the source is a fixed list
KEPT = 4096  # prepared tasks, 7 KB each, kept where it is not

_COLUMNS = ("words", "tasks", "dialogues", "goes_on", "objectives", "seen")

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def check_like(value: Any, ours: Array, name: str, bounds: tuple[int, int] | None = None) -> Array:
    """A saved array itself; raises `StateError` unless it has the shape and dtype of ours, and values within bounds."""
    if not isinstance(value, np.ndarray) or value.shape != ours.shape or value.dtype != ours.dtype:
        got = f"{getattr(value, 'dtype', type(value).__name__)}{list(getattr(value, 'shape', []))}"
        raise StateError(f"the state's {name} is {got}, expected {ours.dtype}{list(ours.shape)}")
    if bounds is not None:
        outside = np.argwhere((value < bounds[0]) | (value > bounds[1]))
        if len(outside):
            place = tuple(outside[0].tolist())
            raise StateError(
                f"the state's {name}{list(place)} is {value[place]}, expected {bounds[0]}..{bounds[1]}"
            )
    return value


def rows_of_dialogs(chat: Chat, count: int) -> Array:
    """Room for `count` dialogues as they are observed: int32 [count, length] of tokens, object [count] of texts."""
    if isinstance(chat, TokenChat):
        return np.zeros((count, chat.dialog_length), np.int32)
    return np.full(count, "", object)


class Prepared:
    """Tasks with their ready-made first states, by number.

    recorded: the architect's first turn has passed when an episode begins, and dialogues begin as the tasks tell them.

    `words`: the records as uint64 [capacity, words], as `begin_many` takes them; `tasks`: object [capacity];
    `goes_on`: bool [capacity], whether a next turn follows; `objectives`: object [capacity], None where the task is
    about its target; `dialogues`: object [capacity], what has been said at the beginning; `seen`: the same as it is
    observed, object [capacity] (texts) or int32 [capacity, length] (tokens).
    """

    def __init__(self, terms: Terms, chat: Chat, recorded: bool) -> None:
        self.terms, self.chat, self.recorded = terms, chat, recorded
        self.numbers: dict[tuple[Task, Task | None, int], int] = {}
        self.limit = KEPT
        self.any_objective = False
        self._reserve(16)

    def _reserve(self, capacity: int) -> None:
        """Make room, keeping what there is."""
        count = len(self.numbers)
        kept = [getattr(self, name)[:count] for name in _COLUMNS] if count else []
        self.records = np.zeros(capacity, WORLD)
        self.words = self.records.view(np.uint64).reshape(capacity, -1)
        self.tasks, self.dialogues = np.empty(capacity, object), np.empty(capacity, object)
        self.goes_on, self.objectives = np.zeros(capacity, np.bool_), np.full(capacity, None, object)
        self.seen = rows_of_dialogs(self.chat, capacity)
        for name, values in zip(_COLUMNS, kept, strict=False):
            getattr(self, name)[:count] = values

    def number_of(self, task: Task) -> int:
        """The number of a task, which is prepared when it is new."""
        # Tasks are equal by content, which does not tell what comes after them, nor what else they are about.
        following, objective = task.next_task, task.objective
        number = self.numbers.get((task, following, id(objective)))
        if number is None:
            number = len(self.numbers)
            if number == len(self.tasks):
                self._reserve(2 * number)
            self.words[number] = prepare(task, self.terms).view(np.uint64)
            dialogue, written = Dialogue(), None
            if self.recorded:
                speak_at(self.records, number)
                dialogue, written = task.dialogue, task.dialog
            self.tasks[number], self.dialogues[number] = task, dialogue
            self.seen[number] = self.chat.show(dialogue, written)
            self.goes_on[number] = following is not None
            self.objectives[number] = objective
            self.any_objective |= objective is not None
            self.numbers[task, following, id(objective)] = number
        return number

    def make_room(self, count: int) -> bool:
        """Before `count` further tasks: forget all when they would become too many. Returns whether it did."""
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
    """Where the generators stand: their states (None: not seeded yet), numbers drawn ahead, and how many are used."""

    generators: tuple[Any, ...]
    ahead: Array
    used: Array


class TaskSampling:
    """Draws the next tasks of worlds, as each world's single environment would from its own generator.

    adapt: changes drawn tasks, as the environment plays them. Of a source that is a fixed list, numbers are drawn ahead
    and everything is prepared once: no Python runs per world. Other sources are asked once an episode.
    """

    def __init__(self, count: int, adapt: Callable[[Task], Task], prepared: Prepared) -> None:
        self.count, self.prepared = count, prepared
        self._adapt = adapt
        self._generators: list[np.random.Generator | None] = [None] * count
        self._saved: list[Any] = [None] * count  # a generator's state, where it was not drawn from since
        self._ahead = np.zeros((count, AHEAD), np.int64)
        self._used = np.full(count, AHEAD)
        self._source: Any = None
        self._stock: tuple[Task, ...] | None = None

    # -- generators

    def seed(self, seeds: Sequence[int | None], chosen: Indices) -> None:
        """Seed the generators of the chosen worlds; None leaves one as it is, or seeds it from the system."""
        for world, seed in zip(chosen.tolist(), seeds, strict=True):
            if seed is not None:
                self._generators[world], _ = seeding.np_random(seed)
                self._saved[world] = None
                self._used[world] = AHEAD

    def _generator(self, world: int) -> np.random.Generator:
        """A world's generator, to be drawn from; one without a seed is seeded from the system."""
        generator, saved = self._generators[world], self._saved[world]
        if generator is None:
            generator = self._generators[world] = np.random.Generator(np.random.PCG64())
            if saved is not None:
                generator.bit_generator.state = saved
        self._saved[world] = None
        return generator

    # -- sources

    def use(self, source: Any) -> None:
        """Draw from this source from now on."""
        self._source, self._stock = source, stock_of(source)
        self.prepared.limit = KEPT
        self._used[:] = AHEAD
        self.prepared.numbers.clear()
        self._prepare_stock()

    def _prepare_stock(self) -> None:
        if self._stock is None:
            return
        self.prepared.limit = KEPT + len(self._stock)
        played = [self._adapt(task) for task in self._stock]
        self._numbers = np.array([self.prepared.number_of(task) for task in played])
        self._complete = np.array([task.is_complete_at_start for task in self._stock])

    def draw(self, chosen: Indices) -> Indices:
        """The numbers (in `prepared`) of the chosen worlds' next tasks."""
        if self._stock is not None:
            return self._from_stock(chosen)
        source, adapt, number_of = self._source, self._adapt, self.prepared.number_of
        self.prepared.make_room(len(chosen))
        generator = self._generator
        drawn = [number_of(adapt(draw(source, generator(world)))) for world in chosen.tolist()]
        return np.array(drawn, np.int64)

    def _from_stock(self, chosen: Indices) -> Indices:
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
        """The next numbers of the chosen worlds' generators, below the length of the stock."""
        assert self._stock is not None
        used = self._used[chosen]
        for world in chosen[used == AHEAD].tolist():
            # Drawing many at once gives what as many draws of one give.
            self._ahead[world] = self._generator(world).integers(len(self._stock), size=AHEAD)
            self._used[world] = 0
        used[used == AHEAD] = 0
        self._used[chosen] = used + 1
        return self._ahead[chosen, used]

    def given(self, tasks: Sequence[Task]) -> Indices:
        """The numbers of tasks from outside."""
        if self.prepared.make_room(len(tasks)):
            self._prepare_stock()
        return np.array([self.prepared.number_of(self._adapt(task)) for task in tasks], np.int64)

    # -- saving

    def get_state(self) -> TaskSamplingState:
        """Where the generators stand."""
        for world, generator in enumerate(self._generators):
            if generator is not None and self._saved[world] is None:
                self._saved[world] = generator.bit_generator.state
        return TaskSamplingState(tuple(self._saved), self._ahead.copy(), self._used.copy())

    def check_state(self, state: TaskSamplingState) -> None:
        """Raises `StateError` unless `set_state` can take this."""
        generators = state.generators if isinstance(state, TaskSamplingState) else None
        if not isinstance(generators, tuple) or len(generators) != self.count:
            raise StateError(
                f"the state of the generators does not fit, expected that of {self.count} worlds"
            )
        scratch = np.random.default_rng(0)
        for saved in generators:
            if saved is not None:
                put_generator(scratch, saved)
        used = check_like(state.used, self._used, "used", (0, AHEAD))
        ahead = check_like(state.ahead, self._ahead, "ahead")
        if self._stock is not None:  # what is used up may be of another source
            waiting = np.where(np.arange(AHEAD) >= used[:, None], ahead, 0)
            check_like(waiting, self._ahead, "ahead", (0, len(self._stock) - 1))

    def set_state(self, state: TaskSamplingState) -> None:
        """Put back what `get_state` gave."""
        self._saved, self._generators = list(state.generators), [None] * self.count
        self._ahead, self._used = state.ahead.copy(), state.used.copy()


def read_seeds(seed: Any, chosen: Indices, count: int) -> list[int | None]:
    """The seeds of the chosen worlds: of an integer s, world i gets s + i; else one for each of `count` worlds.

    Raises `ConfigError` for what is no seed.
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
