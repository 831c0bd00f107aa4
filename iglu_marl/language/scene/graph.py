"""The scene graph: the things in a grid, and the relations between them.

A thing is a block, or a part of the structure that has a name:

| shape | definition |
|---|---|
| block | one block |
| row | a straight horizontal line of two or more blocks, as long as possible |
| tower | the same, upright; columns, pillars and stacks are towers |
| group | two or more blocks that are connected by faces |
| square, rectangle | a group of k x k, or k x m blocks (2 or more), flat or upright |
| wall | an upright rectangle |
| l | a group of two lines that meet at an end of both |
| t | of a line of odd length and one that leaves from its middle |
| plus | of two lines of the same odd length that cross in the middle |
| u | of three sides of a rectangle, the gap between the arms one block wide or more |
| ring | of the four sides of a rectangle of three by three or more |
| staircase | of towers of 1, 2, 3, ... blocks side by side, from the same layer on |
| diagonal | two or more blocks in a straight line, each meeting the next at an edge, and no other at a face or edge |

There are things of one colour, which ignore blocks of other colours, and things of any colours; the latter are "mixed"
unless all their blocks have one colour. A thing is `whole` if it is not part of a larger thing of the same shape. A
phrase without a colour means a whole thing: in a line red, red, blue "the row" is mixed and has three blocks, "the
red row" has two.

Heights count layers from the ground, 1 .. 9. The `height` of a thing is that of its top, its `level` that of its
bottom: "higher" compares tops, "starts higher" bottoms, and level 1 is on the ground. `layers` is its number of layers.

Relations use the map's frame (north, east, south, west), the builder's (behind, right, front, left; by its yaw, rounded
to the nearest quarter) and space. A thing is north of another if all of it is; above it, if all of it is higher and
their boxes share a column; on it, if it is above and they touch; next to it, if they share no block, and a block of one
shares a side face with a block of the other. `NORTH = -z`, `EAST = +x`.

If one of several things in a relation is meant, it is the nearest: the one with the fewest steps from block to block,
touching ones first (`nearest` in programs). Several equally near things are ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError, LanguageError
from iglu_marl.core.grid import COLOR_NAMES, ZONE_SHAPE, Cell, as_grid
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.program import RELATIONS, SHAPE_NAMES

ALL_SHAPES = kernels.SEVERAL | sum(1 << code for code in range(kernels.BLOCK, kernels.RING + 1))
MIXED = "mixed"
"""Colour of a thing of several colours."""
_ATTRIBUTES = ("shape", "color", "size", "height", "level", "layers", "whole")


@dataclass(frozen=True)
class Thing:
    """One node of the scene graph.

    Args:
        number: index in `Scene.things`.
        shape: one of `SHAPE_NAMES`.
        color: a colour name, or "mixed".
        size: number of blocks.
        height, level: highest and lowest layer, 1 = on the ground.
        layers: number of layers.
        whole: whether it is not part of a larger thing of its shape.
        low, high: its box of cells (x, y, z), ends included.
        cells: those of its blocks.

    """

    number: int
    shape: str
    color: str
    size: int
    height: int
    level: int
    layers: int
    whole: bool
    low: Cell
    high: Cell
    cells: tuple[Cell, ...]

    def __str__(self) -> str:
        many = "" if self.size == 1 else f" of {self.size} blocks"
        return f"{self.color} {self.shape}{many} at {self.low}"


def quarter_of(yaw_deg: float) -> int:
    """Return the quarter of a yaw: 0 north, 1 east, 2 south, 3 west; the nearest, ties to the even one."""
    return int(np.rint(yaw_deg / 90.0)) % 4


def _checked(grid: Any) -> npt.NDArray[np.int8]:
    if isinstance(grid, np.ndarray) and grid.dtype == np.int8 and grid.shape == ZONE_SHAPE:
        checked = plain(grid)
        # As unsigned numbers, negative ids are large: one pass checks both ends.
        if checked.view(np.uint8).max() <= 6:
            return checked
    return as_grid(grid).copy()


def plain(array: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return the array, or a contiguous writeable copy: kernels are compiled once per memory layout."""
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy()


class Scene:
    """The things in one world, as one builder sees them.

    Raises `GridError` if the grid or yaw is invalid.

    Args:
        grid: int8 [9, 11, 11] (or anything that `as_grid` takes). An int8 array may be kept without a copy: make a new
            scene when the world changes.
        yaw_deg: view of the builder.

    """

    def __init__(self, grid: npt.ArrayLike, yaw_deg: float = 0.0) -> None:
        self.grid = _checked(grid)
        try:
            self.quarter = quarter_of(float(yaw_deg))
        except (TypeError, ValueError, OverflowError):
            raise GridError(f"yaw_deg is {yaw_deg!r}, expected a finite number of degrees") from None

    @cached_property
    def table(self) -> npt.NDArray[np.int16]:
        """The table of things for the kernels: int16 [things, 15], see `kernels` for the columns."""
        return find(self.grid, ALL_SHAPES)

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """All things in the order of `SHAPE_NAMES`; of each shape by first cell, lowest layer first."""
        cells = cells_of(self.table, range(len(self.table)))
        return tuple(map(_thing, range(len(cells)), self.table.tolist(), cells))

    @cached_property
    def by_shape(self) -> dict[str, tuple[Thing, ...]]:
        """Things by shape."""
        return {name: tuple(thing for thing in self.things if thing.shape == name) for name in SHAPE_NAMES}

    def find(self, shape: str | None = None, **attributes: Any) -> tuple[Thing, ...]:
        """Return the things with these attributes: `scene.find("row", color="red", size=3, level=1, whole=True)`.

        Raises `LanguageError` if a name is unknown.
        """
        wanted = {name: value for name, value in {"shape": shape, **attributes}.items() if value is not None}
        known = {"shape": SHAPE_NAMES, "color": (*COLOR_NAMES[1:], MIXED)}
        for name, value in wanted.items():
            if name not in _ATTRIBUTES or value not in known.get(name, (value,)):
                raise LanguageError(
                    f"find got {name}={value!r}, expected shape ({', '.join(SHAPE_NAMES)}), "
                    f"{', '.join(_ATTRIBUTES[1:-1])} or {_ATTRIBUTES[-1]}"
                )
        return tuple(
            t for t in self.things if all(getattr(t, name) == value for name, value in wanted.items())
        )

    def related(self, thing: Thing, relation: str) -> tuple[Thing, ...]:
        """Return the things in a relation to this one: `related(tower, "on")` lie on the tower.

        Raises `LanguageError` if the relation is unknown.
        """
        if relation not in RELATIONS:
            raise LanguageError(f"unknown relation {relation!r}, expected one of {', '.join(RELATIONS)}")
        given, out = np.zeros((2, len(self.table)), np.uint8)
        given[thing.number] = 1
        kernels.relate(
            self.table, len(self.table), self.quarter, RELATIONS.index(relation), given, ALL_SHAPES, out
        )
        return tuple(self.things[number] for number in np.flatnonzero(out))

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        counts = [
            f"{len(found)} {name}{'s' if len(found) > 1 else ''}"
            for name, found in self.by_shape.items()
            if found
        ]
        return f"Scene({', '.join(counts) or 'empty'})"


def find(grid: npt.NDArray[np.int8], wanted: int) -> npt.NDArray[np.int16]:
    """Return the table of things of a valid grid, int16 [things, 15], by `kernels.find_things`."""
    room = kernels.THINGS_PER_BLOCK * int(np.count_nonzero(grid)) + 1
    things = np.empty((room, kernels.COLUMNS), np.int16)
    return things[: kernels.find_things(grid, wanted, things)]


def cells_of(table: npt.NDArray[np.int16], numbers: Iterable[int]) -> list[tuple[Cell, ...]]:
    """Return the sorted cells (x, y, z) of things of a table."""
    rows = table.tolist()
    found = []
    for number in numbers:
        row = rows[number]
        x0, x1, y0, y1, z0, z1 = row[kernels.X0 : kernels.Z1 + 1]
        if row[kernels.SIZE] == (x1 - x0 + 1) * (y1 - y0 + 1) * (z1 - z0 + 1):
            found.append(tuple(product(range(x0 - 5, x1 - 4), range(y0 - 1, y1), range(z0 - 5, z1 - 4))))
            continue
        blocks = takewhile(lambda row: row[kernels.SHAPE] == kernels.BLOCK, rows)
        own = [block for block in blocks if row[kernels.LABEL] in block[kernels.LABEL : kernels.PART + 1]]
        found.append(tuple(sorted((b[kernels.X0] - 5, b[kernels.Y0] - 1, b[kernels.Z0] - 5) for b in own)))
    return found


def table_of(items: Sequence[Sequence[Cell]]) -> tuple[npt.NDArray[np.int16], int]:
    """Return a table for sets of cells (x, y, z) and the index of the first set.

    Their blocks, without colours, come before them.
    """
    sizes = np.array([len(item) for item in items])
    cells = np.array([cell for item in items for cell in item]) + (5, 1, 5)
    starts = np.cumsum(sizes) - sizes
    first = len(cells)
    table = np.zeros((first + len(items), kernels.COLUMNS), np.int16)
    low, high = table[:, kernels.X0 : kernels.Z1 : 2], table[:, kernels.X1 : kernels.Z1 + 1 : 2]
    low[:first] = high[:first] = cells
    low[first:], high[first:] = np.minimum.reduceat(cells, starts), np.maximum.reduceat(cells, starts)
    full = (high[first:] - low[first:] + 1).prod(axis=1) == sizes
    table[:first, kernels.SHAPE] = kernels.BLOCK
    table[first:, kernels.SHAPE] = np.where(full, kernels.RECTANGLE, kernels.GROUP)
    table[first:, kernels.LABEL] = np.arange(1, len(items) + 1)
    table[:first, kernels.LABEL] = table[:first, kernels.PART] = np.repeat(
        table[first:, kernels.LABEL], sizes
    )
    return table, first


def _thing(number: int, row: list[int], cells: tuple[Cell, ...]) -> Thing:
    return Thing(
        number=number,
        shape=SHAPE_NAMES[row[kernels.SHAPE] - 1],
        color=COLOR_NAMES[row[kernels.COLOR]] if row[kernels.COLOR] else MIXED,
        size=row[kernels.SIZE],
        height=row[kernels.HEIGHT],
        level=row[kernels.LEVEL],
        layers=row[kernels.LAYERS],
        whole=bool(row[kernels.WHOLE]),
        low=(row[kernels.X0] - 5, row[kernels.Y0] - 1, row[kernels.Z0] - 5),
        high=(row[kernels.X1] - 5, row[kernels.Y1] - 1, row[kernels.Z1] - 5),
        cells=cells,
    )
