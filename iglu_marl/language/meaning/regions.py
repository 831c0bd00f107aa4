"""Cells around things where new blocks can go: sides, gaps and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.language.meaning.context import Resolution
from iglu_marl.language.meaning.shapes import VECTORS, Direction, scaled, shifted

Item = tuple[Cell, ...]
"""One thing that a description means: a block, or the cells of a group."""
FLOOR, REACH = -1, 5


@dataclass(frozen=True)
class Anchors:
    """The cells at one thing where new blocks can go, and the direction from the thing.

    cells: candidates. way: a vector, None for a place of the map. item: the thing. whole: fill the whole region.
    axes: along which a row lies there, if certain.
    """

    cells: tuple[Cell, ...]
    way: Cell | None = None
    item: Item = ()
    whole: bool = False
    axes: tuple[Cell, ...] = ()


def outer(item: Item, vector: Cell, distance: int = 1) -> tuple[Cell, ...]:
    """Return the cells `distance` steps beyond a thing, from the last block of each line along the vector."""
    own = set(item)
    found = []
    for cell in item:
        line = shifted(cell, vector)
        if line not in own:
            found.append(shifted(cell, scaled(vector, distance)))
    return tuple(cell for cell in dict.fromkeys(found) if cell not in own)


def climbed(cell: Cell, setting: Resolution) -> Cell:
    """Return the first free cell above."""
    while setting.color_at(cell):
        cell = shifted(cell, (0, 1, 0))
    return cell


def on_column(x: int, z: int, setting: Resolution) -> Cell:
    """Return the first free cell of a column that stands on the ground."""
    return climbed((x, FLOOR, z), setting)


def ring(item: Item) -> list[Cell]:
    """Return the cells around the lowest layer of a thing, with the corners."""
    floor = min(cell[1] for cell in item)
    base = {cell for cell in item if cell[1] == floor}
    steps = [(x, 0, z) for x in (-1, 0, 1) for z in (-1, 0, 1)]
    return sorted({shifted(cell, step) for cell in base for step in steps} - base)


def connected(cells: Iterable[Cell]) -> list[Item]:
    """Return the groups of cells that are connected through faces, sorted."""
    todo, found = set(cells), []
    while todo:
        group = [todo.pop()]
        for cell in group:
            near = {shifted(cell, way) for way in VECTORS.values()} & todo
            group += near
            todo -= near
        found.append(tuple(sorted(group)))
    return sorted(found)


def joined(cells: frozenset[Cell], gaps: list[tuple[Cell, ...]]) -> bool:
    """Return whether each connected part of some cells touches a gap."""
    near = {shifted(cell, way) for gap in gaps for cell in gap for way in VECTORS.values()}
    return not any(near.isdisjoint(part) for part in connected(cells))


def gaps_between(
    setting: Resolution, ones: frozenset[Cell], others: frozenset[Cell]
) -> list[tuple[Cell, ...]]:
    """Return the straight lines of free cells between blocks."""
    ways = [VECTORS[Direction(way)] for way in ("east", "west", "up", "down", "south", "north")]
    found = []
    for cell in sorted(ones):
        for vector in ways[::2] if ones == others else ways:
            line, at = [], shifted(cell, vector)
            while in_zone(*at) and not setting.color_at(at) and at not in others:
                line.append(at)
                at = shifted(at, vector)
            if line and at in others:
                found.append(tuple(sorted(line)))
    return list(dict.fromkeys(found))


def merged(gaps: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Return the shortest gaps, with those that touch each other as one."""
    shortest = min(len(gap) for gap in gaps)
    regions = connected(cell for gap in gaps for cell in gap if len(gap) == shortest)
    return [tuple(sorted(region, key=lambda cell: (cell[1], cell))) for region in regions]


def free_cells(cells: Iterable[Cell], setting: Resolution) -> list[Cell]:
    """Return the cells without a block."""
    return [cell for cell in cells if in_zone(*cell) and not setting.color_at(cell)]
