"""Descriptions of a world for a model: layers, or lists of blocks.

Places are given as in instructions: blocks east or west and north or south of the centre column, and a height, where
1 is on the ground. Height h is y = h - 2, north is -z.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.llm.prompting import quoted
from iglu_marl.core.grid import COLOR_NAMES, MIN_Y, Cell, cells_of, color_at
from iglu_marl.core.pose import Pose
from iglu_marl.envs.rendering import LETTERS as SMALL_LETTERS
from iglu_marl.game.knowledge import SIDES
from iglu_marl.language import CellEdit, render
from iglu_marl.planning import Edit

LETTERS = SMALL_LETTERS.upper()  # of the colour ids 0..6
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")

Grid = npt.NDArray[Any]


def place_of(cell: Cell) -> str:
    """Format a cell (x, y, z) as `2 east, 3 north, height 1`."""
    x, y, z = cell
    across = f"{abs(x)} {'east' if x > 0 else 'west'}" if x else ""
    along = f"{abs(z)} {'south' if z > 0 else 'north'}" if z else ""
    place = ", ".join(part for part in (across, along) if part) or "centre"
    return f"{place}, height {y + 2}"


def _blocks(grid: Grid) -> list[tuple[Cell, int]]:
    return [((x, y, z), color_at(grid, (x, y, z))) for x, y, z in cells_of(grid).tolist()]


def coordinates_text(grid: Grid) -> str:
    """List the blocks, one per line: `red: 2 east, 3 north, height 1`."""
    lines = [f"{COLOR_NAMES[color]}: {place_of(cell)}" for cell, color in _blocks(grid)]
    return "\n".join(lines) or "(no blocks)"


def layers_text(grid: Grid) -> str:
    """Draw a map of each height that has blocks, north at the top, cropped to the blocks."""
    blocks = _blocks(grid)
    if not blocks:
        return "(no blocks)"
    xs, zs = [cell[0] for cell, _ in blocks], [cell[2] for cell, _ in blocks]
    east, south = range(min(xs), max(xs) + 1), range(min(zs), max(zs) + 1)
    used = [f"{letter} = {name}" for letter, name in zip(LETTERS, COLOR_NAMES, strict=True) if letter != "."]
    lines = [f"({', '.join(used)}, . = empty; west to east, north at the top; all else is empty)"]
    for y in sorted({cell[1] for cell, _ in blocks}):
        lines.append(f"height {y + 2}{' (on the ground)' if y == MIN_Y else ''}:")
        lines.append(f"{'':>9}" + " ".join(f"{_mark(x, 'E', 'W'):>2}" for x in east))
        for z in south:
            row = " ".join(f"{LETTERS[color_at(grid, (x, y, z))]:>2}" for x in east)
            lines.append(f"{_mark(-z, 'N', 'S'):>8} {row}")
    return "\n".join(lines)


def _mark(number: int, positive: str, negative: str) -> str:
    return f"{abs(number)}{positive if number > 0 else negative}" if number else "0"


def describe_sides(sides: Grid) -> str:
    """Draw the views of the sides that are seen, int [4, 9, 11], the highest layer first."""
    lines = []
    for side, view in zip(SIDES, sides, strict=True):
        if (view < 0).all():
            continue
        lines.append(
            f"From the {side}, your left to your right (nearest blocks; what is behind them is hidden):"
        )
        for layer in range(int(np.flatnonzero(view.any(axis=1)).max(initial=0)), -1, -1):
            lines.append(f"height {layer + 1}: {' '.join(LETTERS[color] for color in view[layer])}")
    return "\n".join(lines)


def describe_changes(grid: Grid, target: Grid, limit: int = 60) -> str:
    """List the remaining changes as instructions: wrong blocks first, then missing ones from the ground up."""
    wrong: list[str] = []
    missing: list[str] = []
    for x, y, z in cells_of(grid != target).tolist():
        cell = (x, y, z)
        old, new = color_at(grid, cell), color_at(target, cell)
        (wrong if old else missing).append(render(CellEdit.between(cell, old, new)))
    lines = wrong + missing
    more = [f"(and {len(lines) - limit} more)"] if len(lines) > limit else []
    return "\n".join([*lines[:limit], *more]) or "(nothing: the build is the target)"


def describe_pose(pose: Pose) -> tuple[str, str]:
    """Describe where a builder stands, and in which direction it looks."""
    x, y, z, yaw, pitch = pose
    across = f"{abs(x):.1f} {'east' if x > 0 else 'west'}" if abs(x) >= 0.05 else ""
    along = f"{abs(z):.1f} {'south' if z > 0 else 'north'}" if abs(z) >= 0.05 else ""
    place = f"{', '.join(part for part in (across, along) if part)} of" if across or along else "at"
    level = "on the ground" if y < 0.25 else f"with the feet {y:.1f} blocks above the ground"
    gaze = _WINDS[int(np.floor(yaw / 45 + 0.5)) % 8]
    tilt = " and down" if pitch < -20 else " and up" if pitch > 20 else ""
    return f"{place} the centre, {level}", gaze + tilt


def describe_edits(edits: Iterable[Edit], grid: Grid) -> str:
    """List the edits that are in place in a build: `red at 2 east, height 1; removed centre, height 2`."""
    return edits_text((edit.cell, edit.color) for edit in edits if color_at(grid, edit.cell) == edit.color)


def edits_text(edits: Iterable[tuple[Cell, int]]) -> str:
    """List edits, cells with colour ids (0: removed), as `describe_edits` does."""
    lines = [
        f"{COLOR_NAMES[color]} at {place_of(cell)}" if color else f"removed {place_of(cell)}"
        for cell, color in edits
    ]
    return "; ".join(lines) or "nothing"


def names_text(names: Mapping[str, Iterable[Cell]]) -> str:
    """List the cells of what has a name: `"roof": 2 east, height 1; 3 east, height 1`."""
    return "\n".join(
        f"{quoted(name)}: {'; '.join(map(place_of, cells)) or 'nothing'}" for name, cells in names.items()
    )


def encode_png(picture: npt.NDArray[np.uint8]) -> bytes:
    """Encode a picture uint8 [height, width, 3] as a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.asarray(picture, dtype=np.uint8)).save(file, "PNG")
    return file.getvalue()


def describe_build(grid: Grid, view: str) -> str:
    """Describe a build by the view "layers" or "coordinates"."""
    return coordinates_text(grid) if view == "coordinates" else layers_text(grid)


def inventory_text(inventory: Iterable[float]) -> str:
    """List the numbers of blocks left: `blue 20, yellow 0, …`."""
    counts = zip(COLOR_NAMES[1:], inventory, strict=True)
    return ", ".join(f"{name} {int(count)}" for name, count in counts)
