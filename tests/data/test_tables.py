"""Corpora as tables: an utterance in a row, parquet files with a data card, and figures."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_packs import (
    DIALOG_COLUMNS,
    GAME_COLUMNS,
    game,
    rebuilt_file,
    start_file,
    step_file,
    table,
    tower,
    world,
    write_zip,
)
from requirements import require

from iglu_marl import DataError, Task
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    bundled,
    utterance_frame,
)
from iglu_marl.data.packs.registry import PACKS
from iglu_marl.data.parquet import TASK_COLUMNS, write_parquet
from iglu_marl.data.utterances import UTTERANCE_COLUMNS
from iglu_marl.tasks import SessionTasks

ONE, TWO = [(0, -1, 0, 6)], [(0, -1, 0, 6), (0, 0, 0, 6)]


@pytest.fixture
def parquet() -> None:
    installed = importlib.util.find_spec("pyarrow")
    require("parquet", installed, "pyarrow is not installed (pip install '.[parquet]')")


def multiturn(tmp_path: Path) -> MultiturnDataset:
    cells: list[dict[str, str]] = [
        {"instruction": "one"},
        {"ClarifyingQuestion": "red?"},
        {"Answer4ClarifyingQuestion": "yes"},
        {},
        {"instruction": "</script>\u2028more"},
        {},
    ]
    said = {"PartitionKey": "1-c7", "structureId": "c7", "IsHITQualified": "True"}
    rows = [{**said, "StepId": str(step), **own} for step, own in enumerate(cells, start=1)]
    avatar = {"avatarInfo": {"pos": [0.5, 63, 1.5], "look": [0, -math.pi / 2]}}
    files = {
        "dialogs.csv": table(DIALOG_COLUMNS, rows),
        step_file("1-c7", 4): world(*tower(1), **avatar),
        step_file("1-c7", 6): world(*tower(2)),
    }
    return MultiturnDataset(path=write_zip(tmp_path / "iglu-multiturn.zip", files))


def singleturn(tmp_path: Path) -> SingleturnDataset:
    asked = game(2, clear="No", ClarifyingQuestion="where?")
    files = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, [game(1), asked]),
        start_file("1-c7/step-2"): world(*tower(1)),
        rebuilt_file(1): world(*tower(2)),
    }
    return SingleturnDataset(path=write_zip(tmp_path / "iglu-singleturn.zip", files))


def test_a_session_in_rows(tmp_path: Path) -> None:
    frame = utterance_frame(multiturn(tmp_path))
    assert tuple(frame.columns) == tuple(UTTERANCE_COLUMNS)
    rows = frame[["session", "structure", "number", "speaker", "text", "blocks_before", "blocks_after"]]
    assert rows.to_numpy().tolist() == [
        ["1-c7", "c7", 0, "architect", "one", [], []],
        ["1-c7", "c7", 1, "builder", "red?", [], []],
        ["1-c7", "c7", 2, "architect", "yes", [], ONE],
        ["1-c7", "c7", 3, "architect", "</script>\u2028more", ONE, TWO],
    ]
    assert set(frame["split"]) <= {"train", "val", "test"}
    pose = frame[["x", "y", "z", "yaw_deg", "pitch_deg"]]
    assert pose.iloc[:3].isna().all(axis=None)
    assert pose.iloc[3].tolist() == pytest.approx([0, -0.25, 1, 90, 0])
    assert frame["time_s"].isna().all()


def test_a_game_in_rows(tmp_path: Path) -> None:
    frame = utterance_frame(singleturn(tmp_path))
    rows = frame[["session", "structure", "number", "speaker", "text", "blocks_before", "blocks_after"]]
    assert rows.to_numpy().tolist() == [
        ["CQ-game-1", "c7", 0, "architect", "instruction 1", ONE, TWO],
        ["CQ-game-2", "c7", 0, "architect", "instruction 2", ONE, ONE],
        ["CQ-game-2", "c7", 1, "builder", "where?", ONE, None],
    ]
    assert frame["split"].nunique() == 1
    assert not frame["split"].isna().any(), "an unclear game belongs to the part of its structure"


def test_the_minecraft_corpus_in_rows(shared: Path) -> None:
    data = CDMDataset(path=shared / "data")
    frame = utterance_frame(data)
    assert len(frame) == 12_464
    name = "B1-A3-C1-1522435497386"
    own, session = frame[frame["session"] == name], data.corpus.sessions[name]
    assert own["text"].tolist() == [utterance.text for utterance in session.dialogue]
    assert own["blocks_after"].iloc[-1] == grid_to_blocks(session.final_grid)
    assert own["time_s"].is_monotonic_increasing
    first = int((session.heard >= 3).argmax())  # the state in which the third utterance was heard
    assert own["time_s"].iloc[2] == session.times_s[first]
    assert own[["x", "y", "z", "yaw_deg", "pitch_deg"]].iloc[2].tolist() == session.poses()[first].tolist()
    assert (own["blocks_after"].iloc[:-1].to_numpy() == own["blocks_before"].iloc[1:].to_numpy()).all()


def tasks_of(rows: list[dict[str, Any]]) -> list[Task]:
    """The tasks that the rows of a table tell."""
    fields = ("dialog", "target", "instruction", "start", "full", "invariant")
    return [Task(*(row[name] for name in fields), task_id=row["id"], ids="iglu") for row in rows]


def rows_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    import pyarrow.parquet

    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder / f"{kind}.parquet").to_pylist()
    return rows


@pytest.mark.usefixtures("parquet")
def test_a_corpus_comes_back_from_parquet(tmp_path: Path) -> None:
    for number, source in enumerate((multiturn(tmp_path), singleturn(tmp_path), bundled.load())):
        folder = tmp_path / str(number)
        counts = write_parquet(folder, source, info=PACKS["mdc"])
        known = list(SessionTasks(source) if isinstance(source, dict) else source)
        rows = rows_of(folder, "tasks")
        assert Counter(tasks_of(rows)) == Counter(known)
        assert counts == {"tasks": len(rows), "utterances": len(rows_of(folder, "utterances"))}
        assert set(rows[0]) == set(TASK_COLUMNS)
        wanted = utterance_frame(source)["text"]
        assert sorted(row["text"] for row in rows_of(folder, "utterances")) == sorted(wanted)
        card = (folder / "README.md").read_text(encoding="utf-8")
        assert "Licence: University of Illinois/NCSA" in card
    with pytest.raises(DataError, match="is not empty"):
        write_parquet(folder, source)
