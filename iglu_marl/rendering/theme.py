"""What the composed pictures share: colours of the page, panels with round corners."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

RGB = tuple[int, int, int]

PAGE: RGB = (20, 24, 33)
PANEL: RGB = (33, 40, 54)
TEXT: RGB = (229, 233, 242)
DIM: RGB = (140, 151, 174)
BAR: RGB = (45, 53, 70)
GOOD: RGB = (66, 200, 130)
SPEAKERS: dict[str, RGB] = {"architect": (255, 196, 61), "builder": (72, 202, 196)}


@lru_cache(maxsize=8)
def corners(size: tuple[int, int], radius: int) -> Image.Image:
    """A smooth mask of a rectangle (width, height) with round corners."""
    width, height = 4 * size[0], 4 * size[1]
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), 4 * radius, fill=255)
    return mask.reduce(4)
