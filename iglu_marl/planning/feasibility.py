"""Proofs that edits are impossible for any builder.

There are two kinds:

Too few blocks of a colour: the sum of held and standing blocks of a colour is constant, and placing needs one in the
inventory. So if a block of the colour is to be placed, the final inventory of it cannot be negative.

No last step: the final inventory is empty, and no block has to be removed. Then the last act is no removal, since
removing a scaffold would leave a block in the inventory. It is no placement either, since a placement needs something
solid among the 26 cells around it, and all blocks of the result are isolated.

Nothing else is called impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import COLORS, color_name
from iglu_marl.core.kernels.records import COVER
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.problem import Problem, planning_state
from iglu_marl.planning.support import touched_cells


def why_impossible(problem: Problem) -> tuple[str, int]:
    """Return the reason why no builder can make the edits, and the color that is short; ("", 0) if none is proved."""
    for color in COLORS:
        if reason := _too_few_blocks(problem, color):
            return reason, color
    return _no_last_step(problem), 0


def reason_impossible(worlds: Worlds) -> str:
    """Return why no builder can complete the target of a game from here; "" if that is not proved.

    It heeds what the game allows: shifts and rotations, blocks that nobody asked about (completion "cover"), and the
    inventories of all builders.

    Args:
        worlds: of one game, a row for each builder.

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
    state = planning_state(worlds.row(0))
    state["inventory"] = held
    return why_impossible(Problem(state, desired, "walking"))[0]


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
