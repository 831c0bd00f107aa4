"""All rules of the world, compiled: motion, hands, match counts, reward, clocks and end.

A world is one record of the structured dtype `WORLD`; what a builder does in one step is one record of `CONTROL`.
`step_one` reads as the list of the rules of one step; `step_many` is the same rule for a batch. This file imports
nothing of ours but the compiler switch, because Numba's disk cache does not notice a change in another module.

The dynamics are those of IGLU Gridworld, reproduced bit for bit in double precision: every expression below is
written in the order in which it has to be evaluated. See docs/dynamics.md.

Records are read as `s["field"]`, which works compiled and interpreted (`NUMBA_DISABLE_JIT=1`) alike.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit

# --- constants -------------------------------------------------------------------------------------------------

STEP_S = 0.05  # seconds per step
GRAVITY = 20.0  # cells/s²
JUMP_SPEED = 6.928203230275509  # cells/s, √48
WALK_SPEED = 5.0  # cells/s
FLY_SPEED = 15.0  # cells/s
TERMINAL_SPEED = 50.0  # cells/s
PADDING = 0.25  # cells kept between the eye and a wall
EYE_HEIGHT = 0.75  # eye above the centre of the legs' cell when standing
LIMIT = 2  # cells around the build zone in which one may move
GROUND_Y = -2  # cells at this height are the ground
GROUND_RADIUS = 18
RAY_SAMPLES = 40
RAY_SAMPLES_PER_CELL = 5.0
RADIANS = math.pi / 180.0
DEGREES = 180.0 / math.pi

WALKING, FLYING, DISCRETE, CONTINUOUS = 0, 1, 2, 3  # CONTROL["mode"]
ARCHITECT, BUILDER = 0, 1  # WORLD["floor"]
EXACT, COVER = 0, 1  # WORLD["completion"]

# WORLD["event"]: what the hands did
NOTHING, PLACED, REMOVED = 0, 1, 2
PLACE_NO_HIT, PLACE_EYE_INSIDE, PLACE_OUTSIDE, PLACE_NONE_LEFT, PLACE_IN_THE_WAY = 3, 4, 5, 6, 7
REMOVE_NO_HIT, REMOVE_GROUND, BOTH_HANDS = 8, 9, 10
NO_CELL = 127

CONTROL = np.dtype(
    [
        # walking, flying, discrete: (back - forward, right - left, up); continuous: (x, y, z) in cells
        ("move", np.float64, (3,)),
        ("camera", np.float64, (2,)),  # yaw and pitch change in degrees, pitch up positive
        ("mode", np.int8),
        ("hotbar", np.int8),  # 0 none, 1..6 select a colour
        ("place", np.int8),
        ("remove", np.int8),
        ("yields", np.int8),  # ends the builder's turn
    ],
    align=True,
)

WORLD = np.dtype(
    [
        ("pose", np.float64, (5,)),  # eye x, y, z in cells; yaw, pitch in degrees
        ("speed", np.float64),  # vertical, cells/s
        ("reward", np.float64),  # of the last step
        ("right_scale", np.float64),
        ("wrong_scale", np.float64),
        ("step_cost", np.float64),
        ("steps", np.int32),  # builder steps so far
        ("turns", np.int32),  # architect turns so far
        ("steps_in_turn", np.int32),  # builder steps in this turn
        ("max_steps", np.int32),  # budgets; 0 = none
        ("max_turns", np.int32),
        ("turn_steps", np.int32),
        ("seen_pose", np.float32, (5,)),  # x, y, z, pitch, yaw as observed
        ("seen_inventory", np.float32, (6,)),  # max(0, n)
        ("seen_compass", np.float32, (1,)),  # yaw wrapped into -180..180; 0 = north, 90 = east
        ("inventory", np.int16, (6,)),  # signed: starting blocks are not limited
        ("blocks", np.int16),  # in the build
        ("target_blocks", np.int16),
        ("asked", np.int16),  # cells that the task asks to change
        ("missing", np.int16),  # of those, cells (at their place) that are not yet as asked
        ("best", np.int16),  # the maximal intersection now
        ("record", np.int16),  # the largest so far
        ("matches", np.int16, (4, 21, 21)),  # equal blocks by rotation of the target, dx + 10, dz + 10
        ("shifts", np.int8, (4, 4)),  # admissible dx min, max, dz min, max by rotation; min > max = none
        ("invariant", np.int8),
        ("slices", np.int8),  # slices of motion in the next step
        ("active", np.int8),  # selected colour 1..6
        ("floor", np.int8),  # whose turn it is
        ("completion", np.int8),
        ("size_reward", np.int8),
        ("terminated", np.int8),
        ("truncated", np.int8),
        ("event", np.int8),
        ("hit", np.int8, (3,)),  # solid cell found by the ray; NO_CELL without
        ("before", np.int8, (3,)),  # the cell sampled just before it
        ("change", np.int8, (5,)),  # x, y, z, old, new of the last step's edit; old == new without
        ("grid", np.int8, (9, 11, 11)),
        ("start", np.int8, (9, 11, 11)),
        ("target", np.int8, (9, 11, 11)),
        ("spare", np.int8),  # fills the record up, so that equal worlds are equal bytes
    ],
    align=True,
)

# --- cells -----------------------------------------------------------------------------------------------------


@jit
def solid(grid, x, y, z):
    """Whether the cell (x, y, z) stops a body or a ray: a block, or the ground."""
    if y == GROUND_Y:
        return abs(x) <= GROUND_RADIUS and abs(z) <= GROUND_RADIUS
    if y < -1 or y > 7 or x < -5 or x > 5 or z < -5 or z > 5:
        return False
    return grid[y + 1, x + 5, z + 5] != 0


@jit
def cell_of(value):
    """The cell that holds a coordinate, ties to even (floor(x + .5) would move a wall at x = 0.5)."""
    return int(np.rint(value))


# --- motion ----------------------------------------------------------------------------------------------------


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
    """Whether one may move to (x, y, z)."""
    return abs(x) <= 5 + LIMIT and abs(z) <= 5 + LIMIT and -1 - LIMIT <= y and y < 8 + LIMIT


@jit
def heading(s, fb, lr, flying):
    """Unit vector of the intended motion; only the direction of (fb, lr) counts, never its size."""
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
    """A jump asked for takes effect at vertical speed zero only; a flier who asks for none hovers."""
    if flying and value == 0.0:
        s["speed"] = 0.0
    if value != 0.0 and s["speed"] == 0.0:
        s["speed"] = JUMP_SPEED * value


@jit
def fall(s, slice_s):
    """Gravity for one slice, and the number of slices of the next step."""
    speed = s["speed"] - slice_s * GRAVITY
    if speed < -14.0:
        s["slices"] = 12
    elif speed < -10.0:
        s["slices"] = 8
    elif speed < -5.0:
        s["slices"] = 4
    else:
        s["slices"] = 2
    s["speed"] = max(speed, -TERMINAL_SPEED)


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
            fall(s, slice_s)
        up = hy * distance + s["speed"] * slice_s
        x, y, z = pose[0] + hx * distance, pose[1] + up, pose[2] + hz * distance
        if in_limits(x, y, z):
            collide(s, x, y, z)
        elif not flying:
            collide(s, pose[0], y, pose[2])
    if flying:
        s["speed"] = 0.0


@jit
def free_body(grid, x, eye, z):
    """Whether a body fits: the eye's cell and the one below."""
    return not solid(grid, x, eye, z) and not solid(grid, x, eye - 1, z)


@jit
def hop(s, fb, lr, jumping):
    """Whole-cell moves between cell centres along the nearest compass direction; falls land at once."""
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
        if (abs(nx) > 5 and abs(nx) > abs(x)) or (abs(nz) > 5 and abs(nz) > abs(z)):
            continue
        if free_body(grid, nx, eye, nz):
            x, z = nx, nz
        elif jumping and not solid(grid, x, eye + 1, z) and free_body(grid, nx, eye + 1, nz):
            x, eye, z = nx, eye + 1, nz
    while eye > 0 and not solid(grid, x, eye - 2, z):
        eye -= 1
    pose[0], pose[1], pose[2] = x, eye - PADDING, z
    s["speed"] = 0.0


@jit
def slide(s, dx, dy, dz):
    """Translation along the map's axes without collisions, stopped by floor, top and walls of the zone."""
    pose = s["pose"]
    pose[0] = min(max(pose[0] + dx, min(-5.0, pose[0])), max(5.0, pose[0]))
    pose[1] = min(max(pose[1] + dy, min(-0.25, pose[1])), max(8.75, pose[1]))
    pose[2] = min(max(pose[2] + dz, min(-5.0, pose[2])), max(5.0, pose[2]))
    s["speed"] = 0.0


@jit
def move(s, c):
    """Motion of one step, by mode."""
    mode, push = c["mode"], c["move"]
    if mode == WALKING:
        drift(s, push[0], push[1], False)
    elif mode == FLYING:
        drift(s, push[0], push[1], True)
    elif mode == DISCRETE:
        hop(s, push[0], push[1], push[2] != 0.0)
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


# --- ray and hands ---------------------------------------------------------------------------------------------


@jit
def cast(s):
    """Sample the line of sight; write `hit` and `before`. Returns whether something solid was found.

    The samples are 1/5 cell apart, so they can jump across an edge: `before` need not share a face with `hit`.
    """
    pose, grid, hit, before = s["pose"], s["grid"], s["hit"], s["before"]
    around, tilt = (pose[3] - 90.0) * RADIANS, pose[4] * RADIANS
    level = math.cos(tilt)
    dx = math.cos(around) * level / RAY_SAMPLES_PER_CELL
    dy = math.sin(tilt) / RAY_SAMPLES_PER_CELL
    dz = math.sin(around) * level / RAY_SAMPLES_PER_CELL
    x, y, z = pose[0], pose[1], pose[2]
    last_x, last_y, last_z = NO_CELL, NO_CELL, NO_CELL
    for _ in range(RAY_SAMPLES):
        cx, cy, cz = cell_of(x), cell_of(y), cell_of(z)
        if cx != last_x or cy != last_y or cz != last_z:
            if solid(grid, cx, cy, cz):
                hit[0], hit[1], hit[2] = cx, cy, cz
                before[0], before[1], before[2] = last_x, last_y, last_z
                return True
            last_x, last_y, last_z = cx, cy, cz
        x, y, z = x + dx, y + dy, z + dz
    return False


@jit
def in_the_way(s, x, y, z):
    """Whether the builder's own body refuses a block at the cell (x, y, z). All ends are included."""
    pose = s["pose"]
    if not (x - 0.5 <= pose[0] and pose[0] <= x + 0.5 and z - 0.5 <= pose[2] and pose[2] <= z + 0.5):
        return False
    legs = pose[1] - EYE_HEIGHT
    return (y <= legs and legs <= y + 1) or (y <= legs + 1 and legs + 1 <= y + 1)


@jit
def place(s):
    """Place the active colour in front of what is looked at."""
    if not cast(s):
        return PLACE_NO_HIT
    before, color = s["before"], int(s["active"])
    x, y, z = int(before[0]), int(before[1]), int(before[2])
    if x == NO_CELL:
        return PLACE_EYE_INSIDE
    if s["inventory"][color - 1] <= 0:
        return PLACE_NONE_LEFT
    if x < -5 or x > 5 or y < -1 or y > 7 or z < -5 or z > 5:
        return PLACE_OUTSIDE
    if in_the_way(s, x, y, z):
        return PLACE_IN_THE_WAY
    set_block(s, x, y, z, color)
    return PLACED


@jit
def remove(s):
    """Break the block that is looked at; its colour comes back to the inventory."""
    if not cast(s):
        return REMOVE_NO_HIT
    hit = s["hit"]
    if hit[1] == GROUND_Y:
        return REMOVE_GROUND
    set_block(s, int(hit[0]), int(hit[1]), int(hit[2]), 0)
    return REMOVED


@jit
def use_hands(s, c):
    """Place or break; both at once do nothing. Sets `event`, `hit`, `before` and `change`."""
    s["hit"][:] = NO_CELL
    s["before"][:] = NO_CELL
    s["change"][:] = 0
    if c["place"] != 0 and c["remove"] != 0:
        s["event"] = BOTH_HANDS
    elif c["place"] != 0:
        s["event"] = place(s)
    elif c["remove"] != 0:
        s["event"] = remove(s)
    else:
        s["event"] = NOTHING


@jit
def set_block(s, x, y, z, color):
    """Set a cell of the zone and everything that follows from it: inventory, counts, score, the asked changes."""
    grid, inventory = s["grid"], s["inventory"]
    iy, ix, iz = y + 1, x + 5, z + 5
    old = int(grid[iy, ix, iz])
    if old == color:
        return
    if old != 0:
        inventory[old - 1] += 1
        s["blocks"] -= 1
        count(s, iy, ix, iz, old, -1)
    if color != 0:
        inventory[color - 1] -= 1
        s["blocks"] += 1
        count(s, iy, ix, iz, color, 1)
    grid[iy, ix, iz] = color
    wanted = int(s["target"][iy, ix, iz])
    if wanted != s["start"][iy, ix, iz]:
        s["missing"] += (color != wanted) - (old != wanted)
    change = s["change"]
    change[0], change[1], change[2], change[3], change[4] = x, y, z, old, color


# --- match counts ----------------------------------------------------------------------------------------------


@jit
def add_matches(matches, shifts, target, iy, ix, iz, color, delta):
    """Add `delta` wherever a block `color` at [iy, ix, iz] equals one of the target, over rotations and shifts.

    One more rotation takes the cell (x, z) of a layer to (z, 10 - x); matches[k, dx + 10, dz + 10] compares the
    grid's (x, z) with (x + dx, z + dz) of the target rotated k times. Returns the largest count touched.
    """
    top = 0
    for tx in range(11):
        for tz in range(11):
            if target[iy, tx, tz] != color:
                continue
            rx, rz = tx, tz
            for k in range(4):
                dx, dz = rx - ix, rz - iz
                if shifts[k, 0] <= dx and dx <= shifts[k, 1] and shifts[k, 2] <= dz and dz <= shifts[k, 3]:
                    matches[k, dx + 10, dz + 10] += delta
                    top = max(top, int(matches[k, dx + 10, dz + 10]))
                rx, rz = rz, 10 - rx
    return top


@jit
def largest(matches):
    """The maximal intersection: the largest of the match counts."""
    flat = matches.reshape(matches.size)
    top = flat[0]
    for i in range(1, flat.size):
        top = max(top, flat[i])
    return top


@jit
def count(s, iy, ix, iz, color, delta):
    """Keep the match counts and their maximum up to date with one block that comes (+1) or goes (-1)."""
    matches = s["matches"]
    if s["invariant"] == 0:
        if s["target"][iy, ix, iz] == color:
            matches[0, 10, 10] += delta
            s["best"] += delta
        return
    top = add_matches(matches, s["shifts"], s["target"], iy, ix, iz, color, delta)
    if delta > 0:
        s["best"] = max(int(s["best"]), top)
    elif top + 1 >= s["best"]:  # an alignment that had the maximum may have lost it
        s["best"] = largest(matches)


@jit
def shift_box(extent, inside, shifts):
    """Admissible shifts by rotation: all, or those that keep every non-zero column of `extent` inside the zone."""
    low_x, high_x, low_z, high_z = 10, 0, 10, 0
    for iy in range(extent.shape[0]):
        for ix in range(11):
            for iz in range(11):
                if extent[iy, ix, iz] != 0:
                    low_x, high_x = min(low_x, ix), max(high_x, ix)
                    low_z, high_z = min(low_z, iz), max(high_z, iz)
    if low_x > high_x or not inside:
        low_x, high_x, low_z, high_z = 10, 0, 10, 0  # every shift, also of nothing
    for k in range(4):
        shifts[k, 0], shifts[k, 1] = high_x - 10, low_x
        shifts[k, 2], shifts[k, 3] = high_z - 10, low_z
        low_x, high_x, low_z, high_z = low_z, high_z, 10 - high_x, 10 - low_x


@jit
def fix_in_place(shifts):
    """No rotation, no shift: only the alignment of the map itself is admissible."""
    for k in range(4):
        shifts[k, 0], shifts[k, 2] = 0, 0
        shifts[k, 1] = shifts[k, 3] = 0 if k == 0 else -1


@jit
def count_all(grid, target, shifts, matches):
    """Match counts from scratch: the definition of the intersection for every rotation and shift at once."""
    matches[:] = 0
    for iy in range(grid.shape[0]):
        for ix in range(11):
            for iz in range(11):
                color = grid[iy, ix, iz]
                if color != 0:
                    add_matches(matches, shifts, target, iy, ix, iz, color, 1)
    return largest(matches)


@jit
def first_alignment(matches, shifts, top):
    """The first (dx, dz, rotation) in ascending order of rotation, dx, dz that attains `top`; zeros when it is 0."""
    if top > 0:
        for k in range(4):
            for dx in range(shifts[k, 0], shifts[k, 1] + 1):
                for dz in range(shifts[k, 2], shifts[k, 3] + 1):
                    if matches[k, dx + 10, dz + 10] == top:
                        return dx, dz, k
    return 0, 0, 0


# --- reward and end --------------------------------------------------------------------------------------------


@jit
def pay(s, best_before, blocks_before):
    """The reward of this step's edit; the return of any edits is a potential, so no loop of edits can farm it."""
    reward = 0.0
    if s["change"][3] != s["change"][4]:
        gain = int(s["best"]) - best_before
        if s["size_reward"] != 0:
            reward = float(max(0, int(s["best"]) - int(s["record"])))
        elif gain != 0:
            reward = s["right_scale"] if gain > 0 else -s["right_scale"]
        else:
            reward = s["wrong_scale"] * (blocks_before - int(s["blocks"]))
    s["record"] = max(int(s["record"]), int(s["best"]))
    s["reward"] = reward - s["step_cost"]


@jit
def covered_at(s, k, dx, dz):
    """Whether every asked change is done, seen with the target rotated k times and shifted."""
    grid, start, target = s["grid"], s["start"], s["target"]
    for iy in range(9):
        for tx in range(11):
            for tz in range(11):
                wanted = target[iy, tx, tz]
                if wanted == start[iy, tx, tz]:
                    continue
                rx, rz = tx, tz
                for _ in range(k):
                    rx, rz = rz, 10 - rx
                ix, iz = rx - dx, rz - dz
                inside = 0 <= ix and ix <= 10 and 0 <= iz and iz <= 10
                if (grid[iy, ix, iz] if inside else 0) != wanted:
                    return False
    return True


@jit
def covered(s):
    """Whether every asked change (placement, removal, recolouring) is done, up to the allowed alignment."""
    if s["missing"] == 0:
        return True
    if s["invariant"] == 0:
        return False
    if s["asked"] == s["target_blocks"] and s["best"] != s["target_blocks"] and not s["start"].any():
        return False
    shifts = s["shifts"]
    for k in range(4):
        for dx in range(shifts[k, 0], shifts[k, 1] + 1):
            for dz in range(shifts[k, 2], shifts[k, 3] + 1):
                if covered_at(s, k, dx, dz):
                    return True
    return False


@jit
def complete(s):
    """Whether the task is done: the build is the target (exact), or every asked change is made (cover)."""
    if s["completion"] == EXACT:
        return s["best"] == s["target_blocks"] and s["blocks"] == s["target_blocks"]
    return covered(s)


@jit
def tick(s, yields):
    """Advance the clocks after a builder's step: the floor, and the end by completion or by budget."""
    s["steps"] += 1
    s["steps_in_turn"] += 1
    if yields != 0 or (s["turn_steps"] > 0 and s["steps_in_turn"] >= s["turn_steps"]):
        s["floor"] = ARCHITECT
    out_of_steps = s["max_steps"] > 0 and s["steps"] >= s["max_steps"]
    out_of_turns = s["max_turns"] > 0 and s["turns"] >= s["max_turns"] and s["floor"] == ARCHITECT
    s["truncated"] = out_of_steps or out_of_turns


@jit
def speak(s):
    """The architect has spoken (or kept silent): the builder has the floor."""
    s["turns"] += 1
    s["steps_in_turn"] = 0
    s["floor"] = BUILDER


# --- one step --------------------------------------------------------------------------------------------------


@jit
def sense(s):
    """Write what is observed of the state, in float32."""
    pose, seen = s["pose"], s["seen_pose"]
    seen[0], seen[1], seen[2], seen[3], seen[4] = pose[0], pose[1], pose[2], pose[4], pose[3]
    held, seen_held = s["inventory"], s["seen_inventory"]
    for i in range(6):
        seen_held[i] = max(0, int(held[i]))
    s["seen_compass"][0] = pose[3] - 360.0 if pose[3] > 180.0 else pose[3]


@jit
def step_one(s, c):
    """One builder step in one world: colour, jump, camera, hands, motion, yaw; then reward, clocks and end."""
    best_before, blocks_before = int(s["best"]), int(s["blocks"])
    if c["hotbar"] != 0:
        s["active"] = c["hotbar"]
    if c["mode"] == WALKING or c["mode"] == FLYING:
        jump(s, c["move"][2], c["mode"] == FLYING)
    turn_camera(s, c["camera"][0], c["camera"][1])
    use_hands(s, c)
    move(s, c)
    wrap_yaw(s)
    pay(s, best_before, blocks_before)
    s["terminated"] = complete(s)
    tick(s, c["yields"])
    sense(s)


@jit
def step_at(state, i, controls, j):
    """`step_one` for world i with control j: what a single environment calls."""
    step_one(state[i], controls[j])


@jit
def step_many(state, controls):
    """`step_one` for every world of a batch."""
    for i in range(state.shape[0]):
        step_one(state[i], controls[i])


@jit
def speak_at(state, i):
    """`speak` for world i."""
    speak(state[i])


# --- beginning -------------------------------------------------------------------------------------------------


@jit
def aim_at_target(s, extent, inside):
    """Start the score anew towards `target` from the grid as it stands; `extent` bounds the shifts when inside."""
    grid, start, target = s["grid"], s["start"], s["target"]
    if s["invariant"] != 0:
        shift_box(extent, inside, s["shifts"])
    else:
        fix_in_place(s["shifts"])
    s["blocks"] = s["target_blocks"] = s["asked"] = s["missing"] = 0
    for iy in range(9):
        for ix in range(11):
            for iz in range(11):
                wanted = target[iy, ix, iz]
                s["blocks"] += grid[iy, ix, iz] != 0
                s["target_blocks"] += wanted != 0
                s["asked"] += wanted != start[iy, ix, iz]
                s["missing"] += wanted != start[iy, ix, iz] and wanted != grid[iy, ix, iz]
    s["best"] = count_all(grid, target, s["shifts"], s["matches"])
    s["record"] = s["best"]


@jit
def spawn(s):
    """A fresh episode on the grid `start`: full inventory less the starting blocks, nothing carried over."""
    inventory, grid, start = s["inventory"], s["grid"], s["start"]
    inventory[:] = 20
    for iy in range(9):
        for ix in range(11):
            for iz in range(11):
                color = int(start[iy, ix, iz])
                grid[iy, ix, iz] = color
                if color != 0:
                    inventory[color - 1] -= 1
    s["pose"][:] = 0.0
    s["speed"] = s["reward"] = 0.0
    s["slices"], s["active"] = 2, 1
    s["steps"] = s["turns"] = s["steps_in_turn"] = 0
    s["floor"] = ARCHITECT
    s["terminated"] = s["truncated"] = 0
    s["event"] = NOTHING
    s["hit"][:] = NO_CELL
    s["before"][:] = NO_CELL
    s["change"][:] = 0


@jit
def prepare_at(state, i, extent, inside):
    """`spawn`, score and senses of world i, whose start, target, budgets and scales are set."""
    s = state[i]
    spawn(s)
    aim_at_target(s, extent, inside)
    sense(s)


@jit
def retarget_at(state, i, extent, inside):
    """Go on in world i towards the start and target that were set: score and baselines begin anew."""
    s = state[i]
    aim_at_target(s, extent, inside)
    s["terminated"] = 0


@jit
def sense_at(state, i):
    """`sense` for world i, after its pose was set from outside."""
    sense(state[i])


@jit
def within(octets, first, least, most):
    """Whether all values of the kind of `least`, from byte `first` of each record on, lie in least..most; NaN does not.

    octets: uint8 [n, bytes of a record].
    """
    size = least.size * least.itemsize
    for i in range(octets.shape[0]):
        values = octets[i, first : first + size].view(least.dtype)
        good = True
        for k in range(least.size):
            good &= (least[k] <= values[k]) & (values[k] <= most[k])
        if not good:
            return False
    return True


# --- batches ---------------------------------------------------------------------------------------------------
# Every kernel here takes the range of worlds first..last-1, so that threads can share a batch. Worlds do not touch
# each other, so results depend on neither the number of worlds nor that of threads.

Array = npt.NDArray[Any]


class Shown(NamedTuple):
    """Where a batch is shown: arrays with a row for each world, kept up to date from step to step.

    Arrays without rows are left alone.
    """

    pose: Array  # float32 [n, 5]: x, y, z, pitch, yaw
    inventory: Array  # float32 [n, 6]
    compass: Array  # float32 [n]
    grid: Array  # int8 or int32 [n, 1089], as `ids` says
    target: Array  # the same of the target
    reward: Array  # float64 [n]
    terminated: Array  # bool [n]
    truncated: Array  # bool [n]
    event: Array  # int8 [n]
    counts: Array  # int32 [n, 3]: intersection, blocks of the target, blocks of the build
    scene: Array  # int8 [n, 1089]: what a picture is painted of
    eye: Array  # float64 [n, 5]: from where
    stale: Array  # bool [n]: whether scene or eye changed since this was last put back to False
    ids: Array  # [7]: how a colour id is shown, in the dtype of `grid`
    slots: Array  # int64 [6]: which colour stands where in the inventory
    half_turn: bool  # whether the compass is the yaw less 180, as the 2022 tools have it


# Worlds are shown some at a time: handing the arrays of `Shown` to a function costs as much as a step does.
SHOWN_AT_ONCE = 32


@jit
def show_steps(state, idle, out, first, last):
    """What a step changes, of every world that is not idle: senses, reward, ends, the edited cell, the eye."""
    for i in range(first, last):
        if idle[i]:
            continue
        s = state[i]
        seen, held, eye, change = s["seen_pose"], s["seen_inventory"], s["pose"], s["change"]
        for k in range(6):
            out.inventory[i, k] = held[out.slots[k]]
        out.compass[i] = seen[4] - np.float32(180) if out.half_turn else s["seen_compass"][0]
        out.reward[i] = s["reward"]
        out.terminated[i], out.truncated[i] = s["terminated"] != 0, s["truncated"] != 0
        edited = change[3] != change[4]
        cell = (int(change[1]) + 1) * 121 + (int(change[0]) + 5) * 11 + int(change[2]) + 5
        if out.pose.shape[0] > 0:
            for k in range(5):
                out.pose[i, k] = seen[k]
        if out.event.shape[0] > 0:
            out.event[i] = s["event"]
            out.counts[i, 0], out.counts[i, 1], out.counts[i, 2] = s["best"], s["target_blocks"], s["blocks"]
        if edited and out.grid.shape[0] > 0:
            out.grid[i, cell] = out.ids[change[4]]
        if out.eye.shape[0] > 0:
            if edited:
                out.scene[i, cell] = change[4]
            moved = edited
            for k in range(5):
                moved |= out.eye[i, k] != eye[k]
                out.eye[i, k] = eye[k]
            out.stale[i] |= moved


@jit
def show_grids(state, chosen, out, first, last):
    """All cells of the worlds chosen[first..last-1], as after a reset."""
    for j in range(first, last):
        i = chosen[j]
        grid, target = state[i]["grid"].reshape(1089), state[i]["target"].reshape(1089)
        if out.grid.shape[0] > 0:
            for k in range(1089):
                out.grid[i, k] = out.ids[grid[k]]
        if out.target.shape[0] > 0:
            for k in range(1089):
                out.target[i, k] = out.ids[target[k]]
        if out.scene.shape[0] > 0:
            for k in range(1089):
                out.scene[i, k] = grid[k]
            out.stale[i] = True


@jit
def show_many(state, chosen, idle, out, first, last):
    """Everything of the worlds chosen[first..last-1], which are not idle."""
    show_grids(state, chosen, out, first, last)
    for j in range(first, last):
        show_steps(state, idle, out, chosen[j], chosen[j] + 1)


@jit
def begin_many(words, prepared, chosen, numbers, first, last):
    """Put the prepared states prepared[numbers[j]] into the worlds chosen[j]; both are records as uint64 words."""
    for j in range(first, last):
        source, goal = prepared[numbers[j]], words[chosen[j]]
        for k in range(source.size):
            goal[k] = source[k]


@jit
def step_some(state, controls, numbers, idle, first, last):
    """`step_one` with control controls[numbers[i]] for every world that is not idle. Returns how many then ended."""
    ended = 0
    for i in range(first, last):
        if not idle[i]:
            s = state[i]
            step_one(s, controls[numbers[i]])
            ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def advance_many(state, controls, numbers, idle, out, first, last):
    """Step and show every world that is not idle. Returns how many then ended."""
    ended = 0
    for low in range(first, last, SHOWN_AT_ONCE):
        high = min(low + SHOWN_AT_ONCE, last)
        ended += step_some(state, controls, numbers, idle, low, high)
        show_steps(state, idle, out, low, high)
    return ended


# --- words in batches ------------------------------------------------------------------------------------------


class Talk(NamedTuple):
    """The dialogues of a batch in tokens, and what is said now."""

    dialog: (
        Array  # int32 [n, length]: the latest tokens, each utterance behind its speaker's mark, then zeros
    )
    length: Array  # int32 [n]: tokens in it
    spoken: Array  # int32 [n]: tokens that the architect spoke in this step
    architect: Array  # int64 [n, words]: what it says, 0 = padding
    builder: Array  # the same of the builder; no rows where it cannot speak
    marks: Array  # int32 [2]: of architect and builder


@jit
def note(dialog, length, i, mark, said):
    """Append an utterance to dialogue i, whose oldest tokens make room. Returns its number of tokens; 0 is silence."""
    words = 0
    for k in range(said.size):
        words += said[k] != 0
    if words == 0:
        return 0
    room, old = dialog.shape[1], int(length[i])
    drop = max(0, old + words + 1 - room)
    for k in range(old - drop):
        dialog[i, k] = dialog[i, k + drop]
    place = old - drop  # negative when the utterance alone is too long
    if place >= 0:
        dialog[i, place] = mark
    for k in range(said.size):
        if said[k] != 0:
            place += 1
            if place >= 0:
                dialog[i, place] = said[k]
    length[i] = place + 1
    return words


@jit
def converse_some(state, controls, numbers, silent, idle, talk, first, last):
    """Both act in every world that is not idle: the architect speaks, then the builder speaks or acts.

    silent: the control of a builder who speaks. Returns how many worlds then ended.
    """
    ended = 0
    for i in range(first, last):
        if idle[i]:
            continue
        s = state[i]
        speak(s)
        talk.spoken[i] = note(talk.dialog, talk.length, i, talk.marks[0], talk.architect[i])
        c = controls[numbers[i]]
        if talk.builder.shape[0] > 0:
            if note(talk.dialog, talk.length, i, talk.marks[1], talk.builder[i]) > 0:
                c = silent[1]
        step_one(s, c)
        ended += s["terminated"] != 0 or s["truncated"] != 0
    return ended


@jit
def converse_many(state, controls, numbers, silent, idle, talk, out, first, last):
    """`converse_some`, and show the worlds."""
    ended = 0
    for low in range(first, last, SHOWN_AT_ONCE):
        high = min(low + SHOWN_AT_ONCE, last)
        ended += converse_some(state, controls, numbers, silent, idle, talk, low, high)
        show_steps(state, idle, out, low, high)
    return ended
