"""Who draws when nobody was asked to: the painter, unless a GPU is there and the pictures are large."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import RenderError
from iglu_marl.rendering.opengl.renderer import OpenGLRenderer
from iglu_marl.rendering.painter import EYE_LENS, Frames, HasScenes, Lens, Painter, check_size

LARGE = 256 * 256  # pixels of a picture from which on a GPU may be worth its way there and back

DEVICES = Path("/dev")

_told = False


def gpu_present() -> bool:
    """Whether the machine shows a GPU to this process; looks at device files only, and loads no driver."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    cuda = visible is None or not (visible.strip() in ("", "NoDevFiles") or visible.strip().startswith("-"))
    nvidia = cuda and any(path.name[6:].isdecimal() for path in DEVICES.glob("nvidia*"))
    return nvidia or any(DEVICES.glob("dri/renderD*"))


class AutoRenderer:
    """The `Renderer` of `renderer="auto"` on a machine with a GPU.

    Pictures below `LARGE` pixels are the painter's. Others are drawn by OpenGL when it runs on a GPU; where it does
    not, the painter draws them too. If there is a GPU but OpenGL fails, a warning says so, once a process.
    """

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        self.lens = lens
        self._painter = Painter(lens)
        self._large: Painter | OpenGLRenderer | None = None  # chosen by the first large picture

    def __getstate__(self) -> dict[str, Any]:
        return {"lens": self.lens}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["lens"])  # type: ignore[misc]

    def render(
        self,
        worlds: HasScenes,
        indices: Sequence[int] | npt.NDArray[np.integer[Any]],
        size: tuple[int, int],
        out: Frames | None = None,
    ) -> Frames:
        """As `Painter.render`."""
        height, width = check_size(size)
        if height * width < LARGE:
            return self._painter.render(worlds, indices, size, out)
        if self._large is None:
            self._large = self._choose()
        return self._large.render(worlds, indices, size, out)

    def _choose(self) -> Painter | OpenGLRenderer:
        global _told
        try:
            renderer = OpenGLRenderer(self.lens)
            if not renderer.studio.software:
                return renderer
            renderer.close()
        except RenderError as error:
            if not _told:
                _told = True
                warnings.warn(f"a GPU is here, but the painter draws on the CPU: {error}", stacklevel=4)
        return self._painter

    def close(self) -> None:
        """Release what is held."""
        if self._large is not None:
            self._large.close()
        self._large = None
