"""Compiled: what is left to do in a grid, and from which sides it can be done. For `planning/flights.py`."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from iglu_marl.core.jit import jit
from iglu_marl.planning.flight_kernels import ARCS, BOX, LOW_X, LOW_Y, LOW_Z, NOWHERE

LEVELS = 5  # more scaffolds than that are not counted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


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
