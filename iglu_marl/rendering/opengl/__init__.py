"""OpenGL: the builder's pictures drawn off screen, or in the context of a window. Nothing is opened by importing.

`OpenGLRenderer` is the `Renderer` of `renderer="opengl"`; `SceneDrawer` draws a scene, and
`ScreenDrawer` a window's layers, in whatever context is current.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.rendering.opengl.auto import LARGE as LARGE
    from iglu_marl.rendering.opengl.auto import AutoRenderer as AutoRenderer
    from iglu_marl.rendering.opengl.auto import gpu_present as gpu_present
    from iglu_marl.rendering.opengl.drawer import SceneDrawer as SceneDrawer
    from iglu_marl.rendering.opengl.egl import list_devices as list_devices
    from iglu_marl.rendering.opengl.renderer import OpenGLRenderer as OpenGLRenderer
    from iglu_marl.rendering.opengl.screen import ScreenDrawer as ScreenDrawer

_MODULE_OF = {
    "AutoRenderer": "auto",
    "LARGE": "auto",
    "OpenGLRenderer": "renderer",
    "SceneDrawer": "drawer",
    "ScreenDrawer": "screen",
    "gpu_present": "auto",
    "list_devices": "egl",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
