"""Cells in which build and target differ: the nearest, where to look for them, and a potential of both.

The target is aligned with the build as in the score. With the completion "cover", only cells that the task asks to
change count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import CELLS, solid, touches
from iglu_marl.core.kernels.ray import gaze, reach
from iglu_marl.core.kernels.records import COVER, DEGREES, RADIANS
from iglu_marl.core.kernels.score import live_alignment

TO_PLACE, TO_REMOVE = 1.0, 2.0  # kinds of wrong cells in observations
unsigned: Any = np.uint64
_RANK = 100.0  # cells, more than any distance from a builder


@jit
def urgency(s, x, y, z):
    """Return a number by which wrong cells are sorted: what can be placed now, then what is in the way, by distance.

    Last are cells that have no neighbor to place a block at.
    """
    grid, pose = s["grid"], s["pose"]
    rank = 0.0
    if grid[y - MIN_Y, x - MIN_X, z - MIN_Z] != 0:
        rank = _RANK
    elif not touches(grid, x, y, z):
        rank = 2.0 * _RANK
    return rank + math.sqrt((x - pose[0]) ** 2 + (y - pose[1]) ** 2 + (z - pose[2]) ** 2)


@jit
def may_differ(grid, target, first, size, in_place):
    """Return whether cells of flat grids, `size` from `first` on, can be wrong: they differ, or there are blocks.

    first, size: uint64. Signed indices might be negative, and such loops are not vectorized.
    """
    found = np.int8(0)
    if in_place:
        for k in range(size):
            found = np.int8(found | (grid[first + k] ^ target[first + k]))
    else:
        for k in range(size):
            found = np.int8(found | grid[first + k] | target[first + k])
    return found != 0


@jit
def insert(cells, order, count, key, x, y, z, wanted):
    """Insert a cell into the first `count` rows, which are sorted by key. Return their new number."""
    most = cells.shape[0]
    place = count
    while place > 0 and order[place - 1] > key:
        place -= 1
    if place == most:
        return count
    count = min(count + 1, most)
    for k in range(count - 1, place, -1):
        order[k] = order[k - 1]
        cells[k] = cells[k - 1]
    order[place] = key
    cells[place, 0], cells[place, 1], cells[place, 2], cells[place, 3] = x, y, z, wanted
    return count


@jit
def find_wrong_cells(s, cells, order):
    """Write the first wrong cells in the order of `urgency`, ties as in the grid. Return their number.

    cells: int64 [k, 4], gets x, y, z and the wanted color. order: float64 [k], memory to sort in.
    """
    grid, start, target = s["grid"], s["start"], s["target"]
    flat_grid, flat_target = grid.reshape(CELLS), target.reshape(CELLS)
    dx, dz, rotation = live_alignment(s)
    in_place, cover = dx == 0 and dz == 0 and rotation == 0, s["completion"] == COVER
    count = 0
    for iy in range(9):
        if not may_differ(flat_grid, flat_target, unsigned(iy * 121), unsigned(121), in_place):
            continue
        for ix in range(11):
            row = unsigned(iy * 121 + ix * 11)
            if in_place and not may_differ(flat_grid, flat_target, row, unsigned(11), True):
                continue
            for iz in range(11):
                tx, tz = ix + dx, iz + dz
                inside = 0 <= tx and tx <= 10 and 0 <= tz and tz <= 10
                for _ in range(rotation):
                    tx, tz = 10 - tz, tx
                wanted = target[iy, tx, tz] if inside else np.int8(0)
                if grid[iy, ix, iz] == wanted:
                    continue
                if cover and (not inside or wanted == start[iy, tx, tz]):
                    continue
                x, y, z = ix + MIN_X, iy + MIN_Y, iz + MIN_Z
                count = insert(cells, order, count, urgency(s, x, y, z), x, y, z, wanted)
    return count


@jit
def point_to_aim_at(s, x, y, z):
    """Return where to look to act on a cell: a block's middle, or the middle of the face to place a block at.

    That is the face of the solid neighbor farthest from the eye; of equal ones below, west, east, north, south, above.
    """
    grid, pose = s["grid"], s["pose"]
    px, py, pz = float(x), float(y), float(z)
    if grid[y - MIN_Y, x - MIN_X, z - MIN_Z] != 0:
        return px, py, pz
    farthest = -1.0
    for side in range(6):
        nx, ny, nz = (
            x + (side == 2) - (side == 1),
            y + (side == 5) - (side == 0),
            z + (side == 4) - (side == 3),
        )
        if solid(grid, nx, ny, nz):
            distance = (nx - pose[0]) ** 2 + (ny - pose[1]) ** 2 + (nz - pose[2]) ** 2
            if distance > farthest:
                farthest = distance
                px, py, pz = 0.5 * (x + nx), 0.5 * (y + ny), 0.5 * (z + nz)
    return px, py, pz


@jit
def turn_to(s, px, py, pz):
    """Return the yaw and the pitch in degrees by which the builder has to turn to look at a point.

    The yaw is in -180..180, positive to the right. A point straight above or below needs none.
    """
    pose = s["pose"]
    x, y, z = px - pose[0], py - pose[1], pz - pose[2]
    level = math.sqrt(x * x + z * z)
    yaw = 0.0
    if level > 1e-9:
        yaw = math.atan2(x, -z) * DEGREES - pose[3]
        yaw -= 360.0 * np.rint(yaw / 360.0)
    return yaw, math.atan2(y, level) * DEGREES - pose[4]


@jit
def cells_in_sight(s, hit, before):
    """Write the block in the line of sight to `hit` and the cell before it, where one would be placed, to `before`."""
    pose = s["pose"]
    reach(s["grid"], (pose[0], pose[1], pose[2]), gaze(pose[3], pose[4]), hit, before)


@jit
def is_aimed_at(s, x, y, z, hit, before):
    """Return whether the hands would act on a wrong cell: break its block, or place one."""
    if s["grid"][y - MIN_Y, x - MIN_X, z - MIN_Z] != 0:
        return hit[0] == x and hit[1] == y and hit[2] == z
    return before[0] == x and before[1] == y and before[2] == z


@jit
def potential(s):
    """Return the weighted sum of the terms of shaping, of the first wrong cell; 0 without one."""
    cells, order = np.empty((1, 4), np.int64), np.empty(1)
    if find_wrong_cells(s, cells, order) == 0:
        return 0.0
    x, y, z, wanted = cells[0, 0], cells[0, 1], cells[0, 2], cells[0, 3]
    pose = s["pose"]
    px, py, pz = point_to_aim_at(s, x, y, z)
    yaw, pitch = turn_to(s, px, py, pz)
    total = -s["shaping_yaw"] * abs(yaw) / 90.0 - s["shaping_pitch"] * abs(pitch) / 90.0
    total -= s["shaping_distance"] * math.sqrt(
        (px - pose[0]) ** 2 + (py - pose[1]) ** 2 + (pz - pose[2]) ** 2
    )
    if s["grid"][y - MIN_Y, x - MIN_X, z - MIN_Z] != 0 or s["active"] == wanted:
        total += s["shaping_color"]
    if s["shaping_aim"] != 0.0:
        hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
        cells_in_sight(s, hit, before)
        if is_aimed_at(s, x, y, z, hit, before):
            total += s["shaping_aim"]
    return total


@jit
def shape_before(s):
    """Prepare a step for `shape`: what changed since the last step from outside is not paid."""
    if s["shaping_scale"] == 0.0:
        return
    s["shaping"] = 0.0
    if s["has_potential"] == 0:
        s["potential"] = potential(s)
        s["has_potential"] = 1


@jit
def shape(s):
    """Pay the gain of the potential since the builder's last step; nothing in a step that ends the episode."""
    if s["shaping_scale"] == 0.0:
        return
    if s["terminated"] != 0 or s["truncated"] != 0:
        s["has_potential"] = 0
        return
    now = potential(s)
    s["shaping"] = s["shaping_scale"] * (now - s["potential"])
    s["potential"] = now


@jit
def write_wrong_cells(s, ids, out):
    """Write the first wrong cells into float32 [k, 8]; rows of zeros follow.

    A row: 1 (to place) or 2 (to remove), offset up, right and back from the eye, yaw and pitch in degrees to turn by,
    wanted color as the number that selects it (0: none), and whether the hands would act on the cell.
    """
    cells, order = np.empty((out.shape[0], 4), np.int64), np.empty(out.shape[0])
    count = find_wrong_cells(s, cells, order)
    hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
    if count > 0:
        cells_in_sight(s, hit, before)
    pose = s["pose"]
    ahead_x, ahead_z = math.sin(pose[3] * RADIANS), -math.cos(pose[3] * RADIANS)
    out[:] = 0.0
    for k in range(count):
        x, y, z = cells[k, 0], cells[k, 1], cells[k, 2]
        px, py, pz = point_to_aim_at(s, x, y, z)
        yaw, pitch = turn_to(s, px, py, pz)
        east, south = x - pose[0], z - pose[2]
        has_block = s["grid"][y - MIN_Y, x - MIN_X, z - MIN_Z] != 0
        out[k, 0] = TO_REMOVE if has_block else TO_PLACE
        out[k, 1] = y - pose[1]
        out[k, 2] = south * ahead_x - east * ahead_z
        out[k, 3] = -east * ahead_x - south * ahead_z
        out[k, 4], out[k, 5] = yaw, pitch
        out[k, 6] = ids[cells[k, 3]] - ids[0]  # air is 0 in actions
        out[k, 7] = 1.0 if is_aimed_at(s, x, y, z, hit, before) else 0.0
