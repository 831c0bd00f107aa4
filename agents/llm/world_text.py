"""A world for a model to read: layers, lists of blocks or pictures, in the words of the instructions.

Places are told as architects tell them: blocks east or west and north or south of the centre column, and heights, of
which 1 is on the ground. Height h is y = h - 2, north is -z.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES, MIN_Y, Cell, cells_of, color_at
from iglu_marl.envs.rendering import LETTERS as SMALL_LETTERS
from iglu_marl.language import CellEdit, render
from iglu_marl.planning import Edit

LETTERS = SMALL_LETTERS.upper()  # of the colour ids 0..6
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")

Grid = npt.NDArray[Any]


def height_of(y: int) -> int:
    """The height, 1..9, of a block at y = -1..7."""
    return y + 2


def place_of(cell: Cell) -> str:
    """`2 east, 3 north, height 1` of a cell (x, y, z)."""
    x, y, z = cell
    across = f"{abs(x)} {'east' if x > 0 else 'west'}" if x else ""
    along = f"{abs(z)} {'south' if z > 0 else 'north'}" if z else ""
    place = ", ".join(part for part in (across, along) if part) or "centre"
    return f"{place}, height {height_of(y)}"


def _blocks(grid: Grid) -> list[tuple[Cell, int]]:
    """The blocks of a grid [9, 11, 11] as (x, y, z) and colour id, from the ground up."""
    return [((x, y, z), color_at(grid, (x, y, z))) for x, y, z in cells_of(grid).tolist()]


def told_as_coordinates(grid: Grid) -> str:
    """One line a block: `red: 2 east, 3 north, height 1`."""
    lines = [f"{COLOR_NAMES[color]}: {place_of(cell)}" for cell, color in _blocks(grid)]
    return "\n".join(lines) or "(no blocks)"


def told_as_layers(grid: Grid) -> str:
    """A map of each height that has blocks, north at the top; only the rows and columns around the blocks."""
    blocks = _blocks(grid)
    if not blocks:
        return "(no blocks)"
    xs, zs = [cell[0] for cell, _ in blocks], [cell[2] for cell, _ in blocks]
    east, south = range(min(xs), max(xs) + 1), range(min(zs), max(zs) + 1)
    used = [f"{letter} = {name}" for letter, name in zip(LETTERS, COLOR_NAMES, strict=True) if letter != "."]
    lines = [f"({', '.join(used)}, . = empty; west to east, north at the top; all else is empty)"]
    for y in sorted({cell[1] for cell, _ in blocks}):
        lines.append(f"height {height_of(y)}{' (on the ground)' if y == MIN_Y else ''}:")
        lines.append(f"{'':>9}" + " ".join(f"{_mark(x, 'E', 'W'):>2}" for x in east))
        for z in south:
            row = " ".join(f"{LETTERS[color_at(grid, (x, y, z))]:>2}" for x in east)
            lines.append(f"{_mark(-z, 'N', 'S'):>8} {row}")
    return "\n".join(lines)


def _mark(number: int, positive: str, negative: str) -> str:
    return f"{abs(number)}{positive if number > 0 else negative}" if number else "0"


def told_changes(grid: Grid, target: Grid, limit: int = 60) -> str:
    """What is still to be done, an instruction a line: what is wrong, then what is missing from the ground up."""
    wrong: list[str] = []
    missing: list[str] = []
    for x, y, z in cells_of(grid != target).tolist():
        cell = (x, y, z)
        old, new = color_at(grid, cell), color_at(target, cell)
        (wrong if old else missing).append(render(CellEdit.between(cell, old, new)))
    lines = wrong + missing
    more = [f"(and {len(lines) - limit} more)"] if len(lines) > limit else []
    return "\n".join([*lines[:limit], *more]) or "(nothing: the build is the target)"


def told_pose(agent_pos: npt.NDArray[Any]) -> tuple[str, str]:
    """Where a builder stands and whither it looks, in words, from agentPos (x, y, z, pitch, yaw)."""
    x, y, z, pitch, yaw = (float(value) for value in agent_pos)
    across = f"{abs(x):.1f} {'east' if x > 0 else 'west'}" if abs(x) >= 0.05 else ""
    along = f"{abs(z):.1f} {'south' if z > 0 else 'north'}" if abs(z) >= 0.05 else ""
    place = f"{', '.join(part for part in (across, along) if part)} of" if across or along else "at"
    level = "on the ground" if y < 0.25 else f"with the feet {y:.1f} blocks above the ground"
    gaze = _WINDS[int(np.floor(yaw / 45 + 0.5)) % 8]
    tilt = " and down" if pitch < -20 else " and up" if pitch > 20 else ""
    return f"{place} the centre, {level}", gaze + tilt


def told_edits(edits: Iterable[Edit], grid: Grid) -> str:
    """Edits that are in place in a build, as text: `red at 2 east, height 1; removed centre, height 2`."""
    done = [edit for edit in edits if color_at(grid, edit.cell) == edit.color]
    lines = [
        f"{COLOR_NAMES[e.color]} at {place_of(e.cell)}" if e.color else f"removed {place_of(e.cell)}"
        for e in done
    ]
    return "; ".join(lines) or "nothing"


def pictured(grid: Grid) -> bytes:
    """A PNG of a build, seen from two sides, with numbered axes."""
    from iglu_marl.rendering import axes_view

    return as_png(axes_view(grid))


def as_png(picture: npt.NDArray[np.uint8]) -> bytes:
    """A picture uint8 [height, width, 3] as the bytes of a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.asarray(picture, dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


def told(grid: Grid, view: str) -> str:
    """A build as text, in one of the views "layers" and "coordinates", or the shorter of them ("auto")."""
    found = {"layers": told_as_layers, "coordinates": told_as_coordinates}
    if view in found:
        return found[view](grid)
    return min((tell(grid) for tell in found.values()), key=len)


def counts_of(inventory: Iterable[float]) -> dict[str, int]:
    """The blocks that are left, by colour name."""
    found: dict[str, int] = defaultdict(int)
    for name, count in zip(COLOR_NAMES[1:], inventory, strict=True):
        found[name] = int(count)
    return dict(found)
