"""Builders as small figures: in views from outside with a dotted line of sight, and in the views of other builders."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import BlockGrid, cells_of, index_of
from iglu_marl.rendering import palette
from iglu_marl.rendering.camera import Camera, Points, axes_of, cell_in_sight
from iglu_marl.rendering.colors import ACCENT, RGBColor, blended
from iglu_marl.rendering.painter import paint_scenes
from iglu_marl.rendering.renderer import EYE_LENS, Box, Lens, Picture, Viewpoint, check_pose

_SIGHT_LENGTH = 3.0  # cells
_OPACITY_IN_FRONT = 0.72  # of the blocks that stand in front of the figure

# From the feet up: (centre below or above the eye, half width, half height, half depth, colour), in cells.
_PARTS: tuple[tuple[float, float, float, float, RGBColor], ...] = (
    (-0.93, 0.19, 0.32, 0.13, (58, 74, 122)),
    (-0.43, 0.25, 0.19, 0.15, (0, 170, 160)),
    (-0.01, 0.23, 0.23, 0.23, (242, 201, 160)),
    (0.20, 0.25, 0.08, 0.25, (94, 62, 40)),
)
_EYES = ((-0.15, -0.05), (0.05, 0.15))
_EYE_COLOR: RGBColor = (40, 48, 70)
_CORNERS = ((-1, -1), (1, -1), (1, 1), (-1, 1))
_LOW, _HIGH = (0.27, 1.25, 0.27), (0.27, 0.3, 0.27)  # the figure's extent from its eye
_EXTENT = np.array(
    [np.where(corner, _HIGH, np.negative(_LOW)) for corner in np.ndindex(2, 2, 2)]
)  # its corners


def draw_avatar(picture: Image.Image, camera: Camera, grid: BlockGrid, pose: Viewpoint) -> None:
    """Draw a builder with its eye at `pose` into a camera's picture of a grid; blocks in front of it half cover it."""
    _draw_figure(picture, camera, grid, pose, _OPACITY_IN_FRONT)
    _draw_sight(picture, camera, grid, pose)


def draw_others(frame: Picture, grid: BlockGrid, pose: Points, others: Points, renderer: Any) -> Picture:
    """Return what a builder sees, with the other builders in it.

    A figure that is not wholly before the near plane is left out.

    Args:
        frame: its view without them, uint8[height, width, 3].
        grid: the blocks, int8[9, 11, 11].
        pose: its eye, float64[5]: x, y, z, yaw, pitch.
        others: the eyes of the others, float64[k, 5].
        renderer: what drew the view; its `lens`, if it has one, is that of the view.

    """
    lens: Lens = getattr(renderer, "lens", EYE_LENS)
    camera = Camera(check_pose(pose), lens, frame.shape[:2])
    depths = ((others[:, None, :3] + _EXTENT - pose[:3]) @ camera.axes[2]).min(axis=1)
    seen = others[(depths > lens.near) & (depths < lens.far)]
    if not len(seen):
        return frame
    picture = Image.fromarray(frame)
    for other in sorted(seen, key=lambda one: -math.dist(one[:3], pose[:3])):
        _draw_figure(picture, camera, grid, check_pose(other), 1.0)
    return np.array(picture)


def _draw_figure(
    picture: Image.Image, camera: Camera, grid: BlockGrid, pose: Viewpoint, opacity: float
) -> None:
    """Draw the body. Blocks in front of it cover it with this opacity."""
    eye, viewer = np.array(pose[:3], float), np.array(camera.pose[:3])
    before = picture.copy()
    left, top, right, bottom = _draw_body(picture, camera, eye, pose[3])
    front = _in_front(grid, eye, viewer)
    if front.any() and left < right and top < bottom:
        lens = replace(camera.lens, ground=0.0)
        blocks = paint_scenes(front[None], [camera.pose], camera.size, lens=lens)[0, top:bottom, left:right]
        covered = (blocks != palette.RGB[palette.SKY]).any(axis=2)
        mask = Image.fromarray((covered * int(255 * opacity)).astype(np.uint8))
        picture.paste(before.crop((left, top, right, bottom)), (left, top), mask)


def _draw_body(picture: Image.Image, camera: Camera, eye: npt.NDArray[np.float64], yaw_deg: float) -> Box:
    """Draw the figure as if there were no blocks. Return the box (left, top, right, bottom) that it covers."""
    draw = ImageDraw.Draw(picture)
    axes, viewer = axes_of(yaw_deg, 0.0), np.array(camera.pose[:3])
    touched: list[Points] = []

    def face(middle: Points, normal: Points, across: Points, along: Points, color: RGBColor) -> None:
        if np.dot(viewer - middle, normal) > 0.0:
            touched.append(camera.project([middle + a * across + b * along for a, b in _CORNERS]))
            draw.polygon([tuple(point) for point in touched[-1]], fill=color)

    for lift, *halves, color in _PARTS:
        center = eye + (0.0, lift, 0.0)
        sides = np.array(halves)[:, None] * axes
        for axis in range(3):
            light = 1.0 if axis == 1 else 0.9 - 0.25 * abs(axes[axis][0])
            shaded = blended((0, 0, 0), color, light)
            for sign in (-1.0, 1.0):
                u, v = (axis + 1) % 3, (axis + 2) % 3
                face(center + sign * sides[axis], sign * axes[axis], sides[u], sides[v], shaded)
    for low, high in _EYES:
        middle = eye + 0.235 * axes[2] + (low + high) / 2 * axes[0] - 0.005 * axes[1]
        face(middle, axes[2], (high - low) / 2 * axes[0], 0.055 * axes[1], _EYE_COLOR)
    points = np.concatenate(touched)
    left, top = np.maximum(np.floor(points.min(axis=0)).astype(int) - 1, 0).tolist()
    right, bottom = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 2, picture.size).tolist()
    return left, top, right, bottom


def _in_front(grid: BlockGrid, eye: Points, viewer: Points) -> BlockGrid:
    """Return the blocks that may cover the figure: all but those that a plane separates from it."""
    low, high = eye - _LOW, eye + _HIGH
    centers = cells_of(grid)
    behind = (centers - 0.5 >= high) & (viewer < centers - 0.5) | (centers + 0.5 <= low) & (
        viewer > centers + 0.5
    )
    front = (grid != 0).astype(np.int8)
    front[index_of(centers[behind.any(axis=1)].T)] = 0
    return front


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
