"""`gridworld.visualizer`: `Visualizer`, pictures of blocks from a pose, by this project's painter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat.tasks import Tasks
from iglu_marl.core.grid import from_iglu2022_ids
from iglu_marl.rendering import Painter

__all__ = ["Visualizer"]


class Visualizer:
    """Pictures of a world in the colour ids of 2022. render_size: (width, height) in pixels."""

    def __init__(self, render_size: tuple[int, int] = (64, 64)) -> None:
        self.render_size = render_size
        self._painter = Painter()
        self._pose = [0.0, 0.0, 0.0, 0.0, 0.0]
        self.clear()

    def clear(self) -> None:
        """Remove all blocks. The eye stays."""
        self._grid = Tasks.to_dense(None)

    def set_agent_state(
        self, position: Sequence[float] | None = None, rotation: Sequence[float] | None = None
    ) -> None:
        """Set the eye: position (x, y, z) in cells, rotation (yaw, pitch) in degrees; None keeps one."""
        if position is not None:
            self._pose[:3] = position
        if rotation is not None:
            self._pose[3:] = rotation

    def set_world_state(self, blocks: Iterable[Sequence[int]], add: bool = True) -> None:
        """Add these blocks (x, y, z, id), or remove them. A dense grid is taken as well."""
        grid: Any = Tasks.to_dense(blocks)
        self._grid = np.where(grid != 0, grid * add, self._grid)

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
        width, height = self.render_size
        return self._painter.render_grid(from_iglu2022_ids(self._grid), tuple(self._pose), (height, width))
