"""The window: it shows screens and returns input. The only module that imports pygame.

All input comes from pygame's event queue, so a program that posts events there can play like a person.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from iglu_marl.core.errors import IgluMarlError, RenderError
from iglu_marl.core.extras import extra
from iglu_marl.rendering.opengl.renderer import OpenGLRenderer
from iglu_marl.rendering.renderer import Picture, SceneRenderer
from iglu_marl.rendering.ui.layers import LENS, PAINTER, Layer, composite
from iglu_marl.rendering.ui.screens import WINDOW_SIZE

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

with extra("window"):
    import pygame  # prints a greeting on import without the variable above

_UNSEEN = ("offscreen", "dummy", "evdev")  # SDL's drivers without a screen, used only on request
_DRIVER_NAMES = ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
_OTHER_NAMES = {"enter": "return", "[+]": "+", "[-]": "-"}  # keys of the number pad


class WindowClosed(RenderError):
    """The person closed the window or left the game, so an agent that plays there cannot continue."""


class Key(NamedTuple):
    """A key went down or up. name: as in pygame ("w", "space", "return", "f1"); text: what it writes."""

    name: str
    down: bool
    text: str = ""


class Typed(NamedTuple):
    """Text was entered: a letter, or several from an input method or the clipboard."""

    text: str


class MouseMoved(NamedTuple):
    """The mouse moved by (dx, dy) pixels; `held` are the buttons that are down (1 left, 2 middle, 3 right)."""

    dx: float
    dy: float
    held: tuple[int, ...] = ()


class Button(NamedTuple):
    """A mouse button (1 left, 2 middle, 3 right) went down or up at (x, y)."""

    number: int
    down: bool
    x: int = 0
    y: int = 0


class Wheel(NamedTuple):
    """The wheel was turned; up is positive."""

    up: float


class Unfocused(NamedTuple):
    """Another window has the keyboard; keys that were down count as released."""


class Closed(NamedTuple):
    """The window's close button was pressed."""


Input = Key | Typed | MouseMoved | Button | Wheel | Unfocused | Closed


class Window:
    """A resizable window that shows screens (`draw`) and returns input (`poll`).

    It opens when something is first shown. When the user closes it (with `pump`: or presses Escape), `closed` becomes
    True and nothing more is shown. pygame has one window per process, so only one can be open at a time. First-person
    pictures are drawn by OpenGL, or by the painter where OpenGL does not run.

    Args:
        title: the window's title.
        size: initial height and width.

    """

    def __init__(self, title: str = "iglu_marl", size: tuple[int, int] = WINDOW_SIZE) -> None:
        self.title = title
        self._asked_size = size
        self._surface: pygame.Surface | None = None
        self._renderer: SceneRenderer = PAINTER
        self._smoothing = 2
        self._layers: Sequence[Layer] = ()
        self._closed = False
        self._captured = self._typing = self._is_stale = False

    @property
    def closed(self) -> bool:
        """Whether the window was closed, by the user or by `close`."""
        return self._closed

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels, now or when it opens."""
        if self._surface is not None:
            width, height = pygame.display.get_window_size()
            return max(height, 1), max(width, 1)
        return self._asked_size

    # -- showing

    def draw(self, layers: Sequence[Layer]) -> bool:
        """Show a screen (see `iglu_marl.rendering.ui.screens`), made for the window's `size`.

        It handles no events: `poll` does. Returns False once the window is closed. Raises `RenderError` if no window
        can be opened.
        """
        if self._closed:
            return False
        self.open()
        self._layers = layers
        self._draw()
        return True

    def read(self) -> Picture:
        """Return what the window shows, uint8[height, width, 3]. Raises `RenderError` if it is not open."""
        if self._surface is None:
            raise RenderError("the window is not open, so there is nothing to read; show something first")
        return np.array(self._picture())

    def open(self) -> None:
        """Open the window if it is not open yet. Raises `RenderError` if there is no display."""
        if self._surface is not None or self._closed:
            return
        height, width = self.size
        try:
            pygame.display.init()
            driver = pygame.display.get_driver()
            if driver in _UNSEEN and not any(os.environ.get(name) for name in _DRIVER_NAMES):
                raise pygame.error("there is no display")  # SDL would draw off screen without an error
            self._surface = pygame.display.set_mode((width, height), pygame.RESIZABLE)
        except pygame.error as error:
            pygame.display.quit()
            raise RenderError(
                f"no window can be opened ({error}); it needs a screen: is DISPLAY or WAYLAND_DISPLAY set? "
                "Without one: iglu-marl serve, iglu-marl show, or render_mode='rgb_array'"
            ) from error
        self._choose_renderer()
        pygame.display.set_caption(self.title)
        pygame.key.set_repeat()
        pygame.key.stop_text_input()

    def _choose_renderer(self) -> None:
        """Draw with OpenGL if it runs. In software it is slow, and draws without smoothing."""
        try:
            renderer = OpenGLRenderer(LENS)
            software = renderer.context.software
        except IgluMarlError:  # no libEGL, no driver, or no extra `opengl`
            return
        self._renderer, self._smoothing = renderer, 1 if software else 2

    def close(self) -> None:
        """Close the window; further calls do nothing."""
        if self._surface is not None:
            self.capture(False)
            self._renderer.close()
            pygame.display.quit()
        self._surface = None
        self._layers = ()
        self._closed = True

    # -- input

    def poll(self) -> list[Input]:
        """Return the events since the last call, oldest first. `Closed` among them leaves the window open."""
        if self._surface is None:
            return []
        found: list[Input] = []
        for event in pygame.event.get():
            if event.type in (pygame.VIDEORESIZE, pygame.VIDEOEXPOSE):
                self._is_stale = True
                continue
            read = _read(event)
            if read is not None:
                found.append(read)
        return found

    def pump(self) -> bool:
        """Handle the window's events; return False if the window is closed.

        Escape closes it, as its close button does.
        """
        for event in self.poll():
            if isinstance(event, Closed) or (
                isinstance(event, Key) and event.name == "escape" and event.down
            ):
                self.close()
        if self._is_stale:
            self._draw()
        return not self._closed

    def capture(self, on: bool) -> None:
        """Grab and hide the mouse, so that it can turn the view without limits; or release it."""
        if on != self._captured and self._surface is not None:
            pygame.event.set_grab(on)
            pygame.mouse.set_visible(not on)
            self._captured = on

    def typing(self, on: bool) -> None:
        """Set whether keys write text: only then there are `Typed` events, and held keys repeat."""
        if on != self._typing and self._surface is not None:
            (pygame.key.start_text_input if on else pygame.key.stop_text_input)()
            pygame.key.set_repeat(*((350, 35) if on else ()))
            self._typing = on

    # -- drawing

    def _picture(self) -> Image.Image:
        """Return the layers of the screen as one picture."""
        return composite(self._layers, self.size, self._smoothing, self._renderer)

    def _draw(self) -> None:
        if self._surface is not None:
            surface = pygame.display.get_surface()
            assert surface is not None
            picture = pygame.image.frombuffer(self._picture().tobytes(), self.size[::-1], "RGB")
            surface.blit(picture, (0, 0))
            pygame.display.flip()
        self._is_stale = False


def _read(event: pygame.event.Event) -> Input | None:
    """Return a pygame event as an `Input`; None if it is not used here."""
    if event.type == pygame.QUIT:
        return Closed()
    if event.type in (pygame.KEYDOWN, pygame.KEYUP):
        name = pygame.key.name(event.key)
        down = event.type == pygame.KEYDOWN
        return Key(_OTHER_NAMES.get(name, name), down, getattr(event, "unicode", "") or "")
    if event.type == pygame.TEXTINPUT:
        return Typed(event.text)
    if event.type == pygame.MOUSEMOTION:
        held = tuple(number for number, down in enumerate(getattr(event, "buttons", ()), start=1) if down)
        return MouseMoved(float(event.rel[0]), float(event.rel[1]), held)
    if event.type in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
        if event.button > 3:  # the wheel, for older programs
            return None
        return Button(event.button, event.type == pygame.MOUSEBUTTONDOWN, *getattr(event, "pos", (0, 0)))
    if event.type == pygame.MOUSEWHEEL:
        return Wheel(float(event.y))
    if event.type == pygame.WINDOWFOCUSLOST:
        return Unfocused()
    return None


__all__ = [
    "Button", "Closed", "Input", "Key", "MouseMoved", "Typed", "Unfocused", "Wheel", "Window", "WindowClosed",
]  # fmt: skip
