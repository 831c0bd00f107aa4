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

from iglu_marl.core import rules
from iglu_marl.core.controls import CAMERA_STEP_DEG
from iglu_marl.planning.sight import REACH, Floats, turn_deg

Cells = npt.NDArray[np.int_]

PUSH = 0.25  # how far `collide` can move a body without a key, within a cell
STRIDE = rules.WALK_SPEED * rules.STEP_S * 4.0 / 3.0  # one cell in four may come from a push
JUMP_RISE = rules.JUMP_SPEED**2 / (2 * rules.GRAVITY)
EYE_ON_GROUND = rules.GROUND_Y + 0.5 + 1.25
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
    near, far = cells - 0.5 - high, cells + 0.5 - low  # all offsets from an eye to a point of a cell
    gaps = np.maximum(np.maximum(near, -far), 0.0)
    if (np.linalg.norm(gaps, axis=1) > REACH).any():
        return math.inf
    return _around(near, far, float(pose[3])) + _tilt(near, far, gaps, float(pose[4]))


def _around(near: Floats, far: Floats, yaw: float) -> float:
    """Steps of yaw until every cell has been looked at, one way round or both."""
    xs, zs = np.stack([near[:, 0], far[:, 0]]), np.stack([near[:, 2], far[:, 2]])
    corners = np.array([(xs[i], zs[j]) for i in (0, 1) for j in (0, 1)])  # [4, 2, k]
    angles = np.degrees(np.arctan2(corners[:, 1], corners[:, 0])) + 90.0
    middle = np.degrees(np.arctan2(zs.sum(axis=0), xs.sum(axis=0))) + 90.0
    spread = turn_deg(middle, angles)
    least, most = middle + spread.min(axis=0), middle + spread.max(axis=0)
    anywhere = (xs[0] <= 0) & (xs[1] >= 0) & (zs[0] <= 0) & (zs[1] >= 0)
    right, left = (least - yaw) % 360.0, (yaw - most) % 360.0
    met = anywhere | (right + most - least >= 360.0) | (left + most - least >= 360.0)
    return _both_ways(np.where(met, 0.0, left), np.where(met, 0.0, right))


def _tilt(near: Floats, far: Floats, gaps: Floats, pitch: float) -> float:
    """Steps of pitch until every cell has been looked at."""
    level_near = np.hypot(gaps[:, 0], gaps[:, 2])
    level_far = np.hypot(*(np.maximum(np.abs(near[:, a]), np.abs(far[:, a])) for a in (0, 2)))
    level_far = np.minimum(level_far, np.sqrt(np.maximum(REACH**2 - gaps[:, 1] ** 2, 0.0)))
    top = np.degrees(np.arctan2(far[:, 1], np.where(far[:, 1] > 0, level_near, level_far)))
    bottom = np.degrees(np.arctan2(near[:, 1], np.where(near[:, 1] < 0, level_near, level_far)))
    down, up = np.maximum(pitch - top, 0.0), np.maximum(bottom - pitch, 0.0)
    a, b = _steps(down.max()), _steps(up.max())
    return min(2 * a + b, a + 2 * b)


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
