"""Colors of imported structures: names of blocks and dyes as RGB, and the nearest of the six colors of the game."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLOR_NAMES

RGB = tuple[int, int, int]
GAME_COLORS = np.array(
    [(0, 162, 232), (255, 242, 0), (34, 177, 76), (255, 127, 39), (163, 73, 164), (237, 28, 36)], np.uint8
)
"""RGB of the color ids 1..6, as the pictures have them, uint8 [6, 3]."""
LIGHTNESS_WEIGHT = 0.3  # hue decides: dark blue is blue, not purple

AIR = frozenset(("air", "cave_air", "void_air", "structure_void", "barrier", "light"))
_UNKNOWN: RGB = (128, 128, 128)
_DYES: dict[str, RGB] = {  # longer names first
    "light_blue": (58, 175, 217),
    "light_gray": (142, 142, 134),
    **{name: tuple(rgb) for name, rgb in zip(COLOR_NAMES[1:], GAME_COLORS.tolist(), strict=True)},
    "gray": (62, 68, 71),
    "grey": (62, 68, 71),
    "white": (233, 236, 236),
    "black": (20, 21, 25),
    "brown": (114, 71, 40),
    "lime": (112, 185, 25),
    "pink": (237, 141, 172),
    "cyan": (21, 137, 145),
    "magenta": (189, 68, 179),
}
# By words of a Minecraft block's name; the first that fits counts.
_WORDS: dict[str, RGB] = {
    **dict.fromkeys(("leaves", "grass", "moss", "vine", "cactus", "kelp", "fern", "melon"), (90, 140, 50)),
    **dict.fromkeys(("emerald", "slime", "lily"), (60, 200, 90)),
    **dict.fromkeys(("gold", "hay", "honey", "honeycomb", "glowstone", "sponge"), (246, 208, 61)),
    **dict.fromkeys(("sand", "sandstone", "end", "birch", "bamboo"), (219, 207, 163)),
    **dict.fromkeys(("redstone", "nether", "crimson", "mangrove", "poppy", "tnt"), (150, 40, 35)),
    **dict.fromkeys(("magma", "lava", "fire", "campfire", "pumpkin", "acacia", "copper"), (220, 110, 40)),
    **dict.fromkeys(("brick", "bricks", "terracotta", "granite", "cherry"), (170, 100, 85)),
    **dict.fromkeys(("lapis", "water", "sapphire"), (40, 80, 180)),
    **dict.fromkeys(("ice", "diamond", "prismarine", "warped"), (100, 190, 210)),
    **dict.fromkeys(("amethyst", "purpur", "obsidian", "chorus", "portal"), (130, 80, 170)),
    **dict.fromkeys(
        ("quartz", "snow", "iron", "bone", "wool", "glass", "diorite", "calcite"), (225, 225, 225)
    ),
    **dict.fromkeys(("oak", "spruce", "jungle", "planks", "log", "wood", "dirt", "mud"), (150, 110, 70)),
    **dict.fromkeys(("podzol", "farmland", "chest", "bookshelf", "barrel"), (150, 110, 70)),
    **dict.fromkeys(("stone", "cobblestone", "andesite", "gravel", "deepslate", "concrete"), _UNKNOWN),
    **dict.fromkeys(("bedrock", "basalt", "blackstone", "coal", "netherite"), (70, 70, 72)),
}


def rgb_of_name(name: str) -> tuple[RGB | None, bool]:
    """Return the color of a block (None: air), and whether it is known; an unknown one is grey.

    Args:
        name: a color ("red", "light_blue", "#ff8000") or a Minecraft block ("minecraft:oak_planks[axis=y]").

    """
    plain = name.strip().lower().partition("[")[0].rpartition(":")[2].replace(" ", "_")
    if re.fullmatch(r"#[0-9a-f]{6}", plain):
        return (int(plain[1:3], 16), int(plain[3:5], 16), int(plain[5:7], 16)), True
    if plain in AIR:
        return None, True
    for dye, rgb in _DYES.items():
        if f"_{dye}_" in f"_{plain}_":
            return rgb, True
    for word in plain.split("_"):
        if word in _WORDS:
            return _WORDS[word], True
    return _UNKNOWN, False


def oklab(rgb: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return colors 0..255 [..., 3] in the perceptual space OKLab: lightness, green-red, blue-yellow.

    Source: B. Ottosson, A perceptual color space for image processing (2020).
    """
    share = np.asarray(rgb, np.float64) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    opponents = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.cbrt(linear @ cones.T) @ opponents.T


@cache
def _palette() -> npt.NDArray[np.float64]:
    return oklab(GAME_COLORS) * (LIGHTNESS_WEIGHT, 1.0, 1.0)


def nearest_colors(rgb: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the id 1..6 of the nearest color of the game for each color [n, 3], int8 [n].

    The distance is that of OKLab, where lightness counts 0.3: hue decides.
    """
    distinct, index = np.unique(np.asarray(rgb, np.uint8).reshape(-1, 3), axis=0, return_inverse=True)
    points = oklab(distinct) * (LIGHTNESS_WEIGHT, 1.0, 1.0)
    distances = ((points[:, None] - _palette()) ** 2).sum(axis=-1)
    return (distances.argmin(axis=1) + 1).astype(np.int8)[index.reshape(-1)]
