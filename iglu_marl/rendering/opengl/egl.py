"""Headless OpenGL contexts through EGL, by ctypes alone.

A device is chosen in this order: the first GPU that `CUDA_VISIBLE_DEVICES` names; any other GPU; Mesa's surfaceless
display (a GPU or the software renderer llvmpipe); a software device; the default display. A context has no surface if
the display allows that, else a pbuffer of 16 x 16 pixels.

Displays are never terminated, because other libraries of the process may share them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any

from iglu_marl.core.errors import RenderError
from iglu_marl.core.text import plain_number

_NONE = 0x3038
_EXTENSIONS = 0x3055
_SURFACE_TYPE, _PBUFFER_BIT = 0x3033, 0x0001
_RENDERABLE_TYPE, _OPENGL_BIT = 0x3040, 0x0008
_WIDTH, _HEIGHT = 0x3057, 0x3056
_OPENGL_API = 0x30A2
_DRAW, _READ = 0x3059, 0x305A
_MAJOR, _MINOR, _PROFILE_MASK, _CORE = 0x3098, 0x30FB, 0x30FD, 0x0001
_PLATFORM_DEVICE, _PLATFORM_SURFACELESS = 0x313F, 0x31DD
_CUDA_DEVICE = 0x323A
_DEVICE_UUID = 0x335C
_BAD_ACCESS = 0x3002

_ERRORS = (
    *("SUCCESS", "NOT_INITIALIZED", "BAD_ACCESS", "BAD_ALLOC", "BAD_ATTRIBUTE", "BAD_CONFIG", "BAD_CONTEXT"),
    *("BAD_CURRENT_SURFACE", "BAD_DISPLAY", "BAD_MATCH", "BAD_NATIVE_PIXMAP", "BAD_NATIVE_WINDOW"),
    *("BAD_PARAMETER", "BAD_SURFACE", "CONTEXT_LOST"),
)

_HANDLE, _INT, _BOOL = ctypes.c_void_p, ctypes.c_int32, ctypes.c_uint32
_INTS = ctypes.POINTER(_INT)

_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "eglBindAPI": (_BOOL, _BOOL),
    "eglChooseConfig": (_BOOL, _HANDLE, _INTS, ctypes.POINTER(_HANDLE), _INT, _INTS),
    "eglCreateContext": (_HANDLE, _HANDLE, _HANDLE, _HANDLE, _INTS),
    "eglCreatePbufferSurface": (_HANDLE, _HANDLE, _HANDLE, _INTS),
    "eglDestroyContext": (_BOOL, _HANDLE, _HANDLE),
    "eglDestroySurface": (_BOOL, _HANDLE, _HANDLE),
    "eglGetCurrentContext": (_HANDLE,),
    "eglGetCurrentDisplay": (_HANDLE,),
    "eglGetCurrentSurface": (_HANDLE, _INT),
    "eglGetDisplay": (_HANDLE, _HANDLE),
    "eglGetError": (_INT,),
    "eglGetProcAddress": (_HANDLE, ctypes.c_char_p),
    "eglInitialize": (_BOOL, _HANDLE, _INTS, _INTS),
    "eglMakeCurrent": (_BOOL, _HANDLE, _HANDLE, _HANDLE, _HANDLE),
    "eglQueryAPI": (_BOOL,),
    "eglQueryString": (ctypes.c_char_p, _HANDLE, _INT),
}
_EXTENSION_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "eglGetPlatformDisplayEXT": (_HANDLE, _BOOL, _HANDLE, _INTS),
    "eglQueryDevicesEXT": (_BOOL, _INT, ctypes.POINTER(_HANDLE), _INTS),
    "eglQueryDeviceStringEXT": (ctypes.c_char_p, _HANDLE, _INT),
    "eglQueryDeviceAttribEXT": (_BOOL, _HANDLE, _INT, ctypes.POINTER(ctypes.c_ssize_t)),
    "eglQueryDeviceBinaryEXT": (_BOOL, _HANDLE, _INT, _INT, ctypes.c_void_p, _INTS),
}


class AnotherContextError(Exception):
    """The context of another library is current in this thread, and EGL cannot replace it."""


class _Library:
    """The functions of libEGL; missing extensions are None."""

    def __init__(self, library: ctypes.CDLL) -> None:
        for name, (result, *arguments) in _PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        for name, (result, *arguments) in _EXTENSION_PROTOTYPES.items():
            address = self.eglGetProcAddress(name.encode())
            setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(address) if address else None)

    def __getattr__(self, name: str) -> Any:  # for type checkers: set in __init__
        raise AttributeError(name)

    def error(self) -> str:
        code = self.eglGetError()
        known = 0x3000 <= code < 0x3000 + len(_ERRORS)
        return f"EGL_{_ERRORS[code - 0x3000]}" if known else hex(code)


@lru_cache(maxsize=1)
def load_library() -> _Library:
    """Return the functions of libEGL. Raises `RenderError` if it is missing. Opens nothing."""
    reasons = []
    for name in ("libEGL.so.1", "libEGL.so"):
        try:
            return _Library(ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL))
        except (OSError, AttributeError) as error:
            reasons.append(str(error))
    raise RenderError(
        f"no OpenGL here: {reasons[0]}. Install a driver's libEGL (on Debian: libegl1 libgl1-mesa-dri libopengl0), "
        "or draw with renderer='painter', which needs none"
    )


def _ints(*values: int) -> Any:
    return (_INT * len(values))(*values)


@dataclass(frozen=True)
class Device:
    """A device that EGL lists: `cuda` is its CUDA number and `uuid` its id (None and "" if unknown)."""

    number: int
    handle: int
    software: bool
    cuda: int | None = None
    uuid: str = ""


def list_devices() -> list[Device]:
    """Return the devices that EGL lists, in its order; empty if it cannot list them.

    Raises `RenderError` if libEGL is missing.
    """
    egl = load_library()
    if egl.eglQueryDevicesEXT is None:
        return []
    count = _INT()
    if not egl.eglQueryDevicesEXT(0, None, count) or count.value < 1:
        return []
    handles = (_HANDLE * count.value)()
    if not egl.eglQueryDevicesEXT(count.value, handles, count):
        return []
    return [_describe(egl, number, handles[number] or 0) for number in range(count.value)]


def _describe(egl: _Library, number: int, handle: int) -> Device:
    text = egl.eglQueryDeviceStringEXT(handle, _EXTENSIONS) if egl.eglQueryDeviceStringEXT else b""
    extensions = (text or b"").decode().split()
    cuda, uuid = None, ""
    if "EGL_NV_device_cuda" in extensions and egl.eglQueryDeviceAttribEXT:
        value = ctypes.c_ssize_t()
        if egl.eglQueryDeviceAttribEXT(handle, _CUDA_DEVICE, value):
            cuda = value.value
    if "EGL_EXT_device_persistent_id" in extensions and egl.eglQueryDeviceBinaryEXT:
        buffer, size = ctypes.create_string_buffer(16), _INT()
        if egl.eglQueryDeviceBinaryEXT(handle, _DEVICE_UUID, 16, buffer, size):
            uuid = buffer.raw.hex()
    return Device(number, handle, "EGL_MESA_device_software" in extensions, cuda, uuid)


def preferred(devices: list[Device], visible: str | None) -> list[Device]:
    """Return the GPUs among the devices, the best first. `visible`: the value of `CUDA_VISIBLE_DEVICES`, None = unset.

    Devices that it names come first: by CUDA number, or by UUID ("GPU-..." or its beginning). Other CUDA devices are
    left out. If it names none that EGL knows, the first CUDA device is taken, because some drivers number only visible
    devices.
    """
    gpus = [device for device in devices if not device.software]
    if visible is None:
        return sorted(gpus, key=lambda device: device.cuda is None)
    others = [device for device in gpus if device.cuda is None]
    cuda = [device for device in gpus if device.cuda is not None]
    named = [name.strip() for name in visible.split(",")]
    found = []
    for name in named:
        number = plain_number(name)
        uuid = name.removeprefix("GPU-").replace("-", "").lower() if name.startswith("GPU-") else None
        if number is None and uuid is None:
            break  # as CUDA: -1, or anything unknown, ends the list
        found += [d for d in cuda if (d.cuda == number if uuid is None else uuid and d.uuid.startswith(uuid))]
    hidden = not named[0] or named[0].startswith("-") or named[0] == "NoDevFiles"
    return [*(found or ([] if hidden else cuda[:1])), *others]


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


class EGLContext:
    """An OpenGL 3.3 core context without a window. `with context:` makes it current, and restores the previous one.

    device: a number of `list_devices()`; None chooses one. software: whether to skip GPUs. pbuffer: whether to use a
    surface even if none is needed. Raises `RenderError` if no context can be made, with all reasons.
    """

    def __init__(self, device: int | None = None, *, software: bool = False, pbuffer: bool = False) -> None:
        self._egl = load_library()
        self._display, self._context, self._surface = 0, 0, 0
        self._saved: tuple[int, int, int, int, int] | None = None
        reasons = []
        # llvmpipe without threads of its own is faster for small pictures, and survives a fork
        with environment("LP_NUM_THREADS", "0"):
            for name, display in self._displays(device, software):
                problem = self._open(display, pbuffer)
                if problem is None:
                    self.display_name = name
                    return
                reasons.append(f"{name}: {problem}")
        raise RenderError(
            f"no OpenGL 3.3 context can be made ({'; '.join(reasons) or 'no display'}). Install a driver (on Debian: "
            "libegl1 libgl1-mesa-dri libopengl0), or draw with renderer='painter', which needs none"
        )

    def _displays(self, number: int | None, software: bool) -> Iterator[tuple[str, int]]:
        """Yield (name, display) in the order in which they are tried."""
        egl, devices = self._egl, list_devices()
        if number is not None:
            if not 0 <= number < len(devices):
                raise RenderError(f"device is {number}, expected one of the {len(devices)} that EGL lists")
            yield f"device {number}", self._platform_display(_PLATFORM_DEVICE, devices[number].handle)
            return
        if not software:
            for device in preferred(devices, os.environ.get("CUDA_VISIBLE_DEVICES")):
                display = self._platform_display(_PLATFORM_DEVICE, device.handle)
                yield f"device {device.number}", display
        yield "surfaceless", self._platform_display(_PLATFORM_SURFACELESS, None)
        for device in devices:
            if device.software:
                display = self._platform_display(_PLATFORM_DEVICE, device.handle)
                yield f"device {device.number} (software)", display
        if not software:
            yield "default", egl.eglGetDisplay(None) or 0

    def _platform_display(self, platform: int, native: int | None) -> int:
        function = self._egl.eglGetPlatformDisplayEXT
        return (function(platform, native, None) or 0) if function else 0

    def _open(self, display: int, pbuffer: bool) -> str | None:
        """Make the context on this display. Return the problem, or None."""
        egl = self._egl
        if not display:
            return f"no such display ({egl.error()})"
        major, minor = _INT(), _INT()
        if not egl.eglInitialize(display, major, minor):
            return f"eglInitialize gave {egl.error()}"
        before = egl.eglQueryAPI()
        if not egl.eglBindAPI(_OPENGL_API):
            return f"it has no desktop OpenGL ({egl.error()})"
        config, found = (_HANDLE * 1)(), _INT()
        wanted = _ints(_SURFACE_TYPE, _PBUFFER_BIT, _RENDERABLE_TYPE, _OPENGL_BIT, _NONE)
        if not egl.eglChooseConfig(display, wanted, config, 1, found) or found.value < 1:
            return f"no fitting configuration ({egl.error()})"
        attributes = _ints(_MAJOR, 3, _MINOR, 3, _PROFILE_MASK, _CORE, _NONE)
        context = egl.eglCreateContext(display, config[0], None, attributes)
        if not context:
            return f"eglCreateContext gave {egl.error()}"
        extensions = (egl.eglQueryString(display, _EXTENSIONS) or b"").decode().split()
        surface = 0
        if pbuffer or "EGL_KHR_surfaceless_context" not in extensions:
            surface = (
                egl.eglCreatePbufferSurface(display, config[0], _ints(_WIDTH, 16, _HEIGHT, 16, _NONE)) or 0
            )
            if not surface:
                problem = egl.error()
                egl.eglDestroyContext(display, context)
                return f"eglCreatePbufferSurface gave {problem}"
        egl.eglBindAPI(before)
        self._display, self._context, self._surface = display, context, surface
        return None

    def __enter__(self) -> EGLContext:
        """Make it current. Raises `AnotherContextError`, or `RenderError` if the context is lost or closed."""
        egl = self._egl
        if not self._context:
            raise RenderError("the OpenGL context was closed")
        api = egl.eglQueryAPI()
        if api != _OPENGL_API:
            egl.eglBindAPI(_OPENGL_API)
        previous = egl.eglGetCurrentContext() or 0
        saved = (0, 0, 0)
        if previous:
            display = egl.eglGetCurrentDisplay() or 0
            saved = display, egl.eglGetCurrentSurface(_DRAW) or 0, egl.eglGetCurrentSurface(_READ) or 0
        if not egl.eglMakeCurrent(self._display, self._surface, self._surface, self._context):
            code = egl.eglGetError()
            egl.eglBindAPI(api)
            if code == _BAD_ACCESS:
                raise AnotherContextError
            raise RenderError(f"the OpenGL context is lost (EGL error {code:#x})")
        self._saved = api, previous, *saved
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        egl = self._egl
        assert self._saved is not None
        api, previous, display, draw, read = self._saved
        self._saved = None
        egl.eglMakeCurrent(display or self._display, draw, read, previous)
        if api != _OPENGL_API:
            egl.eglBindAPI(api)

    def close(self) -> None:
        """Destroy the context and all its objects; further calls do nothing."""
        if self._context:
            self._egl.eglDestroyContext(self._display, self._context)
            if self._surface:
                self._egl.eglDestroySurface(self._display, self._surface)
        self._context = self._surface = 0
