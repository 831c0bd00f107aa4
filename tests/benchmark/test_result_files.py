"""Result files: every field is checked, what a file lacks stands beside it, and recorded games are replayed."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from schemas import broken, holder_of, places
from typer.testing import CliRunner

from iglu_marl import DataError, Role
from iglu_marl.benchmark import read_result, report, run, verify
from iglu_marl.benchmark.report import write_site
from iglu_marl.benchmark.results import FILE_SCHEMA, checksum
from iglu_marl.cli import app

LEVEL = "see-ground-v2"
Content = dict[str, Any]


def walk(target: Any, yaw_deg: float) -> list[int]:
    """Return `GRID_ACTIONS` from the middle to the cell behind the block's, and place it."""
    ((layer, x, z),) = np.argwhere(target)
    turn = round(yaw_deg / 90) % 4
    right, forward = {0: (x - 5, 5 - z), 1: (z - 5, x - 5), 2: (5 - x, z - 5), 3: (5 - z, 5 - x)}[turn]
    around = [3] if forward < 0 else []  # no cell lies behind one at the edge of the zone
    right, forward = (-right, -forward) if around else (right, forward)
    moves = [6 if forward > 1 else 7] * abs(forward - 1) + [8 if right > 0 else 9] * abs(right)
    return [*around, *moves, 4, 10 + int(target[layer, x, z])]


class Reading:
    """A builder that reads where the block belongs and of which colour it is."""

    @classmethod
    def for_env(cls, env: Any) -> Reading:
        return cls()

    def reset(self, role: Role, seed: int | None) -> None:
        self.plan: list[int] | None = None

    def act(self, observation: Any) -> int:
        if self.plan is None:
            self.plan = walk(observation["target_grid"], observation["agentPos"][4])
        return self.plan.pop(0) if self.plan else 0

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result that lacks nothing."""
    path = tmp_path_factory.mktemp("original") / "mine.json"
    curves = [[(0, 0.0), (100, 1.0)]] * 6
    run(LEVEL, [Reading.for_env] * 6, name="reading", episodes=4, curves=curves, budget=100, command="train",
        supervision=["reward"], output=path, record=True)  # fmt: skip
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    for name in (original.name, "mine.games.jsonl"):
        (tmp_path / name).write_bytes((original.parent / name).read_bytes())
    return tmp_path / original.name


def said(path: Path, content: Content, *, fitting: bool = True) -> str:
    """Write a changed content, and return why it is refused, or its faults; "" if nothing is wrong with it."""
    if (
        fitting
        and isinstance(content, dict)
        and isinstance(content.get("checksum"), str)
        and len(content["checksum"]) == 16
    ):
        content = {**content, "checksum": checksum(content)}
    path.write_text(json.dumps(content))
    try:
        return "; ".join(read_result(path).faults())
    except DataError as error:
        return str(error) if str(path) in str(error) else ""


def test_a_whole_file_has_no_faults(path: Path) -> None:
    found = read_result(path)
    assert (found.faults(), found.flags()) == ([], [])
    assert (found.scores(), found.control("blind")) == ([1.0] * 6, 0.0)
    assert found.recordings is not None
    assert verify(path) == found.recordings.games == 2 * len(found.rows) == 48
    assert [part.name for part in path.parent.iterdir()].count("mine.json") == 1
    assert read_result(found.write(path.parent / "again.json")) == found


# ----------------------------------------------------------------------------------------------- every field by itself


PLACES = list(places(FILE_SCHEMA))


@pytest.mark.parametrize("way", PLACES, ids=lambda way: ".".join(map(str, way)))
def test_every_field_is_there_and_has_its_type(path: Path, way: tuple[Any, ...]) -> None:
    """Of every field of the format, also of one that is added to it; with a fitting checksum, and with the old one."""
    content = json.loads(path.read_text())
    changes = list(broken(content, way))
    assert len(changes) >= 6
    for changed in changes:
        assert said(path, changed)
        assert said(path, changed, fitting=False)
    if isinstance(way[-1], int):  # the first of a list
        holder, _ = holder_of(content, way)
        holder.pop(0)
        assert said(path, content)


def test_places_are_those_of_the_format() -> None:
    """What the test above goes through."""
    assert len(PLACES) >= 30
    assert {
        ("runs", 0, "curve", 0, 1),
        ("episodes", 0, "f1"),
        ("recordings", "file"),
        ("versions", None),
    } < set(PLACES)


# ------------------------------------------------------------------------------------------------- what does not fit

MOVED = "episodes.3"
TAMPERED: list[tuple[str, Any, str]] = [  # field, value, what is said though the checksum fits
    ("format", "recipe", "format is 'recipe', expected iglu_marl benchmark result"),
    ("version", 2, "version is 2, expected 3; iglu_marl 0.3.0 reads version 2"),
    ("version", 4, "version is 4, expected 3"),
    ("level", "see-everything-v9", "expected one of see-ground-v2"),
    ("level", "see-place-v0", "iglu_marl 0.2.0 has the levels of version 0"),
    ("level", "see-place-v1", "iglu_marl 0.3.0 has the levels of version 1"),
    ("level", "see-few-v2", "digest is"),
    ("digest", "0" * 12, "digest is 000000000000"),
    ("name", "x" * 201, "expected a text of at most 200 characters"),
    ("split", "dev", "expected one of train, validation, test"),
    ("split", "train", "train split"),
    ("budget", 10**16, "expected an integer of 0 or more"),
    ("budget", 2_000_001, "budget 2,000,001 above the level's 2,000,000"),
    ("budget", 99, "a curve of 100 steps, above the budget 99"),
    ("budget", 0, "a curve of 100 steps, above the budget 0"),
    ("note", "x", "note is unknown, expected format, version"),
    ("runs", [], "there are 0 runs and 24 episodes"),
    ("runs.0.seed", 1, "are others, expected 0, 1, … of each of the runs"),
    ("runs.0.note", "x", "runs[0].note is unknown"),
    ("runs.0.controls", {}, "runs[1].controls has other names than the first run"),
    ("runs.*.controls", {}, "recordings.games is 48, expected 24"),
    ("runs.*.controls", {"muted": 0.0}, "no control blind"),
    ("runs.*.controls", {"deaf": 0.0}, "a key of runs[0].controls is 'deaf', expected one of muted, scrambled"),
    ("runs.0.controls.blind", 0.3, "expected a share of 4 games"),
    ("runs.0.controls.blind", 1.5, "expected a number in 0..1"),
    ("runs.*.curve", [], "no curve of 100 steps of training"),
    ("runs.0.curve", [], "no curve of 100 steps of training"),
    ("runs.0.curve.0.0", 100, "a curve that is not from step 0 on"),
    ("runs.0.curve.1.0", 0, "a curve whose steps do not grow"),
    ("runs.0.curve.1.0", 101, "a curve of 101 steps, above the budget 100"),
    ("runs.0.curve.1.1", 1.01, "expected a number in 0..1"),
    ("runs.0.curve.1.1", math.inf, "expected a number in 0..1"),
    ("runs.0.curve.1", [1, 1.0, 1], "expected a list of 2"),
    ("runs.0.scores", {"success": 1.0}, "runs[0].scores is unknown"),
    ("episodes", [], "there are 6 runs and 0 episodes"),
    (f"{MOVED}.run", 1, "are others, expected 0, 1, … of each of the runs"),
    (f"{MOVED}.seed", 5, "are others, expected 0, 1, … of each of the runs"),
    (f"{MOVED}.task", "easy", "expected 12 hexadecimal digits"),
    (f"{MOVED}.success", 3.7, "episodes[3].success is 3.7, expected true or false"),
    (f"{MOVED}.completed", False, "episodes[3].success is True, expected False..False"),
    (f"{MOVED}.f1", 1.01, "expected a number in 0..1"),
    (f"{MOVED}.steps", 25, "expected 0..24"),
    (f"{MOVED}.steps", 2.5, "expected an integer of 0 or more"),
    (f"{MOVED}.changes", 25, "expected 1.."),
    (f"{MOVED}.changes", 0, "expected 1.."),
    (f"{MOVED}.reward", 1.0, "episodes[3].reward is unknown"),
    ("episodes.*.steps", 0, "expected 1..0"),
    ("recordings", None, "no games"),
    ("recordings", ["../x"], "recordings is ['../x'], expected an object"),
    ("recordings.file", "../mine.games.jsonl", "expected a file name NAME.games.jsonl"),
    ("recordings.file", "/etc/mine.games.jsonl", "expected a file name NAME.games.jsonl"),
    ("recordings.file", "C:\\mine.games.jsonl", "expected a file name NAME.games.jsonl"),
    ("recordings.file", ".games.jsonl", "expected a file name NAME.games.jsonl"),
    ("recordings.file", "0" * 64, "expected a file name NAME.games.jsonl"),
    ("recordings.games", 24, "recordings.games is 24, expected 48"),
    ("recordings.games", 47, "recordings.games is 47, expected 48"),
    ("supervision", "reward", "supervision is 'reward', expected a list"),
    ("supervision", ["magic"], "expected one of nothing, target, agreed"),
    ("supervision", [], "no supervision"),
    ("supervision", ["grammar"], "100 steps of training, supervision: grammar"),
]  # fmt: skip


def changed(content: Content, field: str, value: Any) -> Content:
    """Return a content with another value of a field: of all of a list, if it has a "*"."""
    content = copy.deepcopy(content)
    *way, last = field.split(".")
    holders: list[Any] = [content]
    for part in way:
        holders = [
            inner
            for holder in holders
            for inner in (holder if part == "*" else [holder[int(part) if part.isdigit() else part]])
        ]
    for holder in holders:
        holder[int(last) if last.isdigit() else last] = value
    return content


@pytest.mark.parametrize(("field", "value", "expected"), TAMPERED, ids=lambda part: str(part)[:30])
def test_what_cannot_be_is_refused_or_marked(path: Path, field: str, value: Any, expected: str) -> None:
    content = changed(json.loads(path.read_text()), field, value)
    assert expected in said(path, content)
    if not field.startswith("version"):
        assert said(path, content, fitting=False)


def test_there_are_sixty_ways() -> None:
    assert len(TAMPERED) >= 60


def test_a_builder_that_never_acts_is_marked(path: Path) -> None:
    content = json.loads(path.read_text())
    for row in content["episodes"]:
        row |= {"steps": 0, "changes": 0, "success": False, "completed": False}
    assert "24 episodes without a step of the builder" in said(path, content)


def test_what_could_be_true_is_refused_by_its_checksum(path: Path) -> None:
    content = json.loads(path.read_text())
    assert "it was edited" in said(path, {**content, "name": "theirs"}, fitting=False)
    assert said(path, {**content, "name": "theirs"}) == ""


def test_damaged_files_are_named(path: Path) -> None:
    path.write_text(path.read_text()[:-30])
    for place in (path, path.parent / "missing.json"):
        with pytest.raises(DataError, match=place.name):
            read_result(place)
    for content in ([], 3, None, "text"):
        assert "the content is" in said(path, content)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------ well formed, and not true


def swap_tasks(content: Content) -> None:
    first, second = content["episodes"][:2]
    first["task"], second["task"] = second["task"], first["task"]


def lose(content: Content) -> None:
    content["episodes"][0] |= {"success": False, "completed": False, "changes": 0, "f1": 0.0, "steps": 24}


def edit_row(**values: Any) -> Any:
    return lambda content: content["episodes"][5].update(values)


FORGED = {
    "another task": edit_row(task="0" * 12),
    "tasks in another order": swap_tasks,
    "another digest of tasks": lambda content: content.update(tasks="0" * 12),
    "another partner": edit_row(partner="scripted"),
    "fewer steps": edit_row(steps=2),
    "a lower F1": edit_row(f1=0.5),
    "completed with too many changes": edit_row(changes=2),
    "a completed game that is no success": edit_row(success=False),
    "a lost game": lose,
    "runs in the place of others": lambda content: content["runs"].reverse(),
    "a better control": lambda content: content["runs"][2]["controls"].update(blind=0.25),
    "the builder's own actions": lambda content: content.update(own_actions=True),
    "another hash of the games": lambda content: content["recordings"].update(sha256="0" * 64),
    "another file of games": lambda content: content["recordings"].update(file="yours.games.jsonl"),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_file_does_not_fit_its_level_or_its_games(path: Path, forge: Any) -> None:
    content = json.loads(path.read_text())
    forge(content)
    if not (refused := said(path, content)):
        with pytest.raises(DataError, match=r"mine\.json|games\.jsonl"):
            verify(path)
    assert not refused or "runs" in refused
    with pytest.raises(DataError):
        write_site([path], path.parent / "site")


def edit_action(line: str) -> str:
    game = json.loads(line)
    game["builder"][-1] = 1 + game["builder"][-1] % 16
    return json.dumps(game)


def add_action(line: str) -> str:
    game = json.loads(line)
    return json.dumps({"builder": [*game["builder"], 0]})


def drop_action(line: str) -> str:
    return json.dumps({"builder": json.loads(line)["builder"][:-1]})


EDITS = {
    "another action": edit_action,
    "an action more": add_action,
    "an action less": drop_action,
    "an action that is none": lambda line: '{"builder": [99, 4, 11]}',
    "a text for an action": lambda line: '{"builder": ["x"]}',
    "no list": lambda line: '{"builder": 3}',
    "another player": lambda line: line.replace("builder", "architect"),
    "no player": lambda line: line.replace("builder", "../builder"),
    "nobody": lambda line: "{}",
    "no object": lambda line: "[1, 2]",
    "no JSON": lambda line: line[:-1],
    "nothing": lambda line: "",
}


@pytest.mark.parametrize("number", [0, 30], ids=["an episode", "a control"])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_recording_is_refused(path: Path, edit: Any, number: int) -> None:
    """Both with the hash of the file as it was, and with one that fits."""
    games = path.with_name("mine.games.jsonl")
    lines = games.read_text().splitlines()
    if number == 30 and edit is edit_action:
        lines[number] = lines[number - 24]  # a control that succeeds
    else:
        lines[number] = edit(lines[number])
    games.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"SHA-256 of .*mine\.games\.jsonl"):
        verify(path)
    content = json.loads(path.read_text())
    content["recordings"]["sha256"] = hashlib.sha256(games.read_bytes()).hexdigest()
    assert said(path, content) == ""
    with pytest.raises(DataError, match=r"mine\."):
        verify(path)


def test_games_that_are_missing_are_named(path: Path) -> None:
    games = path.with_name("mine.games.jsonl")
    content = json.loads(path.read_text())
    games.write_text("".join(games.read_text().splitlines(keepends=True)[:-1]))
    content["recordings"]["sha256"] = hashlib.sha256(games.read_bytes()).hexdigest()
    assert said(path, content) == ""
    with pytest.raises(DataError, match="has 47 games, expected 48"):
        verify(path)
    games.unlink()
    with pytest.raises(DataError, match=r"mine\.games\.jsonl: it cannot be read"):
        verify(path)


# ------------------------------------------------------------------------------------- what a file lacks is visible


def test_a_fault_stands_beside_its_row_and_takes_its_place(path: Path, tmp_path: Path) -> None:
    shell = CliRunner()
    done = shell.invoke(app, ["benchmark", "verify", str(path), "--strict"])
    assert done.exit_code == 0, done.output
    found = read_result(path)
    page = write_site([path], tmp_path / "site").read_text()
    assert "<td>reading</td>" in page.split("Files without a place")[0]
    assert "Files without a place" not in page

    bare = dataclasses.replace(
        found, recordings=None, runs=tuple(one._replace(controls={}) for one in found.runs)
    )
    bare.write(path)
    assert bare.faults() == ["no control blind", "no games"]
    assert "no control blind; no games" in report.markdown([bare])
    page = write_site([path], tmp_path / "other").read_text()
    assert "<td>reading</td>" not in page.split("Files without a place")[0]
    assert "no control blind; no games" in page
    done = shell.invoke(app, ["benchmark", "verify", str(path)])
    assert (done.exit_code, done.output.count("No place on the board")) == (0, 2)
    done = shell.invoke(app, ["benchmark", "verify", str(path), "--strict", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.output) == {"episodes": 24, "replayed": 0, "faults": bare.faults()}
