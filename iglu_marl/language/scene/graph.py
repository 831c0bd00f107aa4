"""The scene graph: the things in a grid, found by rule, and the relations between them.

A thing is a block, or a part of the structure that has a name:

| shape | what it is |
|---|---|
| block | one block |
| row | a straight horizontal line of two or more blocks of one colour, as long as it can be |
| tower | the same, upright |
| square | k x k blocks of one colour (k of 2 or more), flat or upright, that no other of its plane adjoins |
| group | two or more blocks that hang together by their faces, of any colours |

Relations hold between things in the map's frame (north, east, south, west), in the builder's (behind, right, front,
left, seen from where it looks: its yaw, rounded to the nearest quarter) and in space. One thing is north of another
when all of it is; above it, when all of it is higher and their boxes share a column; on it, when it is above and they
touch; next to it, when blocks of theirs share a side face. `NORTH = -z`, `EAST = +x`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError, LanguageError
from iglu_marl.core.grid import COLOR_NAMES, ZONE_SHAPE, Cell, as_grid
from iglu_marl.language.scene import kernels
from iglu_marl.language.scene.program import RELATIONS, SHAPE_NAMES

ALL_SHAPES = sum(1 << code for code in range(kernels.BLOCK, kernels.GROUP + 1))
MIXED = "mixed"
"""The colour of a group of several colours."""


@dataclass(frozen=True)
class Thing:
    """One node of the scene graph.

    number: its place in `Scene.things`. shape: block, row, tower, square or group. color: a colour name, or "mixed".
    size: its blocks. height: of its lowest layer, 1 = on the ground. low, high: its box of cells (x, y, z),
    ends included.
    cells: the cells (x, y, z) of its blocks.
    """

    number: int
    shape: str
    color: str
    size: int
    height: int
    low: Cell
    high: Cell
    cells: tuple[Cell, ...]

    def __str__(self) -> str:
        many = "" if self.size == 1 else f" of {self.size} blocks"
        return f"{self.color} {self.shape}{many} at {self.low}"

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "number": self.number,
            "shape": self.shape,
            "color": self.color,
            "size": self.size,
            "height": self.height,
            "low": list(self.low),
            "high": list(self.high),
            "cells": [list(cell) for cell in self.cells],
        }


def quarter_of(yaw_deg: float) -> int:
    """Where a builder looks: 0 north, 1 east, 2 south, 3 west; the nearest, ties to the even one."""
    return int(np.rint(yaw_deg / 90.0)) % 4


def _checked(grid: Any) -> npt.NDArray[np.int8]:
    if isinstance(grid, np.ndarray) and grid.dtype == np.int8 and grid.shape == ZONE_SHAPE:
        checked = plain(grid)
        # Negative ids are large as unsigned ones: one pass checks both ends.
        if checked.view(np.uint8).max() <= 6:
            return checked
    return as_grid(grid).copy()


def plain(array: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The array, or a copy that is contiguous and writeable: kernels are compiled anew for any other layout."""
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy()


class Scene:
    """What there is in one world, for one builder.

    grid: int8 [9, 11, 11] (or anything that `as_grid` takes); an int8 array may be kept, not copied: make a
    new scene when the world changes. yaw_deg: where the builder looks.

    Raises `GridError` for a wrong grid.
    """

    def __init__(self, grid: npt.ArrayLike, yaw_deg: float = 0.0) -> None:
        self.grid = _checked(grid)
        try:
            self.quarter = quarter_of(float(yaw_deg))
        except (TypeError, ValueError, OverflowError):
            raise GridError(f"yaw_deg is {yaw_deg!r}, expected a finite number of degrees") from None

    @cached_property
    def table(self) -> npt.NDArray[np.int16]:
        """The things as the kernels see them: int16 [things, 11], see `kernels` for the columns."""
        return find(self.grid, ALL_SHAPES)

    @cached_property
    def things(self) -> tuple[Thing, ...]:
        """All things: blocks, rows, towers, squares, groups; each kind by its first cell, lowest layer first."""
        return tuple(_thing(self.table, number) for number in range(len(self.table)))

    @cached_property
    def by_shape(self) -> dict[str, tuple[Thing, ...]]:
        """The things of each shape."""
        return {name: tuple(thing for thing in self.things if thing.shape == name) for name in SHAPE_NAMES}

    def find(self, shape: str | None = None, **attributes: Any) -> tuple[Thing, ...]:
        """The things with these attributes: `scene.find("row", color="red", size=3, height=1)`.

        Raises `LanguageError` for unknown names.
        """
        wanted = {name: value for name, value in {"shape": shape, **attributes}.items() if value is not None}
        known = {"shape": SHAPE_NAMES, "color": (*COLOR_NAMES[1:], MIXED)}
        for name, value in wanted.items():
            if name not in ("shape", "color", "size", "height") or value not in known.get(name, (value,)):
                raise LanguageError(
                    f"find got {name}={value!r}, expected shape ({', '.join(SHAPE_NAMES)}), color, size or height"
                )
        return tuple(
            t for t in self.things if all(getattr(t, name) == value for name, value in wanted.items())
        )

    def related(self, thing: Thing, relation: str) -> tuple[Thing, ...]:
        """The things that stand in a relation to this one: `related(tower, "on")` lie on the tower.

        Raises `LanguageError` for an unknown relation.
        """
        if relation not in RELATIONS:
            raise LanguageError(f"unknown relation {relation!r}, expected one of {', '.join(RELATIONS)}")
        given, out = np.zeros((2, len(self.table)), np.uint8)
        given[thing.number] = 1
        kernels.relate(self.table, len(self.table), self.quarter, RELATIONS.index(relation), given, out)
        return tuple(self.things[number] for number in np.flatnonzero(out))

    def edges(self) -> Iterator[tuple[int, str, int]]:
        """The relations as edges: (a, "north", b) when thing a is north of thing b."""
        for thing in self.things:
            for relation in RELATIONS:
                for other in self.related(thing, relation):
                    yield other.number, relation, thing.number

    def to_json(self) -> dict[str, Any]:
        """The whole graph, JSON-ready: `objects`, and `relationships[relation][b]` = the numbers of all a."""
        return {
            "objects": [thing.to_json() for thing in self.things],
            "relationships": {
                relation: [[a.number for a in self.related(thing, relation)] for thing in self.things]
                for relation in RELATIONS
            },
        }

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
    """The table of things of a valid grid, int16 [things, 11]: blocks, and the shapes s with `wanted & (1 << s)`."""
    room = 4 * int(np.count_nonzero(grid)) + 1
    things = np.empty((room, kernels.COLUMNS), np.int16)
    scratch = np.empty((2, kernels.CELLS + 1), np.int16)
    count, _ = kernels.find_things(grid, wanted, things, scratch[0], scratch[1])
    return things[:count]


def _thing(table: npt.NDArray[np.int16], number: int) -> Thing:
    row = [int(value) for value in table[number]]
    (x0, x1), (y0, y1), (z0, z1) = row[4:6], row[6:8], row[8:10]
    if row[kernels.SHAPE] == kernels.GROUP:
        blocks = table[
            (table[:, kernels.SHAPE] == kernels.BLOCK) & (table[:, kernels.LABEL] == row[kernels.LABEL])
        ]
        indices = [(int(b[kernels.X0]), int(b[kernels.Y0]), int(b[kernels.Z0])) for b in blocks]
    else:
        box = (range(x0, x1 + 1), range(y0, y1 + 1), range(z0, z1 + 1))
        indices = [(x, y, z) for y in box[1] for x in box[0] for z in box[2]]
    return Thing(
        number=number,
        shape=SHAPE_NAMES[row[kernels.SHAPE] - 1],
        color=COLOR_NAMES[row[kernels.COLOR]] if row[kernels.COLOR] else MIXED,
        size=row[kernels.SIZE],
        height=row[kernels.HEIGHT],
        low=(x0 - 5, y0 - 1, z0 - 5),
        high=(x1 - 5, y1 - 1, z1 - 5),
        cells=tuple((x - 5, y - 1, z - 5) for x, y, z in indices),
    )
