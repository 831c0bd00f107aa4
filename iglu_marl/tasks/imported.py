"""Structures from other programs as tasks: `import_structure("castle.vox")`."""

from __future__ import annotations

import os
import warnings
from typing import Literal

import numpy as np

from iglu_marl.core.arguments import check_option
from iglu_marl.core.errors import TaskError
from iglu_marl.core.grid import MIN_CORNER, ZONE_SHAPE, BlockGrid, index_of
from iglu_marl.core.task import Task
from iglu_marl.tasks.voxel_colors import nearest_colors
from iglu_marl.tasks.voxel_files import VoxelModel, read_voxels

Fit = Literal["refuse", "scale", "crop"]
FITS = ("refuse", "scale", "crop")
ZONE_SIZE = (ZONE_SHAPE[1], ZONE_SHAPE[0], ZONE_SHAPE[2])  # x, y, z


def import_structure(
    path: str | os.PathLike[str], *, fit: Fit = "refuse", content: bytes | None = None
) -> Task:
    """Return the task to build a structure from another program, from an empty world and without dialogue.

    Each block gets the nearest of the six colors (OKLab, where hue counts more than lightness). The structure stands
    in the middle of the zone on the ground; a dense grid [9, 11, 11] keeps its place.

    Args:
        path: a .vox, .schem, .nbt, .litematic, .npy, .npz or .json file (see `iglu_marl.tasks.voxel_files`).
        fit: what to do with more than 11 x 9 x 11 blocks: "refuse" them, "scale" the structure down, or "crop" it to
            its middle and its lowest layers.
        content: contents of the file, if it is not to be opened.

    Raises:
        DataError: if the file is missing, too large, damaged or empty.
        TaskError: if the structure does not fit.

    """
    model = read_voxels(path, content=content)
    if model.unknown:
        warnings.warn(
            f"{path}: the colors of {', '.join(model.unknown)!s:.200} are unknown; such blocks count as grey",
            stacklevel=2,
        )
    return Task("", fitted(model, fit), task_id=model.name, ids="iglu", structure=model.name)


def fitted(model: VoxelModel, fit: Fit = "refuse") -> BlockGrid:
    """Return a structure in the colors of the game in the zone, int8 [9, 11, 11]; see `import_structure`."""
    check_option("fit", fit, FITS)
    grid = np.zeros(ZONE_SHAPE, np.int8)
    colors = nearest_colors(model.colors)
    if model.in_place:
        x, y, z = model.cells.T
        grid[y, x, z] = colors
        return grid
    cells, size = model.cells - model.cells.min(axis=0), np.array(model.size)
    if (size > ZONE_SIZE).any():
        if fit == "refuse":
            shown = " x ".join(map(str, model.size))
            raise TaskError(
                f"{model.name} is {shown} blocks (x, y, z), expected at most 11 x 9 x 11: fit it with fit='scale' or "
                f"fit='crop' (of a command: FILE:scale, FILE:crop)"
            )
        if fit == "scale":
            cells, colors = _scaled(cells, colors, float((size / ZONE_SIZE).max()))
        else:
            cells -= np.maximum((size - ZONE_SIZE) // 2, 0) * (1, 0, 1)
            inside = ((cells >= 0) & (cells < ZONE_SIZE)).all(axis=1)
            cells, colors = cells[inside], colors[inside]
            if not len(cells):
                raise TaskError(
                    f"{model.name} has no block in its middle 11 x 11 and lowest 9 layers: scale it"
                )
        size = np.ptp(cells, axis=0) + 1
        cells = cells - cells.min(axis=0)
    corner = np.array([-(size[0] // 2), MIN_CORNER[1], -(size[2] // 2)])
    grid[index_of((cells + corner).T)] = colors
    return grid


def _scaled(cells: np.ndarray, colors: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells that have a block in a coarser grid, each with the most frequent color in it.

    So nothing thin vanishes; gaps narrower than `factor` close.
    """
    coarse = np.floor((cells + 0.5) / factor).astype(np.int64)
    distinct, index = np.unique(coarse, axis=0, return_inverse=True)
    counts = np.zeros((len(distinct), 7), np.int64)
    np.add.at(counts, (index.reshape(-1), colors), 1)
    return distinct, counts.argmax(axis=1).astype(np.int8)
