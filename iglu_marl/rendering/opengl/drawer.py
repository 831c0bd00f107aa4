"""Draws scenes of blocks in the current OpenGL context; it creates no context.

All objects belong to the context in which a `SceneDrawer` was made, and may be used only while it is current.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import ZONE_SHAPE, as_grid
from iglu_marl.rendering import palette
from iglu_marl.rendering.opengl import shaders
from iglu_marl.rendering.opengl.egl import environment
from iglu_marl.rendering.renderer import Colors, FloatArray, Lens

try:  # functions that every frame calls are raw: they convert no arguments
    # PyOpenGL is to find functions through EGL; they work in GLX contexts too
    with environment("PYOPENGL_PLATFORM", "egl"):
        from OpenGL import GL as GL
        from OpenGL.error import Error as GLFailure
        from OpenGL.raw.GL.VERSION.GL_1_0 import glReadPixels
        from OpenGL.raw.GL.VERSION.GL_1_5 import glBufferData
        from OpenGL.raw.GL.VERSION.GL_3_0 import glClearBufferfv, glClearBufferuiv
        from OpenGL.raw.GL.VERSION.GL_3_1 import glDrawElementsInstanced
except (ImportError, AttributeError, OSError) as error:
    raise RenderError(
        f"no OpenGL here: {error}. Install PyOpenGL (pip install 'iglu_marl[opengl]') and a driver (on Debian: libegl1 "
        "libgl1-mesa-dri libopengl0), or draw with renderer='painter', which needs none"
    ) from error

SOFTWARE_DRIVERS = ("llvmpipe", "softpipe", "swrast", "swr ")
_CELLS = int(np.prod(ZONE_SHAPE))
_CORNERS = np.array([4 * side + corner for side in range(3) for corner in (0, 1, 2, 2, 1, 3)], np.uint8)
_UNIFORMS = ("grids", "cameras", "palette", "counts", "lens", "view", "upwards")
_BUFFERS = {
    "grids": GL.GL_R8I,
    "cameras": GL.GL_RGBA32F,
    "palette": GL.GL_RG32UI,
}  # texture units in this order

_FARTHEST = (GL.GLfloat * 1)(1.0)

Viewport = tuple[int, int, int, int]


class Scenes(NamedTuple):
    """k scenes: grids int8[k, 9, 11, 11], poses float64[k, 5], both C-contiguous; one lens, one packed palette."""

    grids: npt.NDArray[np.int8]
    poses: FloatArray
    lens: Lens
    colors: Colors = palette.PACKED

    @property
    def cameras(self) -> npt.NDArray[np.float32]:
        """float32[k, 2, 4]: eye (x, y, z, 0); sine and cosine of yaw, sine and cosine of pitch."""
        cameras = np.zeros((len(self.poses), 2, 4), np.float32)
        angles = np.radians(self.poses[:, 3:])
        cameras[:, 0, :3] = self.poses[:, :3]
        cameras[:, 1, 0::2] = np.sin(angles)
        cameras[:, 1, 1::2] = np.cos(angles)
        return cameras


class SceneDrawer:
    """Shaders and buffers that draw scenes as the painter does, pixel by pixel.

    packed: whether the framebuffer is one of GL_R32UI (a packed colour a pixel, see `palette.pack`), which holds
        stacked tiles. It needs a depth buffer of at least 24 bits. Raises `RenderError` if no context is current, or it
        is older than OpenGL 3.3.
    """

    def __init__(self, *, packed: bool = False) -> None:
        with reported():
            version = GL.glGetString(GL.GL_VERSION)
            if not version:
                raise RenderError("no OpenGL context is current")
            major, minor = (int(part) for part in version.decode().split()[0].split(".")[:2])
            if (major, minor) < (3, 3):
                raise RenderError(f"the OpenGL context has version {major}.{minor}, expected 3.3 or newer")
            self.description = f"{GL.glGetString(GL.GL_RENDERER).decode()}, OpenGL {version.decode()}"
            self._packed = packed
            self._program = link(shaders.VERTEX, shaders.FRAGMENT_PACKED if packed else shaders.FRAGMENT_RGBA)
            self._at = {name: GL.glGetUniformLocation(self._program, name) for name in _UNIFORMS}
            self._make_buffers()
            texels = int(GL.glGetIntegerv(GL.GL_MAX_TEXTURE_BUFFER_SIZE))
            sides = (GL.GL_MAX_TEXTURE_SIZE, GL.GL_MAX_RENDERBUFFER_SIZE, GL.GL_MAX_VIEWPORT_DIMS)
            self.max_side = min(int(np.min(GL.glGetIntegerv(name))) for name in sides)
            self.max_tiles = texels // _CELLS
        self._colors: npt.NDArray[np.uint32] | None = None
        self._known = 0
        self._uniforms: tuple[Any, ...] = ()
        self._is_set = False

    @property
    def software(self) -> bool:
        """Whether the driver computes on the CPU."""
        return any(name in self.description.lower() for name in SOFTWARE_DRIVERS)

    def _make_buffers(self) -> None:
        self._array = GL.glGenVertexArrays(1)
        GL.glBindVertexArray(self._array)
        corners, self._places = (int(name) for name in GL.glGenBuffers(2))
        GL.glBindBuffer(GL.GL_ELEMENT_ARRAY_BUFFER, corners)
        GL.glBufferData(GL.GL_ELEMENT_ARRAY_BUFFER, _CORNERS.nbytes, _CORNERS, GL.GL_STATIC_DRAW)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._places)
        GL.glEnableVertexAttribArray(0)
        GL.glVertexAttribIPointer(0, 1, GL.GL_UNSIGNED_INT, 4, None)
        GL.glVertexAttribDivisor(0, 1)
        GL.glBindVertexArray(0)
        names = [int(name) for name in GL.glGenBuffers(len(_BUFFERS))]
        self._textures = [int(name) for name in GL.glGenTextures(len(_BUFFERS))]
        self._buffers = dict(zip(_BUFFERS, names, strict=True))
        for texture, (name, kind) in zip(self._textures, _BUFFERS.items(), strict=True):
            self._upload(name, np.zeros(16, np.uint8))
            GL.glBindTexture(GL.GL_TEXTURE_BUFFER, texture)
            GL.glTexBuffer(GL.GL_TEXTURE_BUFFER, kind, self._buffers[name])
        GL.glBindTexture(GL.GL_TEXTURE_BUFFER, 0)
        self._names = [corners, self._places, *names]

    def _upload(self, name: str, data: npt.NDArray[Any]) -> None:
        GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, self._buffers[name])
        glBufferData(GL.GL_TEXTURE_BUFFER, data.nbytes, address_of(data), GL.GL_STREAM_DRAW)

    def draw(
        self,
        grid: npt.ArrayLike,
        pose: npt.ArrayLike,
        lens: Lens,
        viewport: Viewport,
        *,
        colors: Colors | None = None,
    ) -> None:
        """Draw a scene into a part of the current framebuffer: sky, ground and blocks.

        Colours and depths in the viewport (left, bottom, width, height; pixels from the lower left corner) are
        replaced. Afterwards program, vertex array, depth test, scissor test, clip distances, blending and face culling
        are off; the viewport stays. With `colors`, a packed palette, ids may exceed 6. Raises `RenderError` for
        OpenGL's errors.
        """
        if self._packed:
            raise RenderError("this SceneDrawer draws packed colours; make one without packed=True")
        cells = as_grid(grid) if colors is None else np.asarray(grid, np.int8)
        poses = np.asarray(pose, np.float64).reshape(1, 5)
        scenes = Scenes(cells[None], poses, lens, palette.PACKED if colors is None else colors)
        left, bottom, width, height = viewport
        sky = [int(scenes.colors[palette.SKY]) >> shift & 255 for shift in (0, 8, 16)]
        with reported():
            GL.glEnable(GL.GL_SCISSOR_TEST)
            GL.glScissor(left, bottom, width, height)
            glClearBufferfv(GL.GL_COLOR, 0, (GL.GLfloat * 4)(*(channel / 255 for channel in sky), 1.0))
            glClearBufferfv(GL.GL_DEPTH, 0, _FARTHEST)
            try:
                self._submit(scenes, (height, width), (left, bottom), 1.0)
            finally:
                self._rest()

    def draw_tiles(self, scenes: Scenes, size: tuple[int, int]) -> None:
        """Draw k scenes by one draw call, stacked from the lower left, each with its row 0 lowest.

        The framebuffer is a cleared one of GL_R32UI with at least k * height rows and width columns; k is at most
        `max_tiles`. Read from the lower left, it is uint32[k, height, width]. The context must be the drawer's own: its
        state is set once and kept.
        """
        self._submit(scenes, size, (0, 0), -1.0)

    def _submit(self, scenes: Scenes, size: tuple[int, int], corner: tuple[int, int], upwards: float) -> None:
        height, width = size
        tiles = len(scenes.grids)
        if not self._is_set:
            self._set()
        self._load_palette(scenes.colors)
        self._upload("grids", np.ascontiguousarray(scenes.grids))
        self._upload("cameras", scenes.cameras)
        blocks = np.flatnonzero(scenes.grids)
        # the ground's instances come last: their places are not used
        places = np.zeros(len(blocks) + tiles, np.uint32)
        places[: len(blocks)] = blocks
        glBufferData(GL.GL_ARRAY_BUFFER, places.nbytes, address_of(places), GL.GL_STREAM_DRAW)
        GL.glUniform3i(self._at["counts"], len(blocks), tiles, self._known)
        uniforms = (scenes.lens, height, width, corner, upwards)
        if uniforms != self._uniforms:
            GL.glUniform4f(self._at["lens"], *scenes.lens.as_array()[:4].tolist())
            GL.glUniform4f(self._at["view"], height, width, *corner)
            GL.glUniform1f(self._at["upwards"], upwards)
            self._uniforms = uniforms
        GL.glViewport(*corner, width, height * tiles)
        glDrawElementsInstanced(GL.GL_TRIANGLES, len(_CORNERS), GL.GL_UNSIGNED_BYTE, None, len(places))

    def _set(self) -> None:
        """Set all state that does not change from scene to scene."""
        GL.glUseProgram(self._program)
        GL.glBindVertexArray(self._array)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, self._places)
        for unit, (name, texture) in enumerate(zip(_BUFFERS, self._textures, strict=True)):
            GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
            GL.glBindTexture(GL.GL_TEXTURE_BUFFER, texture)
            GL.glUniform1i(self._at[name], unit)
        for test in (GL.GL_BLEND, GL.GL_CULL_FACE):
            GL.glDisable(test)
        for test in (GL.GL_DEPTH_TEST, GL.GL_CLIP_DISTANCE0, GL.GL_CLIP_DISTANCE1):
            GL.glEnable(test)
        GL.glDepthMask(True)
        GL.glDepthFunc(GL.GL_LEQUAL)
        self._is_set = True

    def _load_palette(self, colors: npt.NDArray[np.uint32]) -> None:
        if colors is not self._colors or colors.flags.writeable:
            self._colors = colors
            self._upload("palette", np.ascontiguousarray(colors[palette.SKY + 1 :], np.uint32))
            self._known = (len(colors) - palette.FIRST_BLOCK) // palette.ENTRIES_PER_COLOR

    def _rest(self) -> None:
        """Restore a state in which others can draw."""
        self._is_set = False
        for test in (GL.GL_SCISSOR_TEST, GL.GL_DEPTH_TEST, GL.GL_CLIP_DISTANCE0, GL.GL_CLIP_DISTANCE1):
            GL.glDisable(test)
        for unit in reversed(range(len(_BUFFERS))):
            GL.glActiveTexture(GL.GL_TEXTURE0 + unit)
            GL.glBindTexture(GL.GL_TEXTURE_BUFFER, 0)
        GL.glBindBuffer(GL.GL_ARRAY_BUFFER, 0)
        GL.glBindBuffer(GL.GL_TEXTURE_BUFFER, 0)
        GL.glBindVertexArray(0)
        GL.glUseProgram(0)

    def close(self) -> None:
        """Delete shaders and buffers; further calls do nothing."""
        if self._program:
            GL.glDeleteProgram(self._program)
            GL.glDeleteVertexArrays(1, [self._array])
            GL.glDeleteBuffers(len(self._names), self._names)
            GL.glDeleteTextures(self._textures)
        self._program = 0


class Framebuffer:
    """An off-screen framebuffer of stacked tiles: packed colours and depths, read in one call."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._framebuffer = int(GL.glGenFramebuffers(1))
        self._sky = (GL.GLuint * 4)()
        self._stores = [int(name) for name in GL.glGenRenderbuffers(2)]
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        for store, kind, place in zip(
            self._stores,
            (GL.GL_R32UI, GL.GL_DEPTH_COMPONENT24),
            (GL.GL_COLOR_ATTACHMENT0, GL.GL_DEPTH_ATTACHMENT),
            strict=True,
        ):
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, store)
            GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, kind, width, height)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, store)
        status = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER)
        if status != GL.GL_FRAMEBUFFER_COMPLETE:
            raise RenderError(
                f"a framebuffer of {width} x {height} pixels cannot be made (status {int(status):#x})"
            )

    def clear(self, rows: int, sky: int) -> None:
        """Bind it, and clear the lowest rows: colours to a packed one, depths to the farthest."""
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer)
        if rows < self.height:
            GL.glEnable(GL.GL_SCISSOR_TEST)
            GL.glScissor(0, 0, self.width, rows)
        else:
            GL.glDisable(GL.GL_SCISSOR_TEST)
        self._sky[0] = sky
        glClearBufferuiv(GL.GL_COLOR, 0, self._sky)
        glClearBufferfv(GL.GL_DEPTH, 0, _FARTHEST)

    def read(self, rows: int, pixels: npt.NDArray[np.uint32] | None) -> None:
        """Copy the lowest rows to pixels uint32[at least rows * width], or to the bound pixel buffer (None)."""
        address = None if pixels is None else address_of(pixels)
        glReadPixels(0, 0, self.width, rows, GL.GL_RED_INTEGER, GL.GL_UNSIGNED_INT, address)

    def close(self) -> None:
        """Delete it."""
        GL.glDeleteFramebuffers(1, [self._framebuffer])
        GL.glDeleteRenderbuffers(len(self._stores), self._stores)


class PixelBuffer:
    """Driver memory into which a picture is read while the next one is drawn."""

    def __init__(self) -> None:
        self._buffer = int(GL.glGenBuffers(1))
        self._size = 0

    def fetch(self, framebuffer: Framebuffer, rows: int) -> None:
        """Start to read the lowest rows."""
        size = 4 * rows * framebuffer.width
        GL.glBindBuffer(GL.GL_PIXEL_PACK_BUFFER, self._buffer)
        if size > self._size:
            GL.glBufferData(GL.GL_PIXEL_PACK_BUFFER, size, None, GL.GL_STREAM_READ)
            self._size = size
        framebuffer.read(rows, None)
        GL.glBindBuffer(GL.GL_PIXEL_PACK_BUFFER, 0)

    @contextmanager
    def pixels(self, count: int) -> Iterator[npt.NDArray[np.uint32]]:
        """Wait for the pixels uint32[count], and yield them; they are valid inside the `with` block."""
        GL.glBindBuffer(GL.GL_PIXEL_PACK_BUFFER, self._buffer)
        address = GL.glMapBufferRange(GL.GL_PIXEL_PACK_BUFFER, 0, 4 * count, GL.GL_MAP_READ_BIT)
        try:
            yield np.ctypeslib.as_array((GL.GLuint * count).from_address(int(address)))
        finally:
            GL.glUnmapBuffer(GL.GL_PIXEL_PACK_BUFFER)
            GL.glBindBuffer(GL.GL_PIXEL_PACK_BUFFER, 0)

    def close(self) -> None:
        """Delete it."""
        GL.glDeleteBuffers(1, [self._buffer])


def address_of(data: npt.NDArray[Any]) -> ctypes.c_void_p:
    """Return the address of a contiguous array's content, for OpenGL's functions."""
    return ctypes.c_void_p(data.__array_interface__["data"][0])


@contextmanager
def reported() -> Iterator[None]:
    """Turn OpenGL's errors into `RenderError`s."""
    try:
        yield
    except GLFailure as error:
        raise RenderError(f"OpenGL failed: {' '.join(str(error).split())}") from error


def link(vertex: str, fragment: str) -> int:
    """Return the program of two shaders; raise `RenderError` with the driver's message if it fails."""
    program = GL.glCreateProgram()
    stages = []
    for kind, source in ((GL.GL_VERTEX_SHADER, vertex), (GL.GL_FRAGMENT_SHADER, fragment)):
        stage = GL.glCreateShader(kind)
        GL.glShaderSource(stage, source)
        GL.glCompileShader(stage)
        if not GL.glGetShaderiv(stage, GL.GL_COMPILE_STATUS):
            raise RenderError(f"a shader does not compile: {_text(GL.glGetShaderInfoLog(stage))}")
        GL.glAttachShader(program, stage)
        stages.append(stage)
    GL.glLinkProgram(program)
    if not GL.glGetProgramiv(program, GL.GL_LINK_STATUS):
        raise RenderError(f"the shaders do not link: {_text(GL.glGetProgramInfoLog(program))}")
    for stage in stages:
        GL.glDetachShader(program, stage)
        GL.glDeleteShader(stage)
    return int(program)


def _text(log: str | bytes) -> str:
    return log.decode(errors="replace") if isinstance(log, bytes) else log
