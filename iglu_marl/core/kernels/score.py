"""Match counts, reward and completion."""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.records import EXACT


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
    """Return the maximal intersection: the largest of the match counts."""
    flat = matches.reshape(matches.size)
    top = flat[0]
    for i in range(1, flat.size):
        top = max(top, flat[i])
    return top


@jit
def count(s, iy, ix, iz, color, delta):
    """Update the match counts and their maximum for a block that is added (+1) or removed (-1)."""
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
    """Write the admissible shifts by rotation: all, or those that keep `extent` inside the zone."""
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
    """Allow no rotation and no shift."""
    for k in range(4):
        shifts[k, 0], shifts[k, 2] = 0, 0
        shifts[k, 1] = shifts[k, 3] = 0 if k == 0 else -1


@jit
def count_all(grid, target, shifts, matches):
    """Count matches from scratch, for every rotation and shift. Returns the largest count."""
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
    """Return the first (dx, dz, rotation), by rotation, dx, dz, with `top` matches; zeros if `top` is 0."""
    if top > 0:
        for k in range(4):
            for dx in range(shifts[k, 0], shifts[k, 1] + 1):
                for dz in range(shifts[k, 2], shifts[k, 3] + 1):
                    if matches[k, dx + 10, dz + 10] == top:
                        return dx, dz, k
    return 0, 0, 0


@jit
def live_alignment(s):
    """Return an alignment (dx, dz, rotation) with the maximal intersection now; the identity if it is one."""
    if s["matches"][0, 10, 10] == s["best"]:
        return 0, 0, 0
    return first_alignment(s["matches"], s["shifts"], int(s["best"]))


@jit
def alignment_at(state, i):
    """`live_alignment` of world i."""
    return live_alignment(state[i])


@jit
def aim_at_target(s, extent, inside):
    """Reset the score: `target` against the current grid. `extent` bounds the shifts if `inside`."""
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
def pay(s, best_before, blocks_before, given):
    """Set the reward of this step: of its edit, and of a target completed now, unless it was `given` complete.

    The sum over edits is a potential, so no loop of edits gains reward. Completion ends the episode or the turn.
    """
    reward = s["completion_reward"] if s["terminated"] != 0 and not given else 0.0
    if s["change"][3] != s["change"][4]:
        gain = int(s["best"]) - best_before
        if s["size_reward"] != 0:
            reward += float(max(0, int(s["best"]) - int(s["record"])))
        elif gain != 0:
            reward += s["right_scale"] if gain > 0 else -s["right_scale"]
        else:
            reward += s["wrong_scale"] * (blocks_before - int(s["blocks"]))
    s["record"] = max(int(s["record"]), int(s["best"]))
    s["reward"] = reward - s["step_cost"]


@jit
def covered_at(s, k, dx, dz):
    """Return whether every asked change is done, with the target rotated k times and shifted."""
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
    """Return whether every asked change (placement, removal, recolouring) is done, up to the allowed alignment."""
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
    """Return whether the task is complete: the build is the target (exact), or has every asked change (cover)."""
    if s["completion"] == EXACT:
        return s["best"] == s["target_blocks"] and s["blocks"] == s["target_blocks"]
    return covered(s)
