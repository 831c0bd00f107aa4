"""Building from one place: a beam search over acts that need camera actions only."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BlockGrid, Cell, cells_of
from iglu_marl.core.kernels.cells import CELLS
from iglu_marl.core.kernels.records import RAY_SAMPLES
from iglu_marl.planning.kernels import CAMERA_DEG
from iglu_marl.planning.raycast import Floats
from iglu_marl.planning.support import Mask
from iglu_marl.planning.walking import kernels
from iglu_marl.planning.walking.kernels import Assignment

CENTRES: list[Cell] = [(x, y, z) for x, y, z in cells_of(np.ones((9, 11, 11))).tolist()]
ALIKE = 2  # nodes kept per grid
CHILDREN = 192  # maximal number per node
_MARKS = np.random.Generator(np.random.PCG64(1)).integers(1, 2**62, (7, CELLS))
_MARKS[0] = 0


class CameraAct(NamedTuple):
    """Place a colour, or break (0), along an aim in camera steps (yaw, pitch) from the initial gaze."""

    cell: Cell
    color: int
    yaw: int
    pitch: int


class CameraPlan(NamedTuple):
    """Acts, number of actions, and number of required changes that are left."""

    acts: list[CameraAct]
    cost: float
    left: int


def assignment(desired: BlockGrid, scaffolds: Mask, fixed: Mask) -> Assignment:
    """Make an assignment from grids [9, 11, 11]."""
    return Assignment(desired.reshape(CELLS), scaffolds.reshape(CELLS), fixed.reshape(CELLS))


class CameraSearch:
    """Everything visible from one pose, float64 [5], in camera steps from its gaze."""

    def __init__(self, pose: Floats) -> None:
        x, y, z, yaw, pitch = pose.tolist()
        low = math.ceil((-90.0 - pitch) / CAMERA_DEG - 1e-9)
        high = math.floor((90.0 - pitch) / CAMERA_DEG + 1e-9)
        self.level, rows = -low, high - low + 1
        rays, blocked = np.empty((kernels.YAWS * rows, RAY_SAMPLES + 1), np.int16), np.empty(CELLS, bool)
        yaws, pitches = np.empty((2, CELLS), np.int64)
        self.table = kernels.RayTable(rays, blocked, yaws, pitches, rows)
        kernels.fill_ray_table((x, y, z), yaw, pitch + CAMERA_DEG * low, self.table)

    def search(
        self,
        grid: BlockGrid,
        inventory: npt.NDArray[np.int16],
        active: int,
        task: Assignment,
        width: int,
    ) -> CameraPlan:
        """Return the best acts from here; grid int8 [9, 11, 11], inventory int16 [6]."""
        nodes = np.zeros(1, kernels.NODE)
        nodes["grid"], nodes["held"] = grid.reshape(CELLS), inventory
        nodes["aim"], nodes["active"] = self.level, active
        kernels.price_first_acts(nodes, task, self.table)
        room = np.zeros(CHILDREN * width, kernels.CHILD)
        trace: list[npt.NDArray[Any]] = []
        best, end = (math.inf, 0.0, 0), (0, 0)
        while True:
            children = room[: kernels.children_of(nodes, task, self.table, _MARKS, room)]
            for at in {*range(len(nodes))}.difference(
                children["node"].tolist()
            ):  # nothing is left to be done
                spent, left = float(nodes["spent"][at]), int(nodes["left"][at])
                outcome = spent + kernels.HIDDEN_PRICE * left, spent, left
                if outcome < best:
                    best, end = outcome, (len(trace), at)
            if not len(children):
                return CameraPlan(self._acts(trace, *end), best[1], best[2])
            chosen = _best_children(children, width)
            nodes = nodes[chosen["node"]]
            kernels.grow(nodes, chosen, task, self.table)
            trace.append(chosen)

    def _acts(self, trace: list[npt.NDArray[Any]], end: int, at: int) -> list[CameraAct]:
        acts = []
        for children in reversed(trace[:end]):
            at, cell, color, aim, *_ = children[at].tolist()
            yaw, row = divmod(aim, self.table.rows)
            acts.append(CameraAct(CENTRES[cell], color, yaw, row - self.level))
        return acts[::-1]


def _best_children(children: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    known: Counter[int] = Counter()
    chosen: list[int] = []
    marks = children["mark"].tolist()
    for at in np.argsort(children["value"], kind="stable").tolist():
        known[marks[at]] += 1
        if known[marks[at]] <= ALIKE:
            chosen.append(at)
            if len(chosen) == count:
                break
    return children[chosen]
