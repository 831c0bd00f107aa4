"""Which controls have an effect: whether the hands would edit a block, and where else the body would be."""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.cells import cell_of, solid
from iglu_marl.core.kernels.clock import ends_turn
from iglu_marl.core.kernels.hands import hands_event, look
from iglu_marl.core.kernels.motion import in_limits, move_body, turn_camera
from iglu_marl.core.kernels.records import ARCHITECT, CELL, CELL_IN_REACH, PLACED, REMOVED, WALKING


@jit
def copy_body(s, out):
    """Copy what changes in a step without an edit."""
    pose, copied = s["pose"], out["pose"]
    for k in range(5):
        copied[k] = pose[k]
    out["speed"], out["slices"] = s["speed"], s["slices"]


@jit
def same_body(s, other):
    """Return whether two worlds are equal in what `copy_body` copies."""
    pose, compared = s["pose"], other["pose"]
    for k in range(5):
        if pose[k] != compared[k]:
            return False
    return s["speed"] == other["speed"] and s["slices"] == other["slices"]


@jit
def copy_sight(s, out):
    """Copy what `look` writes."""
    for k in range(3):
        out["hit"][k], out["before"][k] = s["hit"][k], s["before"][k]


@jit
def edits(s, c, team):
    """Return whether a control places or breaks a block, by the line of sight in `hit` and `before`."""
    event = hands_event(s, c, team)
    return event in (PLACED, REMOVED)


@jit
def turns(s, c):
    """Return whether a control surely turns the camera: less than a circle around, or up or down."""
    yaw, pitch = abs(c["camera"][0]), s["pose"][4]
    return (1e-3 < yaw and yaw < 359.0) or max(-90.0, min(90.0, pitch + c["camera"][1])) != pitch


@jit
def can_walk(s):
    """Return whether the builder surely can walk in all directions: it stands, with no solid cell around its body.

    A step leads a quarter of a cell far, and walls act on a body closer than three quarters to their middle.
    """
    grid, pose = s["grid"], s["pose"]
    x, y, z = cell_of(pose[0]), cell_of(pose[1]), cell_of(pose[2])
    if s["speed"] != 0.0 or cell_of(pose[1] - 0.1) != y or not in_limits(pose[0], pose[1] - 0.1, pose[2]):
        return False
    for dx in range(-1, 2):
        for dz in range(-1, 2):
            if solid(grid, x + dx, y, z + dz) or solid(grid, x + dx, y - 1, z + dz):
                return False
    return in_limits(abs(pose[0]) + 0.5, pose[1], abs(pose[2]) + 0.5)


@jit
def has_effect(s, c, now, idle, is_free, team):
    """Return whether the world s after a step differs from s after doing nothing. `hit` and `before` are in sight.

    now, idle: have the body of s, and that after doing nothing. is_free: of `can_walk`. team: as of `step_one`.
    """
    if c["hotbar"] > 0 and c["hotbar"] != s["active"]:
        return True
    move, names_cell = c["move"], c["mode"] == CELL or c["mode"] == CELL_IN_REACH
    looks = c["camera"][0] != 0.0 or c["camera"][1] != 0.0
    goes = not names_cell and (move[0] != 0.0 or move[1] != 0.0 or move[2] != 0.0)
    if c["yields"] != 0 and not (s["floor"] == ARCHITECT or ends_turn(s, 0)):
        return True
    if (looks and turns(s, c)) or (goes and is_free and c["mode"] == WALKING and move[2] == 0.0):
        return True
    if not looks:
        if edits(s, c, team):
            return True
        if not goes:
            return False
        move_body(s, c)
        found = not same_body(s, idle)
        copy_body(now, s)
        return found
    turn_camera(s, c["camera"][0], c["camera"][1])  # a circle may give another line of sight, by rounding
    look(s)
    found = edits(s, c, team)
    copy_body(now, s)
    look(s)
    if not found:
        move_body(s, c)
        found = not same_body(s, idle)
        copy_body(now, s)
    return found


@jit
def effects_many(state, builder, members, controls, noop, bodies, found):
    """Write whether each control has an effect, into int8 [worlds, controls]. Other builders stand still.

    state: WORLD[worlds * members], with rows for each builder of a team; it is used, and left as it was.
    bodies: WORLD[2], overwritten.
    """
    now, idle = bodies[0], bodies[1]
    for i in range(found.shape[0]):
        s, team = state[i * members + builder], state[i * members : (i + 1) * members]
        copy_body(s, now)
        copy_sight(s, now)
        move_body(s, noop[0])
        copy_body(s, idle)
        copy_body(now, s)
        look(s)
        is_free = can_walk(s)
        for j in range(controls.shape[0]):
            found[i, j] = has_effect(s, controls[j], now, idle, is_free, team)
        copy_sight(now, s)
