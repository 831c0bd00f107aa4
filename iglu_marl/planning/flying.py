"""Flying: find a place to hover with a clear line of sight, go there while turning, act."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.cells import solid
from iglu_marl.planning.sight import REACH, Floats, bearing, blocked_by_body, turn_deg
from iglu_marl.planning.site import Job, Site

CAMERA_DEG = 5.0  # largest camera change in one step
STRIDE = rules.FLY_SPEED * rules.STEP_S  # horizontal flight is always this far in a step
CLIMB = rules.JUMP_SPEED * rules.STEP_S  # at full throttle
LOWEST_EYE, HIGHEST_EYE = -0.25, 9.5
ROUTES = ("straight", "climb first", "climb last", "over the top")
SHORTLIST, TRIES = 160, 12
NEIGHBOURS = tuple(d for d in product((-1, 0, 1), repeat=3) if 0 < abs(d[0]) + abs(d[1]) + abs(d[2]) <= 2)


@dataclass(frozen=True)
class Hover:
    """A way to do a job: hover at `eye`, look along (yaw, pitch), act."""

    job: Job
    eye: tuple[float, float, float]
    yaw_deg: float
    pitch_deg: float
    cost: float


def flight_steps(start: Floats, eyes: Floats) -> npt.NDArray[np.float64]:
    """Steps that a flight needs at least, whole strides and throttle together, float64 [k]."""
    level = np.hypot(eyes[:, 0] - start[0], eyes[:, 2] - start[2])
    climb = np.abs(eyes[:, 1] - start[1])
    return np.maximum(np.round(level / STRIDE), np.ceil(climb / CLIMB - 1e-9))


def _spots() -> Floats:
    """Horizontal offsets (x, z) that whole strides in one direction reach, float64 [k, 2]."""
    around = np.radians(np.arange(0.0, 360.0, 15.0))
    ring = np.stack([np.cos(around), np.sin(around)], axis=-1)
    far = STRIDE * np.arange(1, 20)
    return np.concatenate([np.zeros((1, 2)), (ring[None] * far[:, None, None]).reshape(-1, 2)])


_SPOTS = _spots()
_EYE_HEIGHTS = (-1.0, 0.0, 0.6, 1.2, 2.2, 3.5)  # above the cell


def aim_points(site: Site, job: Job) -> tuple[Floats, Floats]:
    """Points to look at, float64 [k, 3], and the outward normals of the faces that they lie on (zero = any side).

    For a removal: points on the faces of the block. For a placement: on the faces and edges that the cell shares with
    something solid, a hair inside that.
    """
    cell = np.array(job.cell, float)
    points: list[Floats] = []
    normals: list[Floats] = []
    for d in NEIGHBOURS:
        side = np.array(d, float)
        flat = [a for a in range(3) if d[a] == 0]
        if job.color == 0:
            if len(flat) != 2:
                continue
            outward = side
        else:
            x, y, z = (job.cell[a] + d[a] for a in range(3))
            if not solid(site.grid, x, y, z):
                continue
            outward = -side
        spread = (0.0, -0.3, 0.3)
        shifts = [
            s for s in product(spread, repeat=len(flat)) if len(flat) == 1 or 0.0 not in s or not any(s)
        ]
        for shift in shifts:
            point = cell + side * (0.48 if job.color == 0 else 0.53 if len(flat) == 2 else 0.5)
            point[flat] += shift
            points.append(point)
            normals.append(outward if len(flat) == 2 else np.zeros(3))
    return np.array(points).reshape(-1, 3), np.array(normals).reshape(-1, 3)


class Flier:
    """Does jobs by flying. `find` looks for the cheapest way, `perform` does it in the site's world."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._banned: set[tuple[Cell, tuple[float, float, float]]] = set()

    def find(self, jobs: list[Job], limit: int = 4) -> Hover | None:
        """The cheapest way to do one of the jobs, or None.

        The `limit` most promising ones are looked at, the others only when those cannot be done.
        """
        eye = self.site.pose[:3]
        jobs = sorted(jobs, key=lambda job: job.penalty + math.dist(eye, job.cell))
        best: Hover | None = None
        for number, job in enumerate(jobs):
            if best is not None and number >= limit:
                break
            if job.color and self.site.held(job.color) <= 0:
                continue
            found = self._hover_for(job)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
        return best

    def perform(self, hover: Hover) -> bool:
        """Fly there and do it; undone, and False, when it does not come out as foreseen."""
        site = self.site
        start = site.save()
        for route in ROUTES:
            if self._fly(hover, route) and self._act(hover):
                self._banned.clear()
                return True
            # Something on the way has pushed the flier aside: what can be done from there?
            if self._improvise(hover.job):
                return True
            site.restore(start)
        self._banned.add((hover.job.cell, hover.eye))
        return False

    def ways_out(self) -> list[Job]:
        """The block around the eye, if there is one: nothing else can be seen from inside it."""
        x, y, z = (int(v) for v in np.rint(self.site.pose[:3]))
        inside = in_zone(x, y, z) and self.site.color_at((x, y, z)) != 0
        return [Job((x, y, z), 0)] if inside else []

    # -- finding

    def _hover_for(self, job: Job) -> Hover | None:
        points, normals = aim_points(self.site, job)
        if not len(points):
            return None
        eyes = self._eyes_near(job)
        steps = flight_steps(self.site.pose, eyes)
        looks = bearing(np.array(job.cell, float) - eyes)
        turns = np.maximum(
            np.abs(turn_deg(self.site.pose[3], looks[:, 0])), np.abs(looks[:, 1] - self.site.pose[4])
        )
        order = np.argsort(np.maximum(steps, turns / CAMERA_DEG), kind="stable")
        for start in range(0, len(order), SHORTLIST):
            chosen = order[start : start + SHORTLIST]
            found = self._best_of(job, eyes[chosen], steps[chosen], points, normals)
            if found is not None:
                return found
        return None

    def _eyes_near(self, job: Job) -> Floats:
        """Where one can hover within reach of a cell with nothing solid around the body, float64 [k, 3]."""
        x, y, z = self.site.pose[:3]
        heights = np.clip([y, *(job.cell[1] + above for above in _EYE_HEIGHTS)], LOWEST_EYE, HIGHEST_EYE)
        level = _SPOTS + (x, z)
        eyes = np.concatenate(
            [np.stack([level[:, 0], np.full(len(level), h), level[:, 1]], axis=-1) for h in heights]
        )
        eyes = eyes[(np.abs(eyes[:, 0]) <= 6.99) & (np.abs(eyes[:, 2]) <= 6.99)]
        distance = np.linalg.norm(eyes - np.array(job.cell, float), axis=1)
        eyes = eyes[(distance > 0.9) & (distance < REACH - 0.9)]
        padded = np.zeros((16, 19, 19), bool)  # y -3..12, x and z -9..9
        padded[0:2] = True
        padded[2:11, 4:15, 4:15] = self.site.grid != 0
        ix, iy, iz = (np.rint(eyes[:, a]).astype(int) for a in range(3))
        free = ~padded[iy + 3, ix + 9, iz + 9] & ~padded[iy + 2, ix + 9, iz + 9]
        here = np.array([[x, y, z]])
        return np.concatenate([here, eyes[free]])

    def _best_of(
        self, job: Job, eyes: Floats, steps: Floats, points: Floats, normals: Floats
    ) -> Hover | None:
        offsets = points[None] - eyes[:, None]  # [eyes, points, 3]
        facing = -(offsets * normals[None]).sum(-1) > 0.02 * np.linalg.norm(offsets, axis=-1)
        edges = np.linalg.norm(normals, axis=1) == 0.0  # seen from any side
        which, aim = np.nonzero(facing | edges)
        if not len(which):
            return None
        poses = np.empty((len(which), 5))
        poses[:, :3] = eyes[which]
        poses[:, 3:] = bearing(offsets[which, aim])
        hit, before = self.site.eyes().cast(poses)
        cell = np.array(job.cell)
        seen = hit if job.color == 0 else before
        good = np.equal(seen, cell).all(axis=1)
        if job.color:
            good &= ~blocked_by_body(poses, job.cell)
        turns = np.maximum(
            np.abs(turn_deg(self.site.pose[3], poses[:, 3])), np.abs(poses[:, 4] - self.site.pose[4])
        )
        cost = np.maximum(steps[which], np.ceil(turns / CAMERA_DEG - 1e-9))
        cost[~good] = np.inf
        for index in np.argsort(cost, kind="stable")[: int(good.sum())]:
            pose = poses[index]
            eye = (float(pose[0]), float(pose[1]), float(pose[2]))
            if (job.cell, eye) not in self._banned:
                return Hover(job, eye, float(pose[3]), float(pose[4]), float(cost[index]) + 1.0 + job.penalty)
        return None

    # -- doing

    def _improvise(self, job: Job) -> bool:
        """Do the job from the place where the flier is, if it can be done from there."""
        points, normals = aim_points(self.site, job)
        if not len(points):
            return False
        here = self.site.pose[None, :3].copy()
        hover = self._best_of(job, here, np.zeros(1), points, normals)
        return hover is not None and self._turn(hover) and self._act(hover)

    def _action(self, move: tuple[float, float], climb: float, camera: tuple[float, float]) -> dict[str, Any]:
        """One step: a horizontal direction in the map (x, z) or (0, 0), climb in cells, camera in degrees."""
        yaw = float(self.site.pose[3]) + camera[0]
        fb = lr = 0.0
        if move != (0.0, 0.0):
            ahead = math.atan2(move[1], move[0]) - math.radians(yaw)
            fb, lr = math.sin(ahead), math.cos(ahead)
            if abs(lr) < 1e-3:  # exactly sideways-free flight would follow the pitch
                lr = math.copysign(1e-3, lr)
        throttle = max(-1.0, min(1.0, climb / CLIMB))
        return {
            "movement": np.array([fb, lr, throttle], np.float32),
            "camera": np.array(camera, np.float32),
            "inventory": 0,
            "placement": 0,
        }

    def _camera(self, hover: Hover) -> tuple[float, float]:
        """The camera change of the next step."""
        yaw = float(turn_deg(self.site.pose[3], hover.yaw_deg))
        pitch = hover.pitch_deg - float(self.site.pose[4])
        return (max(-CAMERA_DEG, min(CAMERA_DEG, yaw)), max(-CAMERA_DEG, min(CAMERA_DEG, pitch)))

    def _fly(self, hover: Hover, route: str) -> bool:
        """Follow a route to the eye's place, turning on the way. False when something is in the way."""
        x, y, z = hover.eye
        here = self.site.pose[:3].copy()
        top = (here[0], HIGHEST_EYE, here[2])
        stops: list[tuple[float, float, float]] = {
            "straight": [hover.eye],
            "climb first": [(here[0], y, here[2]), hover.eye],
            "climb last": [(x, here[1], z), hover.eye],
            "over the top": [top, (x, HIGHEST_EYE, z), hover.eye],
        }[route]
        for stop in stops:
            if not self._leg(hover, stop):
                return False
        return self._turn(hover)

    def _turn(self, hover: Hover) -> bool:
        """Turn until one step's camera change is left."""
        for _ in range(40):
            camera = self._camera(hover)
            if max(abs(camera[0]), abs(camera[1])) < CAMERA_DEG:
                return True  # the rest of the turn goes with the act
            self.site.step(self._action((0.0, 0.0), 0.0, camera))
        return False

    def _leg(self, hover: Hover, stop: tuple[float, float, float]) -> bool:
        pose = self.site.pose
        for _ in range(64):
            dx, dy, dz = stop[0] - pose[0], stop[1] - pose[1], stop[2] - pose[2]
            level = math.hypot(dx, dz)
            move = (float(dx), float(dz)) if level > STRIDE / 2 else (0.0, 0.0)
            if move == (0.0, 0.0) and abs(dy) < 1e-4:
                return level < 0.05
            last = pose[:3].copy()
            self.site.step(self._action(move, float(dy), self._camera(hover)))
            if np.abs(pose[:3] - last).max() < 1e-6:
                return False
        return False

    def _act(self, hover: Hover) -> bool:
        """The last bit of the turn, and place or break."""
        job = hover.job
        action = self._action((0.0, 0.0), 0.0, self._camera(hover))
        action["placement"] = 1 if job.color else 2
        if job.color and self.site.active != job.color:
            action["inventory"] = job.color
        self.site.step(action)
        return self.site.changed(job)
