"""Datasets of prompts: records whose answers are right, and rewards of any other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from iglu_marl.cli import main
from iglu_marl.core.errors import ConfigError, DataError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.data.splits import Split
from iglu_marl.text import message_reward, order_reward, rewards
from iglu_marl.text.export import generated_records, write_dataset

RED = '{"edits": [{"action": "place", "color": "red", "east": 2, "north": 3, "height": 1}]}'
BLOCKS = [[2, -1, -3, 6], [2, 0, -3, 1]]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["iglu-marl", "llm", "export", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()
    ]


def test_rewards_are_the_f1_of_changes() -> None:
    assert order_reward(RED, [], BLOCKS[:1]) == 1
    assert order_reward(f"<think>Red?</think>{RED}", [], BLOCKS) == pytest.approx(2 / 3)
    assert order_reward("I cannot.", [], BLOCKS) == 0
    assert (
        order_reward('{"edits": [{"action": "remove", "east": 2, "north": 3, "height": 1}]}', BLOCKS[:1], [])
        == 1
    )
    said = "Place a red block on the ground, 2 blocks east and 3 north of the centre."
    assert message_reward(said, [], BLOCKS[:1]) == 1
    assert message_reward("Well done!", [], BLOCKS[:1]) == 0
    chats = [[{"role": "assistant", "content": RED}], [{"role": "assistant", "content": said}]]
    assert rewards(chats, [[], []], [BLOCKS[:1]] * 2, ["builder", "architect"], prompt=["", ""]) == [1, 1]


def test_prompts_of_generated_records_ask_for_their_answers() -> None:
    with pytest.raises(ConfigError, match="answers is 'tools', expected 'json'"):
        next(generated_records([0], answers="tools"))


@pytest.mark.parametrize("role", ["builder", "architect"])
def test_generated_prompts_have_right_answers(role: str) -> None:
    made = list(generated_records(range(6), role=role))
    assert len(made) > 20
    for record in made:
        earned = rewards([record["completion"]], [record["start"]], [record["target"]], [role])
        assert earned[0] == 1 if role == "builder" else earned[0] > 0
        if role == "architect":
            assert Split.of(blocks_to_grid([tuple(block) for block in record["target"]])) == record["split"]
    assert made == list(generated_records(range(6), role=role))
    assert len({record["id"] for record in made}) == len(made)


def test_the_command_writes_a_dataset_by_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "bundled", "-o", str(tmp_path / "all"), "--count", "15", "--json") == 0
    assert json.loads(capsys.readouterr().out)["records"] == {"train": 15, "val": 15, "test": 15}
    records = records_in(tmp_path / "all")
    earned = rewards(
        *[[record[name] for record in records] for name in ("completion", "start", "target", "role")]
    )
    assert set(earned) == {1}
    assert all(record["prompt"][1]["content"].startswith("DIALOGUE SO FAR") for record in records)
    card = (tmp_path / "all" / "README.md").read_text()
    assert card.startswith(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n"
    )
    assert "split: validation\n    path: val.jsonl" in card
    assert run(monkeypatch, "bundled", "-o", str(tmp_path / "all")) == 2
    assert "not empty" in capsys.readouterr().err
    words = (
        "generated",
        "-o",
        str(tmp_path / "new"),
        "--count",
        "8",
        "--split",
        "train",
        "--text-view",
        "coordinates",
    )
    assert run(monkeypatch, *words) == 0
    assert {record["split"] for record in records_in(tmp_path / "new")} == {"train"}
    with pytest.raises(DataError, match="no records"):
        write_dataset([], tmp_path / "empty", {})
    assert not (tmp_path / "empty").exists()
