"""The single-turn data: the counts and cases of the shared pack, and dirty packs made here."""

from __future__ import annotations

import json
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_packs import (
    GAME_COLUMNS,
    SECOND,
    blocks_by_color,
    game,
    original_file,
    our_blocks,
    rebuilt_file,
    start_file,
    stats_blocks,
    table,
    tower,
    world,
    write_folder,
    write_zip,
)

import iglu_marl
from iglu_marl.core.errors import DataError
from iglu_marl.data import SingleturnDataset
from iglu_marl.data.iglu.singleturn import names_place
from iglu_marl.data.iglu.world_files import SECOND_PALETTE
from iglu_marl.tasks import sample_task

STATS = "iglu_singleturn"  # key of stats.json


@pytest.fixture
def pack(shared: Path) -> Path:
    return shared / "data" / "iglu-singleturn.zip"


@pytest.mark.parametrize("rules", ["lenient", "default", "strict"])
def test_the_rules_give_the_known_tasks_and_skips(rules: Any, pack: Path, stats: dict[str, Any]) -> None:
    expected = stats["lenient_rules"] if rules == "lenient" else stats["upstream_rules"][rules]
    data = SingleturnDataset(path=pack, rules=rules)
    report = data.report()
    assert len(data) == report.tasks == expected["tasks"]
    assert report.counts == expected["skipped"]
    assert len(data.tasks) == expected.get("task_keys", len(data.tasks))
    assert blocks_by_color(task.target_grid for task in data) == expected["target_blocks_by_colour"]
    assert blocks_by_color(task.start_grid for task in data) == expected["starting_blocks_by_colour"]
    assert (report.rows, report.games) == (stats["csv_rows"], stats["games"])
    assert report.repeated_rows == stats["exact_duplicate_rows"]


def test_the_table(pack: Path, stats: dict[str, Any]) -> None:
    data = SingleturnDataset(path=pack)
    games = list(data.games.values())
    assert len(games) == stats["games"]
    clear = Counter("Yes" if game.clear else "No" for game in games)
    assert clear == stats["games_by_IsInstructionClear"]
    assert len({game.start_path for game in games}) == stats["initial_worlds_referenced"]
    assert len({game.session for game in games}) == stats["sessions_of_initial_worlds"]
    assert len({game.structure for game in games}) == stats["structures_of_initial_worlds"]
    rebuilt = {game.game_id for game in games if game.rebuilt_path in data.worlds}
    original = {game.game_id for game in games if game.original_path in data.worlds}
    assert len(rebuilt) == stats["games_with_cq_target"]
    assert len(original) == stats["games_with_original_target"]
    assert len(rebuilt & original) == stats["games_with_both"]
    assert len(games) - len(rebuilt | original) == stats["games_with_neither"]
    unclear = [game for game in games if not game.clear]
    assert sum(game.game_id in original for game in unclear) == stats["unclear_games_with_original_target"]
    skipped = [entry.name for entry in data.report().skipped if "CLEAR_BUT" in entry.reason.name]
    assert sorted(skipped) == sorted(stats["clear_games_without_cq_target"])


def test_the_worlds(pack: Path, stats: dict[str, Any]) -> None:
    worlds = SingleturnDataset(path=pack).worlds
    assert worlds.damaged == {}
    kinds = {
        "initial_worlds": [name for name in worlds if name.startswith("initial")],
        "original_targets": [name for name in worlds if "/actionHit/" in name],
    }
    kinds["cq_targets"] = [name for name in worlds if name not in {n for k in kinds.values() for n in k}]
    for kind, names in kinds.items():
        expected = stats["blocks"][kind]
        grids = [worlds[name] for name in names]
        assert len(names) == expected["files"]
        assert blocks_by_color(grids) == expected["by_colour"]
        assert sum(not grid.any() for grid in grids) == expected["empty_worlds"]
        ids = Counter(
            int(voxel) for name in names for voxel in worlds.file(name).voxels[grids[0] > -1] if voxel
        )
        assert {str(voxel): count for voxel, count in ids.items()} == expected["by_raw_id"]


def test_files_that_no_row_needs_are_counted(pack: Path, stats: dict[str, Any]) -> None:
    files = SingleturnDataset(path=pack).report().files
    by_reason: dict[str, list[str]] = defaultdict(list)
    for entry in files:
        by_reason[entry.reason.name].append(entry.name)
    assert sorted(by_reason.pop("ORPHAN_REBUILT")) == sorted(stats["orphan_cq_targets"])
    assert sorted(by_reason.pop("ORPHAN_ORIGINAL")) == sorted(stats["orphan_original_targets"])
    assert {reason: len(names) for reason, names in by_reason.items()} == {"LITTER": 2}


def test_every_listed_case(pack: Path, stats: dict[str, Any]) -> None:
    lenient, upstream = (SingleturnDataset(path=pack, rules=rules) for rules in ("lenient", "default"))
    assert len(stats["items"]) == 15
    for item in stats["items"]:
        row = lenient.games[item["GameId"]]
        facts = (row.start_path, row.clear, row.start)
        assert facts == (item["InitializedWorldPath"], item["instruction_clear"], item["upstream_task_key"])
        start = stats_blocks(item["starting_blocks"])
        assert our_blocks(lenient.worlds[row.start_path]) == start
        if item["original_path"] is None:
            assert row.original_path not in lenient.worlds
        else:
            assert row.original_path == item["original_path"]
            original = our_blocks(lenient.worlds[row.original_path])
            assert original == stats_blocks(item["original_target_blocks"])
        if "qrel" in item:
            asked = (row.question, row.qrel, len(row.qbank))
            assert asked == (item["clarifying_question"], item["qrel"], item["qbank_size"])
        if item["target_path"] is None:
            with pytest.raises(DataError, match=item["GameId"]):
                lenient.by_id(item["GameId"])
        else:
            task = lenient.by_id(item["GameId"])
            assert row.rebuilt_path == item["target_path"]
            assert (task.dialog, f"<Architect> {task.instruction}") == (item["dialog"], item["instruction"])
            assert our_blocks(task.start_grid) == start
            assert our_blocks(task.target_grid) == stats_blocks(item["target_blocks"])
            assert task.ids == "iglu"
        listed = upstream.tasks.get(item["upstream_task_key"], [])
        assert any(task.task_id == item["GameId"] for task in listed) == item["upstream_default_makes_a_task"]


def test_original_worlds_as_targets(pack: Path, stats: dict[str, Any]) -> None:
    data = SingleturnDataset(path=pack, target="original")
    assert len(data) == stats["games_with_original_target"]
    unclear = data.filter(clear=False)
    assert len(unclear) == stats["unclear_games_with_original_target"]
    assert len(data.filter(clear=True)) == len(data) - len(unclear)


@pytest.fixture
def data(pack: Path) -> SingleturnDataset:
    return SingleturnDataset("v1.0", path=pack)


UNBUILT = {
    "train": (186, 1038),
    "val": (16, 61),
    "test": (61, 317),
}  # of tasks, counted from the recorded files


def test_unbuilt_tasks_are_marked_and_not_sampled(pack: Path, data: SingleturnDataset) -> None:
    parts = data.split()
    for part, counts in UNBUILT.items():
        assert (sum(task.unbuilt for task in parts[part]), len(parts[part])) == counts
        assert sum(record["unbuilt"] for record in parts[part].records()) == counts[0]
    assert all(task.unbuilt == task.is_complete_at_start for task in data)
    assert (data.report().tasks, data.report().unbuilt) == (1416, 263)
    assert "1416 tasks, 263 unbuilt" in str(data.report())
    rng = np.random.default_rng(3)
    assert not any(data.sample(rng).unbuilt for _ in range(200))
    assert not any(sample_task(data, rng).unbuilt for _ in range(200))
    assert data.skipped == 0
    unbuilt = data.filter(where=lambda record: record["unbuilt"])
    with pytest.raises(DataError, match="has unbuilt tasks only; keep_unbuilt=True samples them"):
        unbuilt.sample(rng)
    kept = SingleturnDataset(path=pack, keep_unbuilt=True).filter(where=lambda record: record["unbuilt"])
    assert kept.sample(rng).unbuilt
    assert sample_task(kept, rng).unbuilt
    env = iglu_marl.env(tasks=kept)
    env.reset(seed=0)
    assert env.unwrapped.episode.task.unbuilt
    original = SingleturnDataset(path=pack, target="original")  # the author's own world
    by_author = [task for task in original if data.games[str(task.task_id)].rebuilt_path in data.worlds]
    built = [task for task in by_author if data.by_id(str(task.task_id)).unbuilt and not task.unbuilt]
    assert len(built) == 174 + 16 + 59


def test_where_a_build_may_stand_is_what_the_instruction_says(pack: Path, data: SingleturnDataset) -> None:
    """Of the 88 tasks from an empty world, 85 name a place or a compass direction; three do not."""
    empty = [task for task in data if not task.start_grid.any()]
    free = [task.instruction for task in empty if task.is_invariant]
    assert (len(empty), len(free)) == (88, 3)
    assert [text.split(".")[0] for text in free] == [
        "break a red block on top and put three green ones",
        "break three blocks to the left",
        "place four blue blocks horizontally",
    ]
    assert not any(task.is_invariant for task in data if task.start_grid.any())
    competition = SingleturnDataset(path=pack, task_kwargs={"invariant": True})
    assert all(task.is_invariant for task in competition)


@pytest.mark.parametrize(
    ("instruction", "named"),
    [
        ("Place a yellow block at the northwest corner.", True),
        ("Stack five purple blocks in the Middle of the grid", True),
        ("on the southernmost edge", True),
        ("In the SW corner place a blue block", True),
        ("three at the centre", True),
        ("Build a tower of three red blocks.", False),
        ("a new answer, then sew it", False),
    ],
)
def test_places_that_are_named(instruction: str, named: bool) -> None:
    assert names_place(instruction) is named


def test_clearings_differ_from_dropouts(pack: Path) -> None:
    data = SingleturnDataset(path=pack)
    emptied = [record for record in data.records() if record["start_blocks"] and not record["target_blocks"]]
    dropouts = [record["game_id"] for record in emptied if record["dropout"]]
    assert len(emptied) == 25
    assert dropouts == ["CQ-game-7363", "CQ-game-6873", "CQ-game-7429"]
    assert sum(record["dropout"] for record in data.records()) == 3
    with zipfile.ZipFile(pack) as archive:  # in the others, people broke every block of the start
        for record in emptied:
            tape = json.loads(archive.read(data.games[record["game_id"]].rebuilt_path))["tape"]
            _, _, work = tape.partition("finish_recover_world_state")
            broken = 0 if record["dropout"] else record["start_blocks"]
            assert work.count("action break") == broken
    original = SingleturnDataset(path=pack, target="original")
    assert not any(record["dropout"] for record in original.records())


def test_filters(data: SingleturnDataset) -> None:
    small = data.filter(max_blocks=5)
    assert 0 < len(small) < len(data)
    assert max(task.target_size for task in small) == 5
    assert {record["structure"] for record in data.filter(structures="c135").records()} == {"c135"}
    with pytest.raises(DataError, match="no tasks"):
        data.filter(max_blocks=-1).sample()
    removals = data.filter(where=lambda record: record["removed"] > 0 and record["added"] == 0)
    assert "CQ-game-2719" in removals.ids()
    assert type(small) is SingleturnDataset
    assert small.by_id(small.ids()[0]) is data.by_id(small.ids()[0])
    assert len(data) == 1416


def made(path: Path, rows: list[dict[str, str]], **files: bytes) -> Path:
    """A pack with start world 1-c7/step-2 (one red block) and further files."""
    base = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, rows),
        start_file("1-c7/step-2"): world(*tower(1)),
    }
    return write_zip(path, {**base, **files})


def test_a_made_pack(tmp_path: Path) -> None:
    rows = [
        game(1, InputInstruction="one$$two"),
        game(2, InitializedWorldPath="initial_world_states\\builder-data\\1-c7\\step-2"),
        game(3, clear="No", ClarifyingQuestion="why?", qrel="q_1", qbank="'q_1', 'q_2'"),
    ]
    built = world(*tower(1), (1, -1, 0, "yellow"))
    mixed = json.loads(built)
    mixed["worldEndingState"]["blocks"][1][3] = SECOND["yellow"]
    files = {rebuilt_file(1): json.dumps(mixed).encode(), rebuilt_file(2): built, original_file(3): built}
    data = SingleturnDataset(path=made(tmp_path / "s.zip", rows, **files))
    assert data.tasks["1-c7/step-2"][0].instruction == "one\ntwo"
    assert [task.task_id for task in data] == ["CQ-game-1", "CQ-game-2"]
    assert our_blocks(data.by_id("CQ-game-1").target_grid) == [(0, -1, 0, 6), (1, -1, 0, 2)]
    assert data.report().counts == {"unclear_no_target": 1}
    file = data.worlds.file(rebuilt_file(1))
    assert np.argwhere(file.voxels >= SECOND_PALETTE).tolist() == [[0, 6, 5]]
    assert (file.avatar_pos, file.avatar_look) == ((0.0, 63.0, 1.5), (-0.5, 1.0))
    assert data.games["CQ-game-3"].qbank == ("q_1", "q_2")


def test_repeated_rows(tmp_path: Path) -> None:
    rows = [game(1), game(1), game(1, InputInstruction="another one"), game(2)]
    files = {rebuilt_file(1): world(*tower(2)), rebuilt_file(2): world(*tower(2)), original_file(1): b"{"}
    path = made(tmp_path / "s.zip", rows, **files)
    data = SingleturnDataset(path=path)
    assert [task.instruction for task in data] == ["instruction 1", "instruction 2"]
    assert data.report().counts == {"other_row_of_game": 1}
    assert (data.report().rows, data.report().games, data.report().repeated_rows) == (4, 2, 1)
    with pytest.raises(DataError, match=r"has no usable game.*4 multiturn_target_not_found"):
        SingleturnDataset(path=path, rules="default")


def test_upstream_rules_in_their_order(tmp_path: Path) -> None:
    same, other = world(*tower(1)), world(*tower(2))
    rows = [game(1), game(1), game(2), game(3), game(4), game(5, start="1-c7/step-4")]
    files = {rebuilt_file(n): content for n, content in ((1, other), (2, same), (3, other), (5, other))}
    files |= {original_file(1): other, original_file(2): other, original_file(3): world(*tower(3))}
    path = made(tmp_path / "s.zip", rows, **files)
    default, strict = (SingleturnDataset(path=path, rules=rules) for rules in ("default", "strict"))
    assert [task.task_id for task in default] == [f"CQ-game-{n}" for n in (1, 1, 2, 3)]
    assert default.report().counts == {"target_world_missing": 1, "start_missing": 1}
    assert [task.task_id for task in strict] == ["CQ-game-1", "CQ-game-1"]
    mismatches = {"target_unchanged": 1, "multiturn_target_mismatch": 1}
    assert strict.report().counts == {**mismatches, **default.report().counts}
    assert len(SingleturnDataset(path=path)) == 3  # lenient: games 1, 2 and 3


DAMAGED = {
    "no JSON": b"{",
    "an LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 10\n",
    "a damaged previous world": world(*tower(1), prevWorldEndingState={"blocks": 3}),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_worlds_are_counted(content: bytes, tmp_path: Path) -> None:
    rows = [game(1), game(2), game(3, start="1-c7/step-4")]
    files = {
        rebuilt_file(1): content,
        rebuilt_file(2): world(*tower(2)),
        rebuilt_file(3): world(*tower(2)),
        start_file("1-c7/step-4"): content,
    }
    data = SingleturnDataset(path=made(tmp_path / "s.zip", rows, **files))
    assert data.ids() == ["CQ-game-2"]
    report = data.report()
    assert report.counts == {"target_damaged": 1, "start_damaged": 1}
    assert report.file_counts == {"damaged_file": 2}
    causes = [entry.detail for entry in report.skipped]
    assert causes == [data.worlds.damaged[name] for name in (rebuilt_file(1), start_file("1-c7/step-4"))]
    with pytest.raises(DataError) as caught:
        data.worlds.file(rebuilt_file(1))
    assert str(caught.value) == causes[0]


def test_incomplete_rows(tmp_path: Path) -> None:
    faults = (
        {"GameId": ""},
        {"InputInstruction": " $ "},
        {"IsInstructionClear": "?"},
        {"InitializedWorldPath": ""},
    )
    rows = [
        game(1),
        *(game(2, **fault) for fault in faults),
        game(6, InitializedWorldPath="../../etc/passwd"),
    ]
    data = SingleturnDataset(path=made(tmp_path / "s.zip", rows, **{rebuilt_file(1): world(*tower(2))}))
    assert data.report().counts == {"bad_row": 4, "start_missing": 1}
    assert data.report().skipped[0].detail == "line 3"


def test_a_table_of_which_much_cannot_be_read_warns(tmp_path: Path) -> None:
    rows = [game(number, clear="?" if number > 1 else "Yes") for number in range(12)]
    path = made(tmp_path / "s.zip", rows, **{rebuilt_file(1): world(*tower(2))})
    with pytest.warns(UserWarning, match=r"10 of 12 rows cannot be used, .*see report\(\)"):
        SingleturnDataset(path=path)


def _layout_of_2022(**columns: str) -> dict[str, bytes]:
    """Two games on one start world: one rebuilt as meant, the other not."""
    start = "initial_world_states/builder-data/1-c7/step-4"
    columns_of = ("GameId", "InitializedWorldPath", "TargetWorldPath", "InputInstruction")
    rows = []
    for number, asked in ((1, "one more red block"), (2, "two more red blocks")):
        rows += [
            dict(
                zip(
                    columns_of,
                    (f"CQ-game-{number}", start.replace("/", "\\"), f"b/{number}", asked),
                    strict=True,
                )
            ),
            dict(zip(columns_of, (f"game-{number}", start, f"a/{number}", asked), strict=True)),
        ]
    names = (*columns_of, *columns)
    worlds = {"b/1": 3, "a/1": 3, "b/2": 3, "a/2": 4}
    dialogs = "PartitionKey,StepId,structureId,IsHITQualified,instruction,ClarifyingQuestion,Answer4ClarifyingQuestion"
    said = [
        "1-c7,3.0,c7,True,NULL,NULL,red$$please",
        "1-c7,1,c7,1.0,two blocks,nan,nan",
        "1-c7,5,c7,True,later,,",
    ]
    said += ["1-c7,2,c7,True,,Which color?,", "1-c7,3,c7,False,not this,,", "2-c7,1,c7,True,nor this,,"]
    return {
        "single_turn_instructions.csv": table(",".join(names), [{**row, **columns} for row in rows]),
        "multi_turn_dialogs.csv": "\n".join([dialogs, *said]).encode(),
        start: world(*tower(2)),
        **{f"target_world_states/{name}": world(*tower(height)) for name, height in worlds.items()},
    }


@pytest.mark.parametrize("judged", [{}, {"IsInstructionClear": "Yes"}, {"IsInstructionClear": "nan"}])
def test_the_layout_of_the_tools_of_2022(
    judged: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _layout_of_2022(**judged)
    files["single_turn_instructions.csv"] = (
        files["single_turn_instructions.csv"]
        .replace(b",b/", b",target_world_states/b/")
        .replace(b",a/", b",target_world_states/a/")
    )
    write_folder(tmp_path / ".iglu" / "data" / "single_turn_dataset", files)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    data = SingleturnDataset(fetch=False)
    assert data.ids() == ["CQ-game-1", "CQ-game-2"]
    assert list(data.tasks) == ["1-c7/step-4"]
    assert data.report().exact, data.report()
    task = data.by_id("CQ-game-2")
    assert task.dialog == (
        "<Architect> two blocks\n<Builder> Which color?\n<Architect> red\nplease\n<Architect> two more red blocks"
    )
    assert (task.instruction, len(our_blocks(task.target_grid))) == ("two more red blocks", 3)
    meant = SingleturnDataset(fetch=False, target="original").by_id("CQ-game-2")
    assert len(our_blocks(meant.target_grid)) == 4
    strict = SingleturnDataset(fetch=False, rules="strict")
    assert (strict.ids(), strict.report().counts) == (["CQ-game-1"], {"multiturn_target_mismatch": 1})
