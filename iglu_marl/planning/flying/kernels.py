"""Compiled parts of the search for short flights: possible acts, and the price of the remaining work.

These are heuristics: every chosen act is repeated by the game's kernel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, ZONE_SHAPE
from iglu_marl.core.jit import jit
from iglu_marl.core.kernels.body import in_the_way
from iglu_marl.core.kernels.cells import in_zone, solid
from iglu_marl.core.kernels.ray import cast, gaze
from iglu_marl.core.kernels.records import DEGREES
from iglu_marl.planning.kernels import CAMERA_DEG, REACH

AIM_REACH = 7.5  # for points to aim at; slightly less than the reach
CUBE = 0.95  # half a diagonal of a cell, with the surrounding air that aims touch
AIMS = 3  # aims compared per job and eye
ARCS = 13  # sets of adjacent yaw quadrants: 4 of one, 4 of two, 4 of three, and all
ALL_ARCS = (1 << ARCS) - 1
NOWHERE = 1e9
NEAR_DEG = 6.0  # an aim beyond the possible turn is moved by at most this

# Spanning tree of the remaining cells, in steps: an act, a cell of distance beyond `NEAR`; heights count more.
ACT_PRICE, CELL_PRICE, HEIGHT_FACTOR, NEAR = 1.15, 0.5, 1.3, 1.5

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Weights(NamedTuple):
    """Weights of the heuristic, in steps. The best choice depends on the structure, so several are tried."""

    turn_rate: float = 12.0  # degrees of turning per step, on the way to a cell
    range_cost: float = 0.25  # per cell of difference from `best_range`
    best_range: float = 3.5
    least: float = 1.0  # of the way to the nearest cell
    mean: float = 0.2  # of the mean way to all cells
    side: float = 0.5  # of a step of turning until the other sides are visible
    short: float = 2.2  # of a cell that cannot be placed by looking to these sides


class JobTable(NamedTuple):
    """The jobs in one grid."""

    grid: npt.NDArray[np.int8]  # [9, 11, 11]
    jobs: Ints  # [j, 3]
    places: Bools  # [j]
    cells: Ints  # [k, 3], cells that differ from the desired grid
    own: Ints  # [j], index of the job in `cells`, or -1
    base: Floats  # [j], price of the remaining work after the job
    counts: Ints  # [j, ARCS], cells that cannot be placed after the job by looking only into that arc
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
        price = turn / weights.turn_rate + weights.range_cost * off
        least = min(least, price)
        total += price
        count += 1
    if count == 0:
        return 0.0, 0.0
    return least, total / count


@jit
def side_price(yaw, counts, weights):
    """Return the lowest price of an arc: the turn to it, and the cells `counts`, int [ARCS], that it misses."""
    best = NOWHERE
    for arc in range(ARCS):
        begin, size = arc % 4, arc // 4 + 1  # all quadrants: the last arc, from the first one on
        price = weights.short * counts[arc] + weights.side * turn_to(yaw % 360.0, begin, size) / CAMERA_DEG
        best = min(best, price)
    return best


@jit
def turn_to(yaw, begin, size):
    """Return the degrees of turning needed to look into `size` quadrants from `begin` on."""
    if size == 1:
        return max(0.0, abs(wrap_angle(yaw - 90.0 * begin - 45.0)) - 45.0)
    best = NOWHERE
    for turn in range(4 if size == 4 else 1):
        low, width = 90.0 * (begin + 1 + turn), 90.0 * (size - 2)
        past = (yaw - low) % 360.0
        way = width + min(past, width - past) if past <= width else width + min(past - width, 360.0 - past)
        best = min(best, way)
    return best


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
                price += side_price(yaw + turn, table.counts[j], weights)
                if price < prices[j]:
                    prices[j], ways[j], looks[j, 0], looks[j, 1] = price, e, yaw + turn, pitch + tilt
                found += 1
                if found == AIMS:
                    break


# --- remaining work in a grid, and the sides from which it can be done


@jit
def sides(grid, cells, missing, around, allowed):
    """Return for each cell [k, 3] the arcs (bits) into which the builder may look to place it eventually, int [k].

    missing: bool [k]; other cells have all bits. around: int [26, 3]; allowed: int [26], arcs for each neighbour.
    """
    reached = np.zeros(ZONE_SHAPE, np.int64)
    changed = True
    while changed:
        changed = False
        for k in range(len(cells)):
            if not missing[k]:
                continue
            at = cells[k, 1] - MIN_Y, cells[k, 0] - MIN_X, cells[k, 2] - MIN_Z
            have = reached[at]
            for d in range(len(around)):
                x, y, z = cells[k, 0] + around[d, 0], cells[k, 1] + around[d, 1], cells[k, 2] + around[d, 2]
                if solid(grid, x, y, z):
                    have |= allowed[d]
                elif in_zone(x, y, z):
                    have |= reached[y - MIN_Y, x - MIN_X, z - MIN_Z] & allowed[d]
            if have != reached[at]:
                reached[at] = have
                changed = True
    found = np.full(len(cells), ALL_ARCS)
    for k in range(len(cells)):
        if missing[k]:
            found[k] = reached[cells[k, 1] - MIN_Y, cells[k, 0] - MIN_X, cells[k, 2] - MIN_Z]
    return found


@jit
def tree_price(cells):
    """Estimate the steps of acts at all cells int [k, 3] by a minimum spanning tree."""
    k = len(cells)
    far, todo = np.full(k, NOWHERE), np.ones(k, np.bool_)
    total, at = 0.0, -1
    for _ in range(k):
        nearest = -1
        for i in range(k):
            if not todo[i]:
                continue
            if at >= 0:
                dx, dy, dz = (
                    cells[i, 0] - cells[at, 0],
                    cells[i, 1] - cells[at, 1],
                    cells[i, 2] - cells[at, 2],
                )
                apart = math.sqrt(dx * dx + HEIGHT_FACTOR * HEIGHT_FACTOR * dy * dy + dz * dz)
                price = ACT_PRICE + CELL_PRICE * max(0.0, apart - NEAR)
                far[i] = min(far[i], price)
            if nearest < 0 or far[i] < far[nearest]:
                nearest = i
        total += far[nearest] if at >= 0 else ACT_PRICE
        todo[nearest] = False
        at = nearest
    return total


@jit
def price_results(grid, cells, missing, jobs, own, done, around, allowed, base, counts):
    """Price the remaining work after each job [j]: `base` float [j] and `counts` int [j, ARCS] (see `JobTable`).

    missing: bool [k], cells to be filled. own: int [j], index of the job in `cells`, -1 for a scaffold. done: bool [j],
    whether the cell is correct after the job.
    """
    for j in range(len(jobs)):
        at = jobs[j, 1] - MIN_Y, jobs[j, 0] - MIN_X, jobs[j, 2] - MIN_Z
        before, waits = grid[at], missing.copy()
        rest, count = np.empty((len(cells) + 1, 3), np.int64), 0
        for k in range(len(cells)):
            if k != own[j] or not done[j]:
                rest[count] = cells[k]
                count += 1
        if own[j] < 0:  # the scaffold has to be removed later
            rest[count] = jobs[j]
            count += 1
        else:
            waits[own[j]] = not done[j]  # a wrong block is removed; its cell is still to be filled
        base[j] = tree_price(rest[:count])
        grid[at] = 1 - min(before, 1)
        reached = sides(grid, cells, waits, around, allowed)
        grid[at] = before
        for arc in range(ARCS):
            counts[j, arc] = 0
            for k in range(len(cells)):
                counts[j, arc] += (reached[k] >> arc) & 1 == 0
