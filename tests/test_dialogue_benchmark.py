"""The benchmark of dialogues: its figures mean what their names say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import dialogues

RED, BLUE, TOP = [0, -1, 0, "red"], [0, 0, 0, "blue"], [0, 0, 0, "red"]
ARCHITECT = {
    "name": "asks",
    "turns": [
        {"say": ["Hi, let's build.", "Place a red block in the centre."], "worlds": [[RED]]},
        {"say": ["Put a block on top of it."], "worlds": [[RED, BLUE]], "ask": True, "answer": "blue"},
        {"say": ["Frobnicate."], "worlds": [[RED]]},
        {"say": ["Place a green block north of the red block."], "worlds": [[RED, BLUE], [RED]]},
    ],
}
BOTH = {
    "name": "mistake",
    "turns": [
        {
            "dialogue": [["architect", "Place a red block in the centre."], ["builder", "Done, two of them."]],
            "worlds": [[RED, TOP]], "asked": "none", "mistake": True,
        },
        {"dialogue": [["architect", "Remove the top block."], ["builder", "Sure."]], "worlds": [[RED]]},
        {"dialogue": [["builder", "Do you like it?"]], "worlds": [[RED]]},
    ],
}  # fmt: skip


def run(folder: Path, *arguments: str) -> Any:
    file = folder / "figures.json"
    assert dialogues.main([*arguments, "--processes", "1", "--json", str(file)]) == 0
    return json.loads(file.read_text())["sources"]


@pytest.fixture
def written(tmp_path: Path) -> str:
    file = tmp_path / "two.json"
    file.write_text(json.dumps([ARCHITECT, BOTH]))
    return str(file)


def test_turns_are_judged_from_the_true_world(written: str, tmp_path: Path) -> None:
    asks, mistake = run(tmp_path, written)["two"]["sessions"]
    assert [turn["outcome"] for turn in asks["turns"]] == ["right", "asked", "nothing", "wrong"]
    assert [text["taken"] for text in asks["turns"][0]["texts"]] == ["no request", "request"]
    assert [text["taken"] for text in asks["turns"][1]["texts"]] == ["question", "request"]
    assert [text["taken"] for text in asks["turns"][2]["texts"]] == ["refusal"]
    assert [turn["outcome"] for turn in mistake["turns"]] == ["right", "right"]


def test_sessions_are_built_in_the_builders_own_world(written: str, tmp_path: Path) -> None:
    found = run(tmp_path, written)["two"]
    asks, mistake = (row["own"] for row in found["sessions"])
    assert mistake["finished"]  # the correction was not heard: there was no mistake
    assert mistake["counts"] == [1, 1, 1]
    assert not asks["finished"]
    assert asks["counts"] == [2, 3, 2]  # the last turn put a block too many
    assert (asks["questions"], asks["answered"]) == (1, 1)
    assert found["own"]["F1"] == pytest.approx(2 * 3 / (4 + 3))
    assert found["true"]["texts"] == 7
    assert found["true"]["read"] == 5  # one lacked a colour


def test_bundled_sessions_give_consistent_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(tmp_path, "bundled", "--count", "3", "--show", "1")["bundled"]
    true = found["true"]
    assert true["sessions"] == len(found["sessions"]) == 3
    assert sum(true[outcome] for outcome in dialogues.OUTCOMES) == true["turns"]
    assert sum(true[f"taken as {kind}"] for kind in dialogues.TAKEN) == true["texts"] >= true["read"]
    assert 0 <= found["own"]["answered"] <= found["own"]["questions"]
    printed = capsys.readouterr().out
    assert printed.count("== ") == 1
    assert repr(dialogues.read_source("bundled")[0].turns[0].lines[0][1]) in printed


def test_memory_follows_the_true_world() -> None:
    before, after = (dialogues.blocks_to_grid(blocks) for blocks in ((), [(2, -1, 3, 6)]))
    follower = dialogues.Follower(before)
    follower.hear("Build a castle.")
    follower.show(after)
    follower.hear("Put a blue block on top of it.")
    assert (follower.taken, follower.grid[1, 7, 8]) == ("request", 1)
    assert np.count_nonzero(follower.grid) == 2
