"""Placing and breaking blocks, and the consequences of an edit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.body import in_the_way
from iglu_marl.core.kernels.cells import cell_of, in_zone, solid, touches
from iglu_marl.core.kernels.ray import cast, gaze
from iglu_marl.core.kernels.records import (
    BOTH_HANDS,
    CELL,
    CELL_IN_REACH,
    GROUND_Y,
    NO_CELL,
    NOTHING,
    PLACE_EYE_INSIDE,
    PLACE_IN_THE_WAY,
    PLACE_NO_HIT,
    PLACE_NONE_LEFT,
    PLACE_OUTSIDE,
    PLACED,
    REMOVE_GROUND,
    REMOVE_NO_HIT,
    REMOVED,
)
from iglu_marl.core.kernels.score import count

# Not the literals 0, 1 and -1, and cells as int64: Numba compiles a function, and all that it calls, for each type.
ADDED, TAKEN = np.int8(1), np.int8(-1)
_wide: Any = np.int64


@jit
def look(s):
    """Cast the line of sight into `hit` and `before`. Returns whether something solid was found."""
    pose = s["pose"]
    return cast(s["grid"], (pose[0], pose[1], pose[2]), gaze(pose[3], pose[4]), s["hit"], s["before"])


@jit
def team_in_the_way(team, x, y, z):
    """Return whether the body of a builder of the team blocks the cell (x, y, z)."""
    for k in range(team.shape[0]):
        pose = team[k]["pose"]
        if in_the_way(pose[0], pose[1], pose[2], x, y, z):
            return True
    return False


@jit
def placing(s, team):
    """Return the event of placing the active colour in front of the cell in sight. Nothing is changed."""
    pose, hit, before = s["pose"], s["hit"], s["before"]
    x, y, z = _wide(before[0]), _wide(before[1]), _wide(before[2])
    if hit[0] == NO_CELL:
        return PLACE_NO_HIT
    if x == NO_CELL:
        return PLACE_EYE_INSIDE
    if s["inventory"][int(s["active"]) - 1] <= 0:
        return PLACE_NONE_LEFT
    if not in_zone(x, y, z):
        return PLACE_OUTSIDE
    if in_the_way(pose[0], pose[1], pose[2], x, y, z):
        return PLACE_IN_THE_WAY
    if team is not None:  # compiled for teams only
        if team_in_the_way(team, x, y, z):
            return PLACE_IN_THE_WAY
    return PLACED


@jit
def removing(s):
    """Return the event of breaking the block in sight. Nothing is changed."""
    hit = s["hit"]
    if hit[0] == NO_CELL:
        return REMOVE_NO_HIT
    return REMOVE_GROUND if hit[1] == GROUND_Y else REMOVED


@jit
def can_aim_at(s, x, y, z):
    """Return whether the hands could act on a cell from where the eye is: break its block, or place one there.

    Tried are the middle of a block and of its faces, or of the faces of solid neighbors at which to place one.
    """
    grid, pose = s["grid"], s["pose"]
    has_block = solid(grid, x, y, z)
    hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
    for side in range(7):
        east = (side == 2) - (side == 1)
        up = (side == 4) - (side == 3)
        south = (side == 6) - (side == 5)
        if not has_block and not (side > 0 and solid(grid, x + east, y + up, z + south)):
            continue
        way_x, way_y, way_z = x + 0.5 * east - pose[0], y + 0.5 * up - pose[1], z + 0.5 * south - pose[2]
        far = math.sqrt(way_x * way_x + way_y * way_y + way_z * way_z)
        if far == 0.0:
            continue
        cast(grid, (pose[0], pose[1], pose[2]), (way_x / far, way_y / far, way_z / far), hit, before)
        found = hit if has_block else before
        if found[0] == x and found[1] == y and found[2] == z:
            return True
    return False


@jit
def editing(s, x, y, z, color, near, team):
    """Return the event of setting the colour of a cell (0: air) without aim; other conditions hold.

    With `near`, the builder has to be able to look at the cell from where it is. Nothing is changed.
    """
    if not in_zone(x, y, z):
        return PLACE_OUTSIDE
    pose, old = s["pose"], int(s["grid"][y - MIN_Y, x - MIN_X, z - MIN_Z])
    if color == 0:
        return REMOVE_NO_HIT if old == 0 or (near and not can_aim_at(s, x, y, z)) else REMOVED
    if old == color:
        return NOTHING
    if (old == 0 and not touches(s["grid"], x, y, z)) or (near and not can_aim_at(s, x, y, z)):
        return PLACE_NO_HIT
    if s["inventory"][color - 1] <= 0:
        return PLACE_NONE_LEFT
    if in_the_way(pose[0], pose[1], pose[2], x, y, z):
        return PLACE_IN_THE_WAY
    if team is not None:  # compiled for teams only
        if team_in_the_way(team, x, y, z):
            return PLACE_IN_THE_WAY
    return PLACED


@jit
def needs_aim(c):
    """Return whether a control acts on the cell in sight: it places or breaks, and does not name a cell."""
    names_cell = c["mode"] == CELL or c["mode"] == CELL_IN_REACH
    return not names_cell and (c["place"] != 0) != (c["remove"] != 0)


@jit
def hands_event(s, c, team):
    """Return the event of a control's hands, with the line of sight in `hit` and `before`. Nothing is changed."""
    if c["hotbar"] < 0:
        return NOTHING
    if c["mode"] == CELL or c["mode"] == CELL_IN_REACH:
        cell, near = c["move"], c["mode"] == CELL_IN_REACH
        return editing(s, cell_of(cell[0]), cell_of(cell[1]), cell_of(cell[2]), int(c["hotbar"]), near, team)
    if c["place"] != 0:
        return BOTH_HANDS if c["remove"] != 0 else placing(s, team)
    return removing(s) if c["remove"] != 0 else NOTHING


@jit
def use_hands(s, c, team):
    """Place or break; both at once do nothing. Sets `event`, `hit`, `before` and `change`."""
    hit, before, cell = s["hit"], s["before"], c["move"]
    hit[:] = NO_CELL
    before[:] = NO_CELL
    s["change"][:] = 0
    aimed = needs_aim(c)
    if aimed:
        look(s)
    event = hands_event(s, c, team)
    s["event"] = event
    if event != PLACED and event != REMOVED:
        return
    if not aimed:
        set_block(s, cell_of(cell[0]), cell_of(cell[1]), cell_of(cell[2]), int(c["hotbar"]))
    elif event == PLACED:
        set_block(s, _wide(before[0]), _wide(before[1]), _wide(before[2]), int(s["active"]))
    else:
        set_block(s, _wide(hit[0]), _wide(hit[1]), _wide(hit[2]), 0)


@jit
def set_block(s, x, y, z, color):
    """Set a cell of the zone. Update inventory, counts, score and asked changes."""
    grid, inventory = s["grid"], s["inventory"]
    iy, ix, iz = y - MIN_Y, x - MIN_X, z - MIN_Z
    old = int(grid[iy, ix, iz])
    if old == color:
        return
    if old != 0:
        inventory[old - 1] += 1
        s["blocks"] -= 1
        count(s, iy, ix, iz, old, TAKEN)
    if color != 0:
        inventory[color - 1] -= 1
        s["blocks"] += 1
        count(s, iy, ix, iz, color, ADDED)
    grid[iy, ix, iz] = color
    wanted = int(s["target"][iy, ix, iz])
    if wanted != s["start"][iy, ix, iz]:
        s["missing"] += int(color != wanted) - int(old != wanted)
    change = s["change"]
    change[0], change[1], change[2], change[3], change[4] = x, y, z, old, color


@jit
def set_for_others(team, i, x, y, z, color):
    """Set a cell in the worlds of all members but i. Their inventories and last changes stay."""
    for k in range(team.shape[0]):
        if k != i:
            s = team[k]
            inventory, own = s["inventory"].copy(), s["change"].copy()
            set_block(s, x, y, z, color)
            s["inventory"][:], s["change"][:] = inventory, own


@jit
def share_change(team, i):
    """Apply the last edit of member i to the worlds of the other members. Their inventories and events stay."""
    change = team[i]["change"]
    if change[3] == change[4]:
        return
    set_for_others(team, i, _wide(change[0]), _wide(change[1]), _wide(change[2]), change[4])
    for k in range(team.shape[0]):
        if k != i:
            s = team[k]
            s["record"] = max(int(s["record"]), int(s["best"]))


@jit
def rewrite(team, i, blocks):
    """Set cells from outside the game, with blocks of member i. blocks: int64 [k, 4] of x, y, z, color.

    The best intersection so far moves along, so that nobody is paid for it. The last step's edit is forgotten: its cell
    may have been set again.
    """
    for j in range(blocks.shape[0]):
        x, y, z, color = blocks[j, 0], blocks[j, 1], blocks[j, 2], blocks[j, 3]
        set_block(team[i], x, y, z, color)
        set_for_others(team, i, x, y, z, color)
    for k in range(team.shape[0]):
        s = team[k]
        s["record"] = max(int(s["record"]), int(s["best"]))
        s["change"][:] = 0
        s["has_potential"] = 0
        s["edits"] += 1
