"""The benchmark of language models: its levels, and how a game is judged.

A game is a `TextGame`: a chat, a reply, the next chat. `inspect_tasks` plays the games with Inspect AI.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from iglu_marl.agents.llm.messages import Message
from iglu_marl.benchmark import model_tasks
from iglu_marl.benchmark.catalog import find
from iglu_marl.benchmark.model_players import PLAYERS
from iglu_marl.benchmark.model_tasks import MAX_EDITS, Maker, RoundsGame
from iglu_marl.core.arguments import MAX_SEED, as_count
from iglu_marl.core.errors import ConfigError
from iglu_marl.data.packs.store import MissingPackError
from iglu_marl.evaluation.metrics import action_counts
from iglu_marl.text.game import ChatMessage, TextGame
from iglu_marl.text.rounds import InstructedRound, Rounds

VERSION = 2  # of the levels: a change of tasks, prompts or judgement is a new one
REPLIES_PER_ROUND = 3
RIGHT, WRONG, QUESTION = 10, -10, -5  # points of a round, as in Build What I Mean

_FIRST = (
    "- Of each message of the architect that asks for something, your first reply with changes counts. One block too "
    "many, too few or of a wrong colour, and the game is lost. The build is put right before the next message.\n"
)
_NO_QUESTIONS = "- Nobody answers questions."
_QUESTIONS = (
    "- Some messages leave out what you need to know. Then ask, by a message without changes: to build without asking "
    "loses the game. To ask although all is said loses it, too. One question gets what is missing."
)
_SPEAKERS = (
    "- Two speakers give 12 tasks each. A right build counts 10 points, a wrong one -10, each question -5.\n"
    "- They may leave out a colour. One of them then always means the same one, the other one only sometimes. After "
    "each build you learn what was meant.\n"
    "- For each task your first reply with changes counts. A question is a message without changes."
)
_ARCHITECT = (
    "- At most {replies} messages of up to 200 characters, and {words} words in all of them.\n"
    "- One block that is wrong when a message has been carried out, and the game is lost, even if it is corrected."
)
_PAIR = (
    "- At most {replies} messages and replies of both players together. The messages of both may have {words} words "
    "in all.\n"
    "- One wrong block, and the game is lost, even if it is corrected."
)
_TEAM = (
    "- At most {replies} replies of all players together.\n"
    "- One wrong block, and the game is lost, even if it is corrected."
)


@dataclass(frozen=True)
class ModelLevel:
    """A level for language models.

    Args:
        name: id.
        about: one sentence on the tasks.
        make: samples a game; None: those that people asked for.
        rules: what the player reads of the judgement; may name {replies} and {words}, the limits.
        role: of the model: "builder", "architect", or "both" (two models).
        games: number of games of a complete row; of those of people at most all.
        points: whether the score counts points for each round, instead of games without a mistake.
        max_replies: limit per game; 0: `REPLIES_PER_ROUND` for each round.
        team: name of a team, all of which the models play.
        view: how builds are shown, see `TextGame`.

    """

    name: str
    about: str
    make: Maker | None = None
    rules: str = _FIRST + _NO_QUESTIONS
    role: Literal["builder", "architect", "both"] = "builder"
    games: int = 100
    points: bool = False
    max_replies: int = 0
    team: str | None = None
    view: str = "layers"

    @property
    def count(self) -> int:
        """Number of games of a complete row. Raises `MissingPackError` if a corpus is missing."""
        return self.games if self.make else min(self.games, len(_people()))

    def game(self, number: int, seed: int = 0) -> RoundsGame:
        """Return a game; a structure to be described is one round. seed: of the tasks; 0 is the public part."""
        as_count("seed", seed, 0, MAX_SEED)
        as_count("number", number, 0, MAX_SEED if self.make else len(_people()) - 1)
        return _game(self, number, seed)

    def start(self, number: int, seed: int = 0) -> tuple[TextGame, list[ChatMessage]]:
        """Start a game: the game and its first chat."""
        made = self.game(number, seed)
        rounds = made.rounds
        replies = self.max_replies or REPLIES_PER_ROUND * len(rounds)
        partner = Rounds(rounds, "target" if self.points else "right")
        game = TextGame(
            role=self.role,
            partner=partner if self.role == "builder" else "scripted",
            team=self.team,
            view=self.view,
            max_replies=replies,
            max_edits=MAX_EDITS,
            history=max(40, 4 * len(rounds) + len(rounds[0].before)),
            rules=self.rules.format(replies=replies, words=made.words),
        )
        return game, game.reset(number, partner.task)

    def digest(self, seed: int, count: int) -> str:
        """Return a hash of the first games of a seed: all that is said, started from, and asked for."""
        digest = hashlib.blake2b(f"{self.name} {VERSION} {self.points} {self.rules}".encode(), digest_size=6)
        for number in range(count):
            for one in self.game(number, seed).rounds:
                said = [(utterance.role.value, utterance.text) for utterance in one.before]
                digest.update(json.dumps([said, one.text, one.answer, one.ask, one.guess, one.pose]).encode())
                digest.update(one.start.astype(np.int8).tobytes() + one.target.astype(np.int8).tobytes())
        return digest.hexdigest()


@lru_cache(maxsize=1024)
def _game(level: ModelLevel, number: int, seed: int) -> RoundsGame:
    if level.make is None:
        return _people()[int(np.random.default_rng(seed).permutation(len(_people()))[number])]
    return level.make(np.random.default_rng([seed, number, zlib.crc32(level.name.encode())]))


@lru_cache(maxsize=1)
def _people() -> Sequence[RoundsGame]:
    """Return what people asked for in the IGLU single-turn corpus: the structures of the test split."""
    tasks: Any = find("human-turns-v2").tasks("test")
    return [
        RoundsGame(
            (InstructedRound("", task.start_grid, task.target_grid, before=tuple(task.dialogue)),),
            task.task_id,
        )
        for task in tasks
    ]


LEVELS: tuple[ModelLevel, ...] = (
    ModelLevel("requests", "Two written requests in one message, in one world.", model_tasks.requests),
    ModelLevel(
        "dialogue", "Three turns from the middle of a written dialogue.", model_tasks.dialogue,
        rules=_FIRST + _QUESTIONS,
    ),
    ModelLevel(
        "viewpoint", "A request in the directions of somebody who sees the board in another way.",
        model_tasks.viewpoint,
    ),
    ModelLevel(
        "clarification", "Four requests, of which two leave out a colour, or which of two things is meant.",
        model_tasks.clarification, rules=_FIRST + _QUESTIONS,
    ),
    ModelLevel(
        "speakers", "24 requests of a reliable and an unreliable speaker, after Build What I Mean.",
        model_tasks.speakers, rules=_SPEAKERS, games=20, points=True,
    ),
    ModelLevel(
        "architect", "A structure of 14 to 40 blocks, described to the scripted builder in few words.",
        model_tasks.structure, rules=_ARCHITECT, role="architect", games=50, max_replies=12,
    ),
    ModelLevel(
        "pair", "The same by two models: one describes, the other one builds.",
        model_tasks.structure, rules=_PAIR, role="both", games=50, max_replies=24,
    ),
    ModelLevel(
        "team", "After CRAFT: three architects who each see one side, a builder, 20 turns.",
        model_tasks.cube, rules=_TEAM, role="both", games=30, max_replies=80, team="craft",
    ),
    ModelLevel(
        "pictures", "A request about blocks that only the picture of the builder's view shows.",
        model_tasks.pictures, view="own",
    ),
    ModelLevel(
        "people", "One change that a person asked for, in the IGLU single-turn corpus.", games=1000,
    ),
)  # fmt: skip
_BY_NAME = {level.name: level for level in LEVELS}


def find_level(name: str) -> ModelLevel:
    """Return a level of the benchmark of language models. Raises `ConfigError` if there is none of this name."""
    if name not in _BY_NAME:
        raise ConfigError(f"level is {name!r}, expected one of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def is_playable(level: ModelLevel) -> bool:
    """Whether the corpus of a level is here."""
    try:
        return level.count > 0
    except MissingPackError:
        return False


class GameRow(NamedTuple):
    """Outcome of a game.

    unit: what it has in common with others (a request, a session), for intervals. score: 0..1; see `outcome`. rounds,
    right: number of rounds and of right ones. actions: right, made and asked net actions. wrong: number of wrong
    changes of cells. needless, missing: questions too many, and rounds without a needed one. words: of the model.
    unread: replies that could not be read.
    """

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


def outcome(level: ModelLevel, number: int, seed: int, game: TextGame) -> GameRow:
    """Judge a game that is over.

    A game is a success if every round was right at its first build, with no needless and no missing question; a
    structure that the model describes, if it stands without a wrong block on the way and within the limit of words.
    The score is the same, or on levels with points: (points - blind) / (best - blind), where `blind` has the better
    of two builders, one of whom always asks and one of whom never does, and `best` asks where it is needed. It is at
    least 0.
    """
    made, counts = level.game(number, seed), game.counts
    right = needless = missing = points = 0
    actions = np.zeros(3, np.int64)
    played = list(game.partner.played) if isinstance(game.partner, Rounds) else []
    for place, one in enumerate(made.rounds):
        built, is_right = one.start, False
        if level.role != "builder":
            is_short = not made.words or counts["words"] <= made.words
            built = game.grid
            is_right = bool((built == one.target).all()) and not counts["wrong"] and is_short
        elif place < len(played):
            asked = played[place].asked
            needless += max(0, asked - (one.ask == "needed"))
            missing += one.ask == "needed" and not asked
            points += QUESTION * asked
            built, is_right = played[place].built, played[place].right
        right += is_right
        points += RIGHT if is_right else WRONG
        actions += action_counts(one.start, one.target, built)
    success = right == len(made.rounds) and not needless and not missing
    return GameRow(
        unit=made.unit or str(number),
        score=_skill(made, points) if level.points else float(success),
        success=success,
        rounds=len(made.rounds),
        right=right,
        actions=actions.tolist(),
        wrong=counts["wrong"],
        questions=counts["questions"],
        needless=needless,
        missing=missing,
        words=counts["words"],
        unread=counts["unread"],
    )


def _skill(made: RoundsGame, points: int) -> float:
    asking = len(made.rounds) * (RIGHT + QUESTION)
    guessing = sum(RIGHT if one.guess else WRONG for one in made.rounds)
    best = sum(RIGHT + QUESTION * (one.ask == "needed") for one in made.rounds)
    return max(0.0, (points - max(asking, guessing)) / (best - max(asking, guessing)))


def estimate(level: ModelLevel, games: int | None, prompt_price: float, reply_price: float) -> dict[str, Any]:
    """Return what a row takes, without sending anything: requests, tokens and cost; usual and at most.

    Five games of the oracle stand for all, with replies of 80 tokens; four characters count as a token, and a picture
    as 300. At most, each reply has the 8,192 tokens that the strict profile allows. prices: for a million tokens.
    """
    count, requests, prompt, most = min(games or level.count, level.count), 0, 0, 0
    for number in range(min(count, 5)):
        game, chat = level.start(number)
        most += game.max_replies or 0
        while chat:
            requests += 1
            messages = [Message.of_chat(part) for part in chat]
            prompt += sum(len(message.text) // 4 + len(message.pictures) * 300 for message in messages)
            chat = game.step(PLAYERS["oracle"](game, chat))[0]
    share = count / min(count, 5) / 1e6
    most_cost = most * (prompt / requests * prompt_price + 8192 * reply_price)
    return {
        "level": level.name,
        "games": count,
        "requests": round(requests * share * 1e6),
        "at most": round(most * share * 1e6),
        "prompt tokens": round(prompt * share * 1e6),
        "cost": round((prompt * prompt_price + requests * 80 * reply_price) * share, 4),
        "cost at most": round(most_cost * share, 4),
    }
