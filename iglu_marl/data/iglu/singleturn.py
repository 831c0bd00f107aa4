"""The IGLU single-turn data: one instruction for one change of a recorded world.

Annotator A changed a start world and wrote an instruction for it (the *original* game). Annotator B got the same start
world and the instruction. If it was clear, B built it (the *rebuilt* world). If not, B asked a clarifying question and
built nothing. Where a recording failed, the rebuilt world is the start: such tasks are `unbuilt`. The layout of the
release::

    clarifying_questions_train.csv                                    one row per game
    question_bank.csv                                                 see `iglu_marl.data.iglu.clarifying_questions`
    initial_world_states/builder-data/<session>/<step file>           start worlds
    target_world_states/builder-data/cq-game-<N>/step-<session>       what B built
    target_world_states/builder-data/actionHit/game-<N>/game-<N>-step-action     what A built

The layout of the tools of 2022 has other tables; a row of it names its target, and the row `game-<N>` the original::

    single_turn_instructions.csv         GameId, InitializedWorldPath, TargetWorldPath, InputInstruction
    multi_turn_dialogs.csv               the utterances before the start world, as in the multi-turn layout

`SingleturnDataset` makes a task of each game and counts in its report what it skips.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from iglu_marl.core.arguments import check_option
from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.task import ID_TABLES, Task
from iglu_marl.core.text import plain_number
from iglu_marl.data.dataset import Dataset, changes, check_task_options, check_version
from iglu_marl.data.iglu.multiturn import Row, read_rows
from iglu_marl.data.iglu.tables import TABLE_LIMIT, Record, cell_text, read_table
from iglu_marl.data.iglu.world_files import VERSION as WORLDS_VERSION
from iglu_marl.data.iglu.world_files import RecordedWorlds, read_recorded
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import cached, json_array, read_json
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.report import Report, Skipped, SkipReason

PACK = "iglu-singleturn"
TABLE, BANK = "clarifying_questions_train.csv", "question_bank.csv"
TABLE_2022, DIALOGS_2022 = "single_turn_instructions.csv", "multi_turn_dialogs.csv"
STARTS, TARGETS = "initial_world_states/", "target_world_states/"
REBUILT, ORIGINALS = f"{TARGETS}builder-data/cq-game-", f"{TARGETS}builder-data/actionHit/game-"
COLUMNS = ("GameId", "InitializedWorldPath", "InputInstruction", "IsInstructionClear")
COLUMNS_2022 = ("GameId", "InitializedWorldPath", "InputInstruction", "TargetWorldPath")
VERSION = f"2-{WORLDS_VERSION}"  # of the cache entry

Rules = Literal["lenient", "default", "strict"]
Target = Literal["rebuilt", "original"]
RULES = ("lenient", "default", "strict")

_QID = re.compile(r"[\w-]+")
_PLACE = re.compile(
    r"\b(?:north|south|east|west|[ns][ew]\b|cent(?:er|re)|middle|corner|edge|border)", re.IGNORECASE
)


def names_place(instruction: str) -> bool:
    """Whether an instruction names a place of the map or a compass direction.

    These are words that begin with north, south, east, west, center, middle, corner, edge or border, and NE, NW, SE
    and SW. A build that is shifted or rotated then does not follow the instruction.
    """
    return _PLACE.search(instruction) is not None


class SingleturnSkip(SkipReason):
    """Why a row or game gives no task, or a file is not used."""

    # rows and games
    BAD_ROW = "a row that is unreadable, or lacks the game, start world, instruction or clarity"
    OTHER_ROW_OF_GAME = "a second row of a game, with other contents"
    START_MISSING = "no start world"
    START_DAMAGED = "a damaged start world"
    TARGET_DAMAGED = "a damaged target world"
    UNCLEAR_NO_TARGET = "an unclear instruction, which nobody built"
    CLEAR_BUT_TARGET_MISSING = "a clear instruction without a rebuilt world"
    ORIGINAL_MISSING = "no original world"
    TARGET_WORLD_MISSING = "no rebuilt world"
    TARGET_UNCHANGED = "a target that equals its start"
    MULTITURN_TARGET_NOT_FOUND = "no original game, or no world of it"
    MULTITURN_TARGET_MISMATCH = "a rebuilt world that differs from the original"
    # files
    ORPHAN_REBUILT = "a rebuilt world without a row"
    ORPHAN_ORIGINAL = "an original world without a row"
    UNUSED_START = "a start world without a row"
    DAMAGED_FILE = "a damaged world file"
    LITTER = "a hidden file"


@dataclass(frozen=True)
class Game:
    """One row of the table."""

    game_id: str  # such as "CQ-game-12"
    start_path: str  # file of the start world, relative to the pack
    instruction: str  # the text
    clear: bool  # annotator B's judgement
    question: str = ""  # B's clarifying question; "" if clear
    qrel: str = ""  # id of `question`
    qbank: tuple[str, ...] = ()  # ids of the candidate questions
    partition: str = ""  # part of the upstream split
    line: int = 0  # line of the table
    rebuilt: str = ""  # file of the rebuilt world in the layout of 2022
    original: str = ""  # file of the original world in the layout of 2022
    # Utterances before the instruction, in the layout of 2022.
    before: Dialogue = field(default_factory=Dialogue)

    @property
    def number(self) -> str:
        """Number in the game's file names, such as "12"."""
        return self.game_id.rpartition("game-")[2]

    @property
    def session(self) -> str:
        """Multi-turn session of the start world, such as "23-c135"."""
        return self.start_path.split("/")[-2] if "/" in self.start_path else ""

    @property
    def structure(self) -> str:
        """Structure of the session, such as "c135"; the session's name if it has another form."""
        attempt, _, structure = self.session.partition("-")
        return structure if plain_number(attempt) is not None and structure[:1].isalpha() else self.session

    @property
    def start(self) -> str:
        """Session and step of the start world, such as "23-c135/step-4"; the key in `SingleturnDataset.tasks`."""
        return "/".join(self.start_path.split("/")[-2:])

    @property
    def rebuilt_path(self) -> str:
        """File of the world that B built, if there is one."""
        return self.rebuilt or f"{REBUILT}{self.number}/step-{self.session}"

    @property
    def original_path(self) -> str:
        """File of the world that A built, if there is one."""
        return self.original or f"{ORIGINALS}{self.number}/game-{self.number}-step-action"

    def target_path(self, target: str) -> str:
        """File of the "rebuilt" or "original" world."""
        return self.rebuilt_path if target == "rebuilt" else self.original_path


def read_games(
    table: bytes | str, report: Report[SingleturnSkip], place: str, columns: Sequence[str] = COLUMNS
) -> list[Game]:
    """Return the rows of a table of games in order, including repeated rows.

    Unusable rows are counted in `report`. Raises `DataError` if this is not a table with `columns`; `place` names it in
    the message.
    """
    games = read_table(table, columns, _game, report, SingleturnSkip.BAD_ROW, place)
    report.games = len({game.game_id for game in games})
    return games


def _games_of_2022(
    table: bytes, dialogs: bytes, report: Report[SingleturnSkip], place: str
) -> tuple[list[Game], list[Game]]:
    """Return the games of the layout of 2022, and the rows of the originals.

    Games have the paths of both worlds, and the utterances before them.
    """
    rows = read_games(table, report, place, COLUMNS_2022)
    originals = {game.game_id: game for game in rows if not game.game_id.startswith("CQ-")}
    earlier: dict[str, list[Row]] = {}
    for row in read_rows(dialogs, Report(), f"{place}: {DIALOGS_2022}") if dialogs else ():
        if row.qualified:
            earlier.setdefault(row.session, []).append(row)
    games = []
    for game in rows:
        if game.game_id in originals:
            continue
        original = originals.get(game.game_id.removeprefix("CQ-"))
        before = _before(earlier.get(game.session, ()), game.start_path)
        games.append(replace(game, original=original.rebuilt if original else "", before=before))
    report.games = len({game.game_id for game in games})
    return games, list(originals.values())


def _before(rows: Iterable[Row], start_path: str) -> Dialogue:
    """Return the utterances of a session before the step of a start world."""
    step = plain_number(start_path.rpartition("step-")[2])
    said: list[Utterance] = []
    for row in sorted(rows, key=lambda row: row.step):
        role = Role.ARCHITECT if row.step % 2 else Role.BUILDER
        text = (row.instruction or row.answer) if row.step % 2 else row.question
        if text and step is not None and row.step < step:
            said.append(Utterance(role, text))
    return Dialogue(said)


def _game(record: Record, line: int) -> Game | None:
    name = record["GameId"].strip()
    # Older tables have Windows' separators. The path is only compared with file names, never opened.
    path = record["InitializedWorldPath"].strip().replace("\\", "/")
    instruction = cell_text(record["InputInstruction"])
    judged = record.get("IsInstructionClear", "").strip().lower()
    clear = {"yes": True, "no": False}.get(judged)
    target = record.get("TargetWorldPath", "").strip().replace("\\", "/")
    if target and not judged:  # in the layout of 2022 only what was clear is listed
        clear = True
    if not name or not path or not instruction or clear is None:
        return None
    return Game(
        game_id=name,
        start_path=path,
        instruction=instruction,
        clear=clear,
        question=cell_text(record.get("ClarifyingQuestion", "")),
        qrel=record.get("qrel", "").strip(),
        qbank=tuple(_QID.findall(record.get("qbank", ""))),
        partition=record.get("Partition", "").strip(),
        line=line,
        rebuilt=target,
    )


def _build(pack: Pack, progress: bool | None) -> dict[str, Any]:
    files = [name for name in pack.names() if name.startswith((STARTS, TARGETS))]
    hidden = [name for name in files if name.rpartition("/")[2].startswith(".")]
    worlds = sorted(set(files) - set(hidden))
    return {
        **read_recorded(pack, worlds, "reading IGLU single-turn", progress=progress),
        **{name: np.frombuffer(_table(pack, name), np.uint8) for name in (TABLE, TABLE_2022, DIALOGS_2022)},
        "hidden": json_array(hidden),
    }


def _table(pack: Pack, name: str) -> bytes:
    return pack.read(name, TABLE_LIMIT) if pack.has(name) else b""


@dataclass
class _GameFilter:
    """Selects the games of a table that give tasks."""

    worlds: RecordedWorlds
    rules: str
    target: str
    report: Report[SingleturnSkip]

    def usable(self, games: list[Game]) -> list[tuple[Game, BlockGrid, BlockGrid]]:
        """Return the games that give tasks, with their start and target worlds."""
        chosen = []
        for game in self._once_each(games):
            start, target = self.worlds.get(game.start_path), self.worlds.get(game.target_path(self.target))
            if start is None:
                self._skip_start(game)
            elif target is None:
                self._skip_target(game)
            elif (fault := self._mismatch(game, start, target)) is not None:
                self.report.skip(fault, game.game_id)
            else:
                chosen.append((game, start, target))
        return chosen

    def _once_each(self, games: list[Game]) -> list[Game]:
        """Return each game once by the lenient rules, every row by the upstream rules."""
        seen: dict[str, Game] = {}
        kept = []
        for game in games:
            first = seen.setdefault(game.game_id, game)
            same = first is not game and replace(first, line=0) == replace(game, line=0)
            self.report.repeated_rows += same
            if first is game or self.rules != "lenient":
                kept.append(game)
            elif not same:
                self.report.skip(SingleturnSkip.OTHER_ROW_OF_GAME, game.game_id, None, f"line {game.line}")
        return kept

    def _skip_start(self, game: Game) -> None:
        damage = self.worlds.damaged.get(game.start_path)
        reason = SingleturnSkip.START_MISSING if damage is None else SingleturnSkip.START_DAMAGED
        self.report.skip(reason, game.game_id, None, damage or game.start_path)

    def _skip_target(self, game: Game) -> None:
        damage = self.worlds.damaged.get(game.target_path(self.target))
        if damage is not None:
            reason = SingleturnSkip.TARGET_DAMAGED
        elif self.target == "original":
            reason = SingleturnSkip.ORIGINAL_MISSING
        elif self.rules != "lenient":
            reason = SingleturnSkip.TARGET_WORLD_MISSING
        elif game.clear:
            reason = SingleturnSkip.CLEAR_BUT_TARGET_MISSING
        else:
            reason = SingleturnSkip.UNCLEAR_NO_TARGET
        self.report.skip(reason, game.game_id, None, damage or "")

    def _mismatch(self, game: Game, start: BlockGrid, target: BlockGrid) -> SingleturnSkip | None:
        """Return why a target gives no task by the upstream rules, which check in this order."""
        if self.rules == "lenient":
            return None
        strict = self.rules == "strict"
        if strict and np.array_equal(start, target):
            return SingleturnSkip.TARGET_UNCHANGED
        original = self.worlds.get(game.original_path)
        if original is None:
            return SingleturnSkip.MULTITURN_TARGET_NOT_FOUND
        if strict and not np.array_equal(original, target):
            return SingleturnSkip.MULTITURN_TARGET_MISMATCH
        return None

    def count_files(self, games: list[Game], hidden: list[str]) -> None:
        """Report the files that no game of the table uses."""
        used = {path for game in games for path in (game.start_path, game.rebuilt_path, game.original_path)}
        damaged = self.worlds.damaged.items()
        self.report.files += [
            *(Skipped(SingleturnSkip.LITTER, name) for name in hidden),
            *(Skipped(SingleturnSkip.DAMAGED_FILE, name, None, why) for name, why in damaged),
            *(Skipped(_unused(name), name) for name in self.worlds if name not in used),
        ]


def _unused(name: str) -> SingleturnSkip:
    if name.startswith(ORIGINALS):
        return SingleturnSkip.ORPHAN_ORIGINAL
    return SingleturnSkip.ORPHAN_REBUILT if name.startswith(REBUILT) else SingleturnSkip.UNUSED_START


class SingleturnDataset(Dataset):
    """Single instructions with the worlds before and after, as a task source.

    `tasks["23-c135/step-4"]` are the tasks that start from that world; their `task_id` is the game's id.
    `games["CQ-game-12"]` is a row of the table, also of unclear games. `worlds` are all recorded worlds.

    Args:
        dataset_version: label of a release; there is one release, and any label stands for it.
        task_kwargs: options for the tasks: `invariant`: whether a build may be rotated and shifted. Default: only
            where the start is empty and the instruction names no place (`names_place`). True: the rule of the IGLU
            2022 competition.
        path: a zip or folder (see `find_pack`); by default `IGLU_DATA_PATH`, else the pack is fetched.
        rules: "lenient": a task for each game that has a target world. "default", "strict": the rules of the
            upstream loader, row by row. Both require the original world; "strict" also skips targets that equal
            the start or differ from the original.
        target: "rebuilt": built by a person from the instruction. "original": the world that the instruction
            describes, which many unclear games have too ("lenient" only).
        ids: color ids of the grids, "iglu" or "iglu2022".
        keep_unbuilt: whether `sample()` also returns unbuilt tasks.
        fetch: whether the pack may be downloaded.
        progress: whether to show a progress bar.

    Raises:
        DataError: if there are no data, or no game gives a task.

    """

    _built: tuple[Any, dict[str, list[Task]]] | None = None  # `tasks`, and those of them that are built

    def __init__(
        self,
        dataset_version: str | None = None,
        task_kwargs: Mapping[str, Any] | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        rules: Rules = "lenient",
        target: Target = "rebuilt",
        ids: str = "iglu",
        keep_unbuilt: bool = False,
        fetch: bool = True,
        progress: bool | None = None,
    ) -> None:
        check_option("rules", rules, RULES)
        if target not in ("rebuilt", "original") or (target == "original" and rules != "lenient"):
            raise ConfigError(
                f"target is {target!r} with {rules!r} rules, expected 'rebuilt', or 'original' with lenient ones"
            )
        self.dataset_version, self.rules, self.target = check_version(dataset_version), rules, target
        check_option("ids", ids, ID_TABLES)
        self.color_ids = ids
        self.keep_unbuilt = keep_unbuilt
        self._options = check_task_options(task_kwargs, ("invariant",))
        with find_pack(PACK, path, fetch, progress=progress) as pack:
            self.location = pack.location
            self._report = Report(files=[*pack.left_out])
            if not pack.has(TABLE) and not pack.has(TABLE_2022):
                raise DataError(
                    f"{pack.location} has no {TABLE} or {TABLE_2022}, expected one of these tables of "
                    f"instructions; its files are such as {pack.names()[:3]}{pack.links}"
                )
            arrays = cached(pack, "iglu-singleturn", VERSION, lambda: _build(pack, progress))
        self.worlds = RecordedWorlds(arrays)
        tables = {name: arrays[name].tobytes() for name in (TABLE, TABLE_2022, DIALOGS_2022)}
        originals: list[Game] = []
        if tables[TABLE] or not tables[TABLE_2022]:
            rows = read_games(tables[TABLE], self._report, f"{self.location}: {TABLE}")
        else:
            place = f"{self.location}: {TABLE_2022}"
            rows, originals = _games_of_2022(tables[TABLE_2022], tables[DIALOGS_2022], self._report, place)
        games = _GameFilter(self.worlds, rules, target, self._report)
        self.games: dict[str, Game] = {}
        for game in rows:
            self.games.setdefault(game.game_id, game)
        self.tasks = {}
        for game, start, built in games.usable(rows):
            self.tasks.setdefault(game.start, []).append(self._task(game, start, built))
        games.count_files([*rows, *originals], read_json(arrays["hidden"]))
        self._report.tasks = len(self)
        self._report.unbuilt = sum(task.unbuilt for task in self)
        if not self.tasks:
            raise DataError(f"{self.location} has no usable game: {self._report}{self._report.example}")

    def _task(self, game: Game, start: BlockGrid, target: BlockGrid) -> Task:
        placed = not start.any() and names_place(game.instruction)
        task = Task(
            game.before + Dialogue((Utterance(Role.ARCHITECT, game.instruction),)),
            target,
            game.instruction,
            starting_grid=start,
            task_id=game.game_id,
            ids="iglu",
            structure=game.structure,
            unbuilt=np.array_equal(start, target),
            **{"invariant": False if placed else None, **self._options},
        )
        return task.in_ids(self.color_ids)

    def _sampled(self) -> Mapping[str, list[Task]]:
        if self.keep_unbuilt or not self.tasks:
            return self.tasks
        if self._built is None or self._built[0] is not self.tasks:
            built = {name: [task for task in tasks if not task.unbuilt] for name, tasks in self.tasks.items()}
            self._built = self.tasks, {name: tasks for name, tasks in built.items() if tasks}
        if not self._built[1]:
            raise DataError(f"{self!r} has unbuilt tasks only; keep_unbuilt=True samples them")
        return self._built[1]

    def structure_of(self, name: str, entry: Task) -> str:
        """Return the structure of the start world's session, such as "c135"."""
        return self.games[str(entry.task_id)].structure

    def is_dropout(self, name: str) -> bool:
        """Whether nothing was recorded for a task.

        Its start has blocks, its target has none, and the action log does not set up the start. (If a person cleared
        the world, the log sets it up and breaks its blocks.)
        """
        task, game = self.by_id(name), self.games[name]
        if task.target_grid.any() or not task.start_grid.any():
            return False
        return not self.worlds.file(game.target_path(self.target)).set_up

    def tasks_by_file(self) -> dict[str, Task]:
        """Return each game's task by the files of its target worlds, which have the builders' action logs."""
        return {
            path: self._task(game, self.worlds[game.start_path], self.worlds[path])
            for game in self.games.values()
            for path in (game.original_path, game.rebuilt_path)
            if path in self.worlds and game.start_path in self.worlds
        }

    def _records(self, name: str, entry: Task) -> list[dict[str, Any]]:
        game = self.games[str(entry.task_id)]
        return [
            {
                "game_id": game.game_id,
                "start": game.start,
                "session": game.session,
                "structure": game.structure,
                "clear": game.clear,
                "unbuilt": entry.unbuilt,
                "dropout": self.is_dropout(game.game_id),
                "instruction": game.instruction,
                **changes(entry.start_grid, entry.target_grid),
            }
        ]
