"""When to ask, and what to ask: the two scores of IGLU's clarifying questions.

| score | of |
|---|---|
| `when_to_ask` | yes or no for each instruction: F1 of the unclear ones, of the clear ones, and their mean |
| `what_to_ask` | ranked questions for each unclear instruction: the mean reciprocal rank of the asked one, MRR@20 |

`predict_questions(games, bank, asks=..., ranks=...)` puts both to a predictor. The task, F1 and MRR are published, and
the local evaluation of the starter kit (IGLU 2022, NLP task): its F1 has the *clear* instructions as positives, it
takes each text once (the last row of it counts), ranks the whole bank, and looks at the first 20. That is the protocol
"iglu2022". "games" (default) takes each game once and ranks the candidates that its row names; its F1 is that of the
unclear ones, the instructions to ask about. Either shows the other F1s beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.data.iglu.clarifying_questions import Bm25, Ranker, RankingTask
from iglu_marl.data.iglu.singleturn import Game
from iglu_marl.evaluation.metrics import Counts

__all__ = [
    "ASKERS",
    "PROTOCOLS",
    "RANKERS",
    "Asker",
    "AskingScores",
    "QuestionPrediction",
    "QuestionScores",
    "predict_questions",
    "what_to_ask",
    "when_to_ask",
]

PROTOCOLS = ("games", "iglu2022")
DEPTH = 20  # questions that are looked at

Asker = Callable[[Game], object]
"""Whether to ask about an instruction: true or false. What the annotator said is taken from the game before."""


class AskingScores(NamedTuple):
    """How well it was told which instructions are unclear.

    unclear, clear: counts with the unclear (clear) instructions as positives.
    """

    unclear: Counts
    clear: Counts

    @property
    def f1(self) -> float:
        """Of asking: the unclear instructions are the positives. 1 where nothing is to ask and nothing is asked."""
        return self.unclear.f1

    @property
    def clear_f1(self) -> float:
        """Of going on: the clear instructions are the positives."""
        return self.clear.f1

    @property
    def macro_f1(self) -> float:
        """The mean of both."""
        return (self.unclear.f1 + self.clear.f1) / 2

    @property
    def accuracy(self) -> float:
        """The part of all instructions that was told rightly; nan for none."""
        count = self.unclear.asked + self.clear.asked
        return (self.unclear.right + self.clear.right) / count if count else math.nan


def when_to_ask(asked: Iterable[object], unclear: Iterable[object]) -> AskingScores:
    """The scores of asking (true or false for each instruction) where it is known which are unclear.

    Raises `ConfigError` when there are more of one than of the other.
    """
    made, wanted = [bool(one) for one in asked], [bool(one) for one in unclear]
    if len(made) != len(wanted):
        raise ConfigError(
            f"asked has {len(made)} entries and unclear {len(wanted)}, expected one for each instruction"
        )
    right = [one == other for one, other in zip(made, wanted, strict=True)]
    sides = [
        Counts(
            sum(good and one == side for good, one in zip(right, wanted, strict=True)),
            made.count(side),
            wanted.count(side),
        )
        for side in (True, False)
    ]
    return AskingScores(*sides)


def what_to_ask(rankings: Iterable[Sequence[str]], answers: Iterable[str], *, k: int | None = DEPTH) -> float:
    """The mean reciprocal rank: of 1 / place of the answer in its ranking, 0 where it is not among the first `k`.

    k: how many of a ranking count; None for all. Nan for no ranking at all. Raises `ConfigError` for k below 1, and
    when there are more rankings than answers or fewer.
    """
    if k is not None and k < 1:
        raise ConfigError(f"k is {k!r}, expected 1 or more, or None")
    ranked, wanted = [list(one) for one in rankings], list(answers)
    if len(ranked) != len(wanted):
        raise ConfigError(f"there are {len(ranked)} rankings and {len(wanted)} answers, expected as many")
    found = [
        (order[:k].index(name) + 1 if name in order[:k] else 0)
        for order, name in zip(ranked, wanted, strict=True)
    ]
    return math.fsum(1 / rank for rank in found if rank) / len(found) if found else math.nan


# ------------------------------------------------------------------------------------------- asking a predictor


@dataclass(frozen=True)
class QuestionPrediction:
    """What was predicted for a game: whether to ask (None: nobody was asked), and the first questions, best first."""

    game_id: str
    ask: bool | None = None
    questions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a JSON-ready dict."""
        return {"game_id": self.game_id, "ask": self.ask, "questions": list(self.questions)}


@dataclass(frozen=True)
class QuestionScores:
    """The scores of a predictor, and its predictions by the ids of the games; None for what it was not asked."""

    protocol: str
    when: AskingScores | None
    mrr: float | None
    ranked: int
    rows: tuple[QuestionPrediction, ...]

    @property
    def f1(self) -> float | None:
        """Of when to ask, as the protocol has it: of the unclear instructions, or in "iglu2022" of the clear ones."""
        if self.when is None:
            return None
        return self.when.clear_f1 if self.protocol == "iglu2022" else self.when.f1

    def to_json(self) -> dict[str, Any]:
        """The scores, JSON-ready."""
        when = self.when and {
            "unclear": list(self.when.unclear),
            "clear": list(self.when.clear),
            "unclear_f1": self.when.f1,
            "clear_f1": self.when.clear_f1,
            "macro_f1": self.when.macro_f1,
            "accuracy": self.when.accuracy,
        }
        return {
            "protocol": self.protocol,
            "f1": self.f1,
            "when": when,
            f"mrr@{DEPTH}": self.mrr,
            "ranked": self.ranked,
        }


def predict_questions(
    games: Iterable[Game],
    bank: Mapping[str, str],
    *,
    asks: Asker | None = None,
    ranks: Ranker | None = None,
    protocol: str = "games",
) -> QuestionScores:
    """Ask a predictor when it would ask, and what, and score both.

    games: as `clarifying_questions` gives them. bank: as `question_bank` does. asks: from a game, without what the
    annotator said of it, to true or false. ranks: from a game, ids and the bank to ids, best first (see `RankingTask`);
    it is put to the unclear ones alone. protocol: one of `PROTOCOLS`.

    Raises `ConfigError` for another protocol, `DataError` without games, or without unclear ones for `ranks`.
    """
    if protocol not in PROTOCOLS:
        raise ConfigError(f"protocol is {protocol!r}, expected one of {', '.join(PROTOCOLS)}")
    rows = list(games)
    if not rows:
        raise DataError("there are no instructions to ask about")
    unclear = [game for game in rows if not game.clear]
    if protocol == "iglu2022":
        rows, unclear = _last_of_each_text(rows), _last_of_each_text(unclear)
    decided = [] if asks is None else [bool(asks(_without_answer(game))) for game in rows]
    predicted = {
        game.game_id: QuestionPrediction(game.game_id, asked)
        for game, asked in zip(rows, decided, strict=False)
    }
    mrr, ranked = None, 0
    if ranks is not None:
        task = RankingTask(unclear, bank)
        names = None if protocol == "games" else list(bank)
        orders = task.rankings(ranks, candidates=names)
        mrr, ranked = what_to_ask(orders, (game.qrel for game in task)), len(orders)
        for game, order in zip(task, orders, strict=True):
            known = predicted.get(game.game_id, QuestionPrediction(game.game_id))
            predicted[game.game_id] = replace(known, questions=order[:DEPTH])
    when = None if asks is None else when_to_ask(decided, (not game.clear for game in rows))
    return QuestionScores(protocol, when, mrr, ranked, tuple(predicted.values()))


def _last_of_each_text(games: list[Game]) -> list[Game]:
    return list({game.instruction: game for game in games}.values())


def _without_answer(game: Game) -> Game:
    return replace(game, clear=True, question="", qrel="", qbank=())


def _not_understood(game: Game) -> bool:
    from iglu_marl.language import Failure, parse

    return isinstance(parse(game.instruction), Failure)


ASKERS: dict[str, Asker] = {
    "always": lambda game: True,
    "never": lambda game: False,
    "not-understood": _not_understood,
}
"""Baselines of when to ask; the last asks where `iglu_marl.language.parse` finds no reading."""

RANKERS: dict[str, Callable[[Mapping[str, str]], Ranker]] = {
    "bm25": Bm25,
    "in-order": lambda bank: lambda game, names, texts: names,
}
"""Baselines of what to ask, by the bank: words in common, and the order of the ids."""
