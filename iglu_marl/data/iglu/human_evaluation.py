"""The human evaluation of IGLU 2022: people's judgements of the agents that they played with.

The table has one row per judged agent; each HIT (a person's job) has two. The events of the games and the definitions
of the tasks are separate files; where one is missing, an `Unavailable` has the reason.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import DataError
from iglu_marl.core.files import usable_path
from iglu_marl.core.parsing import MIB, parse_json
from iglu_marl.data.iglu.tables import TABLE_LIMIT, Record, read_table
from iglu_marl.data.packs.archive import Pack, open_files, open_pack
from iglu_marl.data.packs.cache import pack_folder
from iglu_marl.data.packs.registry import DATA_PATH_VARIABLE
from iglu_marl.data.packs.store import MissingPackError, find_pack
from iglu_marl.data.report import Report, SkipReason

FEEDBACK, GAMES, TASKS = "human_agent_feedback.csv", "gamedata.json", "taskdata.json"
COLUMNS = ("HitId", "GameMinecraftId", "TaskMinecraftId", "AgentName", "Annotation", "CompletionCode")
_SIDE_LIMIT = 256 * MIB  # bytes of games and tasks


class FeedbackSkip(SkipReason):
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


def _judgement(cell: str) -> tuple[Annotation, bool | None, str | None]:
    try:
        value = parse_json(cell, "the cell") if cell.strip() else {}
    except DataError:
        return Annotation.MALFORMED, None, None
    if value == {}:
        return Annotation.EMPTY, None, None
    best = value.get("was_chosen_best") if isinstance(value, dict) else None
    performance = value.get("agent_performance") if isinstance(value, dict) else None
    if not isinstance(best, bool) or not isinstance(performance, str):
        return Annotation.MALFORMED, None, None
    return Annotation.FILLED, best, None if performance.strip().upper() in ("", "NA") else performance.strip()


def _feedback(record: Record, line: int) -> Feedback:
    annotation, best, performance = _judgement(record["Annotation"])
    return Feedback(
        hit_id=record["HitId"].strip(),
        agent=record["AgentName"].strip(),
        game_id=record["GameMinecraftId"].strip() or None,
        task_id=record["TaskMinecraftId"].strip() or None,
        annotation=annotation,
        chosen_best=best,
        performance=performance,
        code=record["CompletionCode"].strip() or None,
        raw_annotation=record["Annotation"],
    )


def _side_file(pack: Pack, name: str) -> Any:
    """Return the parsed JSON of a file beside the table, or the reason why there is none."""
    try:
        if not pack.has(name):
            return Unavailable(name, "there is no such file beside the table")
        return parse_json(pack.read(name, _SIDE_LIMIT), name)
    except DataError as error:
        return Unavailable(name, str(error))


def _open(place: Path) -> tuple[Pack, str] | None:
    """Return the pack with the table, and the table's name in it; None for a folder or zip without the table."""
    if place.suffix.lower() == ".csv":
        return open_files(place.parent, (place.name, GAMES, TASKS)), place.name
    pack = open_pack(place)
    folders = [name.removesuffix(FEEDBACK) for name in pack.names() if f"/{name}".endswith(f"/{FEEDBACK}")]
    return (pack.below(min(folders, key=lambda name: (name.count("/"), name))), FEEDBACK) if folders else None


def _places(fetch: bool) -> Iterator[Path]:
    """Yield where the table may be: `IGLU_DATA_PATH`, the user's folder of packs, and IGLU's repository."""
    place = Path(os.environ.get(DATA_PATH_VARIABLE) or pack_folder()).expanduser()
    if place.is_dir() or place.suffix.lower() in (".csv", ".zip"):
        yield place
    yield pack_folder()
    with contextlib.suppress(MissingPackError), find_pack("iglu-singleturn", None, fetch) as pack:
        yield Path(pack.location)  # the archive of the repository also has the table


def human_evaluation(path: str | os.PathLike[str] | None = None, *, fetch: bool = True) -> HumanEvaluation:
    """Read the human evaluation of the agents of IGLU 2022.

    Args:
        path: `human_agent_feedback.csv`, or a folder or zip with it; by default `IGLU_DATA_PATH`, else the user's
            folder of packs, else it is fetched with the single-turn data.
        fetch: whether data may be downloaded.

    Raises:
        DataError: if there is no table, or it is damaged.

    """
    places = [usable_path(Path(path).expanduser(), named=False)] if path is not None else _places(fetch)
    source = next(filter(None, (_open(place) for place in places if place.exists())), None)
    if source is None:
        raise DataError(
            f"{path or 'this machine'} has no {FEEDBACK}; it comes with IGLU's data, in the folder "
            f"datasets/human_evaluation of https://github.com/microsoft/iglu-datasets: pass path=FILE or set "
            f"{DATA_PATH_VARIABLE} to its folder"
        )
    pack, name = source
    with pack:
        location = f"{pack.location}: {pack.root}{name}"
        report: Report[Any] = Report(files=pack.left_out)
        table = pack.read(name, TABLE_LIMIT)
        rows = read_table(table, COLUMNS, _feedback, report, FeedbackSkip.BAD_ROW, location)
        return HumanEvaluation(rows, _side_file(pack, GAMES), _side_file(pack, TASKS), location, report)
