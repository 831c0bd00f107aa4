"""No word of a request is dropped: a modifier is obeyed, refused or asked about, or it is true already."""

from __future__ import annotations

from functools import cache
from itertools import product
from random import Random

import numpy as np
import pytest

from benchmarks.dialogues import Follower
from iglu_marl.core.grid import blocks_to_grid, color_id

BLOCKS = [(-3, -1, -2, "green"), (-3, 0, -2, "green"), (3, -1, 2, "yellow")] + [
    (x, -1, -4, "blue") for x in (1, 2, 3)
]
WORLD = blocks_to_grid([(x, y, z, color_id(color)) for x, y, z, color in BLOCKS])
REQUESTS = (
    "place five red blocks in the centre",
    "put a red block in the centre",
    "build a row of four red blocks in the centre going east",
    "build a red tower of three blocks in the centre",
    "stack three purple blocks in the south west corner",
    "put a red block on the green tower",
    "build a 3x3 red square in the centre",
    "put two purple blocks east of the yellow block",
    "place an orange block in the north west corner",
    "build a red wall three long and two high in the centre running east",
    "remove the yellow block",
    "remove the green tower",
    "turn the yellow block red",
    "move the yellow block two blocks to the west",
    "copy the blue row two blocks to the south",
    "mirror the green tower to the east",
    "make the green tower two blocks taller",
    "extend the blue row by two blocks to the east",
    "rotate the blue row by a quarter turn",
    "surround the yellow block with red blocks",
)
MODIFIERS = (
    "east to west",
    "north to south",
    "running from south to north",
    "diagonally",
    "lying flat",
    "standing up",
    "horizontally",
    "vertically",
    "in a line",
    "flat on the ground",
    "on the ground",
    "floating",
    "in the air",
    "at height 3",
    "side by side",
    "with a gap of one between them",
    "one apart",
    "three blocks high",
    "twice",
    "hollow",
    "upside down",
    "mirrored",
    "alternating with yellow",
    "in purple",
    "but not the last one",
    "except the middle one",
    "without touching it",
    "unless it is taken",
    "if there is space",
    "to the south",
    "facing north",
    "on both sides",
    "as high as the green tower",
    "four in total",
    "only two of them",
    "from the bottom up",
    "instead of the green one",
    "in the middle row",
    "all the way to the edge",
    "as seen from the south",
)


def answer(text: str) -> tuple[bytes, str, str]:
    """Return the world after a text, what the builder says, and how it took the text."""
    follower = Follower(WORLD.copy())
    follower.hear(text)
    return follower.grid.tobytes(), follower.said, follower.taken


plain = cache(answer)


def outcome(request: str, modifier: str) -> str:
    """Return what becomes of a modifier: "obeyed", "refused", "asked" or "dropped"."""
    world, said, taken = answer(f"{request} {modifier}")
    if world == WORLD.tobytes():
        return "asked" if taken == "question" else "refused" if said else "obeyed"
    if world != plain(request)[0]:
        return "obeyed"
    return "dropped" if said == plain(request)[1] else "refused"
