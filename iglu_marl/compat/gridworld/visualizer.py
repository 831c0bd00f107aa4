"""`gridworld.visualizer`: `Visualizer`, pictures of blocks from a pose, by this project's painter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat.tasks import Tasks
from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import from_iglu2022_ids
from iglu_marl.rendering import Painter

__all__ = ["Visualizer"]


class Visualizer:
    """Pictures of a world in the colour ids of 2022. render_size: (width, height) in pixels."""

    def __init__(self, render_size: tuple[int, int] = (64, 64)) -> None:
        self.render_size = render_size
        self._painter = Painter()
        self._blocks: dict[tuple[int, int, int], int] = {}
        self._position: Sequence[float] = (0, 0, 0)
        self._rotation: Sequence[float] = (0, 0)

    def set_agent_state(
        self, position: Sequence[float] | None = None, rotation: Sequence[float] | None = None
    ) -> None:
        """Set the eye: position (x, y, z) in cells, rotation (yaw, pitch) in degrees; None keeps one."""
        self._position = self._position if position is None else position
        self._rotation = self._rotation if rotation is None else rotation

    def set_world_state(self, blocks: Iterable[Sequence[int]], add: bool = True) -> None:
        """Add these blocks (x, y, z, id), or remove them. A dense grid is taken as well."""
        for x, y, z, color in Tasks.to_sparse(blocks):
            if add:
                self._blocks[x, y, z] = color
            else:
                self._blocks.pop((x, y, z), None)

    def clear(self) -> None:
        """Remove all blocks. The eye stays."""
        self._blocks.clear()

    def render(
        self,
        position: Sequence[float] | None = None,
        rotation: Sequence[float] | None = None,
        blocks: Iterable[Sequence[int]] | None = None,
    ) -> npt.NDArray[np.uint8]:
        """Return the picture, uint8 [height, width, 3], after setting what is given."""
        self.set_agent_state(position, rotation)
        if blocks is not None:
            self.clear()
            self.set_world_state(blocks)
        grid = Tasks.to_dense([(*cell, color) for cell, color in self._blocks.items()])
        width, height = self.render_size
        return self._painter.render_grid(
            from_iglu2022_ids(grid), (*self._position, *self._rotation), (height, width)
        )

    def render_video(self, *_: Any, **__: Any) -> None:
        """Raise `RenderError`, which names what to use instead."""
        raise RenderError(
            "render_video is not offered here; use `iglu-marl film`, or iglu_marl.rendering.write_video"
        )
