"""Clarifying questions of the IGLU single-turn data: when to ask, and what.

`clarifying_questions()` gives a row for every game: its instruction, whether it was clear, and if not, which
question was asked and which ones are to be ranked. `question_bank()` has the questions' texts. `RankingTask` is
the task that goes with them: to rank the candidates of an unclear instruction so that the question that was
asked comes first, measured by the mean reciprocal rank (MRR) and recall@k. `Bm25` is a baseline for it.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import read_file
from iglu_marl.core.text import natural_key
from iglu_marl.data.iglu.singleturn import (
    BANK,
    PACK,
    TABLE,
    Game,
    SingleturnSkip,
    read_games,
)
from iglu_marl.data.iglu.tables import TABLE_LIMIT, read_table
from iglu_marl.data.packs.store import find_pack
from iglu_marl.data.report import Report, SkipReason

RECALL_AT = (1, 5, 10, 20)

_WORD = re.compile(r"[a-z0-9]+")

Ranker = Callable[[Game, Sequence[str], Mapping[str, str]], Sequence[str]]


class QuestionSkip(SkipReason):
    """What is odd about the questions of a row or of the bank."""

    BAD_BANK_ROW = "a row of the bank without an id or a text, or one that cannot be read"
    DOUBLED_ID = "an id that the bank has given to another question"
    UNCLEAR_WITHOUT_QUESTION = "an unclear instruction without a question"
    QREL_OUTSIDE_QBANK = "a question asked that is not among those to be ranked; added to them"
    UNKNOWN_QREL = "a question asked whose id the bank does not have"
    NO_QREL = "a question asked without its id; it cannot be ranked"


# ----------------------------------------------------------------------------------------------- reading


def _table_of(
    path: str | os.PathLike[str] | None, name: str, fetch: bool, follow_links: bool, report: Report[Any]
) -> tuple[bytes, str]:
    """The contents of a table: a CSV file itself, or of that name in a pack."""
    if path is not None and Path(path).suffix.lower() == ".csv":
        file = Path(path).expanduser()
        return read_file(file, TABLE_LIMIT), str(file)
    with find_pack(PACK, path, fetch, follow_links=follow_links) as pack:
        report.files += pack.left_out
        return pack.read(name, TABLE_LIMIT), f"{pack.location}: {name}"


def question_bank(
    path: str | os.PathLike[str] | None = None,
    report: Report[QuestionSkip] | None = None,
    *,
    fetch: bool = True,
    follow_links: bool = False,
) -> Mapping[str, str]:
    """The texts of the questions by their ids (`"q_149"`), in the order of the file; read-only.

    path: a pack of single-turn data (see `find_pack`), or a CSV file with the columns qrel and
    ClarifyingQuestion. Rows without an id or a text, and further ones of an id, are counted in `report`. Raises
    `DataError` when there is no such table, or when it is damaged.
    """
    report = Report() if report is None else report
    table, place = _table_of(path, BANK, fetch, follow_links, report)
    bank: dict[str, str] = {}
    for line, record in read_table(table, ("qrel", "ClarifyingQuestion"), place):
        report.rows += 1
        if isinstance(record, DataError):
            report.skip(QuestionSkip.BAD_BANK_ROW, f"line {line}", None, str(record))
            continue
        name, text = record["qrel"].strip(), record["ClarifyingQuestion"].strip()
        if not name or not text:
            report.skip(QuestionSkip.BAD_BANK_ROW, f"line {line}")
        elif bank.setdefault(name, text) != text:
            report.skip(QuestionSkip.DOUBLED_ID, name)
    return MappingProxyType(bank)


def clarifying_questions(
    path: str | os.PathLike[str] | None = None,
    report: Report[SingleturnSkip] | None = None,
    *,
    fetch: bool = True,
    follow_links: bool = False,
) -> list[Game]:
    """The rows of the table of games in its order, each game once: instruction, clear or not, question, qbank.

    path: a pack of single-turn data (see `find_pack`), or the table alone as a CSV file. What is left out is
    counted in `report`. Raises `DataError` when there is no such table, or when it is damaged.
    """
    report = Report() if report is None else report
    table, place = _table_of(path, TABLE, fetch, follow_links, report)
    games: dict[str, Game] = {}
    for game in read_games(table, report, place=place):
        report.repeated_rows += game.game_id in games
        games.setdefault(game.game_id, game)
    return list(games.values())


# ----------------------------------------------------------------------------------------------- ranking


@dataclass(frozen=True)
class RankingScores:
    """How well the questions that were asked were ranked.

    queries: unclear instructions. mrr: mean of 1 / rank. recall: for each k the part of the queries whose
    question is among the first k. unknown_ids: different candidates without a text; unknown_candidates: how
    often such a one was to be ranked.
    """

    queries: int
    mrr: float
    recall: Mapping[int, float]
    ranks: tuple[int, ...]
    unknown_ids: int
    unknown_candidates: int

    def __str__(self) -> str:
        recall = ", ".join(f"recall@{k} {part:.3f}" for k, part in self.recall.items())
        return f"MRR {self.mrr:.4f}, {recall} over {self.queries} instructions"


class RankingTask:
    """For each unclear instruction, candidates to rank so that the question that was asked comes first.

    games: as `clarifying_questions` gives them (clear ones are passed over). bank: as `question_bank` does.

    A candidate whose id the bank does not have has no text, so no ranker can judge it: `score` puts them
    behind all others, and counts them. `queries` are the games, `candidates(game)` are the ids, with the id of
    the asked question among them even where the table has it apart.
    """

    def __init__(
        self, games: Iterable[Game], bank: Mapping[str, str], report: Report[QuestionSkip] | None = None
    ) -> None:
        self.bank = bank
        self.report = Report() if report is None else report
        self.queries: list[Game] = []
        for game in games:
            if game.clear:
                continue
            self.report.rows += 1
            if self._has_question(game):
                self.queries.append(game)

    def _has_question(self, game: Game) -> bool:
        def note(reason: QuestionSkip) -> None:
            self.report.skip(reason, game.game_id)

        if not game.question and not game.qrel:
            note(QuestionSkip.UNCLEAR_WITHOUT_QUESTION)
        elif not game.qrel:
            note(QuestionSkip.NO_QREL)
        else:
            if game.qrel not in game.qbank:
                note(QuestionSkip.QREL_OUTSIDE_QBANK)
            if game.qrel not in self.bank:
                note(QuestionSkip.UNKNOWN_QREL)
            return True
        return False

    def candidates(self, game: Game) -> list[str]:
        """The ids to rank for a game, each once, in the order of their numbers (the table's own tells nothing)."""
        return sorted({*game.qbank, game.qrel}, key=natural_key)

    @property
    def unknown_ids(self) -> list[str]:
        """The candidates that the bank does not have."""
        names = {name for game in self.queries for name in self.candidates(game)}
        return sorted(names - self.bank.keys(), key=natural_key)

    def score(self, ranker: Ranker, *, recall_at: Sequence[int] = RECALL_AT) -> RankingScores:
        """The scores of a ranker: `ranker(game, ids, bank) -> ids`, best first.

        It is given the candidates that have a text, and must not look at `game.question` and `game.qrel`: they
        are taken away first. Those that it leaves out come behind those that it names, in the order of their
        numbers. Raises `DataError` for an id that was no candidate, for one named twice, and without queries.
        """
        orders = self.rankings(ranker)
        ranks = [order.index(game.qrel) + 1 for game, order in zip(self.queries, orders, strict=True)]
        return RankingScores(
            queries=len(ranks),
            mrr=math.fsum(1 / rank for rank in ranks) / len(ranks),
            recall={k: sum(rank <= k for rank in ranks) / len(ranks) for k in recall_at},
            ranks=tuple(ranks),
            unknown_ids=len(self.unknown_ids),
            unknown_candidates=sum(name not in self.bank for order in orders for name in order),
        )

    def rankings(self, ranker: Ranker, *, candidates: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """All candidates of each game in a ranker's order; see `score`.

        candidates: the ids to be ranked for every game (the whole bank, say); default: each game's own.
        """
        if not self.queries:
            raise DataError("there is no unclear instruction with a question, so nothing to rank")
        orders = []
        for game in self.queries:
            ids = self.candidates(game) if candidates is None else list(candidates)
            known = [name for name in ids if name in self.bank]
            order = _checked_ranking(ranker(_hidden(game), known, self.bank), known, game)
            named = set(order)
            rest = [name for name in known if name not in named]
            orders.append((*order, *rest, *(name for name in ids if name not in self.bank)))
        return orders

    def chance(self) -> float:
        """The expected MRR of a random order of all candidates."""
        if not self.queries:
            raise DataError("there is no unclear instruction with a question, so nothing to rank")
        sizes = [len(self.candidates(game)) for game in self.queries]
        return math.fsum(math.fsum(1 / n for n in range(1, size + 1)) / size for size in sizes) / len(sizes)

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Game]:
        return iter(self.queries)


def _hidden(game: Game) -> Game:
    """A game without the answer."""
    return Game(
        game.game_id, game.start_path, game.instruction, game.clear, partition=game.partition, line=game.line
    )


def _checked_ranking(order: Sequence[str], known: Sequence[str], game: Game) -> list[str]:
    ranked = list(order)
    strangers = set(ranked) - set(known)
    if strangers or len(set(ranked)) < len(ranked):
        what = f"{sorted(strangers)[:3]}, which were no candidates" if strangers else "an id twice"
        raise DataError(f"the ranking for {game.game_id} has {what}")
    return ranked


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return _WORD.findall(text.lower())


class Bm25:
    """The Okapi BM25 score of texts for a query: a ranker for `RankingTask`.

    documents: texts by their names; how rare a word is, and how long a text usually is, is learned from all of
    them. k1: how soon repeating a word stops to count. b: how much long texts are held back. Names with equal
    scores keep the order in which they were given, so a ranking is the same every time.
    """

    def __init__(self, documents: Mapping[str, str], *, k1: float = 1.5, b: float = 0.75) -> None:
        if not documents:
            raise DataError("BM25 needs at least one text")
        self.k1, self.b = k1, b
        self._counts = {name: Counter(words(text)) for name, text in documents.items()}
        self._lengths = {name: sum(count.values()) for name, count in self._counts.items()}
        self._mean = max(sum(self._lengths.values()) / len(documents), 1e-9)
        held = Counter(word for count in self._counts.values() for word in count)
        total = len(documents)
        self._idf = {word: math.log1p((total - n + 0.5) / (n + 0.5)) for word, n in held.items()}

    def scores(self, query: str, names: Sequence[str]) -> list[float]:
        """For each of the named texts how well it fits the query; 0 when no word is shared."""
        asked = sorted((word, n) for word, n in Counter(words(query)).items() if word in self._idf)
        return [self._score(asked, name) for name in names]

    def _score(self, asked: Sequence[tuple[str, int]], name: str) -> float:
        counts = self._counts[name]
        norm = self.k1 * (1 - self.b + self.b * self._lengths[name] / self._mean)
        return math.fsum(
            n * self._idf[word] * counts[word] * (self.k1 + 1) / (counts[word] + norm)
            for word, n in asked
            if word in counts
        )

    def rank(self, query: str, names: Sequence[str]) -> list[str]:
        """The names, best first."""
        scores = dict(zip(names, self.scores(query, names), strict=True))
        return sorted(names, key=lambda name: -scores[name])

    def __call__(self, game: Game, names: Sequence[str], bank: Mapping[str, str]) -> list[str]:
        """`rank` in the form of a ranker; the texts are those it was made with."""
        return self.rank(game.instruction, names)
