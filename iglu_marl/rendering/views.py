"""Views from outside: a structure on its board, seen by a camera that orbits around the build zone.

The camera's azimuth is the compass direction that it looks in, as a builder's yaw: 0 looks north (-z), 90
east. The board carries the compass points; north is the bright one. With a `ghost` (a target that is
already aligned with the grid) missing blocks appear translucent and blocks that the target does not have
there get a red frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageDraw

from iglu_marl.core.errors import RenderError
from iglu_marl.core.grid import BlockGrid, as_grid
from iglu_marl.rendering import palette
from iglu_marl.rendering.camera import Camera, Points, axes_of
from iglu_marl.rendering.figure import draw_figure
from iglu_marl.rendering.painter import GROUND_Y, Lens, check_size, paint_scenes
from iglu_marl.rendering.theme import PANEL, RGB

DEFAULT_AZIMUTH_DEG = 18.0
DEFAULT_ELEVATION_DEG = 42.0
BACKGROUND: RGB = PANEL
GHOST_OPACITY = 0.42
WRONG: RGB = (255, 24, 170)

_LENS = Lens(fov_deg=26.0, near=1.0, far=200.0, ground=6.45)
_BOARD: RGB = (243, 245, 249)
_BOARD_LINE: RGB = (203, 210, 221)
_FRAME: RGB = (64, 75, 96)
_SLAB: RGB = (46, 54, 71)
_SLAB_DEPTH = 0.45  # cells
_POINT: RGB = (128, 141, 166)
_NORTH: RGB = (255, 196, 61)
_SHADES = (1.0, 0.84, 0.70, 0.45)  # top, ±z, ±x, bottom: softer than the builder's picture
_MARGIN = 0.965  # share of the picture that the board may fill
_MIN_TOP = 2.5  # at least this height (y) is in the picture

_WRONG_IDS = 6  # grid ids 7..12: a block that the ghost does not have there
_GHOST_IDS = 12  # grid ids 13..18: a missing block

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
    """The camera that looks along `azimuth_deg`, `elevation_deg` down, and just sees the board up to `top`.

    `elevation_deg` lies in 5..90: 90 looks straight down. Raises `RenderError` for other angles or bad sizes.
    """
    size = check_size(size)
    if not (math.isfinite(azimuth_deg) and 5.0 <= elevation_deg <= 90.0):
        raise RenderError(
            f"azimuth {azimuth_deg!r}, elevation {elevation_deg!r}: expected a finite angle and 5..90 degrees"
        )
    edge, low = _LENS.ground, GROUND_Y - _SLAB_DEPTH
    box = np.array([(x, y, z) for x in (-edge, edge) for y in (low, GROUND_Y) for z in (-edge, edge)])
    zone = np.array([(x, y, z) for x in (-5.5, 5.5) for y in (top,) for z in (-5.5, 5.5)])
    across, above, depth = axes_of(azimuth_deg, -elevation_deg) @ np.concatenate([box, zone]).T
    tan_y = math.tan(math.radians(_LENS.fov_deg) / 2) * _MARGIN
    tan_x = tan_y * size[1] / size[0]
    # The nearest eye (shift, lift, -distance) in camera axes from which all corners are in the field of view.
    right, left = np.max(across - tan_x * depth), np.min(across + tan_x * depth)
    high, deep = np.max(above - tan_y * depth), np.min(above + tan_y * depth)
    distance = max((high - deep) / (2 * tan_y), (right - left) / (2 * tan_x))
    eye = np.array([0.5 * (right + left), 0.5 * (high + deep), -distance]) @ axes_of(
        azimuth_deg, -elevation_deg
    )
    x, y, z = eye.tolist()
    return Camera((x, y, z, azimuth_deg, -elevation_deg), _LENS, size)


class Look(NamedTuple):
    """How a group of blocks is drawn: its edges' colour, and how far its faces are washed out to grey."""

    edge: RGB | None = None  # None: the block's own colour
    edge_light: float = 0.72  # of the block's own colour
    wash: float = 0.0


_WASH: RGB = (196, 202, 212)


@lru_cache(maxsize=8)
def color_table(*looks: Look) -> npt.NDArray[np.uint32]:
    """The packed palette of these views, softer than the builder's: grid ids 6k + 1..6k + 6 have the k-th look."""
    rgb = np.zeros((palette.FIRST_BLOCK + len(looks) * 6 * palette.ENTRIES_PER_COLOR, 3), np.uint8)
    rgb[palette.SKY] = BACKGROUND
    rgb[palette.WHITE_FILL], rgb[palette.WHITE_LINE] = _BOARD, _BOARD_LINE
    rgb[palette.GREY_FILL] = rgb[palette.GREY_LINE] = _FRAME
    for color in range(1, 7):
        own = palette.RGB[palette.block_index(color, palette.SHADE_TOP, palette.FILL)].astype(float)
        for number, look in enumerate(looks):
            fill = own + look.wash * (np.array(_WASH) - own)
            for shade, light in enumerate(_SHADES):
                index = palette.block_index(color + 6 * number, shade, palette.FILL)
                rgb[index] = fill * light
                edge = (
                    fill * light * look.edge_light if look.edge is None else np.array(look.edge) * light**0.5
                )
                rgb[index + 1] = edge
    return palette.pack(rgb)


_LOOKS = (Look(), Look(edge=WRONG), Look(edge_light=0.55))  # blocks, wrong ones, missing ones


def _scene(grid: BlockGrid, ghost: BlockGrid | None) -> tuple[BlockGrid, BlockGrid | None]:
    """The grid with its wrong blocks marked, and the same with the ghost's missing blocks (None: none)."""
    if ghost is None:
        return grid, None
    marked = np.where((grid != 0) & (grid != ghost), grid + _WRONG_IDS, grid).astype(np.int8)
    missing = (grid == 0) & (ghost != 0)
    if not missing.any():
        return marked, None
    return marked, np.where(missing, ghost + _GHOST_IDS, marked).astype(np.int8)


def highest(*grids: BlockGrid | None) -> float:
    """Height of the upper side of the highest block, at least `_MIN_TOP`."""
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
) -> npt.NDArray[np.uint8]:
    """A picture uint8[height, width, 3] of a dense grid [9, 11, 11] on its board.

    The camera looks in the compass direction `azimuth_deg` (0 north, 90 east), `elevation_deg` (5..90) down.
    Over a `ghost`, a dense grid aligned with `grid`, missing blocks are translucent and wrong ones framed.
    `pose` is a builder to draw: x, y, z of the eye, yaw and pitch in degrees. `top` is the height (y) that
    has to fit into the picture, by default that of the blocks and at least 2.5. `smoothing` is the number of
    samples per pixel and direction, 1..4; `size` is (height, width) in pixels.

    Raises `GridError` for bad grids, `RenderError` for bad sizes or angles.
    """
    if smoothing not in (1, 2, 3, 4):
        raise RenderError(f"smoothing is {smoothing!r}, expected 1..4")
    height, width = check_size(size)
    blocks = as_grid(grid)
    aim = None if ghost is None else as_grid(ghost, "ghost")
    limit = highest(blocks, aim) if top is None else float(top)
    camera = orbit_camera((height * smoothing, width * smoothing), azimuth_deg, elevation_deg, limit)
    marked, ghosted = _scene(blocks, aim)
    picture = board_picture(marked, ghosted, camera, _LOOKS)
    if pose is not None:
        front = partial(_paint_front, camera=camera)
        draw_figure(picture, camera, marked, [float(value) for value in pose], front)
    if smoothing > 1:
        picture = picture.reduce(smoothing)
    return np.asarray(picture).copy()


def board_picture(
    grid: BlockGrid, ghosted: BlockGrid | None, camera: Camera, looks: tuple[Look, ...]
) -> Image.Image:
    """Blocks on the board, with ids as `color_table(*looks)` has them; those in `ghosted` alone translucent.

    `ghosted` is the grid with the translucent blocks put in, or None without such.
    """

    def paint(blocks: BlockGrid) -> Image.Image:
        colors = color_table(*looks)
        return Image.fromarray(
            paint_scenes(blocks[None], [camera.pose], camera.size, lens=camera.lens, colors=colors)[0]
        )

    picture = paint(grid)
    if ghosted is not None:
        picture = Image.blend(picture, paint(ghosted), GHOST_OPACITY)
    _draw_slab(picture, camera)
    _draw_compass(picture, camera)
    return picture


def _paint_front(grid: BlockGrid, camera: Camera) -> npt.NDArray[np.bool_]:
    """bool[height, width]: the pixels that these blocks cover."""
    lens = replace(camera.lens, ground=0.0)
    frame = paint_scenes(grid[None], [camera.pose], camera.size, lens=lens, colors=color_table(*_LOOKS))[0]
    return (frame != np.array(BACKGROUND, np.uint8)).any(axis=2)


def _polygon(points: Points) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in points]


def _draw_slab(picture: Image.Image, camera: Camera) -> None:
    """The sides of the board, which hide nothing: they lie below its surface."""
    draw = ImageDraw.Draw(picture)
    edge = camera.lens.ground
    for nx, nz, light in ((1, 0, 0.8), (-1, 0, 0.8), (0, 1, 1.0), (0, -1, 1.0)):
        if camera.pose[0] * nx + camera.pose[2] * nz <= edge:
            continue
        ends = [(edge * nx + s * edge * nz, edge * nz + s * edge * nx) for s in (-1, 1)]
        corners = [(x, GROUND_Y, z) for x, z in ends]
        corners += [(x, GROUND_Y - _SLAB_DEPTH, z) for x, z in reversed(ends)]
        red, green, blue = (int(channel * light) for channel in _SLAB)
        draw.polygon(_polygon(camera.project(corners)), fill=(red, green, blue))


def _draw_compass(picture: Image.Image, camera: Camera) -> None:
    """Letters on the board's frame: only on pixels that still show the frame, so blocks cover them."""
    cell = (
        camera.size[0]
        / (2 * math.tan(math.radians(camera.lens.fov_deg) / 2))
        / np.linalg.norm(camera.pose[:3])
    )
    for letter, (x, z) in _LETTER_AT.items():
        strokes = [(x + right, GROUND_Y, z - up) for right, up in _LETTERS[letter]]
        points = camera.project(strokes)
        low = np.floor(points.min(axis=0) - cell).astype(int)
        high = np.ceil(points.max(axis=0) + cell).astype(int)
        box = (max(low[0], 0), max(low[1], 0), min(high[0], picture.width), min(high[1], picture.height))
        if box[0] >= box[2] or box[1] >= box[3]:
            continue
        crop = picture.crop(box)
        free = (np.asarray(crop) == _FRAME).all(axis=2)
        drawn = Image.new("L", crop.size)
        path = [(px - box[0], py - box[1]) for px, py in points]
        ImageDraw.Draw(drawn).line(path, fill=255, width=max(1, round(0.1 * cell)), joint="curve")
        mask = ImageChops.multiply(drawn, Image.fromarray((free * 255).astype(np.uint8)))
        picture.paste(_NORTH if letter == "N" else _POINT, box, mask)
