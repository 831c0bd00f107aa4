"""When a flier can act first: lower bounds on the steps until a ray meets a box, for `bounds`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.kernels import records as rules
from iglu_marl.planning.sight import Floats, views

PARTS = 4  # into which the places of a flier's eye are divided, along each axis
HORIZON = 60  # steps within which the first chance is looked for
EYE_ON_GROUND = rules.GROUND_Y + 0.5 + 1.25
PUSH = 0.25  # how far `collide` can move a body that was already where it pushes
# Of the way: crossing a border of cells, one may be pushed ahead by 1/4 cell, and then 3/4 are left.
AHEAD = 1 / 3
JUMP_RISE = rules.JUMP_SPEED**2 / (2 * rules.GRAVITY)  # 1.2; in slices it is a little less
FLIGHT = rules.FLY_SPEED * rules.STEP_S  # level, or along the line of sight
THROTTLE = rules.JUMP_SPEED * rules.STEP_S


class Spots(NamedTuple):
    """Boxes of which a ray has to meet one: lower and upper corners, float64 [k, 3] each."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Wings:
    """Where the eye of a flier can be, by the number of steps that move it.

    pose: float64 [5]; speed: vertical, in cells/s. blocks: whether there are blocks by then, which can push.
    """

    pose: Floats
    speed: float
    blocks: bool

    def reach(self, moves: int) -> tuple[float, float, float]:
        """How far so many moves lead at most, in the plane, and the lowest and highest eye from which one can act."""
        # Up and down by the throttle, and by flying along a line of sight that tilts by and by.
        tilts = np.minimum(abs(float(self.pose[4])) + CAMERA_STEP_DEG * np.arange(1, moves + 1), 90.0)
        climbs = THROTTLE + FLIGHT * np.sin(np.radians(tilts))
        thrown = (
            max(0.0, abs(self.speed) - rules.JUMP_SPEED) * rules.STEP_S
        )  # what was left of a fall or a jump
        pushed = self._pushed(climbs, thrown)
        slack = 2 * PUSH if pushed else 0.0
        climb = float(climbs.sum()) + AHEAD * float(climbs[moves - pushed :].sum()) + thrown + slack
        low, high = float(self.pose[1]) - climb, float(self.pose[1]) + climb
        floor = EYE_ON_GROUND if not pushed and self.pose[1] >= EYE_ON_GROUND else rules.GROUND_Y + 0.5
        # An eye in the ground or below it sees nothing but ground.
        return moves * FLIGHT + AHEAD * FLIGHT * pushed + slack, max(low, floor), max(high, floor)

    def _pushed(self, climbs: Floats, thrown: float) -> int:
        """In how many of the last moves something can push the body ahead.

        Blocks can, and so can the ground, but only one who sank into it: it holds up one above it who comes down by
        less than 1/4 cell in a slice (half a step).
        """
        if self.blocks or self.pose[1] < EYE_ON_GROUND or thrown:
            return len(climbs)
        return int((climbs / 2 > PUSH - 1e-9).sum())

    def parts(self, moves: int) -> tuple[Floats, Floats]:
        """Boxes of which one holds the eye: corners, float64 [n, 3] each."""
        level, bottom, top = self.reach(moves)
        start = self.pose[[0, 2]]
        low = np.array([start[0] - level, bottom, start[1] - level])
        high = np.array([start[0] + level, top, start[1] + level])
        size = (high - low) / PARTS
        at = np.array(list(product(range(PARTS), repeat=3)))
        lows, highs = low + at * size, low + (at + 1) * size
        gaps = np.maximum(np.maximum(lows[:, [0, 2]] - start, start - highs[:, [0, 2]]), 0.0)
        near = np.hypot(gaps[:, 0], gaps[:, 1]) <= level + 1e-9
        return lows[near], highs[near]


def first_chances(
    spots: Spots, eye: Wings, limit: int = HORIZON, any_will_do: bool = False
) -> npt.NDArray[np.int_]:
    """Steps before a flier's ray can meet each of the boxes within reach, int [k]; `limit` where it takes so many.

    A flier moves and turns at once, and turns in the act's step too. any_will_do: only the first are wanted.
    """
    first = np.full(len(spots.low), limit)
    for moves in range(limit):
        left = np.flatnonzero(first == limit)
        if not len(left) or (any_will_do and len(left) < len(first)):
            break
        lows, highs = eye.parts(moves)
        many = Spots(*(np.repeat(corner[left], len(lows), axis=0) for corner in spots))
        yaw, pitch = turns_to(many, eye.pose, np.tile(lows, (len(left), 1)), np.tile(highs, (len(left), 1)))
        turns = np.maximum(yaw, pitch).reshape(len(left), -1).min(axis=1)
        first[left[turns <= moves + 1]] = moves
    return first


def latest_end(grid: npt.NDArray[np.int8], desired: npt.NDArray[np.int8], eye: Wings) -> int:
    """Steps that any flight takes: those before the first chance at some cells, and one for each act at these."""
    wrong = grid != desired
    cells = np.argwhere(wrong)[:, [1, 0, 2]].astype(np.float64) - (5, 1, 5)
    acts = np.where((grid[wrong] != 0) & (desired[wrong] != 0), 2, 1)
    first = first_chances(Spots(cells - 0.5, cells + 0.5), eye)
    return max(int(time + acts[first >= time].sum()) for time in set(first.tolist()))


def turns_to(spots: Spots, pose: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The camera steps, yaw and pitch [k] each, without which no ray from where the eye may be meets the boxes.

    low, high: corners of where it may be, float64 [3] or [k, 3]. pose: which way it looks before.
    """
    seen = views(spots.low - high, spots.high - low)
    yaw = np.minimum(*seen.ways_round(float(pose[3])))
    pitch = np.maximum(np.maximum(seen.lowest - pose[4], pose[4] - seen.highest), 0.0)
    yaw, pitch = (np.ceil(angle / CAMERA_STEP_DEG - 1e-6) for angle in (yaw, pitch))
    return np.where(seen.out, math.inf, yaw), np.where(seen.out, math.inf, pitch)
