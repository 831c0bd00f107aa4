"""A second implementation of the scores, from the rules of the game (docs/score.md), with NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def match_counts(grid: Array, target: Array) -> Array:
    """Return equal blocks by rotation of the target and shift, int64 [4, 21, 21]. grid, target: [9, 11, 11].

    Each pair of blocks of one layer and colour counts for the one shift that aligns them.
    """
    counts = np.zeros((4, 21, 21), np.int64)
    built, colors = np.argwhere(grid), grid[grid != 0]
    for turn in range(4):
        turned = np.rot90(target, -turn, axes=(1, 2))
        wanted, asked = np.argwhere(turned), turned[turned != 0]
        same = (built[:, None, 0] == wanted[None, :, 0]) & (colors[:, None] == asked[None])
        dx = (wanted[None, :, 1] - built[:, None, 1])[same] + 10
        dz = (wanted[None, :, 2] - built[:, None, 2])[same] + 10
        np.add.at(counts[turn], (dx, dz), 1)
    return counts


def admissible(extent: Array, inside: bool, invariant: bool) -> Array:
    """Return which alignments count, bool [4, 21, 21].

    With `inside`, those that keep every column of `extent` in the zone; without `invariant`, the identity only.
    """
    allowed = np.ones((4, 21, 21), bool)
    if not invariant:
        allowed[:] = False
        allowed[0, 10, 10] = True
        return allowed
    for turn in range(4):
        columns = np.argwhere(np.rot90(extent != 0, -turn, axes=(1, 2)).any(axis=0))
        if not inside:
            continue
        for dx in range(-10, 11):
            for dz in range(-10, 11):
                laid = columns - (dx, dz)
                allowed[turn, dx + 10, dz + 10] = ((laid >= 0) & (laid <= 10)).all()
    return allowed


def covered(grid: Array, start: Array, target: Array, allowed: Array) -> bool:
    """Whether an alignment shows every asked change done; outside the zone there is air."""
    asked = np.argwhere(start != target)
    colors = target[start != target]
    for turn in range(4):
        x, z = asked[:, 1], asked[:, 2]
        for _ in range(turn):
            x, z = z, 10 - x
        dx, dz = np.argwhere(allowed[turn]).T[:, :, None] - 10
        x, z = x - dx, z - dz
        inside = (x >= 0) & (x <= 10) & (z >= 0) & (z <= 10)
        found = np.where(inside, grid[asked[:, 0], np.clip(x, 0, 10), np.clip(z, 0, 10)], 0)
        if (found == colors).all(axis=1).any():
            return True
    return False
