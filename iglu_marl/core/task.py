"""`Task`, an instruction and the change it asks for, and `Subtasks`, a whole session.

Both are immutable; grids are read-only copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DialogueError, GridError, PoseError, TaskError
from iglu_marl.core.grid import (
    IGLU2022_ID_OF_IGLU,
    IGLU_ID_OF_IGLU2022,
    ZONE_SHAPE,
    BlockGrid,
    as_grid,
    blocks_to_grid,
)
from iglu_marl.core.pose import Pose, TeamPose, as_start
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.text import fix_surrogates

ID_TABLES = ("iglu", "iglu2022")

_EMPTY_GRID = np.zeros(ZONE_SHAPE, dtype=np.int8)
_EMPTY_GRID.setflags(write=False)


def is_block_list(value: Any) -> bool:
    """Return whether a value is a list of blocks (x, y, z, id) rather than a dense grid."""
    if isinstance(value, np.ndarray):
        return value.ndim == 2 and value.shape[1] == 4
    if not isinstance(value, (list, tuple, set, frozenset)):
        return False
    first = next(iter(value), None)
    if isinstance(first, np.ndarray):
        return first.ndim == 1
    if not isinstance(first, (list, tuple)):
        return first is None
    return not any(isinstance(part, (list, tuple, np.ndarray)) for part in first)


def of_task(task_id: str | None) -> str:
    """Return the end of an error about a task, such as "; task 'kite'"; "" for a task without id."""
    return "" if task_id is None else f"; task {task_id!r}"


def _checked_grid(value: Any, name: str, task_id: str | None) -> BlockGrid:
    """Return a read-only int8 copy of a dense grid or block list; raises `TaskError` naming the task."""
    if type(value) is np.ndarray and value.dtype == np.int8 and value.shape == ZONE_SHAPE:
        grid = value.copy()
        # Negative ids are large as unsigned ones: one pass checks both ends.
        if grid.view(np.uint8).max() <= 6:
            grid.setflags(write=False)
            return grid
    try:
        return blocks_to_grid(value, name) if is_block_list(value) else as_grid(value, name)
    except GridError as error:
        raise TaskError(f"{error}{of_task(task_id)}") from None


def _checked_optional(value: Any, name: str, task_id: str | None) -> BlockGrid | None:
    return None if value is None else _checked_grid(value, name, task_id)


def _checked_ids(ids: str | None, task_id: str | None) -> str | None:
    if ids is not None and not (isinstance(ids, str) and ids in ID_TABLES):
        raise TaskError(f"ids is {ids!r}, expected None, 'iglu' or 'iglu2022'{of_task(task_id)}")
    return ids


def _checked_flag(invariant: bool | None, task_id: str | None) -> bool | None:
    if invariant is None or isinstance(invariant, (bool, np.bool_)):
        return None if invariant is None else bool(invariant)
    raise TaskError(f"invariant is {invariant!r}, expected None, True or False{of_task(task_id)}")


def _checked_pose(value: Any, task_id: str | None) -> Pose | TeamPose | None:
    try:
        return None if value is None else as_start(value)
    except PoseError as error:
        raise TaskError(f"{error}{of_task(task_id)}") from None


def _checked_dialogue(value: Any, name: str, task_id: str | None) -> Dialogue:
    try:
        return Dialogue.of(value)
    except DialogueError as error:
        raise TaskError(f"{name}: {error}{of_task(task_id)}") from None


def _find_last(part: Dialogue, whole: Dialogue) -> int | None:
    for start in range(len(whole) - len(part), -1, -1):
        if whole.utterances[start : start + len(part)] == part.utterances:
            return start
    return None


def _instruction_text(said: Dialogue) -> str:
    """Return the text of one utterance, or the lines of several with their speakers."""
    return said[0].text if len(said) == 1 and said[0].role is Role.ARCHITECT else said.text


class Task:
    """An instruction in its conversation, the world before it and the target world.

    dialog: the conversation up to and including the current instruction, as text (`<Architect> …` lines), a
        `Dialogue` or a list of utterances.
    target_grid: int8 [9, 11, 11] with color ids 0..6 (any integer type or integral floats), axes [y, x, z].
    instruction: the current instruction; by default the architect's last utterance. It may span several
        utterances (an instruction, a clarifying question, its answer). One that the dialog lacks is appended.
    starting_grid: None (empty), a dense grid, or a list of blocks (x, y, z, id); the attribute is a dense grid.
    full_grid: the final structure of the session, when this is one turn of several.
    invariant: whether the build may be rotated and shifted; None: only without starting blocks.
    task_id: a name for messages and reports.
    ids: the color ids of the grids: "iglu" (this project's), "iglu2022", or None for those of the environment.
    pose: where episodes begin (see `Pose`), unless `reset` gets another pose; None: at the origin. For a team one pose
        of all builders, or a dict with a pose for each: {"builder_0": …, "builder_1": …}.
    structure: name of the structure that the task is a part of, such as "c135"; "" if unknown.
    unbuilt: whether nobody built what the instruction asks for, so that the target is the start.

    Tasks are equal and hash by content; `structure` and `unbuilt` are labels. Raises `TaskError` for wrong grids,
    blocks, texts or options.
    """

    __slots__ = (
        "__weakref__",
        "_dialog",
        "_dialogue",
        "_hash",
        "_instruction",
        "_previous",
        "_session",
        "_turn",
        "full_grid",
        "ids",
        "invariant",
        "pose",
        "starting_grid",
        "structure",
        "target_grid",
        "task_id",
        "unbuilt",
    )
    objective: Any = None
    """What the game is about instead of the target (see `iglu_marl.game.objective`); None: the target."""
    full_grid: BlockGrid | None
    ids: str | None
    invariant: bool | None
    pose: Pose | TeamPose | None
    starting_grid: BlockGrid
    structure: str
    target_grid: BlockGrid
    task_id: str | None
    unbuilt: bool
    _dialog: str | None
    _dialogue: Dialogue | None
    _hash: int | None
    _instruction: str | None
    _previous: Dialogue | None
    _session: Subtasks | None
    _turn: int | None

    def __init__(
        self,
        dialog: str | Dialogue | Sequence[str | Utterance],
        target_grid: npt.ArrayLike,
        instruction: str | Dialogue | Sequence[str | Utterance] | None = None,
        starting_grid: npt.ArrayLike | None = None,
        full_grid: npt.ArrayLike | None = None,
        invariant: bool | None = None,
        *,
        task_id: str | None = None,
        ids: str | None = None,
        pose: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        structure: str = "",
        unbuilt: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "task_id", task_id)
        put(self, "structure", structure)
        put(self, "unbuilt", unbuilt)
        put(self, "target_grid", _checked_grid(target_grid, "target_grid", task_id))
        start = _checked_optional(starting_grid, "starting_grid", task_id)
        put(self, "starting_grid", _EMPTY_GRID if start is None else start)
        put(self, "full_grid", _checked_optional(full_grid, "full_grid", task_id))
        put(self, "invariant", _checked_flag(invariant, task_id))
        put(self, "ids", _checked_ids(ids, task_id))
        put(self, "pose", _checked_pose(pose, task_id))
        put(self, "_session", None)
        put(self, "_turn", None)
        put(self, "_hash", None)
        put(self, "_instruction", None)
        put(self, "_previous", None)
        if isinstance(dialog, str):
            put(self, "_dialog", fix_surrogates(dialog))
            put(self, "_dialogue", None)  # parsed when asked for
        else:
            dialogue = _checked_dialogue(dialog, "dialog", task_id)
            put(self, "_dialog", None)
            put(self, "_dialogue", dialogue)
        if instruction is not None:
            self._resolve_instruction(_checked_dialogue(instruction, "instruction", task_id), instruction)

    def _resolve_instruction(self, said: Dialogue, given: Any) -> None:
        """Find the instruction in the dialog, or append it. Keep the part before it."""
        put = object.__setattr__
        whole = self.dialogue
        start = _find_last(said, whole) if said else len(whole)
        before = whole[:start] if start is not None else self._without_last_lines(said)
        if before is None:
            before = whole
            put(self, "_dialog", f"{self._dialog}\n{said.text}" if self._dialog and whole else None)
            put(self, "_dialogue", whole + said)
        put(
            self,
            "_instruction",
            fix_surrogates(given.strip()) if isinstance(given, str) else _instruction_text(said),
        )
        put(self, "_previous", before)

    def _without_last_lines(self, said: Dialogue) -> Dialogue | None:
        """Return the dialogue without the instruction if that ends its last utterance, else None."""
        last = self.dialogue.last()
        if last is None or len(said) != 1 or last.role is not said[0].role:
            return None
        if not last.text.endswith("\n" + said[0].text):
            return None
        rest = last.text[: -len(said[0].text)]
        return self.dialogue[:-1] + Dialogue((Utterance(last.role, rest),))

    # -- texts

    @property
    def dialog(self) -> str:
        """The conversation as text, the current instruction included."""
        if self._dialog is None:
            object.__setattr__(self, "_dialog", self.dialogue.text)
        return cast(str, self._dialog)

    @property
    def dialogue(self) -> Dialogue:
        """The same conversation as a `Dialogue`."""
        if self._dialogue is None:
            object.__setattr__(self, "_dialogue", Dialogue.parse(self.dialog))
        return cast(Dialogue, self._dialogue)

    @property
    def instruction(self) -> str:
        """The current instruction: one utterance as bare text, several with their speakers; "" if none."""
        if self._instruction is None:
            last = self.dialogue.last(Role.ARCHITECT)
            object.__setattr__(self, "_instruction", "" if last is None else last.text)
        return cast(str, self._instruction)

    @property
    def previous_dialogue(self) -> Dialogue:
        """The conversation before the current instruction."""
        if self._previous is None:
            whole = self.dialogue
            last = whole.last(Role.ARCHITECT)
            start = None if last is None else _find_last(Dialogue((last,)), whole)
            object.__setattr__(self, "_previous", whole if start is None else whole[:start])
        return cast(Dialogue, self._previous)

    @property
    def previous_dialog(self) -> str:
        """The conversation before the current instruction, as text."""
        return self.previous_dialogue.text

    @property
    def chat(self) -> str:
        """The conversation under its older name (see `dialog`)."""
        return self.dialog

    @property
    def last_instruction(self) -> str:
        """The current instruction under its older name (see `instruction`)."""
        return self.instruction

    # -- worlds

    @property
    def start_grid(self) -> BlockGrid:
        """The same as `starting_grid`."""
        return self.starting_grid

    @property
    def is_invariant(self) -> bool:
        """Whether the build may be rotated and shifted: `invariant`, else only without starting blocks."""
        if self.invariant is not None:
            return self.invariant
        return not self.starting_grid.any()

    @property
    def is_complete_at_start(self) -> bool:
        """Whether the start equals the target."""
        return bool(np.array_equal(self.start_grid, self.target_grid))

    @property
    def target_size(self) -> int:
        """Number of blocks of the target."""
        return int(np.count_nonzero(self.target_grid))

    @property
    def next_task(self) -> Task | None:
        """The following turn of a progressive session, or None."""
        if self._session is None or self._turn is None or self._turn + 1 >= len(self._session):
            return None
        following = self._session.create_task(self._turn + 1)
        return following if self.ids is None else following.in_ids(self.ids)

    def in_ids(self, table: str) -> Task:
        """Return the same task with its grids in another id table ("iglu" or "iglu2022"), translated by color name.

        A task without `ids` is returned unchanged.
        """
        if table not in ID_TABLES:
            raise TaskError(f"id table {table!r} is unknown, expected 'iglu' or 'iglu2022'")
        if self.ids is None or self.ids == table:
            return self
        mapping = IGLU_ID_OF_IGLU2022 if table == "iglu" else IGLU2022_ID_OF_IGLU
        changes: dict[str, Any] = {
            "ids": table,
            "target_grid": mapping[self.target_grid],
            "starting_grid": mapping[self.starting_grid],
        }
        if self.full_grid is not None:
            changes["full_grid"] = mapping[self.full_grid]
        return self.replace(**changes)

    def replace(self, **changes: Any) -> Task:
        """Return the task with other constructor arguments, such as `task.replace(invariant=False)`."""
        if changes.keys() == {"pose"}:  # called for each episode: other fields are not checked again
            moved = object.__new__(type(self))
            moved.__setstate__(self.__getstate__() | {"pose": _checked_pose(changes["pose"], self.task_id)})
            return moved
        arguments: dict[str, Any] = {
            "dialog": self._dialog if self._dialog is not None else self._dialogue,
            "target_grid": self.target_grid,
            "starting_grid": self.starting_grid,
            "full_grid": self.full_grid,
            "invariant": self.invariant,
            "task_id": self.task_id,
            "ids": self.ids,
            "pose": self.pose,
            "structure": self.structure,
            "unbuilt": self.unbuilt,
        }
        try:
            task = type(self)(**{**arguments, **changes})
        except TypeError as error:
            raise TaskError(f"a task cannot be changed so: {error}") from None
        kept = ["_session", "_turn"]
        if "dialog" not in changes and "instruction" not in changes:
            kept += ["_instruction", "_previous"]
        for name in kept:
            object.__setattr__(task, name, getattr(self, name))
        return task

    # -- a value

    def _content(self) -> tuple[Any, ...]:
        grids = (self.target_grid, self.starting_grid, self.full_grid)
        return (
            self.dialog,
            self.instruction,
            self.invariant,
            self.task_id,
            self.ids,
            self.pose,
            *(None if grid is None else grid.tobytes() for grid in grids),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Task):
            return NotImplemented
        return self is other or self._content() == other._content()

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(self._content()))
        return cast(int, self._hash)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Task is frozen: cannot set {name!r}; use task.replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Task is frozen: cannot delete {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in Task.__slots__ if name not in ("__weakref__", "_hash")}
        return {**state, **getattr(self, "__dict__", {})}

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "_hash", None)
        for name, value in (("pose", None), ("structure", ""), ("unbuilt", False)):  # which older tasks lack
            object.__setattr__(self, name, value)
        if state["starting_grid"] is None:  # as in earlier versions
            state = {**state, "starting_grid": _EMPTY_GRID}
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    def __copy__(self) -> Task:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Task:
        return self

    def __repr__(self) -> str:
        name = "" if self.task_id is None else f"{self.task_id!r}, "
        start = np.count_nonzero(self.start_grid)
        changed = int(np.count_nonzero(self.start_grid != self.target_grid))
        words = self.instruction if len(self.instruction) <= 60 else self.instruction[:59] + "…"
        return f"Task({name}{self.target_size} blocks, {start} at the start, {changed} to change, {words!r})"


def is_task(value: Any) -> bool:
    """Return whether a value is a `Task`, or has a method `to_task()`, as tasks of other tools have."""
    return isinstance(value, Task) or callable(getattr(type(value), "to_task", None))


def as_task(value: Any) -> Task:
    """Return a `Task`, or the result of `to_task()`. Raises `TaskError` for other values."""
    if not is_task(value):
        raise TaskError(f"task is {value!r:.80}, expected an iglu_marl.Task")
    return value if isinstance(value, Task) else cast(Task, value.to_task())


class Subtasks(TaskSource):
    """A session of several turns, each with its utterances and the world after it.

    dialog: one entry per turn: text, a `Dialogue`, or a list of utterances. Default speaker: the architect.
    structure_seq: the world after each turn, dense or as blocks (x, y, z, id).
    starting_grid: the world before the first turn (None: empty).
    progressive: whether an episode continues with the next turn (`task.next_task`) when one is completed.
    invariant, ids: of the tasks.
    full_grid: of the tasks; by default the world after the last turn.
    structure: of the tasks: name of what is built; "" if unknown.

    `session[i]` is the task of turn i, `len(session)` the number of turns. Raises `TaskError` for a session
    without turns, of unequal lengths, or with wrong worlds.
    """

    def __init__(
        self,
        dialog: Sequence[Any],
        structure_seq: Sequence[Any],
        *,
        starting_grid: npt.ArrayLike | None = None,
        progressive: bool = False,
        invariant: bool | None = None,
        task_id: str | None = None,
        ids: str | None = None,
        full_grid: npt.ArrayLike | None = None,
        structure: str = "",
    ) -> None:
        if isinstance(dialog, (str, Dialogue)):
            raise TaskError(f"dialog is one text, expected a list of turns{of_task(task_id)}")
        if len(dialog) != len(structure_seq) or not len(dialog):
            raise TaskError(
                f"there are {len(dialog)} turns of dialog and {len(structure_seq)} structures, expected as many of one "
                f"as of the other, and at least one{of_task(task_id)}"
            )
        self.task_id = task_id
        self.structure = structure
        self.progressive = bool(progressive)
        self.invariant = _checked_flag(invariant, task_id)
        self.ids = _checked_ids(ids, task_id)
        self.turns = tuple(_checked_dialogue(turn, f"turn {i}", task_id) for i, turn in enumerate(dialog))
        self.structures = tuple(
            _checked_grid(world, f"structure_seq[{i}]", task_id) for i, world in enumerate(structure_seq)
        )
        self.starting_grid = _checked_optional(starting_grid, "starting_grid", task_id)
        final = _checked_optional(full_grid, "full_grid", task_id)
        self.full_grid = self.structures[-1] if final is None else final
        self._tasks: dict[tuple[int, int, bool], Task] = {}

    @property
    def dialogue(self) -> Dialogue:
        """The whole conversation."""
        return Dialogue(utterance for turn in self.turns for utterance in turn)

    def world_before(self, turn: int) -> BlockGrid | None:
        """Return the world that a turn starts from; None: empty, before the first turn."""
        return self.starting_grid if turn == 0 else self.structures[turn - 1]

    def create_task(self, turn: int, start: int | None = None) -> Task:
        """Return the task of a turn: from the world before it to the world after it, with the conversation so far.

        With `start`, the task of the turns start..turn together. Raises `IndexError` for a turn out of range.
        """
        last = range(len(self))[turn]
        first = last if start is None else range(len(self))[start]
        if first > last:
            raise IndexError(f"start turn {first} comes after turn {last}")
        key = (first, last, self.progressive)
        if key not in self._tasks:
            self._tasks[key] = self._make_task(first, last)
        return self._tasks[key]

    def _make_task(self, first: int, last: int) -> Task:
        before = [utterance for turn in self.turns[:first] for utterance in turn]
        now = [utterance for turn in self.turns[first : last + 1] for utterance in turn]
        spoken = [i for i, utterance in enumerate(now) if utterance.role is Role.ARCHITECT]
        task = Task(
            Dialogue(before + now),
            self.structures[last],
            starting_grid=self.world_before(first),
            full_grid=self.full_grid,
            invariant=self.invariant,
            task_id=self.task_id,
            ids=self.ids,
            structure=self.structure,
        )
        if spoken:  # the instruction to the last answer; not the builder's remarks around them
            asked = Dialogue(now[spoken[0] : spoken[-1] + 1])
            object.__setattr__(task, "_instruction", _instruction_text(asked))
            object.__setattr__(task, "_previous", Dialogue(before + now[: spoken[0]]))
        if self.progressive:
            object.__setattr__(task, "_session", self)
            object.__setattr__(task, "_turn", last)
        return task

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Return the task of a random turn, drawn from `rng` or from the session's own generator."""
        generator = self.rng if rng is None else rng
        return self.create_task(int(generator.integers(len(self))))

    def __len__(self) -> int:
        return len(self.structures)

    def __iter__(self) -> Iterator[Task]:
        return (self.create_task(turn) for turn in range(len(self)))

    @overload
    def __getitem__(self, turn: int) -> Task: ...
    @overload
    def __getitem__(self, turn: slice) -> list[Task]: ...
    def __getitem__(self, turn: int | slice) -> Task | list[Task]:
        if isinstance(turn, slice):
            return [self.create_task(i) for i in range(*turn.indices(len(self)))]
        return self.create_task(turn)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Subtasks):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[Any, ...]:
        start = None if self.starting_grid is None else self.starting_grid.tobytes()
        worlds = tuple(world.tobytes() for world in self.structures)
        options = (self.full_grid.tobytes(), self.progressive, self.invariant, self.ids, self.task_id)
        return (self.turns, worlds, start, *options)

    def __getstate__(self) -> dict[str, Any]:
        # Tasks are created again on demand: those of a progressive session refer to it.
        return {**self.__dict__, "_tasks": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        grids = [*self.structures, self.full_grid, self.starting_grid]
        for grid in grids:
            if grid is not None:
                grid.setflags(write=False)

    def __repr__(self) -> str:
        name = "" if self.task_id is None else f"{self.task_id!r}, "
        return f"Subtasks({name}{len(self)} turns, {np.count_nonzero(self.structures[-1])} blocks at the end)"
