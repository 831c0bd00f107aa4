"""What a large language model understands, by its recorded replies."""

from __future__ import annotations

from collections import Counter

import pytest
from recorded_model import FILE, RecordedReader
from requirements import ROOT, shared_folder

from benchmarks.dialogues import Session, from_true_world, in_own_world, read_source
from iglu_marl.core.scoring import micro

WRITTEN = [str(ROOT / f"tests/language/{name}.json") for name in ("dialogues-architect", "dialogues-both")]


def outcomes(sessions: list[Session]) -> tuple[Counter[str], int]:
    """Outcomes of turns from the true world, and the number of sessions that were finished in their own world."""
    reader = RecordedReader()
    turns = [turn for one in sessions for turn in from_true_world(one, reader)]
    finished = sum(in_own_world(one, reader)["finished"] for one in sessions)
    assert not reader.model.missing, f"{FILE} lacks replies: ask_again.py asks for them"
    return Counter(turn["outcome"] for turn in turns), finished


@pytest.mark.parametrize("sources", [["bundled"], WRITTEN], ids=["unseen third", "written dialogues"])
def test_dialogues_that_models_wrote(sources: list[str]) -> None:
    sessions = [one for source in sources for one in read_source(source)]
    sessions = sessions[2::3] if sources == ["bundled"] else sessions
    found, finished = outcomes(sessions)
    assert found["right"] + found["asked"] >= 0.97 * found.total()
    assert found["wrong"] <= 0.01 * found.total()
    assert finished >= 0.9 * len(sessions)


def test_requests_that_nobody_wrote_rules_for() -> None:
    sessions = read_source(str(ROOT / "tests/language/requests-12.json"))
    found, _ = outcomes(sessions)
    alone = Counter(row["outcome"] for one in sessions for row in from_true_world(one))
    assert found["right"] >= 98 > 40 >= alone["right"]
    assert found["wrong"] <= 1


def test_people_in_minecraft() -> None:
    reader = RecordedReader()
    sessions = read_source(str(shared_folder() / "data/mdc.zip"))[4::8][:10]
    turns = [turn for one in sessions for turn in from_true_world(one, reader)]
    assert not reader.model.missing, f"{FILE} lacks replies: ask_again.py asks for them"
    assert len(turns) == 108
    assert micro(turn["counts"] for turn in turns).f1 >= 0.5
