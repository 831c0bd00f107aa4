"""The default renderer: compiled code on the CPU, without a GPU or a window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.rendering import palette
from iglu_marl.rendering.kernels import paint
from iglu_marl.rendering.renderer import (
    EYE_LENS,
    Colors,
    FloatArray,
    Frames,
    Lens,
    SceneRenderer,
    check_out,
    check_scenes,
    check_size,
)

_COLORS = palette.PACKED.copy()  # writable: numba would compile again for a read-only array
_FIRST = np.zeros(1, np.int64)


class Painter(SceneRenderer):
    """Renderer on the CPU: first-person frames of worlds, all in one compiled call."""

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        super().__init__(lens)
        self._lens = lens.as_array()

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """Fill `out` with scenes, as `SceneRenderer.draw`."""
        count, height, width, _ = out.shape
        table = _COLORS if colors is None else np.require(colors, np.uint32, ("C", "W"))
        rows, flat = _FIRST if count == 1 else np.arange(count), out.reshape(count, height * width * 3)
        paint(grids, poses, rows, self._lens, table, height, width, flat, 0, count)

    def bind(
        self, grids: BlockGrid, poses: FloatArray, size: tuple[int, int], out: Frames
    ) -> Callable[[npt.NDArray[np.int64], int, int], None]:
        """Return `draw(chosen, first, last)`, which paints scenes i of chosen[first..last-1] into `out[i]`.

        grids int8[n, 9, 11, 11], poses float64[n, 5] and out uint8[n, height, width, 3] are C-contiguous,
        and are read again at each call. Calls may run in several threads at once. Raises `RenderError` if an array does
        not fit.
        """
        height, width = check_size(size)
        count = len(out)
        check_out(out, (count, height, width, 3))
        check_scenes(grids, poses, count)
        contiguous = grids.flags.carray and poses.flags.carray
        if grids.dtype != np.int8 or poses.dtype != np.float64 or not contiguous:
            raise RenderError("grids and poses must be C-contiguous int8 and float64")
        flat, lens = out.reshape(count, -1), self._lens

        def draw(chosen: npt.NDArray[np.int64], first: int, last: int) -> None:
            paint(grids, poses, chosen, lens, _COLORS, height, width, flat, first, last)

        return draw


def paint_scenes(
    grids: npt.ArrayLike,
    poses: npt.ArrayLike,
    size: tuple[int, int],
    *,
    lens: Lens = EYE_LENS,
    colors: Colors | None = None,
) -> Frames:
    """Return `Painter(lens).render_scenes(…)`: pictures uint8[k, height, width, 3] of grids seen from poses."""
    return Painter(lens).render_scenes(grids, poses, size, colors=colors)
