"""Flying short: from one act to the next in as few steps as can be, moving, turning and acting at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core import rules
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import Cell
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.beam import Node
from iglu_marl.planning.outlook import PLAIN, Taste, helpers, missing_groups, side_steps, way_ahead
from iglu_marl.planning.sight import REACH, Floats, Sight, bearing, blocked_by_body, gaze, turn_deg
from iglu_marl.planning.site import Job
from iglu_marl.planning.support import scaffold_color

CAMERA_DEG = 4.999  # largest camera change in one step, less what rounding to float32 might add
MAX_JOBS = 16
MAX_STEPS = 40  # from one act to the next
ENOUGH = 6  # cells that can be acted on: no need to look for what takes longer
KEPT = 2  # ways for each cell
FINE_DEG = 20.0  # between directions to go, when it is only a step or two
RAYS = 3000
CONE = 1.5  # > √2: yaw and pitch together
HELPER_COST = 1.0
TURN_RATE, RANGE_COST, BEST_RANGE = 12.0, 0.25, 3.0


@lru_cache(maxsize=64)
def routes(steps: int) -> Floats:
    """What to try when there are so many steps to move, float64 [k, 5].

    Columns: a unit direction in the map (x, z), for how many steps; a throttle, for how many steps.
    """
    around = np.radians(np.arange(0.0, 360.0, FINE_DEG if steps < 3 else 30.0))
    some = sorted({steps, max(1, steps // 2), max(1, steps - 1)}) if steps else []
    level = [(0.0, 0.0, 0)] + [(math.cos(a), math.sin(a), n) for n in some for a in around]
    lengths = sorted({steps, max(1, steps // 2)}) if steps else []
    upright = [(0.0, 0)] + [(sign, n) for sign in (-1.0, 1.0) for n in lengths]
    upright += [(sign * 0.5, steps) for sign in (-1.0, 1.0)] if 0 < steps < 4 else []
    return np.array([(*way, *rise) for way in level for rise in upright])


def _templates() -> tuple[npt.NDArray[np.int_], Floats]:
    """The cells around a cell, int [k, 3], with a point of the face, edge or corner in between, [k, 3]."""
    rows = []
    for d in product((-1, 0, 1), repeat=3):
        if not any(d):
            continue
        flat = [a for a in range(3) if d[a] == 0]
        for shift in product((-0.35, 0.0, 0.35), repeat=len(flat)):
            point = np.array(d, float) * 0.5
            point[flat] += shift
            rows.append((d, point))
    neighbours, points = (np.array(column) for column in zip(*rows, strict=True))
    return neighbours, points


_NEIGHBOURS, _POINTS = _templates()
_IS_FACE = np.abs(_NEIGHBOURS).sum(axis=1) == 1


class Flights:
    """`Moves` of a flier."""

    def __init__(self, desired: npt.NDArray[np.int8], taste: Taste = PLAIN) -> None:
        self._desired, self._taste = desired, taste
        self._controls = Controls("flying")
        self._sight, self._view = Sight(), Sight(64)
        self._worlds = Worlds(512)
        self._still = np.zeros(512, rules.CONTROL)
        self._still["mode"] = rules.FLYING

    def root(self, world: Worlds) -> Node:
        """The empty beginning."""
        state = world.state[:1].copy()
        return _node(state, state)

    def expand(self, node: Node, jobs: list[Job]) -> Iterator[Node]:
        """Ways to do one of the jobs next, the quickest first."""
        jobs = self._nearest(node, jobs) + self._helpers(node)
        if not jobs:
            return
        aims = self._aims(node, jobs)
        self._sight.look_at(node.grid)
        found: set[Cell] = set()
        late = MAX_STEPS
        for steps in range(1, MAX_STEPS):
            if steps > late + 1 or len(found) >= ENOUGH:
                return
            for new, cell in self._after(node, jobs, aims, steps):
                if cell not in found:
                    late = min(late, steps)
                yield new
                found.add(cell)

    def _helpers(self, node: Node) -> list[Job]:
        color = scaffold_color(node.grid, self._desired, node.inventory, node.active)
        if not color:
            return []
        groups = missing_groups(node.grid, self._desired)
        cells = helpers(groups, side_steps(node.pose, CAMERA_DEG, True), node.grid, self._desired)
        return [Job(cell, color, HELPER_COST) for cell in cells]

    def _nearest(self, node: Node, jobs: list[Job]) -> list[Job]:
        eye, looks = node.pose[:3], node.pose[3:]

        def price(job: Job) -> float:
            offset = np.array(job.cell) - eye
            yaw, pitch = bearing(offset).tolist()
            turn = max(abs(float(turn_deg(looks[0], yaw))), abs(pitch - float(looks[1])))
            return job.penalty + turn / 9.0 + 0.3 * abs(float(np.linalg.norm(offset)) - 3.0)

        return sorted(jobs, key=price)[:MAX_JOBS]

    def _aims(self, node: Node, jobs: list[Job]) -> tuple[Floats, Floats, npt.NDArray[np.int_]]:
        """Points to look at [k, 3], the way in which a ray has to pass there [k, 3], and whose they are [k]."""
        padded = np.zeros((11, 13, 13), bool)
        padded[0] = True
        padded[1:10, 1:12, 1:12] = node.grid != 0
        points, ways, owners = [], [], []
        for number, job in enumerate(jobs):
            if job.color:
                ix, iy, iz = (_NEIGHBOURS + np.array((job.cell[0] + 6, job.cell[1] + 2, job.cell[2] + 6))).T
                chosen = padded[iy, ix, iz]
            else:
                chosen = _IS_FACE
            nudge = np.where(_IS_FACE, 1.04 if job.color else 0.96, 1.0)[chosen, None]
            points.append(_POINTS[chosen] * nudge + job.cell)
            ways.append(_NEIGHBOURS[chosen] * (1.0 if job.color else -1.0))
            owners.append(np.full(int(chosen.sum()), number))
        return np.concatenate(points), np.concatenate(ways), np.concatenate(owners)

    def _after(self, node: Node, jobs: list[Job], aims: Any, steps: int) -> Iterator[tuple[Node, Cell]]:
        """Acts at the end of so many steps more."""
        points, through, owners = aims
        eyes, ways = self._eyes(node, steps)
        offsets = points[None] - eyes[:, None]
        far = np.sqrt(np.einsum("epa,epa->ep", offsets, offsets))
        # A cone around what the camera can reach, before the angles are known exactly.
        cone = math.cos(math.radians(min(180.0, CONE * CAMERA_DEG * steps)))
        usable = (far < REACH - 0.3) & (offsets @ gaze(*node.pose[3:]) >= cone * far)
        which, aim = np.nonzero(usable)
        chosen = ((offsets[which, aim] * through[aim] > 0.05) | (through[aim] == 0)).all(axis=-1)
        which, aim = which[chosen], aim[chosen]
        looks = bearing(offsets[which, aim])
        turn = np.maximum(np.abs(turn_deg(node.pose[3], looks[:, 0])), np.abs(looks[:, 1] - node.pose[4]))
        fits = np.flatnonzero(turn <= CAMERA_DEG * steps)
        if len(fits) > RAYS:
            fits = fits[np.linspace(0, len(fits) - 1, RAYS).astype(int)]
        which, aim, looks = which[fits], aim[fits], looks[fits]
        if not len(which):
            return
        poses = np.concatenate([eyes[which], looks], axis=1)
        hit, before = self._sight.cast(poses)
        cells = np.array([job.cell for job in jobs])[owners[aim]]
        places = np.array([job.color != 0 for job in jobs])[owners[aim]]
        good = (np.where(places[:, None], before, hit) == cells).all(axis=1)
        good &= ~(places & blocked_by_body(poses, cells))
        index = np.flatnonzero(good)
        if not len(index):
            return
        outlook = self._outlook(poses[index], owners[aim[index]], jobs)
        order = index[np.argsort(outlook, kind="stable")]
        views = dict(zip(index.tolist(), outlook.tolist(), strict=True))
        kept: dict[int, int] = {}
        for at in order:
            number = int(owners[aim[at]])
            if kept.get(number, 0) >= KEPT:
                continue
            new = self._emit(node, jobs[number], ways[which[at]], poses[at, 3:], steps, views[int(at)])
            if new is not None:
                kept[number] = kept.get(number, 0) + 1
                yield new, jobs[number].cell

    def _outlook(self, poses: Floats, done: npt.NDArray[np.int_], jobs: list[Job]) -> Floats:
        """How many steps the next act after this one is away, roughly, for poses [k, 5]."""
        cells = np.array([job.cell for job in jobs], float)
        offsets = cells[None] - poses[:, None, :3]
        looks = bearing(offsets)
        turn = np.maximum(
            np.abs(turn_deg(poses[:, None, 3], looks[..., 0])), np.abs(looks[..., 1] - poses[:, None, 4])
        )
        far = np.linalg.norm(offsets, axis=-1)
        price = turn / TURN_RATE + RANGE_COST * np.abs(far - BEST_RANGE)
        mean = price.mean(axis=1)
        price[np.arange(len(poses)), done] = np.inf
        least = price.min(axis=1) if len(jobs) > 1 else np.zeros(len(poses))
        penalty = np.array([job.penalty for job in jobs])[done]
        total: Floats = self._taste.least * least + self._taste.mean * mean + penalty
        return total

    # -- motion

    def _eyes(self, node: Node, steps: int) -> tuple[Floats, Floats]:
        """Where the eye can be so many steps later, float64 [k, 3], by which of `routes`, [k, 5]."""
        moving = steps if node.tail else steps - 1
        table = routes(moving)
        count = len(table)
        worlds, controls = self._worlds, self._still[:count]
        worlds.state[:count] = node.state[0]
        worlds.grid[:count] = node.grid
        worlds.pose[:count, 3:] = node.pose[3:]
        for step in range(moving):
            controls["move"] = _push(float(node.pose[3]), table, step)
            rules.step_many(worlds.state[:count], controls)
        return worlds.pose[:count, :3].copy(), table

    def _emit(
        self, node: Node, job: Job, way: Floats, aim: Floats, steps: int, outlook: float
    ) -> Node | None:
        """The node after this act, or None when it does not come out so."""
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
        moving = steps if node.tail else steps - 1
        while step < moving:
            camera = _camera(state["pose"][0], aim)
            move = _push(float(state["pose"][0, 3]) + camera[0], way[None], step)[0]
            action = _action(move, camera)
            self._step(state, action)
            body.append(action)
            step += 1
        act = _action(np.zeros(3), _camera(state["pose"][0], aim))
        act["placement"] = 1 if job.color else 2
        if job.color and int(state["active"][0]) != job.color:
            act["inventory"] = job.color
        after = state.copy()
        self._step(after, act)
        change = after["change"][0]
        if tuple(change[:3]) != job.cell or change[4] != job.color or change[3] == change[4]:
            return None
        outlook += self._taste.hidden * self._hidden(after)
        steps_to = side_steps(after["pose"][0], CAMERA_DEG, True)
        outlook += self._taste.side * way_ahead(missing_groups(after["grid"][0], self._desired), steps_to)
        return _node(state, after, node, tuple(body), (act,), outlook)

    def _hidden(self, after: npt.NDArray[Any]) -> int:
        """How many cells that are to be filled cannot be seen from here."""
        missing = np.argwhere((self._desired != 0) & (after["grid"][0] == 0))
        if not len(missing):
            return 0
        self._view.look_at(after["grid"][0])
        return self._view.hidden(after["pose"][0, :3].copy(), missing[:, [1, 0, 2]] - (5, 1, 5))

    def _step(self, state: npt.NDArray[Any], action: dict[str, Any]) -> None:
        records, index = self._controls.encode(action)
        rules.step_at(state, 0, records, index)


def _node(
    state: npt.NDArray[Any],
    after: npt.NDArray[Any],
    parent: Node | None = None,
    body: tuple[Any, ...] = (),
    tail: tuple[Any, ...] = (),
    outlook: float = 0.0,
) -> Node:
    steps = 0 if parent is None else parent.steps + len(body) - len(parent.tail) + len(tail)
    return Node(
        state, after["grid"][0], after["inventory"][0], after["pose"][0], int(after["active"][0]),
        steps, body, tail, parent, outlook,
    )  # fmt: skip


def _push(yaw_deg: float, ways: Floats, step: int) -> Floats:
    """The movements [k, 3] of one step of routes [k, 5], for one who looks along `yaw_deg`."""
    ahead = np.arctan2(ways[:, 1], ways[:, 0]) - math.radians(yaw_deg)
    fb, lr = np.sin(ahead), np.cos(ahead)
    lr = np.where(np.abs(lr) < 1e-3, 1e-3, lr)  # exactly sideways-free flight would follow the pitch
    goes, climbs = step < ways[:, 2], step < ways[:, 4]
    return np.stack([fb * goes, lr * goes, ways[:, 3] * climbs], axis=1)


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
