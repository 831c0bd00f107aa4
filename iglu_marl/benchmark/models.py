"""The benchmark of language models: levels, games, and result files.

A game is a `TextGame`: a chat, a reply, the next chat. So the same games are played through an endpoint or a local
model (`run_models`), and with Inspect AI (`inspect_tasks`), and `outcome` judges all of them.
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
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.backends import acquire_backend, release_backend
from iglu_marl.agents.llm.messages import ChatRequest, Message, Reply
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.llm.prompting import Prompts
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.benchmark import model_tasks
from iglu_marl.benchmark.catalog import find
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.model_tasks import Maker, RoundsGame
from iglu_marl.benchmark.splits import Structures, content_digest
from iglu_marl.core import schema
from iglu_marl.core.arguments import MAX_SEED, as_count
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, DataError, ServiceRefusedError
from iglu_marl.core.files import made_folder, write_text
from iglu_marl.core.jobs import do_jobs, each
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.core.versions import versions
from iglu_marl.data.packs.store import MissingPackError
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.metrics import action_counts
from iglu_marl.tasks.cube_tasks import CubeTasks
from iglu_marl.text.game import ChatMessage, TextGame
from iglu_marl.text.rounds import InstructedRound, Rounds

FORM = ("iglu_marl language model benchmark", 1)
REPLIES_PER_ROUND = 3
RIGHT, WRONG, QUESTION = 10, -10, -5  # points of a round, as in Build What I Mean
STRICT: Mapping[str, Any] = {
    "temperature": 0.0, "top_p": 1.0, "stop": [], "structured": False, "thinking": "auto", "extra": {},
    "view": "layers", "max_requests": 0, "prompts": [Prompts(role.value).digest for role in Role], "transport": "chat",
}  # fmt: skip
"""The strict profile. Rows with other values are marked."""


# ---------------------------------------------------------------------------------------------------------- levels


@dataclass(frozen=True)
class ModelLevel:
    """A level for language models.

    Args:
        name: id with version.
        about: one sentence on the tasks.
        make: samples the rounds of a game; or `listed` returns all games; or an architect describes `structures`.
        role: of the model: "builder", "architect", or "both" (two models).
        games: number of games of a complete row; of listed games at most all.
        points: whether the score counts points for each round, instead of games without a mistake.
        max_replies: limit per game; 0: `REPLIES_PER_ROUND` for each round.
        team: name of a team, all of which the models play.
        pictures: whether builds are shown as pictures.

    """

    name: str
    about: str
    make: Maker | None = None
    listed: Callable[[], Sequence[RoundsGame]] | None = None
    structures: Structures | CubeTasks | None = None
    role: Literal["builder", "architect", "both"] = "builder"
    games: int = 100
    points: bool = False
    max_replies: int = 0
    team: str | None = None
    pictures: bool = False

    def __post_init__(self) -> None:
        if (self.make, self.listed, self.structures) == (None, None, None):
            raise ConfigError(f"the level {self.name!r:.80} has no tasks: give make, listed or structures")

    @property
    def count(self) -> int:
        """Number of games of a complete row. Raises `MissingPackError` if a corpus is missing."""
        return self.games if self.listed is None else min(self.games, len(self.listed()))

    def game(self, number: int, seed: int = 0) -> RoundsGame:
        """Return a game; a structure to be described is one round. seed: of the tasks; 0 is the public part."""
        as_count("seed", seed, 0, MAX_SEED)
        as_count("number", number, 0, MAX_SEED if self.listed is None else len(self.listed()) - 1)
        if self.listed is not None:
            games = self.listed()
            return games[int(np.random.default_rng(seed).permutation(len(games))[number])]
        rng = np.random.default_rng([seed, number, zlib.crc32(self.name.encode("utf-8", "surrogatepass"))])
        if self.make is not None:
            return self.make(rng)
        assert self.structures is not None
        return _whole(self.structures.sample(rng))

    def start(self, number: int, seed: int = 0, **options: Any) -> tuple[TextGame, list[ChatMessage]]:
        """Start a game: the game and its first chat. options: those of `TextGame`."""
        rounds = self.game(number, seed).rounds
        own: dict[str, Any] = {
            "max_edits": 64,
            "max_replies": self.max_replies or REPLIES_PER_ROUND * len(rounds),
        }
        partner = Rounds(rounds, "target" if self.points else "right")
        if self.role == "builder":
            own |= {"partner": partner, "history": max(40, 4 * len(rounds) + len(rounds[0].before))}
        view = {"view": "picture"} if self.pictures else {}
        game = TextGame(**{**own, "role": self.role, "team": self.team, **options, **view})
        return game, game.reset(number, partner.task)

    def digest(self, seed: int, count: int) -> str:
        """Return a hash of the first games of a seed: all that is said, started from, and asked for."""
        found = hashlib.blake2b(f"{self.name} {self.points} {self.max_replies}".encode(), digest_size=6)
        for part in (one for number in range(count) for one in self.game(number, seed).rounds):
            said = [(one.role.value, one.text) for one in part.before]
            found.update(json.dumps([said, part.text, part.answer, part.ask, part.guess, part.pose]).encode())
            found.update(part.start.astype(np.int8).tobytes() + part.target.astype(np.int8).tobytes())
        return found.hexdigest()


def _whole(task: Task, unit: str = "") -> RoundsGame:
    said = tuple(task.dialogue)
    return RoundsGame(
        (InstructedRound("", task.start_grid, task.target_grid, before=said),), unit or content_digest(task)
    )


def _human() -> Sequence[RoundsGame]:
    """Return what people asked for in the IGLU single-turn corpus: the structures of the test split."""
    tasks: Any = find("human-turns-v2").tasks("test")
    return [_whole(task, task.task_id) for task in tasks]


@lru_cache(maxsize=1)
def _sessions() -> Sequence[RoundsGame]:
    """Return the bundled sessions as whole structures, each with its whole dialogue."""
    from iglu_marl.tasks import BundledTasks

    return [_whole(task) for task in BundledTasks(mode="structures", dialog=True)]


@lru_cache(maxsize=1)
def _next_actions() -> Sequence[RoundsGame]:
    """Return the test samples of builder action prediction in the Minecraft Dialogue Corpus."""
    from iglu_marl.data.mdc.corpus import Corpus
    from iglu_marl.evaluation.action_prediction import bap_samples

    sessions = [one for one in Corpus.open().sessions.values() if one.split == "test"]
    if not sessions:
        raise MissingPackError("the Minecraft Dialogue Corpus here has no session of the test split")
    found = []
    for sample in bap_samples(sessions):
        seen = sample.situation
        only = InstructedRound("", seen.grid, sample.target, before=tuple(seen.dialogue), pose=seen.pose)
        found.append(RoundsGame((only,), sample.unit))
    return found


LEVELS: tuple[ModelLevel, ...] = (
    ModelLevel("models-human-v1", "One change that a person asked for, in the IGLU single-turn corpus.", listed=_human,
               games=1000),
    ModelLevel("models-next-v1", "What a builder does next in sessions of the Minecraft Dialogue Corpus, test split.",
               listed=_next_actions, games=10_000),
    ModelLevel("models-sessions-v1", "A whole structure, for which the dialogue of a whole session is given at once.",
               listed=_sessions, games=1000),
    ModelLevel("models-clarification-v1", "Four instructions, of which two leave out a colour, side, number or block.",
               model_tasks.clarification),
    ModelLevel("models-speakers-v1", "Forty trials of a reliable and an unreliable speaker, after Build What I Mean.",
               model_tasks.two_speakers, games=10, points=True),
    ModelLevel("models-viewpoint-v1", "One block, placed from somebody's point of view.", model_tasks.viewpoint),
    ModelLevel("models-pictures-v1", "One block beside one that the builder sees, in pictures.", model_tasks.in_view,
               pictures=True),
    ModelLevel("models-large-v1", "A structure of 20 to 50 blocks, described at once.", model_tasks.large),
    ModelLevel("models-partners-v1", "Eight terse, mistaken and vague instructions.", model_tasks.partners),
    ModelLevel("models-architect-v1", "A structure of 12 to 20 blocks, described to the scripted builder in 10 texts.",
               structures=Structures(12, 20, 4, 4, 3), role="architect", games=30, max_replies=10),
    ModelLevel("models-pair-v1", "Two models together: a structure of 20 to 50 blocks within 40 replies.",
               structures=Structures(20, 50, 5, 5, 4), role="both", games=30, max_replies=40),
    ModelLevel("models-team-v1", "After CRAFT: three architects who each see one side, a builder, 20 turns.",
               structures=CubeTasks(), role="both", games=30, max_replies=80, team="craft"),
)  # fmt: skip
_BY_NAME = {level.name: level for level in LEVELS}


def find_level(name: str) -> ModelLevel:
    """Return a level of the benchmark of language models. Raises `ConfigError` if there is none of this name."""
    if name not in _BY_NAME:
        raise ConfigError(f"level is {name!r}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def _playable(
    names: Iterable[str], games: int | None, skipped: Callable[[str], None], *, pictures: bool = True
) -> Iterator[tuple[ModelLevel, int]]:
    """Yield levels with their number of games; those without their corpus, or with unseen pictures, are skipped."""
    for level in [find_level(name) for name in names] or LEVELS:
        if level.pictures and not pictures:
            skipped(
                f"{level.name}: skipped, the model reads no pictures (IGLU_MARL_LLM_PICTURES=1 if it does)"
            )
            continue
        try:
            yield level, min(games or level.count, level.count)
        except MissingPackError as reason:
            skipped(f"{level.name}: skipped, {str(reason).partition(chr(10))[0]}")


def commitment(seed: int, salt: str) -> str:
    """Return a hash to publish before a seed of tasks is used; seed and salt are published afterwards."""
    return hashlib.sha256(f"{salt}:{seed}".encode()).hexdigest()


# --------------------------------------------------------------------------------------------------------- results


class GameRow(NamedTuple):
    """Outcome of a game.

    game: number. unit: what it has in common with others (a structure, a session), for intervals. score: 0..1; see
    `outcome`. rounds, right: number of rounds and of right ones. actions: right, made and asked net actions. wrong:
    number of wrong changes of cells. needless, missing: questions too many, and rounds without a needed one. words: of
    the model. requests, tokens, cost: what it took. replies: the texts, from which the game can be repeated.
    """

    game: int
    unit: str
    score: float
    success: bool
    rounds: int
    right: int
    actions: Sequence[int]
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
    replies: Sequence[str] = ()


_TEXT, _COUNT, _ANY = schema.some_text(10_000), schema.whole(), schema.Field(lambda value: True, "any value")
ROW_SCHEMA: Mapping[str, Any] = {
    "game": _COUNT,
    "unit": _TEXT,
    "score": schema.number(0, 1),
    "success": schema.FLAG,
    **dict.fromkeys(("rounds", "right"), _COUNT),
    "actions": (_COUNT, _COUNT, _COUNT),
    **dict.fromkeys(("wrong", "questions", "needless", "missing", "words", "unread"), _COUNT),
    **dict.fromkeys(("requests", "prompt_tokens", "completion_tokens"), _COUNT),
    "cost": schema.number(),
    "failures": schema.Entries(_TEXT, _COUNT),
    "replies": [schema.Field(lambda value: isinstance(value, str), "a text")],
}
FILE_SCHEMA: Mapping[str, Any] = {
    "format": schema.one_of(FORM[:1]),
    "version": schema.one_of(FORM[1:]),
    "level": _TEXT,
    "name": _TEXT,
    "count": _COUNT,
    "tasks": schema.hexadecimal(12),
    "seed": schema.Maybe(_COUNT),
    "profile": schema.Entries(_TEXT, _ANY),
    "rows": [ROW_SCHEMA],
    "failed": _COUNT,
    "served": [_TEXT],
    "commitment": schema.text("([0-9a-f]{64})?", "64 hexadecimal digits, or none"),
    "date": schema.text("[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date YYYY-MM-DD"),
    "command": _TEXT,
    "versions": schema.Entries(_TEXT, _TEXT),
}
"""All keys of a result file of the benchmark of language models."""


def outcome(level: ModelLevel, number: int, seed: int, game: TextGame) -> GameRow:
    """Judge a game that is over.

    A game is a success if every round was right at its first build, with no needless and no missing question; a
    structure that the model describes, if it stands without a wrong block on the way. The score is the same, or on
    levels with points: (points - blind) / (best - blind), where `blind` has the better of two builders, one of whom
    always asks and one of whom never does, and `best` asks where it is needed. It is at least 0.
    """
    made, counts = level.game(number, seed), game.counts
    right = needless = missing = points = 0
    actions = np.zeros(3, np.int64)
    played = list(game.partner.played) if isinstance(game.partner, Rounds) else []
    for place, one in enumerate(made.rounds):
        built = one.start
        if level.role != "builder":
            built, is_right = game.grid, bool((game.grid == one.target).all()) and not counts["wrong"]
        elif is_played := place < len(played):
            asked = played[place].asked
            needless += max(0, asked - (one.ask == "needed"))
            missing += one.ask == "needed" and not asked
            points += QUESTION * asked
            built, is_right = played[place].built, played[place].right
        else:
            is_right = is_played
        right += is_right
        points += RIGHT if is_right else WRONG
        actions += action_counts(one.start, one.target, built)
    success = right == len(made.rounds) and not needless and not missing
    score = _skill(made, points) if level.points else float(success)
    return GameRow(
        number, made.unit or str(number), score, success, len(made.rounds), right, actions.tolist(), counts["wrong"],
        counts["questions"], needless, missing, counts["words"], counts["unread"],
    )  # fmt: skip


def _skill(made: RoundsGame, points: int) -> float:
    asking = len(made.rounds) * (RIGHT + QUESTION)
    guessing = sum(RIGHT if one.guess else WRONG for one in made.rounds)
    best = sum(RIGHT + QUESTION * (one.ask == "needed") for one in made.rounds)
    return max(0.0, (points - max(asking, guessing)) / (best - max(asking, guessing)))


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

    """

    level: str
    name: str
    count: int
    tasks: str
    seed: int | None
    profile: Mapping[str, Any]
    rows: Sequence[GameRow]
    failed: int = 0
    served: Sequence[str] = ()
    commitment: str = ""
    date: str = ""
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=versions)

    @property
    def key(self) -> tuple[str, str, int]:
        """What two results must share to be compared: level, tasks and number of games."""
        return self.level, self.tasks, self.count

    @property
    def setting(self) -> str:
        """Digest of the profile, 6 hexadecimal digits."""
        return hashlib.blake2b(json.dumps(self.profile, sort_keys=True).encode(), digest_size=3).hexdigest()

    @property
    def marks(self) -> list[str]:
        """What differs from the strict profile and a complete row; [] for a row that can be cited."""
        odd = {name: value for name, value in self.profile.items() if STRICT.get(name, value) != value}
        found = ["own prompts" if name == "prompts" else f"{name}={value}" for name, value in odd.items()]
        level = find_level(self.level)
        if level.listed is None and self.count < level.games:
            found.append(f"{self.count} of {level.games} games")
        if len(self.rows) < self.count:
            found.append(f"{self.count - len(self.rows)} of {self.count} games missing")
        return found

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ModelResult:
        """Read a result file. Raises `DataError`."""
        place = f"{path} is no result of the benchmark of language models"
        with wrap_errors(place):
            content = parse_json(read_file(Path(path), 512 * MIB), place)
            schema.check(FILE_SCHEMA, content)
            find_level(content["level"])
            rows = [GameRow(**row) for row in content["rows"]]
            games = [row.game for row in rows]
            if games != sorted(set(games)) or games[-1:] > [content["count"] - 1]:
                raise DataError(
                    f"rows has the games {games!s:.60}, expected some of 0..{content['count'] - 1} in order"
                )
            fields = {name: value for name, value in content.items() if name not in ("format", "version")}
            return cls(**{**fields, "rows": rows})

    def to_json(self) -> dict[str, Any]:
        """Return the content of the file."""
        rows = [row._asdict() for row in self.rows]
        return {"format": FORM[0], "version": FORM[1], **self.__dict__, "rows": rows}

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
            if list(outcome(level, row.game, used, game)[:13]) != list(row[:13]):
                found.append(f"game {row.game} has another outcome")
        return found


# --------------------------------------------------------------------------------------------------------- playing


class ModelSeat:
    """A player at the table: a model with its backend, or a player without a model.

    name: "llm", "llm:MODEL@ENDPOINT" or one of `PLAYERS`. Raises `ConfigError`.
    """

    def __init__(self, name: str) -> None:
        self.name, self.served = name, set[str]()
        self.settings: LLMSettings | None = None
        if name not in PLAYERS:
            if name != "llm" and not name.startswith(NamedModel.PREFIX):
                raise ConfigError(
                    f"agent is {name!r}, expected llm, llm:MODEL or one of {', '.join(PLAYERS)}"
                )
            maker = NamedModel(None, "", None) if name == "llm" else NamedModel.of(name, None)
            self.settings = maker.settings()
            self.backend = acquire_backend(self.settings)

    def answer(self, games: Sequence[TextGame], chats: Sequence[list[ChatMessage]]) -> list[Reply]:
        """Return the replies to the chats of several games, in one batch."""
        if self.settings is None:
            return [Reply(PLAYERS[self.name](game, chat)) for game, chat in zip(games, chats, strict=True)]
        requests = []
        for game, chat in zip(games, chats, strict=True):
            seed = int(np.random.default_rng([game.seed, game.counts["replies"]]).integers(2**31))
            requests.append(ChatRequest(tuple(map(Message.of_chat, chat)), seed))
        replies = self.backend.complete(requests)
        for reply in replies:
            if reply.failure is not None and reply.failure.is_final:
                raise ServiceRefusedError(f"{self.backend!r}: {reply.failure}. {reply.detail}")
            self.served.update([reply.served] if reply.served else [])
        return replies

    def profile(self) -> dict[str, Any]:
        """Return the settings that determine the replies."""
        if self.settings is None:
            return {"player": self.name}
        unused = ("attempts", "changes", "history", "max_edits")
        about = {name: value for name, value in self.settings.describe().items() if name not in unused}
        return {**about, "prompts": [Prompts(role.value, self.settings.prompts).digest for role in Role]}

    def groups(self, numbers: Sequence[int], at_once: int | None) -> tuple[list[Sequence[int]], int]:
        """Return games to play in one batch, and the number of batches at once."""
        remote = self.settings is not None and bool(self.settings.endpoint)
        size = 1 if remote or self.settings is None else self.settings.batch_size
        many = (at_once or self.settings.concurrency) if self.settings is not None and remote else 1
        return [numbers[at : at + size] for at in range(0, len(numbers), size)], many

    def close(self) -> None:
        """Release the backend."""
        if self.settings is not None:
            release_backend(self.settings)


def _game_options(profile: Mapping[str, Any], prompts: str = "") -> dict[str, Any]:
    found = {"view": profile.get("view", "layers"), "prompts": prompts}
    return found | ({"max_replies": profile["max_requests"]} if profile.get("max_requests") else {})


def play_games(
    level: ModelLevel, numbers: Sequence[int], seed: int, seats: Mapping[Role, ModelSeat], **options: Any
) -> list[GameRow | str]:
    """Play games together, one reply of each at a time; return a row for each, or the failure that spoilt it.

    options: those of `TextGame`.
    """
    games, chats, spoilt = dict[int, TextGame](), dict[int, list[ChatMessage]](), dict[int, str]()
    replies: dict[int, list[Reply]] = {number: [] for number in numbers}
    for number in numbers:
        games[number], chats[number] = level.start(number, seed, **options)
    while any(chats.values()):
        for role, seat in seats.items():
            turn = [number for number in numbers if chats[number] and games[number].turn is role]
            made = seat.answer([games[n] for n in turn], [chats[n] for n in turn]) if turn else []
            for number, reply in zip(turn, made, strict=True):
                replies[number].append(reply)
                if reply.failure is None or reply.failure.is_of_model:
                    chats[number] = games[number].step(reply.text)[0]
                else:
                    chats[number], spoilt[number] = [], f"{reply.failure}: {reply.detail}"
    return [spoilt.get(n) or _with_usage(outcome(level, n, seed, games[n]), replies[n]) for n in numbers]


def _with_usage(row: GameRow, replies: Sequence[Reply]) -> GameRow:
    return row._replace(
        requests=len(replies),
        prompt_tokens=sum(one.prompt_tokens + one.kept[0] for one in replies),
        completion_tokens=sum(one.completion_tokens + one.kept[1] for one in replies),
        failures=Counter(one.failure.value for one in replies if one.failure is not None),
        replies=[one.text for one in replies],
    )


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
    seats = {Role.ARCHITECT: ModelSeat(agent), Role.BUILDER: ModelSeat(partner or agent)}
    today, found = datetime.now(timezone.utc).strftime("%Y-%m-%d"), []
    try:
        sighted = all(seat.settings is None or seat.backend.sees_pictures for seat in seats.values())
        for level, count in _playable(levels, games, progress, pictures=sighted):
            progress(level.name)
            seat = seats[Role.ARCHITECT if level.role == "architect" or partner else Role.BUILDER]
            profile = seat.profile() | {"max_requests": max_requests}
            if partner and level.role == "both":
                profile["builder"] = seats[Role.BUILDER].profile()
            settings: dict[str, Any] = {
                "level": level.name,
                "tasks": level.digest(seed, count),
                "profile": profile,
            }
            log: RowLog[GameRow] = RowLog(
                made_folder(output) / f"{level.name}.games.jsonl", settings, form=FORM, what="games of language models",
                from_json=lambda row: GameRow(**row), to_json=lambda row: row._asdict(),
            )  # fmt: skip
            failed = 0
            with closing(log):
                missing = sorted(set(range(count)) - {row.game for row in log.rows})
                groups, at_once = seat.groups(missing, concurrency)
                options = _game_options(profile, seat.settings.prompts if seat.settings else "")
                work = partial(play_games, level, seed=seed, seats=seats, **options)
                played = do_jobs(each(work), groups, concurrency=at_once)
                for row in (row for _, rows in played for row in rows):
                    if isinstance(row, str):
                        failed += 1
                        progress(row)
                    else:
                        cost = (
                            seat.backend.cost(row.prompt_tokens, row.completion_tokens)
                            if seat.settings
                            else 0.0
                        )
                        log.add(row._replace(cost=round(cost, 6)))
            served = sorted({text for one in seats.values() for text in one.served})
            result = ModelResult(
                level.name, name or agent, count, settings["tasks"], None if seed else 0, profile,
                sorted(log.rows, key=lambda row: row.game), failed, served,
                commitment(seed, salt) if seed else "", today, command,
            )  # fmt: skip
            result.write(output / f"{level.name}.json")
            found.append(result)
    finally:
        for seat in seats.values():
            seat.close()
    return found


def estimate(
    levels: Iterable[str] = (), *, games: int | None = None, settings: LLMSettings, words: int = 60
) -> Iterator[dict[str, Any]]:
    """Yield for each level what it takes, without sending anything: requests, tokens and cost.

    Played by the oracle, with replies of `words` words and half of the thoughts that are allowed; `most_requests` is
    the limit. Four characters count as a token, and five games stand for all. Levels without their corpus are left out.
    """
    reply = words * 4 // 3 + settings.reasoning_tokens // 2
    for level, count in _playable(levels, games, lambda _: None, pictures=settings.pictures):
        requests, prompt, most, some = 0, 0, 0, min(count, 5)
        for number in range(some):
            game, chat = level.start(number)
            most += game.max_replies or 0
            while chat:
                requests += 1
                for part in map(Message.of_chat, chat):
                    prompt += len(part.text) // 4 + len(part.pictures) * settings.picture_tokens
                chat = game.step(PLAYERS["oracle"](game, chat))[0]
        cost = (prompt * settings.prompt_price + requests * reply * settings.reply_price) / 1e6
        means = {
            "requests": requests,
            "most_requests": most,
            "prompt_tokens": prompt,
            "reply_tokens": requests * reply,
        }
        share = count / some
        found = {name: round(total * share) for name, total in means.items()}
        yield {"level": level.name, "games": count, **found, "cost": round(cost * share, 4)}
