"""Tasks, sessions and datasets with the attributes and the iteration of the tools of 2022.

Each is a view of an object of this project: `to_task()` of a task, `session` of a session, `source` of a dataset. Grids
of data are in the colour ids of 2022 (`ids="iglu2022"`). Those of tasks made by hand are in the ids of the environment.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from iglu_marl.core import task as own
from iglu_marl.core.errors import GridError
from iglu_marl.core.grid import ZONE_SHAPE, blocks_to_grid
from iglu_marl.core.scoring import maximal_intersection
from iglu_marl.core.task_source import GroupedSource, TaskSource

BUILD_ZONE_SIZE = ZONE_SHAPE

Grid = npt.NDArray[np.int32]
_NOTHING = np.zeros(ZONE_SHAPE, np.int8)


class Tasks(TaskSource):
    """Base class of task sources, and `Tasks.to_dense`."""

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
        return float(right_scale * np.sign(now - before))
    return float(wrong_scale * np.sign(np.count_nonzero(prev_grid) - np.count_nonzero(grid)))


class Task:
    """Common base of the tasks of both tools; see `iglu_marl.compat.gridworld.tasks.Task`.

    chat: the conversation, the current instruction included. dialog: the conversation before it. instruction, also
        last_instruction: the instruction; with question and answer, if the builder asked.
    target_grid: int32 [9, 11, 11]. starting_grid: as it was given: None, blocks (x, y, z, id), or a dense grid.
    """

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

    @classmethod
    def of(cls, task: own.Task, *, no_start: Any = _NOTHING) -> Task:
        """Return a task of data; `no_start`: its default starting grid."""
        made = cls.__new__(cls)
        start = no_start if task.starting_grid is None else task.starting_grid
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
        """The current instruction."""
        return self._task.instruction

    @property
    def last_instruction(self) -> str:
        """The current instruction."""
        return self._task.instruction

    @property
    def task_id(self) -> str | None:
        """Id of the task's game or session."""
        return self._task.task_id

    @property
    def target_size(self) -> int:
        """Number of non-empty cells of the target."""
        return int(np.count_nonzero(self.target_grid))

    def maximal_intersection(self, grid: npt.ArrayLike) -> int:
        """Return the largest number of matching cells; over rotations and shifts if `invariant`."""
        return int(maximal_intersection(grid, self.target_grid, invariant=self.invariant))

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target_size} blocks, {self.instruction!r:.60})"


def _is_list(value: Any) -> bool:
    return value is not None and own.is_block_list(value)


def _optional(grid: Any) -> Grid | None:
    return None if grid is None else Tasks.to_dense(grid)


def task_of_text(text: Any, instruction: Any, task_id: str | None, ids: str | None) -> own.Task:
    """Return a task with this text; a missing instruction is appended."""
    return own.Task(text, _NOTHING, instruction, task_id=task_id, ids=ids)


class Subtasks(Tasks):
    """A session: utterances of each turn, and the world after it. Iteration yields a task for each turn.

    `sample()` and `reset()` return a random turn. `structure_seq`: dense worlds; `dialog`: texts of the turns.
    """

    task_type: ClassVar[type[Task]] = Task
    no_start: ClassVar[Any] = (
        _NOTHING  # the starting grid of the first turn, where a session begins with nothing
    )

    def __init__(
        self,
        dialog: Sequence[Any],
        structure_seq: Sequence[Any],
        invariant: bool = True,
        progressive: bool = False,
        starting_grid: Any = None,
        full_grid: Any = None,
        *,
        task_id: str | None = None,
        ids: str | None = None,
    ) -> None:
        self.session = own.Subtasks(
            dialog,
            structure_seq,
            starting_grid=starting_grid,
            progressive=progressive,
            invariant=invariant,
            task_id=task_id,
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
    def dialog(self) -> list[str]:
        """The texts of the turns."""
        return [turn.text for turn in self.session.turns]

    @property
    def structure_seq(self) -> list[Grid]:
        """The world after each turn."""
        return [task.target_grid for task in self]

    @property
    def task_id(self) -> str | None:
        """Id of the session."""
        return self.session.task_id

    def sample(self, rng: np.random.Generator | None = None) -> Any:
        """Return the task of a random turn."""
        generator = self.rng if rng is None else rng
        return self[int(generator.integers(len(self)))]

    def __getitem__(self, turn: int) -> Any:
        task = self.session[turn]
        played = task if self.ids is None else task.in_ids(self.ids)
        return self.task_type.of(played, no_start=copy.copy(self.no_start))

    def __len__(self) -> int:
        return len(self.session)

    def __iter__(self) -> Iterator[Any]:
        return (self[turn] for turn in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} turns)"


class DataTasks(Tasks, GroupedSource):
    """A dataset: `tasks` maps names to lists of sessions, or of tasks.

    Iteration yields 4-tuples: name, index of the session in its list, index of the turn, and task.
    `source` is the dataset of `iglu_marl.data`, with `report()`, `split()` and `filter()`.
    """

    session_type: ClassVar[type[Subtasks]] = Subtasks

    def __init__(self, source: Any, ids: str = "iglu2022") -> None:
        self.source = source
        self.dataset_version: str = source.dataset_version
        self.tasks = {
            name: [self._entry(entry, ids) for entry in entries] for name, entries in source.tasks.items()
        }

    def _entry(self, entry: Any, ids: str) -> Any:
        if isinstance(entry, own.Subtasks):
            return self.session_type.of(entry, ids)
        return self.session_type.task_type.of(entry.in_ids(ids))

    def report(self) -> Any:
        """Return the report of what was read and left out (see `iglu_marl.data`)."""
        return self.source.report()

    def __iter__(self) -> Iterator[Any]:
        for name, entries in self.tasks.items():
            for number, entry in enumerate(entries):
                turns = entry if isinstance(entry, Subtasks) else (entry,)
                yield from ((name, number, turn, task) for turn, task in enumerate(turns))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"


def task_options(task_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of a dataset's tasks, which are invariant by default."""
    return {"invariant": True, **(task_kwargs or {})}
