"""OpenGL: the builder's pictures drawn off screen, with moderngl. Importing it opens nothing.

`OpenGLRenderer` is the renderer of `renderer="opengl"`, and `AutoRenderer` that of `renderer="auto"` where a GPU is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.rendering.opengl.devices import list_devices
    from iglu_marl.rendering.opengl.renderer import LARGE, AutoRenderer, OpenGLRenderer, gpu_present

__getattr__, __dir__, __all__ = lazy_exports(__name__)
