"""Build zone, colors, and validation of dense and sparse structures.

A *dense grid* is an integer array of shape (9, 11, 11) with axes [y, x, z]: the cell (x, y, z) lies at
`grid[y + 1, x + 5, z + 5]`, with x and z in -5..5 and y in -1..7 (y = -1 is the layer on the ground).
A *sparse structure* is a list of blocks (x, y, z, color id). North is -z, east +x, up +y.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import GridError

ZONE_SHAPE = (9, 11, 11)  # [y, x, z]
MIN_CORNER = (-5, -1, -5)  # the zone's first cell, and its last
MAX_CORNER = (5, 7, 5)
MIN_X, MIN_Y, MIN_Z = MIN_CORNER
MAX_X, MAX_Y, MAX_Z = MAX_CORNER
BLOCKS_PER_COLOR = 20

BlockGrid = npt.NDArray[np.int8]
Block = tuple[int, int, int, int]
Cell = tuple[int, int, int]


class NetAction(NamedTuple):
    """A block placed at a cell (`place`) or removed from it; `color` is its id."""

    place: bool
    x: int
    y: int
    z: int
    color: int

    @property
    def cell(self) -> Cell:
        """The cell (x, y, z)."""
        return self.x, self.y, self.z


class Color(IntEnum):
    """Block colors, numbered as the IGLU documentation does (`iglu.const.id2color`)."""

    AIR = 0
    BLUE = 1
    YELLOW = 2
    GREEN = 3
    ORANGE = 4
    PURPLE = 5
    RED = 6


COLORS = tuple(Color)[1:]
COLOR_NAMES = tuple(color.name.lower() for color in Color)

# The 2022 tools number the same six colors differently: blue, green, red, orange, purple, yellow.
_COLOR_OF_IGLU2022_ID = (
    Color.AIR,
    Color.BLUE,
    Color.GREEN,
    Color.RED,
    Color.ORANGE,
    Color.PURPLE,
    Color.YELLOW,
)
IGLU_ID_OF_IGLU2022 = np.array(_COLOR_OF_IGLU2022_ID, dtype=np.int8)
IGLU2022_ID_OF_IGLU = np.argsort(IGLU_ID_OF_IGLU2022).astype(np.int8)


def color_id(name: str) -> int:
    """Return the id of a color name, in any case: `color_id("red") == 6`. Raises `GridError` for other names."""
    try:
        return COLOR_NAMES.index(name.strip().lower())
    except (ValueError, AttributeError):
        raise GridError(f"unknown color {name!r}; expected one of {', '.join(COLOR_NAMES)}") from None


def color_name(color: int) -> str:
    """Return the lower-case name of a color id 0..6: `color_name(6) == "red"`."""
    if not 0 <= color < len(COLOR_NAMES):
        raise GridError(f"unknown color id {color!r}; expected 0..{len(COLOR_NAMES) - 1}")
    return COLOR_NAMES[color]


def in_zone(x: int, y: int, z: int) -> bool:
    """Return whether the cell (x, y, z) belongs to the build zone."""
    return MIN_X <= x <= MAX_X and MIN_Y <= y <= MAX_Y and MIN_Z <= z <= MAX_Z


def cell_index(x: int, y: int, z: int) -> tuple[int, int, int]:
    """Index of the cell (x, y, z) in a dense grid; raises `GridError` when it lies outside the zone."""
    if not in_zone(x, y, z):
        raise GridError(f"cell {(x, y, z)} lies outside the build zone (x, z in -5..5, y in -1..7)")
    return index_of((x, y, z))


def index_of(cell: Any) -> tuple[Any, Any, Any]:
    """Return the index of a cell (x, y, z), or of many as arrays. Nothing is checked."""
    x, y, z = cell
    return y - MIN_Y, x - MIN_X, z - MIN_Z


def color_at(grid: npt.NDArray[Any], cell: Any) -> int:
    """Return the color id at a cell (x, y, z) of the zone, 0 for air."""
    return int(grid[index_of(cell)])


def cells_of(mask: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the non-zero cells (x, y, z) of a dense grid or mask [9, 11, 11], int64 [k, 3], in its order."""
    y, x, z = np.asarray(mask).nonzero()
    return np.stack((x, y, z), axis=1) + MIN_CORNER


def canonical(grid: npt.NDArray[Any]) -> bytes:
    """Return a form that is equal for grids [9, 11, 11] equal up to shift and quarter turns; b"" for air."""
    forms = []
    for turns in range(4):
        turned = np.rot90(grid, turns, axes=(1, 2))
        columns = np.argwhere(turned.any(axis=0))
        if not len(columns):
            return b""
        low, high = columns.min(axis=0), columns.max(axis=0)
        cut = turned[:, low[0] : high[0] + 1, low[1] : high[1] + 1].astype(np.int8)
        forms.append(bytes(cut.shape) + cut.tobytes())
    return min(forms)


def as_dense(value: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Return an array [9, 11, 11] of any dtype. Raises `GridError` for another shape."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise GridError(f"{name} is not an array of shape {ZONE_SHAPE}: {error}") from None
    if array.shape != ZONE_SHAPE:
        raise GridError(f"{name} has shape {array.shape}, expected {ZONE_SHAPE} with axes [y, x, z]")
    return array


def as_grid(value: npt.ArrayLike, name: str = "grid") -> BlockGrid:
    """Return a validated, read-only int8 copy [9, 11, 11] of a dense grid with ids 0..6 (integral floats are accepted).

    Raises `GridError` for a wrong shape, a non-numeric type, fractions, or ids outside 0..6.
    """
    array = as_dense(value, name)
    if array.dtype.kind not in "iufb":
        raise GridError(f"{name} has dtype {array.dtype}, expected integers 0..6")
    bad = ~((array >= 0) & (array <= 6))
    if array.dtype.kind == "f":
        bad |= array != np.floor(array)
    if bad.any():
        x, y, z = cells_of(bad)[0].tolist()
        iy, ix, iz = index_of((x, y, z))
        raise GridError(
            f"{name} holds {array[iy, ix, iz]!r} at cell {(x, y, z)} "
            f"(index [{iy}, {ix}, {iz}]), expected a color id 0..6"
        )
    grid = array.astype(np.int8)
    grid.setflags(write=False)
    return grid


def blocks_to_grid(blocks: Iterable[Any], name: str = "blocks") -> BlockGrid:
    """Return the dense, read-only grid of blocks (x, y, z, color id).

    Raises `GridError` for a block that is not four integers, lies outside the zone, has an id outside 1..6, or
    shares its cell with another.
    """
    grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
    for x, y, z, color in _read_blocks(blocks, name, Color.BLUE):
        grid[index_of((x, y, z))] = color
    grid.setflags(write=False)
    return grid


def set_blocks(grid: npt.NDArray[Any], blocks: Iterable[Any], name: str = "blocks") -> npt.NDArray[Any]:
    """Return a copy of a dense grid in which these blocks (x, y, z, color id) are set; 0 makes a cell air.

    Raises `GridError` as `blocks_to_grid` does.
    """
    changed = grid.copy()
    for x, y, z, color in _read_blocks(blocks, name, Color.AIR):
        changed[index_of((x, y, z))] = color
    return changed


def _read_blocks(blocks: Iterable[Any], name: str, lowest: int) -> list[Block]:
    """Return blocks as integers. Raises `GridError` for one that is not valid; lowest: the least color id."""
    try:
        rows = list(blocks)
    except TypeError:
        raise GridError(f"{name} is {blocks!r}, expected a list of blocks (x, y, z, color id)") from None
    read: dict[Cell, Block] = {}
    for number, row in enumerate(rows):
        try:
            x, y, z, color = (int(value) for value in row)
            whole = all(float(value) == int(value) for value in row)
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise GridError(f"{name}[{number}] is {row!r}, expected four integers (x, y, z, color id)")
        if not in_zone(x, y, z):
            raise GridError(
                f"{name}[{number}] at {(x, y, z)} lies outside the build zone (x, z in -5..5, y in -1..7)"
            )
        if not lowest <= color <= 6:
            raise GridError(f"{name}[{number}] at {(x, y, z)} has color id {color}, expected {lowest:d}..6")
        if (x, y, z) in read:
            raise GridError(f"{name}[{number}] at {(x, y, z)} is a second block in the same cell")
        read[x, y, z] = (x, y, z, color)
    return list(read.values())


def grid_to_blocks(grid: npt.ArrayLike) -> list[Block]:
    """Return the sorted blocks (x, y, z, id) of the non-zero cells of a dense grid."""
    array = np.asarray(grid)
    if array.shape != ZONE_SHAPE:
        raise GridError(f"grid has shape {array.shape}, expected {ZONE_SHAPE} with axes [y, x, z]")
    cells = cells_of(array)
    ids = array[index_of(cells.T)]
    return sorted((x, y, z, int(c)) for (x, y, z), c in zip(cells.tolist(), ids, strict=True))


def _mapped(grid: npt.ArrayLike, table: npt.NDArray[np.int8], convention: str) -> npt.NDArray[Any]:
    array = np.asarray(grid)
    if array.dtype.kind not in "iub":
        raise GridError(f"grid has dtype {array.dtype}, expected integer color ids 0..6")
    if array.size and (array.min() < 0 or array.max() > 6):
        bad = array.min() if array.min() < 0 else array.max()
        raise GridError(f"grid holds {bad!r}, expected {convention} color ids 0..6")
    return table[array.astype(np.intp)].astype(array.dtype)


def to_iglu2022_ids(grid: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a grid of any shape, with this project's ids 0..6, in the ids of the 2022 tools. The dtype stays."""
    return _mapped(grid, IGLU2022_ID_OF_IGLU, "iglu_marl")


def from_iglu2022_ids(grid: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return a grid of any shape, with ids 0..6 of the 2022 tools, in this project's ids. The dtype stays."""
    return _mapped(grid, IGLU_ID_OF_IGLU2022, "2022")
