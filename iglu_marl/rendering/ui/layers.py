"""The layers of a screen: first-person scenes that a window draws itself, and pictures at their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from iglu_marl.core.grid import BlockGrid, Cell, index_of
from iglu_marl.core.kernels.records import GROUND_Y
from iglu_marl.rendering import palette
from iglu_marl.rendering.avatar import draw_others
from iglu_marl.rendering.camera import Camera
from iglu_marl.rendering.colors import PAGE
from iglu_marl.rendering.kernels import GROUND_SURFACE
from iglu_marl.rendering.painter import Painter
from iglu_marl.rendering.renderer import Box, Colors, Lens, Picture, SceneRenderer, Viewpoint

LENS = Lens(fov_deg=70.0)  # for people; the observations have 90 degrees
PAINTER = Painter(LENS)

_FOCUS_IDS = 6  # grid ids 7..12: the block in sight
_GLOW = (255, 222, 130)
_GREY = 12  # channels of a grey differ by less
_NEAREST = 0.12  # cells from the eye


def _focus_colors() -> Colors:
    """Return the packed palette with ids 7..12 for the block in sight: a little brighter, with a bright rim."""
    rgb = np.concatenate([palette.RGB, palette.RGB[palette.FIRST_BLOCK :]]).astype(float)
    focused = rgb[palette.SIZE :]
    focused += 0.14 * (255 - focused)
    for shade, light in enumerate((1.0, 0.92, 0.84, 0.7)):
        focused[2 * shade + palette.BORDER :: palette.ENTRIES_PER_COLOR] = 255 * light
    return palette.pack(np.rint(rgb).astype(np.uint8))


FOCUS_COLORS = _focus_colors()


class ImageLayer(NamedTuple):
    """A picture uint8[height, width, 3 or 4] and the place of its upper left corner."""

    picture: Picture
    left: int
    top: int

    def paste(self, page: Image.Image) -> None:
        """Draw it on a page."""
        image = Image.fromarray(self.picture)
        page.paste(image, (self.left, self.top), image if image.mode == "RGBA" else None)


class SceneLayer(NamedTuple):
    """A first-person picture of `grid` from `pose` in a box of the window.

    focus: the cell in sight. others: the eyes of other builders.
    """

    grid: BlockGrid
    pose: Viewpoint
    box: Box
    focus: Cell | None = None
    others: Sequence[Viewpoint] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.box[3] - self.box[1], self.box[2] - self.box[0]

    @property
    def scene(self) -> BlockGrid:
        """The grid to draw with `FOCUS_COLORS`: the block in sight has its own id."""
        if self.focus is None or self.focus[1] == GROUND_Y:
            return self.grid
        x, y, z = self.focus
        grid = self.grid.copy()
        grid[index_of((x, y, z))] += _FOCUS_IDS
        return grid

    def paint(self, smoothing: int = 2, renderer: SceneRenderer = PAINTER) -> Image.Image:
        """Return the scene as a picture, drawn larger by a factor and reduced; `renderer` has the lens `LENS`."""
        size = self.size[0] * smoothing, self.size[1] * smoothing
        frames = renderer.render_scenes(self.scene[None], [self.pose], size, colors=FOCUS_COLORS)
        picture = Image.fromarray(frames[0]).reduce(smoothing)
        glow = self.ground_glow(picture)
        if glow is not None:
            glow.paste(picture)
        if not self.others:
            return picture
        pose, others = np.array(self.pose, float), np.array(self.others, float)
        return Image.fromarray(draw_others(np.array(picture), self.grid, pose, others, renderer))

    def ground_glow(self, picture: Image.Image) -> ImageLayer | None:
        """Return a warm light on the ground cell in sight, or None; it is placed within the box, and hidden by blocks.

        `picture`: the drawn scene, whose greys show the ground.
        """
        if self.focus is None or self.focus[1] != GROUND_Y:
            return None
        camera = Camera(self.pose, LENS, self.size)
        x, _, z = self.focus
        around = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
        corners = np.array([(x + dx, GROUND_SURFACE, z + dz) for dx, dz in around])
        if (
            camera.axes[2] @ (corners - camera.pose[:3]).T < _NEAREST
        ).any():  # partly beside or behind the eye
            return None
        points = camera.project(corners)
        left, top = np.maximum(np.floor(points.min(axis=0)).astype(int) - 2, 0).tolist()
        right, bottom = np.minimum(np.ceil(points.max(axis=0)).astype(int) + 3, self.size[::-1]).tolist()
        if left >= right or top >= bottom:
            return None
        part = np.asarray(picture.crop((left, top, right, bottom)))
        light = Image.new("L", (part.shape[1] * 2, part.shape[0] * 2))
        path = [((px - left) * 2, (py - top) * 2) for px, py in points]
        draw = ImageDraw.Draw(light)
        draw.polygon(path, fill=90)
        draw.line([*path, path[0]], fill=255, width=max(3, self.size[0] // 120), joint="curve")
        # only the ground is grey: blocks and sky have a hue
        opacity = np.asarray(light.reduce(2)) * (np.ptp(part, axis=2) < _GREY)
        glow = np.concatenate([np.full((*opacity.shape, 3), _GLOW, np.uint8), opacity[..., None]], axis=2)
        return ImageLayer(glow, left, top)


Layer = SceneLayer | ImageLayer


def scaled(picture: Picture, size: tuple[int, int]) -> Picture:
    """Return a picture enlarged or reduced to fit (height, width), in the middle of a dark page."""
    height, width = size
    factor = min(height / picture.shape[0], width / picture.shape[1])
    fitted = max(1, round(picture.shape[1] * factor)), max(1, round(picture.shape[0] * factor))
    page = Image.new("RGB", (width, height), PAGE)
    resampling = Image.Resampling.NEAREST if factor >= 1 else Image.Resampling.LANCZOS
    image = Image.fromarray(picture).resize(fitted, resampling)
    page.paste(image, ((width - fitted[0]) // 2, (height - fitted[1]) // 2))
    return np.array(page)


def composite(
    layers: Sequence[Layer], size: tuple[int, int], smoothing: int = 2, renderer: SceneRenderer = PAINTER
) -> Image.Image:
    """Return the layers as one picture of (height, width) pixels, without a window."""
    page = Image.new("RGB", (size[1], size[0]), PAGE)
    for layer in layers:
        if isinstance(layer, SceneLayer):
            page.paste(layer.paint(smoothing, renderer), layer.box[:2])
        else:
            layer.paste(page)
    return page
