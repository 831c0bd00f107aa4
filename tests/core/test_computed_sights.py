"""Computed observations: the aim of the hands, and the blocks around the builder, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl import Task
from iglu_marl.core.grid import in_zone, index_of
from iglu_marl.core.kernels.sights import OUTSIDE, Sights, see_many
from iglu_marl.core.worlds import Worlds

RIGHT = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}  # of one who looks at this yaw, in x and z


def seen(worlds: Worlds, side: int = 7) -> Sights:
    count = len(worlds)
    cubes = [np.full((count, side, side, side), -5, np.int8) for _ in range(2)]
    ids = np.array([10, 11, 12, 13, 14, 15, 16, -1], np.int8)
    wrong_cells = np.full((count, 3, 8), np.nan, np.float32)
    sights = Sights(
        np.full((count, 8), np.nan, np.float32), *cubes, np.zeros((count, 1), np.int32), wrong_cells, ids
    )
    see_many(worlds.state, sights, 0, count)
    return sights


@pytest.mark.parametrize("yaw", [0, 44, 46, 90, 180, 270, 316, 359])
@pytest.mark.parametrize("place", [(0, 0, 0), (3, 5, -4), (-5, 7, 5), (7, -1, 0)])
def test_the_blocks_around_the_builder(yaw: float, place: tuple[int, int, int]) -> None:
    """Axes are up, right and back from the cell of the eye, by the nearest quarter turn."""
    rng = np.random.default_rng(int(yaw))
    grid = rng.integers(0, 7, (9, 11, 11)).astype(np.int8)
    worlds = Worlds(1)
    worlds.spawn(0, Task("", np.roll(grid, 1, axis=1), invariant=False), pose=(*place, yaw, 0))
    worlds.grid[0] = grid
    dx, dz = RIGHT[round(yaw / 90) % 4 * 90]
    sights = seen(worlds)
    for cells, cube in ((grid, sights.egocentric), (worlds.target[0], sights.target_egocentric)):
        for up, right, back in np.ndindex(7, 7, 7):
            u, r, b = up - 3, right - 3, back - 3
            x, y, z = place[0] + r * dx - b * dz, place[1] + u, place[2] + r * dz + b * dx
            expected = sights.ids[cells[index_of((x, y, z))] if in_zone(x, y, z) else OUTSIDE]
            assert cube[0, up, right, back] == expected


def test_the_aim_is_the_first_block_on_the_line_of_sight() -> None:
    worlds = Worlds(4)
    poses = [(0, 0, 0, 0, 0), (0, 0, 0, 90, 0), (0, 0, 0, 180, 0), (0, 1, 0, 0, -90)]
    for number, pose in enumerate(poses):
        worlds.spawn(number, Task("", [(5, -1, 5, 1)]), pose=pose)
        worlds.grid[number][index_of((0, 0, -3))] = 4
        worlds.grid[number][index_of((0, 0, -4))] = 5
        worlds.grid[number][index_of((0, -1, 0))] = 2
    aim = seen(worlds).aim
    assert aim[0, :7].tolist() == [1, 0, 0, -3, 0, 0, -2]
    assert aim[0, 7] == pytest.approx(2.5, abs=0.13)  # a face is half a cell before the middle; by samples
    assert aim[1].tolist() == aim[2].tolist() == [0] * 8
    assert aim[3, :7].tolist() == [1, 0, -1, 0, 0, 0, 0]
    assert aim[3, 7] == pytest.approx(1.5, abs=0.13)


def test_the_hotbar_has_the_number_of_the_colour_in_hand() -> None:
    worlds = Worlds(6)
    worlds.active[:] = range(1, 7)
    assert seen(worlds).hotbar.ravel().tolist() == [1, 2, 3, 4, 5, 6]
