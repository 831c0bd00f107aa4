"""What tests of planning share: worlds made of a few blocks."""

from __future__ import annotations

from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Pose, Worlds

Block = tuple[int, int, int, int]


def world_with(blocks: list[Block], pose: Pose | None = None) -> Worlds:
    """One world with these starting blocks."""
    worlds = Worlds(1)
    grid = blocks_to_grid(blocks)
    worlds.spawn(0, Task("", grid, starting_grid=grid), pose=pose)
    return worlds
