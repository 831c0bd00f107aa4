"""Tasks whose instructions refer to standing blocks, the landmarks, whose places they do not give.

A builder that sees nothing cannot find them, however long it feels its way along the walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.splits import COLORS, GROUND, Content, Shapes, described, draw
from iglu_marl.core.grid import ZONE_SHAPE, Cell, cells_of, color_at, in_zone, index_of
from iglu_marl.core.task import Task
from iglu_marl.language import Blocks, Build, Instruction, Place, outcomes, render
from iglu_marl.language.meaning.references import Beside
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, scaled, shifted
from iglu_marl.language.meaning.verbs import Remove
from iglu_marl.language.meaning.verbs import Sequence as InstructionSequence

Grid = npt.NDArray[np.int8]


def _beside(way: Direction, color: int, steps: int = 1) -> Beside:
    """Return the place next to the block of a colour, or some steps away, in a direction."""
    return Beside(((way, steps),), Blocks((color,)))


def _standing(count: int, rng: np.random.Generator) -> tuple[Grid, list[Cell]]:
    """Return a grid with `count` single blocks of different colours on the ground, and their cells."""
    grid = np.zeros(ZONE_SHAPE, np.int8)
    cells = [GROUND[number] for number in rng.choice(len(GROUND), count, replace=False)]
    for cell, color in zip(cells, rng.permutation(COLORS), strict=False):
        grid[index_of(cell)] = color
    return grid, cells


def _new_color(grid: Grid, rng: np.random.Generator) -> int:
    """Return a colour that no block has, so that the landmark is the only one of its colour."""
    return int(draw([color for color in COLORS if not (grid == color).any()], rng))


def _is_free(grid: Grid, cell: Cell) -> bool:
    return in_zone(*cell) and not color_at(grid, cell)


def _tops(grid: Grid) -> list[Cell]:
    """Return the blocks with nothing on top."""
    return [(x, y, z) for x, y, z in cells_of(grid).tolist() if not color_at(grid, (x, y + 1, z))]


def _task(start: Grid, target: Grid, dialog: str) -> Task:
    return Task(dialog, target, starting_grid=start, invariant=False, ids="iglu")


@dataclass(frozen=True)
class PlacedBeside(Content):
    """One block north, east, south or west of one of `standing` blocks on the ground, all of different colours.

    standing: number of blocks. farthest: largest distance from the landmark in cells.
    """

    standing: int = 3
    farthest: int = 3

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        start, cells = _standing(self.standing, rng)
        while True:
            landmark, way = draw(cells, rng), draw(COMPASS, rng)
            steps = int(rng.integers(1, self.farthest + 1))
            cell = shifted(landmark, scaled(VECTORS[way], steps))
            if _is_free(start, cell):
                break
        target, color = start.copy(), _new_color(start, rng)
        target[index_of(cell)] = color
        placed = Place(color, _beside(way, color_at(start, landmark), steps))
        return _task(start, target, f"<Architect> {render(placed, rng)}")


@dataclass(frozen=True)
class ChangedByColor(Content):
    """A block to remove and another one to place on or beside a landmark, among five in the lowest `levels` layers.

    The five standing blocks have different colours, by which the instruction names them.
    """

    levels: int = 3

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        start = self._columns(rng)
        gone = draw(_tops(start), rng)
        target = start.copy()
        target[index_of(gone)] = 0
        places = [
            (landmark, way)
            for landmark in _tops(target)
            for way in (Direction.UP, *(COMPASS if landmark[1] == -1 else ()))
            if _is_free(target, cell := shifted(landmark, VECTORS[way]))
            and cell[1] < self.levels - 1
            and cell != gone
        ]
        if not places:
            return self.sample(rng)
        landmark, way = draw(places, rng)
        color = _new_color(target, rng)
        target[index_of(shifted(landmark, VECTORS[way]))] = color
        steps = (
            Remove(Blocks((color_at(start, gone),))),
            Place(color, _beside(way, color_at(start, landmark))),
        )
        return _task(start, target, f"<Architect> {render(InstructionSequence(steps), rng)}")

    def _columns(self, rng: np.random.Generator) -> Grid:
        grid = np.zeros(ZONE_SHAPE, np.int8)
        for color in rng.permutation(COLORS)[:5]:
            tops = [cell for cell in _tops(grid) if cell[1] < self.levels - 2]
            if tops and rng.random() < 0.5:
                cell = shifted(draw(tops, rng), VECTORS[Direction.UP])
            else:
                cell = draw([cell for cell in GROUND if _is_free(grid, cell)], rng)
            grid[index_of(cell)] = color
        return grid


@dataclass(frozen=True)
class ShapesBeside(Shapes):
    """A structure of `least` to `most` new blocks: rows, towers, walls and squares, described one after the other.

    Each is on or beside one of three landmarks, in a colour that no landmark has.
    """

    least: int = 12
    most: int = 20

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        while True:
            start, cells = _standing(3, rng)
            steps, grid = self._built(start, cells, rng)
            if self.least <= np.count_nonzero(grid) - len(cells) <= self.most:
                break
        return _task(start, grid, described(steps, int(rng.integers(2**32))))

    def _built(
        self, start: Grid, cells: list[Cell], rng: np.random.Generator
    ) -> tuple[list[Instruction], Grid]:
        """Return up to four shapes that each lead to one world, and the last world."""
        landmarks = [color_at(start, cell) for cell in cells]
        others = [color for color in COLORS if color not in landmarks]
        steps: list[Instruction] = []
        grid = start
        for _ in range(4):
            way = draw((Direction.UP, *COMPASS), rng)
            build = Build(self._shape(rng), (draw(others, rng),), _beside(way, draw(landmarks, rng)))
            found = outcomes(build, grid)
            if isinstance(found, tuple) and len(found) == 1:
                steps.append(build)
                grid = found[0].grid
        return steps, grid
