"""What a large language model adds to the rules, by its recorded replies."""

from __future__ import annotations

from collections import Counter

import pytest
from recorded_model import FILE, SETTINGS, RecordedModel
from requirements import ROOT, shared_folder

from benchmarks.dialogues import from_true_world, read_source
from iglu_marl.agents.llm.reader import LLMReader
from iglu_marl.core.scoring import micro


@pytest.mark.parametrize("number", [7, 9, 12])
def test_requests_that_nobody_wrote_rules_for(number: int) -> None:
    sessions = read_source(str(ROOT / f"tests/language/requests-{number}.json"))
    model = RecordedModel()
    outcomes = {
        name: Counter(row["outcome"] for one in sessions for row in from_true_world(one, reader))
        for name, reader in {"rules": None, "both": LLMReader(SETTINGS, backend=model)}.items()
    }
    assert outcomes["rules"]["right"] <= 40
    assert outcomes["both"]["right"] >= 98
    assert outcomes["both"]["wrong"] <= 1
    assert len(model.missing) <= 2, f"{FILE} lacks replies"


def test_people_in_minecraft() -> None:
    model = RecordedModel()
    turns = [
        turn
        for one in read_source(str(shared_folder() / "data/mdc.zip"))[4::8]
        for turn in from_true_world(one, LLMReader(SETTINGS, backend=model))
    ]
    assert len(model.missing) <= 3, f"{FILE} lacks replies"
    texts = [text["read"] for turn in turns for text in turn["texts"] if "text" in text]
    counts = micro(turn["counts"] for turn in turns)
    assert len(turns) == 141
    assert sum(texts) / len(texts) >= 0.7
    assert counts.f1 >= 0.5
    assert counts.precision >= 0.53
