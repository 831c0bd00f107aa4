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
    "remove the top block of the green tower",
    "make the green tower two blocks taller",
    "extend the blue row by two blocks to the east",
    "paint the blue row purple",
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


PLACED = REQUESTS[:10]
ON_GROUND = [request for request in REQUESTS if request not in (REQUESTS[5], *REQUESTS[12:19])]
UPRIGHT = (REQUESTS[0], REQUESTS[3], REQUESTS[4])  # five blocks in one cell are a tower
LYING = (REQUESTS[2], REQUESTS[6], REQUESTS[7])
ONE_BLOCK = (REQUESTS[1], REQUESTS[5], REQUESTS[8])
TRUE_ALREADY: dict[str, tuple[tuple[str, ...], str]] = {
    "as seen from the south": (REQUESTS, "no left or right depends on it"),
    "facing north": (
        tuple(one for one in REQUESTS if one not in (REQUESTS[2], REQUESTS[6], REQUESTS[9])),
        "the builder faces north; no left or right depends on it",
    ),
    "on the ground": ((*ON_GROUND, REQUESTS[5], REQUESTS[15]), "it is there, or the green tower is"),
    "flat on the ground": (
        (*LYING, REQUESTS[1], REQUESTS[8], REQUESTS[18], REQUESTS[19]),
        "it lies there",
    ),
    "lying flat": ((*LYING, *ONE_BLOCK, REQUESTS[19]), "it is one block high"),
    "horizontally": ((*LYING, REQUESTS[9]), "it lies, or is long and level"),
    "side by side": ((*LYING, REQUESTS[9]), "its blocks are"),
    "in a line": ((REQUESTS[2], REQUESTS[7]), "it is one"),
    "east to west": ((REQUESTS[2], REQUESTS[7], REQUESTS[9]), "it goes east"),
    "standing up": ((*UPRIGHT, REQUESTS[9]), "it stands"),
    "vertically": ((*UPRIGHT, REQUESTS[9]), "it stands"),
    "three blocks high": ((REQUESTS[3], REQUESTS[4]), "it has three blocks"),
    "four in total": ((REQUESTS[2],), "it has four"),
    "at height 3": ((REQUESTS[5],), "the top of the green tower is at height 2"),
    "to the south": (
        (REQUESTS[5], REQUESTS[7], REQUESTS[10], REQUESTS[11], REQUESTS[15]),
        "the only yellow block and the only green tower are the southernmost",
    ),
    "in purple": ((REQUESTS[4], REQUESTS[7], REQUESTS[18]), "it is"),
}
"""Modifiers that change nothing: the requests of which they are true, and why."""
CASES = list(product(REQUESTS, MODIFIERS))


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
        return "asked" if taken == "question" else "refused" if said else "dropped"
    if world != plain(request)[0]:
        return "obeyed"
    return "dropped" if said == plain(request)[1] else "refused"


def test_no_modifier_is_dropped() -> None:
    """A fixed sample of 800 requests with a modifier."""
    dropped = {
        (request, modifier)
        for request, modifier in Random(7).sample(CASES, 100)
        if outcome(request, modifier) == "dropped" and request not in TRUE_ALREADY.get(modifier, ((),))[0]
    }
    assert not dropped


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests_without_modifiers_are_followed(request_: str) -> None:
    world, _, taken = plain(request_)
    assert world != WORLD.tobytes()
    assert taken == "request"


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("Place five red blocks east to west in the centre", 1),
        ("Place five red blocks in the centre north to south", 2),
        ("Place three red blocks on the green tower, east to west", 1),
    ],
)
def test_blocks_lie_along_the_stated_axis(text: str, way: int) -> None:
    follower = Follower(WORLD.copy())
    follower.hear(text)
    cells = np.argwhere(follower.grid == color_id("red"))
    assert np.flatnonzero(np.ptp(cells, axis=0)).tolist() == [way]


@pytest.mark.parametrize(
    "text",
    [
        "Build a red tower of three blocks in the centre, going south.",
        "Build a row of four red blocks in the centre going east, north to south.",
        "Put three red blocks in the south west corner, flat and upright.",
        "Put a red block in the centre, side by side.",
        "Build a 3x3 red square in the centre in a line.",
        "Put a red block on the green tower, flat on the ground.",
        "Mirror the yellow block about the green tower to the east.",
        "Rotate the blue row by a quarter turn to the south.",
    ],
)
def test_what_cannot_hold_is_refused(text: str) -> None:
    world, said, _ = answer(text)
    assert world == WORLD.tobytes()
    assert said
