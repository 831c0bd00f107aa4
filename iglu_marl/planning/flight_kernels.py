"""Compiled parts of the search for short flights: what can be acted on from where, and what would be left to do.

Nothing here decides: every act that is chosen is done again by the rules' own kernel (`core/kernels/`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.core.kernels import records as rules

# A box of cells around all that a ray can reach, so that rays need not ask whether they are in the zone.
LOW_Y, LOW_X, LOW_Z = -12, -17, -17
BOX = (31, 35, 35)
SAMPLES, SAMPLES_PER_CELL, EYE_HEIGHT = rules.RAY_SAMPLES, rules.RAY_SAMPLES_PER_CELL, rules.EYE_HEIGHT
REACH = (SAMPLES - 1) / SAMPLES_PER_CELL
FAR = 7.5  # points to aim at: not at the very end of the reach
CUBE = 0.95  # half a diagonal of a cell, with the air around it that aims touch
KEPT = 3  # ways for each job
ARCS = 13  # sets of neighbouring quadrants of yaw: 4 of one, 4 of two, 4 of three, and all
LEVELS = 5  # more scaffolds than that are not counted
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
    legs = eye[1] - EYE_HEIGHT
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


# --- what is left to do in a grid, and from which sides it can be done ------------------------------------------


@jit
def spread(near: Ints, solid: Bools, cells: int, allowed: Ints, reached: Ints) -> None:
    """Which cells can be placed while looking into which arcs: bits of `reached` int [k], to a fixed point.

    near: int [k, 26], number of the cell at each neighbour, -1 for none. solid: bool [k, 26]. allowed: int [26].
    """
    changed = True
    while changed:
        changed = False
        for k in range(cells):
            have = reached[k]
            for d in range(26):
                if solid[k, d]:
                    have |= allowed[d]
                elif near[k, d] >= 0:
                    have |= reached[near[k, d]] & allowed[d]
            if have != reached[k]:
                reached[k] = have
                changed = True


@jit
def sides(solid: Bools, cells: Ints, missing: Bools, around: Ints, allowed: Ints) -> Ints:
    """For each of some cells: into which arcs (bits) one may look to place it in the end, int [k].

    cells: int [k, 3]; missing: bool [k], the others have all bits; around: int [26, 3].
    """
    k = cells.shape[0]
    place = np.full(BOX, -1, np.int64)
    for i in range(k):
        if missing[i]:
            place[cells[i, 1] - LOW_Y, cells[i, 0] - LOW_X, cells[i, 2] - LOW_Z] = i
    near = np.full((k, 26), -1, np.int64)
    firm = np.zeros((k, 26), np.bool_)
    reached = np.zeros(k, np.int64)
    full = (1 << ARCS) - 1
    for i in range(k):
        if not missing[i]:
            reached[i] = full
            continue
        for d in range(26):
            iy, ix = cells[i, 1] + around[d, 1] - LOW_Y, cells[i, 0] + around[d, 0] - LOW_X
            iz = cells[i, 2] + around[d, 2] - LOW_Z
            firm[i, d] = solid[iy, ix, iz]
            near[i, d] = place[iy, ix, iz]
    spread(near, firm, k, allowed, reached)
    return reached


@jit
def short_cells(solid: Bools, cells: Ints, missing: Bools, around: Ints, allowed: Ints, arc: int) -> Bools:
    """Which cells cannot be placed by looking only into that arc, bool [k]."""
    return (sides(solid, cells, missing, around, allowed) >> arc) & 1 == 0


@jit
def scaffold_levels(solid: Bools, desired: Bools, around: Ints, allowed: Ints, levels: Ints) -> None:
    """By how many scaffolds each cell can be placed, looking only into an arc: bits by number, int [LEVELS, 9, 11, 11].

    Missing cells (`desired`, bool [9, 11, 11]) cost nothing themselves.
    """
    levels[:] = 0
    for level in range(LEVELS):
        mask = levels[level]
        if level:
            mask[:] = levels[level - 1]
        fill_level(solid, desired, around, allowed, levels[level - 1], mask, level > 0)


@jit
def fill_level(
    solid: Bools, desired: Bools, around: Ints, allowed: Ints, lower: Ints, mask: Ints, scaffolds: bool
) -> None:
    """One level: air that touches the level below, then what is missing, to a fixed point."""
    changed = True
    while changed:
        changed = False
        for iy in range(9):
            for ix in range(11):
                for iz in range(11):
                    if not desired[iy, ix, iz] and not scaffolds:
                        continue
                    have = mask[iy, ix, iz]
                    if have == (1 << ARCS) - 1:
                        continue
                    source = mask if desired[iy, ix, iz] else lower
                    for d in range(26):
                        y, x, z = iy + around[d, 1], ix + around[d, 0], iz + around[d, 2]
                        if solid[y - 1 - LOW_Y, x - 5 - LOW_X, z - 5 - LOW_Z]:
                            have |= allowed[d]
                        elif 0 <= y < 9 and 0 <= x < 11 and 0 <= z < 11:
                            have |= source[y, x, z] & allowed[d]
                    if have != mask[iy, ix, iz]:
                        mask[iy, ix, iz] = have
                        changed = True
        scaffolds = False  # a level is one scaffold more


@jit
def scaffolds_each(
    cells: Ints, missing: Bools, levels: Ints, around: Ints, allowed: Ints, each: Ints
) -> None:
    """Into `each` int [k, ARCS]: scaffolds for a cell beyond those for the missing cells around it."""
    own = np.zeros((cells.shape[0], ARCS), np.int64)
    place = np.full((11, 13, 13), -1, np.int64)
    for i in range(cells.shape[0]):
        if missing[i]:
            level_at(levels, cells[i, 1] + 1, cells[i, 0] + 5, cells[i, 2] + 5, own[i])
            place[cells[i, 1] + 2, cells[i, 0] + 6, cells[i, 2] + 6] = i
    each[:] = own
    for i in range(cells.shape[0]):
        for d in range(26 if missing[i] else 0):
            y, x, z = (
                cells[i, 1] + around[d, 1] + 2,
                cells[i, 0] + around[d, 0] + 6,
                cells[i, 2] + around[d, 2] + 6,
            )
            other = place[y, x, z]
            if other < 0:
                continue
            for arc in range(ARCS):
                if own[other, arc] < own[i, arc]:
                    each[i, arc] = min(each[i, arc], own[i, arc] - own[other, arc])
                elif own[other, arc] == own[i, arc] and (allowed[d] >> arc) & 1 and other < i:
                    each[i, arc] = 0


@jit
def level_at(levels: Ints, iy: int, ix: int, iz: int, out: Ints) -> None:
    """The number of scaffolds for a cell, by arc, into int [ARCS]."""
    for arc in range(ARCS):
        out[arc] = LEVELS
        for level in range(LEVELS):
            if (levels[level, iy, ix, iz] >> arc) & 1:
                out[arc] = level
                break


@jit
def short_of(
    solid: Bools, cells: Ints, missing: Bools, around: Ints, allowed: Ints, each: Ints, count: Ints
) -> None:
    """Into `count` int [ARCS]: scaffolds for the missing cells that cannot be placed by looking only into that arc."""
    reached = sides(solid, cells, missing, around, allowed)
    count[:] = 0
    for i in range(cells.shape[0]):
        if reached[i] != (1 << ARCS) - 1:
            for arc in range(ARCS):
                if (reached[i] >> arc) & 1 == 0:
                    count[arc] += each[i, arc]


@jit
def tree_price(cells: Ints, skip: int, extra: Ints, weights: Floats) -> float:
    """Steps for all acts at cells int [k, 3] but `skip`, one after the other: by the shortest tree that joins them.

    extra: one more cell, int [3], or y = 127 for none. weights: a step, a cell of
    distance, how heights count, and from which distance on.
    """
    k = cells.shape[0]
    more = 1 if extra[1] != 127 else 0
    far = np.full(k + 1, NOWHERE)
    todo = np.ones(k + 1, np.bool_)
    if skip >= 0:
        todo[skip] = False
    todo[k] = more == 1
    total, at = 0.0, -1
    for _ in range(k + 1):
        nearest = -1
        for i in range(k + 1):
            if not todo[i]:
                continue
            if at >= 0:
                a = extra if i == k else cells[i]
                b = extra if at == k else cells[at]
                dx, dy, dz = a[0] - b[0], weights[2] * (a[1] - b[1]), a[2] - b[2]
                apart = math.sqrt(dx * dx + dy * dy + dz * dz)
                far[i] = min(far[i], weights[0] + weights[1] * max(0.0, apart - weights[3]))
            if nearest < 0 or far[i] < far[nearest]:
                nearest = i
        if nearest < 0:
            break
        total += far[nearest] if at >= 0 else weights[0]
        todo[nearest] = False
        at = nearest
    return total


@jit
def prospects(
    solid: Bools,
    cells: Ints,
    missing: Bools,
    desired: Bools,
    jobs: Ints,
    own: Ints,
    done: Bools,
    around: Ints,
    allowed: Ints,
    weights: Floats,
    base: Floats,
    counts: Ints,
) -> None:
    """What is left after each job [j]: its price `base` float [j], and `counts` int [j, ARCS] of `short_of`.

    own: int [j], the job's place in `cells` or -1 for a scaffold. done: bool [j], whether the cell is right then.
    desired: bool [9, 11, 11], the missing cells once more.
    """
    nothing = np.full(3, 127, np.int64)
    levels = np.zeros((LEVELS, 9, 11, 11), np.int64)
    now = np.zeros((cells.shape[0], ARCS), np.int64)
    scaffold_levels(solid, desired, around, allowed, levels)
    scaffolds_each(cells, missing, levels, around, allowed, now)
    then = np.zeros_like(now)
    for j in range(jobs.shape[0]):
        x, y, z = jobs[j, 0], jobs[j, 1], jobs[j, 2]
        before = solid[y - LOW_Y, x - LOW_X, z - LOW_Z]
        waits = missing.copy()
        if own[j] >= 0:
            waits[own[j]] = not done[j]  # a block of another colour is gone, and its cell still to be filled
        solid[y - LOW_Y, x - LOW_X, z - LOW_Z] = not before
        base[j] = tree_price(cells, own[j] if done[j] else -1, jobs[j] if own[j] < 0 else nothing, weights)
        if own[j] < 0:
            scaffold_levels(solid, desired, around, allowed, levels)
            scaffolds_each(cells, missing, levels, around, allowed, then)
        short_of(solid, cells, waits, around, allowed, then if own[j] < 0 else now, counts[j])
        solid[y - LOW_Y, x - LOW_X, z - LOW_Z] = before


@jit
def first_scaffolds(
    solid: Bools, desired: Bools, around: Ints, allowed: Ints, arc: int, short: Ints, gains: Floats
) -> None:
    """Where to begin chains of scaffolds to the cells `short` int [k, 3], looking only into an arc.

    Into gains, float [9, 11, 11]: how many of the cells each air cell that can be filled now is the shortest way to.
    """
    levels = np.zeros((LEVELS, 9, 11, 11), np.int64)
    scaffold_levels(solid, desired, around, allowed, levels)
    number = np.zeros((9, 11, 11), np.int64)
    for iy in range(9):
        for ix in range(11):
            for iz in range(11):
                number[iy, ix, iz] = LEVELS
                for level in range(LEVELS - 1, -1, -1):
                    if (levels[level, iy, ix, iz] >> arc) & 1:
                        number[iy, ix, iz] = level
    todo = np.zeros((1089, 3), np.int64)
    for k in range(short.shape[0]):
        seen = np.zeros((9, 11, 11), np.bool_)
        todo[0] = short[k, 1] + 1, short[k, 0] + 5, short[k, 2] + 5
        size = 1 if number[todo[0, 0], todo[0, 1], todo[0, 2]] < LEVELS else 0
        while size:
            size -= 1
            iy, ix, iz = todo[size, 0], todo[size, 1], todo[size, 2]
            need = number[iy, ix, iz] - (0 if desired[iy, ix, iz] else 1)
            firm = False
            for d in range(26):
                y, x, z = iy + around[d, 1], ix + around[d, 0], iz + around[d, 2]
                if (allowed[d] >> arc) & 1 == 0:
                    continue
                if solid[y - 1 - LOW_Y, x - 5 - LOW_X, z - 5 - LOW_Z]:
                    firm = True
                elif 0 <= y < 9 and 0 <= x < 11 and 0 <= z < 11 and need > 0:
                    if number[y, x, z] == need and not seen[y, x, z]:
                        seen[y, x, z] = True
                        todo[size] = y, x, z
                        size += 1
            if firm and need == 0 and not desired[iy, ix, iz]:
                gains[iy, ix, iz] += 1.0
