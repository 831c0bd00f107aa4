"""A rehearsal: simulated participants, in simulated time, and what it finds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("sqlalchemy")

from test_server import RED
from test_study import CHECK, rows_of, written
from typer.testing import CliRunner

from iglu_marl.cli import app as command
from iglu_marl.web import store as db
from iglu_marl.web.rehearsal import Crowd, run_rehearsal
from iglu_marl.web.study import read_study

PAIRS = """
name = "pairs"
roles = "swap"
practice = ["one-red"]
least_s = 1
completion_code = "C0DE"

[[conditions]]
name = "people"
partner = "person"
tasks = ["one-red", "one-red"]

[[conditions]]
name = "agents"
partner = "llm:some@http://nowhere.example"
tasks = ["one-red"]
"""


def rehearsed(tmp_path: Path, text: str, crowd: Crowd) -> tuple[dict[str, Any], db.Store]:
    folder = tmp_path / "games"
    folder.mkdir()
    report, store = run_rehearsal(read_study(written(tmp_path, text)), folder, {"one-red": RED}, crowd)
    store.close()
    return report, store


def test_one_who_waits_for_ever_is_found(tmp_path: Path) -> None:
    text = PAIRS.partition('[[conditions]]\nname = "agents"')[0].replace(
        "least_s", 'no_partner = "wait"\nleast_s'
    )
    report, _ = rehearsed(tmp_path, text, Crowd(3, 5.0, 0.0))
    assert len(report["problems"]) == 1
    assert "nobody comes" in report["problems"][0]


def test_an_end_that_is_not_stored_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "game_ended", lambda *_, **__: None)
    text = PAIRS.replace('practice = ["one-red"]\n', "")
    report, _ = rehearsed(tmp_path, text, Crowd(2, 5.0, 0.0))
    assert any("has no end" in problem for problem in report["problems"])


def test_a_crowd_goes_through_a_study(tmp_path: Path) -> None:
    study = written(tmp_path, (PAIRS + CHECK).replace("one-red", "stepping-stones"))
    words = [
        "study",
        "rehearse",
        str(study),
        "--participants",
        "12",
        "--dropouts",
        "0.25",
        "--seed",
        "1",
        "--json",
    ]
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["problems"] == []
    outcomes = Counter[str]()
    for one in report["balance"].values():
        outcomes.update(one)
    assert outcomes.total() == 12
    assert {"done", "dropped out"} <= outcomes.keys()
    assert report["pairs"] >= 2
    assert report["games"]["complete"] >= 12
    assert report["hours"] > 0.05  # of the simulated clock
    assert len(rows_of(tmp_path / "out" / "participants.csv")) == 12
    assert len(list((tmp_path / "out" / "recordings").iterdir())) == sum(report["games"].values())
