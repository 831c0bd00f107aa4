"""The IGLU multi-turn data as a dataset of sessions (see `iglu_marl.data.iglu.multiturn` for layout and rules).

The parsed worlds are cached. The table of utterances is small and parsed each time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import IGLU2022_ID_OF_IGLU, IGLU_ID_OF_IGLU2022, BlockGrid
from iglu_marl.core.task import ID_TABLES, Subtasks, Task
from iglu_marl.core.text import natural_key
from iglu_marl.data.dataset import Dataset, Record, changes, check_task_options, check_version
from iglu_marl.data.iglu.multiturn import (
    TABLE,
    WORLDS,
    MultiturnSkip,
    group_sessions,
    read_rows,
    read_session,
    structure_of,
)
from iglu_marl.data.iglu.tables import TABLE_LIMIT
from iglu_marl.data.iglu.world_files import VERSION as WORLDS_VERSION
from iglu_marl.data.iglu.world_files import RecordedWorlds, read_recorded
from iglu_marl.data.packs.archive import Pack, open_pack
from iglu_marl.data.packs.cache import Arrays, cached
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.report import Report, Skipped

PACK = "iglu-multiturn"
VERSION = f"2-{WORLDS_VERSION}"  # of the cache entry

_SESSION = re.compile(r"[0-9]{1,18}-[A-Za-z].*")  # attempt and structure
_STEP = re.compile(r"step-([0-9]{1,18})")


class SessionWorlds(RecordedWorlds):
    """Recorded worlds of a multi-turn pack: `worlds["builder-data/23-c135/step-2"]` is a grid, int8 [9, 11, 11].

    Attributes:
        sessions: for each session `<attempt>-<structure>` a mapping from steps to files.
        folders: the same for all folders.
        irregular_files: files in other folders, and files that are not called `step-<N>`.

    """

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.folders: dict[str, dict[int, str]] = {}
        self.irregular_files: list[str] = []
        for name in sorted({*self, *self.damaged}):
            folder, _, file = name.removeprefix(f"{WORLDS}/").rpartition("/")
            steps, step = self.folders.setdefault(folder, {}), _STEP.fullmatch(file)
            if step:
                steps[int(step.group(1))] = name
            if not step or not _SESSION.fullmatch(folder):
                self.irregular_files.append(name)
        self.folders = {name: dict(sorted(steps.items())) for name, steps in self.folders.items()}
        self.sessions = {
            name: steps for name, steps in self.folders.items() if steps and _SESSION.fullmatch(name)
        }

    def steps(self, session: str) -> dict[int, BlockGrid | DataError]:
        """Return the worlds of a session by step; a damaged world is its error. Raises `DataError` if unknown."""
        if session not in self.folders:
            raise DataError(
                f"there is no session {session!r} here, expected one of {list(self.folders)[:5]}..."
            )
        return {
            step: DataError(self.damaged[name]) if name in self.damaged else self[name]
            for step, name in self.folders[session].items()
        }

    def by_session(self) -> dict[str, dict[int, BlockGrid | DataError]]:
        """Return the worlds of each folder by step."""
        return {name: self.steps(name) for name in self.folders}


def _build(pack: Pack, progress: bool | None) -> dict[str, Any]:
    files = [name for name in pack.names() if name.startswith(f"{WORLDS}/")]
    worlds = [name for name in files if not name.rpartition("/")[2].startswith(".")]
    return read_recorded(pack, worlds, "reading IGLU multi-turn", progress=progress)


def read_sessions(
    root: str | os.PathLike[str], report: Report[MultiturnSkip] | None = None
) -> dict[str, list[Subtasks]]:
    """Read all sessions in the multi-turn layout, by structure, in the order of the table. Nothing is cached.

    Args:
        root: a folder or zip with dialogs.csv and builder-data/.
        report: counts what is skipped.

    Raises:
        DataError: if the table or the worlds are missing, or the table is damaged.

    """
    report = Report() if report is None else report
    with open_pack(root) as pack:
        worlds = SessionWorlds(_build(pack, progress=False))
        if not pack.has(TABLE) or not worlds.folders:
            raise DataError(
                f"{pack.location} is not in the multi-turn layout: expected {TABLE} and {WORLDS}/ in it"
            )
        table = pack.read(TABLE, TABLE_LIMIT)
    rows = read_rows(table, report, f"{pack.location}: {TABLE}")
    return group_sessions(rows, worlds.by_session(), report)


def _no_table(pack: Pack) -> DataError:
    info = PACKS[PACK]
    return DataError(
        f"{pack.location} has recorded worlds but no {TABLE}: the utterances are missing{pack.links}\n"
        f"  get   {info.url} (it holds both; {info.size:,} bytes)\n"
        f"        or put the table beside {WORLDS}/\n"
        f"  or    pass dialogs=False for sessions without utterances, or use its `.worlds`"
    )


class MultiturnDataset(Dataset):
    """IGLU multi-turn sessions as a task source: `dataset.tasks["c73"][0]` is a `Subtasks`.

    `worlds` are all recorded worlds, `by_id("23-c135")` is a session, `report()` counts what was skipped.

    Args:
        dataset_version: label of a release; there is one release, and any label stands for it.
        task_kwargs: options for the tasks: `invariant`, and `progressive`: whether the task of a turn links to the
            next one (`task.next_task`), for live replay.
        path: a zip or folder (see `find_pack`); by default `IGLU_DATA_PATH`, else the pack is fetched.
        dialogs: False: make the sessions of the recorded worlds alone, in the order of steps and without
            utterances. A step with an empty world is merged into the next one.
        ids: color ids of the grids, "iglu" or "iglu2022".
        fetch: whether the pack may be downloaded.
        progress: whether to show a progress bar.

    Raises:
        DataError: if there are no data, the table is missing, or no session is left.

    """

    steps: dict[str, list[int]]
    """For each session the steps of the final worlds of its turns."""

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        dialogs: bool = True,
        ids: str = "iglu",
        fetch: bool = True,
        progress: bool | None = None,
    ) -> None:
        self.dataset_version = check_version(dataset_version)
        check_option("ids", ids, ID_TABLES)
        options = check_task_options(task_kwargs, ("invariant", "progressive"))
        with find_pack(PACK, path, fetch, progress=progress) as pack:
            self.location = pack.location
            if dialogs and not pack.has(TABLE):
                raise _no_table(pack)
            table = pack.read(TABLE, TABLE_LIMIT) if dialogs else b""
            self._report = Report(files=[*pack.left_out])
            arrays = cached(pack, "iglu-multiturn", VERSION, lambda: _build(pack, progress))
        self.worlds = SessionWorlds(arrays)
        for name, reason in self.worlds.damaged.items():
            self._report.files.append(Skipped(MultiturnSkip.DAMAGED_FILE, name, None, reason))
        self.steps = {}
        listed: set[str] = set()  # sessions of the table
        if dialogs:
            rows = read_rows(table, self._report, f"{self.location}: {TABLE}")
            listed = {row.session for row in rows}
            for name in self.worlds.sessions:
                if name not in listed:
                    self._report.skip(MultiturnSkip.NO_ROWS, name)
            self.tasks = group_sessions(rows, self.worlds.by_session(), self._report, self.steps, **options)
        else:
            self.tasks = self._read_worlds_only(options)
        for name in self.worlds.irregular_files:
            folder, _, file = name.removeprefix(f"{WORLDS}/").rpartition("/")
            if folder not in listed or not _STEP.fullmatch(file):
                self._report.skip(MultiturnSkip.IRREGULAR, folder, detail=name)
        if not self.tasks:
            raise DataError(f"{self.location} has no usable session: {self._report}{self._report.example}")
        if ids == "iglu2022":
            self.tasks = {
                name: [in_ids(session, ids) for session in sessions] for name, sessions in self.tasks.items()
            }

    def _read_worlds_only(self, options: dict[str, Any]) -> dict[str, list[Subtasks]]:
        """Return the sessions in the order of structure and attempt."""
        sessions: dict[str, list[Subtasks]] = {}

        def order(name: str) -> list[Any]:  # c18 before c116, and of c18 the attempt 9 before 23
            attempt, _, structure = name.partition("-")
            return [natural_key(structure), int(attempt)]

        for name in sorted(self.worlds.sessions, key=order):
            worlds = self.worlds.steps(name)
            session = read_session(name, None, worlds, self._report, self.steps, **options)
            if session is not None:
                sessions.setdefault(structure_of(name), []).append(session)
        return sessions

    def file_of(self, session: str, turn: int) -> str:
        """Return the file of a turn's final world, a key of `worlds`."""
        return self.worlds.folders[session][self.steps[session][turn]]

    def tasks_by_file(self) -> dict[str, Task]:
        """Return the task of each turn by the file of its final world, which has the builder's action log."""
        return {
            self.file_of(str(session.task_id), turn): task
            for session in self.entries()
            for turn, task in enumerate(session)
        }

    def _records(self, name: str, entry: Subtasks) -> list[Record]:
        return [
            {
                "session": entry.task_id,
                "structure": name,
                "turn": number,
                "clear": _clear(entry, number),
                "instruction": task.instruction,
                "dialog": task.dialog,
                **changes(task.start_grid, task.target_grid),
            }
            for number, task in enumerate(entry)
        ]


IGLUDataset = MultiturnDataset  # the name of the IGLU tools


def _clear(session: Subtasks, turn: int) -> bool | None:
    """Whether the builder asked nothing in a turn; None if the turn has no utterances."""
    dialogue = session.turns[turn]
    return not any(utterance.role is Role.BUILDER for utterance in dialogue) if dialogue else None


def in_ids(session: Subtasks, ids: str) -> Subtasks:
    """Return a session with its grids in these color ids, "iglu" or "iglu2022"."""
    if (session.ids or "iglu") == ids:
        return session
    table = IGLU2022_ID_OF_IGLU if ids == "iglu2022" else IGLU_ID_OF_IGLU2022
    start = session.starting_grid
    return Subtasks(
        session.turns,
        [table[world] for world in session.structures],
        starting_grid=None if start is None else table[start],
        full_grid=table[session.full_grid],
        progressive=session.progressive,
        invariant=session.invariant,
        task_id=session.task_id,
        ids=ids,
        structure=session.structure,
    )
