"""Pictures: the painter (CPU, default), views and sheets, a window, image and video files, pages that replay.

Members load when they are first used, so that importing this package is free and needs neither pygame nor
Pillow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULE_OF = {
    "change_sheet": "sheets",
    "composed_frame": "frame",
    "contact_sheet": "sheets",
    "EYE_LENS": "painter",
    "layers_view": "plans",
    "Lens": "painter",
    "OpenGLRenderer": "opengl",
    "orbit_view": "views",
    "paint_scenes": "painter",
    "Painter": "painter",
    "read_replay": "html",
    "replay_page": "html",
    "ReplayRecorder": "html",
    "top_view": "plans",
    "Window": "window",
    "WindowClosed": "window",
    "write_png": "video",
    "write_replay": "html",
    "write_video": "video",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
