"""The window: frames, screens, input; under SDL's dummy driver, and in real windows on an X server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from iglu_marl.core.errors import RenderError

pygame = pytest.importorskip("pygame")

from people import grab, key_down, move_mouse, post, press, write, x_display  # noqa: E402
from requirements import require  # noqa: E402

import iglu_marl  # noqa: E402
from iglu_marl import Task  # noqa: E402
from iglu_marl.rendering import OpenGLRenderer, Painter, Window  # noqa: E402
from iglu_marl.rendering.camera import cell_in_sight  # noqa: E402
from iglu_marl.rendering.ui import screens  # noqa: E402
from iglu_marl.rendering.ui.layers import SceneLayer, composite  # noqa: E402
from iglu_marl.rendering.ui.window import Button, Closed, Key, MouseMoved, Typed, Unfocused, Wheel  # noqa: E402


@pytest.fixture
def window():
    window = Window("a test", (400, 640))
    yield window
    window.close()


def test_closing_by_the_user(window):
    window.open()
    assert pygame.display.get_caption()[0] == "a test"
    assert window.pump()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert not window.pump()
    assert window.closed
    assert not window.draw([])
    assert not pygame.display.get_init()


def test_a_second_window_after_the_first(window):
    window.open()
    window.close()
    window.close()
    assert not window.pump()
    other = Window(size=(20, 30))
    assert other.draw([])
    assert pygame.display.get_surface().get_size() == (30, 20)
    other.close()


HIDDEN = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")


@pytest.mark.slow
@pytest.mark.parametrize("driver", [{"SDL_VIDEODRIVER": "no_such_driver"}, {}])
def test_no_display_is_a_clear_error(driver: dict[str, str]) -> None:
    """Without any display SDL opens windows that nobody can see; that is an error here."""
    code = """
from iglu_marl.core.errors import RenderError
from iglu_marl.rendering import Window
try:
    Window().open()
except RenderError as error:
    assert "DISPLAY" in str(error), error
else:
    raise SystemExit("no error")
"""
    env = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**env, **driver})


# ------------------------------------------------------------------------------------------------------- input


def test_keys_texts_and_mouse_are_reported(window):
    window.open()
    window.poll()
    key_down("w", "w")
    press("return", "\r")
    write("żółw")
    move_mouse(3, -4, held=(1, 0, 1))
    post(pygame.MOUSEBUTTONDOWN, button=3, pos=(5, 6))
    post(pygame.MOUSEBUTTONUP, button=3, pos=(7, 8))
    post(pygame.MOUSEBUTTONDOWN, button=4, pos=(5, 6))  # the wheel as a button: told as the wheel alone
    post(pygame.MOUSEWHEEL, x=0, y=-1)
    post(pygame.WINDOWFOCUSLOST)
    post(pygame.QUIT)
    found = [event for event in window.poll() if not isinstance(event, Unfocused)]
    assert found == [
        Key("w", True, "w"),
        Key("return", True, "\r"),
        Key("return", False),
        Typed("żółw"),
        MouseMoved(3.0, -4.0, (1, 3)),
        Button(3, True, 5, 6),
        Button(3, False, 7, 8),
        Wheel(-1.0),
        Closed(),
    ]
    assert not window.closed  # that is for whoever asks


def test_a_closed_window_reports_no_input(window):
    assert window.poll() == []
    window.open()
    window.close()
    assert window.poll() == []
    assert not window.draw([])
    with pytest.raises(RenderError, match="not open"):
        window.read()


# ----------------------------------------------------------------------------------------------------- screens

GRID = np.zeros((9, 11, 11), np.int8)
GRID[0, 5, 2], GRID[1, 5, 2], GRID[0, 2, 3] = 6, 2, 1
POSE = (0.0, -0.25, 1.0, 0.0, -12.0)
TALK = (("architect", "Place a block."), ("builder", "Which one?"))


def builder_view(**changes):
    options = {
        "grid": GRID,
        "pose": POSE,
        "inventory": (19, 20, 20, 20, 20, 0),
        "active": 3,
        "dialogue": TALK,
    }
    return screens.BuilderView(**{**options, **changes})


def painted(layer):
    return np.asarray(layer.paint())


def test_every_screen_in_every_size(window):
    """From tiny to large nothing fails, and the picture fills the window."""
    overlay = screens.Overlay(
        typed=("Put it there, żółty", 3),
        note="A note",
        hints=(("?", "help"),),
    )
    for size in ((40, 60), (200, 160), (270, 480), (400, 1300), (700, 400)):
        for layers in (
            screens.builder_screen(builder_view(), size, overlay),
            screens.builder_screen(builder_view(), size, screens.Overlay()),
        ):
            picture = np.array(composite(layers, size, smoothing=1))
            assert picture.shape == (*size, 3)
            assert picture.std(axis=(0, 1)).min() > 5


def test_the_chat_is_below_the_view():
    """What is said changes only the lowest quarter of a builder's window."""
    size = (600, 960)
    silent, spoken = (
        np.array(
            composite(screens.builder_screen(builder_view(dialogue=talk), size, screens.Overlay()), size)
        )
        for talk in ((), TALK)
    )
    changed = (silent != spoken).any(axis=(1, 2))
    assert changed[456:].any()
    assert not changed[:456].any()


def test_the_block_that_is_looked_at_is_bright():
    size = (300, 300)
    assert cell_in_sight(GRID, POSE) == (0, -1, -3)
    eye = SceneLayer(GRID, POSE, (0, 0, 300, 300))
    plain, lit = painted(eye), painted(eye._replace(focus=(0, -1, -3)))
    changed = (plain != lit).any(axis=2)
    assert changed[150, 150]
    # The block above it, in front of the sky, stays as it was.
    assert not changed[:60].any()
    assert 0.005 < changed.mean() < 0.2
    down = (0.0, -0.25, 1.0, 0.0, -40.0)
    cell = cell_in_sight(GRID, down)
    assert cell is not None
    assert cell[1] == -2
    ground = eye._replace(pose=down)
    lit = (painted(ground) != painted(ground._replace(focus=cell))).any(axis=2)
    assert lit[100:150, 120:180].mean() > 0.5
    assert 0.01 < lit.mean() < 0.3
    assert cell_in_sight(GRID, (0.0, 5.0, 0.0, 0.0, 0.0)) is None
    assert size == lit.shape


def test_blocks_hide_the_light_on_the_ground():
    grid = GRID.copy()
    grid[0, 5, 5] = 4  # at (0, -1, 0), between the eye and the cell behind it
    eye = SceneLayer(grid, (0.8, 1.5, 2.0, -15.0, -40.0), (0, 0, 300, 300), (0, -2, -1))
    unlit = painted(eye._replace(focus=None))
    lit = (painted(eye) != unlit).any(axis=2)
    orange = (unlit[..., 0] > unlit[..., 2].astype(int) + 60) & (unlit[..., 1] < 160)
    assert orange.sum() > 500
    assert lit.any()
    assert not (lit & orange).any()


def test_places_in_words():
    told = {(0, 0): "centre", (2, -3): "2 E 3 N", (-1, 0): "1 W", (0.4, 4.6): "5 S"}
    assert {place: screens.place_in_words(*place) for place in told} == told


# ------------------------------------------------------------------------------------------------ real windows


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with x_display() as name:
        yield name


@pytest.fixture
def on_screen(display, monkeypatch):
    """Windows open on the X server."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
    monkeypatch.setenv("DISPLAY", display)
    return display


def seen(display, window, patience_s=5.0):
    """What stands in the window's place on the display, as soon as it is what the window shows."""
    end = time.monotonic() + patience_s
    while True:
        left, top = pygame.display.get_window_position()
        height, width = window.size
        picture = grab(display)[top : top + height, left : left + width]
        if np.array_equal(picture, window.read()) or time.monotonic() > end:
            return picture
        window.poll()
        time.sleep(0.05)


def refuse_opengl(monkeypatch):
    def missing(*_):
        raise RenderError("no OpenGL here")

    monkeypatch.setattr("iglu_marl.rendering.opengl.renderer.load_library", missing)


@pytest.mark.parametrize("opengl", [True, False])
def test_a_screen_in_a_real_window(on_screen, window, opengl, monkeypatch):
    """OpenGL draws it; the painter where OpenGL does not run."""
    if not opengl:
        refuse_opengl(monkeypatch)
    window.open()
    require("opengl", not opengl or isinstance(window._renderer, OpenGLRenderer), "OpenGL does not run here")
    assert isinstance(window._renderer, OpenGLRenderer if opengl else Painter)
    assert pygame.display.get_driver() == "x11"
    layers = screens.builder_screen(builder_view(), window.size, screens.Overlay())
    window.draw(layers)
    picture = window.read()
    assert np.array_equal(seen(on_screen, window), picture)
    off = np.abs(picture.astype(int) - composite(layers, window.size, window._smoothing)).max(axis=2)
    assert (off <= 3).mean() > 0.995


def test_a_real_window_is_resized(on_screen, window):
    window.open()
    window.draw(screens.builder_screen(builder_view(), window.size, screens.Overlay()))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # there is no other way to play the window manager
        pygame.Window.from_display_module().size = (900, 500)
    end = time.monotonic() + 5
    while window.size != (500, 900) and time.monotonic() < end:
        window.poll()
        time.sleep(0.02)
    assert window.size == (500, 900)
    window.draw(screens.builder_screen(builder_view(), window.size, screens.Overlay()))
    picture = seen(on_screen, window)
    assert picture.shape == (500, 900, 3)
    assert np.array_equal(picture, window.read())
    assert (picture[-40:, 600:] != 0).any()


def test_render_mode_human(on_screen, tmp_path: Path):
    """Watching a game: what the builder sees, build and target, changing with every step; Escape ends the watching."""
    task = Task("", [(0, -1, -2, 6), (1, -1, -2, 1)])
    env = iglu_marl.raw_env(tasks=task, render_mode="human")
    env.reset(seed=1)
    env.step("Place a red block on the ground, 2 blocks north of the centre.")
    window = env._setup._window.window
    first = window.read()
    for action in [11] + [15] * 6 + [17]:
        env.step(action)
    second = window.read()
    assert np.array_equal(seen(on_screen, window), second)
    assert (first != second).any(axis=2).mean() > 0.2
    green = (66, 200, 130)
    assert (second[:60] == green).all(axis=2).sum() > (first[:60] == green).all(axis=2).sum() + 50
    press("escape", "\x1b")
    env.step(0)
    assert window.closed
    env.step(0)  # the game goes on
    env.close()


def test_a_single_agent_environment_in_a_window(on_screen, monkeypatch):
    monkeypatch.setenv("IGLU_HEADLESS", "0")
    env = gym.make("IGLUGridworld-v0", tasks=Task("", [(0, -1, -2, 6)]))
    env.reset(seed=0)
    env.step(5)
    assert pygame.display.get_init()
    env.close()
    assert not pygame.display.get_init()
