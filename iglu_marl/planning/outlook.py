"""What is still ahead: from which side the missing blocks can be placed, and how far the builder has to turn for it."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.planning.edits import supported_cells
from iglu_marl.planning.sight import Floats, turn_deg

Grid = npt.NDArray[np.int8]

AROUND = np.array([d for d in product((-1, 0, 1), repeat=3) if any(d)])
_FACES = np.flatnonzero(np.abs(AROUND).sum(axis=1) == 1)
_BEARING = np.degrees(np.arctan2(AROUND[:, 2], AROUND[:, 0])) + 90.0
_LEVEL = np.abs(AROUND[:, [0, 2]]).sum(axis=1)  # how many of x and z a neighbour differs in
_TOLERANCE = np.array([180.0, 84.0, 40.0])[_LEVEL]  # the yaw may differ by so much from a neighbour's bearing
_TILT_DEG = 4.0  # to see the top or the bottom of a block
SIDE_STEPS = 4.0  # a turn that is worth a scaffold
CLIMB_STEPS = 14.0  # per cell


class Taste(NamedTuple):
    """What makes a beginning promising, in steps: which one is right depends on the structure, so several are tried."""

    hidden: float = 0.5  # for a missing cell that cannot be seen from here
    side: float = (
        1.0  # for a step of turning until the last group of missing cells is seen from the right side
    )
    least: float = 1.0  # for the way to the nearest cell
    mean: float = 0.2  # for the way to all cells, on average
    climb: float = 1.0  # for a step of climbing until the highest cell can be placed


PLAIN = Taste()


class Group(NamedTuple):
    """Missing cells that hang together, int [k, 3], and which of the cells around each are solid, bool [k, 26]."""

    cells: npt.NDArray[np.int_]
    solid: npt.NDArray[np.bool_]


def missing_groups(grid: Grid, desired: Grid) -> list[Group]:
    """The cells that are to be filled, by sets that hang together by their faces."""
    return _groups(grid.tobytes(), desired.tobytes())


@lru_cache(maxsize=4096)
def _groups(grid_bytes: bytes, desired_bytes: bytes) -> list[Group]:
    grid = np.frombuffer(grid_bytes, np.int8).reshape(9, 11, 11)
    desired = np.frombuffer(desired_bytes, np.int8).reshape(9, 11, 11)
    padded = np.zeros((11, 13, 13), bool)
    padded[0] = True
    padded[1:10, 1:12, 1:12] = grid != 0
    cells = np.argwhere((desired != 0) & (grid == 0))[:, [1, 0, 2]] - (5, 1, 5)
    left = {tuple(cell): number for number, cell in enumerate(cells.tolist())}
    groups = []
    while left:
        todo, members = [next(iter(left))], []
        del_first = left.pop(todo[0])
        members.append(del_first)
        while todo:
            x, y, z = todo.pop()
            for dx, dy, dz in AROUND[_FACES].tolist():
                other = (x + dx, y + dy, z + dz)
                if other in left:
                    members.append(left.pop(other))
                    todo.append(other)
        own = cells[sorted(members)]
        near = own[:, None] + AROUND[None]
        groups.append(Group(own, padded[near[..., 1] + 2, near[..., 0] + 6, near[..., 2] + 6]))
    return groups


def side_steps(pose: Floats, camera_deg: float) -> Floats:
    """Camera steps until one looks the way that each of the 26 neighbours lies, float64 [26]."""
    around = np.maximum(np.abs(turn_deg(pose[3], _BEARING)) - _TOLERANCE, 0.0) / camera_deg
    tilt = np.maximum(_TILT_DEG - AROUND[:, 1] * pose[4], 0.0) / camera_deg
    tilt[AROUND[:, 1] == 0] = 0.0
    steps: Floats = around + tilt
    return steps


def way_ahead(groups: list[Group], steps: Floats, share: float = 0.3) -> float:
    """Camera steps that it takes until all groups can be begun; after the farthest, others count by a share."""
    costs = sorted((_cost(group, steps) for group in groups), reverse=True)
    return costs[0] + share * sum(costs[1:]) if costs else 0.0


def _cost(group: Group, steps: Floats) -> float:
    least = np.where(group.solid, steps[None], 40.0).min()
    return float(least)


def helpers(groups: list[Group], steps: Floats, grid: Grid, desired: Grid, limit: int = 4) -> list[Cell]:
    """Cells where a scaffold would spare a turn: beside a missing cell, on the side that one looks at anyway."""
    near = supported_cells(grid != 0)
    found: list[tuple[float, Cell]] = []
    for group in groups:
        if _cost(group, steps) < SIDE_STEPS:
            continue
        for direction in _FACES:
            if steps[direction] > 2.0:
                continue
            for cell in (group.cells + AROUND[direction]).tolist():
                x, y, z = cell
                at = y + 1, x + 5, z + 5
                if in_zone(x, y, z) and near[at] and grid[at] == 0 and desired[at] == 0:
                    found.append((float(steps[direction]), (x, y, z)))
    return [cell for _, cell in sorted(set(found))][:limit]


def climb_steps(groups: list[Group], grid: Grid, eye: float) -> float:
    """Steps of climbing until the eye is above the bottom of the highest cell that nothing at its height holds."""
    tallest = int(np.flatnonzero(grid.any(axis=(1, 2))).max(initial=-1)) - 1
    tops = [int(group.cells[:, 1].max()) for group in groups]
    needed = max((top for top in tops if top > tallest), default=-2) - 0.5
    return CLIMB_STEPS * max(0.0, needed - eye - 1.0)
