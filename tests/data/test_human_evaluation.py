"""The human evaluation table: the shared one exactly, and irregular ones made here."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from made_packs import (
    cache,  # noqa: F401 - a fixture
    table,
    write_folder,
    write_zip,
)

from iglu_marl.core.errors import DataError
from iglu_marl.data import human_evaluation
from iglu_marl.data.iglu.human_evaluation import (
    COLUMNS,
    Annotation,
    CodeState,
    Unavailable,
    decode_completion_code,
)

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def stats(shared: Path) -> dict[str, Any]:
    return json.loads((shared / "data" / "stats.json").read_text())["human_evaluation"]


def test_the_shared_table(shared: Path, stats: dict[str, Any]) -> None:
    found = human_evaluation(shared / "data" / "human_agent_feedback.csv")
    report = found.report()
    assert (report.rows, report.hits) == (stats["rows"], stats["hits"])
    assert report.agents == stats["rows_by_agent"]
    assert report.annotations == stats["annotation_json"]
    assert report.without_game == stats["NA_game_ids"]
    assert report.codes["absent"] == stats["NA_completion_codes"]
    assert report.codes["undecodable"] == 27  # as the notes on the data say
    assert sum(report.codes.values()) == stats["rows"]
    best = {
        agent: {str(chosen).lower(): count for chosen, count in counts.items()}
        for agent, counts in report.chosen_best.items()
    }
    assert best == stats["chosen_best_by_agent"]
    assert report.odd_hits == 0
    assert not found.games
    assert str(found.games) == "gamedata.json is not available: there is no such file beside the table"
    for row in found.feedback:
        assert (row.code is not None) == (row.code_state is CodeState.DECODED)
        if row.code is not None and row.game_id is not None:
            assert row.names_other_game == (row.code.game_id != row.game_id)
            assert row.names_other_game == (row.code.task_id != row.task_id)
    assert len(found.to_pandas()) == stats["rows"]
    assert len(found.by_agent("Happy")) == stats["rows_by_agent"]["Happy"]
    with pytest.raises(DataError, match="expected one of"):
        found.by_agent("Sad")


def test_it_is_found_in_a_folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(shared / "data"))
    assert len(human_evaluation().feedback) == 422


# ---------------------------------------------------------------------------------------------- tables made here


def code(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode())).decode()


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
        row(annotation=judged(True, " good "), CompletionCode=code("c:ac:x:t1:g1:y:z")),
        row(annotation=judged(False, "NA"), CompletionCode=code("c:ac:x:t1:g2:y:z"), GameMinecraftId="NA"),
        row("H2", annotation="{{" + json.dumps(judged(True, "x"))[1:], CompletionCode="A1EVO152C6YOER"),
        row("H2", annotation=judged("yes", "x"), CompletionCode=code("short")),
        row("H3", annotation="[1]", CompletionCode=" N/A "),
        row("H3", annotation="", CompletionCode=""),
        row("H3", annotation=judged(True, 3)),
    ]
    path = tmp_path / "human_agent_feedback.csv"
    path.write_bytes(b"\xef\xbb\xbf" + feedback(*rows).replace(b"\n", b"\r\n"))
    found = human_evaluation(path)
    first, second, third, fourth, fifth, sixth, seventh = found.feedback
    assert (first.chosen_best, first.performance) == (True, "good")
    assert first.code is not None
    assert (first.code.task_id, first.code.game_id, first.names_other_game) == ("t1", "g1", False)
    assert (second.chosen_best, second.performance, second.game_id) == (False, None, None)
    assert second.names_other_game
    assert (
        third.annotation
        is fourth.annotation
        is fifth.annotation
        is seventh.annotation
        is Annotation.MALFORMED
    )
    assert third.raw_annotation.startswith("{{")
    assert (third.chosen_best, third.code_state) == (None, CodeState.UNDECODABLE)
    assert fourth.code is not None
    assert (fourth.code.parts, fourth.code.game_id) == (("short",), None)
    assert (fifth.code_state, sixth.code_state) == (CodeState.UNDECODABLE, CodeState.ABSENT)
    assert sixth.annotation is Annotation.EMPTY
    report = found.report()
    assert (report.rows, report.hits, report.odd_hits, report.no_text) == (7, 3, 1, 1)
    assert report.annotations == {"filled": 2, "malformed": 4, "empty": 1}
    assert report.codes == {"decoded": 3, "undecodable": 2, "absent": 2}
    assert "7 rows of 3 HITs" in str(report)


def test_codes_that_are_none() -> None:
    whole = base64.b64decode(code("a:b"))
    assert decode_completion_code(code("a:b")).parts == ("a", "b")  # type: ignore[union-attr]
    for content in (b"", whole[:-9], whole[:5], b"no gzip", gzip.compress(b""), gzip.compress(b"\xff\xfe")):
        assert decode_completion_code(base64.b64encode(content).decode()) is None
    assert decode_completion_code(code("x" * 1_000_000)) is None  # more than a code can have
    assert decode_completion_code("not base64!") is None


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


def test_a_side_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iglu_marl.data.iglu.human_evaluation._SIDE_LIMIT", 99)
    games = b"[" + b" " * 99 + b"]"
    files = {"human_agent_feedback.csv": feedback(row()), "gamedata.json": games, "taskdata.json": b"[2]"}
    for place in (write_folder(tmp_path / "folder", files), write_zip(tmp_path / "pack.zip", files)):
        found = human_evaluation(place)
        assert isinstance(found.games, Unavailable)
        assert "101 bytes" in found.games.reason
        assert found.tasks == [2]


def test_wrong_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        human_evaluation(tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match=r"has no human_agent_feedback\.csv"):
        human_evaluation(tmp_path)
    (tmp_path / "a.csv").write_bytes(b"HitId,AgentName\n")
    with pytest.raises(DataError, match="no column GameMinecraftId"):
        human_evaluation(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"<!DOCTYPE html><html>")
    with pytest.raises(DataError, match="web page"):
        human_evaluation(tmp_path / "a.csv")
    with pytest.raises(DataError, match="comes with IGLU's data"):
        human_evaluation()
