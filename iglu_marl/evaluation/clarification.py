"""When to ask, and what to ask: the two scores of IGLU's clarifying questions.

| function | score |
|---|---|
| `when_to_ask` | yes or no per instruction: F1 of the unclear ones, and of the clear ones |
| `what_to_ask` | ranked questions per unclear instruction: mean reciprocal rank of the asked one, MRR@20 |

`predict_questions` computes both for a predictor, by one of two protocols:

| protocol | samples | candidates | F1 |
|---|---|---|---|
| `games` (default) | each game | those of the game's row | unclear instructions as positives |
| `iglu2022` | each text once, with its last row | the whole bank | *clear* instructions as positives |

"iglu2022" is the local evaluation of the starter kit (IGLU 2022, NLP task).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.files import json_ready
from iglu_marl.core.scoring import Counts
from iglu_marl.data.iglu.clarifying_questions import Bm25, Ranker, RankingTask
from iglu_marl.data.iglu.singleturn import Game

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
DEPTH = 20  # questions per ranking that count

Asker = Callable[[Game], object]
"""Maps a game, without the annotator's answer, to true (ask) or false."""


class AskingScores(NamedTuple):
    """Scores of predicting which instructions are unclear.

    unclear, clear: counts with the unclear (clear) instructions as positives.
    """

    unclear: Counts
    clear: Counts

    @property
    def f1(self) -> float:
        """F1 with the unclear instructions as positives; 1 if there are none and none is predicted."""
        return self.unclear.f1

    @property
    def clear_f1(self) -> float:
        """F1 with the clear instructions as positives."""
        return self.clear.f1


def when_to_ask(asked: Iterable[object], unclear: Iterable[object]) -> AskingScores:
    """Return the scores of predictions (true: ask), given which instructions are unclear.

    Raises `ConfigError` if the numbers of entries differ.
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


def what_to_ask(rankings: Iterable[Sequence[str]], answers: Iterable[str]) -> float:
    """Return the mean reciprocal rank of the answers among the first `DEPTH` questions; nan without rankings.

    Args:
        rankings: ids per instruction, best first.
        answers: the right id per instruction.

    Raises:
        ConfigError: if the numbers of rankings and answers differ.

    """
    ranked, wanted = [list(one)[:DEPTH] for one in rankings], list(answers)
    if len(ranked) != len(wanted):
        raise ConfigError(f"there are {len(ranked)} rankings and {len(wanted)} answers, expected as many")
    found = [1 / (order.index(one) + 1) for order, one in zip(ranked, wanted, strict=True) if one in order]
    return math.fsum(found) / len(ranked) if ranked else math.nan


# ------------------------------------------------------------------------------------------- asking a predictor


@dataclass(frozen=True)
class QuestionPrediction:
    """The prediction for a game: whether to ask (None: not predicted), and the first questions, best first."""

    game_id: str
    ask: bool | None = None
    questions: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"game_id": self.game_id, "ask": self.ask, "questions": list(self.questions)}


@dataclass(frozen=True)
class QuestionScores:
    """The scores and predictions of a predictor; None for a score that was not computed.

    ranked: number of unclear instructions with a ranking. odd: number of skipped ones by reason (`QuestionSkip`).
    """

    protocol: str
    when: AskingScores | None
    mrr: float | None
    ranked: int
    rows: tuple[QuestionPrediction, ...]
    odd: Mapping[str, int] = field(default_factory=dict)

    @property
    def f1(self) -> float | None:
        """F1 of when to ask by the protocol: of the clear instructions in "iglu2022", else of the unclear ones."""
        if self.when is None:
            return None
        return self.when.clear_f1 if self.protocol == "iglu2022" else self.when.f1

    def to_json(self) -> dict[str, Any]:
        """Return the scores as a JSON-ready dict."""
        when = self.when and {
            "unclear": list(self.when.unclear),
            "clear": list(self.when.clear),
            "unclear_f1": self.when.f1,
            "clear_f1": self.when.clear_f1,
        }
        content = {
            "protocol": self.protocol,
            "f1": self.f1,
            "when": when,
            f"mrr@{DEPTH}": self.mrr,
            "ranked": self.ranked,
            "odd": dict(self.odd),
        }
        return dict(json_ready(content))


def predict_questions(
    games: Iterable[Game],
    bank: Mapping[str, str],
    *,
    asks: Asker | None = None,
    ranks: Ranker | None = None,
    protocol: str = "games",
) -> QuestionScores:
    """Let a predictor decide when to ask and rank what to ask; return the scores.

    Args:
        games: games of `clarifying_questions`.
        bank: questions by id, of `question_bank`.
        asks: maps a game without the annotator's answer to true (ask) or false.
        ranks: maps a game, ids and the bank to ids, best first (`RankingTask`); called for unclear games only.
        protocol: one of `PROTOCOLS`.

    Raises:
        ConfigError: if the protocol is unknown.
        DataError: if there are no games, or no unclear ones for `ranks`.

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
    mrr, ranked, odd = None, 0, {}
    if ranks is not None:
        names = None if protocol == "games" else tuple(bank)
        task = RankingTask([game if names is None else replace(game, qbank=names) for game in unclear], bank)
        orders = task.rankings(ranks, candidates=names)
        mrr, ranked, odd = what_to_ask(orders, (game.qrel for game in task)), len(orders), task.report.counts
        for game, order in zip(task, orders, strict=True):
            known = predicted.get(game.game_id, QuestionPrediction(game.game_id))
            predicted[game.game_id] = replace(known, questions=order[:DEPTH])
    when = None if asks is None else when_to_ask(decided, (not game.clear for game in rows))
    return QuestionScores(protocol, when, mrr, ranked, tuple(predicted.values()), odd)


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
"""Baselines of when to ask; the last asks if `iglu_marl.language.parse` fails."""

RANKERS: dict[str, Callable[[Mapping[str, str]], Ranker]] = {
    "bm25": Bm25,
    "in-order": lambda bank: lambda game, names, texts: names,
}
"""Baselines of what to ask: word overlap (BM25), and the order of the ids."""
