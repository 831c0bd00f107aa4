"""Proofs that something cannot be built, by any builder under the rules of `core/kernels/`.

`certificates.py` says what each kind of proof claims, why that is enough, and checks it on its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import color_name
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.edits import touched_cells
from iglu_marl.planning.sight import REACH

Proof = dict[str, Any]


def prove_impossible(
    world: Worlds, desired: npt.NDArray[np.int8], controls: ControlsName
) -> tuple[str, Proof]:
    """A proof that no builder gets from world 0 to the grid: (reason, certificate), or ("", {})."""
    reason, proof = impossibility(world.grid[0], desired, world.inventory[0])
    return (reason, proof) if proof else out_of_reach(world, desired, controls)


def impossibility(
    grid: npt.NDArray[np.int8], desired: npt.NDArray[np.int8], inventory: npt.NDArray[np.int16]
) -> tuple[str, dict[str, Any]]:
    """A proof that no sequence of placements and removals makes one grid of the other: (reason, numbers), or ("", {}).

    Two arguments, which hold for any builder under the rules of `core/kernels/`:

    *Too few blocks.* Of each colour, what is held and what is in the world stay the same in sum, and a placement
    needs one in hand. So when at least one block of a colour has to be placed, what is held of it at the end cannot
    be negative.

    *No last step.* A placement needs something solid among the 26 cells around the new block. When nothing is in
    hand at the end, no block has to go, and every block of the result floats alone, then the last step can neither be
    a placement nor the removal of a scaffold (which would be in hand).
    """
    end = inventory.astype(int)
    for color in range(1, 7):
        placed = int(np.count_nonzero((desired == color) & (grid != color)))
        returned = int(np.count_nonzero((grid == color) & (desired != color)))
        held = int(inventory[color - 1])
        if placed and held + returned < placed:
            reason = (
                f"not enough {color_name(color)} blocks: {placed} to place, {max(0, held)} in the inventory, "
                f"{returned} to come back from removals"
            )
            numbers = {"color": color, "held": held, "returned": returned, "placed": placed}
            return reason, {"kind": "too few blocks", **numbers}
        end[color - 1] += returned - placed
    wanted = desired != 0
    adds_only = bool((grid == desired)[grid != 0].all()) and bool((grid != desired).any())
    if adds_only and end.max() <= 0 and not (wanted & touched_cells(wanted)).any():
        reason = "every block floats alone, and no block is left over to hold the last one while it is placed"
        return reason, {"kind": "no last step", "held_at_end": end.tolist(), "floating": int(wanted.sum())}
    return "", {}


def out_of_reach(world: Worlds, desired: npt.NDArray[np.int8], controls: ControlsName) -> tuple[str, Proof]:
    """A cell that has to change, too far from a builder whom no step brings back towards the zone."""
    x, y, z = (float(value) for value in world.pose[0, :3])
    speed = max(float(world.speed[0]), 0.0)
    edge = 5 + rules.LIMIT
    if controls == "flying":
        slice_s = rules.STEP_S / 2
        level, upright = rules.FLY_SPEED * slice_s, (rules.FLY_SPEED + rules.JUMP_SPEED) * slice_s
        stuck = max(abs(x), abs(z)) > edge + level or y > 8 + rules.LIMIT + upright
        low, high = [x, y, z], [x, y, z]
    else:
        stuck = edge + rules.PADDING < max(abs(x), abs(z)) < rules.GROUND_RADIUS
        rise = (rules.JUMP_SPEED**2 + speed**2) / (2 * rules.GRAVITY)
        floor = rules.GROUND_Y + 0.5
        low = [x - rules.PADDING, min(y, floor), z - rules.PADDING]
        high = [x + rules.PADDING, max(y, floor + 2.0) + rise, z + rules.PADDING]
    if not stuck:
        return "", {}
    for iy, ix, iz in np.argwhere(world.grid[0] != desired):
        cell = (int(ix) - 5, int(iy) - 1, int(iz) - 5)
        gaps = [max(c - 0.5 - b, a - c - 0.5, 0.0) for c, a, b in zip(cell, low, high, strict=True)]
        if math.hypot(*gaps) > REACH + 1e-6:
            reason = f"the builder cannot move from outside the zone, and {cell} is out of reach"
            return reason, {"kind": "out of reach", "cell": cell, "eye_low": low, "eye_high": high}
    return "", {}
