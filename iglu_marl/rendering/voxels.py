"""Pictures of imported structures: the file's own blocks and colors beside the structure in the game."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import BlockGrid
from iglu_marl.rendering.camera import axes_of
from iglu_marl.rendering.orbit import BACKGROUND, DEFAULT_AZIMUTH_DEG, DEFAULT_ELEVATION_DEG, orbit_view
from iglu_marl.rendering.renderer import Picture, check_size
from iglu_marl.rendering.sheets import _Sheet, _structure_facts

IMPORT_SIZE = (620, 1120)
_FINEST = 96  # cells of an edge that are drawn one by one
# Faces that this camera sees: the neighbour's direction, the corners, and the brightness.
_FACES = (
    ((0, 1, 0), ((0, 1, 0), (1, 1, 0), (1, 1, 1), (0, 1, 1)), 1.0),
    ((0, 0, 1), ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)), 0.84),
    ((-1, 0, 0), ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0)), 0.7),
)


def voxel_view(
    cells: npt.NDArray[np.int64], colors: npt.NDArray[np.uint8], *, size: tuple[int, int]
) -> Picture:
    """Return a picture uint8[height, width, 3] of blocks of any number and color, from the side of `orbit_view`.

    Args:
        cells: x (east), y (up), z (south) of each block [n, 3].
        colors: red, green, blue of each block [n, 3].
        size: height and width.

    """
    height, width = check_size(size)
    cells = cells - cells.min(axis=0)
    step = -(-int(cells.max() + 1) // _FINEST)
    cells, first = np.unique(cells // step, axis=0, return_index=True)
    colors = colors[first]
    filled = np.zeros(cells.max(axis=0) + 3, bool)  # with a margin of air
    filled[tuple((cells + 1).T)] = True
    axes = axes_of(DEFAULT_AZIMUTH_DEG, -DEFAULT_ELEVATION_DEG)
    corners, fills = [], []
    for neighbour, square, brightness in _FACES:
        seen = ~filled[tuple((cells + 1 + neighbour).T)]
        corners.append((cells[seen][:, None] + np.array(square)) @ axes.T)
        fills.append((colors[seen] * brightness).astype(np.uint8))
    faces, rgb = np.concatenate(corners), np.concatenate(fills)
    across, above = faces[..., 0], -faces[..., 1]
    scale = 0.9 * min(width / np.ptp(across), height / np.ptp(above))
    points = np.stack(
        [across - (across.max() + across.min()) / 2, above - (above.max() + above.min()) / 2], -1
    )
    points = points * scale + (width / 2, height / 2)
    picture = Image.new("RGB", (width, height), tuple(BACKGROUND))
    draw = ImageDraw.Draw(picture)
    for face in np.argsort(-faces[..., 2].mean(axis=1)).tolist():
        fill = tuple(rgb[face].tolist())
        edge = tuple(int(0.75 * part) for part in fill) if scale > 4 else fill
        draw.polygon([tuple(point) for point in points[face].tolist()], fill=fill, outline=edge)
    return np.array(picture)


def import_sheet(
    cells: npt.NDArray[np.int64],
    colors: npt.NDArray[np.uint8],
    grid: BlockGrid,
    *,
    title: str,
    size: tuple[int, int] = IMPORT_SIZE,
) -> Picture:
    """Return a sheet uint8[height, width, 3]: blocks as a file has them (`voxel_view`), and in the game."""
    sheet = _Sheet(size, IMPORT_SIZE)
    _structure_facts(sheet, grid)
    sheet.title(title)
    before, after = sheet.rows(sheet.top, sheet.height - sheet.margin, 2, 2)
    wide, high, deep = (np.ptp(cells, axis=0) + 1).tolist()
    label = f"in the file: {len(cells):,} blocks, {wide} x {deep} x {high}"
    sheet.panel(label, before, partial(voxel_view, cells, colors))
    sheet.panel("in the game", after, partial(orbit_view, grid, smoothing=3))
    return np.array(sheet.picture)
