"""Colours of pages, panels, letters and marks, shared by all pictures for people. Blocks: see `palette`."""

from __future__ import annotations

RGBColor = tuple[int, int, int]

PAGE: RGBColor = (20, 24, 33)
PANEL: RGBColor = (33, 40, 54)
BAR: RGBColor = (45, 53, 70)
TEXT: RGBColor = (229, 233, 242)
OLDER: RGBColor = (176, 186, 206)  # utterances before the newest
DIM: RGBColor = (140, 151, 174)
ACCENT: RGBColor = (255, 196, 61)  # north, keys, the line that is being typed
GOOD: RGBColor = (66, 200, 130)
WARNING: RGBColor = (255, 122, 92)
SPEAKERS: dict[str, RGBColor] = {"architect": ACCENT, "builder": (72, 202, 196)}

BOARD: RGBColor = (243, 245, 249)
INK: RGBColor = (22, 26, 36)  # on light colours
REMOVED: RGBColor = (255, 24, 170)  # also: not in the target


def blended(color: RGBColor, other: RGBColor, share: float) -> RGBColor:
    """Return `color` mixed with a share (0..1) of `other`."""
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(color, other, strict=True))
    return red, green, blue
