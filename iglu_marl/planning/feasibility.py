"""Proofs that edits are impossible for any builder.

There are three kinds:

Too few blocks of a colour: the sum of held and standing blocks of a colour is constant, and placing needs one in the
inventory. So if a block of the colour is to be placed, the final inventory of it cannot be negative.

No last step: the final inventory is empty, and no block has to be removed. Then the last act is no removal, since
removing a scaffold would leave a block in the inventory. It is no placement either, since a placement needs something
solid among the 26 cells around it, and all blocks of the result are isolated.

Out of reach: the builder is so far outside the zone that it cannot move back, and a cell that has to change
is out of reach from every position of its eye.

Nothing else is called impossible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import COLORS, MAX_X, MAX_Y, Cell, cells_of, color_name
from iglu_marl.core.kernels.motion import highest_rise
from iglu_marl.core.kernels.records import (
    COVER,
    FLY_SPEED,
    GROUND_RADIUS,
    GROUND_Y,
    JUMP_SPEED,
    LIMIT,
    PADDING,
    STEP_S,
)
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.kernels import REACH
from iglu_marl.planning.problem import PLANNED, Problem, planning_state
from iglu_marl.planning.support import touched_cells


def why_impossible(problem: Problem) -> tuple[str, int]:
    """Return the reason why no builder can make the edits, and the color that is short; ("", 0) if none is proved."""
    for color in COLORS:
        if reason := _too_few_blocks(problem, color):
            return reason, color
    return _no_last_step(problem) or _out_of_reach(problem), 0


def reason_impossible(worlds: Worlds, controls: ControlsName) -> str:
    """Return why no builder can complete the target of a game from here; "" if that is not proved.

    It heeds what the game allows: shifts and rotations, blocks that nobody asked about (completion "cover"), and the
    inventories of all builders.

    Args:
        worlds: of one game, a row for each builder.
        controls: of the builders.

    """
    grid, start, target = worlds.grid[0], worlds.start[0], worlds.target[0]
    covers, free = worlds.completion[0] == COVER, bool(worlds.invariant[0])
    desired = np.where(target != start, target, 0).astype(np.int8) if covers else target
    held = _held_by_all(worlds.inventory)
    if free and grid.any():  # blocks may be right wherever they stand
        for color in COLORS:
            placed, standing = (int(np.count_nonzero(blocks == color)) for blocks in (desired, grid))
            stock = int(held[color - 1])
            if placed > max(standing, standing + stock):
                return _shortage(color, placed, stock, standing)
        return ""
    reasons = []
    for row in range(len(worlds)):
        state = planning_state(worlds.row(row))
        state["inventory"] = held
        if (
            free or covers or controls not in PLANNED
        ):  # what is out of reach may be right elsewhere, or stay wrong
            state["pose"] = 0.0
        reasons.append(why_impossible(Problem(state, desired, controls))[0])
    return reasons[0] if all(reasons) else ""


def _held_by_all(inventories: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    """Return how many blocks of each colour several builders can place together before a removal, int16 [6].

    A builder with a negative count cannot place, so it lessens nothing that the others hold.
    """
    together = np.maximum(inventories, 0).sum(axis=0)
    held: npt.NDArray[np.int16] = np.where(together > 0, together, inventories.max(axis=0)).astype(np.int16)
    return held


def used_up(grid: npt.NDArray[Any], target: npt.NDArray[Any], stock: Sequence[int]) -> set[int]:
    """Return the colours that are missing and of which all blocks stand where they belong: none is left to place.

    stock: blocks of each colour, held and standing ones together.
    """
    colors = set(np.unique(target[(grid != target) & (target != 0)]).tolist())
    return {
        color
        for color in colors
        if np.count_nonzero(grid == color) >= stock[color - 1]
        and not np.any((grid == color) & (target != color))
    }


def _balance(problem: Problem, color: int) -> tuple[int, int, int]:
    """Count the blocks of a colour: in the inventory, to be placed, and to be removed."""
    placed = np.count_nonzero((problem.desired == color) & (problem.grid != color))
    returned = np.count_nonzero((problem.grid == color) & (problem.desired != color))
    return int(problem.start["inventory"][0, color - 1]), int(placed), int(returned)


def _too_few_blocks(problem: Problem, color: int) -> str:
    held, placed, returned = _balance(problem, color)
    return _shortage(color, placed, held, returned) if placed and held + returned < placed else ""


def _shortage(color: int, placed: int, held: int, returned: int) -> str:
    return (
        f"not enough {color_name(color)} blocks: {placed} to place, {max(0, held)} in the inventory, "
        f"{returned} to come back from removals"
    )


def _no_last_step(problem: Problem) -> str:
    grid, wanted = problem.grid, problem.desired != 0
    balances = (_balance(problem, color) for color in COLORS)
    left = max(held - placed + returned for held, placed, returned in balances)
    stays = np.array_equal(grid[grid != 0], problem.desired[grid != 0])
    if left > 0 or not stays or not problem.changes or (wanted & touched_cells(wanted)).any():
        return ""
    return "every block floats alone, and no block is left over to hold the last one while it is placed"


def _eye_box(problem: Problem) -> tuple[Cell, Cell] | tuple[Any, Any] | None:
    """Return lower and upper corner of all reachable eye positions; None unless stuck outside the zone."""
    x, y, z = problem.pose[:3].tolist()
    level, edge = max(abs(x), abs(z)), MAX_X + LIMIT
    # A slice is at most half a step; a slice that would end outside the limits is skipped.
    if problem.controls == "flying":
        slice_s = STEP_S / 2
        upright = (FLY_SPEED + JUMP_SPEED) * slice_s
        stuck = level > edge + FLY_SPEED * slice_s or y > MAX_Y + 1 + LIMIT + upright
        return ((x, y, z), (x, y, z)) if stuck else None
    # A walker falls and jumps, and the ground may push it aside by up to `PADDING`.
    if not edge + PADDING < level < GROUND_RADIUS:
        return None
    floor = GROUND_Y + 0.5
    top = max(y, floor + 2.0) + highest_rise(JUMP_SPEED) + highest_rise(float(problem.start["speed"][0]))
    return (x - PADDING, min(y, floor), z - PADDING), (x + PADDING, top, z + PADDING)


def _out_of_reach(problem: Problem) -> str:
    box = _eye_box(problem)
    if box is None:
        return ""
    for cell in cells_of(problem.grid != problem.desired).tolist():
        gaps = (max(c - 0.5 - high, low - c - 0.5, 0.0) for c, low, high in zip(cell, *box, strict=True))
        if math.hypot(*gaps) > REACH + 1e-6:
            return f"the builder cannot move from outside the zone, and {tuple(cell)} is out of reach"
    return ""
