"""Structures that cannot be built: the commands say so before the game, and afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shell import run, run_json

from iglu_marl import Task, TaskError, evaluate
from iglu_marl.evaluation import ImpossibleWarning
from iglu_marl.evaluation.report import markdown

SQUARE = [[x, -1, z, 1] for x in range(-2, 3) for z in range(-2, 3)]
REASON = "not enough blue blocks: 25 to place, 20 in the inventory, 0 to come back from removals"
STRUCTURES = {"square": {"blocks": SQUARE}, "block": {"blocks": [[0, -1, 0, 6]]}, "none": {"blocks": []}}


@pytest.fixture
def structures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    colours = {"1": "blue", "6": "red"}
    Path("file.json").write_text(json.dumps({"colours": colours, "structures": STRUCTURES}))
    return "file.json"


def test_tasks_says_which_structures_are_impossible(structures: str) -> None:
    rows = run_json("tasks", "--task-source", structures)
    assert {row["name"]: row["impossible"] for row in rows} == {"square": REASON, "block": "", "none": ""}
    assert f"square is impossible: {REASON}" in run("tasks", "--task-source", structures).stdout


def test_a_demo_of_an_impossible_structure_gives_the_reason(structures: str) -> None:
    words = ("demo", "--task-source", structures, "--task", "square", "--controls", "flying")
    shown = run(*words, code=1).stdout
    before, game, after = shown.partition("Place a blue block")
    assert REASON in before
    assert game
    assert REASON in after
    assert "There are no more blue blocks" in after
    facts = run_json(*words, code=1)
    assert (facts["impossible"], facts["intersection"]) == (REASON, 20)
    assert facts["turns"] < 40
    facts = run_json("demo", "--task-source", structures, "--task", "block")
    assert facts["impossible"] == ""


def test_an_empty_structure_is_no_game(structures: str) -> None:
    with pytest.raises(TaskError, match="'none' is complete at its start"):
        run("demo", "--task-source", structures, "--task", "none")
    words = ("demo", "--task-source", structures, "--max-steps", 1)
    names = {run_json(*words, "--seed", seed, code=1)["task"] for seed in range(4)}
    assert names == {"square", "block"}


def test_an_evaluation_marks_impossible_targets(structures: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    options = ("--controls", "flying", "--max-steps", "40", "--output", out)
    result = run("evaluate", "--task-source", structures, *options)
    assert f"the target of square is impossible: {REASON}" in result.stderr
    assert f"square is impossible: {REASON}" in result.stdout
    assert "Tasks left out: 1 without a change" in result.stdout
    assert REASON in (tmp_path / "out" / "evaluation.md").read_text()
    found = json.loads((tmp_path / "out" / "evaluation.json").read_text())
    assert found["impossible"] == {"square": REASON}
    assert found["settings"]["left_out"] == {"without a change": 1}


def test_rows_are_marked_also_those_that_were_played_before(tmp_path: Path) -> None:
    tasks = [Task("", SQUARE, task_id="square"), Task("", [(0, -1, 0, 6)], task_id="block")]
    options: dict[str, Any] = {"controls": "flying", "config": {"max_steps": 5}, "progress": False}
    with pytest.warns(ImpossibleWarning, match="square"):
        first = evaluate(tasks=tasks, output=tmp_path, **options)
    assert [row["impossible"] for row in first.rows] == [REASON, ""]
    log = tmp_path / "games.jsonl"
    log.write_text(log.read_text().replace(REASON, ""))  # as an earlier version wrote it
    with pytest.warns(ImpossibleWarning):
        again = evaluate(tasks=tasks, output=tmp_path, **options)
    assert again.rows == first.rows
    assert again.impossible() == {"square": REASON}
    assert REASON in markdown(again)


def test_the_stock_of_a_team_decides(tmp_path: Path) -> None:
    """Two builders have 40 blue blocks, or as many as `inventories` says."""
    task = Task("", SQUARE, task_id="square")
    options: dict[str, Any] = {"builders": 2, "max_steps": 5}
    (row,) = evaluate(tasks=task, config=options, progress=False).rows
    assert row["impossible"] == ""
    held = {f"builder_{k}": {"blue": 12} for k in range(2)}
    with pytest.warns(ImpossibleWarning):
        (row,) = evaluate(tasks=task, config={**options, "inventories": held}, progress=False).rows
    assert "25 to place, 24 in the inventory" in row["impossible"]
