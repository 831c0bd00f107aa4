"""What a large language model understands, by its recorded replies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import ask_again
import pytest
from recorded_model import FILE, RecordedModel, RecordedReader
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


def test_one_prompt_of_a_dialogue_is_asked_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "replies.json"
    file.write_text("{}", encoding="utf-8")
    for module in ("recorded_model", "ask_again"):
        monkeypatch.setattr(f"{module}.FILE", file)
    folder = tmp_path / "prompts"
    arguments = [str(folder), WRITTEN[0], "--count", "2", "--modes", "true"]
    asked: dict[str, list[str]] = {}
    while True:
        ask_again.main(arguments)
        if capsys.readouterr().out.endswith("all answered\n"):
            break
        prompts = sorted(folder.glob("*.prompt.txt"))
        assert len(prompts) <= 2
        for prompt in prompts:
            asked.setdefault(prompt.name, []).append(prompt.read_text(encoding="utf-8"))
            prompt.with_name(prompt.name.replace(".prompt.", ".reply.")).write_text("What?", encoding="utf-8")
    assert len(asked) == 2
    for session in read_source(WRITTEN[0])[:2]:
        shown = asked[f"dialogues-architect.{session.name}.prompt.txt"]
        assert len(shown) == sum(len(turn.lines) for turn in session.turns)
        assert all(text.count('"not yet"') == 1 for text in shown)
    assert "You are the builder" in (folder / "system.txt").read_text(encoding="utf-8")
    assert set(RecordedModel().replies.values()) == {"What?"}, "what cannot be used is kept"
    assert not [*folder.glob("*.reply.txt")]
