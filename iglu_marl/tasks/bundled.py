"""The bundled tasks, and the default tasks of the environments."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from iglu_marl.core.errors import TaskError
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.core.task_source import GroupedSource, TaskSource
from iglu_marl.tasks.task_set import TaskSet, at_hand

Mode = Literal["turns", "structures"]


class SessionTasks(GroupedSource):
    """Sessions by structure: `source.tasks["bridge"][0]` is a `Subtasks`.

    Iteration yields each turn, or each whole structure (once, if without dialogue).

    Args:
        tasks: for each structure its sessions.
        mode: "turns": a random turn of a random session of a random structure, with the dialogue so far.
            "structures": the whole structure, from the session's start world.
        dialog: whether tasks of whole structures have the session's dialogue; turns always have it.
        progressive: whether the task of a turn links to the next one.

    Raises:
        TaskError: if there are no tasks, or the mode is unknown.

    """

    def __init__(
        self,
        tasks: Mapping[str, Sequence[Subtasks]],
        *,
        mode: Mode = "turns",
        dialog: bool = False,
        progressive: bool = False,
    ) -> None:
        if not isinstance(mode, str) or mode not in ("turns", "structures"):
            raise TaskError(f"mode is {mode!r}, expected 'turns' or 'structures'")
        if not tasks or not all(tasks.values()):
            raise TaskError(f"{type(self).__name__} needs at least one structure, and a session for each")
        self.mode = mode
        self.dialog = bool(dialog)
        self.tasks = {name: [copy.copy(session) for session in sessions] for name, sessions in tasks.items()}
        for name, sessions in self.tasks.items():
            for session in sessions:
                session.progressive = progressive
                session.structure = session.structure or name
        self._wholes: dict[int, Task] = {}

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a structure, one of its sessions, and a turn of it (or the whole)."""
        if self.mode == "turns":
            return super().sample(rng)
        return self._whole(*self.sample_entry(self.rng if rng is None else rng))

    def _whole(self, name: str, session: Subtasks) -> Task:
        if id(session) not in self._wholes:
            whole = session.create_task(len(session) - 1, start=0)
            self._wholes[id(session)] = whole if self.dialog else whole.replace(dialog="", task_id=name)
        return self._wholes[id(session)]

    def __iter__(self) -> Iterator[Task]:
        if self.mode == "turns":
            yield from super().__iter__()
            return
        for name, sessions in self.tasks.items():
            wholes = [self._whole(name, session) for session in sessions]
            yield from wholes if self.dialog else dict.fromkeys(wholes)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_wholes": {}}  # keyed by identity

    def __repr__(self) -> str:
        count = sum(len(sessions) for sessions in self.tasks.values())
        return f"{type(self).__name__}({len(self.tasks)} structures, {count} sessions, mode={self.mode!r})"


class BundledTasks(SessionTasks):
    """The bundled sessions (see `SessionTasks` for the options). They need no download."""

    def __init__(self, *, mode: Mode = "turns", dialog: bool = False, progressive: bool = False) -> None:
        from iglu_marl.data import bundled  # here, since reading is slow

        super().__init__(bundled.load(), mode=mode, dialog=dialog, progressive=progressive)


def whole_session_tasks() -> TaskSource:
    """Return `silent_builder_tasks`, but with whole bundled sessions and their dialogue."""
    return TaskSet(preset=["C8"]) if at_hand("C8") else BundledTasks(mode="structures", dialog=True)


def silent_builder_tasks() -> TaskSource:
    """Return the default tasks of `IGLUSilentBuilder-v0`.

    That is C8 of the Minecraft Dialogue Corpus if it is on the machine (see `TaskSet`), as in the original environment,
    or else the bundled tasks. Raises `DataError` for a damaged corpus.
    """
    return TaskSet(preset=["C8"]) if at_hand("C8") else BundledTasks()
