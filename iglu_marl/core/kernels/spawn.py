"""Start of an episode."""

from __future__ import annotations

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.records import ARCHITECT, NO_CELL, NOTHING
from iglu_marl.core.kernels.score import aim_at_target
from iglu_marl.core.kernels.step import sense


@jit
def spawn(s):
    """Start an episode on the grid `start`: full inventory less the starting blocks."""
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
    s["speed"] = s["reward"] = s["shaping"] = 0.0
    s["slices"], s["active"] = 2, 1
    s["steps"] = s["turns"] = s["steps_in_turn"] = 0
    s["floor"] = ARCHITECT
    s["terminated"] = s["truncated"] = 0
    s["event"] = NOTHING
    s["hit"][:] = NO_CELL
    s["before"][:] = NO_CELL
    s["change"][:] = 0
    s["has_potential"] = 0


@jit
def prepare_at(state, i, extent, inside):
    """Spawn, score and sense world i, whose start, target, budgets and scales are set."""
    s = state[i]
    spawn(s)
    aim_at_target(s, extent, inside)
    sense(s)


@jit
def retarget_at(state, i, extent, inside):
    """Continue in world i with the start and target that were set; the score is reset."""
    s = state[i]
    aim_at_target(s, extent, inside)
    s["terminated"] = 0
    s["has_potential"] = 0
