"""Places relative to existing blocks: "on top of it", "north of the red tower"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.scripted.decomposition import leads_to
from iglu_marl.core.grid import Cell, cell_index, cells_of, in_zone
from iglu_marl.language import At, Blocks, Build, CellEdit, Context, Failure, Instruction, Place, outcomes
from iglu_marl.language.meaning.blocks import Reason
from iglu_marl.language.meaning.context import Offset, Resolution, Unresolved
from iglu_marl.language.meaning.references import Anaphor, Beside, LastBlock, resolve
from iglu_marl.language.meaning.regions import connected
from iglu_marl.language.meaning.shapes import COMPASS, VECTORS, Direction, Kind

Grid = npt.NDArray[np.int8]
Reference = Anaphor | LastBlock | Blocks

# Direction from a neighbour of a cell to the cell -> the neighbour.
_NEIGHBOURS = tuple((way, VECTORS[way.opposite]) for way in (Direction.UP, *COMPASS, Direction.DOWN))
FAR = 3  # blocks from the last block to a place that is counted from it
_NAMED = (Kind.TOWER, Kind.ROW, Kind.SQUARE, Kind.RECTANGLE, Kind.WALL, Kind.STAIRCASE)
_EXTREMES = (Direction.UP, Direction.DOWN, *COMPASS)


@dataclass(frozen=True)
class ReferringExpression:
    """An instruction that refers to blocks, and the block that it means."""

    instruction: Instruction
    meant: Cell


def by_reference(
    instruction: Instruction,
    grid: Grid,
    goal: Grid,
    last: tuple[Cell, ...],
    sayable: Callable[[Instruction], bool],
) -> ReferringExpression | None:
    """Return a placement or shape relative to existing blocks that can only lead to `goal`; None if there is none.

    grid: the present build. last: cells that the last instruction changed, () if that is uncertain.
    """
    context = Context(last=last)
    for pointed in _candidates(instruction, grid, last):
        said = pointed.instruction
        if leads_to(outcomes(said, grid, context), goal) and sayable(said):
            return pointed
    return None


def by_loose_reference(
    instruction: Instruction, grid: Grid, sayable: Callable[[Instruction], bool]
) -> ReferringExpression | None:
    """Return one without checking what else fits the reference, as people do: the builder may have to ask."""
    anchor = _anchor(instruction)
    if anchor is None:
        return None
    for way, (dx, dy, dz) in _NEIGHBOURS:
        near = anchor[0] + dx, anchor[1] + dy, anchor[2] + dz
        color = int(grid[cell_index(*near)]) if in_zone(*near) else 0
        if not color:
            continue
        said = _refer(instruction, Beside(((way, 1),), Blocks((color,))))
        found = outcomes(said, grid, Context())
        if sayable(said) and not (isinstance(found, Failure) and found.reason is not Reason.AMBIGUOUS):
            return ReferringExpression(said, near)
    return None


def _anchor(instruction: Instruction) -> Cell | None:
    if isinstance(instruction, CellEdit):
        return instruction.cell if instruction.action == "place" else None
    if isinstance(instruction, Build) and isinstance(instruction.where, At):
        return instruction.where.cell
    return None


def _refer(instruction: Instruction, where: Beside) -> Instruction:
    if isinstance(instruction, Build):
        return replace(instruction, where=where)
    assert isinstance(instruction, CellEdit)
    return Place(instruction.after, where)


def _candidates(
    instruction: Instruction, grid: Grid, last: tuple[Cell, ...]
) -> Iterator[ReferringExpression]:
    anchor = _anchor(instruction)
    if anchor is None:
        return
    around = [(way, (anchor[0] + dx, anchor[1] + dy, anchor[2] + dz)) for way, (dx, dy, dz) in _NEIGHBOURS]
    near = [(way, cell) for way, cell in around if in_zone(*cell) and grid[cell_index(*cell)]]
    for way, cell in near:
        for reference in _references(cell, grid, last):
            yield ReferringExpression(_refer(instruction, Beside(((way, 1),), reference)), cell)
    if len(last) == 1 and not near:
        offset = offset_of(last[0], anchor)
        if 1 <= sum(count for _, count in offset) <= FAR:
            yield ReferringExpression(_refer(instruction, Beside(offset, LastBlock())), last[0])


def _references(cell: Cell, grid: Grid, last: tuple[Cell, ...]) -> Iterator[Reference]:
    if cell in last and len({(x, z) for x, _, z in last}) == 1:  # a block or a tower has one top
        yield Anaphor()
    color = (int(grid[cell_index(*cell)]),)
    alike = cells_of(grid == color).tolist()
    (whole,) = (part for part in connected(map(tuple, alike)) if cell in part)
    setting = Resolution.of(grid, Context())
    named = [(Blocks(color, kind), whole) for kind in _NAMED]  # an arm of a larger shape is not called a row
    ends = [(Blocks(color, extreme=way), (cell,)) for way in _EXTREMES]
    for reference, cells in ((Blocks(color), (cell,)), *named, *ends):
        try:
            items = resolve(reference, setting)
        except Unresolved:
            continue
        if [sorted(item) for item in items] == [sorted(cells)]:
            yield reference


def offset_of(start: Cell, end: Cell) -> Offset:
    """Return the steps from one cell to another: first east or west, then south or north, then up or down."""
    ways = (Direction(way) for way in ("east", "west", "south", "north", "up", "down"))
    steps = ((way, int(np.dot(VECTORS[way], np.subtract(end, start)))) for way in ways)
    return tuple((way, count) for way, count in steps if count > 0)
