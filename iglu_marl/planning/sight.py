"""Lines of sight in bulk: what would be hit from many poses, by the kernel that also moves the hands."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.step import step_many
from iglu_marl.core.worlds import Worlds

Floats = npt.NDArray[np.float64]
Cells = npt.NDArray[np.int8]

REACH = 7.8  # 39 samples, 1/5 cell apart
BATCH = 512


class RayCaster:
    """Casts rays in a scratch batch of worlds, all with one and the same grid and nothing to place."""

    def __init__(self, batch: int = BATCH) -> None:
        self._batch = batch
        self._worlds = Worlds(batch)
        self._worlds.state["inventory"] = 0  # placing casts the ray, and then finds nothing in hand
        self._controls = np.zeros(batch, rules.CONTROL)
        self._controls["place"] = 1
        self._controls["mode"] = rules.FLYING

    def look_at(self, grid: npt.NDArray[np.int8]) -> None:
        """Use this grid, int8 [9, 11, 11], from now on."""
        self._worlds.grid[:] = grid

    def cast(self, poses: Floats) -> tuple[Cells, Cells]:
        """For poses float64 [k, 5]: the solid cell seen and the cell before it, int8 [k, 3] each.

        Both are `rules.NO_CELL` where nothing is in reach; `before` alone where the eye is inside the cell.
        """
        hit = np.empty((len(poses), 3), np.int8)
        before = np.empty((len(poses), 3), np.int8)
        for start in range(0, len(poses), self._batch):
            part = poses[start : start + self._batch]
            k = len(part)
            self._worlds.pose[:k] = part
            step_many(self._worlds.state[:k], self._controls[:k])
            hit[start : start + k] = self._worlds.state["hit"][:k]
            before[start : start + k] = self._worlds.state["before"][:k]
        return hit, before

    def hidden(self, eye: Floats, cells: npt.NDArray[np.int_]) -> int:
        """How many of some empty cells, int [k, 3], have something solid between their centre and an eye [3]."""
        offsets = cells - eye
        hit, _ = self.cast(np.concatenate([np.tile(eye, (len(cells), 1)), bearing(offsets)], axis=1))
        nearer = np.linalg.norm(hit - eye, axis=1) < np.linalg.norm(offsets, axis=1)
        return int((nearer & (hit[:, 0] != rules.NO_CELL)).sum())


def blocked_by_body(
    poses: Floats, cell: npt.NDArray[np.int_] | tuple[int, int, int]
) -> npt.NDArray[np.bool_]:
    """Whether the builder's own body refuses a block there, bool [k]: the rule `in_the_way` for many poses.

    cell: one cell, or int [k, 3].
    """
    x, y, z = np.moveaxis(np.asarray(cell), -1, 0)
    legs = poses[:, 1] - rules.EYE_HEIGHT
    column = (np.abs(poses[:, 0] - x) <= 0.5) & (np.abs(poses[:, 2] - z) <= 0.5)
    return column & (((y <= legs) & (legs <= y + 1)) | ((y <= legs + 1) & (legs + 1 <= y + 1)))


def gaze(yaw_deg: npt.ArrayLike, pitch_deg: npt.ArrayLike) -> Floats:
    """Unit vectors of gaze, float64 [..., 3]."""
    around, tilt = np.radians(np.asarray(yaw_deg) - 90.0), np.radians(pitch_deg)
    level = np.cos(tilt)
    return np.stack([np.cos(around) * level, np.sin(tilt), np.sin(around) * level], axis=-1)


def bearing(offsets: Floats) -> Floats:
    """Yaw and pitch in degrees that look along offsets float64 [..., 3], as float64 [..., 2]."""
    x, y, z = np.moveaxis(offsets, -1, 0)
    yaw = np.degrees(np.arctan2(z, x)) + 90.0
    return np.stack([yaw % 360.0, np.degrees(np.arctan2(y, np.hypot(x, z)))], axis=-1)


def turn_deg(start: npt.ArrayLike, end: npt.ArrayLike) -> Floats:
    """The shorter way round from one yaw to another, in -180..180 degrees."""
    return (np.asarray(end) - np.asarray(start) + 180.0) % 360.0 - 180.0


@lru_cache(maxsize=64)
def aim_table(yaw_base: float, pitch_base: float, step_deg: float) -> tuple[Floats, Floats]:
    """All aims that camera steps can reach: (yaw, pitch) float64 [k, 2] and their gaze float64 [k, 3]."""
    yaws = (yaw_base + np.arange(0.0, 360.0, step_deg)) % 360.0
    pitches = pitch_base + np.arange(-36, 37) * step_deg
    pitches = pitches[(pitches >= -90.0) & (pitches <= 90.0)]
    aims = np.stack(np.meshgrid(yaws, pitches, indexing="ij"), axis=-1).reshape(-1, 2)
    return aims, gaze(aims[:, 0], aims[:, 1])


@lru_cache(maxsize=20000)
def aims_through(
    offset: tuple[float, float, float], yaw_base: float, pitch_base: float, step_deg: float = 5.0
) -> Floats:
    """The reachable aims (yaw, pitch), float64 [k, 2], whose ray passes the unit cube `offset` from the eye."""
    if math.dist(offset, (0, 0, 0)) > REACH + 0.9:
        return np.empty((0, 2))
    aims, rays = aim_table(yaw_base, pitch_base, step_deg)
    centre = np.array(offset)
    safe = np.where(np.abs(rays) < 1e-9, 1e-9, rays)
    near, far = (centre - 0.5) / safe, (centre + 0.5) / safe
    enter = np.minimum(near, far).max(axis=1)
    leave = np.maximum(near, far).min(axis=1)
    return aims[(leave > np.maximum(enter, 0.0)) & (enter < REACH)]


class Views(NamedTuple):
    """Which way one has to look, from somewhere in a box of eyes, to meet boxes; float64 or bool [k] each.

    least, most: of the yaw, in degrees, not wrapped; anywhere: any yaw will do, since an eye may be above or below.
    lowest, highest: of the pitch. out: out of reach from everywhere.
    """

    least: Floats
    most: Floats
    anywhere: npt.NDArray[np.bool_]
    lowest: Floats
    highest: Floats
    out: npt.NDArray[np.bool_]

    def ways_round(self, yaw: float) -> tuple[Floats, Floats]:
        """How far to turn to the left and to the right from a yaw, in degrees [k] each."""
        right, left = (self.least - yaw) % 360.0, (yaw - self.most) % 360.0
        width = self.most - self.least
        met = self.anywhere | (right + width >= 360.0) | (left + width >= 360.0)
        return np.where(met, 0.0, left), np.where(met, 0.0, right)


def views(near: Floats, far: Floats) -> Views:
    """By the corners [k, 3] of all offsets from an eye in the one box to a point in the other."""
    xs, zs = np.stack([near[:, 0], far[:, 0]]), np.stack([near[:, 2], far[:, 2]])
    corners = np.array([(xs[i], zs[j]) for i in (0, 1) for j in (0, 1)])  # [4, 2, k]
    angles = np.degrees(np.arctan2(corners[:, 1], corners[:, 0])) + 90.0
    middle = np.degrees(np.arctan2(zs.sum(axis=0), xs.sum(axis=0))) + 90.0
    spread = turn_deg(middle, angles)
    anywhere = (xs[0] <= 0) & (xs[1] >= 0) & (zs[0] <= 0) & (zs[1] >= 0)
    gaps = np.maximum(np.maximum(near, -far), 0.0)
    level_near = np.hypot(gaps[:, 0], gaps[:, 2])
    level_far = np.hypot(np.abs(xs).max(axis=0), np.abs(zs).max(axis=0))
    level_far = np.minimum(level_far, np.sqrt(np.maximum(REACH**2 - gaps[:, 1] ** 2, 0.0)))
    highest = np.degrees(np.arctan2(far[:, 1], np.where(far[:, 1] > 0, level_near, level_far)))
    lowest = np.degrees(np.arctan2(near[:, 1], np.where(near[:, 1] < 0, level_near, level_far)))
    out = np.linalg.norm(gaps, axis=1) > REACH
    return Views(middle + spread.min(axis=0), middle + spread.max(axis=0), anywhere, lowest, highest, out)
