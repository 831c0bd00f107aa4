"""Clarifying questions: the table, the bank, the ranking task and its baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_packs import (
    GAME_COLUMNS,
    game,
    start_file,
    table,
    tower,
    world,
    write_zip,
)

from iglu_marl.core.errors import DataError
from iglu_marl.data import RankingTask, clarifying_questions, question_bank
from iglu_marl.data.iglu.clarifying_questions import Bm25, words
from iglu_marl.data.iglu.singleturn import Game
from iglu_marl.data.report import Report

STATS = "iglu_singleturn"  # key of stats.json


@pytest.fixture
def pack(shared: Path) -> Path:
    return shared / "data" / "iglu-singleturn.zip"


def test_the_table_and_the_bank(pack: Path, stats: dict[str, Any]) -> None:
    expected = stats["questions"]
    report = Report()
    games, bank = clarifying_questions(pack, report), question_bank(pack)
    counts = [stats[name] for name in ("games", "csv_rows", "exact_duplicate_rows")]
    assert [len(games), report.rows, report.repeated_rows] == counts
    asked = [row for row in games if row.question]
    assert [row for row in games if not row.clear] == asked
    assert len(asked) == expected["rows_with_question"]
    assert len({row.qrel for row in asked}) == expected["distinct_qrel"]
    assert sorted({len(row.qbank) for row in asked}) == expected["qbank_size_per_row"]
    assert sum(row.qrel in row.qbank for row in asked) == expected["rows_whose_qrel_is_inside_qbank"]
    assert len({name for row in asked for name in row.qbank}) == expected["distinct_ids_in_qbank"]
    assert len(bank) == expected["question_bank_rows"]
    assert all(bank[row.qrel] == row.question for row in asked)
    assert not any(row.question or row.qrel or row.qbank for row in games if row.clear)


def test_the_ranking_task(pack: Path, stats: dict[str, Any]) -> None:
    games, bank = clarifying_questions(pack), question_bank(pack)
    task = RankingTask(games, bank)
    assert len(task) == stats["questions"]["rows_with_question"]
    assert task.report.counts == {}
    unknown = {name for game in task for name in task.candidates(game)} - bank.keys()
    assert len(unknown) == stats["questions"]["ids_in_qbank_absent_from_question_bank"]
    baseline = task.score(Bm25(bank))
    assert baseline == task.score(Bm25(bank))  # the same every time
    assert 0.33 < baseline.mrr < 0.35
    assert 0.2 < baseline.recall[1] < baseline.recall[5] < baseline.recall[20] < 0.7
    assert 0 < task.score(lambda _game, _names, _bank: []).mrr < 0.11


BANK = {"q_1": "Which color?", "q_2": "Where is north?", "q_10": "How many red blocks?", "q_11": "What?"}


def unclear(number: int, instruction: str, qrel: str, *qbank: str) -> Game:
    return Game(f"CQ-game-{number}", "a/1-c1/step-2", instruction, False, BANK.get(qrel, "eh?"), qrel, qbank)


def test_rows_are_read_from_a_pack(tmp_path: Path) -> None:
    rows = [
        game(1),
        game(2, clear="No", ClarifyingQuestion="which$$one?", qrel="q_3", qbank="'q_7', 'q_3',\"q_7\""),
        game(2, clear="No"),
    ]
    files = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, rows),
        "question_bank.csv": table(
            "qrel,ClarifyingQuestion",
            [
                {"qrel": "q_3", "ClarifyingQuestion": "which, one?"},
                {"qrel": "q_3", "ClarifyingQuestion": "another"},
                {"qrel": "", "ClarifyingQuestion": "no id"},
                {"qrel": "q_4"},
            ],
        ),
        start_file("1-c7/step-2"): world(*tower(1)),
    }
    path = write_zip(tmp_path / "s.zip", files)
    report, bank_report = Report(), Report()
    first, second = clarifying_questions(path, report)
    assert (first.clear, first.question, first.qbank) == (True, "", ())
    assert (second.question, second.qrel, second.qbank) == ("which\none?", "q_3", ("q_7", "q_3", "q_7"))
    assert report.repeated_rows == 1
    bank = question_bank(path, bank_report)
    assert dict(bank) == {"q_3": "which, one?"}
    assert bank_report.counts == {"doubled_id": 1, "bad_bank_row": 2}
    with pytest.raises(TypeError):
        bank["q_3"] = "mine"  # type: ignore[index]
    csv_file = tmp_path / "bank.csv"
    csv_file.write_bytes(files["question_bank.csv"])
    assert question_bank(csv_file) == bank


def test_odd_questions_are_counted() -> None:
    games = [
        Game("CQ-game-1", "p", "clear", True),
        unclear(2, "fine", "q_1", "q_1", "q_2"),
        unclear(3, "apart", "q_2", "q_1"),
        unclear(4, "not in the bank", "q_99", "q_99", "q_1"),
        replace(unclear(5, "no id", "", "q_1"), question="huh?"),
        replace(unclear(6, "nothing", ""), question=""),
    ]
    task = RankingTask(games, BANK)
    assert [query.game_id for query in task] == ["CQ-game-2", "CQ-game-3", "CQ-game-4"]
    assert task.report.counts == {
        "qrel_outside_qbank": 1,
        "unknown_qrel": 1,
        "no_qrel": 1,
        "unclear_without_question": 1,
    }
    assert task.candidates(games[2]) == ["q_1", "q_2"]


def test_scores_by_hand() -> None:
    games = [
        unclear(1, "one", "q_2", "q_1", "q_2", "q_10", "q_11"),  # ranked second
        unclear(2, "two", "q_1", "q_11", "q_1", "q_50"),  # ranked first
        unclear(3, "three", "q_50", "q_50", "q_1", "q_2"),  # without a text: behind all others
    ]
    task = RankingTask(games, BANK)
    seen: list[Game] = []

    def ranker(query: Game, names: Sequence[str], bank: Mapping[str, str]) -> list[str]:
        seen.append(query)
        assert set(names) <= bank.keys()
        return {"one": ["q_10", "q_2"], "two": ["q_1"], "three": ["q_2", "q_1"]}[query.instruction]

    scores = task.score(ranker)
    assert scores.ranks == (2, 1, 3)
    assert scores.mrr == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert scores.recall == {1: 1 / 3, 5: 1, 10: 1, 20: 1}
    assert not any(query.question or query.qrel or query.qbank for query in seen)  # the answer is hidden
    assert task.score(lambda *_: []).ranks == (2, 1, 3)  # by the numbers of the ids


def test_wrong_rankings_are_refused() -> None:
    task = RankingTask([unclear(1, "one", "q_2", "q_1", "q_2", "q_50")], BANK)
    with pytest.raises(DataError, match="CQ-game-1 has an id twice"):
        task.score(lambda *_: ["q_1", "q_1"])
    for stranger in ("q_10", "q_50"):  # not asked for; without a text
        with pytest.raises(DataError, match="no candidates"):
            task.score(lambda *_, name=stranger: [name])
    with pytest.raises(DataError, match="nothing to rank"):
        RankingTask([], BANK).score(Bm25(BANK))


def test_bm25_by_hand() -> None:
    """The formula, written out for one word."""
    texts = {"a": "red red block", "b": "red", "c": "blue tower"}
    bm25 = Bm25(texts)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    mean = 6 / 3
    expected = [
        idf * n * 2.5 / (n + 1.5 * (0.25 + 0.75 * length / mean)) if n else 0.0
        for n, length in ((2, 3), (1, 1), (0, 2))
    ]
    assert bm25.scores("Red!", ["a", "b", "c"]) == pytest.approx(expected)
    assert bm25.scores("red red", ["a"])[0] == pytest.approx(2 * expected[0])
    asked = unclear(1, "the blue one", "c")
    assert bm25(asked, ["a", "b", "c"], texts) == ["c", "a", "b"]  # equal ones stay in their order
    with pytest.raises(DataError):
        Bm25({})
    assert words("Don't place 2 RED-blocks.") == ["don", "t", "place", "2", "red", "blocks"]
    assert Bm25({"a": "", "b": "?"}).scores("red", ["a", "b"]) == [0, 0]
