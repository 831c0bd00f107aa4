"""The human evaluation table: the shared one exactly, and irregular ones made here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_packs import (
    table,
    write_folder,
    write_zip,
)

from iglu_marl.core.errors import DataError
from iglu_marl.data import human_evaluation
from iglu_marl.data.iglu.human_evaluation import COLUMNS, Annotation, Unavailable

STATS = "human_evaluation"  # key of stats.json


def test_the_shared_table(shared: Path, stats: dict[str, Any]) -> None:
    found = human_evaluation(shared / "data" / "human_agent_feedback.csv")
    rows = found.feedback
    hits = Counter(row.hit_id for row in rows)
    assert (len(rows), len(hits), set(hits.values())) == (stats["rows"], stats["hits"], {2})
    assert Counter(row.agent for row in rows) == stats["rows_by_agent"]
    assert Counter(row.annotation.name.lower() for row in rows) == stats["annotation_json"]
    assert sum(row.game_id is None for row in rows) == stats["NA_game_ids"]
    assert sum(row.code is None for row in rows) == stats["NA_completion_codes"] + 1  # and one "N/A"
    for agent, counts in stats["chosen_best_by_agent"].items():
        own = Counter(str(row.chosen_best).lower() for row in rows if row.agent == agent)
        assert {name: count for name, count in own.items() if name != "none"} == counts
    assert not found.games
    assert str(found.games) == "gamedata.json is not available: there is no such file beside the table"


def test_it_is_found_in_a_folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared / "data"))
    assert len(human_evaluation().feedback) == 422


def row(hit: str = "H1", agent: str = "A", annotation: Any = "{}", **more: str) -> dict[str, str]:
    said = annotation if isinstance(annotation, str) else json.dumps(annotation)
    cells = {"HitId": hit, "GameMinecraftId": "g1", "TaskMinecraftId": "t1", "CompletionCode": "NA"}
    return {**cells, "AgentName": agent, "Annotation": said, **more}


def feedback(*rows: dict[str, str]) -> bytes:
    return table(",".join(COLUMNS), rows)


def judged(best: Any, said: Any) -> dict[str, Any]:
    return {"was_chosen_best": best, "agent_performance": said}


def test_cells_are_typed(tmp_path: Path) -> None:
    rows = [
        row(annotation=judged(True, " good "), CompletionCode=" abc "),
        row(annotation=judged(False, "NA"), GameMinecraftId="NA"),
        row("H2", annotation="{{" + json.dumps(judged(True, "x"))[1:]),
        row("H2", annotation=judged("yes", "x")),
        row("H3", annotation="[1]", CompletionCode=" N/A "),
        row("H3", annotation="", CompletionCode=""),
        row("H3", annotation=judged(True, 3)),
    ]
    path = tmp_path / "human_agent_feedback.csv"
    path.write_bytes(b"\xef\xbb\xbf" + feedback(*rows).replace(b"\n", b"\r\n"))
    found = human_evaluation(path)
    first, second, third, *_ = found.feedback
    assert (first.chosen_best, first.performance, first.code) == (True, "good", "abc")
    assert (second.chosen_best, second.performance, second.game_id, second.code) == (False, None, None, None)
    assert third.raw_annotation.startswith("{{")
    assert third.chosen_best is None
    kinds = [row.annotation for row in found.feedback]
    filled, malformed = [Annotation.FILLED] * 2, [Annotation.MALFORMED] * 3
    assert kinds == [*filled, *malformed, Annotation.EMPTY, Annotation.MALFORMED]
    assert (found.report().rows, found.report().skipped) == (7, [])


def test_what_stands_beside_the_table(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 99\n"
    files = {
        "datasets/human_evaluation/human_agent_feedback.csv": feedback(row()),
        "datasets/human_evaluation/gamedata.json": b'[{"event": 1}]',
        "datasets/human_evaluation/taskdata.json": pointer,
        "other/deeper/still/human_agent_feedback.csv": feedback(),
    }
    for place in (write_folder(tmp_path / "clone", files), write_zip(tmp_path / "repository.zip", files)):
        found = human_evaluation(place)
        assert len(found.feedback) == 1
        assert found.games == [{"event": 1}]
        assert isinstance(found.tasks, Unavailable)
        assert "Git LFS pointer" in found.tasks.reason
    beside = tmp_path / "clone" / "datasets" / "human_evaluation"
    (beside / "gamedata.json").write_bytes(b"{")
    found = human_evaluation(beside / "human_agent_feedback.csv")
    assert "not JSON" in found.games.reason
    assert "Git LFS pointer" in found.tasks.reason


def test_wrong_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.csv has no human_agent"):
        human_evaluation(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=r"has no human_agent_feedback\.csv"):
        human_evaluation(tmp_path)
    with pytest.raises(DataError, match="comes with IGLU's data"):
        human_evaluation()
