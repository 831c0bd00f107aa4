"""The window: it shows frames or screens and tells what was typed and clicked; the only module that imports pygame.

All input comes from pygame's event queue and nowhere else, so whoever posts events there plays like a person.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iglu_marl.core.errors import RenderError
from iglu_marl.rendering.renderer import Picture, check_picture
from iglu_marl.rendering.ui.layers import ImageLayer, Layer, composite, scaled
from iglu_marl.rendering.ui.screens import WINDOW_SIZE

if TYPE_CHECKING:
    from iglu_marl.rendering.opengl import ScreenDrawer

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import pygame  # greets on import unless told not to

ENGINES = ("auto", "software", "opengl")
_UNSEEN = ("offscreen", "dummy", "evdev")  # SDL's drivers without a screen, good for tests that ask for them
_DRIVER_NAMES = ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
_OTHER_NAMES = {"enter": "return", "[+]": "+", "[-]": "-"}  # keys of the number pad


class WindowClosed(RenderError):
    """The person at the window closed it, or left the game: an agent that is played there cannot go on."""


class Key(NamedTuple):
    """A key went down or up. name: as pygame calls it ("w", "space", "return", "f1"); text: what it writes."""

    name: str
    down: bool
    text: str = ""
    ctrl: bool = False


class Typed(NamedTuple):
    """Text was entered: a letter, or several from an input method or the clipboard."""

    text: str


class MouseMoved(NamedTuple):
    """The mouse moved by (dx, dy) pixels; `held` are the buttons held down (1 left, 2 middle, 3 right)."""

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
    """The keyboard went to another window: what was held down counts as released."""


class Closed(NamedTuple):
    """The window's own close button was pressed."""


Input = Key | Typed | MouseMoved | Button | Wheel | Unfocused | Closed


class Window:
    """A resizable window for frames (`show`) or screens (`draw`), with the input that it gets (`poll`).

    It opens when something is first shown. When the user closes it (with `show` and `pump`: or presses Escape),
    `closed` becomes True and nothing is shown any more. pygame knows one window per process, so only one can be open
    at a time.
    """

    def __init__(
        self,
        title: str = "iglu_marl",
        fps: float | None = None,
        size: tuple[int, int] | None = None,
        engine: str = "auto",
    ) -> None:
        """`fps` makes `show` wait, so that frames follow one another at most that fast.

        size: height and width at the beginning; None = that of the first frame, or 600 × 960 for screens. engine: who
        draws: "software", "opengl" (raises `RenderError` where a window cannot have it) or "auto": OpenGL where a
        graphics card computes it.
        """
        if fps is not None and not fps > 0:
            raise RenderError(f"fps is {fps!r}, expected a positive number or None")
        if engine not in ENGINES:
            raise RenderError(f"engine is {engine!r}, expected one of {', '.join(ENGINES)}")
        self.title, self.engine = title, engine
        self._asked_size = size
        self._pause_s = 0.0 if fps is None else 1.0 / fps
        self._next = 0.0
        self._canvas: _Software | ScreenDrawer | None = None
        self._frame: Picture | None = None
        self._layers: Sequence[Layer] = ()
        self._closed = False
        self._captured = self._typing = self._is_stale = False

    @property
    def closed(self) -> bool:
        """Whether the window was closed, by the user or by `close`."""
        return self._closed

    @property
    def is_open(self) -> bool:
        """Whether there is a window on the screen now."""
        return self._canvas is not None

    @property
    def drawn_by(self) -> str:
        """Who draws: "software", or OpenGL's own description of itself; empty before the opening."""
        return "" if self._canvas is None else self._canvas.description

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels, now or at the opening."""
        if self._canvas is not None:
            width, height = pygame.display.get_window_size()
            return max(height, 1), max(width, 1)
        return self._asked_size or WINDOW_SIZE

    # -- showing

    def show(self, frame: Picture) -> bool:
        """Show a frame uint8[height, width, 3] and answer the window's events; False once it is closed.

        A frame keeps its proportions. Raises `RenderError` for other arrays, and where no window can be opened.
        """
        if self._closed:
            return False
        array = check_picture(frame, "frame")
        height, width = array.shape[:2]
        self.open(self._asked_size or (height, width))
        self._frame, self._layers = array.copy(), ()
        self._draw()
        return self.pump()

    def draw(self, layers: Sequence[Layer]) -> bool:
        """Show a screen (see `iglu_marl.rendering.ui.screens`), made for the window's `size`; False once it is closed.

        It answers no events: `poll` does. Raises `RenderError` where no window can be opened.
        """
        if self._closed:
            return False
        self.open()
        self._frame, self._layers = None, layers
        self._draw()
        return True

    def read(self) -> Picture:
        """What the window shows, uint8[height, width, 3]. Raises `RenderError` when it is not open."""
        if self._canvas is None:
            raise RenderError("the window is not open, so there is nothing to read; show something first")
        self._canvas.draw(self._shown(), self.size)  # what was flipped is gone
        return self._canvas.read()

    def open(self, size: tuple[int, int] | None = None) -> None:
        """Open the window if it is not open yet. Raises `RenderError` where there is no display."""
        if self._canvas is not None or self._closed:
            return
        height, width = size or self.size
        try:
            pygame.display.init()
            driver = pygame.display.get_driver()
            if driver in _UNSEEN and not any(os.environ.get(name) for name in _DRIVER_NAMES):
                raise pygame.error("there is no display")  # SDL draws into nowhere then, and says nothing
            self._canvas = self._make_canvas((width, height))
        except pygame.error as error:
            pygame.display.quit()
            raise RenderError(
                f"no window can be opened ({error}); it needs a screen: is DISPLAY or WAYLAND_DISPLAY set? "
                "Without one: iglu-marl serve, iglu-marl render replay, or render_mode='rgb_array'"
            ) from error
        pygame.display.set_caption(self.title)
        pygame.key.set_repeat()
        pygame.key.stop_text_input()

    def _make_canvas(self, size: tuple[int, int]) -> _Software | ScreenDrawer:
        if self.engine != "software":
            try:
                canvas = _opengl(size)
            except (pygame.error, RenderError) as error:
                if self.engine == "opengl":
                    pygame.display.quit()
                    raise RenderError(
                        f"the window cannot have OpenGL ({error}); choose engine='software'"
                    ) from error
            else:
                if self.engine == "opengl" or not canvas.software:
                    return canvas
                canvas.close()
            pygame.display.quit()
            pygame.display.init()
        return _Software(size)

    def close(self) -> None:
        """Close the window; further calls do nothing."""
        if self._canvas is not None:
            self.capture(False)
            self._canvas.close()
            pygame.display.quit()
        self._canvas = self._frame = None
        self._layers = ()
        self._closed = True

    # -- input

    def poll(self) -> list[Input]:
        """What happened since the last call, oldest first. The window stays open when `Closed` is among it."""
        if self._canvas is None:
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
        """Answer the window's events, waiting for the next frame's time; False when the window is closed.

        Escape closes it, as its close button does.
        """
        while self._canvas is not None:
            for event in self.poll():
                if isinstance(event, Closed) or (
                    isinstance(event, Key) and event.name == "escape" and event.down
                ):
                    self.close()
                    return False
            if self._is_stale:
                self._draw()
            wait_s = self._next - time.monotonic()
            if wait_s <= 0:
                self._next = time.monotonic() + self._pause_s
                return True
            time.sleep(min(wait_s, 0.02))
        return not self._closed

    def capture(self, on: bool) -> None:
        """Keep the mouse in the window and hide it, so that it turns the gaze without an end; or let it go."""
        if on != self._captured and self._canvas is not None:
            pygame.event.set_grab(on)
            pygame.mouse.set_visible(not on)
            self._captured = on

    def typing(self, on: bool) -> None:
        """Whether keys write text now: `Typed` is told only then, and held keys repeat."""
        if on != self._typing and self._canvas is not None:
            (pygame.key.start_text_input if on else pygame.key.stop_text_input)()
            pygame.key.set_repeat(*((350, 35) if on else ()))
            self._typing = on

    # -- drawing

    def _shown(self) -> Sequence[Layer]:
        """The layers of a screen; or the frame in the middle of the window, as large as fits."""
        if self._frame is None:
            return self._layers
        return [ImageLayer(scaled(self._frame, self.size, smooth=True), 0, 0)]

    def _draw(self) -> None:
        if self._canvas is not None:
            self._canvas.draw(self._shown(), self.size)
            pygame.display.flip()
        self._is_stale = False


class _Software:
    """Draws in main memory, first-person pictures by the painter."""

    description, software = "software", True

    def __init__(self, size: tuple[int, int]) -> None:
        pygame.display.set_mode(size, pygame.RESIZABLE)

    def draw(self, layers: Sequence[Layer], size: tuple[int, int]) -> None:
        """Draw layers, from back to front."""
        self._picture = composite(layers, size)
        surface = pygame.display.get_surface()
        assert surface is not None
        surface.blit(pygame.image.frombuffer(self._picture.tobytes(), size[::-1], "RGB"), (0, 0))

    def read(self) -> Picture:
        """What was drawn last."""
        return np.array(self._picture)

    def close(self) -> None:
        """Nothing is held."""


def _opengl(size: tuple[int, int]) -> ScreenDrawer:
    """A window with an OpenGL 3.3 context of its own, and what draws in it."""
    for name, value in (
        (pygame.GL_CONTEXT_MAJOR_VERSION, 3),
        (pygame.GL_CONTEXT_MINOR_VERSION, 3),
        (pygame.GL_CONTEXT_PROFILE_MASK, pygame.GL_CONTEXT_PROFILE_CORE),
        (pygame.GL_DEPTH_SIZE, 24),
    ):
        pygame.display.gl_set_attribute(name, value)
    pygame.display.set_mode(size, pygame.OPENGL | pygame.DOUBLEBUF | pygame.RESIZABLE, vsync=0)
    from iglu_marl.rendering.opengl import ScreenDrawer

    return ScreenDrawer()


def _read(event: pygame.event.Event) -> Input | None:
    """An event of pygame as one of ours; None for those that are of no use here."""
    if event.type == pygame.QUIT:
        return Closed()
    if event.type in (pygame.KEYDOWN, pygame.KEYUP):
        name = pygame.key.name(event.key)
        ctrl = bool(getattr(event, "mod", 0) & (pygame.KMOD_CTRL | pygame.KMOD_META))
        down = event.type == pygame.KEYDOWN
        return Key(_OTHER_NAMES.get(name, name), down, getattr(event, "unicode", "") or "", ctrl)
    if event.type == pygame.TEXTINPUT:
        return Typed(event.text)
    if event.type == pygame.MOUSEMOTION:
        held = tuple(number for number, down in enumerate(getattr(event, "buttons", ()), start=1) if down)
        return MouseMoved(float(event.rel[0]), float(event.rel[1]), held)
    if event.type in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
        if event.button > 3:  # the wheel, as older programs are told it
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
