"""The IGLU multi-turn data as a dataset: sessions in which an architect and a builder talk and build.

The layout and the rules are those of `iglu_marl.data.iglu.multiturn`. The worlds are read once and cached; the table
of utterances is small and read every time.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import IGLU2022_ID_OF_IGLU, Block, grid_to_blocks
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.core.text import natural_key
from iglu_marl.data.dataset import Dataset, Record, changes, checked_ids, checked_version, task_options
from iglu_marl.data.iglu.multiturn import TABLE, WORLDS, MultiturnSkip, group_sessions, read_rows
from iglu_marl.data.iglu.tables import TABLE_LIMIT
from iglu_marl.data.iglu.world_files import VERSION as WORLDS_VERSION
from iglu_marl.data.iglu.world_files import RecordedWorlds, read_recorded
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import Arrays, cached
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.report import Report, Skipped

PACK = "iglu-multiturn"
VERSION = f"2-{WORLDS_VERSION}"  # of what is kept of a pack

_SESSION = re.compile(r"[0-9]{1,18}-[A-Za-z].*")  # attempt and structure
_STEP = re.compile(r"step-([0-9]{1,18})")


class StepWorlds(Mapping[int, "list[Block]"]):
    """The worlds of one session by step, as `read_session` takes them. A damaged one raises `DataError`."""

    def __init__(self, worlds: RecordedWorlds, files: Mapping[int, str]) -> None:
        self.files = dict(files)
        self._worlds = worlds

    def __getitem__(self, step: int) -> list[Block]:
        name = self.files[step]
        if name in self._worlds.damaged:
            raise DataError(self._worlds.damaged[name])
        return grid_to_blocks(self._worlds[name])

    def __iter__(self) -> Iterator[int]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


class SessionWorlds(RecordedWorlds):
    """The recorded worlds of a multi-turn pack: by file, and by session and step.

    `worlds["builder-data/23-c135/step-2"]` is a grid, int8 [9, 11, 11]; `worlds.sessions["23-c135"]` maps each
    step to its file. irregular_folders, irregular_files: what is no session `<attempt>-<structure>`, or no
    `step-<N>` of one; their worlds can be read all the same. folders: as `sessions`, of all folders.
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
        self.irregular_folders = [name for name in self.folders if not _SESSION.fullmatch(name)]

    def steps(self, session: str) -> StepWorlds:
        """The worlds of a session by step. Raises `DataError` for a session that is not here."""
        if session not in self.folders:
            raise DataError(
                f"there is no session {session!r} here, expected one of {list(self.folders)[:5]}..."
            )
        return StepWorlds(self, self.folders[session])

    def missing_steps(self) -> dict[str, list[int]]:
        """For each session that lacks some, the even steps between 2 and its last one that have no world."""
        gaps = {
            name: [step for step in range(2, max(steps), 2) if step not in steps]
            for name, steps in self.sessions.items()
        }
        return {name: steps for name, steps in gaps.items() if steps}


def read_worlds(pack: Pack, *, progress: bool | None = None) -> Arrays:
    """All worlds of a pack, from the cache where possible."""
    return cached(pack, "iglu-multiturn", VERSION, lambda: _build(pack, progress))


def _build(pack: Pack, progress: bool | None) -> dict[str, Any]:
    files = [name for name in pack.names() if name.startswith(f"{WORLDS}/")]
    worlds = [name for name in files if not name.rpartition("/")[2].startswith(".")]
    return read_recorded(pack, worlds, "reading IGLU multi-turn", progress=progress)


def _no_table(pack: Pack) -> DataError:
    info = PACKS[PACK]
    return DataError(
        f"{pack.location} has recorded worlds but no {TABLE}: the utterances are missing{pack.links}\n"
        f"  get   {info.url} (it holds both; {info.size:,} bytes)\n"
        f"        or put the table beside {WORLDS}/\n"
        f"  or    pass dialogs=False for the sessions without their words, or use the `.worlds` of that"
    )


class MultiturnDataset(Dataset):
    """Sessions of the game as a source of tasks: `dataset.tasks["c73"][0]` is a `Subtasks`.

    dataset_version: the label of a release; there is one, and older labels are taken for it.
    task_kwargs: options for the tasks: `invariant`, `progressive`.
    path: a zip or folder (see `find_pack`, also for `follow_links`); by default what `IGLU_DATA_PATH` leads to, else
        it is fetched.
    dialogs: whether the utterances are needed. False: sessions are made of the recorded worlds alone, with
        nothing said, even where there is a table; steps are taken in their order, those with an empty world are
        merged into the next one.
    progressive: whether the task of a turn knows the next one (`task.next_task`), for live replay.
    ids: the colour ids of the grids, "iglu" (default) or "iglu2022". progress: whether to show a bar.

    `worlds` are all recorded worlds, `by_id("23-c135")` is a session, `report()` says what was left out.
    Raises `DataError` when there are no data, when the table is missing, or when no session is left.
    """

    groups = ("structure", "session")
    steps: dict[str, list[int]]
    """Of each session the steps whose worlds its turns end with."""

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        dialogs: bool = True,
        progressive: bool = False,
        ids: str = "iglu",
        fetch: bool = True,
        follow_links: bool = False,
        progress: bool | None = None,
    ) -> None:
        self.dataset_version = checked_version(dataset_version)
        self.color_ids = checked_ids(ids)
        options = {"progressive": progressive, **task_options(task_kwargs, ("invariant", "progressive"))}
        with find_pack(PACK, path, fetch, follow_links=follow_links, progress=progress) as pack:
            self.location = pack.location
            if dialogs and not pack.has(TABLE):
                raise _no_table(pack)
            table = pack.read(TABLE, TABLE_LIMIT) if dialogs else b""
            self._report = Report(files=[*pack.left_out])
            arrays = read_worlds(pack, progress=progress)
        self.worlds = SessionWorlds(arrays)
        for name, why in self.worlds.damaged.items():
            self._report.files.append(Skipped(MultiturnSkip.DAMAGED_FILE, name, None, why))
        self.steps = {}
        self._told: set[str] = set()  # the sessions of the table
        if dialogs:
            self.tasks = self._spoken(table, options)
        else:
            self.tasks = self._silent(options)
        for name in self.worlds.irregular_files:
            folder = name.removeprefix(f"{WORLDS}/").rpartition("/")[0]
            if folder not in self._told or not _STEP.fullmatch(name.rpartition("/")[2]):
                self._report.skip(MultiturnSkip.IRREGULAR, folder, detail=name)
        if not self.tasks:
            raise DataError(
                f"no session can be made of {self.location}: {self._report}{self._report.example}"
            )
        if ids == "iglu2022":
            self.tasks = {name: [_in_2022_ids(own) for own in found] for name, found in self.tasks.items()}

    def _spoken(self, table: bytes, options: dict[str, Any]) -> dict[str, list[Subtasks]]:
        """The sessions of the table."""
        rows = read_rows(table, self._report, place=f"{self.location}: {TABLE}")
        self._told = {row.session for row in rows}
        for name in self.worlds.sessions:
            if name not in self._told:
                self._report.skip(MultiturnSkip.NO_ROWS, name)
        worlds = {name: self.worlds.steps(name) for name in self.worlds.folders}
        return group_sessions(rows, worlds, self._report, steps=self.steps, **options)

    def _silent(self, options: dict[str, Any]) -> dict[str, list[Subtasks]]:
        """The sessions that the worlds alone make, in the order of structure and attempt."""
        found: dict[str, list[Subtasks]] = {}
        for name in sorted(self.worlds.sessions, key=_natural):
            built = self._built(name)
            if not built:
                self._report.skip(MultiturnSkip.EMPTY_SESSION, name)
                continue
            self.steps[name] = list(built)
            session = Subtasks([""] * len(built), list(built.values()), task_id=name, ids="iglu", **options)
            self._report.sessions += 1
            self._report.turns += len(session)
            found.setdefault(name.partition("-")[2], []).append(session)
        return found

    def _built(self, session: str) -> dict[int, list[Block]]:
        """The worlds of a session that show something, by step, up to the first damaged one."""
        steps, built = self.worlds.steps(session), {}
        for step in steps:
            try:
                blocks = steps[step]
            except DataError as error:
                self._report.skip(MultiturnSkip.BAD_WORLD, session, step, str(error))
                break
            if blocks:
                built[step] = blocks
            else:
                self._report.skip(MultiturnSkip.EMPTY_WORLD, session, step)
        return built

    def file_of(self, session: str, turn: int) -> str:
        """The file of the world that a turn of a session ends with, a key of `worlds`."""
        return self.worlds.folders[session][self.steps[session][turn]]

    def tasks_by_file(self) -> dict[str, Task]:
        """The task of each turn by the file of the world that it ends with, whose tape tells how it was done."""
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


IGLUDataset = MultiturnDataset  # under all of its versions, this name had the multi-turn data


def _clear(session: Subtasks, turn: int) -> bool | None:
    """Whether the builder asked nothing in a turn; None where no words are known."""
    said = session.turns[turn]
    return not any(utterance.role is Role.BUILDER for utterance in said) if said else None


def _natural(session: str) -> tuple[list[tuple[int, str]], int]:
    """Sorts "9-c18" before "23-c18", and "c18" before "c116"."""
    attempt, _, structure = session.partition("-")
    return natural_key(structure), int(attempt)


def _in_2022_ids(session: Subtasks) -> Subtasks:
    """The same session with its grids in the ids of the 2022 tools."""
    other = copy.copy(session)
    return Subtasks(
        other.turns,
        [IGLU2022_ID_OF_IGLU[world] for world in other.structures],
        progressive=other.progressive,
        invariant=other.invariant,
        task_id=other.task_id,
        ids="iglu2022",
    )
