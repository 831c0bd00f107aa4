"""A window's picture in OpenGL: scenes, with pictures over them, in the window's context."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iglu_marl.rendering.colors import PAGE, RGBColor
from iglu_marl.rendering.opengl.drawer import GL, SceneDrawer, address_of, link, reported
from iglu_marl.rendering.renderer import Box, Colors, Lens, Picture, check_picture
from iglu_marl.rendering.ui.layers import FOCUS_COLORS, LENS, Layer, SceneLayer

_KEPT_TEXTURES = 96

_VERTEX = """#version 330 core
uniform vec4 box;      // left, top, width, height of the picture, pixels from the upper left
uniform vec2 window;   // width, height
out vec2 at;
void main() {
    at = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vec2 place = (box.xy + at * box.zw) / window;
    gl_Position = vec4(2.0 * place.x - 1.0, 1.0 - 2.0 * place.y, 0.0, 1.0);
}
"""

_FRAGMENT = """#version 330 core
in vec2 at;
uniform sampler2D picture;
out vec4 color;
void main() { color = texelFetch(picture, ivec2(at * vec2(textureSize(picture, 0))), 0); }
"""


class ScreenDrawer:
    """Draws a window's layers in the current context, from back to front; it creates no context.

    The context needs a depth buffer of 24 bits (SDL's default is 16). Textures are cached by array, so the content of a
    picture must not change once it was drawn. Raises `RenderError` if no context of OpenGL 3.3 or newer is current, or
    OpenGL fails.
    """

    def __init__(self) -> None:
        self._scenes = SceneDrawer()
        self.description, self.software = self._scenes.description, self._scenes.software
        self._size = (1, 1)
        self._textures: OrderedDict[int, tuple[Picture, int]] = OrderedDict()
        with reported():
            self._program = link(_VERTEX, _FRAGMENT)
            self._box, self._window = (GL.glGetUniformLocation(self._program, n) for n in ("box", "window"))
            self._array = GL.glGenVertexArrays(1)

    def draw(self, layers: Sequence[Layer], size: tuple[int, int]) -> None:
        """Draw a whole frame of (height, width) pixels: layers from back to front."""
        self.begin(size, PAGE)
        for layer in layers:
            if isinstance(layer, SceneLayer):
                self.scene(layer.scene, layer.pose, LENS, layer.box, colors=FOCUS_COLORS)
                if glow := layer.ground_glow():
                    self.picture(glow.picture, layer.box[0] + glow.left, layer.box[1] + glow.top)
            else:
                self.picture(*layer)

    def begin(self, size: tuple[int, int], background: RGBColor = (0, 0, 0)) -> None:
        """Start a frame of (height, width) pixels in one colour."""
        self._size = size
        height, width = size
        with reported():
            GL.glDisable(GL.GL_SCISSOR_TEST)
            GL.glViewport(0, 0, width, height)
            GL.glClearColor(*(channel / 255 for channel in background), 1.0)
            GL.glClear(GL.GL_COLOR_BUFFER_BIT)

    def scene(
        self,
        grid: npt.ArrayLike,
        pose: npt.ArrayLike,
        lens: Lens,
        box: Box,
        *,
        colors: Colors | None = None,
    ) -> None:
        """Draw a scene into a box, as `SceneDrawer.draw`."""
        left, top, right, bottom = box
        viewport = (left, self._size[0] - bottom, right - left, bottom - top)
        self._scenes.draw(grid, pose, lens, viewport, colors=colors)

    def picture(self, picture: Picture, left: int, top: int) -> None:
        """Draw a picture uint8[height, width, 3 or 4 (with opacity)] with its upper left corner at a place."""
        check_picture(picture, "picture", (3, 4))
        height, width = self._size
        with reported():
            GL.glViewport(0, 0, width, height)
            GL.glUseProgram(self._program)
            GL.glBindVertexArray(self._array)
            GL.glActiveTexture(GL.GL_TEXTURE0)
            GL.glBindTexture(GL.GL_TEXTURE_2D, self._texture(picture))
            GL.glUniform4f(self._box, left, top, picture.shape[1], picture.shape[0])
            GL.glUniform2f(self._window, width, height)
            GL.glEnable(GL.GL_BLEND)
            GL.glBlendFunc(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA)
            GL.glDrawArrays(GL.GL_TRIANGLE_STRIP, 0, 4)
            GL.glDisable(GL.GL_BLEND)
            GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
            GL.glBindVertexArray(0)
            GL.glUseProgram(0)

    def _texture(self, picture: Picture) -> int:
        # the array is kept so that no other one gets its id
        kept = self._textures.pop(id(picture), None) or (picture, _new_texture(np.ascontiguousarray(picture)))
        self._textures[id(picture)] = kept
        if len(self._textures) > _KEPT_TEXTURES:
            _, (_, oldest) = self._textures.popitem(last=False)
            GL.glDeleteTextures([oldest])
        return kept[1]

    def read(self) -> Picture:
        """Return what was drawn since `begin`, uint8[height, width, 3]; call it before the flip."""
        height, width = self._size
        pixels = np.empty((height, width, 3), np.uint8)
        with reported():
            GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 1)
            GL.glReadPixels(0, 0, width, height, GL.GL_RGB, GL.GL_UNSIGNED_BYTE, pixels)
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        """Delete all objects; the context must still be current. Further calls do nothing."""
        if self._program:
            GL.glDeleteTextures([name for _, name in self._textures.values()] or [0])
            GL.glDeleteVertexArrays(1, [self._array])
            GL.glDeleteProgram(self._program)
        self._textures.clear()
        self._program = 0
        self._scenes.close()


def _new_texture(picture: Picture) -> int:
    height, width, channels = picture.shape
    texture = int(GL.glGenTextures(1))
    GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
    GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 1)
    for name in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
        GL.glTexParameteri(GL.GL_TEXTURE_2D, name, GL.GL_NEAREST)
    kind = GL.GL_RGBA if channels == 4 else GL.GL_RGB
    GL.glTexImage2D(
        GL.GL_TEXTURE_2D, 0, GL.GL_RGBA8, width, height, 0, kind, GL.GL_UNSIGNED_BYTE, address_of(picture)
    )
    return texture
