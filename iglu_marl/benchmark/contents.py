"""Generators of the levels' tasks, of all splits.

Landmarks are standing blocks to which an instruction refers, and whose places it does not give: a builder that sees
nothing cannot find them, however long it feels its way along the walls.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import comb
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DataError, TaskError
from iglu_marl.core.grid import ZONE_SHAPE, Cell, cells_of, color_at, in_zone, index_of
from iglu_marl.core.pose import Pose
from iglu_marl.core.task import Task
from iglu_marl.evaluation.selection import digest_of
from iglu_marl.language import At, Blocks, Build, CellEdit, Instruction, Place, Shape, outcomes, render
from iglu_marl.language.meaning.blocks import MAX_WORDS, EditKind
from iglu_marl.language.meaning.references import Beside
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, scaled, shifted
from iglu_marl.language.meaning.verbs import Remove
from iglu_marl.language.meaning.verbs import Sequence as InstructionSequence
from iglu_marl.tasks import RandomTasks, SpawnPoses

T = TypeVar("T")
Grid = npt.NDArray[np.int8]
MOST_LISTED = 512  # largest content that is enumerated
_QUARTERS = tuple(Pose(yaw_deg=float(yaw)) for yaw in (0, 90, 180, 270))
_OUTSIDE = Pose(-8, -0.25, -8)  # in nobody's way
NEAR: tuple[Cell, ...] = ((0, -1, -1), (1, -1, 0), (0, -1, 1), (-1, -1, 0))  # north, east, south, west
AROUND: tuple[Cell, ...] = tuple((x, -1, z) for x, z in product((-1, 0, 1), repeat=2) if x or z)
GROUND: tuple[Cell, ...] = tuple((x, -1, z) for x, z in product(range(-5, 6), repeat=2))
COLORS = tuple(range(1, 7))


class Content(ABC):
    """Generator of a level's tasks, of all splits."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Task:
        """Sample a task of any split."""

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks, which are equally likely; None if there are too many."""
        return None


def _dialog(text: str) -> str:
    return f"<Architect> {text}" if text else ""


def draw(options: Sequence[T], rng: np.random.Generator) -> T:
    """Return one of the options, all of which are equally likely."""
    return options[int(rng.integers(len(options)))]


@dataclass(frozen=True)
class PlacedBlocks(Content):
    """`count` blocks in any cells and colours, at fixed positions.

    cells: possible cells. colors: possible colours. count: blocks per task. wordings: number of paraphrased
    instructions per task of one block; 0: no instruction.
    """

    cells: tuple[Cell, ...] = NEAR
    colors: tuple[int, ...] = COLORS
    count: int = 1
    wordings: int = 0

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        chosen = sorted(rng.choice(len(self.cells), self.count, replace=False).tolist())
        colors = tuple(rng.choice(self.colors, self.count).tolist())
        cells = tuple(self.cells[number] for number in chosen)
        wording = int(rng.integers(self.wordings)) if self.wordings else None
        return _blocks(cells, colors, wording)

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks; None if there are too many, or several wordings."""
        if self.wordings or comb(len(self.cells), self.count) * len(self.colors) ** self.count > MOST_LISTED:
            return None
        return tuple(
            _blocks(cells, colors, None)
            for cells in combinations(self.cells, self.count)
            for colors in product(self.colors, repeat=self.count)
        )


@lru_cache(maxsize=8192)
def _blocks(cells: tuple[Cell, ...], colors: tuple[int, ...], wording: int | None) -> Task:
    """Return the task of these blocks, with a numbered paraphrase of the instruction."""
    text = ""
    if wording is not None:
        text = render(CellEdit(EditKind.PLACE, cells[0], color=colors[0]), np.random.default_rng(wording))
    blocks = [(*cell, color) for cell, color in zip(cells, colors, strict=True)]
    return Task(_dialog(text), blocks, invariant=False, ids="iglu")


@dataclass(frozen=True)
class Structures(Content):
    """Random structures of `least` to `most` blocks on the ground, up to a shift and quarter turns.

    least: smallest number of blocks. most: largest number of blocks. levels: number of layers. distance: largest
    distance between two blocks. colors: largest number of colours.
    """

    least: int = 12
    most: int = 20
    levels: int = 4
    distance: int = 4
    colors: int = 3

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        source = RandomTasks(self.most, self.levels, max_dist=self.distance, num_colors=self.colors)
        while True:
            task = source.sample(rng)
            if task.target_size >= self.least:
                return task


@dataclass(frozen=True)
class Shapes(Content):
    """Rows, towers, walls and squares of one colour on the ground, each described in one sentence."""

    longest: int = 6

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        while True:
            shape, color = self._shape(rng), int(rng.integers(1, 7))
            cell, wording = draw(GROUND, rng), int(rng.integers(2**32))
            build = Build(shape, (color,), At(cell))
            try:
                target = [(*where, color) for where, color in build.blocks(cell, None)]
                task = Task("", target, invariant=False, ids="iglu")
            except (TaskError, ValueError):  # outside the zone
                continue
            return task.replace(dialog=described([build], wording))

    def _shape(self, rng: np.random.Generator) -> Shape:
        kind = int(rng.integers(4))
        way = int(rng.integers(4))
        side = (way + (1 if rng.random() < 0.5 else 3)) % 4
        length = int(rng.integers(2, self.longest + 1))
        name, sizes, ways = (
            ("row", (length,), (way,)),
            ("tower", (min(length, 4),), ()),
            ("wall", (min(length, 4), 2), (way,)),
            ("square", (min(length, 3),), (way, side)),
        )[kind]
        return Shape(name, sizes, tuple(COMPASS[number] for number in ways))  # type: ignore[arg-type]


def described(instructions: Sequence[Instruction], seed: int) -> str:
    """Return the dialogue of an architect who says these instructions, worded by a seed."""
    rng = np.random.default_rng(seed)
    return _dialog(" ".join(render(step, rng, max_words=MAX_WORDS) for step in instructions))


@dataclass(frozen=True)
class PinnedInstructions(Content):
    """Instructions written by people: one version of the IGLU single-turn corpus.

    checksum: hash of the tasks that are read, 12 hexadecimal digits.

    Raises `DataError` if the corpus has other tasks, `MissingPackError` if it is not downloaded.
    """

    checksum: str

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return draw(self.all(), rng)

    def all(self) -> tuple[Task, ...]:
        """Return all instructions that change something; `task_id` is the name of the structure."""
        tasks = _human_instructions()
        if (found := digest_of(tasks)) != self.checksum:
            raise DataError(
                f"the checksum of the IGLU single-turn tasks is {found}, expected {self.checksum}: the level needs the "
                "version of the corpus that `iglu-marl data fetch iglu-singleturn` downloads"
            )
        return tasks


@lru_cache(maxsize=1)
def _human_instructions() -> tuple[Task, ...]:
    from iglu_marl.data import SingleturnDataset

    data = SingleturnDataset()
    return tuple(
        task.replace(task_id=data.structure_of(name, task), invariant=False)
        for name, tasks in data.tasks.items()
        for task in tasks
        if not task.is_complete_at_start
    )


@dataclass(frozen=True)
class Spawned(Content):
    """The tasks of another content, starting at a random position and view direction."""

    content: Content

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return SpawnPoses([self.content.sample(rng)]).sample(rng)


@dataclass(frozen=True)
class Turned(Content):
    """The tasks of another content, starting in the centre, in one of the four directions of the compass."""

    content: Content

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return self.content.sample(rng).replace(pose=draw(_QUARTERS, rng))

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks; None if there are too many."""
        tasks = self.content.all()
        return tasks and tuple(task.replace(pose=pose) for pose in _QUARTERS for task in tasks)


# --------------------------------------------------------------------------------------------------------- landmarks


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
        return _task(start, target, _dialog(render(placed, rng)))


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
        return _task(start, target, _dialog(render(InstructionSequence(steps), rng)))

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


# ------------------------------------------------------------------------------------------------------------- teams


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
        return Task("", blocks, starting_grid=blocks[first:], invariant=False, pose=_OUTSIDE, ids="iglu")


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
        return Task("", blocks, starting_grid=blocks[first:], invariant=False, pose=_OUTSIDE, ids="iglu")
