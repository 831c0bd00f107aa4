"""The greedy builder finds a way out, in, and to what is hard to see."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from worlds import BOTH, built, world_with

from iglu_marl.core.grid import Cell
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning.walking.navigation import Terrain

RED = 6


@BOTH
def test_out_of_a_closed_cell(controls: str) -> None:
    box = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)]
    inside = {(0, -1, 0), (0, 0, 0)}
    blocks = [(*cell, 1 + number % 6) for number, cell in enumerate(box) if cell not in inside]
    worlds = world_with(blocks)
    assert not Terrain(worlds.grid[0]).escapes((0, 0, -2))
    built(worlds, [(4, -1, 4, 6)], controls)


@BOTH
def test_out_of_a_block(controls: str) -> None:
    blocks = [(0, -1, 0, 2), (0, 0, 0, 3), (1, 0, 0, 4), (-1, 0, 0, 4)]
    built(world_with(blocks), [(0, 1, 0, 6)], controls)


@pytest.mark.slow
def test_a_cell_shut_in_by_others_is_reached() -> None:
    rng = np.random.default_rng(1)
    blocks = [(x, y, z, int(rng.integers(1, 7))) for x in (1, 2, 3) for y in (-1, 0, 1) for z in (1, 2, 3)]
    for controls in ("walking", "flying"):
        built(world_with(blocks), [(2, 0, 2, 0)], controls)


def shell(*low_and_size: int) -> list[Cell]:
    """The walls of a box: x, y, z of its lowest corner, and its three sizes."""
    low, size = low_and_size[:3], low_and_size[3:]
    box = product(*(range(a, a + n) for a, n in zip(low, size, strict=True)))
    inner = [range(a + 1, a + n - 1) for a, n in zip(low, size, strict=True)]
    return [cell for cell in box if not all(c in part for c, part in zip(cell, inner, strict=True))]


@BOTH
def test_out_of_a_chamber_in_which_one_could_climb(controls: str) -> None:
    """A walker put blocks under itself for ever: it could climb, and so took itself to be free."""
    blocks = [(*cell, 1 + number % 6) for number, cell in enumerate(shell(-1, -1, -1, 3, 4, 3))]
    built(world_with(blocks), [(4, -1, -4, 6)], controls, "fast")


@BOTH
@pytest.mark.parametrize("hole", [(), ((1, 3, 0),)], ids=["closed", "a hole in the roof"])
def test_what_floats_in_a_closed_room_is_placed(controls: str, hole: tuple[Cell, ...]) -> None:
    """Through a wall that is opened and closed again; from above each scaffold took another to be broken, for ever."""
    cells = [cell for cell in shell(-2, -1, -2, 5, 5, 5) if cell not in hole]
    blocks = [(*cell, 1 + number % 6) for number, cell in enumerate(cells)]
    built(world_with(blocks, Pose(2.0, 0.0, 6.0)), [(0, 1, 0, 6)], controls, "fast")


def cave(seed: int, pose: Pose) -> Worlds:
    """A zone three quarters full: nothing but red is in hand."""
    rng = np.random.default_rng(seed)
    grid = np.where(rng.random((9, 11, 11)) < 0.75, rng.integers(1, 6, (9, 11, 11)), 0).astype(np.int8)
    worlds = Worlds(1)
    worlds.grid[0], worlds.pose[0] = grid, pose
    worlds.inventory[0] = 20 - np.bincount(grid.ravel(), minlength=7)[1:]
    return worlds


@pytest.mark.parametrize(
    ("seed", "place", "cell"),
    [
        (6, (0, 4, -2), (-1, 2, -4)),  # in sight from off the centre of a column only
        (24, (-3, 3, 3), (-2, 3, 0)),
        (154, (4, 0, -4), (5, 3, -5)),
        (
            133,
            (4, 4, -4),
            (3, 5, -5),
        ),  # nothing to place it against is in sight, unless a block is put beside it
    ],
)
def test_what_is_hard_to_see_in_a_cave_is_done(seed: int, place: Cell, cell: Cell) -> None:
    built(cave(seed, Pose(*place)), [(*cell, RED)], "walking", "fast")
