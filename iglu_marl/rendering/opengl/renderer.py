"""The renderers of `renderer="opengl"` and `renderer="auto"`: the builder's pictures, drawn off screen.

All renderers of a process share one `SharedContext`, which is opened at the first picture and kept. It lives
in a thread of its own, so it does not disturb other libraries' contexts, and any thread may draw. It does not survive a
fork: a process that is forked later cannot draw with OpenGL.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from iglu_marl.core.errors import RenderError
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid
from iglu_marl.rendering import palette
from iglu_marl.rendering.opengl.devices import (
    ADVICE,
    Device,
    environment,
    list_devices,
    load_library,
    preferred,
)
from iglu_marl.rendering.painter import Painter, paint_scenes
from iglu_marl.rendering.renderer import EYE_LENS, Colors, FloatArray, Frames, Lens, SceneRenderer

_SHADERS = files("iglu_marl.rendering.opengl")

# larger batches are drawn in parts, and a part is read while the next one is drawn
PIXELS_AT_ONCE = 1 << 22
LARGE = 256 * 256  # pixels; smaller pictures take longer to copy from the GPU than to paint
DEVICE_FILES = Path("/dev")
SOFTWARE_DRIVERS = ("llvmpipe", "softpipe", "swrast", "swr ")

_KEPT_FRAMEBUFFERS = 4
_CLIP_DISTANCES = (0x3000, 0x3001)  # GL_CLIP_DISTANCE0, 1
_CELLS = int(np.prod(ZONE_SHAPE))
_CORNERS = np.array([4 * side + corner for side in range(3) for corner in (0, 1, 2, 2, 1, 3)], np.uint8)
_EMPTY = np.zeros((1, *ZONE_SHAPE), np.int8)

_warned = False


class _Worker(threading.Thread):
    """A thread that runs jobs."""

    def __init__(self) -> None:
        super().__init__(name="iglu_marl-opengl", daemon=True)
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self.start()

    def run(self) -> None:
        """Run all jobs."""
        while True:
            job, answer = self._jobs.get()
            try:
                result, error = job(), None
            except BaseException as raised:
                result, error = None, raised
            answer.put((result, error))
            del job, answer, result, error

    def call(self, job: Callable[[], Any]) -> Any:
        """Return `job()`, or raise its error."""
        answer: SimpleQueue[Any] = SimpleQueue()
        self._jobs.put((job, answer))
        result, error = answer.get()
        try:
            if error is not None:
                raise error
            return result
        finally:
            del error  # its traceback has this frame, which would be a cycle


class SharedContext:
    """A context on the best device and the objects that draw in it, used through `draw`."""

    def __init__(self) -> None:
        self._worker = _Worker()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        self._drawer: _Drawer = self._worker.call(lambda: _Drawer(preferred(list_devices(), visible)))

    @property
    def description(self) -> str:
        """The driver's name and version, and the device that was chosen."""
        return self._drawer.description

    @property
    def software(self) -> bool:
        """Whether the driver computes on the CPU."""
        return any(name in self.description.lower() for name in SOFTWARE_DRIVERS)

    def draw(self, grids: BlockGrid, poses: FloatArray, lens: Lens, colors: Colors, out: Frames) -> None:
        """Fill out uint8[k, height, width, 3] with k scenes, as `SceneRenderer.draw`."""
        self._worker.call(partial(self._drawer.draw, grids, poses, lens, colors, out))


class _Drawer:
    """Shaders, buffers and framebuffers of the context that is current in this thread."""

    def __init__(self, devices: list[Device]) -> None:
        self.context, self.description = _open(devices)
        gl, limits = self.context, self.context.info
        sides = ("GL_MAX_TEXTURE_SIZE", "GL_MAX_RENDERBUFFER_SIZE", "GL_MAX_VIEWPORT_DIMS")
        self.max_side = min(int(np.min(limits[name])) for name in sides)
        vertex, fragment = ((_SHADERS / f"{name}.glsl").read_text("utf-8") for name in ("vertex", "fragment"))
        self._program = gl.program(vertex_shader=vertex, fragment_shader=fragment)
        for unit, name in enumerate(("grids", "cameras", "palette")):
            self._program[name] = unit
        self._places = gl.buffer(reserve=4, dynamic=True)
        corners = gl.buffer(_CORNERS)
        content = [(self._places, "1u4/i", "place")]
        self._cubes = gl.vertex_array(self._program, content, index_buffer=corners, index_element_size=1)
        self._scenes: Any = None  # textures of grids and cameras
        self._palette: Any = None
        self._colors: Colors | None = None
        self._framebuffers: dict[int, Any] = {}  # by width
        self._buffers = [gl.buffer(reserve=4, dynamic=True) for _ in range(2)]
        gl.enable_only(gl.DEPTH_TEST)
        gl.depth_func = "<="
        for test in _CLIP_DISTANCES:
            gl.enable_direct(test)

    def draw(self, grids: BlockGrid, poses: FloatArray, lens: Lens, colors: Colors, out: Frames) -> None:
        """Draw part by part; while one is drawn, the previous one is copied."""
        count, height, width = out.shape[:3]
        if height > self.max_side or width > self.max_side:
            side = f"{self.max_side} x {self.max_side}"
            raise RenderError(f"size is {(height, width)}, expected at most {side} for this driver")
        self._load_palette(colors)
        self._program["lens"] = tuple(lens.as_array()[:4].tolist())
        self._program["view"] = height, width
        most = min(self.max_side // height, max(1, PIXELS_AT_ONCE // (height * width)))
        parts = [slice(first, min(first + most, count)) for first in range(0, count, most)]
        for number in range(len(parts) + 1):
            if number < len(parts):
                drawn = self._draw_part(grids[parts[number]], poses[parts[number]], (height, width))
                if len(parts) == 1:
                    pixels = drawn.read(drawn.viewport, 4, alignment=1)
                    _unpack(np.frombuffer(pixels, np.uint8), out)
                    break
                buffer = self._buffers[number % 2]
                size = 4 * width * height * (parts[number].stop - parts[number].start)
                if buffer.size < size:
                    buffer.orphan(size)
                drawn.read_into(buffer, drawn.viewport, 4, alignment=1)
            if number > 0:
                done = out[parts[number - 1]]
                pixels = self._buffers[(number - 1) % 2].read(4 * done.size // 3)
                _unpack(np.frombuffer(pixels, np.uint8), done)
        if (problem := self.context.error) != "GL_NO_ERROR":
            raise RenderError(f"OpenGL failed: {problem}")

    def _draw_part(self, grids: BlockGrid, poses: FloatArray, size: tuple[int, int]) -> Any:
        """Return a framebuffer with k scenes stacked from the lower left, each with its row 0 lowest."""
        (height, width), tiles = size, len(grids)
        blocks = np.flatnonzero(grids)
        places = np.zeros(len(blocks) + tiles, np.uint32)  # those of the ground come last, and are not used
        places[: len(blocks)] = blocks
        self._places.orphan(places.nbytes)
        self._places.write(places)
        self._load_scenes(grids, poses)
        self._program["counts"] = len(blocks), tiles, self._known
        target = self._framebuffer(width, tiles * height)
        target.viewport = area = 0, 0, width, tiles * height
        sky = int(self._sky)
        target.clear(*((sky >> shift & 255) / 255 for shift in (0, 8, 16)), 1.0, depth=1.0, viewport=area)
        for unit, texture in enumerate((*self._scenes, self._palette)):
            texture.use(unit)
        self._cubes.render(instances=len(places))
        return target

    def _load_scenes(self, grids: BlockGrid, poses: FloatArray) -> None:
        count = len(grids)
        cameras = np.zeros((count, 2, 4), np.float32)  # eye, 0; sine and cosine of yaw and of pitch
        angles = np.radians(poses[:, 3:])
        cameras[:, 0, :3] = poses[:, :3]
        cameras[:, 1, 0::2] = np.sin(angles)
        cameras[:, 1, 1::2] = np.cos(angles)
        if self._scenes is None or self._scenes[0].height < count:
            self._release(self._scenes or ())
            kinds = ((_CELLS, 1, "i1"), (2, 4, "f4"))
            self._scenes = [
                self.context.texture((width, count), channels, dtype=kind, alignment=1)
                for width, channels, kind in kinds
            ]
        for texture, data in zip(self._scenes, (grids, cameras), strict=True):
            texture.write(np.ascontiguousarray(data), viewport=(0, 0, texture.width, count), alignment=1)

    def _load_palette(self, colors: Colors) -> None:
        if colors is self._colors and not colors.flags.writeable:
            return
        self._colors, self._sky = colors, colors[palette.SKY]
        self._known = (len(colors) - palette.FIRST_BLOCK) // palette.ENTRIES_PER_COLOR
        pairs = np.ascontiguousarray(colors[palette.SKY + 1 :], np.uint32)
        self._release([self._palette] if self._palette else ())
        self._palette = self.context.texture((len(pairs) // 2, 1), 2, pairs, dtype="u4", alignment=1)

    def _framebuffer(self, width: int, rows: int) -> Any:
        """Return a framebuffer with at least `rows` rows; one is kept for each of the last few widths."""
        target = self._framebuffers.pop(width, None)
        unused = target if target is not None and target.height < rows else None
        if target is None or unused is not None:
            gl, size = self.context, (width, rows)
            target = gl.framebuffer([gl.renderbuffer(size)], gl.depth_renderbuffer(size))
        target.use()  # before another is released, which may be the one in use
        self._framebuffers[width] = target
        if len(self._framebuffers) > _KEPT_FRAMEBUFFERS:
            unused = self._framebuffers.pop(next(iter(self._framebuffers)))
        if unused is not None:
            self._release([unused, *unused.color_attachments, unused.depth_attachment])
        return target

    @staticmethod
    def _release(things: Any) -> None:
        for thing in things:
            thing.release()


def _open(devices: list[Device]) -> tuple[Any, str]:
    """Return a context of the first device that has OpenGL 3.3, and its description."""
    with extra("opengl"):
        import moderngl

    reasons = []
    for device in devices:
        for library in ("libGL.so.1", "libOpenGL.so.0"):
            options: dict[str, Any] = {"backend": "egl", "libegl": "libEGL.so.1", "libgl": library}
            options["device_index"] = device.number
            try:
                with environment("LP_NUM_THREADS", "0"):  # faster for small pictures
                    made = moderngl.create_context(require=330, standalone=True, **options)
            except Exception as error:  # moderngl raises no other kind
                reasons.append(f"device {device.number}, {library}: {error}")
            else:
                about = made.info
                return made, f"{about['GL_RENDERER']}, OpenGL {about['GL_VERSION']} (device {device.number})"
    raise RenderError(f"no OpenGL 3.3 context can be made ({'; '.join(reasons) or 'no device'}). {ADVICE}")


def _unpack(pixels: Frames, out: Frames) -> None:
    """Copy four channels to three, one by one: four times faster than a slice of three."""
    channels, target = pixels.reshape(-1, 4), out.reshape(-1, 3)
    for channel in range(3):
        target[:, channel] = channels[:, channel]


_opening = threading.Lock()
_context: SharedContext | None = None
_forked = False  # after a picture was drawn


def _forget() -> None:
    """Start again after a fork, without touching the parent's contexts."""
    global _context, _forked, _opening
    _forked = _forked or _context is not None
    _context = None
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget)


def _shared_context() -> SharedContext:
    """Return the context of this process, opened at first use."""
    global _context
    if _forked:
        raise RenderError(
            "this process was forked after OpenGL had drawn, which does not survive a fork: fork before anything is "
            "drawn, or start processes by spawn"
        )
    with _opening:
        if _context is None:
            _context = SharedContext()
        return _context


class OpenGLRenderer(SceneRenderer):
    """Renderer on OpenGL: first-person frames of worlds, a batch in one draw and one readback.

    Its pictures equal the painter's. The first picture opens the context, so a renderer may be pickled, copied and sent
    to other processes; if no context can be made, the first picture raises `RenderError`. Raises `RenderError` if
    libEGL is missing.

    Args:
        lens: used for all pictures.

    """

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        load_library()
        super().__init__(lens)

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenGLRenderer, (self.lens,)

    @property
    def context(self) -> SharedContext:
        """The shared context, opened at first use. Raises `RenderError` if none can be made."""
        return _shared_context() if _context is None else _context

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """Fill `out` with scenes, as `SceneRenderer.draw`. Raises `RenderError` for OpenGL's errors."""
        if not len(grids):
            return
        self.context.draw(grids, poses, self.lens, palette.PACKED if colors is None else colors, out)
        if self.lens.seams:
            _add_seams(out, poses, self.lens)


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
