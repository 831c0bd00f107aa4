"""Reader of the IGLU multi-turn layout: a table of utterances and the recorded worlds become `Subtasks`.

The layout::

    dialogs.csv                          one row per step of a session
    builder-data/<session>/step-<N>      the world after builder step N (JSON)

The rules are those of the upstream loader. Rows of a session are read in the order of StepId, without rows that did
not qualify. Odd steps are the architect's, even steps the builder's:

- an odd row with an instruction opens a turn; an odd row with an answer to a question adds to the open turn;
- an even row with a question adds to the open turn; any other even row closes it with the world of its step;
- a missing world ends the session;
- a turn with an empty world is merged into the next turn; empty turns at the end are dropped;
- in an utterance, each run of `$` is one line break;
- a row that is repeated in its session counts once.

Each piece of data that the rules skip is an entry of the `Report`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iglu_marl.core.dialogue import Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.parsing import parse_json, wrap_errors
from iglu_marl.core.task import Subtasks
from iglu_marl.core.text import plain_number
from iglu_marl.data.iglu.tables import Record, cell_text, read_table
from iglu_marl.data.report import Report, SkipReason
from iglu_marl.data.task_fields import read_task

TABLE = "dialogs.csv"
WORLDS = "builder-data"
COLUMNS = ("PartitionKey", "StepId", "structureId", "IsHITQualified", "instruction")
QUESTION, ANSWER = "ClarifyingQuestion", "Answer4ClarifyingQuestion"
EXACT = "ExactTurns"  # our own column (JSON): turns that the layout cannot hold, at the row of their world
Worlds = Mapping[int, BlockGrid | DataError]  # by step; a damaged world is its error

_QUALIFIED = {
    **dict.fromkeys(("true", "1", "1.0", "yes", "y", "t", ""), True),
    **dict.fromkeys(("false", "0", "0.0", "no", "n", "f"), False),
}


class MultiturnSkip(SkipReason, unit="step"):
    """Why a row, world or session is skipped or changed."""

    BAD_ROW = (
        "a row that is unreadable, or lacks the session, a whole step number or a yes or no as IsHITQualified"
    )
    UNQUALIFIED = "a row that did not qualify"
    DUPLICATE_ROW = "a repeated row of the session"
    SILENT_ROW = "an architect's row without an instruction or an answer"
    NO_WORLDS = "a session without recorded worlds"
    STRAY_WORDS = "a question or an answer outside of a turn"
    STRAY_WORLD = "a world without an instruction"
    JOINED_INSTRUCTION = "a second instruction before the next world; joined to the first"
    MISSING_WORLD = "a step without its world; the session ends there"
    BAD_WORLD = "a damaged world; the session ends there"
    EMPTY_WORLD = "an empty world; its turn is merged into the next one"
    UNFINISHED_TURN = "utterances at the end of a session, without a world"
    EMPTY_SESSION = "a session without a turn"
    BAD_EXACT = "exact turns that cannot be read, or end with another world; the other columns are used"
    NO_ROWS = "recorded worlds of a session that is not in the table"
    IRREGULAR = "a folder or file that is not a step of a session"
    DAMAGED_FILE = "a damaged world file"


@dataclass(frozen=True)
class Row:
    """One row of the table, with line breaks for `$`, and "" for no utterance."""

    session: str
    step: int
    structure: str
    instruction: str = ""
    question: str = ""
    answer: str = ""
    qualified: bool = True
    exact: str = ""  # see `EXACT`


def structure_of(session: str) -> str:
    """Return the structure in the name of a session, `<attempt>-<structure>`; the name if it has another form."""
    return session.partition("-")[2] or session


def _step_number(text: str) -> int | None:
    """Parse "3" or "3.0" (from a float column); None for anything else."""
    match = re.fullmatch(r"([0-9]+)(?:\.0*)?", text.strip())
    return plain_number(match.group(1)) if match else None


def read_rows(table: str | bytes, report: Report[MultiturnSkip], place: str = TABLE) -> list[Row]:
    """Return the rows of a table of utterances, CSV text with a header, in order.

    The columns PartitionKey (session), StepId, structureId, IsHITQualified and instruction are required; those of
    clarifying questions and answers are optional. An empty structureId is taken from the name of the session,
    `<attempt>-<structure>`. An empty IsHITQualified means qualified. Raises `DataError` if this is not such a table;
    `place` names it in the message.
    """
    return read_table(table, COLUMNS, _row, report, MultiturnSkip.BAD_ROW, place)


def _row(record: Record, line: int) -> Row | None:
    session, step = record["PartitionKey"].strip(), _step_number(record["StepId"])
    qualified = _QUALIFIED.get(record["IsHITQualified"].strip().lower())
    if not session or step is None or qualified is None:
        return None
    return Row(
        session=session,
        step=step,
        structure=record["structureId"].strip() or structure_of(session),
        instruction=cell_text(record["instruction"]),
        question=cell_text(record.get(QUESTION, "")),
        answer=cell_text(record.get(ANSWER, "")),
        qualified=qualified,
        exact=record.get(EXACT, ""),
    )


@dataclass
class _Turns:
    """The turns of one session while it is read. `words` is the open turn, None between turns."""

    name: str
    worlds: Worlds
    report: Report[MultiturnSkip]
    words: list[Utterance] | None = None
    kept: list[Utterance] = field(default_factory=list)  # of turns with an empty world, for the next turn
    dialog: list[list[Utterance]] = field(default_factory=list)
    structures: list[BlockGrid] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)  # those whose worlds these are

    def skip(self, reason: MultiturnSkip, step: int | None = None, detail: str = "") -> None:
        self.report.skip(reason, self.name, step, detail)

    def hear(self, row: Row) -> None:
        """Read an architect's row."""
        if row.instruction:
            if self.words is not None:
                self.skip(MultiturnSkip.JOINED_INSTRUCTION, row.step)
            self.words = [*(self.words or []), Utterance(Role.ARCHITECT, row.instruction)]
        elif not row.answer:
            self.skip(MultiturnSkip.SILENT_ROW, row.step)
        else:
            self.add(Role.ARCHITECT, row.answer, row.step)

    def add(self, role: Role, text: str, step: int) -> None:
        if self.words is None:
            self.skip(MultiturnSkip.STRAY_WORDS, step, text[:40])
        else:
            self.words.append(Utterance(role, text))

    def close(self, step: int) -> bool:
        """Close the open turn with the world of a step; return False if there is none and the session ends."""
        world = self.worlds.get(step)
        if world is None:
            self.skip(MultiturnSkip.MISSING_WORLD, step)
        elif isinstance(world, DataError):
            self.skip(MultiturnSkip.BAD_WORLD, step, str(world))
        elif self.words is None:
            self.skip(MultiturnSkip.STRAY_WORLD, step)
        else:
            utterances, self.words = self.kept + self.words, None
            self.kept = []
            if world.any():
                self.dialog.append(utterances)
                self.structures.append(world)
                self.steps.append(step)
            else:
                self.kept = utterances
                self.skip(MultiturnSkip.EMPTY_WORLD, step)
        return isinstance(world, np.ndarray)

    def end(self, options: Mapping[str, Any]) -> Subtasks | None:
        """Return the session; None if it has no turn."""
        left = len(self.kept) + len(self.words or [])
        if left:
            self.skip(MultiturnSkip.UNFINISHED_TURN, None, f"{left} utterances")
        if not self.structures:
            self.skip(MultiturnSkip.EMPTY_SESSION)
            return None
        return Subtasks(self.dialog, self.structures, task_id=self.name, ids="iglu", **options)


def read_session(
    name: str,
    rows: Sequence[Row] | None,
    worlds: Worlds,
    report: Report[MultiturnSkip],
    steps: dict[str, list[int]] | None = None,
    **options: Any,
) -> Subtasks | None:
    """Read one session from its rows, in any order, and its worlds by step; None if no turn is left.

    Without rows (None) it has no utterances, and each of its worlds is a turn. `steps` is filled with the steps of the
    turns' worlds, by the session's name. `options` are `progressive` and `invariant` of the `Subtasks`.
    """
    turns = _Turns(name, worlds, report)
    if rows is None:
        _read_worlds(turns)
        session = turns.end(options)
    else:
        ordered = sorted(rows, key=lambda row: row.step)
        session = _exact(ordered, turns, options)
        if session is None:
            _read_ordered(ordered, turns)
            session = turns.end(options)
    if session is not None:
        session.structure = structure_of(name)
        report.sessions += 1
        report.turns += len(session)
        if steps is not None:
            steps[name] = turns.steps
    return session


def _read_worlds(turns: _Turns) -> None:
    for step in turns.worlds:
        turns.words = []
        if not turns.close(step):
            break
    turns.words = None


def _read_ordered(rows: Sequence[Row], turns: _Turns) -> None:
    """Read rows in the order of their steps by the rules of the upstream loader."""
    seen: set[Row] = set()
    for row in rows:
        known = row in seen
        seen.add(row)
        if not row.qualified:
            turns.skip(MultiturnSkip.UNQUALIFIED, row.step)
        elif known:
            turns.skip(MultiturnSkip.DUPLICATE_ROW, row.step)
        elif row.step % 2:
            turns.hear(row)
        elif row.question:
            turns.add(Role.BUILDER, row.question, row.step)
        elif not turns.close(row.step):
            break


def _exact(rows: Sequence[Row], turns: _Turns, options: Mapping[str, Any]) -> Subtasks | None:
    """Return the session of the `EXACT` column; None if the rows have none, or it does not fit the worlds."""
    exact = [row for row in rows if row.qualified and row.exact]
    if not exact:
        return None
    fields: dict[str, Any] = {"turns": [], **options}
    steps: list[int] = []
    place = f"{turns.name}, {EXACT}"
    try:
        with wrap_errors(place):
            for row in exact:
                content = parse_json(row.exact, place)
                if unknown := content.keys() - {"turns", "start"}:
                    raise DataError(f"exact turns have {', '.join(unknown)}, expected only turns and start")
                fields |= {"start": content["start"]} if "start" in content else {}
                fields["turns"] += content["turns"]
                steps += [row.step] * len(content["turns"])
            session, _ = read_task(fields, turns.name)
            for turn, step in enumerate(steps):
                world = turns.worlds.get(step)
                is_last = steps[turn + 1 : turn + 2] != [step]
                same = isinstance(world, np.ndarray) and np.array_equal(world, session.structures[turn])
                if is_last and not same:
                    raise DataError(f"turn {turn} does not end with the world of step {step}")
    except DataError as error:
        turns.skip(MultiturnSkip.BAD_EXACT, None, str(error)[:200])
        return None
    turns.steps = steps
    return session


def group_sessions(
    rows: Iterable[Row],
    worlds: Mapping[str, Worlds],
    report: Report[MultiturnSkip],
    steps: dict[str, list[int]] | None = None,
    **options: Any,
) -> dict[str, list[Subtasks]]:
    """Return the sessions of a table, by the structure in their first qualified row, in the order of the table.

    `worlds` maps each session to its worlds; see `read_session` for the other arguments.
    """
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.session, []).append(row)
    sessions: dict[str, list[Subtasks]] = {}
    for name, own in grouped.items():
        if name not in worlds:
            report.skip(MultiturnSkip.NO_WORLDS, name)
            continue
        session = read_session(name, own, worlds[name], report, steps, **options)
        if session is not None:
            first = next((row for row in own if row.qualified), own[0])
            session.structure = first.structure
            sessions.setdefault(first.structure, []).append(session)
    return sessions
