"""Short lists of instructions from a build to a target: which shapes to request, in a buildable order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, cell_index, in_zone
from iglu_marl.language import At, Blocks, Build, CellEdit, Context, Failure, Instruction, Shape, outcomes
from iglu_marl.language.meaning.corrections import Repeat
from iglu_marl.language.meaning.shapes import VECTORS, Direction, Kind
from iglu_marl.language.meaning.verbs import Remove, Replace, Sequence
from iglu_marl.language.meaning.worlds import ExpectedWorld
from iglu_marl.planning.ordering import order_edits
from iglu_marl.planning.support import shuts_in, supported_cells

Grid = npt.NDArray[np.int8]
Sayable = Callable[[Instruction], bool]

MAX_COLOR_RUNS = 6  # of a line; more make too long a sentence
SHORTLIST = 24  # candidates per step that are examined closely
_WAYS = tuple(
    (Direction(way), VECTORS[Direction(way)]) for way in ("east", "up", "south", "west", "down", "north")
)
_AXES = _WAYS[:3]


@dataclass(frozen=True)
class InstructionStep:
    """One request, and the cells that it changes."""

    instruction: Instruction
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class _Candidate:
    """A shape that is part of the target, with its cells as the bits of an integer."""

    build: Build
    cells: tuple[Cell, ...]
    mask: int
    effort: int  # approximate number of words


def _bit(cell: Cell) -> int:
    y, x, z = cell_index(*cell)
    return 1 << ((y * 11 + x) * 11 + z)


def _mask(wanted: npt.NDArray[np.bool_]) -> int:
    return sum(1 << int(i) for i in np.flatnonzero(wanted.ravel()))


def _step(cell: Cell, vector: Cell, count: int = 1) -> Cell:
    return cell[0] + count * vector[0], cell[1] + count * vector[1], cell[2] + count * vector[2]


class _Target:
    """The blocks of a target by cell, and the shapes among them."""

    def __init__(self, target: Grid) -> None:
        self.blocks = {cell: int(target[cell_index(*cell)]) for cell in _cells(target != 0)}

    def candidates(self) -> list[_Candidate]:
        """All shapes of two or more blocks, each set of cells once, with its plainest name."""
        by_mask: dict[int, _Candidate] = {}
        for build in self._builds():
            assert isinstance(build.where, At)
            cells = tuple(cell for cell, _ in build.blocks(build.where.cell, None))
            runs = sum(a != b for a, b in zip(build.colors, build.colors[1:], strict=False))
            effort = 2 * len(build.shape.sizes) + len(build.shape.directions) + runs
            candidate = _Candidate(build, cells, sum(_bit(cell) for cell in cells), effort)
            known = by_mask.get(candidate.mask)
            if known is None or effort < known.effort:
                by_mask[candidate.mask] = candidate
        return list(by_mask.values())

    def _builds(self) -> Iterator[Build]:
        yield from self._lines()
        yield from self._diagonals()
        for u, v in ((0, 1), (0, 2), (2, 1)):
            yield from self._rectangles(_AXES[u], _AXES[v])
        for cell in self.blocks:
            yield from self._crossings(cell)
            yield from self._stairs(cell)

    def reach(self, cell: Cell, vector: Cell, color: int | None) -> int:
        """Return the number of blocks (of a colour) in a line from a cell."""
        count = 0
        while (there := self.blocks.get(_step(cell, vector, count))) and color in (None, there):
            count += 1
        return count

    def _lines(self) -> Iterator[Build]:
        for way, vector in _AXES:
            kind, ways = (Kind.TOWER, ()) if way is Direction.UP else (Kind.ROW, (way,))
            yield from self._along(vector, kind, ways)

    def _diagonals(self) -> Iterator[Build]:
        for (one, u), (other, v) in (
            *product(_WAYS[:1], (_WAYS[1], _WAYS[2], _WAYS[4], _WAYS[5])),
            *product(_WAYS[2:3], (_WAYS[1], _WAYS[4])),
        ):
            yield from self._along(_step(u, v), Kind.DIAGONAL, (one, other))

    def _along(self, vector: Cell, kind: Kind, ways: tuple[Direction, ...]) -> Iterator[Build]:
        """Yield every part of every line in a direction with few runs of colour."""
        for start in self.blocks:
            colors: list[int] = []
            runs = 0
            for i in range(self.reach(start, vector, None)):
                color = self.blocks[_step(start, vector, i)]
                runs += not colors or colors[-1] != color
                if runs > MAX_COLOR_RUNS:
                    break
                colors.append(color)
                if i:
                    yield Build(Shape(kind, (len(colors),), ways), tuple(colors), At(start))

    def _rectangles(self, one: tuple[Direction, Cell], other: tuple[Direction, Cell]) -> Iterator[Build]:
        """Yield the rectangles of one colour in a plane, each as wide as its height allows."""
        (a, u), (b, v) = one, other
        for start, color in self.blocks.items():
            width, height = self.reach(start, u, color), 1
            while width > 1:
                if height > 1:
                    shape = _rectangle(a, b, width, height)
                    yield Build(shape, (color,), At(start))
                following = _step(start, v, height)
                width = min(width, self.reach(following, u, color))
                height += 1

    def _crossings(self, cell: Cell) -> Iterator[Build]:
        color = self.blocks[cell]
        arms = {way: self.reach(cell, vector, color) for way, vector in _WAYS}
        for (a, _), (b, _) in product(_WAYS, _WAYS):
            if a.axis == b.axis:
                continue
            if arms[a] > 1 and arms[b] > 1 and (a.axis < b.axis):
                yield Build(Shape(Kind.L, (arms[a], arms[b]), (a, b)), (color,), At(cell))
            half = min(arms[a], arms[a.opposite]) - 1
            if half and arms[b] > 1 and a in (Direction.EAST, Direction.UP, Direction.SOUTH):
                start = _step(cell, dict(_WAYS)[a.opposite], half)
                yield Build(Shape(Kind.T, (2 * half + 1, arms[b]), (a, b)), (color,), At(start))
        for a, b in (
            (Direction.EAST, Direction.SOUTH),
            (Direction.EAST, Direction.UP),
            (Direction.SOUTH, Direction.UP),
        ):
            half = min(arms[a], arms[a.opposite], arms[b], arms[b.opposite]) - 1
            if half:
                yield Build(Shape(Kind.PLUS, (2 * half + 1,), (a, b)), (color,), At(cell))

    def _stairs(self, cell: Cell) -> Iterator[Build]:
        color = self.blocks[cell]
        up = (0, 1, 0)
        for way, vector in _WAYS:
            if way.vertical:
                continue
            steps = 0
            while self.reach(_step(cell, vector, steps), up, color) > steps:
                steps += 1
            if steps > 1:
                yield Build(Shape(Kind.STAIRCASE, (steps,), (way,)), (color,), At(cell))


def _rectangle(a: Direction, b: Direction, width: int, height: int) -> Shape:
    if width == height:
        return Shape(Kind.SQUARE, (width,), (a, b))
    if b is Direction.UP:
        return Shape(Kind.WALL, (width, height), (a,))
    return Shape(Kind.RECTANGLE, (width, height), (a, b))


@lru_cache(maxsize=8)
def _candidates(target: bytes) -> tuple[_Candidate, ...]:
    return tuple(_Target(np.frombuffer(target, np.int8).reshape(9, 11, 11)).candidates())


def parts_of(target: npt.ArrayLike) -> list[tuple[Cell, ...]]:
    """Return the cells of the shapes that make up a dense grid, each block in one, those of one colour first."""
    wanted = np.array(target, dtype=np.int8)
    found, left = [], _mask(wanted != 0)
    for one in sorted(
        _candidates(wanted.tobytes()),
        key=lambda one: (len({*one.build.colors}) > 1, -len(one.cells), one.effort),
    ):
        if one.mask & left == one.mask:
            found.append(one.cells)
            left ^= one.mask
    return found + [(cell,) for cell in _cells(wanted != 0) if _bit(cell) & left]


def decompose(
    grid: npt.ArrayLike,
    target: npt.ArrayLike,
    controls: ControlsName = "walking",
    *,
    alone: Iterable[Cell] = (),
    sayable: Sayable = lambda instruction: True,
    again: bool = False,
) -> list[InstructionStep]:
    """Return instructions that turn one dense grid into another, in a buildable order.

    The result is never longer than block by block: each step changes only cells that must change. A shape is
    requested when it holds on to something, as far as the target allows that, and does not enclose cells that are
    still to be filled. Several ways to choose among equally large shapes are tried; the shortest result wins.

    alone: cells to request one by one. sayable: returns whether a message can hold an instruction. again: whether one
    instruction asks for equal shapes at several places ("Do the same there.").
    """
    start, wanted = np.array(grid, dtype=np.int8), np.array(target, dtype=np.int8)
    loners = frozenset(alone)
    found = [_search(start, wanted, controls, loners, sayable, again, variant) for variant in range(3)]
    return min(found, key=len)


def _search(
    start: Grid,
    target: Grid,
    controls: ControlsName,
    alone: frozenset[Cell],
    sayable: Sayable,
    again: bool,
    variant: int,
) -> list[InstructionStep]:
    grid = start.copy()
    steps: list[InstructionStep] = []

    def take(step: InstructionStep) -> None:
        steps.append(step)
        for cell in step.cells:
            grid[cell_index(*cell)] = target[cell_index(*cell)]

    for step in _sweeps(grid, target, alone, sayable):
        take(step)
    order = [edit.cell for edit in order_edits(grid, target, controls)]
    for cell in dict.fromkeys(order):
        if grid[cell_index(*cell)]:  # blocks in the way or of a wrong colour
            if _needed(grid, target, cell):
                continue
            take(_single(grid, target, cell))
    usable = [candidate for candidate in _candidates(target.tobytes()) if alone.isdisjoint(candidate.cells)]
    last: Cell = (0, -1, 0)
    while ((target != 0) & (grid != target)).any():
        shape = _best(grid, target, usable, last, sayable, variant)
        if shape is None:
            rest = order_edits(grid, target, controls)
            shape = _single(grid, target, next(edit.cell for edit in rest if edit.color))
        if again:
            shape = _with_equals(shape, grid, target, usable, sayable)
        take(shape)
        last = shape.cells[-1]
    for cell in [edit.cell for edit in order_edits(grid, target, controls)]:
        take(_single(grid, target, cell))
    return steps


def _needed(grid: Grid, target: Grid, cell: Cell) -> bool:
    """Return whether blocks that are still to be placed hold on to a block that has to go."""
    if target[cell_index(*cell)]:
        return False
    without = grid != 0
    without[cell_index(*cell)] = False
    near = supported_cells(without)
    missing = (target != 0) & (grid == 0)
    around = [_step(cell, vector) for _, vector in _WAYS]
    return any(in_zone(*one) and missing[cell_index(*one)] and not near[cell_index(*one)] for one in around)


def _single(grid: Grid, target: Grid, cell: Cell) -> InstructionStep:
    index = cell_index(*cell)
    return InstructionStep(CellEdit.between(cell, int(grid[index]), int(target[index])), (cell,))


def _sweeps(grid: Grid, target: Grid, alone: frozenset[Cell], sayable: Sayable) -> Iterator[InstructionStep]:
    """Yield removals and recolourings of many blocks: "remove all red blocks", "change the row to blue"."""
    wrong = (grid != 0) & (grid != target)
    while np.count_nonzero(wrong) > 1:
        best: InstructionStep | None = None
        for instruction in _sweeping(grid, target, wrong):
            found = outcomes(instruction, grid, Context())
            if isinstance(found, Failure):
                continue
            changed = found[0].grid != grid
            cells = _cells(changed)
            good = bool((found[0].grid == target)[changed].all()) and alone.isdisjoint(cells)
            if good and len(cells) > max(1, len(best.cells) if best else 1) and sayable(instruction):
                if not any(_needed(grid, target, cell) for cell in cells):
                    best = InstructionStep(instruction, cells)
        if best is None:
            return
        yield best
        wrong = (grid != 0) & (grid != target)


def _sweeping(grid: Grid, target: Grid, wrong: npt.NDArray[np.bool_]) -> Iterator[Instruction]:
    if not target.any():
        yield Remove(Blocks(count=None))
    for old in range(1, 7):
        mine = wrong & (grid == old)
        afters = np.unique(target[mine]).tolist()
        descriptions = [Blocks((old,), count=None)]
        for kind in (Kind.ROW, Kind.TOWER, Kind.STRUCTURE):
            descriptions += [Blocks((old,), kind, where=At(cell)) for cell in _cells(mine)]
        for blocks, after in product(descriptions, afters):
            yield Remove(blocks) if after == 0 else Replace(blocks, int(after))


def _cells(wanted: npt.NDArray[np.bool_]) -> tuple[Cell, ...]:
    return tuple((int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(wanted))


def _best(
    grid: Grid, target: Grid, usable: list[_Candidate], last: Cell, sayable: Sayable, variant: int
) -> InstructionStep | None:
    missing = _mask((target != 0) & (grid == 0))
    wrong = _mask((grid != 0) & (grid != target))
    ranked = []
    for candidate in usable:
        if candidate.mask & wrong:
            continue
        gain = (candidate.mask & missing).bit_count()
        if gain > 1:
            spare = candidate.mask.bit_count() - gain
            start = candidate.cells[0]
            far = sum(abs(a - b) for a, b in zip(start, last, strict=True))
            price = {
                0: (candidate.effort, start[1], spare, far),
                1: (spare, start[1], candidate.effort, far),
                2: (start[1], spare, candidate.effort, far),
            }[variant]
            ranked.append((-gain, *price, candidate.mask, candidate))
    ranked.sort(key=lambda entry: entry[:-1])
    filled = grid != 0
    left = set(_cells((target != 0) & ~filled))
    for entry in ranked[: SHORTLIST * 4]:
        candidate = entry[-1]
        cells = tuple(cell for cell in candidate.cells if cell in left)
        if _is_supported(cells, filled) and not _encloses(cells, filled, left) and sayable(candidate.build):
            return InstructionStep(candidate.build, cells)
    near = supported_cells(filled)
    if any(near[cell_index(*cell)] for cell in left):
        return None
    # Everything floats: the largest shape that can be said, as one block of it has to float anyway.
    for entry in ranked[:SHORTLIST]:
        candidate = entry[-1]
        cells = tuple(cell for cell in candidate.cells if cell in left)
        if len(_spread({cells[0]}, set(cells))) == len(cells) and sayable(candidate.build):
            return InstructionStep(candidate.build, cells)
    return None


def _with_equals(
    step: InstructionStep, grid: Grid, target: Grid, usable: list[_Candidate], sayable: Sayable
) -> InstructionStep:
    """Return a step together with equal shapes that can be built right after it: "Do the same there."."""
    first = step.instruction
    if not isinstance(first, Build):
        return step
    goal = grid.copy()
    for cell in step.cells:
        goal[cell_index(*cell)] = target[cell_index(*cell)]
    for other in usable:
        where = other.build.where
        if other.build != replace(first, where=where) or any(goal[cell_index(*c)] for c in other.cells):
            continue
        filled, left = goal != 0, set(_cells((target != 0) & (goal == 0)))
        if not _is_supported(other.cells, filled) or _encloses(other.cells, filled, left):
            continue
        parts = step.instruction.parts if isinstance(step.instruction, Sequence) else (step.instruction,)
        both = InstructionStep(Sequence((*parts, Repeat(where))), (*step.cells, *other.cells))
        after = goal.copy()
        for cell in other.cells:
            after[cell_index(*cell)] = target[cell_index(*cell)]
        if sayable(both.instruction) and leads_to(outcomes(both.instruction, grid), after):
            step, goal = both, after
    return step


def _is_supported(cells: tuple[Cell, ...], filled: npt.NDArray[np.bool_]) -> bool:
    """Return whether the cells can be filled in an order in which each touches the ground or a block."""
    near = supported_cells(filled)
    done = {cell for cell in cells if near[cell_index(*cell)]}
    return len(_spread(done, set(cells))) == len(cells)


def _spread(seeds: set[Cell], cells: set[Cell]) -> set[Cell]:
    reached, todo = set(seeds), list(seeds)
    while todo:
        cell = todo.pop()
        for _, vector in _WAYS:
            other = _step(cell, vector)
            if other in cells and other not in reached:
                reached.add(other)
                todo.append(other)
    return reached


def _encloses(cells: tuple[Cell, ...], filled: npt.NDArray[np.bool_], left: set[Cell]) -> bool:
    """Return whether these blocks would enclose a cell that is to be filled later."""
    later = left - set(cells)
    if not later:
        return False
    after = filled.copy()
    for cell in cells:
        after[cell_index(*cell)] = True
    return any(shuts_in(after, cell, later) for cell in cells)


def leads_to(found: tuple[ExpectedWorld, ...] | Failure, goal: Grid) -> bool:
    """Return whether an instruction has exactly one outcome, and that is this grid."""
    return not isinstance(found, Failure) and len(found) == 1 and bool(np.array_equal(found[0].grid, goal))
