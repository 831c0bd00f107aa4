"""The human evaluation of IGLU 2022: people's judgements of the agents that they played with.

The table has one row per judged agent; each HIT (a person's job) has two. The events of the games and the definitions
of the tasks are separate files; where one is missing, an `Unavailable` has the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from iglu_marl.data.report import Report, Skipped, SkipReason

FEEDBACK, GAMES, TASKS = "human_agent_feedback.csv", "gamedata.json", "taskdata.json"
COLUMNS = ("HitId", "GameMinecraftId", "TaskMinecraftId", "AgentName", "Annotation", "CompletionCode")
_SIDE_LIMIT = 256 * MIB  # bytes of games and tasks


class FeedbackSkip(SkipReason, unit="line"):
    """Why a row of the table is skipped."""

    BAD_ROW = "a row that cannot be read"


class Annotation(str, Enum):
    """Content of the cell with the person's judgement."""

    EMPTY = "nothing"
    FILLED = "a judgement"
    MALFORMED = "something else"

    __str__ = str.__str__


@dataclass(frozen=True)
class Feedback:
    """One row: one person's judgement of one agent.

    `game_id`, `task_id`, `chosen_best`, `performance` and `code`, the completion code, are None where the table has
    nothing or "NA". `raw_annotation` is the unparsed cell.
    """

    hit_id: str
    agent: str
    game_id: str | None
    task_id: str | None
    annotation: Annotation
    chosen_best: bool | None
    performance: str | None
    code: str | None
    raw_annotation: str


@dataclass(frozen=True)
class Unavailable:
    """A missing part of the data, and the reason. It is false: `if evaluation.games: ...`."""

    what: str
    reason: str

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"{self.what} is not available: {self.reason}"


@dataclass
class HumanEvaluation:
    """The table of feedback, and the events of the games and the tasks.

    `games` and `tasks` are the parsed JSON of gamedata.json and taskdata.json, or `Unavailable`.
    """

    feedback: list[Feedback]
    games: Any
    tasks: Any
    location: str
    _report: Report[Any]

    def report(self) -> Report[Any]:
        """Return the number of rows, the rows that cannot be read, and files that are left out for safety."""
        return self._report

    def by_agent(self, agent: str) -> list[Feedback]:
        """Return the rows of an agent. Raises `DataError` if it has none."""
        found = [row for row in self.feedback if row.agent == agent]
        if not found:
            known = dict.fromkeys(row.agent for row in self.feedback)
            raise DataError(f"there is no agent {agent!r}, expected one of {', '.join(known)}")
        return found

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`, one row per judgement."""
        with extra("data"):
            import pandas as pd

        rows = ({**vars(row), "annotation": row.annotation.name.lower()} for row in self.feedback)
        return pd.DataFrame(rows)


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


def _feedback(record: Mapping[str, str]) -> Feedback:
    annotation, best, performance = _judgement(record["Annotation"])
    return Feedback(
        hit_id=record["HitId"].strip(),
        agent=record["AgentName"].strip(),
        game_id=_known(record["GameMinecraftId"]),
        task_id=_known(record["TaskMinecraftId"]),
        annotation=annotation,
        chosen_best=best,
        performance=performance,
        code=_known(record["CompletionCode"]),
        raw_annotation=record["Annotation"],
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
    report: Report[Any] = Report(files=[*found.left_out])
    rows: list[Feedback] = []
    for line, record in read_table(found.table, COLUMNS, found.place):
        report.rows += 1
        if isinstance(record, DataError):
            report.skip(FeedbackSkip.BAD_ROW, found.place, line, str(record))
        else:
            rows.append(_feedback(record))
    games, tasks = _side_file(found, GAMES), _side_file(found, TASKS)
    return HumanEvaluation(rows, games, tasks, found.place, report)
