"""How far a walker has to go and to turn at least until it has had all asked cells before its hands.

All keys are steps of their own. Say that a plan goes `m` steps in all and jumps `j` times: then the eye stays in a box
around the start, which `m` and `j` bound. From a box a cell is seen along an interval of yaws and an interval of
pitches, and the gaze, which starts somewhere, comes past all these intervals. The shortest such sweeps are added up;
what is least over all `m` and `j` no plan can do without.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.kernels import records as rules
from iglu_marl.planning.chances import AHEAD, EYE_ON_GROUND, JUMP_RISE, PUSH
from iglu_marl.planning.sight import Floats, views

Cells = npt.NDArray[np.int_]

STRIDE = rules.WALK_SPEED * rules.STEP_S * (1.0 + AHEAD)
FARTHEST, HIGHEST = 200, 12


def least_sweep(cells: Cells, pose: Floats, speed: float, jumps: int) -> int:
    """Steps of going, turning, looking up or down and jumping that no plan does without.

    cells: int [k, 3], those that have to change. pose: float64 [5], speed: in cells/s, as it begins. jumps: known to be
    needed.
    """
    rise = max(speed, 0.0) ** 2 / (2 * rules.GRAVITY)
    lowest, highest = min(float(pose[1]), EYE_ON_GROUND), max(float(pose[1]) + rise, EYE_ON_GROUND) + PUSH
    best = math.inf
    for more in range(jumps, HIGHEST):
        if more >= best:
            break
        for moves in range(FARTHEST):
            if more + moves >= best:
                break
            level = moves * STRIDE + 2 * PUSH
            low = np.array([pose[0] - level, lowest, pose[2] - level])
            high = np.array([pose[0] + level, highest + more * JUMP_RISE, pose[2] + level])
            best = min(best, more + moves + _turns(cells, low, high, pose))
    return 0 if math.isinf(best) else int(best)


def _turns(cells: Cells, low: Floats, high: Floats, pose: Floats) -> float:
    """Camera steps that sweep past all cells from a box of eyes; infinite when one is out of reach."""
    seen = views(cells - 0.5 - high, cells + 0.5 - low)
    if seen.out.any():
        return math.inf
    pitch = float(pose[4])
    down = _steps(np.maximum(pitch - seen.highest, 0.0).max())
    up = _steps(np.maximum(seen.lowest - pitch, 0.0).max())
    return _both_ways(*seen.ways_round(float(pose[3]))) + min(2 * down + up, down + 2 * up)


def _both_ways(left: Floats, right: Floats) -> float:
    """The shortest sweep, in camera steps, that comes to each cell by so many degrees to the left or to the right."""
    order = np.argsort(left, kind="stable")
    best = _steps(right.max())
    for count, at in enumerate(order, start=1):
        a = _steps(left[at])
        b = _steps(right[order[count:]].max(initial=0.0))
        best = min(best, 2 * a + b, a + 2 * b)
    return float(best)


def _steps(degrees: float) -> int:
    return math.ceil(float(degrees) / CAMERA_STEP_DEG - 1e-6)
