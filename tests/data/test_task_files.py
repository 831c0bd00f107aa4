"""Your own tasks from JSON and JSON lines: what is read, and how errors name their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_packs import (
    GAME_COLUMNS,
    game,
    rebuilt_file,
    start_file,
    table,
    tower,
    world,
    write_zip,
)

import iglu_marl
from iglu_marl.core.dialogue import Dialogue, Role, Utterance
from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks
from iglu_marl.core.task import Subtasks, Task
from iglu_marl.data import SingleturnDataset, tasks_from_folder, write_tasks
from iglu_marl.data.task_files import OwnTasks

RED = [[0, -1, 0, "red"]]


def write(path: Path, content: Any) -> Path:
    if not isinstance(content, (str, bytes)):
        content = json.dumps(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def one(tmp_path: Path, value: Any) -> Any:
    """The only entry of a file with that task."""
    data = OwnTasks(write(tmp_path / "one.json", value))
    (entry,) = (entry for entries in data.tasks.values() for entry in entries)
    return entry


def test_all_fields(tmp_path: Path) -> None:
    fields = {
        "id": "hut",
        "dialog": "<Architect> hello\n<Builder> hi",
        "instruction": "build a hut",
        "target": [[0, -1, 0, "red"], [1, -1, 0, "BLUE"]],
        "start": RED,
        "full": [[5, 7, -5, 6]],
        "invariant": True,
    }
    said = "<Architect> hello\n<Builder> hi\n<Architect> build a hut"
    target = [(0, -1, 0, 6), (1, -1, 0, 1)]
    assert one(tmp_path, fields) == Task(
        said,
        target,
        "build a hut",
        starting_grid=[(0, -1, 0, 6)],
        full_grid=[(5, 7, -5, 6)],
        invariant=True,
        task_id="hut",
        ids="iglu",
    )


def test_blocks_and_grids_in_all_forms(tmp_path: Path) -> None:
    blocks = [(0, -1, 0, 6), (1, 2, 3, 2)]
    dense = blocks_to_grid(blocks)
    old = iglu_marl.to_iglu2022_ids(dense)
    named = [(x, y, z, {6: "red", 2: "yellow"}[color]) for x, y, z, color in blocks]
    forms: list[dict[str, Any]] = [
        {"target": blocks},
        {"target": named},
        {"target": dense.tolist()},
        {"target": old.tolist(), "ids": "iglu2022"},
        {"target": [[0, -1, 0, 3], [1, 2, 3, 6]], "ids": "iglu2022"},
        {"target": named, "ids": "iglu2022"},
    ]
    for form in forms:
        assert np.array_equal(one(tmp_path, form).target_grid, dense), form


def test_dialogs_in_all_forms(tmp_path: Path) -> None:
    expected = "<Architect> one\n<Builder> two\n<Architect> three"
    forms: list[Any] = [
        expected,
        ["one", "<Builder> two", "three"],
        [{"role": "architect", "text": "one"}, {"role": "Builder", "text": "two"}, "three"],
    ]
    for form in forms:
        task = one(tmp_path, {"dialog": form, "target": RED})
        assert (task.dialog, task.instruction) == (expected, "three")
    task = one(tmp_path, {"dialog": "three", "instruction": "three", "target": RED, "start": None})
    assert task.dialog.count("three") == 1


def test_sessions(tmp_path: Path) -> None:
    turns = [
        {"instruction": "one", "target": RED},
        {"dialog": ["two", "<Builder> why?", "because"], "target": RED + [[0, 0, 0, "red"]]},
        {"dialog": ["<Builder> done"], "instruction": "good", "target": RED},
    ]
    session = one(tmp_path, {"id": "walls", "turns": turns, "invariant": False})
    assert isinstance(session, Subtasks)
    assert [turn.text for turn in session.turns] == [
        "<Architect> one",
        "<Architect> two\n<Builder> why?\n<Architect> because",
        "<Builder> done\n<Architect> good",
    ]
    assert [task.target_size for task in session] == [1, 2, 1]
    assert session[1].invariant is False


def test_kinds_of_files(tmp_path: Path) -> None:
    write(tmp_path / "a" / "list.json", [{"target": RED}, {"target": RED, "id": "second"}])
    write(tmp_path / "a" / "wrapped.json", '\n\n{"tasks": [\n{"target": [[0,-1,0,1]]},\n\n{"target": []}]}')
    write(tmp_path / "b.jsonl", "\ufeff" + json.dumps({"target": RED}) + "\n\n" + json.dumps({"target": RED}))
    write(tmp_path / "notes.txt", "no task")
    write(tmp_path / ".hidden.json", "{")
    write(tmp_path / ".git" / "x.json", "{")
    data = tasks_from_folder(tmp_path)
    assert {name: [task.task_id for task in tasks] for name, tasks in data.tasks.items()} == {
        "a/list.json": ["a/list.json:task 1", "second"],
        "a/wrapped.json": ["a/wrapped.json:task 1", "a/wrapped.json:task 2"],
        "b.jsonl": ["b.jsonl:1", "b.jsonl:3"],
    }
    assert len(data) == 6


AFTER_OTHERS = '\n{"tasks": [{"target":\n[]}, {"id": "]",\n"target": []} ,\n\n\t3]}'
OTHER_ROLE = '{"target": [], "dialog": [{"role": "cat", "text": "x"}]}'
SAME_NAME = '[{"id":"a","target":[]},\n{"id":"a","target":[]}]'
WRONG: dict[str, tuple[str, str, str]] = {
    # file, content, message
    "json": ("t.json", "[\n1,\n", r"t\.json: it is not JSON.*line 3"),
    "jsonl": ("t.jsonl", '{"target": [[0,-1,0,1]]}\n{', r"t\.jsonl:2: it is not JSON"),
    "digits": ("t.json", "9" * 5000, r"t\.json: it is not"),
    "after others": ("t.json", AFTER_OTHERS, r"t\.json:task 3: a task is 3"),
    "no object": ("t.json", "[\n\n 3]", r"t\.json:task 1: a task is 3, expected an object"),
    "no target": ("t.json", "{}", r"t\.json: it has no 'target'"),
    "unknown field": ("t.json", '{"targt": []}', "unknown field 'targt', expected some of target"),
    "outside": (
        "t.jsonl",
        '{"target": [[0, 8, 0, 1]]}',
        r"t\.jsonl:1: target\[0\] at \(0, 8, 0\) lies outside",
    ),
    "color": ("t.jsonl", '{"target": [[0,-1,0,"pink"]]}', "unknown color 'pink'"),
    "air": ("t.jsonl", '{"target": [[0,-1,0,"air"]]}', "a block of air"),
    "half a block": ("t.jsonl", '{"target": [[0,-1,0]]}', r"target\[0\] is \[0, -1, 0\], expected"),
    "shape": ("t.jsonl", '{"target": [[[1, 2]]]}', r"shape \(1, 1, 2\), expected \(9, 11, 11\)"),
    "text": ("t.jsonl", '{"target": "all"}', "'target' is 'all', expected blocks"),
    "ids": ("t.jsonl", '{"target": [], "ids": "voxel"}', "'ids' is 'voxel'"),
    "invariant": ("t.jsonl", '{"target": [], "invariant": 1}', "'invariant' is 1"),
    "role": ("t.jsonl", OTHER_ROLE, "unknown role 'cat'"),
    "utterance": ("t.jsonl", '{"target": [], "dialog": [{"role": "builder"}]}', "an utterance is"),
    "turns": ("t.jsonl", '{"turns": []}', "expected a list with at least one turn"),
    "turn field": ("t.jsonl", '{"turns": [{"target": [], "start": []}]}', "turn 0 has start"),
    "turns and target": ("t.jsonl", '{"turns": [{"target": []}], "target": []}', "also has target"),
    "progressive": ("t.jsonl", '{"target": [], "progressive": true}', "'progressive' is for sessions"),
    "not UTF-8": ("t.json", b"\xff".decode("latin-1"), r"t\.json: it is not UTF-8"),
    "names": ("t.json", SAME_NAME, r"t\.json:task 2: the id 'a' is already used at t.json:task 1"),
}


@pytest.mark.parametrize(("name", "content", "message"), WRONG.values(), ids=WRONG)
def test_errors_name_the_file_and_the_line(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        OwnTasks(write(tmp_path / name, content.encode("latin-1")))


def test_wrong_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no task file in it"):
        OwnTasks(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        OwnTasks(tmp_path / "nowhere")
    with pytest.raises(DataError, match="is not a task file"):
        OwnTasks(write(tmp_path / "x.txt", "hello"))
    with pytest.raises(DataError, match="holds no task"):
        OwnTasks(write(tmp_path / "x.jsonl", "\n\n"))
    write(tmp_path / "dialogs.csv", "x")
    with pytest.raises(DataError, match="use MultiturnDataset"):
        OwnTasks(tmp_path)


CELLS = st.tuples(st.integers(-5, 5), st.integers(-1, 7), st.integers(-5, 5))
WORLDS = st.dictionaries(CELLS, st.integers(1, 6), min_size=1, max_size=8)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp", "Cs")), max_size=20)


GRIDS = WORLDS.map(lambda built: blocks_to_grid([(*cell, color) for cell, color in built.items()]))
SAID = st.lists(
    st.builds(Utterance, st.sampled_from(Role), TEXTS | st.just("<Builder> me?\n<Architect> you\n\nno")),
    max_size=3,
)
OPTIONS = {
    "starting_grid": st.none() | GRIDS | st.just(blocks_to_grid([])),
    "full_grid": st.none() | GRIDS,
    "invariant": st.none() | st.booleans(),
    "ids": st.just("iglu"),
}
SINGLE = st.builds(
    Task,
    st.just("no speaker\nat all") | SAID.map(Dialogue),
    GRIDS,
    st.none()
    | st.sampled_from(["put it there", "two\nlines", "<Architect> what?\n<Builder> this?"])
    | SAID.map(Dialogue),
    **OPTIONS,
)
SESSIONS = st.lists(st.tuples(SAID.map(Dialogue), GRIDS), min_size=1, max_size=3).flatmap(
    lambda turns: st.builds(
        lambda **options: Subtasks(*zip(*turns, strict=True), **options),
        **OPTIONS,
        progressive=st.booleans(),
    )
)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(SINGLE | SESSIONS, min_size=1, max_size=4), st.booleans())
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any], by_structure: bool
) -> None:
    path = tmp_path_factory.mktemp("own") / "t.jsonl"
    for number, entry in enumerate(entries):
        entries[number] = entry.replace(task_id=str(number)) if isinstance(entry, Task) else entry
        if isinstance(entry, Subtasks):
            entry.task_id = str(number)
    count = write_tasks(path, {"a": entries[:1], "b": entries[1:]} if by_structure else entries)
    read = OwnTasks(path)
    assert read.tasks["t.jsonl"] == entries  # with `progressive` of sessions
    assert count == len(read)
    structures = [record["structure"] for record in read.records() if record["turn"] == 0]
    names = ["a"] + ["b"] * (len(entries) - 1) if by_structure else [str(n) for n in range(len(entries))]
    assert structures == names


def test_an_instruction_that_reads_like_the_others_words_is_kept(tmp_path: Path) -> None:
    asked = Utterance(Role.ARCHITECT, "<Builder> me?")
    said = Dialogue([asked, Utterance(Role.BUILDER, "you"), Utterance(Role.ARCHITECT, "no")])
    task = Task(said, [(0, -1, 0, 1)], Dialogue([asked]), task_id="odd", ids="iglu")
    write_tasks(tmp_path / "t.jsonl", [task])
    (read,) = OwnTasks(tmp_path / "t.jsonl")
    assert read == task
    assert (read.instruction, len(read.previous_dialogue)) == ("<Builder> me?", 0)


def test_a_task_with_an_objective_is_refused(tmp_path: Path) -> None:
    class Other(Task):
        objective = object()

    with pytest.raises(DataError, match=r"has an objective.*; task 'a'"):
        write_tasks(tmp_path / "t.jsonl", [Other("", [], task_id="a")])


def test_the_metadata_of_tasks_is_written_too(tmp_path: Path) -> None:
    files = {
        "clarifying_questions_train.csv": table(GAME_COLUMNS, [game(1), game(2, "3-c9/step-4", clear="No")])
    }
    for number, start in ((1, "1-c7/step-2"), (2, "3-c9/step-4")):
        files[start_file(start)] = world(*tower(1))
        files[rebuilt_file(number, start.partition("/")[0])] = world(*tower(2))
    data = SingleturnDataset(path=write_zip(tmp_path / "iglu-singleturn.zip", files))
    assert write_tasks(tmp_path / "t.jsonl", data) == 2
    read = OwnTasks(tmp_path / "t.jsonl")
    assert list(read) == list(data)
    splits = {task.task_id: part for part, own in data.split().items() for task in own}
    names = ("id", "structure", "session", "split", "clear")
    assert [tuple(record[name] for name in names) for record in read.records()] == [
        ("CQ-game-1", "c7", "1-c7", splits["CQ-game-1"], True),
        ("CQ-game-2", "c9", "3-c9", splits["CQ-game-2"], False),
    ]
    write_tasks(tmp_path / "again.jsonl", read)
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "t.jsonl").read_text()


def test_written_tasks_in_other_ids_and_of_one_name(tmp_path: Path) -> None:
    task = Task("<Architect> red", [(0, -1, 0, 3)], task_id="one", ids="iglu2022")
    session = Subtasks(["red"], [[(0, -1, 0, 3)]], task_id="one", ids="iglu2022")
    assert write_tasks(tmp_path / "t.jsonl", [task, session, task.replace(task_id=None)]) == 3
    read = OwnTasks(tmp_path / "t.jsonl")
    assert read.ids() == ["one", "one/2", "task"]
    assert all(grid_to_blocks(task.target_grid) == [(0, -1, 0, 6)] for task in read)
    with pytest.raises(DataError, match="cannot be written"):
        write_tasks(tmp_path / "nowhere" / "t.jsonl", [task])
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]
