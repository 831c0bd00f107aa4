"""Damaged input: no reader raises an error that is not ours, and nothing is lost but what is damaged.

Every reader is given a good input in which one member, line or value is damaged. It may take that for what it is, or
leave it out and count it, or raise an `IgluMarlError` that names the file; what is not damaged has to be there in the
first two cases, and in the third there is nothing else in the file.
"""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from made_packs import (
    DIALOG_COLUMNS,
    GAME_COLUMNS,
    game,
    mdc_state,
    original_file,
    rebuilt_file,
    start_file,
    step_file,
    table,
    tower,
    world,
    write_folder,
    write_zip,
)

import iglu_marl
from iglu_marl import IgluMarlError, Recorder, Task, replay
from iglu_marl.core.errors import DataError
from iglu_marl.core.parsing import read_file
from iglu_marl.data import (
    CDMDataset,
    MultiturnDataset,
    SingleturnDataset,
    clarifying_questions,
    human_evaluation,
    question_bank,
    write_tasks,
)
from iglu_marl.data.iglu.action_log import read_action_log
from iglu_marl.data.iglu.human_evaluation import COLUMNS as FEEDBACK_COLUMNS
from iglu_marl.data.packs.archive import Unsafe
from iglu_marl.data.report import Report
from iglu_marl.data.task_files import OwnTasks
from iglu_marl.evaluation.action_prediction import KINDS, Prediction
from iglu_marl.evaluation.log import RowLog
from iglu_marl.evaluation.results import Evaluation, row_from_json
from iglu_marl.recording import read_recording
from iglu_marl.tasks.structures import load_structures

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:1d87e9bc\nsize 917915\n"
ANNEX = b"/annex/objects/SHA256E-s917915--1d87e9bc.json\n"
PAGE = b"<!DOCTYPE html>\n<html><body>Sign in to download</body></html>\n"

# What stands in a file's place.
CONTENTS: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \n\t\n",
    "NUL bytes": b"\0" * 64,
    "a pointer": POINTER,
    "an annex pointer": ANNEX,
    "a web page": PAGE,
    "half an object": b'{"a": [1, 2',
    "brackets": b"[" * 100_000,
    "closed brackets": b"[" * 3_000 + b"]" * 3_000,
    "braces": b'{"a":' * 20_000,
    "digits": b"9" * 5_000,
    "a number": b"1e400",
    "a text": b'"\\ud800"',
    "null": b"null",
    "a list": b"[[], {}, null]",
    "an object": b"{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '{"a": "é"}'.encode("latin-1"),
    "surrogate bytes": b'{"a": "\xed\xa0\x80"}',
    "a gzip": gzip.compress(b"{}", mtime=0),
    "a zip": b"PK\x03\x04" + b"\0" * 100,
}

# What stands in a value's place, as JSON text.
VALUES: dict[str, str] = {
    "digits": "9" * 5_000,
    "10^400": "1" + "0" * 400,
    "-10^400": "-1" + "0" * 400,
    "2^70": str(2**70),
    "1e400": "1e400",
    "NaN": "NaN",
    "-Infinity": "-Infinity",
    "a superscript": '"²"',
    "a surrogate": '"\\ud800"',
    "a NUL": '"\\u0000"',
    "null": "null",
    "true": "true",
    "a list": "[]",
    "a nested list": "[[[[1, 2], {}]]]",
    "an object": '{"~": "object", "v": 1}',
    "brackets": "[" * 3_000 + "]" * 3_000,
    "a long text": json.dumps("x" * 200_000),
}

# What stands in the place of a row of a table.
ROWS: dict[str, bytes] = {
    "a long cell": b"x" * (csv.field_size_limit() + 1) + b",1,2",
    "a long quoted cell": b'"' + b"x\n" * csv.field_size_limit() + b'",1,2',
    "an open quote": b'"never closed,1,2',
    "an open quote at the end": b'a,b,"never closed',
    "quotes": b'"""""""',
    "NUL bytes": b"\0,\0,\0",
    "commas": b"," * 1_000,
    "superscripts": "²,²,²,²,²,²,²,²".encode(),
    "digits": b",".join([b"9" * 5_000] * 8),
    "a surrogate as text": b"\\ud800,\\ud800,\\ud800",
    "brackets": b",".join([b"[" * 5_000] * 8),
    "one cell": b"x",
    "a carriage return": b"a\rb,c",
}


@dataclass
class Read:
    """What a reader made of its input: the names of what it has, and what it says of the rest."""

    names: set[str]
    told: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, names: Any, report: Report[Any]) -> Read:
        json.dumps(report.to_json())
        str(report).encode()
        return cls(set(names), [str(entry) for entry in (*report.skipped, *report.files)])


@dataclass
class Reader:
    """An input and what reads it.

    files: the good input by names of files. damaged: the one of them that is damaged. place: what has to be named.
    read: reads the folder or zip. kept: what is there whatever happens to the damaged file; None where an error may be
    raised, because nothing else is in it. own: what may be gone with it. values: ways into its JSON. good: its good
    content, if it is in no `files`.
    """

    files: dict[str, bytes]
    damaged: str
    read: Callable[[Path], Read]
    kept: set[str] | None
    own: set[str] = field(default_factory=set)
    place: str = ""
    values: list[tuple[Any, ...]] = field(default_factory=list)
    zipped: bool = True
    good: bytes = b""

    @property
    def content(self) -> bytes:
        """The good content of the file."""
        return self.files.get(self.damaged, self.good)

    def check(self, folder: Path, content: bytes) -> None:
        """Reads the input with that content in the damaged file's place."""
        files = {**self.files, self.damaged: content}
        path = (
            write_zip(folder / "p.zip", files, zipfile.ZIP_STORED)
            if self.zipped
            else write_folder(folder, files)
        )
        place = self.place or self.damaged
        try:
            found = self.read(path)
        except IgluMarlError as raised:
            error = str(raised)
        else:
            self.check_rest(found, place)
            return
        assert self.kept is None, f"one damaged file has taken everything with it: {error}"
        assert place in error
        assert error.encode()
        assert len(error) < 2_000, "the error shows what nobody can read"

    def check_rest(self, found: Read, place: str) -> None:
        """What is not damaged is there, and what is gone is told, unless it only has another name."""
        assert (self.kept or set()) <= found.names
        for told in found.told:
            told.encode()
        if not self.own <= found.names and len(found.names) < len((self.kept or set()) | self.own):
            assert any(place in told for told in found.told), f"{place} is gone without a word: {found.told}"


# ----------------------------------------------------------------------------------------------- the readers


def used(dataset: Any) -> Read:
    """What is known of a dataset after all of it has been used."""
    assert len(list(dataset)) == len(dataset.records()) == len(dataset)
    return Read.of(dataset.ids(), dataset.report())


def read_singleturn(path: Path) -> Read:
    return used(SingleturnDataset(path=path, progress=False))


def read_multiturn(path: Path) -> Read:
    return used(MultiturnDataset(path=path, progress=False))


def read_silent(path: Path) -> Read:
    return used(MultiturnDataset(path=path, dialogs=False, progress=False))


def read_corpus(path: Path) -> Read:
    dataset = CDMDataset(path, mode="sessions", progress=False)
    corpus = dataset.corpus
    for session in corpus.sessions.values():
        assert len(session.timestamps) == len(session.inventories) == len(session)
        assert len(session.dialogue) == session.heard[-1]
        session.dialogue.text.encode()
    names = {*corpus.sessions, *corpus.gold, *(f"split of {name}" for name in corpus.splits)}
    return Read.of(names, dataset.report())


def read_world_file(path: Path) -> Read:
    tape = read_action_log(read_file(path / "step-2", 1 << 20), name="step-2")
    assert tape.reproduces in (True, False)
    return Read({"step-2"}, [str(entry) for entry in tape.log.skipped] + [tape.name])


def read_own(path: Path) -> Read:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        tasks = OwnTasks(path)
    found = used(tasks)
    write_tasks(path / "again.out", tasks.tasks)
    return found


def read_feedback(path: Path) -> Read:
    found = human_evaluation(path / "human_agent_feedback.csv")
    str(found.report()).encode()
    told = [str(part) for part in (found.games, found.tasks) if not part]
    return Read({row.hit_id for row in found.feedback}, [*map(str, found.report().skipped), *told])


def read_questions(path: Path) -> Read:
    report: Report[Any] = Report()
    games = clarifying_questions(path / "games.csv", report)
    return Read.of({game.game_id for game in games}, report)


def read_bank(path: Path) -> Read:
    report: Report[Any] = Report()
    return Read.of(question_bank(path / "bank.csv", report), report)


def read_structures(path: Path) -> Read:
    found = load_structures(path / "structures.json")
    for structure in found.values():
        str(structure.task()).encode()
    return Read({*found})


def read_played(path: Path) -> Read:
    """A recording, read and simulated again."""
    found = read_recording(path / "game.jsonl")
    for recording in found:
        assert isinstance(recording.task, Task)
        replay(recording)
    return Read({"game"}, [f"game.jsonl has {len(found)} games"])


SETTINGS = {"seed": 1, "config": {"controls": "flying"}}


def read_games(path: Path) -> Read:
    """The log of an evaluation, gone on with, and its tables."""
    log: RowLog[Any] = RowLog(
        path / "games.jsonl", SETTINGS, form=("e", 1), what="games", from_json=row_from_json, to_json=dict
    )
    log.close()
    json.dumps(Evaluation(SETTINGS, log.rows, resamples=10).to_json())
    return Read({"games"}, ["games.jsonl"])


def read_predictions(path: Path) -> Read:
    log: RowLog[Prediction] = RowLog(
        path / "predictions.jsonl",
        SETTINGS,
        form=("p", 1),
        what="predictions",
        from_json=Prediction.from_json,
        to_json=Prediction.to_json,
    )
    log.close()
    assert all(row.acted.f1 >= 0 for row in log.rows)
    return Read({"predictions"}, ["predictions.jsonl"])


# ------------------------------------------------------------------------------------------------ good inputs

GAMES = [
    game(1),
    game(2),
    game(3, start="1-c7/step-4"),
    game(4, "1-c7/step-2", "No", qrel="q_1", ClarifyingQuestion="?"),
]
SINGLE = {
    "clarifying_questions_train.csv": table(GAME_COLUMNS, GAMES),
    "question_bank.csv": table("qrel,ClarifyingQuestion", [{"qrel": "q_1", "ClarifyingQuestion": "?"}]),
    start_file("1-c7/step-2"): world(),
    start_file("1-c7/step-4"): world(*tower(1)),
    **{rebuilt_file(number): world(*tower(2)) for number in (1, 2, 3)},
    **{original_file(number): world(*tower(2)) for number in (1, 2, 3)},
}
DIALOGS = [
    {
        "PartitionKey": name,
        "StepId": str(step),
        "structureId": "c7",
        "IsHITQualified": "True",
        "instruction": text,
    }
    for name in ("1-c7", "2-c7")
    for step, text in ((1, "one"), (2, ""), (3, "two"), (4, ""))
]
MULTI = {
    "dialogs.csv": table(DIALOG_COLUMNS, DIALOGS),
    **{step_file(name, step): world(*tower(step)) for name in ("1-c7", "2-c7") for step in (2, 4)},
}
TAPE = (
    "1 pos_change (0, 63, 0)\n2 action select_and_place_block 60 0 63 0\n3 block_change  (0, 63, 0, 0, 60)\n"
)
WORLD = world(*tower(1), tape=TAPE)


def logs(name: str) -> str:
    return f"data/logs/data-3-30/logs/{name}/postprocessed-observations.json"


SAID = ["<Architect> a red one"]
SESSION = json.dumps(
    {"WorldStates": [mdc_state(SAID), mdc_state(SAID, ("red", 0, 1, 0))], "TimeElapsed": 2.5}
).encode()
RED = b'<DrawBlock type="cwcmod:cwc_minecraft_red_rn" x="100" y="1" z="95"/>'
CORPUS = {
    "data/logs/splits.json": b'{"train": ["C7", "C9"], "val": [], "test": []}',
    "data/gold-configurations/C7.xml": RED,
    "data/gold-configurations/C9.xml": RED,
    **{logs(name): SESSION for name in ("B1-A2-C7-1", "B1-A2-C9-2")},
}
OWN_TASK = {
    "id": "hut",
    "structure": "hut",
    "dialog": [{"role": "architect", "text": "a red one"}],
    "target": [[0, -1, 0, "red"], [1, -1, 0, 1]],
    "invariant": False,
    "ids": "iglu",
}
HUT, OTHER_TASK = (json.dumps({**OWN_TASK, "id": name}).encode() for name in ("hut", "other"))
FEEDBACK = [
    {
        "HitId": f"H{number}",
        "AgentName": "A",
        "Annotation": '{"was_chosen_best": true, "agent_performance": "ok"}',
    }
    for number in (1, 2)
]
STRUCTURES = {
    "colours": {"1": "blue"},
    "block_order": ["x", "y", "z", "colour_id"],
    "ground_y": 0,
    "structures": {"C7": {"name": "post", "blocks": [[0, 0, 0, 1]]}},
}
GAME_ROW = {
    **dict.fromkeys(("precision", "recall", "f1", "change_f1", "return"), 0.5),
    **dict.fromkeys(("steps", "turns", "instructions", "words", "questions", "seed", "episode"), 1),
    "architect": "a",
    "builder": "b",
    "key": "0",
    "task": "t",
    "skills": ["flat"],
    "error": "",
    "completed": True,
    "exact": False,
    "actions": [0, 0, 1],
}
PREDICTION = {
    "name": "s",
    "unit": "u",
    "structure": "C7",
    "tags": ["flat"],
    "error": "",
    "removed": [0, 0, 0],
    **{key: [1, 1, 1] for key in KINDS if key not in ("acted", "removed")},
    "made": [[True, 0, -1, 0, 1]],
    "states": [3, 5],
}


def logged(form: str, row: dict[str, Any]) -> bytes:
    header = {"format": form, "version": 1, "iglu_marl": iglu_marl.__version__, "settings": SETTINGS}
    return b"".join(json.dumps(line).encode() + b"\n" for line in (header, row))


GRID = [(0, -1, -2, 6), (1, -1, -2, 1)]


def recorded_game(folder: Path) -> bytes:
    """A short game of a lone builder, with an array, a NumPy number and an end."""
    path = folder / "recorded.jsonl"
    path.unlink(missing_ok=True)
    env = gym.make(
        "IGLUGridworldVector-v0", tasks=Task("<Architect> two", GRID), action_space="flying", max_steps=2
    )
    with Recorder(path) as recorder:
        wrapped = recorder.wrap(env)
        wrapped.reset(seed=0, options={"pose": (0, 1, 2, 100, -20)})
        env.action_space.seed(0)
        for _ in range(2):
            wrapped.step(env.action_space.sample())
    return path.read_bytes()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return recorded_game(tmp_path_factory.mktemp("recording"))


SESSIONS = {"1-c7", "2-c7"}
READERS: dict[str, Reader] = {
    "target world": Reader(
        SINGLE, rebuilt_file(1), read_singleturn, {"CQ-game-2", "CQ-game-3"}, {"CQ-game-1"},
        values=[("worldEndingState", "blocks", 0, 1), ("worldEndingState", "blocks", 0, 3), ("avatarInfo", "pos", 0)],
    ),
    "start world": Reader(
        SINGLE, start_file("1-c7/step-4"), read_singleturn, {"CQ-game-1", "CQ-game-2"}, {"CQ-game-3"},
        values=[("worldEndingState", "blocks"), ("avatarInfo",)],
    ),
    "step world": Reader(
        MULTI, step_file("1-c7", 2), read_multiturn, {"2-c7"}, {"1-c7"},
        values=[("worldEndingState", "blocks", 0, 0), ("worldEndingState",), ("avatarInfo", "look")],
    ),
    "silent world": Reader(
        MULTI, step_file("1-c7", 2), read_silent, {"2-c7"}, {"1-c7"}, values=[("worldEndingState", "blocks", 0)],
    ),
    "unused bank": Reader(
        SINGLE, "question_bank.csv", read_singleturn, {"CQ-game-1", "CQ-game-2", "CQ-game-3"},
    ),
    "tape": Reader(
        {}, "step-2", read_world_file, None, zipped=False, good=WORLD,
        values=[("tape",), ("worldEndingState", "blocks", 0, 0), ("avatarInfo", "pos", 1), ("avatarInfo", "look", 0)],
    ),
    "session": Reader(
        CORPUS, logs("B1-A2-C7-1"), read_corpus, {"B1-A2-C9-2", "C7", "C9", "split of C7"}, {"B1-A2-C7-1"},
        place="B1-A2-C7-1",
        values=[
            ("TimeElapsed",),
            *(("WorldStates", 1, *way) for way in (
                (), ("Timestamp",), ("ChatHistory",), ("ChatHistory", 0), ("BlocksInGrid", 0),
                ("BlocksInGrid", 0, "AbsoluteCoordinates", "X"), ("BlocksInGrid", 0, "Type"),
                ("BuilderPosition", "Yaw"), ("BuilderInventory", 0, "Quantity"), ("ScreenshotPath",),
            )),
        ],
    ),
    "gold": Reader(
        CORPUS, "data/gold-configurations/C7.xml", read_corpus, {"B1-A2-C7-1", "B1-A2-C9-2", "C9"}, {"C7"}, place="C7",
    ),
    "splits": Reader(
        CORPUS, "data/logs/splits.json", read_corpus, {"B1-A2-C7-1", "B1-A2-C9-2", "C7", "C9"}, {"split of C7"},
        values=[("train",), ("train", 0)], place="C7",
    ),
    "own JSON": Reader(
        {"other.json": OTHER_TASK}, "mine.json", read_own, None, {"hut", "other"}, zipped=False, good=HUT,
        values=[("id",), ("structure",), ("dialog",), ("dialog", 0, "text"), ("target", 0, 1), ("target", 1, 3),
                ("target",), ("invariant",), ("ids",)],
    ),
    "own lines": Reader(
        {"other.json": OTHER_TASK}, "mine.jsonl", read_own, None, {"hut", "other"}, zipped=False, good=HUT,
        values=[("dialog", 0, "role"), ("target", 0)],
    ),
    "event file": Reader(
        {"human_agent_feedback.csv": table(",".join(FEEDBACK_COLUMNS), FEEDBACK)}, "gamedata.json", read_feedback,
        {"H1", "H2"}, zipped=False, good=b"[1]",
    ),
    "structures": Reader(
        {}, "structures.json", read_structures, None, zipped=False, good=json.dumps(STRUCTURES).encode(),
        values=[("colours",), ("colours", "1"), ("block_order",), ("block_order", 0), ("ground_y",), ("structures",),
                ("structures", "C7"), ("structures", "C7", "name"), ("structures", "C7", "blocks"),
                ("structures", "C7", "blocks", 0, 0)],
    ),
    "evaluation": Reader(
        {}, "games.jsonl", read_games, None, zipped=False, good=logged("e", GAME_ROW),
        values=[("architect",), ("episode",), ("skills",), ("actions",), ("actions", 0), ("f1",), ("steps",)],
    ),
    "predictions": Reader(
        {}, "predictions.jsonl", read_predictions, None, zipped=False, good=logged("p", PREDICTION),
        values=[("name",), ("tags",), ("placed",), ("placed", 0), ("made",), ("made", 0, 1), ("error",)],
    ),
    "recording": Reader({}, "game.jsonl", read_played, None, zipped=False),
}  # fmt: skip
TABLES: dict[str, Reader] = {
    "games": Reader(
        {},
        "games.csv",
        read_questions,
        {"CQ-game-1", "CQ-game-2", "CQ-game-3", "CQ-game-4"},
        zipped=False,
        good=SINGLE["clarifying_questions_train.csv"],
    ),
    "bank": Reader({}, "bank.csv", read_bank, {"q_1"}, zipped=False, good=SINGLE["question_bank.csv"]),
    "dialogs": Reader(MULTI, "dialogs.csv", read_multiturn, SESSIONS),
    "single turns": Reader(
        SINGLE, "clarifying_questions_train.csv", read_singleturn, {"CQ-game-1", "CQ-game-2", "CQ-game-3"}
    ),
    "feedback": Reader(
        {},
        "human_agent_feedback.csv",
        read_feedback,
        {"H1", "H2"},
        zipped=False,
        good=table(",".join(FEEDBACK_COLUMNS), FEEDBACK),
    ),
}


@pytest.fixture(autouse=True)
def no_other_data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path_factory.getbasetemp() / "damage-cache"))
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)


# ---------------------------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize("name", READERS)
def test_good_input_is_read_whole(name: str, tmp_path: Path, recorded: bytes) -> None:
    reader = READERS[name]
    files = {**reader.files, reader.damaged: reader.content or recorded}
    path = write_zip(tmp_path / "p.zip", files) if reader.zipped else write_folder(tmp_path, files)
    found = reader.read(path)
    assert (reader.kept or set()) | reader.own <= found.names


FILES = {name: replace(reader, kept=None) for name, reader in TABLES.items()} | READERS


@pytest.mark.parametrize("damage", CONTENTS)
@pytest.mark.parametrize("name", FILES)
def test_another_file_in_its_place(name: str, damage: str, tmp_path: Path) -> None:
    FILES[name].check(tmp_path, CONTENTS[damage])


def damaged_values(content: Any, way: tuple[Any, ...]) -> Iterator[bytes]:
    """JSON text with each damaged value at that place."""
    marked = json.loads(json.dumps({"top": content}))
    at = marked
    steps = ("top", *way)
    for step in steps[:-1]:
        at = at[step]
    at[steps[-1]] = "@@"
    text = json.dumps(marked["top"])
    for value in VALUES.values():
        yield text.replace('"@@"', value).encode()


RECORDED = [
    (0, "seed"), (0, "task"), (0, "task", "dialog"), (0, "task", "target_grid"), (0, "task", "target_grid", 0, 0),
    (0, "task", "task_id"), (0, "config"), (0, "config", "max_steps"), (0, "controls"), (0, "controls", "name"),
    (0, "pose"), (0, "pose", 0), (0, "layout"), (0, "state"), (0, "version"), (0, "view"), (0, "heard"),
    (1, "n"), (1, "act"), (1, "act", "builder"), (1, "rewards"), (1, "heard"), (1, "state"),
    (-1, "end"), (-1, "end", "intersection"),
]  # fmt: skip
VALUED = [(name, -1, way) for name, reader in READERS.items() for way in reader.values]
VALUED += [("recording", line, tuple(way)) for line, *way in RECORDED]


@pytest.mark.parametrize(("name", "line", "way"), VALUED, ids=str)
def test_another_value_in_its_place(
    name: str, line: int, way: tuple[Any, ...], tmp_path: Path, recorded: bytes
) -> None:
    lines = (READERS[name].content or recorded).splitlines()
    for number, damaged in enumerate(damaged_values(json.loads(lines[line]), way)):
        folder = tmp_path / str(number)
        folder.mkdir()
        changed = [*lines]
        changed[line] = damaged
        READERS[name].check(folder, b"\n".join(changed) + b"\n")


@pytest.mark.parametrize("damage", ROWS)
@pytest.mark.parametrize("name", TABLES)
def test_another_row_among_the_rows(name: str, damage: str, tmp_path: Path) -> None:
    """At the beginning, between the others and at the end; the rows around it are all read."""
    reader = TABLES[name]
    header, *rows = reader.content.rstrip(b"\n").split(b"\n")
    for number, at in enumerate((0, 1, len(rows))):
        folder = tmp_path / str(number)
        folder.mkdir()
        reader.check(folder, b"\n".join([header, *rows[:at], ROWS[damage], *rows[at:]]) + b"\n")


@pytest.mark.parametrize("value", ["1²", "١", "1.5", "1e400", "-3", "0x1", "NaN", "9" * 5_000])
def test_step_numbers_that_are_none(value: str, tmp_path: Path) -> None:
    row = {**DIALOGS[0], "StepId": value}
    content = table(DIALOG_COLUMNS, [row, *DIALOGS])
    TABLES["dialogs"].check(tmp_path, content)
    found = read_multiturn(write_zip(tmp_path / "q.zip", {**MULTI, "dialogs.csv": content}))
    assert any("unreadable" in text and "line 2" in text for text in found.told)


# --------------------------------------------------------------------------------------- packs as a whole

PACKED = {"mdc": (CORPUS, read_corpus), "single": (SINGLE, read_singleturn), "multi": (MULTI, read_multiturn)}


def test_what_a_pack_leaves_out_is_in_the_report(tmp_path: Path) -> None:
    """A doubled member, one that leads out, a link and a pipe: in every dataset's report, also from its cache."""
    for name, (files, read) in PACKED.items():
        path, first = tmp_path / f"{name}.zip", next(iter(files))
        with zipfile.ZipFile(write_zip(path, files), "a") as archive:
            archive.writestr("../out", b"")
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr(first, files[first])
        for _ in range(2):
            told = read(path).told
            assert f"../out: {Unsafe.PARENT}" in told, name
            assert f"{first}: {Unsafe.DOUBLED}" in told, name


# ------------------------------------------------------------------------------------------------- links


def hub(folder: Path, files: dict[str, bytes]) -> Path:
    """The files as a hub's cache has them: a snapshot of links to blobs."""
    snapshot = folder / "snapshots" / "abc"
    for number, (name, content) in enumerate(files.items()):
        blob = folder / "blobs" / str(number)
        link = snapshot / name
        for place in (blob, link):
            place.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content)
        link.symlink_to(blob)
    return folder


@pytest.mark.parametrize("name", PACKED)
def test_the_error_of_a_hub_cache_says_how_to_copy_it(name: str, tmp_path: Path) -> None:
    files, read = PACKED[name]
    with pytest.raises(DataError, match=r"links in it are left out, such as '.*cp -rL"):
        read(hub(tmp_path / "hub", files))


# ------------------------------------------------------------------------------------------------- sizes


def test_files_larger_than_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limit in (
        ("iglu.world_files", "WORLD_LIMIT"),
        ("mdc.corpus", "SESSION_LIMIT"),
        ("task_files", "FILE_LIMIT"),
    ):
        monkeypatch.setattr(f"iglu_marl.data.{module}.{limit}", 2_000)
    big = {**MULTI, step_file("1-c7", 2): world(*tower(2), tape="\n" * 2_000)}
    found = read_multiturn(write_zip(tmp_path / "multi.zip", big))
    assert found.names == {"2-c7"}
    assert any(
        "step-2" in told and "expected at most 2,000 in a file of its kind" in told for told in found.told
    )
    states = {**CORPUS, logs("B1-A2-C7-1"): SESSION + b" " * 2_000}
    found = read_corpus(write_zip(tmp_path / "mdc.zip", states))
    assert "B1-A2-C7-1" not in found.names
    assert any("B1-A2-C7-1" in told and "expected at most" in told for told in found.told)
    (tmp_path / "own.json").write_bytes(b" " * 2_001)
    with pytest.raises(DataError, match=r"own\.json has 2,001 bytes, expected at most 2,000"):
        OwnTasks(tmp_path / "own.json")
