"""Orbit views, the composed frame, and picture and video files."""

from __future__ import annotations

import gc
import hashlib

import imageio.v2
import numpy as np
import PIL
import pytest
from PIL import Image, features

from iglu_marl.core.errors import GridError, RenderError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.rendering import (
    composed_frame,
    contact_sheet,
    layers_view,
    orbit_view,
    top_view,
    write_png,
    write_video,
)
from iglu_marl.rendering.orbit import BACKGROUND
from iglu_marl.rendering.sheets import gallery
from iglu_marl.rendering.ui import widgets

TARGET = blocks_to_grid(
    [(x, -1, 0, 6) for x in range(-2, 3)] + [(0, y, 0, 2) for y in range(3)] + [(3, -1, 3, 1)]
)
BUILD = blocks_to_grid([(x, -1, 0, 6) for x in range(-2, 2)] + [(3, -1, 3, 4), (-4, -1, -3, 5)])
EMPTY = np.zeros((9, 11, 11), np.int8)
POSE = (0.5, -0.25, 4.0, 15.0, -10.0)
TALK = [("architect", "Build a red row."), ("builder", "How long?"), ("architect", "Five blocks.")]


def changed(first, second):
    return (first != second).any(axis=2)


@pytest.mark.parametrize("size", [(120, 120), (90, 160), (201, 77), (1, 1)])
@pytest.mark.parametrize("smoothing", [1, 2, 3])
def test_orbit_views_have_the_asked_size(size, smoothing):
    view = orbit_view(BUILD, size=size, ghost=TARGET, pose=POSE, smoothing=smoothing)
    assert view.shape == (*size, 3)
    assert view.dtype == np.uint8
    assert view.flags.owndata


def test_a_ghost_that_is_built_adds_nothing():
    assert (orbit_view(TARGET, ghost=TARGET) == orbit_view(TARGET)).all()


def test_missing_blocks_are_translucent():
    size = (200, 200)
    empty, ghost, solid = (
        orbit_view(EMPTY, size=size),
        orbit_view(EMPTY, size=size, ghost=TARGET),
        orbit_view(TARGET, size=size),
    )
    shown = changed(empty, ghost)
    assert shown.sum() == pytest.approx(changed(empty, solid).sum(), rel=0.02)
    between = np.minimum(empty, solid).astype(int) - 40 <= ghost
    between &= ghost <= np.maximum(empty, solid).astype(int) + 40
    assert between[shown].mean() > 0.99
    distance_to_solid = np.abs(ghost.astype(int) - solid)[shown].mean()
    assert distance_to_solid > 20


def test_the_board_fills_the_picture_and_stays_inside():
    for azimuth in (0.0, 18.0, 135.0, -60.0):
        for elevation in (10.0, 42.0, 90.0):
            view = orbit_view(TARGET, size=(150, 220), azimuth_deg=azimuth, elevation_deg=elevation)
            filled = changed(view, np.broadcast_to(np.array(BACKGROUND, np.uint8), view.shape))
            rows, columns = np.flatnonzero(filled.any(axis=1)), np.flatnonzero(filled.any(axis=0))
            assert rows[0] > 0
            assert rows[-1] < 149
            assert columns[0] > 0
            assert columns[-1] < 219
            assert np.ptp(rows) > 100 or np.ptp(columns) > 170


def test_bad_views():
    for values in ({"size": (0, 3)}, {"elevation_deg": 0}, {"elevation_deg": 91}, {"azimuth_deg": np.nan}):
        with pytest.raises(RenderError):
            orbit_view(BUILD, **values)
    with pytest.raises(RenderError, match="smoothing"):
        orbit_view(BUILD, smoothing=0)
    with pytest.raises(GridError):
        orbit_view(np.zeros((3, 3)))
    with pytest.raises(GridError, match="ghost"):
        orbit_view(BUILD, ghost=np.full((9, 11, 11), -1))


STATUS = {
    "title": "test", "intersection": 3, "target_blocks": 9, "step": 4, "max_steps": 10, "turn": 2, "max_turns": 0,
    "floor": "builder", "inventory": [20, 1, 2, 3, 4, 5], "event": "placed", "f1": 0.51234,
}  # fmt: skip


@pytest.mark.parametrize("size", [(540, 960), (270, 480), (300, 900), (720, 600)])
def test_composed_frames_have_the_asked_size(size):
    frame = composed_frame(
        BUILD, pose=POSE, dialogue=TALK, target=TARGET, aligned_target=TARGET, status=STATUS, size=size
    )
    assert frame.shape == (*size, 3)
    assert frame.dtype == np.uint8
    again = composed_frame(
        BUILD, pose=POSE, dialogue=TALK, target=TARGET, aligned_target=TARGET, status=STATUS, size=size
    )
    assert (frame == again).all()


# Digests of pictures that somebody has looked at.

MORE = {"others": [(2.0, -0.25, -3.0, 200.0, 5.0)], "dialogue": [*TALK, ("builder", "word " * 90)]}
FACTS = (("turn", "2 / 5"), ("turn of", "builder"))
KEYS = (("W", "walk"), ("space", "jump"))
RECORDED = {
    "orbit": ("26994d55", lambda: orbit_view(BUILD, ghost=TARGET, pose=POSE)),
    "orbit from the west": (
        "c42f8c06",
        lambda: orbit_view(TARGET, size=(300, 200), azimuth_deg=110, elevation_deg=20),
    ),
    "top": ("1b5e88b3", lambda: top_view(TARGET)),
    "top, wide": ("38e35e52", lambda: top_view(BUILD, size=(100, 300))),
    "layers": ("ad9b1a14", lambda: layers_view(TARGET, size=(300, 500))),
    "sheet": ("6e9d4011", lambda: contact_sheet(TARGET, title="Title")),
    "gallery": (
        "00180613",
        lambda: gallery({"one": BUILD, "two": TARGET, "three": EMPTY}, across=2, side=120),
    ),
    "frame": ("b20f35a3", lambda: compose(aligned_target=TARGET)),
    "narrow frame": ("5630e051", lambda: compose(size=(720, 600), **MORE)),
    "wide frame": (
        "e93a0e3b",
        lambda: compose(size=(300, 900), status={**STATUS, "complete": True, "active": 2}, **MORE),
    ),
    "small frame": ("4cc40419", lambda: compose(size=(270, 480), target=None, status=None, dialogue=[])),
    "crosshair": ("5700a76d", lambda: widgets.crosshair(1.5)),
    "hotbar": ("efeaa8ad", lambda: widgets.hotbar((20, 0, 3, 4, 5, 16), 3, 1.0)),
    "compass": ("c8e44b1f", lambda: widgets.compass(80, 1.0)),
    "chat": ("86b5fc0e", lambda: widgets.chat([*TALK, ("someone", "word " * 30)], 300, 200, 1.0)),
    "wide chat": ("a8b6eb91", lambda: widgets.chat(TALK, 500, 120, 1.1)),
    "facts": ("7e4a5f5c", lambda: widgets.facts(FACTS, 1.0)),
    "bar": ("885ad5c5", lambda: widgets.score_bar(3, 9, False, 1.0)),
    "entry": ("2cf5306a", lambda: widgets.entry("Put it there", 5, 240, 1.0)),
    "long entry": ("a08c2083", lambda: widgets.entry("Put it there " * 9, 100, 240, 1.0)),
    "message": ("898ff622", lambda: widgets.message("A note", 1.0)),
    "title": ("738ce0ac", lambda: widgets.title_line("A long title of a game", 150, 1.0)),
    "legend": ("acf4c14f", lambda: widgets.legend(1.0)),
    "keys": ("63941eb3", lambda: widgets.key_hints(KEYS, 1.0)),
    "corner": ("ff7d3d29", lambda: widgets.corner("rb", 1.0)),
}
DRAWN_BY = ("11.3.0", "2.13.3")


@pytest.mark.parametrize("name", RECORDED)
def test_pictures_stay_as_recorded(name):
    expected, draw = RECORDED[name]
    picture = np.ascontiguousarray(draw())
    digest = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()[:8]
    if digest != expected and (PIL.__version__, features.version("freetype2")) != DRAWN_BY:
        pytest.skip(f"another Pillow than {DRAWN_BY} draws other letters and lines")
    assert digest == expected


def compose(**changes):
    arguments = {"grid": BUILD, "pose": POSE, "dialogue": TALK, "target": TARGET, "status": STATUS}
    return composed_frame(**{**arguments, **changes})


def caption(frame):
    return frame[400:]


def test_the_latest_utterance_is_always_shown():
    many = [
        ("architect", f"Number {k} of a long talk, with more words than one line of it can hold. " * 2)
        for k in range(40)
    ]
    assert changed(
        caption(compose(dialogue=many)), caption(compose(dialogue=[*many[:-1], ("builder", "No")]))
    ).any()
    endless = [("architect", "word " * 3000)]
    assert changed(caption(compose(dialogue=endless)), caption(compose(dialogue=[]))).sum() > 1000


@pytest.mark.parametrize("text", ["", "\n\n", "żółw 積み木 🟥🟦 \u202e", "a\tb\x00c", "x" * 5000, "Ω\ud800"])
def test_any_text_can_be_written(text):
    frame = compose(
        dialogue=[("architect", text), ("someone else", text)],
        status={"title": text, "step": text, text: text},
    )
    assert frame.shape == (540, 960, 3)


def test_letters_of_other_scripts_are_no_boxes():
    """Each letter has a shape of its own, in the caption and in the header."""
    for letters in ("äéñß", "абвж", "αβγδ"):
        captions = [caption(compose(dialogue=[("architect", letter)])) for letter in letters]
        titles = [compose(status={"title": letter}) for letter in letters]
        for pictures in (captions, titles):
            assert len({picture.tobytes() for picture in pictures}) == len(letters)


def test_bad_composed_frames():
    for size in ((100, 960), "big"):
        with pytest.raises(RenderError):
            compose(size=size)
    with pytest.raises(GridError, match="target"):
        compose(target=np.zeros(3))
    with pytest.raises(GridError, match="aligned_target"):
        compose(aligned_target=np.zeros(3))
    for pose in ((1, 2, 3), (0, 0, 0, 0, np.nan), "here"):
        with pytest.raises(RenderError, match="pose is"):
            compose(pose=pose)


def frames(count, height=48, width=65):
    rng = np.random.default_rng(1)
    return [np.full((height, width, 3), rng.integers(0, 256, 3), np.uint8) for _ in range(count)]


def test_png_files(tmp_path):
    frame = orbit_view(BUILD, size=(40, 60))
    path = write_png(tmp_path / "a.png", frame)
    assert (np.asarray(Image.open(path)) == frame).all()
    write_png(path, frame[::-1])
    assert (np.asarray(Image.open(path)) == frame[::-1]).all()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


# imageio's reader leaves ffmpeg's pipes open
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", [".gif", ".mp4", ".GIF"])
def test_videos(tmp_path, suffix):
    shown = frames(7)
    path = write_video(tmp_path / f"film{suffix}", iter(shown), fps=5)
    with imageio.v2.get_reader(path) as reader:
        read = [*map(np.asarray, reader.iter_data())]
    del reader
    gc.collect()
    assert len(read) == 7
    for first, second in zip(shown, read, strict=True):
        part = second[:48, :65, :3].astype(int)
        assert np.abs(part - first).mean() < 12
    assert [entry.name for entry in tmp_path.iterdir()] == [f"film{suffix}"]


def test_bad_videos_leave_nothing_behind(tmp_path):
    (tmp_path / "old.gif").write_bytes(b"precious")
    cases = [
        ("a.avi", frames(2), 5, "ends with"),
        ("a", frames(2), 5, "ends with"),
        ("a.gif", [], 5, "no frames"),
        ("old.gif", frames(2) + frames(1, 20), 5, "frame 2 has shape"),
        ("a.mp4", frames(2) + frames(1, 20), 5, "frame 2 has shape"),
        ("a.gif", [np.zeros((4, 4, 3))], 5, "frame 0 is float64"),
        ("a.gif", frames(1), 0, "fps"),
        ("no/a.gif", frames(1), 5, "does not exist"),
    ]
    for name, shown, fps, message in cases:
        with pytest.raises(RenderError, match=message):
            write_video(tmp_path / name, shown, fps)
    for name, frame, message in (("a.jpg", frames(1)[0], "ends with"), ("a.png", np.zeros(3), "frame is")):
        with pytest.raises(RenderError, match=message):
            write_png(tmp_path / name, frame)
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.gif"]
    assert (tmp_path / "old.gif").read_bytes() == b"precious"
