"""The plain window, under SDL's dummy driver."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from iglu_marl.core.errors import RenderError

pygame = pytest.importorskip("pygame")

from iglu_marl.rendering import Window  # noqa: E402


@pytest.fixture
def window():
    window = Window("a test")
    yield window
    window.close()


def frame(height=30, width=50, color=(200, 30, 40)):
    return np.full((height, width, 3), color, np.uint8)


def test_a_frame_is_shown(window):
    picture = frame()
    picture[:10] = (0, 250, 10)
    assert window.show(picture)
    surface = pygame.display.get_surface()
    assert surface.get_size() == (50, 30)
    assert pygame.display.get_caption()[0] == "a test"
    assert (pygame.surfarray.array3d(surface).transpose(1, 0, 2) == picture).all()
    assert not window.closed


def test_another_frame_keeps_its_proportions(window):
    window.show(frame())
    assert window.show(frame(30, 30, (0, 0, 255)))
    seen = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    blue = (seen == (0, 0, 255)).all(axis=2)
    assert blue[:, 10:40].all()
    assert not blue[:, :10].any()
    assert not blue[:, 40:].any()


def test_closing_by_the_user(window):
    window.show(frame())
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert not window.show(frame())
    assert window.closed
    assert not window.show(frame())
    assert not pygame.display.get_init()


def test_escape_closes(window):
    window.show(frame())
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE))
    assert not window.pump()
    assert window.closed


def test_close_is_final_and_repeatable(window):
    window.close()
    window.close()
    assert window.closed
    assert not window.show(frame())
    assert not window.pump()


def test_a_second_window_after_the_first(window):
    window.show(frame())
    window.close()
    other = Window()
    assert other.show(frame(20, 20))
    assert pygame.display.get_surface().get_size() == (20, 20)
    other.close()


def test_fps_limits_the_pace():
    window = Window(fps=50)
    started = time.monotonic()
    for _ in range(6):
        window.show(frame())
    window.close()
    assert time.monotonic() - started >= 0.09


@pytest.mark.parametrize(
    "bad", [np.zeros((3, 3, 3)), np.zeros((3, 3), np.uint8), np.zeros((0, 3, 3), np.uint8)]
)
def test_bad_frames(window, bad):
    with pytest.raises(RenderError, match="frame is"):
        window.show(bad)
    assert window.show(frame())


def test_bad_fps():
    with pytest.raises(RenderError, match="fps"):
        Window(fps=0)


def test_no_display_is_a_clear_error():
    code = """
import os
os.environ["SDL_VIDEODRIVER"] = "no_such_driver"
import numpy as np
from iglu_marl.core.errors import RenderError
from iglu_marl.rendering import Window
try:
    Window().show(np.zeros((4, 4, 3), np.uint8))
except RenderError as error:
    assert "rgb_array" in str(error), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
