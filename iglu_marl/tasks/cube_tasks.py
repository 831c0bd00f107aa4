"""Random cubes of small and large blocks."""

from __future__ import annotations

import numpy as np

from iglu_marl.core.grid import COLORS
from iglu_marl.core.task import Task
from iglu_marl.core.task_source import TaskSource


class CubeTasks(TaskSource):
    """Cubes of 3 × 3 × 3 cells in the middle of the zone, from which 2 to 6 blocks are missing at the top.

    Every second block is large: two neighbouring cells of one color in a layer, where there is room. A target has 21 to
    25 cells of blocks, and none of them floats.
    """

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Return a random task, drawn from `rng` or from the source's own generator."""
        rng = self.rng if rng is None else rng
        heights = np.full((3, 3), 3)
        for _ in range(int(rng.integers(2, 7))):
            x, z = rng.choice(np.argwhere(heights > 0))
            heights[x, z] -= 1
        filled = np.arange(3)[:, None, None] < heights
        cube = np.zeros((3, 3, 3), np.int8)
        for y, x, z in np.argwhere(filled):
            if cube[y, x, z] == 0:
                cube[y, x, z] = rng.integers(1, len(COLORS) + 1)
                free = [(i, k) for i, k in ((x + 1, z), (x, z + 1)) if i < 3 and k < 3 and filled[y, i, k]]
                free = [cell for cell in free if cube[y][cell] == 0]
                if free and rng.random() < 0.5:
                    cube[y][free[int(rng.integers(len(free)))]] = cube[y, x, z]
        target = np.zeros((9, 11, 11), np.int8)
        target[:3, 4:7, 4:7] = cube
        return Task("", target)

    def __repr__(self) -> str:
        return "CubeTasks()"
