"""OpenGL: the builder's pictures drawn off screen, or in the context of a window. Nothing is opened by importing.

`OpenGLRenderer` is the `Renderer` of `renderer="opengl"`; `SceneDrawer` draws a scene, and
`ScreenDrawer` a window's layers, in whatever context is current.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
