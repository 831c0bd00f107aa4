"""Observations computed from pose, build and target: where the hands would act, the blocks around, the wrong cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import cell_of
from iglu_marl.core.kernels.ray import gaze, reach
from iglu_marl.core.kernels.records import NO_CELL, RAY_SAMPLES_PER_CELL
from iglu_marl.core.kernels.score import live_alignment
from iglu_marl.core.kernels.wrong_cells import write_wrong_cells

Array = npt.NDArray[Any]

AIM_LENGTH = WRONG_CELL_LENGTH = 8
OUTSIDE = 7  # the place in `Sights.ids` of what is outside the zone


class Sights(NamedTuple):
    """Output arrays, a row per world; arrays without rows are not written."""

    aim: Array  # float32 [n, 8]: 1, cell hit (x, y, z), cell to place in (x, y, z), distance; zeros without a hit
    egocentric: Array  # int8 or int32 [n, side, side, side]: the build around the builder
    target_egocentric: Array  # the same of the target, as the score aligns it
    hotbar: Array  # int32 [n, 1]: the number that selects the colour in hand, 1..6
    wrong_cells: Array  # float32 [n, k, 8]: the first k wrong cells, see `write_wrong_cells`
    ids: Array  # [8]: how colours 0..6 and what is outside the zone are shown, in the dtype of the two


@jit
def write_aim(s, out):
    """Write what the line of sight hits into float32 [8]. Inside a block, both cells are that block's."""
    pose = s["pose"]
    hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
    sample = reach(s["grid"], (pose[0], pose[1], pose[2]), gaze(pose[3], pose[4]), hit, before)
    out[:] = 0.0
    if sample < 0:
        return
    if before[0] == NO_CELL:
        before[:] = hit
    out[0] = 1.0
    for k in range(3):
        out[1 + k], out[4 + k] = hit[k], before[k]
    out[7] = sample / RAY_SAMPLES_PER_CELL


@jit
def write_around(s, cells, dx, dz, rotation, ids, out):
    """Write `cells` int8 [9, 11, 11], rotated and shifted, around the builder into out [side, side, side].

    Axes are [up, right, back] from the cell of the eye: as [y, x, z] of the map when the builder faces north. The yaw
    is rounded to a quarter turn.
    """
    pose = s["pose"]
    x, y, z = cell_of(pose[0]), cell_of(pose[1]), cell_of(pose[2])
    quarters = cell_of(pose[3] / 90.0) % 4
    right_x, right_z = (1, 0, -1, 0)[quarters], (0, 1, 0, -1)[quarters]
    side, radius = out.shape[0], out.shape[0] // 2
    lowest = y - radius - MIN_Y
    first, last = max(0, -lowest), max(0, min(side, cells.shape[0] - lowest))  # layers of the zone
    out[:] = ids[OUTSIDE]
    for j in range(side):
        for k in range(side):
            right, back = j - radius, k - radius
            ax, az = (
                x + right * right_x - back * right_z - MIN_X,
                z + right * right_z + back * right_x - MIN_Z,
            )
            if not (0 <= ax and ax <= 10 and 0 <= az and az <= 10):
                continue
            ax, az = ax + dx, az + dz
            inside = 0 <= ax and ax <= 10 and 0 <= az and az <= 10
            for _ in range(rotation):
                ax, az = 10 - az, ax
            for i in range(first, last):
                out[i, j, k] = ids[cells[lowest + i, ax, az]] if inside else ids[0]


@jit
def see_many(state, out, first, last):
    """Write the observations of the worlds first..last-1."""
    for i in range(first, last):
        s = state[i]
        if out.aim.shape[0] > 0:
            write_aim(s, out.aim[i])
        if out.egocentric.shape[0] > 0:
            write_around(s, s["grid"], 0, 0, 0, out.ids, out.egocentric[i])
        if out.target_egocentric.shape[0] > 0:
            dx, dz, rotation = live_alignment(s)
            write_around(s, s["target"], dx, dz, rotation, out.ids, out.target_egocentric[i])
        if out.hotbar.shape[0] > 0:
            out.hotbar[i, 0] = out.ids[s["active"]] - out.ids[0]  # air is 0 in actions
        if out.wrong_cells.shape[0] > 0:
            write_wrong_cells(s, out.ids, out.wrong_cells[i])
