"""`iglu-marl show`: which source is meant, how time runs, and what is on pictures, pages and videos."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import imageio.v2
import numpy as np
import pytest
from PIL import Image
from replay_data import page_data
from shell import run, run_json

from iglu_marl import ConfigError, DataError
from iglu_marl.commands.task_selection import all_tasks
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.data import bundled
from iglu_marl.recording import read_recording
from iglu_marl.recording.films import (
    Film,
    FilmScene,
    film_of_session,
    film_of_world_file,
    load_world_file,
    timeline,
)
from iglu_marl.rendering import contact_sheet, orbit_view, top_view
from iglu_marl.rendering.sheets import SHEET_SIZE
from iglu_marl.tasks import BundledTasks

EMPTY = np.zeros((9, 11, 11), np.int8)
MEMBER = "1-bridge/step-2"
STRUCTURES = {
    "colours": {"1": "red", "2": "blue"},
    "structures": {
        "C7": {"name": "dots", "blocks": [[0, -1, 0, 1], [1, -1, 0, 2]]},
        "two": {"blocks": [[0, -1, 0, 1]]},
    },
}


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with structures, and no packs of this user."""
    monkeypatch.delenv("IGLU_DATA_PATH", raising=False)
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.setenv("IGLU_MARL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text(json.dumps(STRUCTURES), encoding="utf-8")


def show(*words: object) -> Any:
    return run_json("show", *words)


def picture_of(path: str | Path) -> Any:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


# ------------------------------------------------------------------------------------------ structures and tasks


@pytest.mark.slow
def test_a_structure_is_drawn() -> None:
    facts = show("C7", "--task-source", "mine.json", "-o", "new/c7.png")
    assert facts == {"title": "C7: dots", "blocks": 2, "file": "new/c7.png"}
    expected = contact_sheet(blocks_to_grid([(0, -1, 0, 6), (1, -1, 0, 1)]), title="C7: dots")
    assert (picture_of("new/c7.png") == expected).all()
    show("kite", "-o", "kite.png")
    assert picture_of("kite.png").shape == (*SHEET_SIZE, 3)
    for view in ("orbit", "top", "layers"):
        show("kite", "--view", view, "--width", 320, "-o", f"{view}.png")
        assert picture_of(f"{view}.png").shape[1] == 320
    kite = BundledTasks(mode="structures").tasks["kite"][0]
    assert (picture_of("top.png") == top_view(kite[len(kite) - 1].target_grid, size=(320, 320))).all()


def test_a_turn_is_drawn_with_what_it_changes() -> None:
    name, task = next((name, task) for name, task in all_tasks("turns").items() if task.start_grid.any())
    show(name, "--task-source", "turns", "-o", "turn.png", "--width", 560)
    expected = orbit_view(task.start_grid, ghost=task.target_grid, size=(560, 560), smoothing=3)
    assert (picture_of("turn.png") == expected).all()


# ----------------------------------------------------------------------------------------------------- recordings


@pytest.fixture
def recording() -> Path:
    run("record", "games.jsonl", "--task-source", "mine.json", "--episodes", 2)
    return Path("games.jsonl")


def test_a_recording_is_shown(recording: Path) -> None:
    for episode, game in enumerate(read_recording(recording)):
        facts = show(recording, "--episode", episode, "-o", "game.html")
        assert (facts["task"], facts["completed"]) == (game.task.task_id, True)
        assert facts["moves"] == len(game.moves)
        assert page_data("game.html")["runs"]["complete"][-1][1] is True
    show(recording, "-o", "end.png")
    assert picture_of("end.png").shape == (540, 960, 3)
    show(recording, "-o", "game.gif")
    assert Path("game.gif").read_bytes().startswith(b"GIF8")
    with pytest.raises(ConfigError, match=r"--episode is 2, expected 0\.\.1"):
        show(recording, "--episode", 2, "-o", "game.html")


# -------------------------------------------------------------------------------------------------- people's sessions


@pytest.fixture
def world_file() -> bytes:
    return bundled.files().joinpath("builder-data", "1-bridge", "step-2").read_bytes()


def test_a_world_file_can_be_named_in_many_ways(
    world_file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "step-2"
    file.write_bytes(world_file)
    pack = tmp_path / "iglu-multiturn.zip"
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr(f"top/builder-data/{MEMBER}", world_file)
    assert load_world_file(str(file)) == (world_file, str(file))
    assert load_world_file(f"top/builder-data/{MEMBER}", pack)[0] == world_file
    assert load_world_file(f"bundled/builder-data/{MEMBER}")[0] == world_file
    monkeypatch.setenv("IGLU_DATA_PATH", str(pack))
    assert load_world_file(f"iglu-multiturn/builder-data/{MEMBER}")[0] == world_file
    for wrong, message in (
        ("bundled/step-2", "has no file 'step-2'"),
        ("nowhere/step-2", "expected a file"),
        ("bundled", "has no file ''"),
    ):
        with pytest.raises(DataError, match=message):
            load_world_file(wrong)


def film(*times: float) -> Film:
    scenes = [FilmScene(time, (0, 0, 0, 0, 0), EMPTY, number) for number, time in enumerate(times)]
    return Film("made", scenes, EMPTY)


def numbers(shown: list[FilmScene]) -> list[int]:
    return [scene.heard for scene in shown]


def test_time_runs_twice_as_fast_and_pauses_are_cut() -> None:
    """Twenty frames a second."""
    assert numbers(timeline(film(0.0, 0.1, 0.2, 0.4))) == [0, 1, 2, 2, 3]
    assert numbers(timeline(film(5.0, 5.1, 95.0))) == [0] + [1] * 20 + [2]
    assert numbers(timeline(film(3.0))) == [0]


def test_the_film_of_a_world_file(world_file: bytes) -> None:
    made = film_of_world_file(world_file, "bridge")
    assert made.facts == {"edits": 4, "left_out": 0}
    np.testing.assert_array_equal(made.scenes[-1].grid, made.target)
    assert not made.scenes[0].grid.any()
    assert len({id(scene.grid) for scene in made.scenes}) == 5, "one array for each world"


def test_a_world_file_of_a_pack_becomes_a_video(shared: Path) -> None:
    pack = shared / "data" / "iglu-multiturn.zip"
    facts = show("builder-data/9-c136/step-6", "--data", pack, "-o", "new/video.mp4")
    assert facts["edits"] == 9
    with imageio.v2.get_reader("new/video.mp4") as video:
        assert video.count_frames() > 10  # the last picture alone stays for a second
        assert video.get_data(0).shape == (540, 960, 3)


def test_a_session_of_the_corpus_becomes_a_film(shared: Path) -> None:
    data, name = shared / "data" / "mdc.zip", "B25-A3-C73-1523384830418"
    made = film_of_session(name, data)
    assert len(made.said) == made.scenes[-1].heard == 37
    assert all(np.isfinite(scene.pose).all() for scene in made.scenes)
    assert (np.diff([scene.time_s for scene in made.scenes]) > 0).all()
    assert show(name, "--data", data, "-o", "end.png")["structure"] == "C73"
    assert picture_of("end.png").shape == (540, 960, 3)
    for wrong in ("B25-A3-C73-1", "?"):
        with pytest.raises(DataError, match="has no session"):
            film_of_session(wrong, data)


# --------------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("nothing -o a.png", ConfigError, "kite"),
        ("C7 -o a.png", DataError, "C7|Minecraft Dialogue Corpus"),
        ("kite -o a.png --view eyes", ConfigError, "--view is 'eyes', expected one of sheet"),
        (
            f"bundled/builder-data/{MEMBER} -o a.png --view top",
            ConfigError,
            "--view is 'top', expected none: no effect on a session",
        ),
        ("kite -o kite.jpg", ConfigError, "--output is 'kite.jpg', expected .png for a structure"),
        ("mine.json -o a.html", DataError, "mine.json has no worldEndingState.blocks"),
        ("x --task-source mine.json -o a.png", ConfigError, "C7, two"),
        ("x --task-source gone.json -o a.png", ConfigError, "gone.json"),
        ("kite -o a.html", ConfigError, "iglu-marl demo --task"),
    ],
)
def test_what_is_wrong_is_named(words: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        show(*words.split())
