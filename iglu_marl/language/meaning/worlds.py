"""Worlds that changes of blocks lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, cell_index, color_name, in_zone
from iglu_marl.language.meaning.blocks import CellEdit, EditKind, Reason
from iglu_marl.language.meaning.context import NamedCells, Resolution, Unresolved
from iglu_marl.language.meaning.placing import ALIKE, check_free
from iglu_marl.language.meaning.references import (
    Beside,
    Edge,
    Level,
    Location,
    NextTo,
    Reference,
    Spot,
    resolve,
)
from iglu_marl.language.meaning.regions import FLOOR, Item
from iglu_marl.language.meaning.shapes import (
    COMPASS,
    VECTORS,
    Box,
    Direction,
    dot,
    outermost,
    scaled,
    shifted,
)

Grid = npt.NDArray[np.int8]


ColoredCell = tuple[Cell, int]


MAX_OUTCOMES = 64
"""Maximum number of worlds for an instruction with a choice, such as "next to"."""


@dataclass(frozen=True)
class ExpectedWorld:
    """A world that an instruction leads to.

    Args:
        grid: int8 [9, 11, 11].
        cells: cells that the instruction is about, in order.
        earlier: the same for its parts before the last one.
        idle: indices of its parts that change nothing.
        names: names that it gives or extends.
        about: cells of the whole thing that it made taller, longer or shorter.

    """

    grid: Grid
    cells: tuple[Cell, ...]
    earlier: tuple[tuple[Cell, ...], ...] = ()
    idle: tuple[int, ...] = ()
    names: Mapping[str, NamedCells] = field(default_factory=dict, compare=False)
    about: tuple[Cell, ...] = ()


def changed_world(setting: Resolution, blocks: Iterable[tuple[Cell, int]]) -> ExpectedWorld:
    """Return the world with blocks of these colours; 0 removes."""
    grid = setting.grid.copy()
    cells = []
    for cell, color in blocks:
        grid[cell_index(*cell)] = color
        cells.append(cell)
    return ExpectedWorld(grid, tuple(dict.fromkeys(cells)))


def edited_worlds(edit: CellEdit, setting: Resolution) -> list[ExpectedWorld]:
    """Return the world after an edit of one cell."""
    there = setting.color_at(edit.cell)
    if edit.action is EditKind.PLACE and there not in (0, edit.after):
        raise Unresolved(Reason.OCCUPIED, f"a {color_name(there)} block at {edit.cell}", color=there)
    if edit.action is not EditKind.PLACE and there != edit.after:
        if there == 0:
            raise Unresolved(Reason.NO_MATCH, f"no block at {edit.cell}")
        if edit.old_color not in (None, there):
            raise Unresolved(Reason.WRONG_COLOR, f"a {color_name(there)} block at {edit.cell}", color=there)
    if edit.action is EditKind.REMOVE and there == 0:
        raise Unresolved(Reason.NO_MATCH, f"no block at {edit.cell}")
    return [changed_world(setting, [(edit.cell, edit.after)])]


def placed_worlds(
    ways: list[list[tuple[Cell, int]]], where: Location, setting: Resolution
) -> list[ExpectedWorld]:
    """Return the worlds of a placement; only "next to" leaves the choice to the builder."""
    if len(ways) > 1 and not (setting.chooses_where or isinstance(where, NextTo)):
        cells = tuple(tuple(cell for cell, _ in blocks) for blocks in ways)
        raise Unresolved(Reason.AMBIGUOUS, f"{len(ways)} places", reference=where, choices=cells)
    return [added_world(setting, blocks) for blocks in ways[:MAX_OUTCOMES]]


def standing_items(reference: Reference, setting: Resolution) -> list[Item]:
    """Return the blocks that a reference means, by things; without those that are gone."""
    items = [tuple(cell for cell in item if setting.color_at(cell)) for item in resolve(reference, setting)]
    items = [item for item in items if item]
    if not items:
        raise Unresolved(Reason.NO_MATCH, "no block is there")
    return items


def standing_cells(reference: Reference, setting: Resolution) -> list[Cell]:
    """Return the cells of the blocks that a reference means."""
    return list(dict.fromkeys(cell for item in standing_items(reference, setting) for cell in item))


_REACH = {1: 7, 0: 5, -1: 1}
"""How far the zone reaches along a vector, by its vertical part."""


def _beside_itself(to: Any, cells: list[Cell], setting: Resolution) -> list[Cell]:
    """Return the vector that brings a copy beside all of its original; none if the place is elsewhere."""
    if not isinstance(to, Beside) or not to.offset:
        return []
    if {*cells}.isdisjoint(cell for item in resolve(to.of, setting) for cell in item):
        return []
    way, count = to.offset[0]
    step = setting.vector(((way, 1),))
    reach = [dot(cell, step) for cell in cells]
    return [scaled(step, max(reach) - min(reach) + count)]


def _agreeing(to: tuple[Any, ...], cells: list[Cell], setting: Resolution, own: bool) -> list[Cell]:
    """Return the vectors that bring something to several places at once; of levels, to that height."""
    first, *more = (vectors_to(one, cells, setting, own) for one in to if not isinstance(one, Level))
    low = min(cell[1] for cell in cells) - FLOOR + 1
    levels = {one.height - low for one in to if isinstance(one, Level)}
    found = [one for one in first if all(one in other for other in more) and levels <= {one[1]}]
    if not found:
        raise Unresolved(Reason.NO_PLACE, "the places do not agree")
    return found


def vectors_to(to: Any, cells: list[Cell], setting: Resolution, own: bool = False) -> list[Cell]:
    """Return the vectors that bring something to a place: its lowest block, or the one that fits a corner.

    to: also several places that must agree. own: a place on top of it lies beside all of it.
    """
    if isinstance(to, tuple):
        return _agreeing(to, cells, setting, own)
    if own and (vectors := _beside_itself(to, cells, setting)):
        return vectors
    if isinstance(to, Edge):
        step = setting.vector_of(to.way)
        far = _REACH[step[1]] - max(dot(cell, step) for cell in cells)
        return [scaled(step, far)]
    groups = to.anchors(setting)
    if len(groups) > 1:
        raise Unresolved(Reason.AMBIGUOUS, f"{len(groups)} places to move to", reference=to)
    goals = [cell for cell in groups[0].cells if in_zone(*cell)]
    if goals and isinstance(to, Beside):  # beside something tall: at its base
        goals = [cell for cell in goals if cell[1] == min(y for _, y, _ in goals)]
    if not goals:
        raise Unresolved(Reason.OUTSIDE, str(groups[0].cells[:1]))
    start = _base_of(cells, to)
    if len(goals) > 1 and not (setting.chooses_where or isinstance(to, NextTo)):
        raise Unresolved(Reason.AMBIGUOUS, f"{len(goals)} places to move to", reference=to)
    return [(goal[0] - start[0], goal[1] - start[1], goal[2] - start[2]) for goal in goals]


def _base_of(cells: list[Cell], to: Location) -> Cell:
    """Return the block that comes to stand at a place: the lowest one, or the one that fits a corner."""
    lowest = outermost(cells, (0, -1, 0))
    if len(lowest) == 1:
        return lowest[0]
    if not isinstance(to, Spot) or not abs(to.x) == abs(to.z) == 5:
        raise Unresolved(Reason.AMBIGUOUS, f"which of {len(lowest)} blocks shall stand there")
    box = Box.of(cells)
    return box.high[0] if to.x > 0 else box.low[0], box.low[1], box.high[2] if to.z > 0 else box.low[2]


def moved_world(cells: list[Cell], goals: list[Cell], setting: Resolution) -> ExpectedWorld:
    """Return the world in which blocks are at other cells."""
    blocks = [(goal, setting.color_at(cell)) for cell, goal in zip(cells, goals, strict=True)]
    check_free(blocks, setting, frozenset(cells))
    cleared = changed_world(setting, [(cell, 0) for cell in cells])
    return changed_world(setting.then(cleared.grid, ()), blocks)


def exchanged_world(items: list[list[Cell]], setting: Resolution) -> ExpectedWorld:
    """Return the world in which two things on the same outline have changed places."""
    lows = [Box.of(item).low for item in items]
    shapes = [[shifted(c, scaled(low, -1)) for c in item] for item, low in zip(items, lows, strict=True)]
    if {c[::2] for c in shapes[0]} != {c[::2] for c in shapes[1]}:
        raise Unresolved(Reason.AMBIGUOUS, "what changes places: they are not of one shape")
    goals = [shifted(c, low) for shape, low in zip(shapes, lows[::-1], strict=True) for c in shape]
    return moved_world([*items[0], *items[1]], goals, setting)


def added_world(setting: Resolution, blocks: list[tuple[Cell, int]]) -> ExpectedWorld:
    """Return the world with new blocks."""
    check_free(blocks, setting)
    return changed_world(setting, blocks)


def about_whole(items: list[Item], made: ExpectedWorld) -> ExpectedWorld:
    """Return a world with the whole thing that grew."""
    after = Resolution(grid=made.grid)
    whole = dict.fromkeys(cell for part in (*items, made.cells) for cell in part if after.color_at(cell))
    return replace(made, about=tuple(whole))


def continued_blocks(
    item: Item, vector: Cell, count: int, color: int | None, setting: Resolution
) -> list[tuple[Cell, int]]:
    """Return the blocks of further layers of something; color ALIKE: their colours go on repeating as before."""
    blocks = []
    for end in outermost(item, vector):
        line = [end]
        while color == ALIKE and (cell := shifted(line[-1], scaled(vector, -1))) in item:
            line.append(cell)
        colors = [color if color and color != ALIKE else setting.color_at(cell) for cell in line]
        periods = [n for n in range(1, len(line)) if colors[n:] == colors[:-n]] if color == ALIKE else [1]
        if not periods:
            raise Unresolved(Reason.AMBIGUOUS, "how the pattern goes on")
        blocks += [(shifted(end, scaled(vector, i)), colors[-i % periods[0]]) for i in range(1, count + 1)]
    return blocks


def resized_blocks(instruction: Any, item: Item, setting: Resolution) -> list[tuple[Cell, int]]:
    """Return the blocks that a thing gains or loses."""
    vector = VECTORS[_growth(instruction, item, setting)]
    reach = [dot(cell, vector) for cell in item]
    now = max(reach) - min(reach) + 1
    wanted = _wanted_size(instruction, vector, now, max(reach), setting)
    if wanted < 1:
        raise Unresolved(Reason.NO_NUMBER, f"{wanted} blocks")
    if wanted <= now:
        return [(cell, 0) for cell in item if dot(cell, vector) > max(reach) - (now - wanted)]
    return continued_blocks(item, vector, wanted - now, instruction.color, setting)


def _growth(instruction: Any, item: Item, setting: Resolution) -> Direction:
    """Return the direction of growth: that in which a row was laid, up for all else."""
    if instruction.way is not None:
        return setting.on_map(instruction.way)
    spans = Box.of(item).spans
    if spans[1] > 0 or (instruction.times is None and instruction.to) or not any(spans):
        return Direction.UP
    axis = spans.index(max(spans))
    laid = [cell for cell in setting.last if cell in item]
    if len(laid) < 2 or len(laid) < len(item) or sum(span > 0 for span in spans) > 1:
        raise Unresolved(Reason.NO_DIRECTION, "")
    ahead = laid[-1][axis] > laid[0][axis]
    return next(way for way in COMPASS if VECTORS[way][axis] == (1 if ahead else -1))


def _wanted_size(instruction: Any, vector: Cell, now: int, edge: int, setting: Resolution) -> int:
    """Return the size along a vector; `edge` is how far it reaches now."""
    if instruction.like is not None:
        reach = [dot(cell, vector) for part in resolve(instruction.like, setting) for cell in part]
        return max(reach) - min(reach) + 1 + (instruction.size or 0)
    if instruction.times is not None:
        if now * instruction.times % 1:
            raise Unresolved(Reason.NO_NUMBER, f"half of {now}")
        return int(now * instruction.times)
    if instruction.size is None:  # up to the edge
        return now + _REACH[vector[1]] - edge
    return instruction.size if instruction.to else now + instruction.size
