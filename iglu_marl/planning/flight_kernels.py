"""Compiled parts of the search for short flights: what can be acted on from where, and what would be left to do.

Nothing here decides: every act that is chosen is done again by the rules' own kernel (`core/rules.py`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit

# A box of cells around all that a ray can reach, so that rays need not ask whether they are in the zone.
LOW_Y, LOW_X, LOW_Z = -12, -17, -17
BOX = (31, 35, 35)
REACH, SAMPLES, SAMPLES_PER_CELL = 7.8, 40, 5.0
FAR = 7.5  # points to aim at: not at the very end of the reach
CUBE = 0.95  # half a diagonal of a cell, with the air around it that aims touch
KEPT = 3  # ways for each job
ARCS = 13  # sets of neighbouring quadrants of yaw: 4 of one, 4 of two, 4 of three, and all
NOWHERE = 1e9
RADIANS = math.pi / 180.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@jit
def hit_from(solid: Bools, x: float, y: float, z: float, yaw: float, pitch: float) -> tuple[int, int]:
    """The solid cell that a ray meets and the cell before it, as two numbers (`code`), -1 for none."""
    around, tilt = (yaw - 90.0) * RADIANS, pitch * RADIANS
    level = math.cos(tilt) / SAMPLES_PER_CELL
    dx, dy, dz = math.cos(around) * level, math.sin(tilt) / SAMPLES_PER_CELL, math.sin(around) * level
    last = -1
    for _ in range(SAMPLES):
        iy, ix, iz = int(np.rint(y)) - LOW_Y, int(np.rint(x)) - LOW_X, int(np.rint(z)) - LOW_Z
        if 0 <= iy < BOX[0] and 0 <= ix < BOX[1] and 0 <= iz < BOX[2]:
            at = (iy * BOX[1] + ix) * BOX[2] + iz
            if at != last:
                if solid[iy, ix, iz]:
                    return at, last
                last = at
        x, y, z = x + dx, y + dy, z + dz
    return -1, last


@jit
def code(cell: Ints) -> int:
    """A cell as one number."""
    return ((cell[1] - LOW_Y) * BOX[1] + cell[0] - LOW_X) * BOX[2] + cell[2] - LOW_Z


@jit
def in_the_way(eye: Floats, cell: Ints) -> bool:
    """Whether the body of one whose eye is there refuses a block in the cell."""
    if abs(eye[0] - cell[0]) > 0.5 or abs(eye[2] - cell[2]) > 0.5:
        return False
    legs = eye[1] - 0.75
    return (cell[1] <= legs <= cell[1] + 1) or (cell[1] <= legs + 1 <= cell[1] + 1)


@jit
def wrapped(angle: float) -> float:
    """An angle in -180..180 degrees."""
    return angle - 360.0 * math.floor((angle + 180.0) / 360.0)


@jit
def arctan(y: float, x: float) -> float:
    """atan2 in degrees, within 0.3 degrees: prices need no more."""
    ax, ay = abs(x), abs(y)
    large, small = max(ax, ay), min(ax, ay)
    if large == 0.0:
        return 0.0
    t = small / large
    angle = t * (45.0 - (t - 1.0) * (14.02 + 3.79 * t))
    if ay > ax:
        angle = 90.0 - angle
    if x < 0.0:
        angle = 180.0 - angle
    return -angle if y < 0.0 else angle


@jit
def links(
    eye: Floats, yaw: float, pitch: float, cells: Ints, skip: int, taste: Floats
) -> tuple[float, float]:
    """Steps to the nearest of the cells and to all on average, roughly, from a pose."""
    least, total, count = NOWHERE, 0.0, 0
    for k in range(cells.shape[0]):
        if k == skip:
            continue
        dx, dy, dz = cells[k, 0] - eye[0], cells[k, 1] - eye[1], cells[k, 2] - eye[2]
        level = math.sqrt(dx * dx + dz * dz)
        around = abs(wrapped(arctan(dz, dx) + 90.0 - yaw))
        turn = max(around, abs(arctan(dy, level) - pitch))
        price = turn / taste[0] + taste[1] * abs(math.sqrt(level * level + dy * dy) - taste[2])
        least = min(least, price)
        total += price
        count += 1
    if count == 0:
        return 0.0, 0.0
    return least, total / count


@jit
def side_price(yaw: float, counts: Ints, per_step: float, per_cell: float) -> float:
    """The cheapest of: turning to see other sides, at `per_step`, or helping cells, `counts` int [ARCS], `per_cell`."""
    yaw = yaw % 360.0
    best = NOWHERE
    for arc in range(ARCS):
        size = 4 if arc == 12 else arc // 4 + 1
        begin = 0 if arc == 12 else arc % 4
        best = min(best, per_cell * counts[arc] + per_step * turn_to(yaw, begin, size) / 5.0)
    return best


@jit
def turn_to(yaw: float, begin: int, size: int) -> float:
    """Degrees of turning until one has looked into so many quadrants from one on."""
    if size == 1:
        off = abs(wrapped(yaw - 90.0 * begin - 45.0)) - 45.0
        return max(0.0, off)
    best = NOWHERE
    for turn in range(4 if size == 4 else 1):
        low, width = 90.0 * (begin + 1 + turn), 90.0 * (size - 2)
        past = (yaw - low) % 360.0
        way = width + min(past, width - past) if past <= width else width + min(past - width, 360.0 - past)
        best = min(best, way)
    return best


@jit
def keep(price: float, eye: int, yaw: float, pitch: float, prices: Floats, ways: Ints, looks: Floats) -> None:
    """Enter a way into the best of a job, each from another eye: `prices` [KEPT], `ways` [KEPT], `looks` [KEPT, 2]."""
    at = KEPT
    for k in range(KEPT):
        if ways[k] == eye:
            if prices[k] <= price:
                return
            at = k
            break
    if at == KEPT:
        at = KEPT - 1
        if prices[at] <= price:
            return
    prices[at], ways[at], looks[at, 0], looks[at, 1] = price, eye, yaw, pitch
    while at > 0 and prices[at] < prices[at - 1]:
        other = at - 1
        prices[at], prices[other] = prices[other], prices[at]
        ways[at], ways[other] = ways[other], ways[at]
        for a in range(2):
            looks[at, a], looks[other, a] = looks[other, a], looks[at, a]
        at = other


@jit
def out_of_view(eye: Floats, cell: Ints, yaw: float, pitch: float, limit: float) -> bool:
    """Whether no turn of so many degrees can bring the cell into the middle of the view."""
    dx, dy, dz = cell[0] - eye[0], cell[1] - eye[1], cell[2] - eye[2]
    far = math.sqrt(dx * dx + dy * dy + dz * dz)
    if far > REACH + CUBE:
        return True
    if far < 1.2:
        return False
    wide = limit + 75.0 / far + 2.0
    level = math.sqrt(dx * dx + dz * dz)
    if abs(arctan(dy, level) - pitch) > wide:
        return True
    if level < 1.2:
        return False
    return abs(wrapped(arctan(dz, dx) + 90.0 - yaw)) > limit + 75.0 / level + 2.0


@jit
def survey(
    solid: Bools,
    eyes: Floats,
    yaw: float,
    pitch: float,
    limit: float,
    jobs: Ints,
    places: Bools,
    starts: Ints,
    points: Floats,
    through: Floats,
    cells: Ints,
    own: Ints,
    base: Floats,
    counts: Ints,
    taste: Floats,
    prices: Floats,
    ways: Ints,
    looks: Floats,
) -> None:
    """The best ways [j, KEPT] to do each job from one of the eyes [e, 3], turning by `limit` degrees at most.

    starts: int [j + 1], which of the `points` float [p, 3] to aim at are whose. taste: see `links` and `flights.Flair`.
    """
    for e in range(eyes.shape[0]):
        eye = eyes[e]
        for j in range(jobs.shape[0]):
            if out_of_view(eye, jobs[j], yaw, pitch, limit) or (places[j] and in_the_way(eye, jobs[j])):
                continue
            wanted = code(jobs[j])
            found = 0
            for p in range(starts[j], starts[j + 1]):
                dx, dy, dz = points[p, 0] - eye[0], points[p, 1] - eye[1], points[p, 2] - eye[2]
                if (
                    (through[p, 0] != 0 and dx * through[p, 0] < 0.05)
                    or (through[p, 1] != 0 and dy * through[p, 1] < 0.05)
                    or (through[p, 2] != 0 and dz * through[p, 2] < 0.05)
                ):
                    continue
                level = dx * dx + dz * dz
                if level + dy * dy > FAR * FAR:
                    continue
                turn = wrapped(math.atan2(dz, dx) / RADIANS + 90.0 - yaw)
                tilt = math.atan2(dy, math.sqrt(level)) / RADIANS - pitch
                slack = 0.0 if abs(turn) <= limit and abs(tilt) <= limit else 6.0
                if abs(turn) > limit + slack or abs(tilt) > limit + slack:
                    continue
                turn, tilt = max(-limit, min(limit, turn)), max(-limit, min(limit, tilt))
                hit, before = hit_from(solid, eye[0], eye[1], eye[2], yaw + turn, pitch + tilt)
                if (before if places[j] else hit) != wanted or hit < 0:
                    continue
                least, mean = links(eye, yaw + turn, pitch + tilt, cells, own[j], taste)
                price = base[j] + taste[3] * least + taste[4] * mean
                price += side_price(yaw + turn, counts[j], taste[5], taste[6])
                keep(price, e, yaw + turn, pitch + tilt, prices[j], ways[j], looks[j])
                found += 1
                if found == 3:
                    break


@jit
def hidden(solid: Bools, eye: Floats, cells: Ints, missing: Bools, job: Ints) -> int:
    """How many of the missing cells, but the job's, have something solid between them and the eye."""
    count = 0
    for k in range(cells.shape[0]):
        if not missing[k] or (cells[k] == job).all():
            continue
        dx, dy, dz = cells[k, 0] - eye[0], cells[k, 1] - eye[1], cells[k, 2] - eye[2]
        far = math.sqrt(dx * dx + dy * dy + dz * dz)
        steps = min(SAMPLES, int(far * SAMPLES_PER_CELL))
        for n in range(1, steps):
            share = n / (far * SAMPLES_PER_CELL)
            iy, ix = int(np.rint(eye[1] + share * dy)) - LOW_Y, int(np.rint(eye[0] + share * dx)) - LOW_X
            iz = int(np.rint(eye[2] + share * dz)) - LOW_Z
            if 0 <= iy < BOX[0] and 0 <= ix < BOX[1] and 0 <= iz < BOX[2] and solid[iy, ix, iz]:
                count += 1
                break
    return count


@jit
def add_hidden(
    solid: Bools,
    eyes: Floats,
    cells: Ints,
    missing: Bools,
    jobs: Ints,
    price: float,
    prices: Floats,
    ways: Ints,
) -> None:
    """Add the price of what is `hidden` to all ways that were found."""
    for j in range(jobs.shape[0]):
        for k in range(KEPT):
            if prices[j, k] < NOWHERE:
                prices[j, k] += price * hidden(solid, eyes[ways[j, k]], cells, missing, jobs[j])
