"""The 8-bit palette that all renderers of this package share.

Palette indices: 0 sky, 1-4 the ground, then eight entries a block colour: four shades (top, ±z, ±x, bottom), each with
a fill and a border. The colours were measured on frames of IGLU Gridworld. Sides are the top's colour times 0.7 (±z),
0.5 (±x) and 0.2 (bottom). Grey ground cells have a faint texture there (standard deviation below 3 levels); here they
have its mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SKY = 0
WHITE_FILL, WHITE_LINE = 1, 2
GREY_FILL, GREY_LINE = 3, 4
FIRST_BLOCK = 5
ENTRIES_PER_COLOR = 8

SHADE_TOP, SHADE_Z, SHADE_X, SHADE_BOTTOM = range(4)
FILL, BORDER = range(2)

_GROUND = ((128, 176, 255), (255, 255, 255), (171, 171, 171), (80, 82, 86), (0, 0, 0))
_TOPS = np.array(
    (
        ((0, 162, 232), (0, 114, 152)),  # blue: fill, border
        ((255, 242, 0), (196, 188, 0)),  # yellow
        ((34, 177, 76), (13, 142, 10)),  # green
        ((255, 127, 39), (204, 92, 28)),  # orange
        ((163, 73, 164), (122, 26, 151)),  # purple
        ((237, 28, 36), (174, 27, 1)),  # red
    )
)
_TENTHS = np.array((10, 7, 5, 2))  # of the top's colour, by shade

RGB = np.concatenate([_GROUND, (_TOPS[:, None] * _TENTHS[:, None, None] // 10).reshape(-1, 3)]).astype(
    np.uint8
)
SIZE = len(RGB)


def block_index(color: int, shade: int, part: int) -> int:
    """Return the palette index of a block colour (id 1..6), a shade (`SHADE_*`) and a part (`FILL` or `BORDER`)."""
    return FIRST_BLOCK + ENTRIES_PER_COLOR * (color - 1) + 2 * shade + part


def block_color(color: int, shade: int = SHADE_TOP) -> tuple[int, int, int]:
    """Return the fill colour (red, green, blue) of a block's side, by colour id 1..6."""
    red, green, blue = RGB[block_index(color, shade, FILL)].tolist()
    return red, green, blue


HEX_COLORS = ["#{:02x}{:02x}{:02x}".format(*block_color(color)) for color in range(1, 7)]  # for pages


def pack(rgb: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """Return colours uint8[n, 3] as uint32[n]: red in the lowest byte, then green and blue."""
    table = np.asarray(rgb, dtype=np.uint32)
    return (table[:, 0] | table[:, 1] << 8 | table[:, 2] << 16).astype(np.uint32)


PACKED = pack(RGB)
for _table in (RGB, PACKED):
    _table.setflags(write=False)
