"""The colours of pages, panels, letters and marks, which all pictures for people share. Blocks: see `palette`."""

from __future__ import annotations

RGB = tuple[int, int, int]

PAGE: RGB = (20, 24, 33)
PANEL: RGB = (33, 40, 54)
BAR: RGB = (45, 53, 70)
TEXT: RGB = (229, 233, 242)
OLDER: RGB = (176, 186, 206)  # utterances before the newest
DIM: RGB = (140, 151, 174)
ACCENT: RGB = (255, 196, 61)  # north, keys, the line that is being typed
GOOD: RGB = (66, 200, 130)
WARNING: RGB = (255, 122, 92)
SPEAKERS: dict[str, RGB] = {"architect": ACCENT, "builder": (72, 202, 196)}

BOARD: RGB = (243, 245, 249)
INK: RGB = (22, 26, 36)  # on light colours
PALE: RGB = (196, 202, 212)  # what does not matter is washed out to it
ADDED: RGB = (18, 205, 105)
REMOVED: RGB = (255, 24, 170)  # also: not in the target
RECOLORED: RGB = (30, 36, 50)


def blended(color: RGB, other: RGB, share: float) -> RGB:
    """`color` with a share (0..1) of `other` in it."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(color, other, strict=True))
    return red, green, blue
