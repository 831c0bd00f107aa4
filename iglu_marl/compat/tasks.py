"""Tasks, sessions and datasets with the attributes and the iteration of the tools of 2022.

Each is a view of an object of this project: `to_task()` of a task, `session` of a session, `source` of a dataset. Grids
of data are in the colour ids of 2022 (`ids="iglu2022"`). Those of tasks made by hand are in the ids of the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from iglu_marl.core import task as own
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import GridError, TaskError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid
from iglu_marl.core.scoring import Alignment, Target, align, maximal_intersection
from iglu_marl.core.task_source import ByName, GroupedSource, TaskSource
from iglu_marl.tasks import custom, random_tasks

BUILD_ZONE_SIZE = ZONE_SHAPE

Grid = npt.NDArray[np.int32]
NOTHING = np.zeros(ZONE_SHAPE, np.int8)


class Tasks(TaskSource):
    """Base class of task sources, with `to_dense` and `to_sparse`."""

    @staticmethod
    def to_dense(blocks: Any) -> Grid:
        """Return a dense grid, int32 [9, 11, 11], from blocks (x, y, z, id), a dense grid, or None (no blocks).

        Dense grids may have any integers, since differences of grids do. Raises `GridError` for other values.
        """
        if blocks is None or own.is_block_list(blocks):
            return blocks_to_grid(() if blocks is None else blocks).astype(np.int32)
        try:
            grid = np.array(blocks)
        except ValueError as error:
            raise GridError(f"the grid is not an array of shape {ZONE_SHAPE}: {error}") from None
        if grid.shape != ZONE_SHAPE or grid.dtype.kind not in "iubf" or (grid != np.floor(grid)).any():
            raise GridError(
                f"the grid is {grid.dtype}{list(grid.shape)}, expected blocks (x, y, z, id) or integers "
                f"{list(ZONE_SHAPE)}"
            )
        return grid.astype(np.int32)

    @staticmethod
    def to_sparse(blocks: Any) -> list[tuple[int, ...]]:
        """Return the blocks (x, y, z, id) of a dense grid; those of a list of blocks as they are."""
        if own.is_block_list(blocks):
            return [tuple(int(part) for part in block) for block in blocks]
        grid = Tasks.to_dense(blocks)
        return [(x - 5, y - 1, z - 5, int(grid[y, x, z])) for y, x, z in np.argwhere(grid).tolist()]


def calc_reward(
    prev_grid: npt.ArrayLike,
    grid: npt.ArrayLike,
    target_grid: npt.ArrayLike,
    right_scale: float = 2,
    wrong_scale: float = 1,
) -> float:
    """Return the reward of a step from one dense grid to the next, as defined in 2022."""
    before, now = (maximal_intersection(built, target_grid) for built in (prev_grid, grid))
    if now != before:
        return float(right_scale) * float(np.sign(now - before))
    return float(wrong_scale) * float(np.sign(np.count_nonzero(prev_grid) - np.count_nonzero(grid)))


class Task:
    """Common base of the tasks of both tools; see `iglu_marl.compat.gridworld.tasks.Task`.

    chat: the conversation, the current instruction included, as it was given. dialog: the conversation before it.
    instruction, also last_instruction: the instruction with its speaker, and question and answer, if there are any.
    target_grid: int32 [9, 11, 11]. starting_grid: as it was given: None, blocks (x, y, z, id), or a dense grid.
    max_int, prev_grid_size, right_placement, wrong_placement: results of the last `step_intersection`.
    """

    _instruction: str | None = None

    def __init__(
        self,
        task: own.Task,
        target_grid: npt.ArrayLike,
        starting_grid: Any = None,
        full_grid: Any = None,
        invariant: bool = True,
    ) -> None:
        self._task = task
        self.target_grid = Tasks.to_dense(target_grid)
        self.starting_grid = starting_grid if _is_list(starting_grid) else _optional(starting_grid)
        self.full_grid = _optional(full_grid)
        self.invariant = invariant
        self.right_placement = self.wrong_placement = self.max_int = self.prev_grid_size = 0

    @classmethod
    def of(cls, task: own.Task, *, sparse_start: bool = False) -> Task:
        """Return a task of data, whose starting grid is dense or, if `sparse_start`, a list of blocks."""
        made = cls.__new__(cls)
        start = Tasks.to_sparse(task.start_grid) if sparse_start else task.start_grid
        Task.__init__(made, task, task.target_grid, start, task.full_grid, task.is_invariant)
        return made

    @property
    def chat(self) -> str:
        """The whole conversation, the current instruction included."""
        return self._task.dialog

    @property
    def dialog(self) -> str:
        """The conversation before the current instruction."""
        return self._task.previous_dialog

    @property
    def instruction(self) -> str:
        """The current instruction as it was given, else its lines with their speakers."""
        if self._instruction is not None:
            return self._instruction
        text, spoken = self._task.instruction, f"{Role.ARCHITECT.tag} "
        return spoken + text if spoken + text in self._task.dialog else text

    last_instruction = instruction

    @property
    def task_id(self) -> str | None:
        """Id of the task's game or session."""
        return self._task.task_id

    session_id = task_id

    @property
    def target_size(self) -> int:
        """Number of non-empty cells of the target."""
        return int(np.count_nonzero(self.target_grid))

    def reset(self) -> Task:
        """Start the counts of `step_intersection` again, from the starting grid. Return the task itself."""
        start = Tasks.to_dense(self.starting_grid)
        self.max_int, self.prev_grid_size = self.maximal_intersection(start), int(np.count_nonzero(start))
        self.right_placement = self.wrong_placement = 0
        return self

    sample = reset

    def step_intersection(self, grid: npt.ArrayLike) -> tuple[int, int, bool]:
        """Return what changed since the last call or `reset`: blocks that fit, blocks removed, whether all fit.

        As in 2022, a change that keeps the number of blocks is not seen.
        """
        size = int(np.count_nonzero(grid))
        self.wrong_placement = self.prev_grid_size - size
        now = self.maximal_intersection(grid) if self.wrong_placement else self.max_int
        self.right_placement, self.prev_grid_size, self.max_int = now - self.max_int, size, now
        return self.right_placement, self.wrong_placement, now == self.target_size

    def maximal_intersection(self, grid: npt.ArrayLike) -> int:
        """Return the largest number of matching cells over the `admissible` rotations and shifts."""
        return self._inside().score(grid)

    @property
    def full_size(self) -> int:
        """Number of non-empty cells of `full_grid`, or of the target without one."""
        return int(np.count_nonzero(self.target_grid if self.full_grid is None else self.full_grid))

    @property
    def target_grids(self) -> list[Grid]:
        """The target in its four rotations about the vertical axis."""
        return [align(self.target_grid, Alignment(0, 0, turns)) for turns in range(4)]

    @property
    def admissible(self) -> list[list[tuple[int, int]]]:
        """The shifts (dx, dz) of each rotation that keep the target, or `full_grid`, inside the zone."""
        return [
            [(dx, dz) for dx in range(x0, x1 + 1) for dz in range(z0, z1 + 1)]
            for x0, x1, z0, z1 in self._inside().shifts.tolist()
        ]

    def _inside(self) -> Target:
        return Target(self.target_grid, "inside", self.invariant, self.full_grid)

    def get_intersection(self, grid: npt.ArrayLike, dx: int, dz: int, i: int) -> int:
        """Return the number of matching cells at a shift of the target rotated i times."""
        moved = align(self.target_grid, Alignment(dx, dz, i))
        return int(((moved == np.asarray(grid)) & (moved != 0)).sum())

    def argmax_intersection(self, grid: npt.ArrayLike) -> tuple[int, int, int]:
        """Return the first shift (dx, dz) and rotation with the most matches that keep the target inside the zone."""
        return self._inside().alignment(grid)[1]

    def to_task(self) -> own.Task:
        """Return the playable task: for a difference of grids, the blocks to add.

        Negative ids are left out. Raises `TaskError` for other invalid grids.
        """
        return self._task.replace(
            target_grid=np.maximum(self.target_grid, 0),
            starting_grid=self.starting_grid,
            full_grid=self.full_grid,
            invariant=self.invariant,
        )

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Task]:
        yield self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target_size} blocks, {self.instruction!r:.60})"


def _is_list(value: Any) -> bool:
    return value is not None and own.is_block_list(value)


def _optional(grid: Any) -> Grid | None:
    return None if grid is None else Tasks.to_dense(grid)


class Subtasks(Tasks):
    """A session: utterances of each turn, and the world after it. Iteration yields a task for each turn.

    `sample()` and `reset()` return a random turn, or turn `next + 1` if `next` is set; it is `current` then.
    Attributes of the task `current` are those of the session.
    """

    task_type: ClassVar[type[Task]] = Task
    sparse_start: ClassVar[bool] = False
    next: int | None = None
    full: bool = False  # whether each task asks for the world after the last turn
    task_goal: int = 0

    def __init__(
        self,
        dialog: Sequence[Any],
        structure_seq: Sequence[Any],
        invariant: bool = True,
        progressive: bool = False,
        session_id: str | None = None,
        *,
        starting_grid: Any = None,
        full_grid: Any = None,
        task_id: str | None = None,
        ids: str | None = None,
    ) -> None:
        self.session = own.Subtasks(
            dialog,
            structure_seq,
            starting_grid=starting_grid,
            progressive=progressive,
            invariant=invariant,
            task_id=session_id or task_id,
            ids=ids,
            full_grid=full_grid,
        )
        self.ids = ids

    @classmethod
    def of(cls, session: own.Subtasks, ids: str) -> Subtasks:
        """Return a session of data, in these colour ids."""
        made = cls.__new__(cls)
        made.session, made.ids = session, ids
        return made

    @property
    def dialog(self) -> list[Any]:
        """The utterances of each turn, with their speakers."""
        return [[utterance.line for utterance in turn] for turn in self.session.turns]

    @property
    def structure_seq(self) -> list[Any]:
        """The blocks (x, y, z, id) after each turn."""
        return [Tasks.to_sparse(task.target_grid) for task in self]

    @property
    def task_id(self) -> str | None:
        """Id of the session."""
        return self.session.task_id

    session_id = task_id
    full_structure: Any = property(lambda self: self[-1].target_grid)
    progressive: Any = property(lambda self: self.session.progressive)
    invariant: Any = property(lambda self: self.session.invariant)
    task_start: Any = property(lambda self: self.task_goal - 1)
    current: Any = property(lambda self: self._current or self.set_task(self.task_goal))
    _current: Task | None = None

    def create_task(self, turn_start: int, turn_goal: int) -> Any:
        """Return the task from the world after turn `turn_start` (-1: the first world) to that after `turn_goal`."""
        if not -1 <= turn_start < turn_goal < len(self):
            raise TaskError(
                f"turns are {turn_start} and {turn_goal}, expected -1 <= start < goal < {len(self)}"
            )
        turn_goal = len(self) - 1 if self.full else turn_goal
        task = self.session.create_task(turn_goal)
        if turn_start + 1 < turn_goal:
            task = task.replace(starting_grid=self.session.world_before(turn_start + 1))
        played = task if self.ids is None else task.in_ids(self.ids)
        return self.task_type.of(played, sparse_start=self.sparse_start).reset()

    def sample(self, rng: np.random.Generator | None = None) -> Any:
        """Return the task of a random turn, or of turn `next + 1`."""
        generator = self.rng if rng is None else rng
        return self.set_task(int(generator.integers(len(self))) if self.next is None else self.next + 1)

    def set_task(self, task_id: int) -> Any:
        """Return the task of this turn, which becomes `current`."""
        self.task_goal, self._current = task_id, self.create_task(task_id - 1, task_id)
        return self._current

    def set_task_obj(self, task: Any) -> Any:
        """Return the task, which becomes `current`."""
        self._current = task
        return task

    def step_intersection(self, grid: npt.ArrayLike) -> tuple[int, int, bool]:
        """Score a grid by the current turn (see `Task`). A progressive session continues with the next turn."""
        right, wrong, done = self.current.step_intersection(grid)
        if done and self.session.progressive and self.task_goal + 1 < len(self):
            self.set_task(self.task_goal + 1).step_intersection(grid)
            done = False
        return right, wrong, done

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "session":
            raise AttributeError(name)
        return getattr(self.current, name)

    def __getitem__(self, turn: int) -> Any:
        return self.create_task(range(len(self))[turn] - 1, range(len(self))[turn])

    def __len__(self) -> int:
        return len(self.session)

    def __iter__(self) -> Iterator[Any]:
        return (self[turn] for turn in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} turns)"


class _ByAnyName(ByName):
    """Entries by name, also in capitals; start worlds such as "1-c118/step-2" also by structure."""

    def __missing__(self, name: object) -> list[Any]:
        if str(name).lower() in self:
            return self[str(name).lower()]
        of_structure = [entry for key, own in self.items() if f"-{name}/" in key for entry in own]
        return of_structure or super().__missing__(name)


class DataTasks(Tasks, GroupedSource):
    """A dataset: `tasks` maps names to lists of sessions, in the order of their ids, or of tasks.

    Iteration yields 4-tuples: name, index of the session in its list, index of the turn, and task. For data of single
    turns, the third is 1. `source` is the dataset of `iglu_marl.data`, with `report()`, `split()` and `filter()`.
    """

    session_type: ClassVar[type[Subtasks]] = Subtasks
    _by_name = _ByAnyName

    def __init__(self, source: Any, ids: str = "iglu2022", limit: int | None = None) -> None:
        self.source = source
        self.dataset_version: str = source.dataset_version
        entries = [
            (name.lower(), entry) for name, own_entries in source.tasks.items() for entry in own_entries
        ]
        if any(isinstance(entry, own.Subtasks) for _, entry in entries):
            entries.sort(key=lambda named: str(named[1].task_id))
        found: dict[str, list[Any]] = {}
        for name, entry in entries[:limit]:
            found.setdefault(name, []).append(self._entry(entry, ids))
        self.tasks = found

    def _entry(self, entry: Any, ids: str) -> Any:
        if isinstance(entry, own.Subtasks):
            return self.session_type.of(entry, ids)
        return self.session_type.task_type.of(
            entry.in_ids(ids), sparse_start=self.session_type.sparse_start
        ).reset()

    def report(self) -> Any:
        """Return the report of what was read and left out (see `iglu_marl.data`)."""
        return self.source.report()

    def __iter__(self) -> Iterator[Any]:
        for name, entries in self.tasks.items():
            for number, entry in enumerate(entries):
                turns = enumerate(entry) if isinstance(entry, Subtasks) else ((1, entry),)
                yield from ((name, number, turn, task) for turn, task in turns)


class Chosen(TaskSource):
    """A mixin of sources: `current` is the task that was chosen last, `preset` has the fixed tasks by name.

    Their tasks have the attributes of the older tools.
    """

    _current: Any = None
    task_type: ClassVar[type[Task]] = Task
    ids: ClassVar[str] = "iglu2022"

    def sample(self, rng: np.random.Generator | None = None) -> Any:
        """Return a random task, which becomes `current`."""
        self._current = self._view(super().sample(rng))
        return self._current

    @property
    def current(self) -> Any:
        """The task that was chosen last; at first a random one."""
        return self.sample() if self._current is None else self._current

    def _view(self, task: own.Task) -> Task:
        return self.task_type.of(task.in_ids(self.ids), sparse_start=True)

    @property
    def preset(self) -> dict[str, Any]:
        """The fixed tasks by name; empty if each task is new."""
        if getattr(self, "max_cache", 1) == 0:
            return {}
        tasks: Any = self
        return {str(number): self._view(task) for number, task in enumerate(tasks)}

    def set_task(self, task_id: Any) -> Any:
        """Return the task of this name, which becomes `current`."""
        preset = self.preset
        if task_id not in preset:
            raise TaskError(f"there is no task {task_id!r:.80}, expected one of {', '.join(preset):.200}")
        self._current = preset[task_id]
        return self._current


class RandomTasks(Chosen, random_tasks.RandomTasks):
    """Random tasks (see `iglu_marl.tasks.RandomTasks`)."""

    def load(self, path: Any) -> RandomTasks:  # type: ignore[override]  # of an instance, as in the tool
        """Replace the tasks by those that `dump` wrote."""
        vars(self).update(vars(random_tasks.RandomTasks.load(path)))
        return self


class CustomTasks(Chosen, custom.CustomTasks):
    """Tasks from (conversation, grid) pairs. task_kwargs: options of the tasks, as `{"invariant": False}`."""

    def __init__(
        self, goals: Iterable[Any], task_kwargs: Mapping[str, Any] | None = None, *, ids: str | None = None
    ) -> None:
        super().__init__(goals, ids=ids)
        self._all = tuple(task.replace(**(task_kwargs or {})) for task in self._all)
