"""Motion: keys, gravity, walls and camera."""

from __future__ import annotations

import math

from iglu_marl.core.grid import MAX_X, MAX_Y, MAX_Z, MIN_Y
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.body import body_fits
from iglu_marl.core.kernels.cells import cell_of, solid
from iglu_marl.core.kernels.records import (
    CELL,
    CELL_IN_REACH,
    DEGREES,
    DISCRETE,
    FLY_SPEED,
    FLYING,
    GRAVITY,
    JUMP_SPEED,
    LIMIT,
    PADDING,
    RADIANS,
    STEP_S,
    TERMINAL_SPEED,
    WALK_SPEED,
    WALKING,
)


@jit
def collide(s, x, y, z):
    """Move the eye to (x, y, z), pushed out of the faces of solid neighbours; touching floor or ceiling stops."""
    grid = s["grid"]
    cx, cy, cz = cell_of(x), cell_of(y), cell_of(z)
    over = y - cy
    if over >= PADDING and (solid(grid, cx, cy + 1, cz) or solid(grid, cx, cy, cz)):
        y -= over - PADDING
        s["speed"] = 0.0
    over = cy - y
    if over >= PADDING and (solid(grid, cx, cy - 1, cz) or solid(grid, cx, cy - 2, cz)):
        y += over - PADDING
        s["speed"] = 0.0
    over = cx - x
    if over >= PADDING and (solid(grid, cx - 1, cy, cz) or solid(grid, cx - 1, cy - 1, cz)):
        x += over - PADDING
    over = x - cx
    if over >= PADDING and (solid(grid, cx + 1, cy, cz) or solid(grid, cx + 1, cy - 1, cz)):
        x -= over - PADDING
    over = z - cz
    if over >= PADDING and (solid(grid, cx, cy, cz + 1) or solid(grid, cx, cy - 1, cz + 1)):
        z -= over - PADDING
    over = cz - z
    if over >= PADDING and (solid(grid, cx, cy, cz - 1) or solid(grid, cx, cy - 1, cz - 1)):
        z += over - PADDING
    pose = s["pose"]
    pose[0], pose[1], pose[2] = x, y, z


@jit
def in_limits(x, y, z):
    """Return whether the builder may be at (x, y, z)."""
    return (
        abs(x) <= MAX_X + LIMIT and abs(z) <= MAX_Z + LIMIT and MIN_Y - LIMIT <= y and y < MAX_Y + 1 + LIMIT
    )


@jit
def heading(s, fb, lr, flying):
    """Return the unit vector of the intended motion; only the direction of (fb, lr) counts."""
    if fb == 0.0 and lr == 0.0:
        return 0.0, 0.0, 0.0
    pose = s["pose"]
    bearing = (pose[3] + math.atan2(fb, lr) * DEGREES) * RADIANS
    x, z = math.cos(bearing), math.sin(bearing)
    if not flying or lr != 0.0:
        return x, 0.0, z
    tilt = pose[4] * RADIANS
    up = math.sin(tilt)
    return x * math.cos(tilt), -up if fb > 0.0 else up, z * math.cos(tilt)


@jit
def jump(s, value, flying):
    """Jump, if the vertical speed is zero; a flier without a jump hovers."""
    if flying and value == 0.0:
        s["speed"] = 0.0
    if value != 0.0 and s["speed"] == 0.0:
        s["speed"] = JUMP_SPEED * value


@jit
def fall(speed, slice_s):
    """Apply gravity for one slice. Return the vertical speed and the number of slices of the next step."""
    speed = speed - slice_s * GRAVITY
    if speed < -14.0:
        slices = 12
    elif speed < -10.0:
        slices = 8
    elif speed < -5.0:
        slices = 4
    else:
        slices = 2
    return max(speed, -TERMINAL_SPEED), slices


@jit
def rise(speed, steps):
    """Return the height in cells that an unobstructed body with this vertical speed gains in some steps."""
    height, slices = 0.0, 2
    for _ in range(steps):
        slice_s = STEP_S / slices
        for _ in range(slices):
            speed, following = fall(speed, slice_s)
            height += speed * slice_s
        slices = following
    return height


@jit
def drift(s, fb, lr, flying):
    """Walk or fly for one step, in slices."""
    slices = int(s["slices"])
    slice_s = STEP_S / slices
    distance = slice_s * (FLY_SPEED if flying else WALK_SPEED)
    hx, hy, hz = heading(s, fb, lr, flying)
    pose = s["pose"]
    for _ in range(slices):
        if not flying:
            s["speed"], s["slices"] = fall(s["speed"], slice_s)
        up = hy * distance + s["speed"] * slice_s
        x, y, z = pose[0] + hx * distance, pose[1] + up, pose[2] + hz * distance
        if in_limits(x, y, z):
            collide(s, x, y, z)
        elif not flying:
            collide(s, pose[0], y, pose[2])
    if flying:
        s["speed"] = 0.0


@jit
def hop(s, fb, lr, jumping):
    """Move by whole cells along the nearest compass direction; falls land at once."""
    grid, pose = s["grid"], s["pose"]
    x, eye, z = cell_of(pose[0]), cell_of(pose[1]), cell_of(pose[2])
    quarter = cell_of(pose[3] / 90.0)
    for part in range(2):
        amount = -fb if part == 0 else lr
        if amount == 0.0:
            continue
        facing = (quarter + part) % 4  # 0 north, 1 east, 2 south, 3 west
        sign = 1 if amount > 0.0 else -1
        nx = x + sign * ((facing == 1) - (facing == 3))
        nz = z + sign * ((facing == 2) - (facing == 0))
        if (abs(nx) > MAX_X and abs(nx) > abs(x)) or (abs(nz) > MAX_Z and abs(nz) > abs(z)):
            continue
        if body_fits(grid, nx, eye, nz):
            x, z = nx, nz
        elif jumping and not solid(grid, x, eye + 1, z) and body_fits(grid, nx, eye + 1, nz):
            x, eye, z = nx, eye + 1, nz
    while eye > 0 and not solid(grid, x, eye - 2, z):
        eye -= 1
    pose[0], pose[1], pose[2] = x, eye - PADDING, z
    s["speed"] = 0.0


@jit
def slide(s, dx, dy, dz):
    """Move along the map's axes without collisions, within the zone."""
    pose = s["pose"]
    pose[0] = min(max(pose[0] + dx, min(-5.0, pose[0])), max(5.0, pose[0]))
    pose[1] = min(max(pose[1] + dy, min(-0.25, pose[1])), max(8.75, pose[1]))
    pose[2] = min(max(pose[2] + dz, min(-5.0, pose[2])), max(5.0, pose[2]))
    s["speed"] = 0.0


@jit
def move(s, c):
    """Move for one step, by mode."""
    mode, push = c["mode"], c["move"]
    if mode == WALKING:
        drift(s, push[0], push[1], False)
    elif mode == FLYING:
        drift(s, push[0], push[1], True)
    elif mode == DISCRETE:
        hop(s, push[0], push[1], push[2] != 0.0)
    elif mode in (CELL, CELL_IN_REACH):
        drift(s, 0.0, 0.0, False)
    else:
        slide(s, push[0], push[1], push[2])


@jit
def turn_camera(s, yaw_deg, pitch_deg):
    """Turn by any angle; the pitch stops at straight up and straight down."""
    pose = s["pose"]
    pose[3] = pose[3] + yaw_deg
    pose[4] = max(-90.0, min(90.0, pose[4] + pitch_deg))


@jit
def wrap_yaw(s):
    """Bring the yaw into 0..360; 360 itself stays."""
    pose = s["pose"]
    while pose[3] > 360.0:
        pose[3] = pose[3] - 360.0
    while pose[3] < 0.0:
        pose[3] = pose[3] + 360.0


@jit
def move_body(s, c):
    """Run what a step does to the builder's body, for a control that edits no block."""
    if c["mode"] == WALKING or c["mode"] == FLYING:
        jump(s, c["move"][2], c["mode"] == FLYING)
    turn_camera(s, c["camera"][0], c["camera"][1])
    move(s, c)
    wrap_yaw(s)
