"""What the composed pictures share: colours of the page, lettering, panels with round corners."""

from __future__ import annotations

import bisect
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

RGB = tuple[int, int, int]
Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

PAGE: RGB = (20, 24, 33)
PANEL: RGB = (33, 40, 54)
TEXT: RGB = (229, 233, 242)
DIM: RGB = (140, 151, 174)
BAR: RGB = (45, 53, 70)
GOOD: RGB = (66, 200, 130)
SPEAKERS: dict[str, RGB] = {"architect": (255, 196, 61), "builder": (72, 202, 196)}


@lru_cache(maxsize=32)
def lettering(pixels: int) -> Font:
    """The font of all pictures, 7 pixels or more."""
    return ImageFont.load_default(max(pixels, 7))


def fitting(text: str, letters: Font, width: float) -> int:
    """How many leading characters fit the width; at least one."""
    return max(
        1, bisect.bisect_right(range(1, len(text) + 1), width, key=lambda k: letters.getlength(text[:k]))
    )


def cut(text: str, letters: Font, width: float) -> str:
    """The text in one line, with three dots at its end where it had to be cut."""
    if letters.getlength(text) <= width:
        return text
    return text[: fitting(text, letters, width - letters.getlength("..."))] + "..."


@lru_cache(maxsize=512)
def wrapped(text: str, pixels: int, width: int) -> tuple[str, ...]:
    """The text in lines that fit the width; long words are cut."""
    letters = lettering(pixels)
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if letters.getlength(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            while letters.getlength(word) > width and len(word) > 1:
                end = fitting(word, letters, width)
                lines.append(word[:end])
                word = word[end:]
            line = word
        lines.append(line)
    return tuple(lines)


@lru_cache(maxsize=8)
def corners(size: tuple[int, int], radius: int) -> Image.Image:
    """A smooth mask of a rectangle (width, height) with round corners."""
    width, height = 4 * size[0], 4 * size[1]
    mask = Image.new("L", (width, height))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width - 1, height - 1), 4 * radius, fill=255)
    return mask.reduce(4)
