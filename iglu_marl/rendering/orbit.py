"""Views from outside: a structure on its board, seen by a camera that orbits around the build zone.

The camera's azimuth is a compass direction, as a builder's yaw: 0 looks north (-z), 90 east. The board shows the
compass points; north is the bright one. With a `ghost` (a target that is aligned with the grid) missing blocks are
translucent, and blocks that the target lacks have a red frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import palette
from iglu_marl.rendering.avatar import draw_avatar
from iglu_marl.rendering.camera import Camera, axes_of
from iglu_marl.rendering.colors import ACCENT, BOARD, PANEL, REMOVED, RGBColor, blended
from iglu_marl.rendering.kernels import GROUND_SURFACE
from iglu_marl.rendering.painter import paint_scenes
from iglu_marl.rendering.renderer import Colors, Lens, Picture, check_pose, check_size

DEFAULT_AZIMUTH_DEG = 18.0
DEFAULT_ELEVATION_DEG = 42.0
BACKGROUND: RGBColor = PANEL
GHOST_OPACITY = 0.42

_LENS = Lens(fov_deg=26.0, near=1.0, far=200.0, ground=6.45)
_BOARD_LINE: RGBColor = (203, 210, 221)
_RIM: RGBColor = (64, 75, 96)  # of the board, with the compass points
_SLAB: RGBColor = (46, 54, 71)
_SLAB_DEPTH = 0.45  # cells
_POINT: RGBColor = (128, 141, 166)
_SHADES = (1.0, 0.84, 0.70, 0.45)  # top, ±z, ±x, bottom: softer than the builder's picture
_MARGIN = 0.965  # share of the picture that the board may fill
_MIN_TOP = 2.5  # at least this height (y) is in the picture

# Strokes of the compass points on the board's frame, in cells right of and above the letter's centre.
_LETTERS: dict[str, tuple[tuple[float, float], ...]] = {
    "N": ((-0.22, -0.3), (-0.22, 0.3), (0.22, -0.3), (0.22, 0.3)),
    "E": ((0.2, -0.3), (-0.2, -0.3), (-0.2, 0.0), (0.12, 0.0), (-0.2, 0.0), (-0.2, 0.3), (0.2, 0.3)),
    "S": ((-0.2, -0.22), (-0.1, -0.3), (0.1, -0.3), (0.2, -0.22), (0.2, -0.08), (-0.2, 0.08), (-0.2, 0.22),
          (-0.1, 0.3), (0.1, 0.3), (0.2, 0.22)),
    "W": ((-0.3, 0.3), (-0.15, -0.3), (0.0, 0.15), (0.15, -0.3), (0.3, 0.3)),
}  # fmt: skip
_LETTER_AT = {"N": (0.0, -6.0), "E": (6.0, 0.0), "S": (0.0, 6.0), "W": (-6.0, 0.0)}  # x, z


def orbit_camera(
    size: tuple[int, int], azimuth_deg: float, elevation_deg: float, top: float = _MIN_TOP
) -> Camera:
    """Return the camera that looks along `azimuth_deg` and fits the board and blocks up to the height `top`.

    `elevation_deg` is 5..90; 90 looks straight down. Raises `RenderError` if an angle or the size is invalid.
    """
    size = check_size(size)
    if not (math.isfinite(azimuth_deg) and 5.0 <= elevation_deg <= 90.0):
        raise RenderError(
            f"azimuth {azimuth_deg!r}, elevation {elevation_deg!r}: expected a finite angle and 5..90 degrees"
        )
    edge, low = _LENS.ground, GROUND_SURFACE - _SLAB_DEPTH
    corners = [(x, y, z) for x in (-edge, edge) for y in (low, GROUND_SURFACE) for z in (-edge, edge)]
    corners += [(x, top, z) for x in (-5.5, 5.5) for z in (-5.5, 5.5)]
    axes = axes_of(azimuth_deg, -elevation_deg)
    across, above, depth = axes @ np.array(corners).T
    tan_y = _LENS.tangent * _MARGIN
    tan_x = tan_y * size[1] / size[0]
    # the nearest eye, in camera axes, from which all corners are in the field of view
    right, left = np.max(across - tan_x * depth), np.min(across + tan_x * depth)
    high, deep = np.max(above - tan_y * depth), np.min(above + tan_y * depth)
    distance = max((high - deep) / (2 * tan_y), (right - left) / (2 * tan_x))
    x, y, z = (np.array([0.5 * (right + left), 0.5 * (high + deep), -distance]) @ axes).tolist()
    return Camera((x, y, z, azimuth_deg, -elevation_deg), _LENS, size)


class BlockStyle(NamedTuple):
    """How the edges of a group of blocks are drawn."""

    edge: RGBColor | None = None  # None: the block's own colour
    edge_light: float = 0.72  # of the block's own colour


# grid ids 1..6: correct blocks; 7..12: wrong ones, which the ghost lacks; 13..18: missing ones
_STYLES = (BlockStyle(), BlockStyle(edge=REMOVED), BlockStyle(edge_light=0.55))


@lru_cache(maxsize=1)
def color_table() -> Colors:
    """Return the packed palette: grid ids 6k + 1..6k + 6 have the k-th of `_STYLES`."""
    rgb = np.zeros((palette.FIRST_BLOCK + len(_STYLES) * 6 * palette.ENTRIES_PER_COLOR, 3), np.uint8)
    rgb[: palette.FIRST_BLOCK] = BACKGROUND, BOARD, _BOARD_LINE, _RIM, _RIM
    for color in range(1, 7):
        for number, style in enumerate(_STYLES):
            fill = np.array(palette.block_color(color))
            edge = fill * style.edge_light if style.edge is None else np.array(style.edge)
            for shade, light in enumerate(_SHADES):
                index = palette.block_index(color + 6 * number, shade, palette.FILL)
                rgb[index] = fill * light
                rgb[index + 1] = edge * (light if style.edge is None else light**0.5)
    return palette.pack(rgb)


def highest(*grids: BlockGrid | None) -> float:
    """Return the height of the highest block's upper side, at least `_MIN_TOP`."""
    layers = [layer for grid in grids if grid is not None for layer in np.flatnonzero(grid.any(axis=(1, 2)))]
    return max(_MIN_TOP, max(layers, default=0) - 0.5)


def orbit_view(
    grid: npt.ArrayLike,
    *,
    size: tuple[int, int] = (360, 360),
    azimuth_deg: float = DEFAULT_AZIMUTH_DEG,
    elevation_deg: float = DEFAULT_ELEVATION_DEG,
    ghost: npt.ArrayLike | None = None,
    pose: Sequence[float] | npt.NDArray[np.floating[Any]] | None = None,
    top: float | None = None,
    smoothing: int = 2,
) -> Picture:
    """Return a picture uint8[height, width, 3] of a structure on its board.

    Raises `GridError` if a grid is invalid, `RenderError` if the size or an angle is invalid.

    Args:
        grid: dense grid [9, 11, 11].
        size: height and width in pixels.
        azimuth_deg: direction of view, 0 north, 90 east.
        elevation_deg: angle downwards, 5..90.
        ghost: dense grid aligned with `grid`; missing blocks become translucent, wrong ones framed.
        pose: a builder to draw: x, y, z of the eye (cells), yaw and pitch (degrees); or several, [n, 5].
        top: height (y) that must be visible; default: that of the blocks, at least 2.5.
        smoothing: samples per pixel and direction, 1..4.

    """
    if smoothing not in (1, 2, 3, 4):
        raise RenderError(f"smoothing is {smoothing!r}, expected 1..4")
    blocks = as_grid(grid)
    aim = blocks if ghost is None else as_grid(ghost, "ghost")
    solid = blocks + 6 * ((blocks != 0) & (blocks != aim)).astype(np.int8)
    missing = (aim + 12) * ((blocks == 0) & (aim != 0))
    height, width = check_size(size)
    top = highest(blocks, aim) if top is None else float(top)
    camera = orbit_camera((height * smoothing, width * smoothing), azimuth_deg, elevation_deg, top)
    colors = color_table()

    def paint(blocks: BlockGrid) -> Image.Image:
        frames = paint_scenes(blocks[None], [camera.pose], camera.size, lens=camera.lens, colors=colors)
        return Image.fromarray(frames[0])

    picture = paint(solid)
    if missing.any():
        picture = Image.blend(picture, paint(np.where(missing, missing, solid)), GHOST_OPACITY)
    _draw_slab(picture, camera)
    _draw_compass(picture, camera)
    if pose is not None:
        poses = map(check_pose, pose if np.iterable(pose) and all(map(np.iterable, pose)) else [pose])
        for one in sorted(poses, key=lambda one: -math.dist(one[:3], camera.pose[:3])):
            draw_avatar(picture, camera, solid, one)
    return np.array(picture.reduce(smoothing))


def _draw_slab(picture: Image.Image, camera: Camera) -> None:
    """Draw the sides of the board; they lie below its surface, so they hide nothing."""
    draw = ImageDraw.Draw(picture)
    edge, low = camera.lens.ground, GROUND_SURFACE - _SLAB_DEPTH
    for nx, nz, light in ((1, 0, 0.8), (-1, 0, 0.8), (0, 1, 1.0), (0, -1, 1.0)):
        if camera.pose[0] * nx + camera.pose[2] * nz <= edge:
            continue
        (x0, z0), (x1, z1) = ((edge * (nx + s * nz), edge * (nz + s * nx)) for s in (-1, 1))
        corners = [(x0, GROUND_SURFACE, z0), (x1, GROUND_SURFACE, z1), (x1, low, z1), (x0, low, z0)]
        points = [tuple(point) for point in camera.project(corners)]
        draw.polygon(points, fill=blended((0, 0, 0), _SLAB, light))


def _draw_compass(picture: Image.Image, camera: Camera) -> None:
    """Draw letters on the board's rim, only on pixels that show the rim, so that blocks cover them."""
    cell = camera.pixels_per_cell((0, 0, 0))
    for letter, (x, z) in _LETTER_AT.items():
        points = camera.project([(x + right, GROUND_SURFACE, z - up) for right, up in _LETTERS[letter]])
        left, upper = np.maximum(np.floor(points.min(axis=0) - cell).astype(int), 0).tolist()
        right, lower = np.minimum(np.ceil(points.max(axis=0) + cell).astype(int), picture.size).tolist()
        if left >= right or upper >= lower:
            continue
        crop = picture.crop((left, upper, right, lower))
        free = (np.asarray(crop) == _RIM).all(axis=2)
        drawn = Image.new("L", crop.size)
        path = [(px - left, py - upper) for px, py in points]
        ImageDraw.Draw(drawn).line(path, fill=255, width=max(1, round(0.1 * cell)), joint="curve")
        mask = ImageChops.multiply(drawn, Image.fromarray((free * 255).astype(np.uint8)))
        picture.paste(ACCENT if letter == "N" else _POINT, (left, upper), mask)
