"""`iglu-marl film`: which recording is meant, how time runs, and what is on the pictures."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import imageio.v2
import numpy as np
import pytest
from typer.testing import CliRunner

from iglu_marl import ConfigError, DataError
from iglu_marl.cli import app
from iglu_marl.commands.film import frames, load_world_file, timeline
from iglu_marl.commands.films import Film, FilmScene, film_of_session, film_of_world_file
from iglu_marl.data import bundled

EMPTY = np.zeros((9, 11, 11), np.int8)
MEMBER = "1-bridge/step-2"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tape() -> bytes:
    return bundled.files().joinpath("builder-data", "1-bridge", "step-2").read_bytes()


def test_a_recording_can_be_named_in_many_ways(
    tape: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "step-2"
    file.write_bytes(tape)
    pack = tmp_path / "iglu-multiturn.zip"
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr(f"top/builder-data/{MEMBER}", tape)
    assert load_world_file(str(file)) == (tape, str(file))
    for text in (f"{pack}/top/builder-data/{MEMBER}", f"{pack}/{MEMBER}", f"{pack}/step-2"):
        assert load_world_file(text)[0] == tape, text
    assert load_world_file(MEMBER, pack)[0] == tape
    assert load_world_file(f"bundled/builder-data/{MEMBER}")[0] == tape
    monkeypatch.setenv("IGLU_DATA_PATH", str(pack))
    assert load_world_file(f"iglu-multiturn/{MEMBER}")[0] == tape
    with pytest.raises(DataError, match="has no file 'step-4'"):
        load_world_file(f"{pack}/step-4")
    with pytest.raises(DataError, match=r"'step-2' is ambiguous in"):
        load_world_file("bundled/step-2")
    with pytest.raises(DataError, match="expected a file"):
        load_world_file("nowhere/step-2")
    with pytest.raises(DataError, match="has no file ''"):
        load_world_file("bundled")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "expected one of --world-file and --session"),
        ("--world-file a --session b", "expected one of --world-file and --session"),
        ("--world-file a --view side", "--view is 'side', expected one of composed, eyes"),
        ("--world-file a --fps 0", "--fps is 0.0, expected a number above 0"),
        ("--world-file a --speed nan", "--speed is nan"),
        ("--world-file a --max-seconds -1", "--max-seconds is -1.0"),
        (
            "--world-file a --output video.avi",
            "--output is 'video.avi', expected a file that ends in .mp4, .gif or .html",
        ),
    ],
)
def test_wrong_options_are_refused(words: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        CliRunner().invoke(app, ["film", *words.split()], catch_exceptions=False)


def film(*times: float) -> Film:
    scenes = [FilmScene(time, (0, 0, 0, 0, 0), EMPTY, number) for number, time in enumerate(times)]
    return Film("made", scenes, EMPTY)


def numbers(shown: list[FilmScene]) -> list[int]:
    return [scene.heard for scene in shown]


def test_time_runs_as_recorded_and_pauses_are_cut() -> None:
    assert numbers(timeline(film(0.0, 0.1, 0.2, 0.4), fps=10, speed=1, max_seconds=9)) == [0, 1, 2, 2, 3]
    assert numbers(timeline(film(0.0, 0.1, 0.2, 0.4), fps=10, speed=2, max_seconds=9)) == [0, 2, 3]
    shown = numbers(timeline(film(5.0, 5.1, 95.0), fps=10, speed=1, max_seconds=9))
    assert shown == [0] + [1] * 10 + [2]
    assert len(timeline(film(*np.arange(0, 90, 0.5)), fps=10, speed=1, max_seconds=4)) == 41
    assert numbers(timeline(film(3.0), fps=10, speed=1, max_seconds=4)) == [0]


def test_the_film_of_a_tape(tape: bytes) -> None:
    made = film_of_world_file(tape, "bridge")
    assert made.facts == {"recorder": "newer", "edits": 4, "left_out": 0, "reproduces_the_end": True}
    np.testing.assert_array_equal(made.scenes[-1].grid, made.target)
    assert not made.scenes[0].grid.any()
    assert made.said[0] == ("builder", "placed red at x -2, y -1, z 0")
    assert made.scenes[-1].heard == 4
    assert len({id(scene.grid) for scene in made.scenes}) == 5, "one array for each world"


def test_pictures_change_with_what_is_done(tape: bytes) -> None:
    made = film_of_world_file(tape, "bridge")
    for view, shape in (("composed", (540, 960, 3)), ("eyes", (540, 960, 3))):
        shown, count = frames(made, timeline(made, fps=60, speed=1, max_seconds=120), view, fps=60)
        pictures = list(shown)
        assert len(pictures) == count
        assert pictures[0].shape == shape
        assert pictures[0].std() > 5
        assert (pictures[0] != pictures[-1]).any()


def film_command(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["film", "--json", *arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_tape_of_the_pack_becomes_a_video(shared: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "video.mp4"
    name = f"{shared / 'data' / 'iglu-multiturn.zip'}/9-c136/step-6"
    facts = film_command("--world-file", name, "-o", str(target), "--speed", "20", "--fps", "10")
    assert facts["reproduces_the_end"]
    assert facts["edits"] == 9
    with imageio.v2.get_reader(target) as video:
        count = video.count_frames()
        assert video.get_data(0).shape == (540, 960, 3)
    assert abs(count - facts["video_s"] * 10) <= 1


def test_a_session_of_the_corpus_becomes_a_video(shared: Path, tmp_path: Path) -> None:
    data, target = shared / "data" / "mdc.zip", tmp_path / "video.gif"
    name = "B25-A3-C73-1523384830418"
    made = film_of_session(name, data)
    assert len(made.said) == made.scenes[-1].heard == 37
    assert all(np.isfinite(scene.pose).all() for scene in made.scenes)
    assert (np.diff([scene.time_s for scene in made.scenes]) > 0).all()
    facts = film_command(
        "--session", name, "--data", str(data), "-o", str(target), "--fps", "2", "--max-seconds", "1"
    )
    assert facts["structure"] == "C73"
    assert target.read_bytes().startswith(b"GIF8")
    for wrong in ("B25-A3-C73-1", "C73", "?"):
        with pytest.raises(DataError, match="has no session"):
            film_of_session(wrong, data)


def test_the_command_tells_what_is_wrong() -> None:
    result = CliRunner().invoke(app, ["film"])
    assert isinstance(result.exception, ConfigError)
    assert "--world-file" in str(result.exception)
