"""For tests of the window: a display of their own, and a person who presses keys and moves the mouse.

What the person does goes through pygame's event queue, as it would from a real keyboard.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pygame
from requirements import require

from iglu_marl.rendering import Window


@contextmanager
def x_display(size: tuple[int, int] = (1280, 800)) -> Iterator[str]:
    """A new X server without a screen to look at; the name of its display. Skips the test where there is none."""
    require("xvfb", shutil.which("Xvfb"), "there is no Xvfb here (on Debian: apt-get install xvfb)")
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        [
            "Xvfb",
            "-displayfd",
            str(write_end),
            "-screen",
            "0",
            f"{size[0]}x{size[1]}x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ],
        pass_fds=(write_end,),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    try:
        with os.fdopen(read_end) as pipe:
            number = pipe.readline().strip()
        require("xvfb", number, "Xvfb did not start")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait(10)


def grab(display: str) -> npt.NDArray[np.uint8]:
    """What stands on a display, uint8[height, width, 3]."""
    from PIL import ImageGrab

    return np.asarray(ImageGrab.grab(xdisplay=display).convert("RGB"))


def post(kind: int, **values: Any) -> None:
    pygame.event.post(pygame.event.Event(kind, **values))


def key_down(name: str, text: str = "") -> None:
    code = pygame.key.key_code(name)
    post(pygame.KEYDOWN, key=code, unicode=text)


def key_up(name: str) -> None:
    post(pygame.KEYUP, key=pygame.key.key_code(name), mod=0)


def press(name: str, text: str = "") -> None:
    key_down(name, text)
    key_up(name)


def write(text: str) -> None:
    """Text as an input method gives it: in one piece, or letter by letter."""
    post(pygame.TEXTINPUT, text=text)


def move_mouse(dx: float, dy: float, held: tuple[int, int, int] = (0, 0, 0)) -> None:
    post(pygame.MOUSEMOTION, pos=(0, 0), rel=(dx, dy), buttons=held)


def click(button: int) -> None:
    post(pygame.MOUSEBUTTONDOWN, button=button, pos=(10, 10))
    post(pygame.MOUSEBUTTONUP, button=button, pos=(10, 10))


class PlayedWindow(Window):
    """A window with a person in front of it: `script` goes on to its next yield each time input is asked for.

    A script is a generator that posts events between its yields. When it ends, the person closes the window.
    """

    def __init__(self, script: Iterator[None], **options: Any) -> None:
        super().__init__(**options)
        self.script: Iterator[None] | None = script

    def poll(self) -> list[Any]:
        if self._surface is not None and self.script is not None:
            try:
                next(self.script)
            except StopIteration:
                self.script = None
                post(pygame.QUIT)
        return super().poll()
