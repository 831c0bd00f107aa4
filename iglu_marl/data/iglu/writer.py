"""Writer of the IGLU multi-turn layout.

`write_sessions(folder, sessions)` writes dialogs.csv and builder-data/<session>/step-N, each world with an action log.
A session is a `Subtasks` or a `SessionRecord`. `EpisodeRecorder` makes a `SessionRecord` of an episode, with the
builder's movements in the action logs.

The layout cannot hold every dialogue. The returned `Report` lists what other readers see changed. Our own column
`ExactTurns` keeps such sessions unchanged for `iglu_marl.data.read_sessions`.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import new_folder
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, as_grid
from iglu_marl.core.task import Subtasks
from iglu_marl.data.iglu.action_log_writer import Pose, world_file
from iglu_marl.data.iglu.multiturn import EXACT, TABLE, WORLDS
from iglu_marl.data.report import Report, SkipReason
from iglu_marl.data.task_fields import block_fields, turn_fields

COLUMNS = (
    *("PartitionKey", "RowKey", "StepId", "structureId", "attemptId", "Role", "IsHITQualified", "WorkerId"),
    *("Timestamp", "instruction", "views", "IsBuiltStructureComplete", "InputInstruction", "InputViews"),
    *("InputScreenshotPath", "IsInstructionClear", "ClarifyingQuestion", "InputClarifyingQuestion"),
    *("IsClarifyingQuestionClear", "Answer4ClarifyingQuestion", "InputAnswer4ClarifyingQuestion"),
    "IsInstructionQAClear",
)
LONGEST_CELL = 100_000  # characters; CSV readers have a limit near this
_NAME = re.compile(r"(?!\.{1,2}$)[\w.-]{1,200}")  # a folder name on any file system
_STRUCTURE = re.compile(r"[\w.-]+")


class WriteNote(SkipReason, unit="turn"):
    """What other readers see changed in a session, because the layout cannot hold it."""

    NAME = "a name that is not a folder name or is used twice; it is replaced"
    START_WORLD = "a world before the first turn; the layout starts with an empty world"
    BUILDER_FIRST = (
        "a builder's utterance before the architect's; it is moved to the turn before, or behind it"
    )
    SILENT_TURN = "a turn without an architect's utterance; it is joined to the one before or to the next"
    EMPTY_WORLD = "a turn that ends with an empty world; readers merge it into the next one"
    CHARACTERS = "a '$' or a control character, which have another meaning in the table; they are replaced"
    NO_TURNS = "a session without a turn that can be written; it is left out"


@dataclass(frozen=True)
class SessionTurn:
    """One turn: its dialogue, the world after it, and (pose, world after) of each step of the builder if known."""

    dialogue: Dialogue
    grid: BlockGrid
    path: tuple[tuple[Pose, BlockGrid], ...] | None = None


@dataclass(frozen=True)
class SessionRecord:
    """A session to write: its name (such as "1-bridge"), the structure's name, its turns, and its start world."""

    name: str
    structure: str
    turns: tuple[SessionTurn, ...]
    start: BlockGrid | None = None

    @classmethod
    def of(cls, session: Subtasks, structure: str | None = None) -> SessionRecord:
        """Return the record of a session. The structure defaults to the second part of its name."""
        name = session.task_id or "session"
        turns = tuple(
            SessionTurn(said, grid) for said, grid in zip(session.turns, session.structures, strict=True)
        )
        return cls(name, structure or name.partition("-")[2] or name, turns, session.starting_grid)


class EpisodeRecorder:
    """Records an episode turn by turn: `play(env, agents, on_step=recorder)`, then `recorder.session(...)`.

    A turn ends when the architect speaks again after the builder changed the world. Utterances after the last change
    belong to no turn, as in the layout, unless they are the architect's first.
    """

    def __init__(self) -> None:
        self._forget(None)

    def _forget(self, episode: Any) -> None:
        self._episode = episode
        self._turns: list[SessionTurn] = []
        self._heard = 0
        self._words: list[Utterance] = []
        self._path: list[tuple[Pose, BlockGrid]] = []
        self._start: BlockGrid = _frozen(np.zeros(ZONE_SHAPE) if episode is None else episode.worlds.grid[0])
        self._world = self._start
        self._steps = -1

    def __call__(self, env: Any) -> None:
        """Record the state of an environment of this package, after each reset and step."""
        episode = env.unwrapped.episode
        steps = int(episode.worlds.steps[0])
        if episode is not self._episode or steps < self._steps or len(episode.dialogue) < self._heard:
            self._forget(episode)
        acted = steps > self._steps >= 0
        grid = self._path[-1][1] if self._path else self._world
        if acted:
            if not np.array_equal(grid, episode.worlds.grid[0]):
                grid = _frozen(episode.worlds.grid[0])
            x, y, z, yaw, pitch = episode.worlds.pose[0].tolist()
            self._path.append(((x, y, z, yaw, pitch), grid))
        self._steps = steps
        for utterance in episode.dialogue[self._heard :]:
            spoke = any(said.role is utterance.role is Role.ARCHITECT for said in self._words)
            if spoke and not np.array_equal(grid, self._world):
                self._close(grid)
            self._words.append(utterance)
        self._heard = len(episode.dialogue)

    def _close(self, grid: BlockGrid) -> None:
        self._turns.append(SessionTurn(Dialogue(self._words), grid, tuple(self._path)))
        self._words, self._path, self._world = [], [], grid

    def session(self, name: str, structure: str | None = None) -> SessionRecord:
        """Return the episode so far, under a name such as "1-bridge".

        Raises `DataError` if nothing was built, or the world was edited from outside.
        """
        if self._episode is not None and self._episode.worlds.edits.any():
            raise DataError(
                f"the world of the episode {name!r} was edited from outside, expected changes by the builder alone"
            )
        turns = list(self._turns)
        grid = self._path[-1][1] if self._path else self._world
        if not np.array_equal(grid, self._world):
            turns.append(SessionTurn(Dialogue(self._words), grid, tuple(self._path)))
        if not turns:
            raise DataError(f"nothing was built in the episode {name!r}, so there is no turn to record")
        start = self._start if self._start.any() else None
        return SessionRecord(name, structure or name.partition("-")[2] or name, tuple(turns), start)


def _frozen(grid: Any) -> BlockGrid:
    copied = np.array(grid, np.int8)
    copied.setflags(write=False)
    return copied


def _fit_layout(
    record: SessionRecord, report: Report[WriteNote]
) -> tuple[list[SessionTurn], list[list[SessionTurn]]]:
    """Return turns that each start with the architect, and for each of them the original turns."""
    turns: list[SessionTurn] = []
    parts: list[list[SessionTurn]] = [[]]
    early: list[Utterance] = []  # before the first turn
    early_path: tuple[tuple[Pose, BlockGrid], ...] = ()
    for number, turn in enumerate(record.turns):
        plain = [_plain(utterance, record.name, number, report) for utterance in turn.dialogue]
        said = [utterance for utterance in plain if utterance.text]
        first = next((i for i, u in enumerate(said) if u.role is Role.ARCHITECT), None)
        if first is not None and turns:
            parts.append([])
        parts[-1].append(turn)
        if first is None:
            report.skip(WriteNote.SILENT_TURN, record.name, number)
            if turns:
                turns[-1] = _joined(turns[-1], said, turn)
            else:
                early += said
                early_path += turn.path or ()
            continue
        if first:
            report.skip(WriteNote.BUILDER_FIRST, record.name, number)
            if turns:
                turns[-1] = replace(turns[-1], dialogue=Dialogue([*turns[-1].dialogue, *said[:first]]))
            else:
                early += said[:first]
        words = [said[first], *early, *said[first + 1 :]]
        path = None if turn.path is None else early_path + turn.path
        turns.append(SessionTurn(Dialogue(words), as_grid(turn.grid), path))
        early, early_path = [], ()
        if not turn.grid.any():
            report.skip(WriteNote.EMPTY_WORLD, record.name, number)
    return turns, parts


def _joined(turn: SessionTurn, said: list[Utterance], after: SessionTurn) -> SessionTurn:
    path = None if turn.path is None or after.path is None else turn.path + after.path
    return SessionTurn(Dialogue([*turn.dialogue, *said]), as_grid(after.grid), path)


def _plain(utterance: Utterance, session: str, turn: int, report: Report[WriteNote]) -> Utterance:
    """Replace the characters that have another meaning in the table."""
    text = utterance.text.replace("$", "＄")  # full-width
    text = "".join(c if c == "\n" or (c.isprintable() or c == "\t") else " " for c in text).strip()
    if text != utterance.text:
        report.skip(WriteNote.CHARACTERS, session, turn)
    return Utterance(utterance.role, text)


def _names(records: Sequence[SessionRecord], report: Report[WriteNote]) -> list[tuple[str, str]]:
    """Return a unique name of the layout, and a structure, for each session."""
    taken = {record.name for record in records if _NAME.fullmatch(record.name)}
    used: set[str] = set()
    names = []
    for record in records:
        structure = "-".join(_STRUCTURE.findall(record.structure)) or "structure"
        name = record.name
        if not _NAME.fullmatch(name) or name in used:
            attempt = 1
            while f"{attempt}-{structure}" in used or f"{attempt}-{structure}" in taken:
                attempt += 1
            name = f"{attempt}-{structure}"
            report.skip(WriteNote.NAME, record.name)
        elif structure != record.structure:
            report.skip(WriteNote.NAME, record.name)
        used.add(name)
        names.append((name, structure))
    return names


def _cell(text: str) -> str:
    """Write `$` for line breaks, unless there are empty lines, which `$` cannot represent."""
    return text if re.search(r"\n\s*\n", text) else text.replace("\n", "$")


def _rows(name: str, structure: str, turns: Sequence[SessionTurn]) -> tuple[list[dict[str, str]], list[int]]:
    """Return the rows of a session, and the step of each turn's world. Odd steps are the architect's."""
    rows: list[dict[str, str]] = []
    steps: list[int] = []
    step = 0

    def add(odd: bool, role: str, **cells: str) -> None:
        nonlocal step
        step += 1
        step += (step % 2 == 1) is not odd
        row = dict.fromkeys(COLUMNS, "")
        row |= {
            "PartitionKey": name,
            "RowKey": f"{name}-{step}",
            "StepId": str(step),
            "structureId": structure,
        }
        attempt = name.partition("-")[0]
        row["attemptId"] = attempt if attempt.isdecimal() else ""
        row |= {"Role": role, "IsHITQualified": "True", **cells}
        rows.append(row)

    for number, turn in enumerate(turns):
        first, *rest = turn.dialogue
        add(True, "architect-normal", instruction=_cell(first.text))
        asked = ""
        for utterance in rest:
            text = _cell(utterance.text)
            if utterance.role is Role.BUILDER:
                add(False, "builder-cq", IsInstructionClear="No", ClarifyingQuestion=text)
                asked = text
            else:
                add(True, "architect-cq", InputClarifyingQuestion=asked, Answer4ClarifyingQuestion=text)
        complete = "Yes" if number == len(turns) - 1 else "No"
        add(False, "builder-normal", IsInstructionClear="Yes", IsBuiltStructureComplete=complete)
        steps.append(step)
    return rows, steps


def _add_exact_turns(
    rows: list[dict[str, str]], record: SessionRecord, parts: Sequence[Sequence[SessionTurn]]
) -> None:
    """Fill the column `EXACT` with the original turns, unless the cells get too long for readers."""
    exact: list[dict[str, Any]] = [
        {"turns": [turn_fields(turn.dialogue, turn.grid) for turn in part]} for part in parts
    ]
    if record.start is not None:
        exact[0]["start"] = block_fields(record.start)
    cells = [json.dumps(part, separators=(",", ":")) for part in exact]
    if max(map(len, cells)) <= LONGEST_CELL:
        ends = [row for row in rows if row["Role"] == "builder-normal"]
        for row, cell in zip(ends, cells, strict=True):
            row[EXACT] = cell


def _table(rows: Iterable[Mapping[str, str]]) -> str:
    text = io.StringIO(newline="")
    listed = list(rows)
    columns = [*COLUMNS, EXACT] if any(row.get(EXACT) for row in listed) else COLUMNS
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


def write_sessions(
    path: str | os.PathLike[str],
    sessions: Iterable[Subtasks | SessionRecord] | Mapping[str, Iterable[Subtasks]],
    *,
    overwrite: bool = False,
) -> Report[WriteNote]:
    """Write sessions as a folder in the multi-turn layout. The folder is created atomically.

    Args:
        path: a folder that does not exist or is empty.
        sessions: `Subtasks` and `SessionRecord` objects, or a mapping from structures to sessions (`dataset.tasks`).
        overwrite: whether a folder in the layout may be replaced.

    Returns:
        What other readers see changed.

    Raises:
        DataError: if the folder is in use, or there is nothing to write.

    """
    report = Report[WriteNote]()
    records = _records(sessions)
    names = _names(records, report)
    rows: list[dict[str, str]] = []
    with new_folder(path, overwrite=overwrite, marker=TABLE) as folder:
        (folder / WORLDS).mkdir()
        for record, (name, structure) in zip(records, names, strict=True):
            rows += _write_session(folder / WORLDS / name, record, name, structure, report)
        if not report.sessions:
            raise DataError(f"there is no session with a turn to write to {path}, expected at least one")
        (folder / TABLE).write_text(_table(rows), encoding="utf-8", newline="")
    return report


def _records(sessions: Any) -> list[SessionRecord]:
    if isinstance(sessions, Mapping):
        pairs = [(session, structure) for structure, listed in sessions.items() for session in listed]
    else:
        pairs = [(session, None) for session in sessions]
    records = []
    for session, structure in pairs:
        if isinstance(session, Subtasks):
            session = SessionRecord.of(session, structure)
        if not isinstance(session, SessionRecord):
            raise DataError(f"a session to write is {session!r:.80}, expected a Subtasks or a SessionRecord")
        records.append(session)
    return records


def _write_session(
    folder: Path, record: SessionRecord, name: str, structure: str, report: Report[WriteNote]
) -> list[dict[str, str]]:
    notes = len(report.skipped)
    turns, parts = _fit_layout(record, report)
    if not turns:
        report.skip(WriteNote.NO_TURNS, record.name)
        return []
    start = np.zeros(ZONE_SHAPE, np.int8) if record.start is None else record.start
    if start.any():
        report.skip(WriteNote.START_WORLD, record.name)
    rows, steps = _rows(name, structure, turns)
    if len(report.skipped) > notes or any(
        [turn.dialogue] != [own.dialogue for own in part] for turn, part in zip(turns, parts, strict=True)
    ):
        _add_exact_turns(rows, record, parts)
    folder.mkdir()
    for turn, step in zip(turns, steps, strict=True):
        content = json.dumps(world_file(start, turn.grid, turn.path), separators=(",", ":"))
        (folder / f"step-{step}").write_text(content, encoding="utf-8")
        start = turn.grid
    report.sessions += 1
    report.turns += len(turns)
    return rows
