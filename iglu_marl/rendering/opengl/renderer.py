"""The renderers of `renderer="opengl"` and `renderer="auto"`: the builder's pictures, drawn off screen.

All renderers of a process share one `SharedContext` per device, which is opened at the first picture and closed with
the last renderer. It is current only while a picture is drawn, so it does not disturb other libraries' contexts, and
any thread may draw. A forked process starts without a context, and does not touch that of its parent.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iglu_marl.core.arguments import as_count
from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid
from iglu_marl.rendering import palette
from iglu_marl.rendering.opengl import egl
from iglu_marl.rendering.painter import Painter, paint_scenes
from iglu_marl.rendering.renderer import EYE_LENS, Colors, FloatArray, Frames, Lens, SceneRenderer

if TYPE_CHECKING:
    from iglu_marl.rendering.opengl.drawer import Framebuffer, PixelBuffer, SceneDrawer, Scenes

# larger batches are drawn in parts, and a part is read while the next one is drawn
PIXELS_AT_ONCE = 1 << 22
_KEPT_FRAMEBUFFERS = 4

LARGE = 256 * 256  # pixels; smaller pictures take longer to copy from the GPU than to paint

DEVICE_FILES = Path("/dev")

_warned = False

_GPU, _THREADS = "a GPU", "threads (LP_NUM_THREADS)"

_EMPTY = np.zeros((1, *ZONE_SHAPE), np.int8)


class SharedContext:
    """A context and the objects that draw in it, used through `run`."""

    def __init__(self, device: int | None, *, software: bool = False) -> None:
        self._lock = threading.RLock()
        self._elsewhere: ThreadPoolExecutor | None = None
        self._framebuffers: dict[int, Framebuffer] = {}
        self._buffers: list[PixelBuffer] = []
        self._staging = np.empty(0, np.uint32)
        self._threads = os.environ.get("LP_NUM_THREADS", "0") != "0"
        self._context = egl.EGLContext(device, software=software)
        try:
            self._drawer: SceneDrawer = self.run(_new_drawer)
        except BaseException:
            self._context.close()
            raise

    @property
    def description(self) -> str:
        """The driver's name and version, and the display that was chosen."""
        return f"{self._drawer.description} ({self._context.display_name})"

    @property
    def software(self) -> bool:
        """Whether the driver computes on the CPU."""
        return self._drawer.software

    @property
    def lost_by_fork(self) -> str:
        """What a forked process cannot use: "" for Mesa's software renderer without threads, which survives a fork."""
        return "" if self.software and not self._threads else _THREADS if self.software else _GPU

    def run(self, job: Callable[[], Any]) -> Any:
        """Return `job()`, run while the context is current, in this thread or, if it is taken, in another."""
        with self._lock:
            try:
                return self._run_here(job)
            except egl.AnotherContextError:
                if self._elsewhere is None:
                    self._elsewhere = ThreadPoolExecutor(1, "iglu_marl-opengl")
                return self._elsewhere.submit(self._run_here, job).result()

    def _run_here(self, job: Callable[[], Any]) -> Any:
        with self._context:
            return job()

    def draw(self, scenes: Scenes, out: Frames) -> None:
        """Fill out uint8[k, height, width, 3] with k scenes. Call it inside `run`."""
        from iglu_marl.rendering.opengl.drawer import reported

        count, height, width = out.shape[:3]
        side = self._drawer.max_side
        if height > side or width > side:
            raise RenderError(f"size is {(height, width)}, expected at most {side} x {side} for this driver")
        most = min(side // height, self._drawer.max_tiles, max(1, PIXELS_AT_ONCE // (height * width)))
        with reported():
            if count > most:
                self._draw_parts([slice(first, first + most) for first in range(0, count, most)], scenes, out)
                return
            pixels = self._stage(count * height * width)
            self._draw_part(scenes, (height, width)).read(count * height, pixels)
            _unpack(pixels, out)

    def _draw_parts(self, parts: list[slice], scenes: Scenes, out: Frames) -> None:
        """Draw part by part; while one is drawn, the previous one is copied."""
        from iglu_marl.rendering.opengl.drawer import PixelBuffer

        height, width = out.shape[1:3]
        while len(self._buffers) < 2:
            self._buffers.append(PixelBuffer())
        for number in range(len(parts) + 1):
            if number < len(parts):
                rows = parts[number]
                part = scenes._replace(grids=scenes.grids[rows], poses=scenes.poses[rows])
                target = self._draw_part(part, (height, width))
                self._buffers[number % 2].fetch(target, len(part.grids) * height)
            if number > 0:
                done = out[parts[number - 1]]
                with self._buffers[(number - 1) % 2].pixels(len(done) * height * width) as pixels:
                    _unpack(pixels, done)

    def _draw_part(self, scenes: Scenes, size: tuple[int, int]) -> Framebuffer:
        rows = len(scenes.grids) * size[0]
        target = self._framebuffer(size[1], rows)
        target.clear(rows, int(scenes.colors[palette.SKY]))
        self._drawer.draw_tiles(scenes, size)
        return target

    def _framebuffer(self, width: int, rows: int) -> Framebuffer:
        """Return a framebuffer with at least `rows` rows; one is kept for each of the last few widths."""
        from iglu_marl.rendering.opengl.drawer import Framebuffer

        target = self._framebuffers.pop(width, None)
        if target is not None and target.height < rows:
            target.close()
            target = None
        self._framebuffers[width] = target = target or Framebuffer(width, rows)
        if len(self._framebuffers) > _KEPT_FRAMEBUFFERS:
            self._framebuffers.pop(next(iter(self._framebuffers))).close()
        return target

    def _stage(self, count: int) -> Colors:
        if len(self._staging) < count:
            self._staging = np.empty(count, np.uint32)
        return self._staging[:count]

    def close(self) -> None:
        """Destroy the context and all its objects."""
        with self._lock:
            self._context.close()
            if self._elsewhere is not None:
                self._elsewhere.shutdown(wait=False)


def _new_drawer() -> SceneDrawer:
    from iglu_marl.rendering.opengl.drawer import SceneDrawer

    return SceneDrawer(packed=True)


def _unpack(pixels: Colors, out: Frames) -> None:
    """Copy packed colours to RGB, one channel at a time: four times faster than a slice of three."""
    channels, target = pixels.view(np.uint8).reshape(-1, 4), out.reshape(-1, 3)
    first = 0 if np.little_endian else 3
    for channel in range(3):
        target[:, channel] = channels[:, abs(first - channel)]


class _SharedContexts:
    """The open contexts of this process, by device, and their users."""

    def __init__(self) -> None:
        self.after = ""  # what the parent process drew with, if it did not survive the fork
        self.open: dict[int | None, SharedContext] = {}
        self.forget()

    def forget(self) -> None:
        """Start again after a fork, without touching the parent's contexts."""
        for context in self.open.values():
            self.after = self.after or context.lost_by_fork
        self.lock = threading.RLock()
        self.open = {}
        self.users: dict[int | None, set[int]] = {}

    def enter(self, device: int | None, user: int) -> SharedContext:
        """Return the context of a device, opened if needed; `user` keeps it open until it leaves."""
        with self.lock:
            # registered first, so that a renderer that is garbage-collected meanwhile is not the last user
            self.users.setdefault(device, set()).add(user)
            try:
                if device not in self.open:
                    self.open[device] = self._new(device)
                return self.open[device]
            except BaseException:
                self.leave(device, user)
                raise

    def _new(self, device: int | None) -> SharedContext:
        if not self.after:
            return SharedContext(device)
        problem = f"this process was forked after OpenGL had begun to use {self.after}, which does not survive a fork"
        advice = "fork before anything is drawn, or start processes by spawn"
        if self.after == _THREADS or device is not None:
            raise RenderError(f"{problem}: {advice}")
        try:
            context = SharedContext(None, software=True)
        except RenderError as error:
            raise RenderError(f"{problem}: {advice}. In software: {error}") from error
        warnings.warn(f"{problem}: this process draws in software; {advice}", stacklevel=2)
        return context

    def leave(self, device: int | None, user: int) -> None:
        """Remove a user; the last one closes the context."""
        with self.lock:
            users = self.users.get(device, set())
            if user not in users:
                return
            users.discard(user)
            if not users:
                del self.users[device]
                context = self.open.pop(device, None)
                if context is not None:
                    context.close()


_contexts = _SharedContexts()
os.register_at_fork(after_in_child=_contexts.forget)


class OpenGLRenderer(SceneRenderer):
    """Renderer on OpenGL: first-person frames of worlds, a batch in one draw and one readback.

    Its pictures equal the painter's. The first picture opens the context, so a renderer may be pickled, copied and sent
    to other processes; if no context can be made, the first picture raises `RenderError`. Raises `RenderError` if
    libEGL is missing.

    Args:
        lens: used for all pictures.
        device: a number of `list_devices()`; None = the first GPU that `CUDA_VISIBLE_DEVICES` allows, else any device.

    """

    def __init__(self, lens: Lens = EYE_LENS, *, device: int | None = None) -> None:
        if device is not None:
            as_count("device", device, 0, 255)
        egl.load_library()
        super().__init__(lens)
        self.device = device
        self._release = weakref.finalize(self, _contexts.leave, device, id(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), device=self.device), (self.lens,)

    @property
    def context(self) -> SharedContext:
        """The shared context, opened at first use. Raises `RenderError` if none can be made."""
        return _contexts.enter(self.device, id(self))

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """Fill `out` with scenes, as `SceneRenderer.draw`. Raises `RenderError` for OpenGL's errors."""
        if not len(grids):
            return
        context = self.context
        from iglu_marl.rendering.opengl.drawer import Scenes

        scenes = Scenes(grids, poses, self.lens, palette.PACKED if colors is None else colors)
        context.run(lambda: context.draw(scenes, out))
        if self.lens.seams:
            _add_seams(out, poses, self.lens)

    def close(self) -> None:
        """Release the context; the last renderer closes it. The next picture opens it again."""
        _contexts.leave(self.device, id(self))


def _add_seams(frames: Frames, poses: FloatArray, lens: Lens) -> None:
    """Add the ground's odd pixels of `Lens(seams=True)`, which the painter computes, in views along an axis."""
    yaw = np.radians(poses[:, 3])
    along = np.minimum(np.abs(np.sin(yaw)), np.abs(np.cos(yaw))) < 1e-12
    size = frames.shape[1:3]
    for number in np.flatnonzero(along):
        pose = poses[number : number + 1]
        plain = paint_scenes(_EMPTY, pose, size, lens=replace(lens, seams=False))[0]
        seams = paint_scenes(_EMPTY, pose, size, lens=lens)[0]
        # no block has the colours of the ground's lines, so these pixels show the ground
        odd = (plain != seams).any(axis=2) & (frames[number] == plain).all(axis=2)
        frames[number][odd] = seams[odd]


def gpu_present() -> bool:
    """Return whether this process can see a GPU. It looks at device files only, and loads no driver."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    cuda = visible is None or not (visible.strip() in ("", "NoDevFiles") or visible.strip().startswith("-"))
    nvidia = cuda and any(path.name[6:].isdecimal() for path in DEVICE_FILES.glob("nvidia*"))
    return nvidia or any(DEVICE_FILES.glob("dri/renderD*"))


class AutoRenderer(SceneRenderer):
    """Draws pictures below `LARGE` pixels with the painter, and others with OpenGL if that runs on a GPU.

    If there is a GPU but OpenGL fails, a warning says so, once per process, and the painter draws.
    """

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        super().__init__(lens)
        self._painter = Painter(lens)
        self._large: SceneRenderer | None = None  # chosen at the first large picture

    def __reduce__(self) -> tuple[Any, ...]:
        return AutoRenderer, (self.lens,)

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """Fill `out` with scenes, as `SceneRenderer.draw`."""
        _, height, width, _ = out.shape
        if height * width >= LARGE and self._large is None:
            self._large = self._choose()
        chosen = self._painter if height * width < LARGE or self._large is None else self._large
        chosen.draw(grids, poses, out, colors)

    def _choose(self) -> SceneRenderer:
        global _warned
        try:
            renderer = OpenGLRenderer(self.lens)
            if not renderer.context.software:
                return renderer
            renderer.close()
        except RenderError as error:
            if not _warned:
                _warned = True
                warnings.warn(f"a GPU is here, but the painter draws on the CPU: {error}", stacklevel=5)
        return self._painter

    def close(self) -> None:
        """Release resources."""
        if self._large is not None:
            self._large.close()
        self._large = None
