"""Flying short: from one act to the next in as few steps as can be, moving, turning and acting at once."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.step import step_at, step_many
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning import flight_kernels as kernels
from iglu_marl.planning.beam import Grid, Node, open_jobs
from iglu_marl.planning.sight import Floats, turn_deg
from iglu_marl.planning.site import Job
from iglu_marl.planning.support import scaffold_color

CAMERA_DEG = 4.999  # largest camera change in one step, less what rounding to float32 might add
MAX_STEPS = 40  # from one act to the next
ENOUGH = 6  # cells that can be acted on: no need to look for what takes longer
FINE_DEG = 20.0  # between directions to go, when it is only a step or two
HELPERS = 6
VIEWS = 1000  # remembered at a time
HELPER_COST = 0.5
WEIGHTS = np.array([1.15, 0.5, 1.3, 1.5])  # see `kernels.tree_price`

Ints = npt.NDArray[np.int64]


class Flair(NamedTuple):
    """What makes a beginning promising, in steps: which one is right depends on the structure, so several are tried."""

    turn_rate: float = 12.0  # degrees of turning that count a step, on the way to a cell
    range_cost: float = 0.25  # for a cell of distance more or less than the best
    best_range: float = 3.5
    least: float = 1.0  # for the way to the nearest cell
    mean: float = 0.2  # for the way to all cells, on average
    side: float = 0.5  # for a step of turning until the other sides are seen
    short: float = 2.2  # for a cell that is helped by a scaffold instead
    hidden: float = 0.5  # for a missing cell that cannot be seen from here
    since: float = 0.0  # the share of the best plan so far that is kept


class View(NamedTuple):
    """What there is to do in one grid."""

    jobs: list[Job]
    at: Ints  # [j, 3]
    places: npt.NDArray[np.bool_]  # [j]
    solid: npt.NDArray[np.bool_]  # kernels.BOX
    cells: Ints  # [k, 3], that are not as they shall be
    missing: npt.NDArray[np.bool_]  # [k]
    own: Ints  # [j], which of the cells, or -1
    base: Floats  # [j], what is left then
    counts: Ints  # [j, kernels.ARCS]
    starts: Ints  # [j + 1]
    points: Floats  # [p, 3]
    through: Floats  # [p, 3]


class Offer(NamedTuple):
    """A way to do a job next."""

    price: float
    node: Node
    job: Job
    way: Floats  # a row of `routes`
    look: Floats  # yaw and pitch
    steps: int


@lru_cache(maxsize=64)
def routes(steps: int) -> Floats:
    """What to try when there are so many steps to move, float64 [k, 6].

    Columns: a unit direction in the map (x, z), for how many steps; a throttle, for how many steps; and whether to go
    along the line of sight in the first step instead, 1 or -1.
    """
    around = np.radians(np.arange(0.0, 360.0, FINE_DEG if steps < 3 else 30.0))
    some = sorted({steps, max(1, steps // 2), max(1, steps - 1)}) if steps else []
    level = [(0.0, 0.0, 0)] + [(math.cos(a), math.sin(a), n) for n in some for a in around]
    lengths = sorted({steps, max(1, steps // 2)}) if steps else []
    upright = [(0.0, 0)] + [(sign, n) for sign in (-1.0, 1.0) for n in lengths]
    upright += [(sign * 0.5, steps) for sign in (-1.0, 1.0)] if 0 < steps < 4 else []
    rows = [(*way, *rise, 0.0) for way in level for rise in upright]
    if 0 < steps < 4:
        rows += [(0.0, 0.0, 0, *rise, along) for rise in upright for along in (-1.0, 1.0)]
    return np.array(rows)


def _templates() -> tuple[Ints, Floats]:
    """The cells around a cell, int [k, 3], with a point of the face, edge or corner in between, [k, 3]."""
    rows = []
    for d in product((-1, 0, 1), repeat=3):
        if not any(d):
            continue
        flat = [a for a in range(3) if d[a] == 0]
        for shift in product((0.0, -0.35, 0.35), repeat=len(flat)):
            point = np.array(d, float) * 0.5
            point[flat] += shift
            rows.append((d, point))
    neighbours, points = (np.array(column) for column in zip(*rows, strict=True))
    return neighbours, points


def _allowed() -> Ints:
    """For each neighbour: into which arcs (bits) one may look to place a block against it, int [26]."""
    signs = [(1, -1), (1, 1), (-1, 1), (-1, -1)]  # of x and z, looking into each quadrant of yaw
    arcs = [{(begin + n) % 4 for n in range(size)} for size in (1, 2, 3) for begin in range(4)] + [
        {0, 1, 2, 3}
    ]
    bits = []
    for dx, _, dz in AROUND.tolist():
        fits = {q for q, (sx, sz) in enumerate(signs) if dx * sx >= 0 and dz * sz >= 0}
        bits.append(sum(1 << number for number, arc in enumerate(arcs) if arc & fits))
    return np.array(bits)


AROUND = np.array([d for d in product((-1, 0, 1), repeat=3) if any(d)])
_ALLOWED = _allowed()
_NEIGHBOURS, _POINTS = _templates()
_IS_FACE = np.abs(_NEIGHBOURS).sum(axis=1) == 1
_GROUND = np.zeros(kernels.BOX, bool)
_GROUND[rules.GROUND_Y - kernels.LOW_Y] = True
_ZONE = tuple(
    slice(low - at, low - at + size)
    for low, at, size in ((-1, kernels.LOW_Y, 9), (-5, kernels.LOW_X, 11), (-5, kernels.LOW_Z, 11))
)


class Flights:
    """Ways of a flier from one act to the next."""

    def __init__(self, desired: Grid, start: Grid) -> None:
        self._desired, self._start = desired, start
        self._controls = Controls("flying")
        self._worlds = Worlds(512)
        self._still = np.zeros(512, rules.CONTROL)
        self._still["mode"] = rules.FLYING
        self._views: dict[tuple[bytes, int], View | None] = {}

    def root(self, world: Worlds) -> Node:
        """The empty beginning."""
        state = world.state[:1].copy()
        return _node(state, state)

    # -- what there is to do

    def _view(self, node: Node) -> View | None:
        """Jobs, and what is left after each; kept for each grid and quadrant of yaw."""
        quadrant = int(float(node.pose[3]) % 360.0 // 90.0)
        key = node.grid.tobytes(), quadrant
        if key not in self._views:
            if len(self._views) >= VIEWS:
                self._views.clear()
            self._views[key] = self._look_over(node, quadrant)
        return self._views[key]

    def _look_over(self, node: Node, quadrant: int) -> View | None:
        grid, desired = node.grid, self._desired
        solid = _GROUND.copy()
        solid[_ZONE] |= grid != 0
        cells = np.argwhere(grid != desired)[:, [1, 0, 2]] - (5, 1, 5)
        at = tuple((cells[:, [1, 0, 2]] + (1, 5, 5)).T)
        missing = (grid[at] == 0) & (desired[at] != 0)
        jobs = open_jobs(grid, desired, self._start, node.inventory)
        absent = (desired != 0) & (grid == 0)
        jobs = jobs + self._helpers(node, quadrant, solid, cells, missing, absent)
        if not jobs:
            return None
        numbers = {tuple(cell): number for number, cell in enumerate(cells.tolist())}
        own = np.array([numbers.get(job.cell, -1) for job in jobs])
        wanted = np.array([desired[j.cell[1] + 1, j.cell[0] + 5, j.cell[2] + 5] == j.color for j in jobs])
        places = np.array([job.color != 0 for job in jobs])
        where = np.array([job.cell for job in jobs])
        base, counts = np.zeros(len(jobs)), np.zeros((len(jobs), kernels.ARCS), np.int64)
        kernels.prospects(
            solid, cells, missing, absent, where, own, wanted, AROUND, _ALLOWED, WEIGHTS, base, counts
        )
        base += [job.penalty for job in jobs]
        return View(jobs, where, places, solid, cells, missing, own, base, counts, *_aims(jobs, solid))

    def _helpers(
        self, node: Node, quadrant: int, solid: kernels.Bools, cells: Ints, missing: Any, absent: Any
    ) -> list[Job]:
        """Scaffolds that, from this side, lead to blocks which can otherwise be placed after a turn only."""
        color = scaffold_color(node.grid, self._desired, node.inventory, node.active)
        if not color or not missing.any():
            return []
        short = kernels.short_cells(solid, cells, missing, AROUND, _ALLOWED, quadrant)
        gains = np.zeros((9, 11, 11))
        kernels.first_scaffolds(solid, absent, AROUND, _ALLOWED, quadrant, cells[short], gains)
        best = sorted((-gains[y, x, z], (x - 5, y - 1, z - 5)) for y, x, z in np.argwhere(gains).tolist())
        return [Job(cell, color, HELPER_COST) for _, cell in best[:HELPERS]]

    # -- ways

    def offers(self, node: Node, flair: Flair) -> list[Offer]:
        """Ways to do one of the jobs next."""
        view = self._view(node)
        found: list[Offer] = []
        cells: set[int] = set()
        late = MAX_STEPS
        for steps in range(1, MAX_STEPS if view else 0):
            if steps > late + 1 or len(cells) >= ENOUGH:
                break
            new = self._after(node, view, flair, steps)
            if new:
                late = min(late, steps)
                found += [offer for _, offer in new]
                cells.update(job for job, _ in new)
        return found

    def _after(self, node: Node, view: Any, flair: Flair, steps: int) -> list[tuple[int, Offer]]:
        """Acts at the end of so many steps more."""
        eyes, table = self._eyes(node, steps)
        count = len(view.jobs)
        prices = np.full((count, kernels.KEPT), kernels.NOWHERE)
        ways = np.full((count, kernels.KEPT), -1)
        looks = np.zeros((count, kernels.KEPT, 2))
        yaw, pitch = float(node.pose[3]), float(node.pose[4])
        kernels.survey(
            view.solid, eyes, yaw, pitch, CAMERA_DEG * steps, view.at, view.places, view.starts, view.points,
            view.through, view.cells, view.own, view.base, view.counts, np.array(flair), prices, ways, looks,
        )  # fmt: skip
        kernels.add_hidden(view.solid, eyes, view.cells, view.missing, view.at, flair.hidden, prices, ways)
        offers = []
        for j, k in np.argwhere(prices < kernels.NOWHERE).tolist():
            price = float(prices[j, k]) + node.steps + steps
            offers.append((j, Offer(price, node, view.jobs[j], table[ways[j, k]], looks[j, k], steps)))
        return offers

    # -- motion

    def _eyes(self, node: Node, steps: int) -> tuple[Floats, Floats]:
        """Where the eye can be so many steps later, float64 [k, 3], by which of `routes`, [k, 6]."""
        moving = steps if node.tail else steps - 1
        table = routes(moving)
        count = len(table)
        worlds, controls = self._worlds, self._still[:count]
        worlds.state[:count] = node.state[0]
        worlds.grid[:count] = node.grid
        worlds.pose[:count, 3:] = node.pose[3:]
        for step in range(moving):
            controls["move"] = _push(float(node.pose[3]), table, step)
            step_many(worlds.state[:count], controls)
        return worlds.pose[:count, :3].copy(), table

    def settle(self, offer: Offer) -> Node | None:
        """The node after this act, or None when it does not come out so."""
        node, job, way = offer.node, offer.job, offer.way
        state = node.state.copy()
        body: list[dict[str, Any]] = []
        step = 0
        if node.tail:
            # The last act's step has not moved yet: now it is known where to.
            yaw = float(state["pose"][0, 3]) + float(node.tail[0]["camera"][0])
            action = {**node.tail[0], "movement": np.array(_push(yaw, way[None], 0)[0], np.float32)}
            self._step(state, action)
            body.append(action)
            step = 1
        moving = offer.steps if node.tail else offer.steps - 1
        while step < moving:
            camera = _camera(state["pose"][0], offer.look)
            move = _push(float(state["pose"][0, 3]) + camera[0], way[None], step)[0]
            action = _action(move, camera)
            self._step(state, action)
            body.append(action)
            step += 1
        act = _action(np.zeros(3), _camera(state["pose"][0], offer.look))
        act["placement"] = 1 if job.color else 2
        if job.color and int(state["active"][0]) != job.color:
            act["inventory"] = job.color
        after = state.copy()
        self._step(after, act)
        change = after["change"][0]
        if tuple(change[:3]) != job.cell or change[4] != job.color or change[3] == change[4]:
            return None
        return _node(state, after, node, tuple(body), (act,))

    def _step(self, state: npt.NDArray[Any], action: dict[str, Any]) -> None:
        records, index = self._controls.encode(action)
        step_at(state, 0, records, index)


def _aims(jobs: list[Job], solid: npt.NDArray[np.bool_]) -> tuple[Ints, Floats, Floats]:
    """Points to look at [p, 3] and how a ray has to pass there [p, 3]; from which number on they are whose [j + 1]."""
    points, ways, starts = [], [], [0]
    for job in jobs:
        cell = np.array(job.cell)
        chosen = _IS_FACE
        if job.color:
            iy, ix, iz = (
                (_NEIGHBOURS + cell)[:, [1, 0, 2]] - (kernels.LOW_Y, kernels.LOW_X, kernels.LOW_Z)
            ).T
            chosen = solid[iy, ix, iz]
        nudge = np.where(_IS_FACE, 1.04 if job.color else 0.96, 1.0)[chosen, None]
        points.append(_POINTS[chosen] * nudge + cell)
        ways.append(_NEIGHBOURS[chosen] * (1.0 if job.color else -1.0))
        starts.append(starts[-1] + int(chosen.sum()))
    return np.array(starts), np.concatenate(points), np.concatenate(ways)


def _node(
    state: npt.NDArray[Any],
    after: npt.NDArray[Any],
    parent: Node | None = None,
    body: tuple[Any, ...] = (),
    tail: tuple[Any, ...] = (),
) -> Node:
    steps = 0 if parent is None else parent.steps + len(body) - len(parent.tail) + len(tail)
    return Node(
        state, after["grid"][0], after["inventory"][0], after["pose"][0], int(after["active"][0]),
        steps, body, tail, parent,
    )  # fmt: skip


def _push(yaw_deg: float, ways: Floats, step: int) -> Floats:
    """The movements [k, 3] of one step of routes [k, 6], for one who looks along `yaw_deg`."""
    ahead = np.arctan2(ways[:, 1], ways[:, 0]) - math.radians(yaw_deg)
    fb, lr = np.sin(ahead), np.cos(ahead)
    lr = np.where(np.abs(lr) < 1e-3, 1e-3, lr)  # exactly sideways-free flight would follow the pitch
    goes, climbs = step < ways[:, 2], step < ways[:, 4]
    along = -ways[:, 5] if step == 0 else 0.0
    return np.stack([fb * goes + along, lr * goes, ways[:, 3] * climbs], axis=1)


def _camera(pose: Floats, aim: Floats) -> tuple[float, float]:
    """The camera change of the next step on the way to an aim."""
    yaw, pitch = float(turn_deg(pose[3], aim[0])), float(aim[1] - pose[4])
    return max(-5.0, min(5.0, yaw)), max(-5.0, min(5.0, pitch))


def _action(move: Floats, camera: tuple[float, float]) -> dict[str, Any]:
    return {
        "movement": np.array(move, np.float32),
        "camera": np.array(camera, np.float32),
        "inventory": 0,
        "placement": 0,
    }
