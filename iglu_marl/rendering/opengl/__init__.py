"""OpenGL: the builder's pictures drawn off screen, or in the context of a window. Importing it opens nothing.

`OpenGLRenderer` is the renderer of `renderer="opengl"`. `SceneDrawer` draws a scene, and `ScreenDrawer` a window's
layers, in the current context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.rendering.opengl.egl import list_devices
    from iglu_marl.rendering.opengl.renderer import LARGE, AutoRenderer, OpenGLRenderer, gpu_present
    from iglu_marl.rendering.opengl.screen import ScreenDrawer

__getattr__, __dir__, __all__ = lazy_exports(__name__)
