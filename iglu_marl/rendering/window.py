"""A plain window that shows frames; the only module that imports pygame."""

from __future__ import annotations

import os
import time

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import pygame  # greets on import unless told not to

_BACKGROUND = (20, 24, 33)


class Window:
    """A resizable window; a frame keeps its proportions in it.

    It opens with the first frame. When the user closes it (or presses Escape), `closed` becomes True and
    `show` does nothing any more. pygame knows one window per process, so only one can be open at a time.
    """

    def __init__(self, title: str = "iglu_marl", fps: float | None = None) -> None:
        """`fps` makes `show` wait, so that frames follow one another at most that fast."""
        if fps is not None and not fps > 0:
            raise RenderError(f"fps is {fps!r}, expected a positive number or None")
        self.title = title
        self._pause_s = 0.0 if fps is None else 1.0 / fps
        self._next = 0.0
        self._surface: pygame.Surface | None = None
        self._frame: pygame.Surface | None = None
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the window was closed, by the user or by `close`."""
        return self._closed

    def show(self, frame: npt.NDArray[np.uint8]) -> bool:
        """Show a frame uint8[height, width, 3] and answer the window's events; False once it is closed.

        Raises `RenderError` for other arrays, and where no window can be opened.
        """
        if self._closed:
            return False
        array = np.ascontiguousarray(frame)
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
            raise RenderError(f"frame is {array.dtype}{list(array.shape)}, expected uint8[height, width, 3]")
        height, width = array.shape[:2]
        if self._surface is None:
            self._open(width, height)
        self._frame = pygame.image.frombuffer(array.tobytes(), (width, height), "RGB")
        self._draw()
        return self.pump()

    def pump(self) -> bool:
        """Answer the window's events, waiting for the next frame's time; False when the window is closed."""
        while self._surface is not None:
            for event in pygame.event.get():
                escape = event.type == pygame.KEYDOWN and event.key == pygame.K_ESCAPE
                if escape or event.type == pygame.QUIT:
                    self.close()
                    return False
                if event.type in (pygame.VIDEORESIZE, pygame.VIDEOEXPOSE):
                    self._surface = pygame.display.get_surface()
                    self._draw()
            wait_s = self._next - time.monotonic()
            if wait_s <= 0:
                self._next = time.monotonic() + self._pause_s
                return True
            time.sleep(min(wait_s, 0.02))
        return not self._closed

    def close(self) -> None:
        """Close the window; further calls do nothing."""
        if self._surface is not None:
            pygame.display.quit()
        self._surface = self._frame = None
        self._closed = True

    def _open(self, width: int, height: int) -> None:
        try:
            pygame.display.init()
            self._surface = pygame.display.set_mode((width, height), pygame.RESIZABLE)
        except pygame.error as error:
            raise RenderError(f"no window can be opened ({error}); use render_mode='rgb_array'") from error
        pygame.display.set_caption(self.title)

    def _draw(self) -> None:
        """The frame in the middle of the window, as large as fits."""
        if self._surface is None or self._frame is None:
            return
        (width, height), (room_x, room_y) = self._frame.get_size(), self._surface.get_size()
        scale = min(room_x / width, room_y / height)
        picture = self._frame
        if (room_x, room_y) != (width, height):
            fitted = max(1, round(width * scale)), max(1, round(height * scale))
            picture = pygame.transform.smoothscale(picture, fitted)
            self._surface.fill(_BACKGROUND)
        x, y = (room_x - picture.get_width()) // 2, (room_y - picture.get_height()) // 2
        self._surface.blit(picture, (x, y))
        pygame.display.flip()
