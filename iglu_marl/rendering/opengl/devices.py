"""The devices that EGL lists, and the order in which they are tried."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from iglu_marl.core.errors import RenderError
from iglu_marl.core.extras import extra
from iglu_marl.core.text import plain_number

ADVICE = "Install a driver (on Debian: libegl1 libgl1-mesa-dri libopengl0), or draw with renderer='painter'"
_EXTENSIONS, _CUDA_DEVICE = 0x3055, 0x323A
_HANDLE, _INT, _BOOL = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32


@dataclass(frozen=True)
class Device:
    """A device that EGL lists: `cuda` is its CUDA number (None if unknown)."""

    number: int
    software: bool
    cuda: int | None = None


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Set an environment variable inside the `with` block, unless it is set already."""
    ours = name not in os.environ
    os.environ.setdefault(name, value)
    try:
        yield
    finally:
        if ours:
            os.environ.pop(name, None)


@lru_cache(maxsize=1)
def load_library() -> Any:
    """Return a function that gets extensions of EGL by name and C types. Raises `RenderError` without libEGL."""
    with extra("opengl"):
        import OpenGL  # noqa: F401 - reports that PyOpenGL is missing
    try:
        with environment("PYOPENGL_PLATFORM", "egl"):
            from OpenGL.platform.egl import EGLPlatform
        find = EGLPlatform().getExtensionProcedure
    except (ImportError, OSError, AttributeError) as error:
        raise RenderError(f"no OpenGL here: libEGL cannot be loaded ({error}). {ADVICE}") from error

    def extension(name: str, *types: Any) -> Any:
        address = find(name.encode())
        return ctypes.CFUNCTYPE(*types)(address) if address else lambda *_: None

    return extension


def list_devices() -> list[Device]:
    """Return the devices that EGL lists, in its order; empty if it cannot list them.

    Raises `RenderError` if libEGL is missing.
    """
    extension = load_library()
    query = extension("eglQueryDevicesEXT", _BOOL, _INT, ctypes.POINTER(_HANDLE), ctypes.POINTER(_INT))
    handles, count = (_HANDLE * 64)(), _INT()
    if not query(len(handles), handles, count):
        return []
    return [_describe(extension, number, handles[number]) for number in range(count.value)]


def _describe(extension: Any, number: int, handle: int | None) -> Device:
    text = extension("eglQueryDeviceStringEXT", ctypes.c_char_p, _HANDLE, _INT)(handle, _EXTENSIONS)
    names = (text or b"").decode().split()
    cuda = ctypes.c_ssize_t(-1)
    if "EGL_NV_device_cuda" in names:
        extension("eglQueryDeviceAttribEXT", _BOOL, _HANDLE, _INT, ctypes.POINTER(ctypes.c_ssize_t))(
            handle, _CUDA_DEVICE, cuda
        )
    software = "EGL_MESA_device_software" in names
    return Device(number, software, None if cuda.value < 0 else cuda.value)


def preferred(devices: list[Device], visible: str | None) -> list[Device]:
    """Return the devices, the best first: GPUs before software. `visible`: the value of `CUDA_VISIBLE_DEVICES`.

    The devices that it names by CUDA number come first, and other CUDA devices are left out. If it names none that EGL
    knows, the first CUDA device is taken, because some drivers number only visible devices.
    """
    cuda = [device for device in devices if device.cuda is not None]
    others = sorted((device for device in devices if device.cuda is None), key=lambda device: device.software)
    if visible is None:
        return [*cuda, *others]
    named = [name.strip() for name in visible.split(",")]
    numbers = [*takewhile(lambda number: number is not None, map(plain_number, named))]
    found = [device for number in numbers for device in cuda if device.cuda == number]
    hidden = not named[0] or named[0].startswith("-") or named[0] == "NoDevFiles"
    return [*(found or ([] if hidden else cuda[:1])), *others]
