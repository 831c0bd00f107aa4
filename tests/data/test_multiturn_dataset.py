"""The multi-turn data as a dataset: the shared worlds exactly, and tables of utterances made here."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_packs import (
    DIALOG_COLUMNS,
    blocks_by_color,
    our_blocks,
    stats_blocks,
    step_file,
    table,
    tower,
    world,
    write_zip,
)

from iglu_marl.core.errors import DataError
from iglu_marl.core.task import Subtasks
from iglu_marl.data import MultiturnDataset, write_sessions

STATS = "iglu_multiturn"  # key of stats.json


@pytest.fixture
def silent(shared: Path) -> MultiturnDataset:
    return MultiturnDataset(path=shared / "data" / "iglu-multiturn.zip", dialogs=False)


def test_a_pack_without_the_table_says_what_to_do(shared: Path, stats: dict[str, Any]) -> None:
    assert not stats["has_dialogs_csv"]
    with pytest.raises(DataError) as caught:
        MultiturnDataset(path=shared / "data" / "iglu-multiturn.zip")
    for part in ("no dialogs.csv", "multiturn_dataset.zip", "13,977,030 bytes", "dialogs=False"):
        assert part in str(caught.value)


def test_the_folders_and_files(silent: MultiturnDataset, stats: dict[str, Any]) -> None:
    worlds = silent.worlds
    assert len(worlds) == stats["step_files"]
    assert len(worlds.folders) == stats["folders"]
    assert len(worlds.sessions) == stats["regular_sessions"]
    assert [name for name in worlds.folders if name not in worlds.sessions] == stats["irregular_folders"]
    assert worlds.irregular_files == stats["irregular_files"]
    assert sum(len(steps) for steps in worlds.sessions.values()) == stats["regular_step_files"]
    gaps = {
        name: missing
        for name, steps in worlds.sessions.items()
        if (missing := [step for step in range(2, max(steps), 2) if step not in steps])
    }
    assert gaps == stats["sessions_with_missing_even_steps"]
    structures = Counter(name.partition("-")[2] for name in worlds.sessions)
    assert structures == stats["sessions_per_structure"]


def test_the_worlds(silent: MultiturnDataset, stats: dict[str, Any]) -> None:
    worlds, expected = silent.worlds, stats["blocks_all_files"]
    assert worlds.damaged == {}
    assert blocks_by_color(worlds.values()) == expected["by_colour"]
    assert sum(not grid.any() for grid in worlds.values()) == expected["empty_worlds"]
    last = [worlds[steps[max(steps)]] for steps in worlds.sessions.values()]
    assert blocks_by_color(last) == stats["blocks_last_step_of_regular_sessions"]["by_colour"]


def test_the_sessions_that_the_worlds_make(silent: MultiturnDataset, stats: dict[str, Any]) -> None:
    expected = stats["turns_after_merging_empty_steps"]
    report = silent.report()
    assert (report.sessions, report.turns) == (expected["sessions"], expected["turns"])
    assert len(silent) == expected["turns"]
    assert len(silent.tasks) == expected["structures"]
    dropped = [entry.name for entry in report.skipped if entry.reason.name == "EMPTY_SESSION"]
    assert sorted(dropped) == expected["dropped_sessions"]
    assert blocks_by_color(task.target_grid for task in silent) == expected["blocks_by_colour_over_all_turns"]
    assert report.counts["irregular"] == len(stats["irregular_files"])


def test_every_listed_case(silent: MultiturnDataset, stats: dict[str, Any]) -> None:
    assert len(stats["items"]) == 8
    for item in stats["items"]:
        file = silent.worlds.file(item["path"])
        assert our_blocks(silent.worlds[item["path"]]) == stats_blocks(item["blocks"])
        assert list(file.avatar_pos) == item["avatar_pos"]
        assert list(file.avatar_look) == item["avatar_look"]


def say(session: str, step: int, instruction: str = "", **more: Any) -> dict[str, Any]:
    """A row of the table."""
    attempt, _, structure = session.partition("-")
    said = {"PartitionKey": session, "StepId": step, "structureId": structure, "attemptId": attempt}
    return {**said, "IsHITQualified": True, "instruction": instruction, **more}


def pack(path: Path, rows: list[dict[str, Any]], heights: dict[tuple[str, int], int]) -> Path:
    """A pack with that table; its worlds are towers."""
    files = {step_file(session, step): world(*tower(height)) for (session, step), height in heights.items()}
    return write_zip(path, {"dialogs.csv": table(DIALOG_COLUMNS, rows), **files})


def told(session: Subtasks) -> list[str]:
    return [turn.text for turn in session.turns]


def built(session: Subtasks) -> list[int]:
    return [len(our_blocks(grid)) for grid in session.structures]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three sessions of two structures."""
    rows = [
        *(say("2-c73", 1, "a block"), say("2-c73", 2), say("2-c73", 3, "more$$of it")),
        say("2-c73", 4, ClarifyingQuestion="how many?"),
        say("2-c73", 5, Answer4ClarifyingQuestion="two$please"),
        *(say("2-c73", 6), say("10-c73", 1, "three at once"), say("10-c73", 2)),
        *(say("1-c8", 1, "one"), say("1-c8", 2)),
    ]
    heights = {("2-c73", 2): 1, ("2-c73", 6): 3, ("10-c73", 2): 3, ("1-c8", 2): 1}
    return pack(tmp_path / "multi.zip", rows, heights)


def test_sessions_by_structure(small: Path) -> None:
    data = MultiturnDataset("v1.0", path=small)
    assert list(data.tasks) == ["c73", "c8"]
    first = data.tasks["c73"][0]
    assert isinstance(first, Subtasks)
    assert first is data.by_id("2-c73")
    assert told(first) == [
        "<Architect> a block",
        "<Architect> more\nof it\n<Builder> how many?\n<Architect> two\nplease",
    ]
    assert built(first) == [1, 3]
    task = first[1]
    assert task.instruction == "<Architect> more\nof it\n<Builder> how many?\n<Architect> two\nplease"
    assert task.dialog == "<Architect> a block\n" + task.instruction
    assert len(our_blocks(task.start_grid)) == 1
    assert task.full_grid is not None
    assert len(data) == 4
    assert [task.task_id for task in data] == ["2-c73", "2-c73", "10-c73", "1-c8"]
    assert data.ids() == ["2-c73", "10-c73", "1-c8"]
    assert data.report().counts == {}
    assert str(data.report()) == "10 rows, 3 sessions, 4 turns; left out: nothing"
    assert repr(data) == "MultiturnDataset(2 names, 3 entries, 4 tasks)"


def test_sessions_without_rows_or_worlds_are_counted(tmp_path: Path) -> None:
    rows = [
        say(name, step, "go" if step == 1 else "") for name in ("1-c1", "3-c1", "4-c1") for step in (1, 2)
    ]
    rows += [say("", 1, "no session"), {**say("5-c1", 1, "no step"), "StepId": "x"}]
    heights = {("1-c1", 2): 1, ("3-c1", 2): 0, ("6-c1", 2): 1}
    data = MultiturnDataset(path=pack(tmp_path / "m.zip", rows, heights))
    assert data.ids() == ["1-c1"]
    assert data.report().counts == {
        "empty_world": 1,
        "unfinished_turn": 1,
        "empty_session": 1,  # 3-c1
        "no_worlds": 1,  # 4-c1
        "bad_row": 2,
        "no_rows": 1,  # 6-c1
    }


def test_a_start_world_has_the_ids_of_the_others(tmp_path: Path) -> None:
    red, blue = [(0, -1, 0, 6)], [(1, -1, 0, 1)]
    made = Subtasks(["blue"], [red + blue], starting_grid=red, task_id="1-c1", ids="iglu")
    write_sessions(tmp_path / "out", [made])
    (task,) = MultiturnDataset(path=tmp_path / "out", ids="iglu2022")
    assert our_blocks(task.start_grid) == [(0, -1, 0, 3)]
    assert task.in_ids("iglu") == made[0]
