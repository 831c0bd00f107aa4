"""Compiled parts of the search for short flights: possible acts, and the price of the remaining work.

These are heuristics: every chosen act is repeated by the game's kernel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.body import in_the_way
from iglu_marl.core.kernels.ray import cast, gaze
from iglu_marl.core.kernels.records import DEGREES
from iglu_marl.planning.kernels import REACH

AIM_REACH = 7.5  # for points to aim at; slightly less than the reach
CUBE = 0.95  # half a diagonal of a cell, with the surrounding air that aims touch
AIMS = 3  # aims compared per job and eye
NOWHERE = 1e9
NEAR_DEG = 6.0  # an aim beyond the possible turn is moved by at most this
ACT_PRICE = 1.15  # steps for each cell that is left
TURN_RATE_DEG = 12.0  # degrees of turning per step, on the way to a cell
RANGE_COST = 0.25  # steps per cell of difference from `Weights.best_range`

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Weights(NamedTuple):
    """Weights of the heuristic, in steps. The best choice depends on the structure, so several are tried."""

    best_range: float = 3.5
    least: float = 1.0  # of the way to the nearest cell
    mean: float = 0.2  # of the mean way to all cells


class JobTable(NamedTuple):
    """The jobs in one grid."""

    grid: npt.NDArray[np.int8]  # [9, 11, 11]
    jobs: Ints  # [j, 3]
    places: Bools  # [j]
    cells: Ints  # [k, 3], cells that differ from the desired grid
    own: Ints  # [j], index of the job in `cells`, or -1
    base: Floats  # [j], price of the remaining work after the job
    starts: Ints  # [j + 1], first point of each job
    points: Floats  # [p, 3], points to aim at
    through: Floats  # [p, 3], required direction of a ray at the point


@jit
def wrap_angle(angle):
    """Return an angle in -180..180 degrees."""
    return angle - 360.0 * math.floor((angle + 180.0) / 360.0)


@jit
def links(eye, yaw, pitch, cells, skip, weights):
    """Estimate the steps from a pose to the nearest cell, and the mean of the steps to all cells."""
    least, total, count = NOWHERE, 0.0, 0
    for k in range(len(cells)):
        if k == skip:
            continue
        dx, dy, dz = cells[k, 0] - eye[0], cells[k, 1] - eye[1], cells[k, 2] - eye[2]
        level = math.sqrt(dx * dx + dz * dz)
        around = abs(wrap_angle(math.atan2(dz, dx) * DEGREES + 90.0 - yaw))
        turn = max(around, abs(math.atan2(dy, level) * DEGREES - pitch))
        off = abs(math.sqrt(level * level + dy * dy) - weights.best_range)
        price = turn / TURN_RATE_DEG + RANGE_COST * off
        least = min(least, price)
        total += price
        count += 1
    if count == 0:
        return 0.0, 0.0
    return least, total / count


@jit
def out_of_view(eye, cell, yaw, pitch, limit):
    """Return whether no turn of at most `limit` degrees brings the cell into the middle of the view."""
    dx, dy, dz = cell[0] - eye[0], cell[1] - eye[1], cell[2] - eye[2]
    level = math.sqrt(dx * dx + dz * dz)
    far = math.sqrt(level * level + dy * dy)
    if far > REACH + CUBE:
        return True
    if far < 1.2:
        return False
    if abs(math.atan2(dy, level) * DEGREES - pitch) > limit + 75.0 / far + 2.0:
        return True
    return (
        level >= 1.2
        and abs(wrap_angle(math.atan2(dz, dx) * DEGREES + 90.0 - yaw)) > limit + 75.0 / level + 2.0
    )


@jit
def price_jobs(table, eyes, yaw, pitch, limit, weights, prices, ways, looks):
    """Find the best way to do each job [j] from one of the eyes [e, 3], turning by at most `limit` degrees.

    Written to prices float [j] (`NOWHERE` if there is none), ways int [j] (the eye), looks float [j, 2] (yaw, pitch).
    """
    hit, before = np.empty(3, np.int8), np.empty(3, np.int8)
    for e in range(len(eyes)):
        eye = eyes[e, 0], eyes[e, 1], eyes[e, 2]
        for j in range(len(table.jobs)):
            job, places = table.jobs[j], table.places[j]
            if out_of_view(eye, job, yaw, pitch, limit):
                continue
            if places and in_the_way(eye[0], eye[1], eye[2], job[0], job[1], job[2]):
                continue
            found = 0
            for p in range(table.starts[j], table.starts[j + 1]):
                point, through = table.points[p], table.through[p]
                dx, dy, dz = point[0] - eye[0], point[1] - eye[1], point[2] - eye[2]
                if (
                    (through[0] != 0 and dx * through[0] < 0.05)
                    or (through[1] != 0 and dy * through[1] < 0.05)
                    or (through[2] != 0 and dz * through[2] < 0.05)
                ):
                    continue
                level = math.sqrt(dx * dx + dz * dz)
                if level * level + dy * dy > AIM_REACH * AIM_REACH:
                    continue
                turn = wrap_angle(math.atan2(dz, dx) * DEGREES + 90.0 - yaw)
                tilt = math.atan2(dy, level) * DEGREES - pitch
                if max(abs(turn), abs(tilt)) > limit + NEAR_DEG:
                    continue
                turn, tilt = max(-limit, min(limit, turn)), max(-limit, min(limit, tilt))
                if not cast(table.grid, eye, gaze(yaw + turn, pitch + tilt), hit, before):
                    continue
                met = before if places else hit
                if met[0] != job[0] or met[1] != job[1] or met[2] != job[2]:
                    continue
                least, mean = links(eye, yaw + turn, pitch + tilt, table.cells, table.own[j], weights)
                price = table.base[j] + weights.least * least + weights.mean * mean
                if price < prices[j]:
                    prices[j], ways[j], looks[j, 0], looks[j, 1] = price, e, yaw + turn, pitch + tilt
                found += 1
                if found == AIMS:
                    break
