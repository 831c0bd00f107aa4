"""Building from one place: a beam search over what can be placed and broken by turning the head only."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.grid import Cell
from iglu_marl.core.kernels import records as rules
from iglu_marl.planning import crane_kernels as kernels
from iglu_marl.planning.sight import Floats, bearing, blocked_by_body, gaze

Ints = npt.NDArray[np.int64]
Flat = npt.NDArray[np.int8]  # [1089] or [n, 1089]: cells by y, x, z
Mask = npt.NDArray[np.bool_]

CELLS = 9 * 11 * 11
CENTRES = np.argwhere(np.ones((9, 11, 11)))[:, [1, 0, 2]] - (5, 1, 5)  # x, y, z of the flat cells
SURVEYED = 3  # times the width: beginnings looked at more closely in every round
ALIKE = 2  # kept of those that lead to the same grid
KIDS = 64  # room for each beginning
_MARKS = np.random.Generator(np.random.PCG64(1)).integers(1, 2**62, (7, CELLS))
_MARKS[0] = 0


class Weights(NamedTuple):
    """What is still ahead, in actions: for a camera step between cells, a cell out of sight, a scaffold."""

    turn: float = 0.7
    hidden: float = 15.0
    scaffold: float = 3.0


class CameraAct(NamedTuple):
    """Place a colour, or break (0), along an aim: so many camera steps (yaw, pitch) from where it all began."""

    cell: Cell
    color: int
    yaw: int
    pitch: int


class Result(NamedTuple):
    """What to do, how many actions that takes, and how many asked changes it leaves to others."""

    acts: list[CameraAct]
    cost: float
    left: int


@dataclass
class Order:
    """What is to be built: int8 [9, 11, 11], cells that scaffolds may fill for a time, cells to be left as they are."""

    want: Flat
    loose: Mask
    keep: Mask

    def __post_init__(self) -> None:
        self.want = np.ascontiguousarray(self.want.ravel())
        self.loose = np.ascontiguousarray(self.loose.ravel())
        self.keep = np.ascontiguousarray(self.keep.ravel())

    def left(self, grids: Flat) -> Ints:
        """How many asked changes grids [n, 1089] lack."""
        lacking: Ints = ((grids != self.want) & ~self.keep & ~self.loose).sum(axis=1)
        return lacking


@dataclass
class _Beginnings:
    """n ways to begin. now: yaw step, pitch step, active colour. price, aims, seen: see `crane_kernels.survey`."""

    grids: Flat
    held: npt.NDArray[np.int16]
    now: Ints
    spent: Floats
    marks: Ints
    left: Ints = field(init=False)
    price: Floats = field(init=False)
    aims: Ints = field(init=False)
    seen: Mask = field(init=False)

    def best(self, kids: Ints, total: Floats, count: int) -> Ints:
        """The most promising kids; of those that lead to the same grid only a few."""
        node, cell, color = kids[:, 0], kids[:, 1], kids[:, 2]
        marks = self.marks[node] ^ _MARKS[self.grids[node, cell], cell] ^ _MARKS[color, cell]
        known: Counter[int] = Counter()
        chosen = []
        for kid in np.argsort(total, kind="stable"):
            mark = int(marks[kid])
            known[mark] += 1
            if known[mark] <= ALIKE:
                chosen.append(int(kid))
                if len(chosen) == count:
                    break
        return np.array(chosen)

    def grow(self, kids: Ints, rows: int) -> _Beginnings:
        """The beginnings with one act more."""
        node, cell, color, aim = kids.T
        index = np.arange(len(kids))
        grids, held, now = self.grids[node], self.held[node], self.now[node]
        before = grids[index, cell].astype(int)
        marks = self.marks[node] ^ _MARKS[before, cell] ^ _MARKS[color, cell]
        grids[index, cell] = color
        placed = color != 0
        held[index[placed], color[placed] - 1] -= 1
        held[index[~placed], before[~placed] - 1] += 1
        now[:, 0], now[:, 1] = aim // rows, aim % rows
        now[placed, 2] = color[placed]
        return _Beginnings(grids, held, now, self.spent[node] + self.price[node, cell], marks)

    def take(self, rows: Ints) -> _Beginnings:
        """Some of them."""
        some = _Beginnings(
            self.grids[rows], self.held[rows], self.now[rows], self.spent[rows], self.marks[rows]
        )
        some.left, some.price = self.left[rows], self.price[rows]
        some.aims, some.seen = self.aims[rows], self.seen[rows]
        return some


class Crane:
    """All that can be seen from one eye with camera steps from one gaze; pose float64 [5]."""

    def __init__(self, pose: Floats) -> None:
        eye, yaw, pitch = pose[:3], float(pose[3]), float(pose[4])
        low = math.ceil((-90.0 - pitch) / CAMERA_STEP_DEG - 1e-9)
        high = math.floor((90.0 - pitch) / CAMERA_STEP_DEG + 1e-9)
        self.level, self.rows = -low, high - low + 1
        yaws = yaw + CAMERA_STEP_DEG * np.arange(kernels.YAWS)
        pitches = pitch + CAMERA_STEP_DEG * np.arange(low, high + 1)
        ways = gaze(np.repeat(yaws, self.rows), np.tile(pitches, kernels.YAWS))
        self._rays = np.empty((len(ways), rules.RAY_SAMPLES + 1), np.int16)
        sampling = rules.RAY_SAMPLES, rules.RAY_SAMPLES_PER_CELL
        ground = rules.GROUND_Y, rules.GROUND_RADIUS
        kernels.sample_cells(np.array(eye), ways, *sampling, *ground, self._rays)
        looks = bearing(CENTRES - eye)
        self._yaws = np.rint((looks[:, 0] - yaw) / CAMERA_STEP_DEG).astype(np.int64) % kernels.YAWS
        self._pitches = np.rint((looks[:, 1] - pitch) / CAMERA_STEP_DEG).astype(np.int64) + self.level
        self._blocked = blocked_by_body(np.tile(pose, (CELLS, 1)), CENTRES)
        self._scratch = (
            np.zeros(CELLS, np.int64), np.zeros(CELLS, np.int64), np.zeros(CELLS), np.zeros(CELLS, bool)
        )  # fmt: skip

    def search(
        self,
        grid: Flat,
        inventory: npt.NDArray[np.int16],
        active: int,
        order: Order,
        width: int,
        weights: Weights,
    ) -> Result:
        """The best that can be done from here; grid int8 [9, 11, 11], inventory int16 [6]."""
        flat = grid.reshape(1, -1).copy()
        beam = _Beginnings(
            flat,
            inventory[None].copy(),
            np.array([[0, self.level, active]]),
            np.zeros(1),
            np.zeros(1, np.int64),
        )
        self._survey(beam, order)
        fixed = (order.want, order.loose, order.keep), (self._yaws, self._pitches)
        kids, value = np.zeros((KIDS * SURVEYED * width, 4), np.int64), np.zeros(KIDS * SURVEYED * width)
        trace: list[Ints] = []
        best, end = (math.inf, 0.0, 0), (0, 0)
        while True:
            count = kernels.kids_of(
                beam.grids, beam.now, beam.price, beam.aims, beam.seen, *fixed, self.rows, weights, self._scratch,
                kids, value,
            )  # fmt: skip
            for at in np.setdiff1d(np.arange(len(beam.grids)), kids[:count, 0]):
                spent, left = float(beam.spent[at]), int(beam.left[at])
                outcome = spent + weights.hidden * left, spent, left
                if outcome < best:
                    best, end = outcome, (len(trace), int(at))
            if not count:
                return Result(self._acts(trace, *end), best[1], best[2])
            total = value[:count] + beam.spent[kids[:count, 0]]
            some = kids[beam.best(kids[:count], total, SURVEYED * width)]
            new = beam.grow(some, self.rows)
            self._survey(new, order)
            ahead = np.zeros(len(some))
            kernels.outlooks(new.grids, new.now, new.seen, *fixed, weights, self._scratch, ahead)
            kept = np.argsort(new.spent + ahead, kind="stable")[:width]
            trace.append(some[kept])
            beam = new.take(kept)

    def _survey(self, beam: _Beginnings, order: Order) -> None:
        shape = beam.grids.shape
        beam.left = order.left(beam.grids)
        beam.price, beam.aims, beam.seen = np.empty(shape), np.zeros(shape, np.int64), np.empty(shape, bool)
        kernels.survey_all(
            beam.grids, beam.held, beam.now, beam.left, order.want, order.loose, order.keep, self._rays,
            self._blocked, self.rows, beam.price, beam.aims, beam.seen,
        )  # fmt: skip

    def _acts(self, trace: list[Ints], end: int, at: int) -> list[CameraAct]:
        acts = []
        for kids in reversed(trace[:end]):
            parent, cell, color, aim = (int(v) for v in kids[at])
            x, y, z = (int(v) for v in CENTRES[cell])
            acts.append(CameraAct((x, y, z), color, aim // self.rows, aim % self.rows - self.level))
            at = parent
        return acts[::-1]
