"""What can be done in a state, and how each of it lies to everything that words may refer to.

A candidate is a cell: an occupied one can be emptied, an empty one beside a block (26 neighbours) or on the ground can
be filled. It is described by its relation to the anchors of speech: neighbours, rows of blocks, the latest actions, the
builder's feet and gaze, the centre and the borders of what is built. All in the builder's frame, and without colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.frames import CELLS
from iglu_marl.core.grid import ZONE_SHAPE, cells_of

Ints = npt.NDArray[np.int64]
PLACES = cells_of(np.ones(ZONE_SHAPE))  # int [1089, 3]: x, y, z
_PAD = 4
_SHAPE = tuple(size + 2 * _PAD for size in ZONE_SHAPE)
_STRIDES = np.array([_SHAPE[1] * _SHAPE[2], _SHAPE[2], 1])
_PADDED = ((PLACES[:, [1, 0, 2]] + [1, 5, 5] + _PAD) @ _STRIDES).astype(np.int64)  # by cell


def _steps(offsets: Iterable[tuple[int, ...]]) -> Ints:
    return np.array(list(offsets)) @ _STRIDES


_FACES = _steps(
    [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
)  # below, above, left, ...
_CORNERS = _steps([step for step in product((-1, 0, 1), repeat=3) if np.abs(step).sum() > 1])
_ALL = np.concatenate([_FACES, _CORNERS])
OUT, EMPTY, OLD, LATEST, NOW = range(
    5
)  # what a cell is: of the blocks, those of the sequence before and of this one
_FAR = 6  # cells: anchors that are further are told apart no more
_SPAN = 2 * _FAR + 1


class Candidates(NamedTuple):
    """Candidates of n states, C at most; occupied cells come first, those changed last before others.

    cells: int64 [n, C]. valid, filled: bool [n, C]. features: uint8 [FEATURES, n, C], zeros and ones. around: float32
    [n, C, 2, 7], how many blocks of each colour there are in the cell or below it, and at its six faces.
    """

    cells: Ints
    valid: npt.NDArray[np.bool_]
    filled: npt.NDArray[np.bool_]
    features: npt.NDArray[np.uint8]
    around: npt.NDArray[np.float32]


class States(NamedTuple):
    """n states in their frames.

    grid, since, kind, done: int64 [n, 1089]. latest: bool [n, 1089]. trail: int64 [n, 4], the cells of the last action,
    the one before, the first of this sequence, and the last before it, -1 where there is none. progress: int64 [n].
    pose: float32 [n, 5].
    """

    grid: Ints
    since: Ints
    kind: Ints
    done: Ints
    latest: npt.NDArray[np.bool_]
    trail: Ints
    progress: Ints
    pose: npt.NDArray[np.float32]


def _padded(values: npt.NDArray[Any], outside: int) -> npt.NDArray[Any]:
    """Values by cell [n, 1089] with a border, flat."""
    wide = np.full((len(values), int(np.prod(_SHAPE))), outside, values.dtype)
    wide[:, _PADDED] = values
    return wide


def candidates(states: States, kept: npt.NDArray[np.bool_] | None = None) -> Candidates:
    """The candidates of states, described. kept: bool [n, 1089], the empty cells that may be there; default all."""
    grid = states.grid
    n = len(grid)
    status = np.where(grid == 0, EMPTY, OLD)
    status[states.latest & (grid > 0)] = LATEST
    status[(states.done > 0) & (grid > 0)] = NOW
    wide = _padded(status, OUT)
    filled = grid > 0
    near = (wide[:, _PADDED[:, None] + _ALL] > EMPTY).any(2)
    possible = near | (PLACES[:, 1] == -1)
    possible = filled | (possible if kept is None else possible & kept)
    # occupied ones first, the latest before others; then the empty ones
    order = np.where(filled, states.since, 1000) + np.where(possible, 0, 10000)
    count = int(possible.sum(1).max())
    cells = np.argsort(order, 1, kind="stable")[:, :count]
    rows = np.arange(n)[:, None]
    valid = possible[rows, cells]
    own = filled[rows, cells] & valid
    flat = np.zeros(FEATURES * n * count, np.uint8)  # each feature in one piece: quick to fill
    each, start = np.arange(n * count), 0
    for number, size in _described(states, wide, cells, own):
        flat[(start + number.reshape(-1)) * (n * count) + each] = 1
        start += size
    features = flat.reshape(FEATURES, n, count)
    return Candidates(cells, valid, own, features, _around(grid, cells, own))


def _around(grid: Ints, cells: Ints, own: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    rows = np.arange(len(grid))[:, None]
    wide, place = _padded(grid, 0), _PADDED[cells]
    colors = np.eye(7, dtype=np.float32)
    colors[0] = 0
    within = np.where(own, wide[rows, place], wide[rows, place + _FACES[0]])
    faces = sum(colors[wide[rows, place + step]] for step in _FACES)
    return np.stack([colors[within], faces], 2)


def _described(states: States, wide: Ints, cells: Ints, own: npt.NDArray[np.bool_]) -> list[tuple[Ints, int]]:
    """What is known of candidates: each a number [n, C], and how many different ones there are of it."""
    rows = np.arange(len(cells))[:, None]
    place = _PADDED[cells]
    at = PLACES[cells]
    x, y, z = at[..., 0], at[..., 1], at[..., 2]
    parts: list[tuple[Ints, int]] = []

    def add(number: Ints, size: int) -> None:
        parts.append((number, size))

    add(own.astype(np.int64), 2)
    add(y + 1, 9)
    around = wide[rows[..., None], place[..., None] + _ALL]
    for face in range(6):
        add(around[..., face], 5)
    for corner in range(6, 26):
        add(np.maximum(around[..., corner] - 1, 0), 4)
    add((around[..., :6] > EMPTY).sum(2), 7)
    for step in _FACES:
        run = np.cumprod(
            wide[rows[..., None], place[..., None] + step * np.arange(1, _PAD + 1)] > EMPTY, 2
        ).sum(2)
        add(run, 5)
    since, kind = states.since[rows, cells], states.kind[rows, cells]
    age = np.digitize(since, (1, 2, 4, 8, 16, 32, 99))
    add(np.where(kind > 0, age, np.where(kind < 0, 8 + age, 7)), 16)
    add(wide[rows, place], 5)
    for number, anchor in enumerate(states.trail.T):
        known = (anchor >= 0)[:, None]
        away = at - PLACES[anchor][:, None]
        for axis in range(3):
            add(np.where(known, np.clip(away[..., axis], -_FAR, _FAR) + _FAR + 1, 0), _SPAN + 1)
        if number < 1:
            close = known & (np.abs(away).max(2) <= 2)
            add(np.where(close, 1 + (away + 2) @ [25, 5, 1], 0), 126)
    last, second, first, _ = states.trail.T
    two = ((last >= 0) & (second >= 0))[:, None]
    step = PLACES[last] - PLACES[second]
    further = (at == (PLACES[last] + step)[:, None]).all(2)
    backward = (at == (PLACES[first] - np.sign(step))[:, None]).all(2) & (first >= 0)[:, None]
    between = (2 * at == (PLACES[last] + PLACES[second])[:, None]).all(2)
    add(np.where(two, further + 2 * backward + 4 * between, 0), 8)
    _outlook(add, at, states.pose)
    _borders(add, at, states.grid > 0)
    _borders(add, at, states.latest & (states.grid > 0))
    _borders(add, at, states.done > 0)
    add(np.where(x == 0, 0, 1) + np.where(z == 0, 0, 2), 4)
    add(x + 5, 11)
    add(z + 5, 11)
    return parts


def _outlook(add: Any, at: Ints, pose: npt.NDArray[np.float32]) -> None:
    """Where candidates lie to the builder's eye, feet, and gaze."""
    eye = pose[:, None, :3]
    away = at - eye
    distance = np.maximum(np.linalg.norm(away, axis=2), 0.5)
    yaw, pitch = np.deg2rad(pose[:, 3]), np.deg2rad(pose[:, 4])
    gaze = np.stack([np.sin(yaw) * np.cos(pitch), np.sin(pitch), -np.cos(yaw) * np.cos(pitch)], 1)
    along = (away * gaze[:, None]).sum(2)
    off = np.sqrt(np.maximum(distance**2 - along**2, 0))
    add(np.digitize(np.where(along > 0, off, 99), (0.5, 1, 1.5, 2, 3, 4, 6)), 8)
    add(np.digitize(distance, (1.5, 2.5, 3.5, 4.5, 5.5, 7, 9)), 8)
    # where the gaze meets the ground, not further than the zone's border
    reach = np.clip(
        np.where(gaze[:, 1] < -0.05, -(pose[:, 1] + 1) / np.minimum(gaze[:, 1], -0.05), 20), 0, 20
    )
    hit = np.clip(pose[:, [0, 2]] + reach[:, None] * gaze[:, [0, 2]], -6, 6)
    for axis, side in enumerate((0, 2)):
        for point in (hit[:, None, axis], eye[..., side]):
            far = np.rint(at[..., side] - point).astype(np.int64)
            add(np.clip(far, -_FAR, _FAR) + _FAR, _SPAN)


def _borders(add: Any, at: Ints, blocks: npt.NDArray[np.bool_]) -> None:
    """Where candidates lie to the box around blocks, along each axis: before it, at its border, inside, beyond."""
    some = blocks.sum(1)[:, None] > 0
    for axis in range(3):
        values = PLACES[:, axis]
        low = np.where(blocks, values, 99).min(1)[:, None]
        high = np.where(blocks, values, -99).max(1)[:, None]
        value = at[..., axis]
        where = np.select(
            [value < low - 1, value == low - 1, (value == low) & (low == high), value == low, value == high,
             value == high + 1, value > high + 1], [1, 2, 3, 4, 5, 6, 7], 8,
        )  # fmt: skip
        add(np.where(some, where, 0), 9)


def _count_features() -> int:
    """The number of columns."""
    nothing = np.zeros((1, CELLS), np.int64)
    states = States(
        nothing, nothing + 99, nothing, nothing, nothing > 0, np.full((1, 4), -1), np.zeros(1, np.int64),
        np.zeros((1, 5), np.float32),
    )  # fmt: skip
    cells = np.zeros((1, 1), np.int64)
    return sum(size for _, size in _described(states, _padded(nothing + EMPTY, OUT), cells, cells > 0))


FEATURES = _count_features()
