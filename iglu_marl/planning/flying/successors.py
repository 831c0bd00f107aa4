"""Short flights, step by step: what can be acted on next, after how many steps, and what would be left then."""

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
from iglu_marl.planning.flying.controller import acting, action, camera_towards, keys_along
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

TURN_DEG = 4.999  # largest camera change in one step, less what rounding to float32 might add
MOST_STEPS = 40  # from one act to the next
ENOUGH = 6  # cells that can be acted on: no need to look for what takes longer
FINE_DEG, COARSE_DEG = 20.0, 30.0  # between directions to go: when it is only a step or two, else
SHUTTING_COST = 8.0
TABLES = 1000  # remembered at a time

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Node:
    """A way to begin the plan.

    state: the world [1] before the `tail`, the last act, whose motion is not settled yet; after: the world after it.
    steps: of all actions, the tail's too. body: the actions since the parent, its tail included, without the own.
    """

    state: WorldArray
    after: WorldArray
    steps: int = 0
    body: tuple[Any, ...] = ()
    tail: tuple[Any, ...] = ()
    parent: Node | None = None

    @property
    def grid(self) -> BlockGrid:
        """What stands then."""
        return self.after["grid"][0]

    @property
    def pose(self) -> Floats:
        """Where the builder is then, if the last act's step does not move it."""
        return self.after["pose"][0]

    def actions(self) -> list[Any]:
        """All actions from the start."""
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
        """The grid that it leads to."""
        grid = self.node.grid.copy()
        grid[index_of(self.job.cell)] = self.job.color
        return grid


@lru_cache(maxsize=64)
def routes(steps: int) -> Floats:
    """What to try when there are so many steps to move, float64 [k, 6].

    Columns: a unit direction in the map (x, z), for how many steps; a throttle, for how many steps; and whether to go
    along the line of sight in the first step instead, 1 or -1.
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
    """The movements [k, 3] of one step of routes [k, 6], for one who looks along `yaw_deg`."""
    back, right = keys_along(yaw_deg, ways[:, 0], ways[:, 1])
    goes, climbs = number < ways[:, 2], number < ways[:, 4]
    along = -ways[:, 5] if number == 0 else 0.0
    return np.stack([back * goes + along, right * goes, ways[:, 3] * climbs], axis=1)


def _allowed() -> Ints:
    """For each neighbour: into which arcs (bits) one may look to place a block against it, int [26]."""
    signs = [(1, -1), (1, 1), (-1, 1), (-1, -1)]  # of x and z, looking into each quadrant of yaw
    arcs = [{(begin + n) % 4 for n in range(size)} for size in (1, 2, 3) for begin in range(4)] + [
        {0, 1, 2, 3}
    ]
    bits = []
    for dx, _, dz in AROUND:
        fits = {q for q, (sx, sz) in enumerate(signs) if dx * sx >= 0 and dz * sz >= 0}
        bits.append(sum(1 << number for number, arc in enumerate(arcs) if arc & fits))
    return np.array(bits)


def _templates() -> tuple[Ints, Floats]:
    """The cells around a cell, int [k, 3], with a point of the face, edge or corner in between, [k, 3]."""
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
    """What can be done now: edits, the removal of scaffolds that have served, else one more scaffold."""
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
    """Ways of a flier from one act to the next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._worlds = Worlds(512)
        self._controls = np.zeros(512, CONTROL)
        self._controls["mode"] = FLYING
        self._tables: dict[bytes, tuple[list[Job], JobTable | None]] = {}

    def root(self) -> Node:
        """The empty beginning."""
        return Node(self.problem.start, self.problem.start)

    # -- what there is to do

    def _table(self, node: Node) -> tuple[list[Job], JobTable | None]:
        """Jobs, and what is left after each; kept for each grid."""
        key = node.grid.tobytes()
        if key not in self._tables:
            if len(self._tables) >= TABLES:
                self._tables.clear()
            self._tables[key] = self._look_over(node)
        return self._tables[key]

    def _look_over(self, node: Node) -> tuple[list[Job], JobTable | None]:
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
        kernels.prospects(grid, cells, missing, at, own, done, _AROUND, _ALLOWED, base, counts)
        base += [job.penalty for job in jobs]
        return jobs, JobTable(grid, at, places, cells, own, base, counts, *_aims(jobs, grid))

    # -- ways

    def offers(self, node: Node, weights: Weights) -> list[Offer]:
        """Ways to do one of the jobs next."""
        jobs, table = self._table(node)
        found: list[Offer] = []
        last = MOST_STEPS if table else 0
        for steps in range(1, MOST_STEPS):
            if steps > last or len({offer.job for offer in found}) >= ENOUGH:
                break
            new = self._after(node, jobs, table, weights, steps)
            if new:
                last = min(last, steps + 1)
                found += new
        return found

    def _after(self, node: Node, jobs: list[Job], table: Any, weights: Weights, steps: int) -> list[Offer]:
        """Acts at the end of so many steps more."""
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

    # -- motion

    def _eyes(self, node: Node, steps: int) -> tuple[Floats, Floats]:
        """Where the eye can be so many steps later, float64 [k, 3], by which of `routes`, [k, 6]."""
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
        """The node after this act, or None when it does not come out so."""
        node, job, way = offer.node, offer.job, offer.way
        state, body = node.state.copy(), []
        moving = offer.steps - 1 + len(node.tail)
        for number in range(moving):
            # The last act's step has not moved yet: now it is known where to.
            tail = node.tail[0] if node.tail and number == 0 else None
            pose = state["pose"][0]
            camera = tail["camera"] if tail else camera_towards(pose, *offer.look)
            move = _moves(float(pose[3]) + float(camera[0]), way[None], number)[0]
            body.append({**(tail or action(move, camera)), "movement": np.array(move, np.float32)})
            step(state, "flying", body[-1])
        camera = camera_towards(state["pose"][0], *offer.look)
        act = acting((0.0, 0.0, 0.0), camera, job, int(state["active"][0]))
        after = state.copy()
        step(after, "flying", act)
        if not has_done(after, job):
            return None
        return Node(state, after, node.steps + offer.steps, tuple(body), (act,), node)


def _aims(jobs: list[Job], grid: BlockGrid) -> tuple[Ints, Floats, Floats]:
    """Of a `JobTable`: starts, points and through."""
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
