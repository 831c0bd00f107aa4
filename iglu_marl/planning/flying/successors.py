"""Successors in the search for short flights: possible next acts with their steps and the remaining work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import BlockGrid, Cell, cells_of, index_of
from iglu_marl.core.kernels.records import CONTROL, FLYING
from iglu_marl.core.kernels.step import step_many
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.flying import kernels
from iglu_marl.planning.flying.controller import act_action, action, camera_towards, keys_along
from iglu_marl.planning.flying.kernels import JobTable, Weights
from iglu_marl.planning.problem import Job, Problem, WorldArray
from iglu_marl.planning.raycast import Floats
from iglu_marl.planning.simulation import has_done, step
from iglu_marl.planning.support import (
    AROUND,
    EDGES,
    SIDES,
    carries,
    scaffold_color,
    scaffold_for,
    shuts_in,
    supported_cells,
    touched_cells,
)

TURN_DEG = 4.999  # largest camera change in one step, less the rounding to float32
MOST_STEPS = 40  # from one act to the next
ENOUGH = 6  # jobs that can be done; slower ones are not searched
FINE_DEG, COARSE_DEG = 20.0, 30.0  # between directions of flight: up to two steps, and beyond
SHUTTING_COST = 8.0
TABLES = 1000  # maximal number in memory

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Node:
    """A prefix of a plan."""

    state: WorldArray  # the world [1] before `tail`, the last act, whose movement is not fixed yet
    after: WorldArray  # the world after it
    steps: int = 0  # number of all actions, with the tail
    body: tuple[Any, ...] = ()  # actions since the parent, with its tail and without the own one
    tail: tuple[Any, ...] = ()  # the last act
    parent: Node | None = None  # the node before

    @property
    def grid(self) -> BlockGrid:
        """The grid after the prefix."""
        return self.after["grid"][0]

    @property
    def pose(self) -> Floats:
        """The pose after the prefix, if the last act does not move."""
        return self.after["pose"][0]

    def actions(self) -> list[Any]:
        """Return all actions from the start."""
        bodies: list[tuple[Any, ...]] = [self.tail]
        node: Node | None = self
        while node is not None:
            bodies.append(node.body)
            node = node.parent
        return [act for body in reversed(bodies) for act in body]


class Offer(NamedTuple):
    """A way to do a job next."""

    price: float
    node: Node
    job: Job
    way: Floats  # a row of `routes`
    look: Floats  # yaw and pitch
    steps: int

    @property
    def grid(self) -> BlockGrid:
        """The grid after the job."""
        grid = self.node.grid.copy()
        grid[index_of(self.job.cell)] = self.job.color
        return grid


@lru_cache(maxsize=64)
def routes(steps: int) -> Floats:
    """Return the routes to try for a number of moving steps, float64 [k, 6].

    Columns: a unit direction on the map (x, z) and its number of steps; a throttle and its number of steps; 1 or -1 for
    a first step along the line of sight.
    """
    around = np.radians(np.arange(0.0, 360.0, FINE_DEG if steps < 3 else COARSE_DEG))
    some = sorted({steps, max(1, steps // 2), max(1, steps - 1)}) if steps else []
    level = [(0.0, 0.0, 0)] + [(math.cos(a), math.sin(a), n) for n in some for a in around]
    lengths = sorted({steps, max(1, steps // 2)}) if steps else []
    upright = [(0.0, 0)] + [(sign, n) for sign in (-1.0, 1.0) for n in lengths]
    upright += [(sign * 0.5, steps) for sign in (-1.0, 1.0)] if 0 < steps < 4 else []
    rows = [(*way, *rise, 0.0) for way in level for rise in upright]
    if 0 < steps < 4:
        rows += [(0.0, 0.0, 0, *rise, along) for rise in upright for along in (-1.0, 1.0)]
    return np.array(rows)


def _moves(yaw_deg: float, ways: Floats, number: int) -> Floats:
    """Return the movements [k, 3] of one step of routes [k, 6], for a gaze along `yaw_deg`."""
    back, right = keys_along(yaw_deg, ways[:, 0], ways[:, 1])
    goes, climbs = number < ways[:, 2], number < ways[:, 4]
    along = -ways[:, 5] if number == 0 else 0.0
    return np.stack([back * goes + along, right * goes, ways[:, 3] * climbs], axis=1)


def _allowed() -> Ints:
    """Return for each neighbour the arcs (bits) into which the builder may look to place against it, int [26]."""
    signs = [(1, -1), (1, 1), (-1, 1), (-1, -1)]  # of x and z of the gaze, by yaw quadrant
    arcs = [{(begin + n) % 4 for n in range(size)} for size in (1, 2, 3) for begin in range(4)] + [
        {0, 1, 2, 3}
    ]
    bits = []
    for dx, _, dz in AROUND:
        fits = {q for q, (sx, sz) in enumerate(signs) if dx * sx >= 0 and dz * sz >= 0}
        bits.append(sum(1 << number for number, arc in enumerate(arcs) if arc & fits))
    return np.array(bits)


def _templates() -> tuple[Ints, Floats]:
    """Return the cells around a cell, int [k, 3], with points of the shared face, edge or corner, [k, 3]."""
    rows = []
    for d in AROUND:
        flat = [a for a in range(3) if d[a] == 0]
        for shift in product((0.0, -0.35, 0.35), repeat=len(flat)):
            point = np.array(d, float) * 0.5
            point[flat] += shift
            rows.append((d, point))
    neighbours, points = (np.array(column) for column in zip(*rows, strict=True))
    return neighbours, points


_AROUND = np.array(AROUND)
_ALLOWED = _allowed()
_NEIGHBOURS, _POINTS = _templates()
_IS_FACE = np.abs(_NEIGHBOURS).sum(axis=1) == 1


def open_jobs(problem: Problem, grid: BlockGrid, inventory: npt.NDArray[np.int16]) -> list[Job]:
    """Return the possible jobs: edits, the removal of unneeded scaffolds, otherwise one more scaffold."""
    desired, filled = problem.desired, grid != 0
    near, touched = supported_cells(filled), touched_cells(filled)
    missing = (desired != 0) & ~filled
    waiting = bool((missing & ~near).any())
    cells: list[Cell] = [(x, y, z) for x, y, z in cells_of(grid != desired).tolist()]
    left = set(cells)
    jobs, removals, held = [], [], False
    for cell in sorted(cells):
        at = index_of(cell)
        color = int(desired[at])
        if missing[at]:
            if touched[at] and inventory[color - 1] > 0:
                jobs.append(Job(cell, color, SHUTTING_COST if shuts_in(filled, cell, left) else 0.0))
                held = held or bool(near[at])
        elif not (waiting and problem.grid[at] == 0) and (color or not carries(filled, desired != 0, cell)):
            removals.append(Job(cell, 0))
    jobs += removals
    color = scaffold_color(grid, desired, inventory) if waiting and not held else 0
    for links in (SIDES, SIDES + EDGES) if color else ():
        scaffold = scaffold_for(grid, desired, inventory, links=links)
        jobs += [Job(scaffold, color)] if scaffold and Job(scaffold, color) not in jobs else []
    return jobs


class Successors:
    """Generate the ways of a flier from one act to the next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._worlds = Worlds(512)
        self._controls = np.zeros(512, CONTROL)
        self._controls["mode"] = FLYING
        self._tables: dict[bytes, tuple[list[Job], JobTable | None]] = {}

    def root(self) -> Node:
        """Return the empty prefix."""
        return Node(self.problem.start, self.problem.start)

    def _table(self, node: Node) -> tuple[list[Job], JobTable | None]:
        key = node.grid.tobytes()
        if key not in self._tables:
            if len(self._tables) >= TABLES:
                self._tables.clear()
            self._tables[key] = self._build_table(node)
        return self._tables[key]

    def _build_table(self, node: Node) -> tuple[list[Job], JobTable | None]:
        grid, desired = node.grid.copy(), self.problem.desired
        cells = cells_of(grid != desired)
        missing = (grid == 0)[index_of(cells.T)]
        jobs = open_jobs(self.problem, grid, node.after["inventory"][0])
        if not jobs:
            return jobs, None
        numbers = {(x, y, z): number for number, (x, y, z) in enumerate(cells.tolist())}
        own = np.array([numbers.get(job.cell, -1) for job in jobs])
        done = np.array([desired[index_of(job.cell)] == job.color for job in jobs])
        at, places = np.array([job.cell for job in jobs]), np.array([job.color != 0 for job in jobs])
        base, counts = np.zeros(len(jobs)), np.zeros((len(jobs), kernels.ARCS), np.int64)
        kernels.price_results(grid, cells, missing, at, own, done, _AROUND, _ALLOWED, base, counts)
        base += [job.penalty for job in jobs]
        return jobs, JobTable(grid, at, places, cells, own, base, counts, *_aims(jobs, grid))

    def offers(self, node: Node, weights: Weights) -> list[Offer]:
        """Return ways to do one of the jobs next."""
        jobs, table = self._table(node)
        found: list[Offer] = []
        last = MOST_STEPS if table else 0
        for steps in range(1, MOST_STEPS):
            if steps > last or len({offer.job for offer in found}) >= ENOUGH:
                break
            new = self._offers_after(node, jobs, table, weights, steps)
            if new:
                last = min(last, steps + 1)
                found += new
        return found

    def _offers_after(
        self, node: Node, jobs: list[Job], table: Any, weights: Weights, steps: int
    ) -> list[Offer]:
        """Return the acts that are possible in the last of `steps` further steps."""
        eyes, ways = self._eyes(node, steps)
        prices, by = np.full(len(jobs), kernels.NOWHERE), np.zeros(len(jobs), np.int64)
        looks = np.zeros((len(jobs), 2))
        yaw, pitch = node.pose[3:].tolist()
        kernels.price_jobs(table, eyes, yaw, pitch, TURN_DEG * steps, weights, prices, by, looks)
        prices += node.steps + steps
        return [
            Offer(float(prices[j]), node, jobs[j], ways[by[j]], looks[j], steps)
            for j in np.flatnonzero(prices < kernels.NOWHERE)
        ]

    def _eyes(self, node: Node, steps: int) -> tuple[Floats, Floats]:
        """Return possible eye positions after further steps, float64 [k, 3], and their `routes`, [k, 6]."""
        moving = steps - 1 + len(node.tail)
        table = routes(moving)
        state, controls = self._worlds.state[: len(table)], self._controls[: len(table)]
        state[:] = node.state[0]
        state["grid"] = node.grid
        state["pose"][:, 3:] = node.pose[3:]
        for number in range(moving):
            controls["move"] = _moves(float(node.pose[3]), table, number)
            step_many(state, controls)
        return state["pose"][:, :3].copy(), table

    def settle(self, offer: Offer) -> Node | None:
        """Simulate an offer: return the node after it, or None if the act fails."""
        node, job, way = offer.node, offer.job, offer.way
        state, body = node.state.copy(), []
        moving = offer.steps - 1 + len(node.tail)
        for number in range(moving):
            # The movement of the last act was open until now.
            tail = node.tail[0] if node.tail and number == 0 else None
            pose = state["pose"][0]
            camera = tail["camera"] if tail else camera_towards(pose, *offer.look)
            move = _moves(float(pose[3]) + float(camera[0]), way[None], number)[0]
            body.append({**(tail or action(move, camera)), "movement": np.array(move, np.float32)})
            step(state, "flying", body[-1])
        camera = camera_towards(state["pose"][0], *offer.look)
        act = act_action((0.0, 0.0, 0.0), camera, job, int(state["active"][0]))
        after = state.copy()
        step(after, "flying", act)
        if not has_done(after, job):
            return None
        return Node(state, after, node.steps + offer.steps, tuple(body), (act,), node)


def _aims(jobs: list[Job], grid: BlockGrid) -> tuple[Ints, Floats, Floats]:
    points, ways, starts = [], [], [0]
    ground = np.zeros((11, 13, 13), bool)  # the zone and a cell around it
    ground[0] = True
    ground[1:10, 1:12, 1:12] = grid != 0
    for job in jobs:
        iy, ix, iz = index_of((_NEIGHBOURS + job.cell).T)
        chosen = ground[iy + 1, ix + 1, iz + 1] if job.color else _IS_FACE
        nudge = np.where(_IS_FACE, 1.04 if job.color else 0.96, 1.0)[chosen, None]
        points.append(_POINTS[chosen] * nudge + job.cell)
        ways.append(_NEIGHBOURS[chosen] * (1.0 if job.color else -1.0))
        starts.append(starts[-1] + int(chosen.sum()))
    return np.array(starts), np.concatenate(points), np.concatenate(ways)
