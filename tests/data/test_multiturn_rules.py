"""The rules by which a table of utterances and recorded worlds becomes sessions."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_packs import write_folder

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import Block, BlockGrid, blocks_to_grid, grid_to_blocks
from iglu_marl.data import bundled, read_sessions
from iglu_marl.data.iglu.multiturn import MultiturnSkip, Row, read_rows, read_session
from iglu_marl.data.iglu.world_files import parse_world, read_voxel_grid, voxel_colors
from iglu_marl.data.report import Report

HEADER = (
    "PartitionKey,StepId,structureId,IsHITQualified,instruction,ClarifyingQuestion,Answer4ClarifyingQuestion"
)


def row(
    step: int, instruction: str = "", *, question: str = "", answer: str = "", qualified: bool = True
) -> Row:
    return Row("3-hut", step, "hut", instruction, question, answer, qualified)


def towers(heights: dict[int, int]) -> dict[int, BlockGrid]:
    """Worlds by step, each a tower of red blocks."""
    return {
        step: blocks_to_grid([(0, level - 1, 0, 6) for level in range(height)])
        for step, height in heights.items()
    }


def world(*entries: tuple[Any, ...]) -> dict[str, Any]:
    return {"gameId": 19, "worldEndingState": {"blocks": [list(entry) for entry in entries]}}


def read(rows: list[Row], worlds: Any, report: Any = None, name: str = "3-hut") -> Any:
    return read_session(name, rows, worlds, Report() if report is None else report)


def sizes_of(session: Any) -> list[int]:
    return [len(grid_to_blocks(grid)) for grid in session.structures]


# -- turns

RULES: dict[str, tuple[str, str, list[int], dict[str, int]]] = {
    # Rows, utterances of the turns, sizes of the worlds, counts of the report. In a row `1:x` is an instruction, `2?x`
    # a question, `3!x` an answer, `4=2` a world of two blocks, `4=` a missing world; `-1:x` did not qualify. `4~2` is
    # a world without a row.
    "an instruction opens a turn, a world closes it": ("1:a 2=1 3:b 4=2", "A:a | A:b", [1, 2], {}),
    "rows are in the order of their steps": ("4=2 3:b 10=3 2=1 1:a 9:c", "A:a | A:b | A:c", [1, 2, 3], {}),
    "questions and answers belong to the open turn": ("1:a 2?b 2~5 3!c 4=2", "A:a B:b A:c", [2], {}),
    "no answer or question opens a turn": ("1!a 2?b 3:c 4=1", "A:c", [1], {"stray_words": 2}),
    "unqualified rows are ignored": ("-1:a 1:b 2=1 -3:c", "A:b", [1], {"unqualified": 2}),
    "a missing world ends the session": (
        "1:a 2=1 3:b 4= 5:c 6=3",
        "A:a",
        [1],
        {"missing_world": 1, "unfinished_turn": 1},
    ),
    "empty worlds are merged into the next and dropped at the end": (
        "1:a 2=0 3:b 4=0 5:c 6=2 7:d 8=1 9:e 10=0 11:f 12=0",
        "A:a A:b A:c | A:d",
        [2, 1],
        {"empty_world": 4, "unfinished_turn": 1},
    ),
    "a second instruction joins the open turn": ("1:a 3:b 4=1", "A:a A:b", [1], {"joined_instruction": 1}),
    "a repeated row counts once": (
        "1:a 1:a 2=1 2=1 1:b",
        "A:a A:b",
        [1],
        {"duplicate_row": 2, "joined_instruction": 1},
    ),
    "a world without an instruction is left out": (
        "2=3 3:a 4=1 6=2 7: 9:b",
        "A:a",
        [1],
        {"stray_world": 2, "silent_row": 1, "unfinished_turn": 1},
    ),
}


def rows_of(text: str) -> tuple[list[Row], dict[int, int]]:
    """The rows and the sizes of the worlds by step of an entry of `RULES`."""
    rows, sizes = [], {}
    for sign, digits, kind, word in re.findall(r"(-?)(\d+)([:?!=~])(\w*)", text):
        step, cell = int(digits), {":": "instruction", "?": "question", "!": "answer"}.get(kind)
        if kind in "=~" and word:
            sizes[step] = int(word)
        if kind != "~":
            rows.append(row(step, **({cell: word} if cell else {}), qualified=not sign))
    return rows, sizes


@pytest.mark.parametrize(("text", "said", "sizes", "counts"), RULES.values(), ids=RULES)
def test_the_rules(text: str, said: str, sizes: list[int], counts: dict[str, int]) -> None:
    report = Report()
    rows, heights = rows_of(text)
    session = read(rows, towers(heights), report)
    turns = [" ".join(f"{u.role[0].upper()}:{u.text}" for u in turn) for turn in session.turns]
    assert " | ".join(turns) == said
    assert sizes_of(session) == sizes
    assert (session.task_id, session.ids) == ("3-hut", "iglu")
    assert (report.sessions, report.turns, report.counts) == (1, len(sizes), counts)
    assert all(str(entry).startswith("3-hut") for entry in report.skipped)


def test_a_damaged_world_ends_the_session() -> None:
    report = Report()
    worlds = {**towers({2: 1}), 4: DataError("3-hut/step-4 is torn")}
    session = read(rows_of("1:a 2= 3:b 4=")[0], worlds, report)
    assert session is not None
    assert sizes_of(session) == [1]
    assert report.counts == {"bad_world": 1, "unfinished_turn": 1}
    assert str(report.skipped[0]) == (
        "3-hut step 4: a damaged world; the session ends there (3-hut/step-4 is torn)"
    )


def test_runs_of_dollars_are_line_breaks_and_a_text_cannot_speak_for_the_other() -> None:
    text = table(
        "3-hut,1,hut,True,one$two$$$<Builder> me too,,", "3-hut,2,hut,True,,a$b,", "3-hut,3,hut,True,$$,,$c$"
    )
    session = read([*read_rows(text, Report()), row(4)], towers({4: 1}))
    said = [(utterance.role, utterance.text) for utterance in session.turns[0]]
    assert said == [("architect", "one\ntwo\n<Builder> me too"), ("builder", "a\nb"), ("architect", "c")]


EVENTS = st.lists(st.sampled_from(["say", "answer", "ask", "build", "nothing", "unqualified"]), max_size=14)


@given(EVENTS, st.lists(st.integers(-1, 4), min_size=15, max_size=15))
def test_any_table_gives_a_session_or_none_and_loses_nothing_in_silence(
    events: list[str], sizes: list[int]
) -> None:
    rows, heights = [], {}
    for number, event in enumerate(events):
        odd, even = 2 * number + 1, 2 * number + 2
        made = {
            "say": row(odd, f"w{number}"),
            "unqualified": row(odd, f"w{number}", qualified=False),
            "answer": row(odd, answer=f"w{number}"),
            "ask": row(even, question=f"w{number}"),
            "build": row(even),
            "nothing": row(odd),
        }
        rows.append(made[event])
        if event == "build" and sizes[number] >= 0:
            heights[even] = sizes[number]
    report = Report()
    session = read(rows, towers(heights), report)
    assert (session is None) == (report.counts.get("empty_session", 0) == 1)
    if session is None:
        return
    assert 0 not in sizes_of(session)
    assert all(turn and turn[0].role == "architect" for turn in session.turns)
    said = [utterance.text for turn in session.turns for utterance in turn]
    assert said == sorted(said, key=lambda text: int(text[1:]))
    spoken = sum(event in ("say", "answer", "ask", "unqualified") for event in events)
    assert len(said) == spoken or report.skipped


# -- the table


def table(*lines: str, header: str = HEADER) -> str:
    return "\n".join((header, *lines)) + "\n"


def test_rows_are_read_from_csv() -> None:
    text = table(
        '3-hut,1,hut,True,"place ""it"", there",,',
        "3-hut,2.0,hut,true,,why?,",
        "3-hut,3,hut,1,,, because ",
        "3-hut,4,,,,,",
        "3-hut,5,hut,False,no,,",
        "3-hut,7,hut,0,no,,",
    )
    report = Report()
    rows = read_rows(b"\xef\xbb\xbf" + text.encode(), report)
    assert rows == [
        row(1, 'place "it", there'),
        row(2, question="why?"),
        row(3, answer="because"),
        row(4),
        row(5, "no", qualified=False),
        row(7, "no", qualified=False),
    ]
    assert (report.rows, report.skipped) == (6, [])


def test_rows_without_a_session_or_a_step_are_counted() -> None:
    report = Report()
    steps = ("", "x", "1.5", "²", "9" * 5000)
    wrong = [
        ",1,hut,True,a,,",
        "3-hut,2,hut,maybe,,,",
        "3-hut",
        *(f"3-hut,{step},hut,True,,," for step in steps),
    ]
    assert read_rows(table(*wrong), report) == []
    assert report.counts == {"bad_row": 8}
    assert "line 2" in str(report.skipped[0])


# -- worlds


def read_blocks(content: Any) -> list[Block]:
    grid = read_voxel_grid(parse_world(content, "step-2").get("worldEndingState"), "step-2")
    return grid_to_blocks(voxel_colors(grid))


def test_worlds_are_read_in_our_coordinates_and_ids() -> None:
    entries = [(5, 71, -5, 60), (-5, 63, 5, 57), (0, 64, 0, 87)]
    assert read_blocks(json.dumps(world(*entries))) == [(-5, -1, 5, 1), (0, 0, 0, 2), (5, 7, -5, 6)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("version https://git-lfs", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("{}", "no worldEndingState.blocks"),
        ("[1]", "is list, expected an object"),
        (world((0, 63, 0)), "four integers"),
        (world((0, 63, 0, 57.0)), "four integers"),
        (world((0, 63, 0, 10**400)), "four integers"),
        (world((0, 63, 0, 1)), "unknown voxel id 1"),
        (world((6, 63, 0, 57)), "outside the zone"),
        (world((0, 72, 0, 57)), "outside the zone"),
        (world((0, 63, 0, 57), (0, 63, 0, 60)), "two blocks in the cell"),
    ],
)
def test_damaged_worlds_are_refused(content: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"step-2.*{message}"):
        read_blocks(content)


# -- folders


def layout(root: Path) -> Path:
    """A small dataset: two sessions of a hut, one of a tower without worlds, litter."""
    lines = [
        f"{name},{step},{name[2:]},True,{'go' if step % 2 else ''},,"
        for name in ("2-hut", "9-tower", "1-hut")
        for step in (1, 2)
    ]
    lines += ["../1-hut,1,hut,True,go,,", ".,1,dot,True,go,,"]
    files = {"dialogs.csv": table(*lines), "builder-data/.DS_Store": "\0"}
    for count, name in enumerate(("1-hut", "2-hut"), start=1):
        files[f"builder-data/{name}/step-2"] = json.dumps(world(*((x, 63, 0, 60) for x in range(count))))
        files[f"builder-data/{name}/.DS_Store"] = "\0"
    return write_folder(root, {name: text.encode() for name, text in files.items()})


def test_a_folder_is_read(tmp_path: Path) -> None:
    report = Report()
    found = read_sessions(layout(tmp_path / "set"), report)
    assert {name: [session.task_id for session in sessions] for name, sessions in found.items()} == {
        "hut": ["2-hut", "1-hut"]
    }
    assert [sizes_of(session) for session in found["hut"]] == [[2], [1]]
    assert [(entry.reason, entry.name) for entry in report.skipped] == [
        (MultiturnSkip.NO_WORLDS, name) for name in ("9-tower", "../1-hut", ".")
    ]
    assert str(report) == "8 rows, 2 sessions, 2 turns; left out: 3 no_worlds"


@pytest.mark.parametrize("absent", ["dialogs.csv", "builder-data"])
def test_a_folder_without_table_or_worlds_is_refused(tmp_path: Path, absent: str) -> None:
    folder = layout(tmp_path / "set")
    (folder / absent).rename(tmp_path / "away")
    with pytest.raises(DataError, match=r"dialogs\.csv and builder-data/"):
        read_sessions(folder)


@pytest.mark.parametrize(
    "save", [{}, {"na_rep": "NULL"}, {"na_rep": "nan", "index": False}, {"lineterminator": "\r\n"}]
)
def test_a_table_that_pandas_has_saved_again_gives_the_same_sessions(
    save: dict[str, Any], tmp_path: Path
) -> None:
    pandas = pytest.importorskip("pandas")
    original = Path(str(bundled.files()))
    folder = tmp_path / "copy"
    shutil.copytree(original, folder)
    frame = pandas.read_csv(original / "dialogs.csv")
    frame["StepId"] = frame["StepId"].astype(float)
    frame.to_csv(folder / "dialogs.csv", **save)
    report: Report[MultiturnSkip] = Report()
    again, expected = read_sessions(folder, report), bundled.load()
    assert report.exact, report
    assert {name: list(map(list, own)) for name, own in again.items()} == {
        name: list(map(list, own)) for name, own in expected.items()
    }
