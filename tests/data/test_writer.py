"""Sessions written in the multi-turn layout: what is read back, and what the layout cannot hold."""

from __future__ import annotations

import csv
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from iglu_marl import DataError, Role, Subtasks, Utterance, parallel_env, play, raw_env
from iglu_marl.agents import OracleBuilder, ReplayArchitect, ScriptedArchitect, ScriptedBuilder
from iglu_marl.core.actions import Action
from iglu_marl.core.grid import blocks_to_grid, grid_to_blocks, in_zone
from iglu_marl.data import (
    EpisodeRecorder,
    bundled,
    read_action_log,
    read_sessions,
    write_sessions,
)
from iglu_marl.data.iglu.action_log import Placed
from iglu_marl.data.iglu.multiturn import EXACT
from iglu_marl.data.iglu.tables import EMPTY
from iglu_marl.data.iglu.trajectory import trajectory_of
from iglu_marl.data.iglu.writer import COLUMNS
from iglu_marl.data.report import Report

A, B = Role.ARCHITECT, Role.BUILDER
WAIT, LOOK_DOWN, PLACE = (int(action) for action in (Action.NOOP, Action.LOOK_DOWN, Action.PLACE))

# -- made sessions

words = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Zl", "Zp"), exclude_characters="$")
    | st.just("\n"),
    min_size=1,
    max_size=40,
).filter(
    lambda text: (
        bool(text.strip()) and all(c.isprintable() or c == "\n" for c in text) and text.strip() not in EMPTY
    )
)
cells = st.tuples(st.integers(-5, 5), st.integers(-1, 7), st.integers(-5, 5))
worlds = st.dictionaries(cells, st.integers(1, 6), min_size=1, max_size=12).map(
    lambda found: [(*cell, color) for cell, color in found.items()]
)
utterances = st.builds(Utterance, st.sampled_from((A, B)), words)
good_turns = st.tuples(st.builds(Utterance, st.just(A), words), st.lists(utterances, max_size=4), worlds)


def session(turns: list[Any], name: str = "1-thing", **options: Any) -> Subtasks:
    said = [[first, *rest] for first, rest, _ in turns]
    return Subtasks(said, [world for *_, world in turns], task_id=name, ids="iglu", **options)


def back(path: Path) -> dict[str, list[Subtasks]]:
    report = Report()
    found = read_sessions(path, report)
    assert not [skip for skip in report.skipped if skip.reason.name != "EMPTY_WORLD"], str(report)
    return found


def as_others_read(path: Path, exact: str | None = None) -> None:
    """Take the column out of a table that only this project knows, or put another text into it."""
    table = path / "dialogs.csv"
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = COLUMNS if exact is None else (*COLUMNS, EXACT)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, EXACT: exact if row.get(EXACT) else ""} for row in rows)


def check_action_logs(path: Path) -> int:
    """Every action log is valid, and leads to its world."""
    count = 0
    for file in (path / "builder-data").glob("*/step-*"):
        recording = read_action_log(file.read_bytes(), name=str(file))
        assert recording.reproduces
        assert recording.log.skipped == ()
        assert recording.log.events[0].tick == 1
        count += 1
    return count


@pytest.mark.slow
@given(st.lists(st.lists(good_turns, min_size=1, max_size=3), min_size=1, max_size=3))
def test_what_is_written_is_read_back_equal(made: list[list[Any]]) -> None:
    sessions = [session(turns, f"{number}-c{number % 2}") for number, turns in enumerate(made, start=1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        report = write_sessions(path, sessions)
        assert report.exact, report.skipped
        found = [session for own in back(path).values() for session in own]
        assert sorted(found, key=lambda s: s.task_id) == sessions
        assert check_action_logs(path) == sum(map(len, sessions))


any_text = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ("$", "a$b", "\x00", "\u2028")
)
any_utterance = st.builds(Utterance, st.sampled_from((A, B)), any_text)
any_turns = st.tuples(any_utterance, st.lists(any_utterance, max_size=3), worlds | st.just([]))


@pytest.mark.slow
@given(st.lists(any_turns, min_size=1, max_size=4))
def test_no_session_is_refused_and_no_word_is_lost(turns: list[Any]) -> None:
    made = session(turns)
    heard = [u for u in made.dialogue if u.text]
    assume(any(u.role is A and "".join(c for c in u.text if c.isprintable()).strip() for u in heard))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        report = write_sessions(path, [made])
        assert report.sessions == 1
        with (path / "dialogs.csv").open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        told = [r[key] for r in rows for key in ("instruction", "Answer4ClarifyingQuestion") if r[key]]
        asked = [r["ClarifyingQuestion"] for r in rows if r["ClarifyingQuestion"]]
        if all("$" not in u.text and u.text.strip() and u.text.isprintable() for u in heard):
            assert len(told) == sum(u.role is A for u in heard)
            assert len(asked) == sum(u.role is B for u in heard)
        steps = [int(row["StepId"]) for row in rows]
        assert steps == sorted(set(steps))
        assert all((int(row["StepId"]) % 2 == 1) is row["Role"].startswith("architect") for row in rows)
        check_action_logs(path)
        assert list(read_sessions(path).values()) == [[made]]
        as_others_read(path)
        found = [s for listed in read_sessions(path).values() for s in listed]
        assert len(found) <= 1
        if all(world for *_, world in turns):
            np.testing.assert_array_equal(found[0].structures[-1], made.structures[-1])


RED, TWO = [(0, -1, 0, 6)], [(0, -1, 0, 6), (1, -1, 0, 1)]


@pytest.mark.parametrize(
    ("said", "worlds", "expected"),
    [
        ("b:hi a:red", [RED], "a:red b:hi"),
        ("a:red | b:so? a:yes", [RED, TWO], "a:red b:so? | a:yes"),
        ("a:red | b:and", [RED, TWO], "a:red b:and"),
        ("| a:red", [RED, TWO], "a:red"),
        ("a:red | a:blue", [[], TWO], "a:red a:blue"),
        ("a:3$", [RED], "a:3＄"),
        ("a:a\x00b", [RED], "a:a_b"),
    ],
)
def test_what_the_layout_cannot_hold_is_in_our_own_column(
    said: Any, worlds: Any, expected: Any, tmp_path: Path
) -> None:
    def turns_of(text: str) -> list[list[Utterance]]:
        parts = [[word.split(":") for word in turn.split()] for turn in text.split("|")]
        return [
            [Utterance({"a": A, "b": B}[who], words.replace("_", " ")) for who, words in turn]
            for turn in parts
        ]

    made = Subtasks(turns_of(said), worlds, task_id="1-c1", ids="iglu")
    assert write_sessions(tmp_path / "out", [made]).exact
    assert back(tmp_path / "out") == {"c1": [made]}
    as_others_read(tmp_path / "out")
    ((found,),) = back(tmp_path / "out").values()
    assert [list(turn) for turn in found.turns] == turns_of(expected)
    np.testing.assert_array_equal(found.structures[-1], made.structures[-1])


@pytest.mark.parametrize(
    "exact",
    [
        "{",
        '{"turns": 3}',
        '{"turns": []}',
        '{"turns": [{"dialog": "x", "target": [[0, 99, 0, 1]]}]}',
        '{"turns": [{"dialog": "x", "target": [[1, -1, 0, "blue"]]}]}',
        '{"turns": [{"target": [[0, -1, 0, "red"]]}], "id": "another"}',
        '{"turns": [{"target": [[0, -1, 0, "red"]]}], "target": []}',
    ],
)
def test_exact_turns_that_are_wrong_are_not_used(exact: str, tmp_path: Path) -> None:
    made = Subtasks([[Utterance(B, "hi"), Utterance(A, "red")]], [RED], task_id="1-c1", ids="iglu")
    write_sessions(tmp_path / "out", [made])
    as_others_read(tmp_path / "out", exact)
    report: Report[Any] = Report()
    ((found,),) = read_sessions(tmp_path / "out", report).values()
    assert report.counts == {"bad_exact": 1}
    assert found.task_id == "1-c1"
    assert found.dialogue.text == "<Architect> red\n<Builder> hi"


def test_a_world_that_is_missing_ends_an_exact_session_too(tmp_path: Path) -> None:
    turns = [[Utterance(B, "hi"), Utterance(A, "red")], [Utterance(A, "blue")]]
    write_sessions(tmp_path / "out", [Subtasks(turns, [RED, TWO], task_id="1-c1", ids="iglu")])
    worlds = sorted((tmp_path / "out" / "builder-data" / "1-c1").iterdir())
    worlds[-1].unlink()
    report: Report[Any] = Report()
    ((found,),) = read_sessions(tmp_path / "out", report).values()
    assert len(found) == 1
    assert report.counts == {"bad_exact": 1, "missing_world": 1, "unfinished_turn": 1}


def test_names_and_starts(tmp_path: Path) -> None:
    turns = [(Utterance(A, "red"), [], RED)]
    twice = [session(turns, "1-c1"), session(turns, "1-c1"), session(turns, "a b/c"), session(turns, "../x")]
    write_sessions(tmp_path / "out", [*twice, session(turns, "9-c1", starting_grid=TWO)])
    names = sorted(p.name for p in (tmp_path / "out" / "builder-data").iterdir())
    assert names == ["1-..-x", "1-a-b-c", "1-c1", "2-c1", "9-c1"]
    found = back(tmp_path / "out")["c1"]
    assert len(found) == 3
    np.testing.assert_array_equal(found[-1].starting_grid, blocks_to_grid(TWO))


def test_a_text_with_lines(tmp_path: Path) -> None:
    texts = ["a\nb", "a\n\nb", 'a,b\n"c"', "<Builder> x", "a\n<Builder> b"]
    made = session([(Utterance(A, texts[0]), [Utterance(A, text) for text in texts[1:]], RED)])
    assert write_sessions(tmp_path / "out", [made]).exact
    assert back(tmp_path / "out") == {"thing": [made]}
    table = (tmp_path / "out" / "dialogs.csv").read_text(encoding="utf-8")
    assert "a$b" in table, "one line break is written as upstream does"
    assert table.splitlines()[0].split(",") == list(COLUMNS)


def test_folders_in_use_are_kept(tmp_path: Path) -> None:
    made = [session([(Utterance(A, "red"), [], RED)])]
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "mine.txt").write_text("mine")
    for path, sessions in (("used", made), ("none", []), ("none", ["1-c1"])):
        with pytest.raises(DataError):
            write_sessions(tmp_path / path, sessions)  # type: ignore[arg-type]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["used"], "nothing half-written is left"
    assert (tmp_path / "used" / "mine.txt").read_text() == "mine"


# -- played episodes


@pytest.mark.parametrize("controls", ["walking", "flying"])
def test_a_played_episode_is_written_with_its_movements(controls: Any, tmp_path: Path) -> None:
    target = blocks_to_grid([(0, -1, 0, 1), (1, -1, 0, 2), (1, 0, 0, 3)])
    env = raw_env(
        tasks=Subtasks([[Utterance(A, "x")]], [target], ids="iglu")[0],
        controls=controls,
        builder_sees=("inventory", "compass", "dialog", "pose", "grid"),
    )
    recorder = EpisodeRecorder()
    agents = {
        "architect": ScriptedArchitect(controls=controls),
        "builder": ScriptedBuilder(controls=controls),
    }
    played = play(env, agents, seed=1, on_step=recorder)
    record = recorder.session("3-made")
    assert len(record.turns) == 3
    assert record.dialogue == played.dialogue[: len(record.dialogue)]
    np.testing.assert_array_equal(record.structures[-1], played.grid)
    write_sessions(tmp_path / "out", [record])
    ((found,),) = back(tmp_path / "out").values()
    assert found == record
    check_action_logs(tmp_path / "out")
    files = sorted(
        (tmp_path / "out" / "builder-data" / "3-made").iterdir(), key=lambda file: int(file.name[5:])
    )
    logs = [read_action_log(file.read_bytes()) for file in files]
    path = trajectory_of(logs[-1])
    assert sum(isinstance(event, Placed) for event in logs[-1].log.events) > 0
    assert sum(map(len, map(trajectory_of, logs))) > 10
    x, y, z, yaw, pitch = env.unwrapped.episode.worlds.pose[0].tolist()
    np.testing.assert_allclose(path.poses[-1], (x, y, z, yaw % 360, pitch), atol=1e-4)
    np.testing.assert_array_equal(path.end, played.grid)


def test_sessions_in_the_ids_of_2022_keep_their_colors(tmp_path: Path) -> None:
    made = Subtasks(["red"], [[(0, -1, 0, 3)]], task_id="1-c1", ids="iglu2022")
    write_sessions(tmp_path / "out", [made])
    assert grid_to_blocks(read_sessions(tmp_path / "out")["c1"][0].structures[0]) == [(0, -1, 0, 6)]


@pytest.mark.slow
def test_the_recorder_starts_over_with_each_episode() -> None:
    tasks = bundled.load()
    recorder = EpisodeRecorder()
    sessions = [tasks[name][0] for name in list(tasks)[:2]]
    env = raw_env(tasks=sessions[0][0], controls="flying", max_steps=300, max_message_length=1000)
    for made in sessions:
        task = Subtasks(
            made.turns, made.structures, progressive=True, invariant=False, task_id=made.task_id, ids="iglu"
        )
        agents = {"architect": ReplayArchitect.for_env(env), "builder": OracleBuilder("flying")}
        play(env, agents, options={"task": task[0]}, on_step=recorder)
        record = recorder.session(str(made.task_id))
        np.testing.assert_array_equal(record.structures[-1], made.structures[-1])
        assert record.starting_grid is None


def test_an_episode_without_a_block_is_no_session() -> None:
    env = raw_env(tasks=bundled.load()["bridge"][0][0], max_steps=3, turn_steps=1)
    recorder = EpisodeRecorder()
    env.reset(seed=0)
    for action in ("", WAIT):
        recorder(env)
        with pytest.raises(DataError, match="nothing was built"):
            recorder.session("1-none")
        env.step(action)


def test_world_files_are_in_the_format_of_the_release(tmp_path: Path, shared: Path) -> None:
    write_sessions(tmp_path / "out", bundled.load()["bridge"])
    ours = json.loads(next((tmp_path / "out" / "builder-data").glob("*/step-2")).read_text())
    with zipfile.ZipFile(shared / "data" / "iglu-multiturn.zip") as archive:
        theirs = json.loads(archive.read("builder-data/9-c136/step-6"))
    assert ours.keys() == theirs.keys()
    assert {k: type(v) for k, v in ours.items()} == {k: type(v) for k, v in theirs.items()}
    assert ours["avatarInfo"].keys() == theirs["avatarInfo"].keys()
    assert all(in_zone(x, y - 64, z) for x, y, z, _ in ours["worldEndingState"]["blocks"])


def test_an_utterance_in_the_step_of_the_first_block(tmp_path: Path) -> None:
    """Both act at once: the layout has no turn without words, so the words are kept with the block."""
    env = parallel_env(tasks=bundled.load()["bridge"][0][0], controls="walking", max_steps=30)
    recorder = EpisodeRecorder()
    env.reset(seed=0)
    recorder(env)
    down = [("", LOOK_DOWN)] * 12
    for said, action in [*down, ("Place a block.", PLACE), ("", WAIT)]:
        env.step({"architect_0": said, "builder_0": action})
        recorder(env)
    record = recorder.session("1-once")
    assert [str(u) for u in record.dialogue] == ["<Architect> Place a block."]
    write_sessions(tmp_path / "out", [record])
    ((found,),) = back(tmp_path / "out").values()
    np.testing.assert_array_equal(found.structures[-1], record.structures[-1])
