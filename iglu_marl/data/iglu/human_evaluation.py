"""The human evaluation of IGLU 2022: people's judgements of the agents that they played with.

The table has one row per judged agent; each HIT (a person's job) has two. The events of the games and the definitions
of the tasks are separate files; where one is missing, an `Unavailable` has the reason.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import DataError
from iglu_marl.core.extras import extra
from iglu_marl.core.files import usable_path
from iglu_marl.core.parsing import MIB, parse_json, read_file
from iglu_marl.data.iglu.tables import TABLE_LIMIT, read_table
from iglu_marl.data.packs.archive import open_pack
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE
from iglu_marl.data.packs.store import MissingPackError, find_pack
from iglu_marl.data.report import Skipped, SkipReason

FEEDBACK, GAMES, TASKS = "human_agent_feedback.csv", "gamedata.json", "taskdata.json"
COLUMNS = ("HitId", "GameMinecraftId", "TaskMinecraftId", "AgentName", "Annotation", "CompletionCode")
_SIDE_LIMIT = 256 * MIB  # bytes of games and tasks
_CODE_LIMIT = 1 << 16  # bytes of a decoded code; real ones have 221


class FeedbackSkip(SkipReason, unit="line"):
    """Why a row of the table is skipped."""

    BAD_ROW = "a row that cannot be read"


class Annotation(str, Enum):
    """Content of the cell with the person's judgement."""

    EMPTY = "nothing"
    FILLED = "a judgement"
    MALFORMED = "something else"

    __str__ = str.__str__


class CodeState(str, Enum):
    """Content of the cell with the completion code."""

    ABSENT = "nothing"
    DECODED = "a code"
    UNDECODABLE = "something else"

    __str__ = str.__str__


@dataclass(frozen=True)
class CompletionCode:
    """Completion code that a game gave to the person at its end: its parts, and the two with a known meaning."""

    parts: tuple[str, ...]

    @property
    def task_id(self) -> str | None:
        """Id of the task."""
        return self.parts[3] if len(self.parts) == 7 else None

    @property
    def game_id(self) -> str | None:
        """Id of the game."""
        return self.parts[4] if len(self.parts) == 7 else None


@dataclass(frozen=True)
class Feedback:
    """One row: one person's judgement of one agent.

    `game_id`, `task_id`, `chosen_best` and `performance` are None where the table has nothing or "NA". `code` is None
    unless `code_state` is DECODED. `raw_annotation` and `raw_code` are the unparsed cells.
    """

    hit_id: str
    agent: str
    game_id: str | None
    task_id: str | None
    annotation: Annotation
    chosen_best: bool | None
    performance: str | None
    code_state: CodeState
    code: CompletionCode | None
    raw_annotation: str
    raw_code: str
    line: int

    @property
    def names_other_game(self) -> bool:
        """Whether the code is from another game than the row."""
        return self.code is not None and self.code.game_id != self.game_id


@dataclass(frozen=True)
class Unavailable:
    """A missing part of the data, and the reason. It is false: `if evaluation.games: ...`."""

    what: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{self.what} is not available: {self.reason}"


@dataclass(frozen=True)
class EvaluationReport:
    """Counts of the rows of the table; `agents` and `chosen_best` are by agent."""

    rows: int
    hits: int
    agents: Mapping[str, int]
    annotations: Mapping[str, int]
    codes: Mapping[str, int]
    without_game: int
    no_text: int
    codes_of_other_games: int
    odd_hits: int
    chosen_best: Mapping[str, Mapping[bool, int]]
    bad_rows: int = 0
    left_out: int = 0

    def __str__(self) -> str:
        return (
            f"{self.rows} rows of {self.hits} HITs; annotations {dict(self.annotations)}, codes "
            f"{dict(self.codes)}, {self.without_game} rows without a game, {self.no_text} judgements without words, "
            f"{self.codes_of_other_games} codes of another game, {self.odd_hits} HITs without two rows, "
            f"{self.bad_rows} rows that cannot be read, {self.left_out} files left out"
        )


@dataclass
class HumanEvaluation:
    """The table of feedback, and the events of the games and the tasks.

    `games` and `tasks` are the parsed JSON of gamedata.json and taskdata.json, or `Unavailable`. `skipped` lists rows
    that cannot be read, and files of the folder or zip that are left out for safety.
    """

    feedback: list[Feedback]
    games: Any
    tasks: Any
    location: str = ""
    skipped: list[Skipped[Any]] = field(default_factory=list)

    def by_agent(self, agent: str) -> list[Feedback]:
        """Return the rows of an agent. Raises `DataError` if it has none."""
        found = [row for row in self.feedback if row.agent == agent]
        if not found:
            known = dict.fromkeys(row.agent for row in self.feedback)
            raise DataError(f"there is no agent {agent!r}, expected one of {', '.join(known)}")
        return found

    def report(self) -> EvaluationReport:
        """Return the counts of all rows, including irregular ones."""
        rows = self.feedback
        best: dict[str, Counter[bool]] = {}
        for row in rows:
            if row.chosen_best is not None:
                best.setdefault(row.agent, Counter())[row.chosen_best] += 1
        hits = Counter(row.hit_id for row in rows)
        return EvaluationReport(
            rows=len(rows),
            hits=len(hits),
            agents=dict(Counter(row.agent for row in rows)),
            annotations=dict(Counter(row.annotation.name.lower() for row in rows)),
            codes=dict(Counter(row.code_state.name.lower() for row in rows)),
            without_game=sum(row.game_id is None for row in rows),
            no_text=sum(row.annotation is Annotation.FILLED and row.performance is None for row in rows),
            codes_of_other_games=sum(row.names_other_game for row in rows),
            odd_hits=sum(count != 2 for count in hits.values()),
            chosen_best={agent: dict(counts) for agent, counts in best.items()},
            bad_rows=sum(entry.reason is FeedbackSkip.BAD_ROW for entry in self.skipped),
            left_out=sum(entry.reason is not FeedbackSkip.BAD_ROW for entry in self.skipped),
        )

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`, one row per judgement."""
        with extra("data"):
            import pandas as pd

        return pd.DataFrame(
            [
                {
                    "hit_id": row.hit_id,
                    "agent": row.agent,
                    "game_id": row.game_id,
                    "task_id": row.task_id,
                    "annotation": row.annotation.name.lower(),
                    "chosen_best": row.chosen_best,
                    "performance": row.performance,
                    "code": row.code_state.name.lower(),
                    "code_game_id": None if row.code is None else row.code.game_id,
                }
                for row in self.feedback
            ]
        )


def decode_completion_code(text: str) -> CompletionCode | None:
    """Decode a completion code (base64 of a gzip stream of parts joined by ":"); None if it is not one."""
    try:
        packed = base64.b64decode(text.strip(), validate=True)
        content = _unpacked(packed).decode("utf-8")
    except (binascii.Error, ValueError, OSError, EOFError, zlib.error):
        return None
    return CompletionCode(tuple(content.split(":"))) if content else None


def _unpacked(packed: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        content = stream.read(_CODE_LIMIT + 1)
    if len(content) > _CODE_LIMIT:
        raise ValueError("too long for a code")
    return content


def _judgement(cell: str) -> tuple[Annotation, bool | None, str | None]:
    try:
        value = parse_json(cell, "the cell") if cell.strip() else {}
    except DataError:
        return Annotation.MALFORMED, None, None
    if value == {}:
        return Annotation.EMPTY, None, None
    best = value.get("was_chosen_best") if isinstance(value, dict) else None
    said = value.get("agent_performance") if isinstance(value, dict) else None
    if not isinstance(best, bool) or not isinstance(said, str):
        return Annotation.MALFORMED, None, None
    return Annotation.FILLED, best, _known(said)


def _known(cell: str) -> str | None:
    """Return a cell's text; None for nothing and for "NA"."""
    text = cell.strip()
    return None if text.upper() in ("", "NA", "N/A") else text


def _feedback(record: Mapping[str, str], line: int) -> Feedback:
    annotation, best, performance = _judgement(record["Annotation"])
    raw = record["CompletionCode"]
    code = decode_completion_code(raw) if raw.strip() not in ("", "NA") else None
    state = CodeState.DECODED if code else CodeState.UNDECODABLE
    if raw.strip() in ("", "NA"):
        state = CodeState.ABSENT
    return Feedback(
        hit_id=record["HitId"].strip(),
        agent=record["AgentName"].strip(),
        game_id=_known(record["GameMinecraftId"]),
        task_id=_known(record["TaskMinecraftId"]),
        annotation=annotation,
        chosen_best=best,
        performance=performance,
        code_state=state,
        code=code,
        raw_annotation=record["Annotation"],
        raw_code=raw,
        line=line,
    )


@dataclass(frozen=True)
class _Found:
    """The table, its place for messages, and a reader of the files beside it (None: there is no such file)."""

    table: bytes
    place: str
    beside: Callable[[str], bytes | None]
    left_out: Sequence[Skipped[Any]] = ()


def _side_file(found: _Found, name: str) -> Any:
    """Return the parsed JSON of a file beside the table, or the reason why there is none."""
    try:
        content = found.beside(name)
        if content is None:
            return Unavailable(name, "there is no such file beside the table")
        return parse_json(content, name)
    except DataError as error:
        return Unavailable(name, str(error))


def _at(place: Path, follow_links: bool = False) -> _Found | None:
    """Find the table at a place: a CSV file, or inside a folder or zip; None if it is not there."""
    if not usable_path(place, named=False).exists():
        raise DataError(f"{place} does not exist; expected {FEEDBACK}, or a folder or zip with it")
    if place.suffix.lower() == ".csv":

        def beside(name: str) -> bytes | None:
            file = place.with_name(name)
            return read_file(file, _SIDE_LIMIT) if file.is_file() else None

        return _Found(read_file(place, TABLE_LIMIT), str(place), beside)
    pack = open_pack(place, follow_links=follow_links)
    found = [name for name in pack.names() if f"/{name}".endswith(f"/{FEEDBACK}")]
    if not found:
        return None
    nearest = min(found, key=lambda name: (name.count("/"), name))
    inside = pack.below(nearest.removesuffix(FEEDBACK))
    return _Found(
        inside.read(FEEDBACK, TABLE_LIMIT),
        f"{place}: {nearest}",
        lambda name: inside.read(name, _SIDE_LIMIT) if inside.has(name) else None,
        pack.left_out,
    )


def _anywhere(fetch: bool) -> _Found:
    """Find the table in `IGLU_DATA_PATH`, the user's folder of packs, or the archive of the repository."""
    named = os.environ.get(DATA_PATH_VARIABLE)
    for place in ([Path(named).expanduser()] if named else []) + [pack_folder()]:
        if place.is_dir() or (place.is_file() and place.suffix.lower() in (".csv", ".zip")):
            found = _at(place)
            if found is not None:
                return found
    try:
        with find_pack("iglu-singleturn", None, fetch) as pack:
            location = pack.location  # the archive of the repository also has the table
        found = _at(Path(location))
    except MissingPackError as error:
        raise DataError(f"{FEEDBACK} is not on this machine; it comes with IGLU's data: {error}") from None
    if found is None:
        raise DataError(
            f"{FEEDBACK} is not on this machine: get it from the folder datasets/human_evaluation of "
            f"https://github.com/microsoft/iglu-datasets, and pass path=FILE or set {DATA_PATH_VARIABLE} to its "
            "folder"
        )
    return found


def human_evaluation(
    path: str | os.PathLike[str] | None = None, *, fetch: bool = True, follow_links: bool = False
) -> HumanEvaluation:
    """Read the human evaluation of the agents of IGLU 2022.

    Args:
        path: `human_agent_feedback.csv`, or a folder or zip with it; by default `IGLU_DATA_PATH`, else the user's
            folder of packs, else it is fetched with the single-turn data.
        fetch: whether data may be downloaded.
        follow_links: follow the links in a folder given as `path`.

    Raises:
        DataError: if there is no table, or it is damaged.

    """
    place = None if path is None else Path(path).expanduser()
    found = _anywhere(fetch) if place is None else _at(place, follow_links)
    if found is None:
        with open_pack(str(place), follow_links=follow_links) as pack:
            raise DataError(f"{place} has no {FEEDBACK} in it{pack.links}")
    rows: list[Feedback] = []
    skipped: list[Skipped[Any]] = [*found.left_out]
    for line, record in read_table(found.table, COLUMNS, found.place):
        if isinstance(record, DataError):
            skipped.append(Skipped(FeedbackSkip.BAD_ROW, found.place, line, str(record)))
        else:
            rows.append(_feedback(record, line))
    games, tasks = _side_file(found, GAMES), _side_file(found, TASKS)
    return HumanEvaluation(rows, games, tasks, found.place, skipped)
