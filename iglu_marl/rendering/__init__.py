"""Pictures: the painter (CPU, default), orbit and composed views, a plain window, image and video files.

Members load when they are first used, so that importing this package is free and needs neither pygame nor
Pillow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULE_OF = {
    "EYE_LENS": "painter",
    "Lens": "painter",
    "Painter": "painter",
    "paint_scenes": "painter",
    "composed_frame": "frame",
    "orbit_view": "views",
    "write_png": "video",
    "write_video": "video",
    "Window": "window",
}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
