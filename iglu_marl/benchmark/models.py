"""The benchmark of language models: levels, games, and result files.

A game is a `TextGame`: a chat, a reply, the next chat. So the same games are played through an endpoint or a local
model (`run_models`), with Inspect AI (`inspect_tasks`) and over MCP (`mcp`), and
`outcome` judges all of them. Levels have version 1; `iglu_marl.benchmark.catalog.MODEL_LEVELS` are those of version 0.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.backends import acquire_backend, release_backend
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Message, Reply
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.llm.prompting import Prompts
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.benchmark.model_tasks import (
    Game,
    Maker,
    clarification,
    large,
    partners,
    two_speakers,
    viewpoint,
)
from iglu_marl.benchmark.results import Result, versions
from iglu_marl.benchmark.splits import Structures, content_id
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, ServiceRefusedError
from iglu_marl.core.files import write_text
from iglu_marl.core.parsing import parse_json, read_file, wrap_errors
from iglu_marl.data.packs.store import MissingPackError
from iglu_marl.evaluation.in_flight import in_flight
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.metrics import action_counts
from iglu_marl.text.game import ChatMessage, TextGame
from iglu_marl.text.rounds import Round, Rounds

FORMAT, VERSION = "iglu_marl language model benchmark", 1
ROWS = "models.json"
LIMIT = 512 * 2**20  # bytes of a result file
REPLIES_PER_ROUND = 3
RIGHT, WRONG, QUESTION = 10, -10, -5  # points of a round, as in Build What I Mean
STRICT: Mapping[str, Any] = {
    "temperature": 0.0, "top_p": 1.0, "stop": [], "structured": False, "thinking": "auto", "extra": {},
    "view": "layers", "max_requests": 0, "prompts": [Prompts(role.value).digest for role in Role],
}  # fmt: skip
"""The strict profile. Rows with other values are marked."""


# ---------------------------------------------------------------------------------------------------------- levels


@dataclass(frozen=True)
class ModelLevel:
    """A level for language models.

    Args:
        name: id with version.
        about: one sentence on the tasks.
        make: samples the rounds of a game, for a builder that is instructed.
        listed: returns all games, in place of `make`.
        structures: random structures that an architect describes, in place of rounds.
        role: of the model: "builder", "architect", or "both" (two models).
        games: number of games of a complete row.
        points: whether the score counts points for each round, instead of games without a mistake.
        feedback: see `Rounds`.
        max_replies: limit per game; None: `REPLIES_PER_ROUND` for each round.

    """

    name: str
    about: str
    make: Maker | None = None
    listed: Callable[[], Sequence[Game]] | None = None
    structures: Structures | None = None
    role: Literal["builder", "architect", "both"] = "builder"
    games: int = 100
    points: bool = False
    feedback: Literal["none", "right", "target"] = "right"
    max_replies: int | None = None

    def game(self, number: int, seed: int = 0) -> Game | Round:
        """Return the rounds of a game, or the structure to be described. seed: of the tasks; 0 is the public part."""
        rng = np.random.default_rng([seed, number, zlib.crc32(self.name.encode())])
        if self.make is not None:
            return self.make(rng)
        if self.structures is not None:
            task = self.structures.sample(rng)
            return Round("", task.start_grid, task.target_grid)
        assert self.listed is not None
        return self._order(seed)[number]

    def _order(self, seed: int) -> Sequence[Game]:
        assert self.listed is not None
        games = self.listed()
        chosen = np.random.default_rng(seed).permutation(len(games))[: self.games]
        return [games[number] for number in sorted(chosen)]

    @property
    def count(self) -> int:
        """Number of games of a complete row. Raises `MissingPackError` if a corpus is missing."""
        return self.games if self.listed is None else min(self.games, len(self.listed()))

    def start(self, number: int, seed: int = 0, **options: Any) -> tuple[TextGame, list[ChatMessage]]:
        """Start a game: the game and its first chat. options: those of `TextGame`."""
        made = self.game(number, seed)
        if isinstance(made, Game):
            partner = Rounds(made.rounds, self.feedback)
            most = self.max_replies or REPLIES_PER_ROUND * len(made.rounds)
            history = max(40, 4 * len(made.rounds) + len(made.rounds[0].before))
            game = TextGame(
                partner=partner, **{"max_replies": most, "max_edits": 64, "history": history, **options}
            )
            return game, game.reset(number, partner.task)
        own = {"role": self.role, "max_replies": self.max_replies, "max_edits": 64}
        game = TextGame(**{**own, **options})
        task = Rounds([made]).task
        return game, game.reset(number, task)

    def digest(self, seed: int, count: int) -> str:
        """Return a hash of the first games of a seed: all that is said, started from, and asked for."""
        found = hashlib.blake2b(f"{self.name} {self.points} {self.max_replies}".encode(), digest_size=6)
        for number in range(count):
            made = self.game(number, seed)
            for part in made.rounds if isinstance(made, Game) else [made]:
                said = [(one.role.value, one.text) for one in part.before]
                found.update(
                    json.dumps([said, part.text, part.answer, part.ask, part.guess, part.pose]).encode()
                )
                found.update(part.start.astype(np.int8).tobytes() + part.target.astype(np.int8).tobytes())
        return found.hexdigest()


def _human() -> Sequence[Game]:
    """Return what people asked for in the IGLU single-turn corpus: the structures of the test split."""
    from iglu_marl.benchmark.catalog import find

    tasks = find("told-human-v1").tasks("test")
    return [
        Game((Round("", task.start_grid, task.target_grid, before=tuple(task.dialogue)),), task.task_id or "")
        for task in tasks  # type: ignore[attr-defined]
    ]


@lru_cache(maxsize=1)
def _sessions() -> Sequence[Game]:
    """Return the bundled sessions as whole structures, each with its whole dialogue."""
    from iglu_marl.tasks import BundledTasks

    tasks = BundledTasks(mode="structures", dialog=True)
    return [
        Game((Round("", task.start_grid, task.target_grid, before=tuple(task.dialogue)),), content_id(task))
        for task in tasks
    ]


@lru_cache(maxsize=1)
def _next_actions() -> Sequence[Game]:
    """Return the test samples of builder action prediction in the Minecraft Dialogue Corpus."""
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.evaluation.action_prediction import bap_samples

    sessions = [one for one in Corpus.open().sessions.values() if one.split == "test"]
    if not sessions:
        raise MissingPackError("the Minecraft Dialogue Corpus has no session of the test split here")
    return [
        Game(
            (
                Round(
                    "", s.situation.grid, s.target, before=tuple(s.situation.dialogue), pose=s.situation.pose
                ),
            ),
            s.unit,
        )
        for s in bap_samples(sessions)
    ]


LEVELS: tuple[ModelLevel, ...] = (
    ModelLevel(
        "models-human-v1", "Changes that people asked for in the IGLU single-turn corpus, by structure.", listed=_human,
        games=1000,
    ),
    ModelLevel(
        "models-next-v1", "What a builder does next in sessions of the Minecraft Dialogue Corpus (its test split).",
        listed=_next_actions, games=10_000,
    ),
    ModelLevel(
        "models-sessions-v1", "Whole structures, of which an architect's whole side of a session is given at once.",
        listed=_sessions, games=1000,
    ),
    ModelLevel(
        "models-clarification-v1", "Four instructions, of which two leave out a colour, side, number or block.",
        make=clarification,
    ),
    ModelLevel(
        "models-speakers-v1", "Forty trials of a reliable and an unreliable speaker, after Build What I Mean.",
        make=two_speakers, games=10, points=True, feedback="target",
    ),
    ModelLevel("models-viewpoint-v1", "One block, placed from somebody's point of view.", make=viewpoint),
    ModelLevel("models-large-v1", "Structures of 20 to 50 blocks, described at once.", make=large),
    ModelLevel("models-partners-v1", "Seven terse, mistaken and vague instructions.", make=partners),
    ModelLevel(
        "models-architect-v1", "Structures of 12 to 20 blocks, described to the scripted builder in 12 messages.",
        structures=Structures(12, 20, 4, 4, 3), role="architect", games=30, max_replies=12,
    ),
    ModelLevel(
        "models-pair-v1", "Two models together: structures of 20 to 50 blocks within 40 replies.",
        structures=Structures(20, 50, 5, 5, 4), role="both", games=30, max_replies=40,
    ),
)  # fmt: skip
_BY_NAME = {level.name: level for level in LEVELS}


def find_level(name: str) -> ModelLevel:
    """Return a level of the benchmark of language models. Raises `ConfigError` if there is none of this name."""
    if name not in _BY_NAME:
        raise ConfigError(f"level is {name!r}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def commitment(seed: int, salt: str) -> str:
    """Return a hash to publish before a seed of tasks is used; seed and salt are published afterwards."""
    return hashlib.sha256(f"{salt}:{seed}".encode()).hexdigest()


# -------------------------------------------------------------------------------------------------------- outcomes


class GameRow(NamedTuple):
    """Outcome of a game.

    game: number. unit: what it has in common with others (a structure, a session), for intervals. score: 0..1; see
    `outcome`. rounds, right: number of rounds and of right ones. cells: right, made and asked net actions. wrong:
    number of wrong changes of cells. needless, missing: questions too many, and rounds without a needed one. words: of
    the model. requests, tokens, cost: what it took. replies: the texts, from which the game can be repeated.
    """

    game: int
    unit: str
    score: float
    success: bool
    rounds: int
    right: int
    cells: tuple[int, int, int]
    wrong: int
    questions: int
    needless: int
    missing: int
    words: int
    unread: int
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failures: Mapping[str, int] = {}
    replies: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> GameRow:
        """Read a row of a file."""
        lists = {"cells": tuple(content["cells"]), "replies": tuple(content["replies"])}
        return cls(**{**content, **lists})


def outcome(level: ModelLevel, number: int, seed: int, game: TextGame) -> GameRow:
    """Judge a game that is over.

    A game is a success if every round was right at its first build, with no needless and no missing question; a
    structure that the model describes, if it stands without a wrong block on the way. The score is the same, or on
    levels with points: (points - blind) / (best - blind), where `blind` has the better of two builders, one of whom
    always asks and one of whom never does, and `best` asks where it is needed. It is at least 0.
    """
    made, counts = level.game(number, seed), game.counts
    if isinstance(made, Round):
        found = action_counts(made.start, made.target, game.grid)
        success = bool((game.grid == made.target).all()) and not counts["wrong"]
        return GameRow(
            number, content_id(game.task), float(success), success, 1, int(success), tuple(found), counts["wrong"],
            counts["questions"], 0, 0, counts["words"], counts["unread"],
        )  # fmt: skip
    assert isinstance(game.partner, Rounds)
    played, needless, missing, points = game.partner.played, 0, 0, 0
    lost = [action_counts(one.start, one.target, one.start) for one in made.rounds[len(played) :]]
    for one, done in zip(made.rounds, played, strict=False):
        needless += max(0, done.asked - (one.ask == "needed"))
        missing += one.ask == "needed" and not done.asked
        points += (RIGHT if done.right else WRONG) + QUESTION * done.asked
    points += WRONG * len(lost)
    right = sum(done.right for done in played)
    success = right == len(made.rounds) and not needless and not missing
    score = _skill(made, points) if level.points else float(success)
    cells = np.sum([*(done.counts for done in played), *lost], axis=0).tolist()
    return GameRow(
        number, made.unit or str(number), score, success, len(made.rounds), right, tuple(cells), counts["wrong"],
        counts["questions"], needless, missing, counts["words"], counts["unread"],
    )  # fmt: skip


def _skill(made: Game, points: int) -> float:
    asking = len(made.rounds) * (RIGHT + QUESTION)
    guessing = sum(RIGHT if one.guess else WRONG for one in made.rounds)
    best = sum(RIGHT + QUESTION * (one.ask == "needed") for one in made.rounds)
    return max(0.0, (points - max(asking, guessing)) / (best - max(asking, guessing)))


# --------------------------------------------------------------------------------------------------------- results


@dataclass(frozen=True)
class ModelResult:
    """The games of one agent on one level.

    Args:
        level: name of the level.
        name: name of the agent.
        count: number of games asked for.
        tasks: digest of the tasks.
        seed: of the tasks; None: not published, and `commitment` stands for it.
        profile: all settings that determine the replies.
        rows: finished games.
        failed: number of games that the service spoilt; they are in no average.
        served: what servers said about the model: names, fingerprints and software.
        partner: name of the other model in games of two; "": the same model.

    """

    level: str
    name: str
    count: int
    tasks: str
    seed: int | None
    profile: Mapping[str, Any]
    rows: tuple[GameRow, ...]
    failed: int = 0
    served: tuple[str, ...] = ()
    commitment: str = ""
    partner: str = ""
    date: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, ...]:
        """What two rows of a table must share to be compared: level, tasks and number of games."""
        return self.level, self.tasks, str(self.count)

    @property
    def setting(self) -> str:
        """Digest of the profile, 6 hexadecimal digits."""
        text = json.dumps([dict(self.profile), self.partner], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=3).hexdigest()

    @property
    def marks(self) -> list[str]:
        """What differs from the strict profile and a complete row; [] for a row that can be cited."""
        found = [
            f"own {name}" if name == "prompts" else f"{name}={self.profile[name]}"
            for name, strict in STRICT.items()
            if name in self.profile and self.profile[name] != strict
        ]
        level = _BY_NAME.get(self.level)
        if level is not None and self.count < min(level.games, 1 if level.listed else level.games):
            found.append(f"{self.count} of {level.games} games")
        if len(self.rows) < self.count:
            found.append(f"{self.count - len(self.rows)} games failed")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        about = {name: getattr(self, name) for name in self.__dataclass_fields__}
        about |= {"rows": [row._asdict() for row in self.rows], "served": list(self.served)}
        return {"format": FORMAT, "version": VERSION, **about}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> ModelResult:
        """Read the content that `to_json` returns. Raises `DataError` if it is of another format."""
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise DataError(f"format is {content['format']!r:.60}, expected {FORMAT!r}, version {VERSION}")
        about = {name: content[name] for name in cls.__dataclass_fields__}
        rows = tuple(GameRow.of(row) for row in about["rows"])
        return cls(**{**about, "rows": rows, "served": tuple(about["served"])})

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ModelResult:
        """Read a result file. Raises `DataError`."""
        place = f"{path} is no result of the benchmark of language models"
        with wrap_errors(place):
            return cls.from_json(parse_json(read_file(Path(path), LIMIT), place))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the file atomically and return its path."""
        return write_text(path, json.dumps(self.to_json(), indent=1) + "\n")

    def verify(self, seed: int | None = None, salt: str = "") -> list[str]:
        """Repeat all games from their replies, and return what does not agree. seed, salt: once they are published."""
        level, used = find_level(self.level), self.seed if self.seed is not None else seed
        if used is None:
            return ["the seed of the tasks is not published"]
        found = []
        if self.commitment and self.commitment != commitment(used, salt):
            found.append("the seed and the salt are not those of the commitment")
        if level.digest(used, self.count) != self.tasks:
            return [*found, "the tasks are others"]
        for row in self.rows:
            game, _ = level.start(row.game, used, **_game_options(self.profile))
            for reply in row.replies:
                game.step(reply)
            played = outcome(level, row.game, used, game)
            if any(getattr(row, name) != getattr(played, name) for name in GameRow._fields[:13]):
                found.append(f"game {row.game} has another outcome")
        return found


@lru_cache(maxsize=1)
def reference_results() -> tuple[Result, ...]:
    """Return the results of random and scripted agents on levels of version 0, which come with the package."""
    place = files("iglu_marl.benchmark") / ROWS
    with wrap_errors(str(place)):
        return tuple(Result.from_json(part) for part in parse_json(place.read_bytes(), str(place)))


# --------------------------------------------------------------------------------------------------------- playing

Answer = Callable[[Sequence[TextGame], Sequence[list[ChatMessage]]], Sequence[Reply]]
"""Returns a reply for each of several games and their chats."""


def _game_options(profile: Mapping[str, Any]) -> dict[str, Any]:
    found = {"view": profile.get("view", "layers"), "prompts": profile.get("prompt_folder", "")}
    return found | ({"max_replies": profile["max_requests"]} if profile.get("max_requests") else {})


class Seat:
    """A model at the table: its settings, backend, and what its server says about it."""

    def __init__(self, agent: str) -> None:
        maker = NamedModel(None, "", None) if agent == "llm" else NamedModel.of(agent, None)
        self.settings = maker.settings()
        if self.settings.view == "picture":
            raise ConfigError("view is 'picture', expected layers, coordinates or auto")
        self.backend: Backend = acquire_backend(self.settings)
        self.served: set[str] = set()

    def answer(self, games: Sequence[TextGame], chats: Sequence[list[ChatMessage]]) -> list[Reply]:
        """Return the replies to chats, in one batch."""
        requests = [
            ChatRequest(
                tuple(Message(part["role"], part["content"]) for part in chat),
                int(np.random.default_rng([game.seed, game.counts["replies"]]).integers(2**31)),
            )
            for game, chat in zip(games, chats, strict=True)
        ]
        replies = self.backend.complete(requests)
        for reply in replies:
            if reply.failure is not None and reply.failure.is_final:
                raise ServiceRefusedError(f"{self.backend!r}: {reply.failure}. {reply.detail}")
            self.served.update([reply.served] if reply.served else [])
        return replies

    def profile(self) -> dict[str, Any]:
        """Return the settings that determine the replies."""
        unused = ("attempts", "changes", "history", "max_edits", "view")
        return {name: value for name, value in self.settings.describe().items() if name not in unused}

    def close(self) -> None:
        """Release the backend."""
        release_backend(self.settings)


def play_games(
    level: ModelLevel,
    numbers: Sequence[int],
    seed: int,
    answers: Mapping[Role, Answer],
    options: Mapping[str, Any],
) -> list[GameRow | str]:
    """Play games together, one reply of each at a time; return a row for each, or the failure that spoilt it.

    answers: for each role that is played. options: those of `TextGame`.
    """
    started = {number: level.start(number, seed, **options) for number in numbers}
    games = {number: game for number, (game, _) in started.items()}
    chats = {number: chat for number, (_, chat) in started.items()}
    spent: dict[int, Counter[str]] = {number: Counter() for number in numbers}
    texts: dict[int, list[str]] = {number: [] for number in numbers}
    failures: dict[int, Counter[str]] = {number: Counter() for number in numbers}
    found: dict[int, GameRow | str] = {}
    while chats:
        for role in Role:
            turn = [number for number in chats if games[number].turn is role]
            if not turn:
                continue
            replies = answers[role]([games[n] for n in turn], [chats[n] for n in turn])
            for number, reply in zip(turn, replies, strict=True):
                spent[number].update(
                    requests=1, prompt=reply.prompt_tokens + reply.kept[0],
                    completion=reply.completion_tokens + reply.kept[1],
                )  # fmt: skip
                if reply.failure is not None:
                    failures[number][reply.failure.value] += 1
                    if not reply.failure.is_of_model:
                        found[number] = f"{reply.failure}: {reply.detail}"
                        del chats[number]
                        continue
                texts[number].append(reply.text)
                chats[number], _, over, _ = games[number].step(reply.text)
                if over:
                    del chats[number]
    for number in numbers:
        if number not in found:
            found[number] = outcome(level, number, seed, games[number])._replace(
                requests=spent[number]["requests"], prompt_tokens=spent[number]["prompt"],
                completion_tokens=spent[number]["completion"], failures=dict(failures[number]),
                replies=tuple(texts[number]),
            )  # fmt: skip
    return [found[number] for number in numbers]


def run_models(
    agent: str,
    levels: Iterable[str] = (),
    *,
    partner: str = "",
    name: str = "",
    games: int | None = None,
    seed: int = 0,
    salt: str = "",
    max_requests: int = 0,
    output: Path,
    concurrency: int | None = None,
    command: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> list[ModelResult]:
    """Play levels, write a result file for each, and return the results.

    Args:
        agent: "llm", "llm:MODEL@ENDPOINT", or one of `iglu_marl.benchmark.model_players.PLAYERS`.
        levels: names; (): all.
        partner: the builder of games of two, where `agent` is the architect; "": `agent` plays both.
        name: name of the agent in tables.
        games: games per level; None: all.
        seed: of the tasks; 0 is the public part. Of another seed the file has only the commitment.
        salt: of the commitment; needed for a seed other than 0.
        max_requests: limit per game; 0: that of the level.
        output: folder for result files and games. If it is used again, only missing games are played.
        concurrency: games at once; None: what the settings say.
        command: the command line, kept in the result.
        progress: called with the name of each level, and the reason if it is skipped.

    Raises:
        ConfigError: if a level or agent is unknown, or the folder has games with other settings.
        ServiceRefusedError: if every request would fail.

    """
    if seed and len(salt) < 8:
        raise ConfigError(f"salt has {len(salt)} characters, expected 8 or more for a seed other than 0")
    chosen = [find_level(one) for one in levels] or list(LEVELS)
    seats = _seats(agent, partner)
    found = []
    try:
        for level in chosen:
            try:
                count = min(games or level.count, level.count) if level.listed else games or level.count
            except MissingPackError as reason:
                progress(f"{level.name}: skipped, {str(reason).partition(chr(10))[0]}")
                continue
            progress(level.name)
            profile = _profile(seats, level, max_requests)
            settings = {
                "level": level.name,
                "tasks": level.digest(seed, count),
                "profile": profile,
                "partner": partner,
            }
            rows, failed = _play_level(level, range(count), seed, seats, settings, output, concurrency)
            served = {text for seat in seats.values() if isinstance(seat, Seat) for text in seat.served}
            result = ModelResult(
                level.name, name or agent, count, settings["tasks"], None if seed else 0, profile, rows, failed,
                tuple(sorted(served)), commitment(seed, salt) if seed else "", partner,
                datetime.now(timezone.utc).strftime("%Y-%m-%d"), command, versions(),
            )  # fmt: skip
            result.write(output / f"{level.name}.json")
            found.append(result)
    finally:
        for seat in seats.values():
            seat.close()
    return found


def _seats(agent: str, partner: str) -> dict[Role, Any]:
    from iglu_marl.benchmark.model_players import PLAYERS, PolicySeat

    def seat(name: str) -> Any:
        if name == "llm" or name.startswith(NamedModel.PREFIX):
            return Seat(name)
        if name not in PLAYERS:
            raise ConfigError(
                f"agent is {name!r}, expected llm, llm:MODEL@ENDPOINT or one of {', '.join(PLAYERS)}"
            )
        return PolicySeat(name)

    return {Role.ARCHITECT: seat(agent), Role.BUILDER: seat(partner or agent)}


def _profile(seats: Mapping[Role, Any], level: ModelLevel, max_requests: int) -> dict[str, Any]:
    measured = seats[Role.BUILDER if level.role == "builder" else Role.ARCHITECT]
    about = dict(measured.profile())
    view, folder = (
        (measured.settings.view, measured.settings.prompts) if isinstance(measured, Seat) else ("layers", "")
    )
    about |= {"view": view, "max_requests": max_requests, "prompt_folder": folder}
    about["prompts"] = [Prompts(role.value, folder).digest for role in Role]
    if level.role == "both" and seats[Role.BUILDER] is not seats[Role.ARCHITECT]:
        about["builder"] = dict(seats[Role.BUILDER].profile())
    return about


def _play_level(
    level: ModelLevel, numbers: Sequence[int], seed: int, seats: Mapping[Role, Any], settings: Mapping[str, Any],
    output: Path, concurrency: int | None,
) -> tuple[tuple[GameRow, ...], int]:  # fmt: skip
    """Play the missing games of a level; return all rows in order, and the number of failed games."""
    output.mkdir(parents=True, exist_ok=True)
    log: RowLog[GameRow] = RowLog(
        output / f"{level.name}.games.jsonl", dict(settings), form=(FORMAT, VERSION), what="games of language models",
        from_json=GameRow.of, to_json=lambda row: row._asdict(),
    )  # fmt: skip
    answers = {role: seat.answer for role, seat in seats.items()}
    with closing(log):
        known = {row.game for row in log.rows}
        missing = [number for number in numbers if number not in known]
        seat = seats[Role.BUILDER if level.role == "builder" else Role.ARCHITECT]
        remote = isinstance(seat, Seat) and bool(seat.settings.endpoint)
        size = 1 if remote or not isinstance(seat, Seat) else seat.settings.batch_size
        groups = [missing[at : at + size] for at in range(0, len(missing), size)]
        at_once = (concurrency or seat.settings.concurrency) if remote else 1
        failed = 0
        options = _game_options(settings["profile"])
        for _, rows in in_flight(
            lambda group: play_games(level, group, seed, answers, options), groups, at_once
        ):
            for row in rows:
                if isinstance(row, str):
                    failed += 1
                else:
                    cost = (
                        seat.backend.cost(row.prompt_tokens, row.completion_tokens)
                        if isinstance(seat, Seat)
                        else 0
                    )
                    log.add(row._replace(cost=round(cost, 6)))
        return tuple(sorted(log.rows, key=lambda row: row.game)), failed


def estimate(
    levels: Iterable[str] = (), *, games: int | None = None, settings: LLMSettings, words: int = 60
) -> Iterator[dict[str, Any]]:
    """Yield for each level what it takes, without sending anything: requests, tokens and cost.

    `requests` is for a builder that is always right (or an architect that needs all its messages), with replies of
    `words` words; `most_requests` is the limit. Four characters count as a token; a game beyond its first five counts
    as their mean. Levels without their corpus are left out.
    """
    from iglu_marl.benchmark.model_players import PLAYERS

    for level in [find_level(one) for one in levels] or list(LEVELS):
        try:
            count = min(games or level.count, level.count)
        except MissingPackError:
            continue
        requests = prompt = most = 0
        some = min(count, 5)
        for number in range(some):
            game, chat = level.start(number)
            over = False
            while not over:
                requests += 1
                prompt += sum(len(part["content"]) for part in chat) // 4
                chat, _, over, _ = game.step(PLAYERS["oracle"](game, chat))
            most += game.max_replies or 0
        share = count / some
        reply = words * 4 // 3 + settings.reasoning_tokens // 2
        prices = settings.prompt_price, settings.reply_price
        yield {
            "level": level.name, "games": count, "requests": round(requests * share),
            "most_requests": round(most * share),
            "prompt_tokens": round(prompt * share), "reply_tokens": round(requests * share * reply),
            "cost": round(share * (prompt * prices[0] + requests * reply * prices[1]) / 1e6, 4),
        }  # fmt: skip
