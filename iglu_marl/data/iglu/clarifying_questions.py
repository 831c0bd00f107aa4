"""Clarifying questions of the IGLU single-turn data: when to ask, and what.

- `clarifying_questions()` returns the games: instruction, whether it was clear, the question asked, the candidates.
- `question_bank()` returns the texts of the questions.
- `RankingTask` scores rankers of the candidates by mean reciprocal rank (MRR) and recall@k. `Bm25` is a baseline.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import read_file
from iglu_marl.core.text import natural_key
from iglu_marl.data.iglu.singleturn import BANK, COLUMNS, PACK, TABLE, Game, SingleturnSkip, read_games
from iglu_marl.data.iglu.tables import TABLE_LIMIT, Record, read_table
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.report import Report, SkipReason

BANK_COLUMNS = ("qrel", "ClarifyingQuestion")
RECALL_AT = (1, 5, 10, 20)
SATURATION, LENGTH_WEIGHT = 1.5, 0.75  # k1 and b of BM25

_WORD = re.compile(r"[a-z0-9]+")

Ranker = Callable[[Game, Sequence[str], Mapping[str, str]], Sequence[str]]


class QuestionSkip(SkipReason):
    """Why a question of a game or of the bank is skipped or changed."""

    BAD_BANK_ROW = "a row of the bank without an id or a text, or one that cannot be read"
    DOUBLED_ID = "an id that the bank uses for another question"
    UNCLEAR_WITHOUT_QUESTION = "an unclear instruction without a question"
    QREL_OUTSIDE_QBANK = "a question asked that is not among the candidates; added to them"
    UNKNOWN_QREL = "a question asked whose id is not in the bank"
    NO_QREL = "a question asked without its id; it cannot be ranked"
    FEW_CANDIDATES = "fewer than two candidates, so that any order is right"


def _table_of(
    path: str | os.PathLike[str] | None, name: str, fetch: bool, report: Report[Any]
) -> tuple[bytes, str]:
    """Return the contents and the place of a table: a CSV file, or the file `name` in a pack."""
    if path is not None and Path(path).suffix.lower() == ".csv":
        file = Path(path).expanduser()
        return read_file(file, TABLE_LIMIT), str(file)
    with find_pack(PACK, path, fetch) as pack:
        report.files += pack.left_out
        return pack.read(name, TABLE_LIMIT), f"{pack.location}: {name}"


def question_bank(
    path: str | os.PathLike[str] | None = None,
    report: Report[QuestionSkip] | None = None,
    *,
    fetch: bool = True,
) -> Mapping[str, str]:
    """Return the texts of the questions by id (`"q_149"`), in the order of the file; read-only.

    `path` is a pack of single-turn data (see `find_pack`) or a CSV file with the columns qrel and ClarifyingQuestion.
    Rows without id or text and repeated ids are counted in `report`. Raises `DataError` if the table is missing or
    damaged.
    """
    report = Report() if report is None else report
    table, place = _table_of(path, BANK, fetch, report)
    bank: dict[str, str] = {}
    for name, text in read_table(table, BANK_COLUMNS, _question, report, QuestionSkip.BAD_BANK_ROW, place):
        if bank.setdefault(name, text) != text:
            report.skip(QuestionSkip.DOUBLED_ID, name)
    return MappingProxyType(bank)


def _question(record: Record, line: int) -> tuple[str, str] | None:
    """Return the id and the text of a question."""
    name, text = (record[column].strip() for column in BANK_COLUMNS)
    return (name, text) if name and text else None


def clarifying_questions(
    path: str | os.PathLike[str] | None = None,
    report: Report[SingleturnSkip] | None = None,
    *,
    fetch: bool = True,
) -> list[Game]:
    """Return the games in the order of the table, each once: instruction, clear or not, question, candidates.

    `path` is a pack of single-turn data (see `find_pack`) or the table alone as a CSV file. Skipped rows are counted
    in `report`. Raises `DataError` if the table is missing or damaged, or lacks a column.
    """
    report = Report() if report is None else report
    table, place = _table_of(path, TABLE, fetch, report)
    columns = (*COLUMNS, "ClarifyingQuestion", "qrel", "qbank")
    games: dict[str, Game] = {}
    for game in read_games(table, report, place, columns):
        report.repeated_rows += game.game_id in games
        games.setdefault(game.game_id, game)
    return list(games.values())


@dataclass(frozen=True)
class RankingScores:
    """Scores of a ranker."""

    queries: int  # number of unclear instructions
    mrr: float  # mean of 1 / rank of the question that was asked
    recall: Mapping[int, float]  # for each k, the share of queries whose question is among the first k
    ranks: tuple[int, ...]  # rank of the question that was asked, by query


class RankingTask:
    """Ranking task: for each unclear instruction, rank the question that was asked before the other candidates.

    `queries` are the unclear games with two or more candidates. `candidates(game)` are the ids to rank, including
    the id of the question that was asked. Candidates whose id is not in the bank have no text; `score` ranks them last.

    Args:
        games: the result of `clarifying_questions`; clear games are ignored.
        bank: the result of `question_bank`.
        report: counts skipped games.

    """

    def __init__(
        self, games: Iterable[Game], bank: Mapping[str, str], report: Report[QuestionSkip] | None = None
    ) -> None:
        self.bank = bank
        self.report = Report() if report is None else report
        unclear = [game for game in games if not game.clear]
        self.report.rows += len(unclear)
        self.queries = [game for game in unclear if self._has_question(game)]

    def _has_question(self, game: Game) -> bool:
        if not game.question and not game.qrel:
            fault = QuestionSkip.UNCLEAR_WITHOUT_QUESTION
        elif not game.qrel:
            fault = QuestionSkip.NO_QREL
        elif len(self.candidates(game)) < 2:
            fault = QuestionSkip.FEW_CANDIDATES
        else:
            if game.qrel not in game.qbank:
                self.report.skip(QuestionSkip.QREL_OUTSIDE_QBANK, game.game_id)
            if game.qrel not in self.bank:
                self.report.skip(QuestionSkip.UNKNOWN_QREL, game.game_id)
            return True
        self.report.skip(fault, game.game_id)
        return False

    def candidates(self, game: Game) -> list[str]:
        """Return the ids to rank for a game, each once, sorted by number."""
        return sorted({*game.qbank, game.qrel}, key=natural_key)

    def score(self, ranker: Ranker) -> RankingScores:
        """Score a ranker, a function `ranker(game, ids, bank) -> ids` that returns the best first.

        The ranker gets the candidates that have a text, and a game without `question` and `qrel`. Candidates that it
        does not return follow in the order of their numbers. Raises `DataError` if it returns an id twice or an
        unknown id, or if there are no queries.
        """
        orders = self.rankings(ranker)
        ranks = [order.index(game.qrel) + 1 for game, order in zip(self.queries, orders, strict=True)]
        return RankingScores(
            queries=len(ranks),
            mrr=math.fsum(1 / rank for rank in ranks) / len(ranks),
            recall={k: sum(rank <= k for rank in ranks) / len(ranks) for k in RECALL_AT},
            ranks=tuple(ranks),
        )

    def rankings(self, ranker: Ranker, *, candidates: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """Return all candidates of each game in a ranker's order; see `score`.

        `candidates` are the ids to rank for every game, such as the whole bank; default: each game's own.
        """
        if not self.queries:
            wanted = "an unclear instruction with a question and two or more candidates"
            raise DataError(f"there is nothing to rank, expected {wanted}{self.report.example}")
        orders = []
        for game in self.queries:
            ids = self.candidates(game) if candidates is None else list(candidates)
            known = [name for name in ids if name in self.bank]
            order = _checked_ranking(
                ranker(replace(game, question="", qrel="", qbank=()), known, self.bank), known, game
            )
            named = set(order)
            rest = [name for name in known if name not in named]
            orders.append((*order, *rest, *(name for name in ids if name not in self.bank)))
        return orders

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Game]:
        return iter(self.queries)


def _checked_ranking(order: Sequence[str], known: Sequence[str], game: Game) -> list[str]:
    ranked = list(order)
    unknown = set(ranked) - set(known)
    if unknown or len(set(ranked)) < len(ranked):
        what = f"{sorted(unknown)[:3]}, which were no candidates" if unknown else "an id twice"
        raise DataError(f"the ranking for {game.game_id} has {what}, expected each candidate at most once")
    return ranked


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


class Bm25:
    """Okapi BM25, a ranker for `RankingTask`.

    Names with equal scores keep their order, so the ranking is deterministic.

    Args:
        documents: texts by name; word frequencies and the mean length are computed from them.

    """

    def __init__(self, documents: Mapping[str, str]) -> None:
        if not documents:
            raise DataError("BM25 needs at least one text")
        self._counts = {name: Counter(words(text)) for name, text in documents.items()}
        self._lengths = {name: sum(count.values()) for name, count in self._counts.items()}
        self._mean = max(sum(self._lengths.values()) / len(documents), 1e-9)
        held = Counter(word for count in self._counts.values() for word in count)
        total = len(documents)
        self._idf = {word: math.log1p((total - n + 0.5) / (n + 0.5)) for word, n in held.items()}

    def scores(self, query: str, names: Sequence[str]) -> list[float]:
        """Return the score of each named text for a query; 0 if they share no word."""
        asked = sorted((word, n) for word, n in Counter(words(query)).items() if word in self._idf)
        return [self._score(asked, name) for name in names]

    def _score(self, asked: Sequence[tuple[str, int]], name: str) -> float:
        counts = self._counts[name]
        norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * self._lengths[name] / self._mean)
        return math.fsum(
            n * self._idf[word] * counts[word] * (SATURATION + 1) / (counts[word] + norm)
            for word, n in asked
            if word in counts
        )

    def __call__(self, game: Game, names: Sequence[str], bank: Mapping[str, str]) -> list[str]:
        """Rank the candidates of a game; the texts are `documents`, not `bank`."""
        scores = dict(zip(names, self.scores(game.instruction, names), strict=True))
        return sorted(names, key=lambda name: -scores[name])
