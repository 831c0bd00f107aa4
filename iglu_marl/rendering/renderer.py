"""Base class, lens and argument checks of all renderers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, as_grid
from iglu_marl.core.kernels.records import GROUND_RADIUS

MAX_SIDE = 8192  # pixels
GROUND_EDGE = GROUND_RADIUS + 0.5  # the ground ends at |x|, |z| = 18.5

FloatArray = npt.NDArray[np.float64]
Frames = npt.NDArray[np.uint8]  # pictures [k, height, width, 3]
Picture = npt.NDArray[np.uint8]  # one of them
Box = tuple[int, int, int, int]  # left, top, right, bottom: pixels from the upper left corner
Viewpoint = tuple[float, float, float, float, float]  # an eye: x, y, z (cells), yaw, pitch (degrees)
Colors = npt.NDArray[np.uint32]  # a packed palette, see `palette.pack`


@dataclass(frozen=True)
class Lens:
    """Vertical field of view (degrees), near and far plane, and half the ground's width (cells)."""

    fov_deg: float = 90.0
    near: float = 0.1
    far: float = 30.0
    ground: float = GROUND_EDGE
    seams: bool = False  # colour pixels exactly between two ground cells as IGLU Gridworld does

    def __post_init__(self) -> None:
        if not 0.0 < self.fov_deg < 180.0:
            raise RenderError(f"fov_deg is {self.fov_deg!r}, expected degrees between 0 and 180")
        if not 0.0 < self.near < self.far < 512.0:
            raise RenderError(f"near, far are {self.near!r}, {self.far!r}, expected 0 < near < far < 512")
        if not 0.0 <= self.ground <= GROUND_EDGE:
            raise RenderError(f"ground is {self.ground!r}, expected 0..{GROUND_EDGE}")

    @property
    def tangent(self) -> float:
        """Tangent of half the vertical field of view."""
        return math.tan(math.radians(self.fov_deg) / 2)

    def as_array(self) -> FloatArray:
        """Return float64[5] for `kernels.paint`: tangent of half the field of view, near, far, ground, seams."""
        return np.array([self.tangent, self.near, self.far, self.ground, self.seams])


EYE_LENS = Lens(seams=True)


def check_pose(pose: Any) -> Viewpoint:
    """Return an eye's pose as five floats; raise `RenderError` if it is invalid."""
    try:
        x, y, z, yaw, pitch = (float(value) for value in pose)
    except (TypeError, ValueError):
        raise RenderError(f"pose is {pose!r:.80}, expected x, y, z, yaw, pitch") from None
    if not math.isfinite(x + y + z + yaw + pitch):
        raise RenderError(f"pose is {pose!r:.80}, expected finite numbers")
    return x, y, z, yaw, pitch


def check_size(size: Any) -> tuple[int, int]:
    """Return a picture size (height, width) as two ints; raise `RenderError` unless both are 1..8192."""
    try:
        height, width = size
        whole = int(height) == height and int(width) == width
    except (TypeError, ValueError):
        raise RenderError(f"size is {size!r}, expected (height, width) in pixels") from None
    if not whole or not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
        raise RenderError(f"size is {size!r}, expected (height, width) with two integers 1..{MAX_SIDE}")
    return int(height), int(width)


def check_picture(picture: Any, name: str) -> Picture:
    """Return a picture uint8[height, width, 3] as a C-contiguous array; raise `RenderError` if it is none."""
    array = np.ascontiguousarray(picture)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        raise RenderError(f"{name} is {array.dtype}{list(array.shape)}, expected uint8[height, width, 3]")
    return array


def check_out(out: Frames | None, shape: tuple[int, ...]) -> Frames:
    """Return `out`, or a new array if it is None; raise `RenderError` if it has another shape or type."""
    if out is None:
        return np.empty(shape, np.uint8)
    if not isinstance(out, np.ndarray) or out.dtype != np.uint8 or out.shape != shape:
        found = f"{out.dtype}{list(out.shape)}" if isinstance(out, np.ndarray) else repr(type(out))
        raise RenderError(f"out is {found}, expected uint8{list(shape)}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise RenderError("out must be C-contiguous and writable")
    return out


def check_scenes(grids: npt.NDArray[Any], poses: npt.NDArray[Any], count: int) -> None:
    """Raise `RenderError` unless there are `count` grids [9, 11, 11] and poses [5]."""
    if grids.shape != (count, *ZONE_SHAPE) or poses.shape != (count, 5):
        raise RenderError(
            f"grids have shape {grids.shape} and poses {poses.shape}, expected {count} of {ZONE_SHAPE} and of (5,)"
        )


def _ready(array: npt.ArrayLike, dtype: type) -> npt.NDArray[Any]:
    return np.require(array, dtype, ("C", "A", "W"))


class SceneRenderer:
    """Base class of renderers: worlds as builders see them, through one lens. Subclasses implement `draw`."""

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        self.lens = lens
        self._size = (0, 0)  # the last size that was checked

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """Fill out uint8[k, height, width, 3] with scenes: grids int8[k, 9, 11, 11], poses float64[k, 5].

        All arrays are C-contiguous and writable. `colors` replaces the packed palette (`palette.pack`); it may have
        more than six block colours.
        """
        raise NotImplementedError

    def render(
        self,
        worlds: Any,
        indices: Sequence[int] | npt.NDArray[np.integer[Any]],
        size: tuple[int, int],
        out: Frames | None = None,
    ) -> Frames:
        """Return what the builders of k worlds see: uint8[k, height, width, 3].

        Raises `RenderError` if `size` or `out` is invalid, `IndexError` if a world does not exist.

        Args:
            worlds: `Worlds` with grids int8[n, 9, 11, 11] and poses float64[n, 5].
            indices: numbers of k worlds.
            size: height and width in pixels.
            out: array for the frames; default: a new one.

        """
        if type(size) is not tuple or size != self._size:
            self._size = check_size(size)
        count = len(indices)
        if count == 1:  # a slice of one is a contiguous view: nothing is copied
            index = indices[0]
            stop = index + 1 or None
            grids, poses = worlds.grid[index:stop], worlds.pose[index:stop]
            if len(grids) != 1:
                raise IndexError(f"world {index} does not exist, expected 0..{len(worlds.grid) - 1}")
        else:
            rows = np.asarray(indices, dtype=np.intp)
            grids, poses = worlds.grid[rows], worlds.pose[rows]
        if not (grids.flags.carray and poses.flags.carray):
            grids, poses = _ready(grids, np.int8), _ready(poses, np.float64)
        out = check_out(out, (count, *self._size, 3))
        self.draw(grids, poses, out)
        return out

    def render_scenes(
        self,
        grids: npt.ArrayLike,
        poses: npt.ArrayLike,
        size: tuple[int, int],
        *,
        colors: Colors | None = None,
    ) -> Frames:
        """Return pictures uint8[k, height, width, 3] of grids int8[k, 9, 11, 11] seen from poses float64[k, 5].

        Any strides and numeric types are accepted. `colors` is as for `draw`. Raises `RenderError` if shapes do not
        fit.
        """
        size = check_size(size)
        blocks, eyes = _ready(grids, np.int8), _ready(poses, np.float64)
        check_scenes(blocks, eyes, len(blocks))
        if not np.isfinite(eyes).all():
            raise RenderError("poses hold numbers that are not finite")
        out = np.empty((len(blocks), *size, 3), np.uint8)
        self.draw(blocks, eyes, out, colors)
        return out

    def render_grid(self, grid: npt.ArrayLike, pose: npt.ArrayLike, size: tuple[int, int]) -> Picture:
        """Return a picture uint8[height, width, 3] of one structure from a pose (x, y, z, yaw, pitch)."""
        return self.render_scenes(as_grid(grid)[None], np.asarray(pose, np.float64)[None], size)[0]

    def close(self) -> None:
        """Release resources."""
