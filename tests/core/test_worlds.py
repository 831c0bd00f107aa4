"""A row of worlds is one world."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl import Task
from iglu_marl.core.worlds import Worlds


@pytest.fixture
def worlds() -> Worlds:
    """Three worlds whose builders stand at x = 0, 1, 2."""
    found = Worlds(3)
    for number in range(3):
        found.spawn(number, Task("", [(number, -1, 0, 1)]), pose=(number, 0, 0, 0, 0))
    return found


@pytest.mark.parametrize("index", range(3))
def test_a_row_is_one_world_and_shares_its_memory(worlds: Worlds, index: int) -> None:
    row = worlds.row(index)
    assert len(row) == 1
    assert row.pose.tolist() == [[index, 0, 0, 0, 0]]
    assert np.argwhere(row.target[0]).tolist() == [[0, index + 5, 5]]
    row.pose[0, 1] = 7
    assert worlds.pose[:, 1].tolist() == [7.0 * (number == index) for number in range(3)]
