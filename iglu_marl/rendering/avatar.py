"""Builders as small figures: in views from outside with a dotted line of sight, and in the views of other builders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import BlockGrid
from iglu_marl.rendering.camera import Camera, Points, axes_of, cell_in_sight
from iglu_marl.rendering.colors import ACCENT
from iglu_marl.rendering.figure_kernels import paint_figures
from iglu_marl.rendering.renderer import (
    EYE_LENS,
    Frames,
    Lens,
    Picture,
    Viewpoint,
    check_pose,
)

_SIGHT_LENGTH = 3.0  # cells
_OPACITY_IN_FRONT = 0.72  # of the blocks that stand in front of the figure
_FIRST = np.zeros(1, np.int64)


def draw_avatar(picture: Image.Image, camera: Camera, grid: BlockGrid, pose: Viewpoint) -> None:
    """Draw a builder with its eye at `pose` into a camera's picture of a grid; blocks in front of it half cover it."""
    eyes = np.array([camera.pose, pose], float)
    bare, covered = (
        Image.fromarray(_with_figures(np.array(picture), blocks, eyes, camera.lens))
        for blocks in (np.zeros_like(grid), grid)
    )
    mask = Image.new("L", picture.size, int(255 * _OPACITY_IN_FRONT))
    picture.paste(Image.composite(covered, bare, mask))
    _draw_sight(picture, camera, grid, pose)


def draw_others(frame: Picture, grid: BlockGrid, pose: Points, others: Points, renderer: Any) -> Picture:
    """Return what a builder sees, with the other builders in it.

    A figure that is not wholly before the near plane is left out.

    Args:
        frame: its view without them, uint8[height, width, 3]; it is drawn into.
        grid: the blocks, int8[9, 11, 11].
        pose: its eye, float64[5]: x, y, z, yaw, pitch.
        others: the eyes of the others, float64[k, 5].
        renderer: what drew the view; its `lens`, if it has one, is that of the view.

    """
    eyes = np.array([check_pose(eye) for eye in (pose, *others)])
    return _with_figures(frame, grid, eyes, lens_of(renderer))


def lens_of(renderer: Any) -> Lens:
    """Return the lens of a renderer, which may have none."""
    lens: Lens = getattr(renderer, "lens", EYE_LENS)
    return lens


def bind_figures(
    grids: BlockGrid, eyes: Points, team: int, lens: Lens, frames: Frames
) -> Callable[[npt.NDArray[np.int64], int, int], None]:
    """Return `draw(chosen, first, last)`, which draws the other builders into frames i = chosen[first..last-1].

    grids int8[n, 9, 11, 11], eyes float64[n, 5] and frames uint8[n, height, width, 3] are C-contiguous. The
    first `team` rows are those of one team, and so on. Calls may run in several threads at once.
    """
    count, height, width, _ = frames.shape
    flat, values = frames.reshape(count, -1), lens.as_array()

    def draw(chosen: npt.NDArray[np.int64], first: int, last: int) -> None:
        paint_figures(grids, eyes, chosen, team, values, height, width, flat, first, last)

    return draw


def _with_figures(frame: Picture, grid: BlockGrid, eyes: Points, lens: Lens) -> Picture:
    """Draw builders with eyes[1:] into what is seen from eyes[0], and return that."""
    grids = np.ascontiguousarray(grid, np.int8)[None]
    bind_figures(grids, eyes, len(eyes), lens, frame[None])(_FIRST, 0, 1)
    return frame


def _draw_sight(picture: Image.Image, camera: Camera, grid: BlockGrid, pose: Viewpoint) -> None:
    """Draw dots from the face to the cell in sight, at most 3 cells far."""
    eye, forward = np.array(pose[:3], float), axes_of(pose[3], pose[4])[2]
    length, cell = _SIGHT_LENGTH, cell_in_sight(grid, pose)
    if cell is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            entered = (np.array(cell) - 0.5 * np.sign(forward) - eye) / forward
        length = min(length, float(np.max(entered, where=np.abs(forward) > 1e-9, initial=0.0)))
    dots = eye + np.arange(0.5, length, 0.25)[:, None] * forward
    draw = ImageDraw.Draw(picture)
    radius = 0.055 * camera.pixels_per_cell(eye)
    for column, row in camera.project(dots):
        draw.ellipse((column - radius, row - radius, column + radius, row + radius), fill=ACCENT)
