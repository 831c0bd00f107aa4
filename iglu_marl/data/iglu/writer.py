"""Writer of the IGLU multi-turn layout.

`write_sessions(folder, sessions)` writes dialogs.csv and builder-data/<session>/step-N, each world with an action log.
A session is a `Subtasks` or a `SessionRecord`. `EpisodeRecorder` makes a `SessionRecord` of an episode, with the
builder's movements in the action logs.

The layout cannot hold every dialogue. The returned `Report` lists what other readers see changed. Our own column
`ExactTurns` keeps such sessions unchanged for `iglu_marl.data.read_sessions`.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.files import new_folder
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, as_grid
from iglu_marl.core.task import Subtasks
from iglu_marl.data.iglu.action_log_writer import BuilderPath, Pose, world_file
from iglu_marl.data.iglu.multiturn import ANSWER, EXACT, QUESTION, TABLE, WORLDS, structure_of
from iglu_marl.data.report import Report, SkipReason
from iglu_marl.data.task_fields import block_fields, turn_fields

COLUMNS = (
    "PartitionKey RowKey StepId structureId attemptId Role IsHITQualified WorkerId Timestamp instruction views "
    "IsBuiltStructureComplete InputInstruction InputViews InputScreenshotPath IsInstructionClear "
    f"{QUESTION} InputClarifyingQuestion IsClarifyingQuestionClear {ANSWER} InputAnswer4ClarifyingQuestion "
    "IsInstructionQAClear"
).split()
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
    path: BuilderPath | None = None


@dataclass(frozen=True)
class SessionRecord:
    """A session to write: its name (such as "1-bridge"), the structure's name, its turns, and its start world."""

    name: str
    structure: str
    turns: tuple[SessionTurn, ...]
    start: BlockGrid | None = None


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
        self._turn_start = self._world = self._start  # before the open turn; now
        self._steps = -1

    def __call__(self, env: Any) -> None:
        """Record the state of an environment of this package, after each reset and step."""
        episode = env.unwrapped.episode
        steps = int(episode.worlds.steps[0])
        if episode is not self._episode or steps < self._steps or len(episode.dialogue) < self._heard:
            self._forget(episode)
        if steps > self._steps >= 0:
            if not np.array_equal(self._world, episode.worlds.grid[0]):
                self._world = _frozen(episode.worlds.grid[0])
            x, y, z, yaw, pitch = episode.worlds.pose[0].tolist()
            self._path.append(((x, y, z, yaw, pitch), self._world))
        self._steps = steps
        for utterance in episode.dialogue[self._heard :]:
            spoke = any(earlier.role is utterance.role is Role.ARCHITECT for earlier in self._words)
            if spoke and self._built:
                self._turns.append(self._open_turn())
                self._words, self._path, self._turn_start = [], [], self._world
            self._words.append(utterance)
        self._heard = len(episode.dialogue)

    @property
    def _built(self) -> bool:
        return not np.array_equal(self._turn_start, self._world)

    def _open_turn(self) -> SessionTurn:
        return SessionTurn(Dialogue(self._words), self._world, tuple(self._path))

    def session(self, name: str, structure: str | None = None) -> SessionRecord:
        """Return the episode so far, under a name such as "1-bridge".

        Raises `DataError` if nothing was built, or the world was edited from outside.
        """
        if self._episode is not None and self._episode.worlds.edits.any():
            raise DataError(
                f"the world of the episode {name!r} was edited from outside, expected changes by the builder alone"
            )
        turns = (*self._turns, *([self._open_turn()] if self._built else []))
        if not turns:
            raise DataError(f"nothing was built in the episode {name!r}, so there is no turn to record")
        start = self._start if self._start.any() else None
        return SessionRecord(name, structure or structure_of(name), turns, start)


def _frozen(grid: Any) -> BlockGrid:
    copied = np.array(grid, np.int8)
    copied.setflags(write=False)
    return copied


@dataclass
class _LayoutTurn:
    """A turn of the layout, which the architect starts, and the turns of the record that it stands for."""

    utterances: list[Utterance]
    originals: list[SessionTurn]

    @property
    def grid(self) -> BlockGrid:
        return as_grid(self.originals[-1].grid)

    @property
    def path(self) -> BuilderPath | None:
        """The poses and worlds of all original turns; None if one of them is unknown."""
        paths = [turn.path for turn in self.originals if turn.path is not None]
        return tuple(step for path in paths for step in path) if len(paths) == len(self.originals) else None


def _layout_turns(record: SessionRecord, report: Report[WriteNote]) -> list[_LayoutTurn]:
    """Return the turns of a session as the layout can hold them."""
    turns: list[_LayoutTurn] = []
    early: list[Utterance] = []  # the builder's, before the architect's first
    silent: list[SessionTurn] = []  # before the architect's first utterance
    for number, turn in enumerate(record.turns):
        plain = (_plain(utterance, record.name, number, report) for utterance in turn.dialogue)
        utterances = [utterance for utterance in plain if utterance.text]
        first = next((i for i, u in enumerate(utterances) if u.role is Role.ARCHITECT), len(utterances))
        (turns[-1].utterances if turns else early).extend(utterances[:first])
        if first == len(utterances):
            report.skip(WriteNote.SILENT_TURN, record.name, number)
            (turns[-1].originals if turns else silent).append(turn)
            continue
        if first:
            report.skip(WriteNote.BUILDER_FIRST, record.name, number)
        instruction, *others = utterances[first:]
        turns.append(_LayoutTurn([instruction, *early, *others], [*silent, turn]))
        early, silent = [], []
        if not turn.grid.any():
            report.skip(WriteNote.EMPTY_WORLD, record.name, number)
    return turns


def _plain(utterance: Utterance, session: str, turn: int, report: Report[WriteNote]) -> Utterance:
    """Replace the characters that have another meaning in the table."""
    text = utterance.text.replace("$", "＄")  # full-width
    text = "".join(c if c == "\n" or (c.isprintable() or c == "\t") else " " for c in text).strip()
    if text != utterance.text:
        report.skip(WriteNote.CHARACTERS, session, turn)
    return Utterance(utterance.role, text)


def _names(records: Sequence[SessionRecord], report: Report[WriteNote]) -> list[tuple[str, str]]:
    """Return a unique name of the layout, and a structure, for each session."""
    given = {record.name for record in records}
    names: dict[str, str] = {}  # structure by name
    for record in records:
        structure = "-".join(_STRUCTURE.findall(record.structure)) or "structure"
        name = record.name
        if not _NAME.fullmatch(name) or name in names:
            attempts = (f"{attempt}-{structure}" for attempt in itertools.count(1))
            name = next(free for free in attempts if free not in names and free not in given)
        if (name, structure) != (record.name, record.structure):
            report.skip(WriteNote.NAME, record.name)
        names[name] = structure
    return list(names.items())


def _cell(text: str) -> str:
    """Write `$` for line breaks, unless there are empty lines, which `$` cannot represent."""
    return text if re.search(r"\n\s*\n", text) else text.replace("\n", "$")


def _role_rows(turn: _LayoutTurn, is_last: bool) -> Iterator[dict[str, str]]:
    """Yield the role and the further cells of each row of a turn; the last is that of its world."""
    instruction, *others = turn.utterances
    yield {"Role": "architect-normal", "instruction": _cell(instruction.text)}
    question = ""
    for utterance in others:
        text = _cell(utterance.text)
        if utterance.role is Role.BUILDER:
            question = text
            yield {"Role": "builder-cq", "IsInstructionClear": "No", QUESTION: question}
        else:
            yield {"Role": "architect-cq", "InputClarifyingQuestion": question, ANSWER: text}
    complete = "Yes" if is_last else "No"
    yield {"Role": "builder-normal", "IsInstructionClear": "Yes", "IsBuiltStructureComplete": complete}


def _exact_cells(record: SessionRecord, turns: Sequence[_LayoutTurn]) -> list[str]:
    """Return the cells of the column `EXACT`, the original turns; empty if they are too long for readers."""
    exact: list[dict[str, Any]] = [
        {"turns": [turn_fields(original.dialogue, original.grid) for original in turn.originals]}
        for turn in turns
    ]
    if record.start is not None:
        exact[0]["start"] = block_fields(record.start)
    cells = [_json(turn) for turn in exact]
    return cells if max(map(len, cells)) <= LONGEST_CELL else [""] * len(cells)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def write_sessions(
    path: str | os.PathLike[str],
    sessions: Iterable[Subtasks | SessionRecord] | Mapping[str, Iterable[Subtasks]],
) -> Report[WriteNote]:
    """Write sessions as a folder in the multi-turn layout. The folder is created atomically.

    Args:
        path: a folder that does not exist or is empty.
        sessions: `Subtasks` and `SessionRecord` objects, or a mapping from structures to sessions (`dataset.tasks`).

    Returns:
        What other readers see changed.

    Raises:
        DataError: if the folder is in use, or there is nothing to write.

    """
    report = Report[WriteNote]()
    groups = sessions.items() if isinstance(sessions, Mapping) else [(None, sessions)]
    records = [_as_record(entry, structure) for structure, entries in groups for entry in entries]
    rows: list[dict[str, str]] = []
    with new_folder(path) as folder:
        (folder / WORLDS).mkdir()
        for record, (name, structure) in zip(records, _names(records, report), strict=True):
            cells = {"PartitionKey": name, "structureId": structure, "IsHITQualified": "True"}
            attempt = name.partition("-")[0]
            if attempt.isdecimal():
                cells["attemptId"] = attempt
            rows += [{**cells, **row} for row in _write_session(folder / WORLDS / name, record, report)]
        if not report.sessions:
            raise DataError(f"there is no session with a turn to write to {path}, expected at least one")
        with (folder / TABLE).open("w", encoding="utf-8", newline="") as file:
            columns = [*COLUMNS, EXACT] if any(row.get(EXACT) for row in rows) else COLUMNS
            table = csv.DictWriter(file, columns, restval="", extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return report


def _as_record(session: Any, structure: str | None) -> SessionRecord:
    if isinstance(session, SessionRecord):
        return session
    if not isinstance(session, Subtasks):
        raise DataError(f"a session to write is {session!r:.80}, expected a Subtasks or a SessionRecord")
    name = session.task_id or "session"
    turns = tuple(map(SessionTurn, session.turns, session.structures))
    return SessionRecord(name, structure or structure_of(name), turns, session.starting_grid)


def _write_session(
    folder: Path, record: SessionRecord, report: Report[WriteNote]
) -> Iterator[dict[str, str]]:
    """Write the worlds of a session to its folder, and yield its rows."""
    notes = len(report.skipped)
    turns = _layout_turns(record, report)
    if not turns:
        report.skip(WriteNote.NO_TURNS, record.name)
        return
    world = np.zeros(ZONE_SHAPE, np.int8) if record.start is None else record.start
    if world.any():
        report.skip(WriteNote.START_WORLD, record.name)
    exact = [""] * len(turns)
    dialogues = [turn.utterances for turn in turns]
    if len(report.skipped) > notes or dialogues != [list(turn.dialogue) for turn in record.turns]:
        exact = _exact_cells(record, turns)
    folder.mkdir()
    step = 0
    for number, turn in enumerate(turns):
        for row in _role_rows(turn, number == len(turns) - 1):
            is_odd = row["Role"].startswith("architect")  # odd steps are the architect's
            step += 1 if is_odd == (step % 2 == 0) else 2
            row |= {"RowKey": f"{folder.name}-{step}", "StepId": str(step)}
            yield row if row["Role"] != "builder-normal" else {**row, EXACT: exact[number]}
        content = _json(world_file(world, turn.grid, turn.path))
        (folder / f"step-{step}").write_text(content, encoding="utf-8")
        world = turn.grid
    report.sessions += 1
    report.turns += len(turns)
