"""Contents of the levels of teams: a few blocks, each of one of the colours that are possible for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iglu_marl.benchmark.splits import Content
from iglu_marl.core.grid import Cell
from iglu_marl.core.pose import Pose
from iglu_marl.core.task import Task

OUTSIDE = Pose(-8, -0.25, -8)  # in nobody's way


@dataclass(frozen=True)
class PartBlocks(Content):
    """Blocks in different cells.

    cells: possible cells. colors: possible colours of each block. standing: how many of the blocks, the last ones,
    stand at the start. apart: whether blocks differ in column and row.
    """

    cells: tuple[Cell, ...]
    colors: tuple[tuple[int, ...], ...]
    standing: int = 0
    apart: bool = False

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        while True:
            chosen = rng.permutation(len(self.cells))[: len(self.colors)]
            blocks = [
                (*self.cells[number], int(rng.choice(colors)))
                for number, colors in zip(chosen, self.colors, strict=True)
            ]
            columns, _, rows, _ = zip(*blocks, strict=True)
            if not self.apart or len(set(columns)) == len(set(rows)) == len(blocks):
                break
        first = len(blocks) - self.standing
        return Task("", blocks, starting_grid=blocks[first:], invariant=False, pose=OUTSIDE, ids="iglu")


@dataclass(frozen=True)
class MirroredBlocks(Content):
    """Blocks in the west, and their mirror images in the east, of the colours that belong to theirs.

    cells: possible cells in the west. colors: their possible colours, and the colours of the images. count: blocks in
    the west. standing: how many of them, the last ones, stand at the start with their images.
    """

    cells: tuple[Cell, ...]
    colors: tuple[tuple[int, int], ...]
    count: int = 2
    standing: int = 1

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        blocks = []
        for number in rng.permutation(len(self.cells))[: self.count]:
            (x, y, z), (color, image) = self.cells[number], self.colors[int(rng.integers(len(self.colors)))]
            blocks += [(x, y, z, color), (-x, y, z, image)]
        first = len(blocks) - 2 * self.standing
        return Task("", blocks, starting_grid=blocks[first:], invariant=False, pose=OUTSIDE, ids="iglu")
