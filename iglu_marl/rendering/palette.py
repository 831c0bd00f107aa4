"""The one 8-bit palette that every renderer of this package shares.

A picture is made of palette indices: 0 sky, 1-4 the ground, then eight entries a block colour: four shades
(top, ±z, ±x, bottom), each with a fill and a border. The colours were measured on frames of IGLU Gridworld;
sides are the top's colour times 0.7 (±z), 0.5 (±x) and 0.2 (bottom). Grey ground cells have a faint mottle
there (standard deviation below 3 levels), which is its mean here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES, color_id

SKY = 0
WHITE_FILL, WHITE_LINE = 1, 2
GREY_FILL, GREY_LINE = 3, 4
FIRST_BLOCK = 5
ENTRIES_PER_COLOR = 8

SHADE_TOP, SHADE_Z, SHADE_X, SHADE_BOTTOM = range(4)
FILL, BORDER = range(2)

_RGB = tuple[int, int, int]

_GROUND: dict[int, _RGB] = {
    SKY: (128, 176, 255),
    WHITE_FILL: (255, 255, 255),
    WHITE_LINE: (171, 171, 171),
    GREY_FILL: (80, 82, 86),
    GREY_LINE: (0, 0, 0),
}

# Per colour name: (fill, border) of the top, the ±z sides, the ±x sides and the bottom.
_BLOCKS: dict[str, tuple[tuple[_RGB, _RGB], ...]] = {
    "blue": (
        ((0, 162, 232), (0, 114, 152)),
        ((0, 113, 162), (0, 79, 106)),
        ((0, 81, 116), (0, 57, 76)),
        ((0, 32, 46), (0, 22, 30)),
    ),
    "yellow": (
        ((255, 242, 0), (196, 188, 0)),
        ((178, 169, 0), (137, 131, 0)),
        ((127, 121, 0), (98, 94, 0)),
        ((51, 48, 0), (39, 37, 0)),
    ),
    "green": (
        ((34, 177, 76), (13, 142, 10)),
        ((23, 123, 53), (9, 99, 7)),
        ((17, 88, 38), (6, 71, 5)),
        ((6, 35, 15), (2, 28, 2)),
    ),
    "orange": (
        ((255, 127, 39), (204, 92, 28)),
        ((178, 88, 27), (142, 64, 19)),
        ((127, 63, 19), (102, 46, 14)),
        ((51, 25, 7), (40, 18, 5)),
    ),
    "purple": (
        ((163, 73, 164), (122, 26, 151)),
        ((114, 51, 114), (85, 18, 105)),
        ((81, 36, 82), (61, 13, 75)),
        ((32, 14, 32), (24, 5, 30)),
    ),
    "red": (
        ((237, 28, 36), (174, 27, 1)),
        ((165, 19, 25), (121, 18, 0)),
        ((118, 14, 18), (87, 13, 0)),
        ((47, 5, 7), (34, 5, 0)),
    ),
}

SIZE = FIRST_BLOCK + ENTRIES_PER_COLOR * len(_BLOCKS)


def block_index(color: int, shade: int, part: int) -> int:
    """The palette index of a block colour (id 1..6), a shade (`SHADE_*`) and a part (`FILL` or `BORDER`)."""
    return FIRST_BLOCK + ENTRIES_PER_COLOR * (color - 1) + 2 * shade + part


def _table() -> npt.NDArray[np.uint8]:
    table = np.zeros((SIZE, 3), dtype=np.uint8)
    for index, rgb in _GROUND.items():
        table[index] = rgb
    for name in COLOR_NAMES[1:]:
        for shade, parts in enumerate(_BLOCKS[name]):
            for part, rgb in enumerate(parts):
                table[block_index(color_id(name), shade, part)] = rgb
    return table


def pack(rgb: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """Colours uint8[n, 3] as uint32[n]: red in the lowest byte, then green, blue, and the index on top."""
    table = np.asarray(rgb, dtype=np.uint32)
    index = np.arange(len(table), dtype=np.uint32)
    packed = table[:, 0] | table[:, 1] << 8 | table[:, 2] << 16 | index << 24
    return packed.astype(np.uint32)


RGB = _table()
RGB.setflags(write=False)
PACKED = pack(RGB)
PACKED.setflags(write=False)
