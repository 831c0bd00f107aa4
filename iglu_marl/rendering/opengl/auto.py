"""Who draws when nobody was asked to: the painter, unless a GPU is there and the pictures are large."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid
from iglu_marl.rendering.opengl.renderer import OpenGLRenderer
from iglu_marl.rendering.painter import Painter
from iglu_marl.rendering.renderer import EYE_LENS, Colors, FloatArray, Frames, Lens, SceneRenderer

LARGE = 256 * 256  # pixels of a picture from which on a GPU may be worth its way there and back

DEVICE_FILES = Path("/dev")

_told = False


def gpu_present() -> bool:
    """Whether the machine shows a GPU to this process; looks at device files only, and loads no driver."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    cuda = visible is None or not (visible.strip() in ("", "NoDevFiles") or visible.strip().startswith("-"))
    nvidia = cuda and any(path.name[6:].isdecimal() for path in DEVICE_FILES.glob("nvidia*"))
    return nvidia or any(DEVICE_FILES.glob("dri/renderD*"))


class AutoRenderer(SceneRenderer):
    """The `Renderer` of `renderer="auto"` on a machine with a GPU.

    Pictures below `LARGE` pixels are the painter's. Others are drawn by OpenGL when it runs on a GPU; where it does
    not, the painter draws them too. If there is a GPU but OpenGL fails, a warning says so, once a process.
    """

    def __init__(self, lens: Lens = EYE_LENS) -> None:
        super().__init__(lens)
        self._painter = Painter(lens)
        self._large: SceneRenderer | None = None  # chosen by the first large picture

    def __reduce__(self) -> tuple[Any, ...]:
        return AutoRenderer, (self.lens,)

    def draw(self, grids: BlockGrid, poses: FloatArray, out: Frames, colors: Colors | None = None) -> None:
        """As `SceneRenderer.draw`."""
        _, height, width, _ = out.shape
        if height * width >= LARGE and self._large is None:
            self._large = self._choose()
        chosen = self._painter if height * width < LARGE or self._large is None else self._large
        chosen.draw(grids, poses, out, colors)

    def _choose(self) -> SceneRenderer:
        global _told
        try:
            renderer = OpenGLRenderer(self.lens)
            if not renderer.context.software:
                return renderer
            renderer.close()
        except RenderError as error:
            if not _told:
                _told = True
                warnings.warn(f"a GPU is here, but the painter draws on the CPU: {error}", stacklevel=5)
        return self._painter

    def close(self) -> None:
        """Release what is held."""
        if self._large is not None:
            self._large.close()
        self._large = None
