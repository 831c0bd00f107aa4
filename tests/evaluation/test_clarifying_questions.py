"""When to ask and what to ask: known values, both protocols, what a predictor can see, and the command."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from made_packs import GAME_COLUMNS, table, write_folder
from made_packs import cache as cache
from made_packs import game as made_row
from typer.testing import CliRunner

from iglu_marl import ConfigError, DataError
from iglu_marl.cli import app
from iglu_marl.core.scoring import Counts
from iglu_marl.data import RankingTask, clarifying_questions, question_bank
from iglu_marl.data.iglu.clarifying_questions import Bm25
from iglu_marl.data.iglu.singleturn import Game
from iglu_marl.evaluation.clarification import ASKERS, RANKERS, predict_questions, what_to_ask, when_to_ask

BANK = {f"q_{n}": f"question {n}" for n in range(1, 31)}


def game(number: int, text: str, qrel: str = "", qbank: Sequence[str] = ()) -> Game:
    question = BANK.get(qrel, "")
    return Game(f"CQ-game-{number}", f"a/1-c{number}/step-2", text, not qrel, question, qrel, tuple(qbank))


GAMES = [
    game(1, "clear one"),
    game(2, "clear two"),
    game(3, "vague", "q_2", ["q_1", "q_2", "q_3"]),
    game(4, "vaguer", "q_25", ["q_24", "q_25"]),
    game(5, "twice", "q_3", ["q_3", "q_9"]),
    game(6, "twice"),
]


def test_when_by_hand() -> None:
    scores = when_to_ask([True, True, False, False, True], [True, False, True, False, True])
    assert scores.unclear == Counts(2, 3, 3)
    assert scores.clear == Counts(1, 2, 2)
    assert (scores.f1, scores.clear_f1) == pytest.approx((2 / 3, 1 / 2))
    assert when_to_ask([0, 0], [0, 0]).f1 == 1.0  # nothing to ask, nothing asked
    assert when_to_ask([0, 0], [1, 0]).f1 == 0.0
    with pytest.raises(ConfigError, match="asked has 1 entries and unclear 2"):
        when_to_ask([True], [True, False])


def test_what_by_hand() -> None:
    long = [f"q_{n}" for n in range(1, 31)]
    rankings = [["a", "b", "c"], ["b", "a"], ["c"], long, long]
    answers = ["a", "a", "z", "q_20", "q_21"]
    assert what_to_ask(rankings, answers) == pytest.approx((1 + 1 / 2 + 0 + 1 / 20 + 0) / 5)
    assert math.isnan(what_to_ask([], []))
    with pytest.raises(ConfigError, match="1 rankings and 2 answers"):
        what_to_ask([["a"]], ["a", "b"])


def test_each_game_by_default() -> None:
    result = predict_questions(
        GAMES, BANK, asks=lambda one: "vague" in one.instruction, ranks=RANKERS["in-order"](BANK)
    )
    assert result.when is not None
    assert result.when.unclear == Counts(2, 2, 3)
    assert result.f1 == result.when.f1 == pytest.approx(4 / 5)
    assert result.mrr == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)  # of candidates in the order of their numbers
    assert [row.ask for row in result.rows] == [False, False, True, True, False, False]
    assert result.rows[2].to_json() == {
        "game_id": "CQ-game-3",
        "ask": True,
        "questions": ["q_1", "q_2", "q_3"],
    }
    assert result.to_json()["mrr@20"] == result.mrr


def test_each_text_and_the_whole_bank_as_in_2022() -> None:
    asks, ranks = ASKERS["always"], RANKERS["in-order"](BANK)
    result = predict_questions(GAMES, BANK, asks=asks, ranks=ranks, protocol="iglu2022")
    assert result.when is not None
    assert result.when.unclear == Counts(2, 5, 2)  # "twice" is clear, as its last row says
    assert result.when.clear == Counts(0, 0, 3)
    assert result.f1 == result.when.clear_f1 == 0.0  # the clear ones are its positives
    # q_2 is second, q_25 is not among the first 20, q_3 is third: of the unclear rows alone "twice" is one
    assert result.mrr == pytest.approx((1 / 2 + 0 + 1 / 3) / 3)
    assert all(len(row.questions) <= 20 for row in result.rows)
    never = predict_questions(GAMES, BANK, asks=ASKERS["never"], protocol="iglu2022")
    assert never.f1 == pytest.approx(2 * 3 / (5 + 3))
    assert never.mrr is None


def test_nothing_shows_the_answer() -> None:
    seen: list[Game] = []

    def asks(one: Game) -> bool:
        seen.append(one)
        return False

    def ranks(one: Game, names: Sequence[str], bank: Mapping[str, str]) -> Sequence[str]:
        seen.append(one)
        return names

    predict_questions(GAMES, BANK, asks=asks)
    assert {(one.clear, one.question, one.qrel, one.qbank) for one in seen} == {(True, "", "", ())}
    predict_questions(GAMES, BANK, ranks=ranks)
    assert {(one.question, one.qrel, one.qbank) for one in seen} == {("", "", ())}


def test_what_cannot_be_scored_is_named() -> None:
    for wrong, fault in (
        ({"protocol": "iglu"}, "protocol is 'iglu', expected one of games, iglu2022"),
        ({"games": []}, "no instructions"),
        ({"games": GAMES[:2]}, "nothing to rank, expected an unclear instruction"),
        ({"ranks": lambda *_: ["q_77"]}, "no candidates"),
    ):
        options: dict[str, Any] = {"games": GAMES, "ranks": RANKERS["in-order"](BANK), **wrong}
        with pytest.raises((ConfigError, DataError), match=fault):
            predict_questions(options.pop("games"), BANK, **options)


def test_games_without_a_choice_are_counted_not_ranked() -> None:
    games = [*GAMES, game(7, "alone", "q_7", ["q_7"]), game(8, "none", "q_8")]
    result = predict_questions(games, BANK, ranks=RANKERS["in-order"](BANK))
    assert (result.ranked, result.to_json()["odd"]) == (3, {"few_candidates": 2})
    assert result.mrr == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    whole = predict_questions(games, BANK, ranks=RANKERS["in-order"](BANK), protocol="iglu2022")
    assert (whole.ranked, whole.odd) == (5, {})  # the whole bank is a choice
    with pytest.raises(DataError, match=r"nothing to rank, .* two or more candidates; such as CQ-game-7"):
        predict_questions(games[-2:], BANK, ranks=RANKERS["in-order"](BANK))


@pytest.mark.parametrize("column", ["ClarifyingQuestion", "qrel", "qbank"])
def test_a_missing_column_is_an_error(tmp_path: Path, cache: Path, column: str) -> None:
    rows = [made_row(1), made_row(2, clear="No", ClarifyingQuestion="?", qrel="q_1", qbank="q_1 q_2")]
    games = table(GAME_COLUMNS, rows).replace(column.encode(), b"renamed", 1)
    bank = table("qrel,ClarifyingQuestion", [{"qrel": "q_1", "ClarifyingQuestion": "?"}])
    files = {"clarifying_questions_train.csv": games, "question_bank.csv": bank}
    pack = write_folder(tmp_path / "pack", files)
    done = CliRunner().invoke(app, ["questions", "--data", str(pack), "--split", "all"])
    assert isinstance(done.exception, DataError), done.output
    assert f"has no column {column}" in str(done.exception)


@pytest.mark.slow
def test_the_shared_pack(shared: Path, cache: Path) -> None:
    pack = shared / "data" / "iglu-singleturn.zip"
    games, bank = clarifying_questions(pack), question_bank(pack)
    result = predict_questions(games, bank, asks=ASKERS["always"], ranks=Bm25(bank))
    assert result.when is not None
    assert result.when.unclear == Counts(187, 1638, 187)
    task = RankingTask(games, bank)
    first = [rank if rank <= 20 else math.inf for rank in task.score(Bm25(bank)).ranks]
    assert result.ranked == len(task) == 187
    assert result.mrr == pytest.approx(math.fsum(1 / rank for rank in first) / len(first))


@pytest.mark.slow
def test_the_command(shared: Path, cache: Path, tmp_path: Path) -> None:
    pack, log = shared / "data" / "iglu-singleturn.zip", tmp_path / "asked.jsonl"
    command = ["questions", "--data", str(pack), "--when", "never", "--what", "bm25"]
    done = CliRunner().invoke(app, [*command, "-o", str(log), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["split"], found["protocol"], found["when"]["unclear"]) == ("test", "games", [0, 0, 50])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len({row["game_id"] for row in rows}) == len(rows) == 374
    assert sum(bool(row["questions"]) for row in rows) == found["ranked"] == 50
    shown = CliRunner().invoke(app, [*command, "--split", "all"])
    assert "MRR@20" in shown.output
    mine = CliRunner().invoke(app, ["questions", "--data", str(pack), "--when", "builtins:bool", "--json"])
    assert json.loads(mine.stdout)["when"]["unclear"] == [50, 374, 50]
    for wrong in ("sometimes", "nowhere:at_all", "math:pi"):
        failed = CliRunner().invoke(app, ["questions", "--data", str(pack), "--when", wrong])
        assert isinstance(failed.exception, ConfigError), wrong
        assert "--when is" in str(failed.exception)
