"""The builder as a small figure in the views from outside, with a line along its gaze."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from iglu_marl.core.grid import MAX_CORNER, MIN_CORNER, BlockGrid, cells_of, index_of
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.painter import GROUND_Y

_RGB = tuple[int, int, int]
_GAZE_REACH = 3.0  # cells
_SEE_THROUGH = 0.72  # opacity of the blocks in front of the figure

# From the feet up: (centre below or above the eye, half width, half height, half depth, colour), in cells.
_PARTS: tuple[tuple[float, float, float, float, _RGB], ...] = (
    (-0.93, 0.19, 0.32, 0.13, (58, 74, 122)),
    (-0.43, 0.25, 0.19, 0.15, (0, 170, 160)),
    (-0.01, 0.23, 0.23, 0.23, (242, 201, 160)),
    (0.20, 0.25, 0.08, 0.25, (94, 62, 40)),
)
_EYES = ((-0.15, -0.05), (0.05, 0.15))
_EYE_COLOR: _RGB = (40, 48, 70)
_GAZE_COLOR: _RGB = (255, 196, 61)


def draw_figure(
    picture: Image.Image,
    camera: Camera,
    grid: BlockGrid,
    pose: Sequence[float],
    covered_by: Callable[[BlockGrid], npt.NDArray[np.bool_]],
) -> None:
    """Draw a builder with its eye at pose = (x, y, z, yaw, pitch); blocks in front half cover it.

    `covered_by` tells which pixels (bool[height, width]) some blocks cover in this camera's picture.
    """
    eye = np.array(pose[:3], float)
    before = picture.copy()
    box = _draw_parts(picture, camera, eye, pose[3])
    front = _in_front(grid, eye, np.array(camera.pose[:3]))
    if front.any() and box[0] < box[2] and box[1] < box[3]:
        covered = covered_by(front)
        mask = Image.fromarray(
            (covered[box[1] : box[3], box[0] : box[2]] * int(255 * _SEE_THROUGH)).astype("u1")
        )
        picture.paste(before.crop(box), box[:2], mask)
    _draw_gaze(picture, camera, grid, eye, pose[3], pose[4])


def _frame_of(yaw_deg: float) -> npt.NDArray[np.float64]:
    """float64[3, 3]: the figure's right, up and forward."""
    sine, cosine = math.sin(math.radians(yaw_deg)), math.cos(math.radians(yaw_deg))
    return np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [sine, 0.0, -cosine]])


def _draw_parts(
    picture: Image.Image, camera: Camera, eye: npt.NDArray[np.float64], yaw_deg: float
) -> tuple[int, int, int, int]:
    """Draw the figure without regard to blocks; returns the box (left, top, right, bottom) it touched."""
    draw = ImageDraw.Draw(picture)
    axes = _frame_of(yaw_deg)
    touched = []
    for lift, half_width, half_height, half_depth, color in _PARTS:
        center = eye + (0.0, lift, 0.0)
        halves = np.array([half_width, half_height, half_depth])
        for axis in range(3):
            for side in (-1.0, 1.0):
                middle = center + side * halves[axis] * axes[axis]
                if np.dot(np.array(camera.pose[:3]) - middle, side * axes[axis]) <= 0.0:
                    continue
                u, v = (axis + 1) % 3, (axis + 2) % 3
                corners = [
                    middle + du * halves[u] * axes[u] + dv * halves[v] * axes[v]
                    for du, dv in ((-1, -1), (1, -1), (1, 1), (-1, 1))
                ]
                light = 1.0 if axis == 1 else 0.9 - 0.25 * abs(axes[axis][0])
                points = camera.project(corners)
                draw.polygon([tuple(point) for point in points], fill=tuple(int(c * light) for c in color))
                touched.append(points)
    face = eye + 0.235 * axes[2]
    if np.dot(np.array(camera.pose[:3]) - face, axes[2]) > 0.0:
        for low, high in _EYES:
            corners = [
                face + x * axes[0] + (0, y, 0)
                for x, y in ((low, -0.06), (high, -0.06), (high, 0.05), (low, 0.05))
            ]
            draw.polygon([tuple(point) for point in camera.project(corners)], fill=_EYE_COLOR)
    points = np.concatenate(touched)
    left, top = np.maximum(np.floor(points.min(axis=0)).astype(int) - 1, 0).tolist()
    right, bottom = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 2, picture.size).tolist()
    return left, top, right, bottom


def _in_front(grid: BlockGrid, eye: npt.NDArray[np.float64], viewer: npt.NDArray[np.float64]) -> BlockGrid:
    """The blocks that may cover the figure: all but those behind a plane that parts them from it."""
    low, high = eye - (0.27, 1.25, 0.27), eye + (0.27, 0.3, 0.27)
    cells = cells_of(grid)
    behind = np.zeros(len(cells), bool)
    for axis in range(3):
        near, far = cells[:, axis] - 0.5, cells[:, axis] + 0.5
        behind |= (near >= high[axis]) & (viewer[axis] < near)
        behind |= (far <= low[axis]) & (viewer[axis] > far)
    front = np.zeros_like(grid)
    shown = index_of(cells[~behind].T)
    front[shown] = grid[shown]
    return front


def _draw_gaze(
    picture: Image.Image,
    camera: Camera,
    grid: BlockGrid,
    eye: npt.NDArray[np.float64],
    yaw_deg: float,
    pitch_deg: float,
) -> None:
    """A dotted line from the face along the gaze, up to the first block, the ground or 3 cells."""
    pitch = math.radians(pitch_deg)
    sight = math.cos(pitch) * _frame_of(yaw_deg)[2] + (0.0, math.sin(pitch), 0.0)
    steps = np.arange(0.4, _GAZE_REACH, 0.05)
    path = eye + steps[:, None] * sight
    cells = np.rint(path).astype(int)
    inside = ((cells >= MIN_CORNER) & (cells <= MAX_CORNER)).all(axis=1)
    solid = path[:, 1] < GROUND_Y
    solid[inside] |= grid[index_of(cells[inside].T)] != 0
    length = steps[int(np.argmax(solid))] if solid.any() else _GAZE_REACH
    dots = eye + np.arange(0.5, length, 0.25)[:, None] * sight
    if not len(dots):
        return
    draw = ImageDraw.Draw(picture)
    cell = camera.size[0] / (2 * math.tan(math.radians(camera.lens.fov_deg) / 2))
    radius = 0.055 * cell / float(np.linalg.norm(np.array(camera.pose[:3]) - eye))
    for column, row in camera.project(dots):
        draw.ellipse((column - radius, row - radius, column + radius, row + radius), fill=_GAZE_COLOR)
