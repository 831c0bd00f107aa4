"""Flying: find a place to hover with a clear line of sight, fly there while turning, act."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.core.kernels.cells import solid
from iglu_marl.core.kernels.ray import Vector
from iglu_marl.core.kernels.records import FLY_SPEED, GROUND_Y, JUMP_SPEED, STEP_S
from iglu_marl.planning.kernels import CAMERA_DEG, REACH
from iglu_marl.planning.problem import Job
from iglu_marl.planning.raycast import Floats, bearing, blocked_by_body, cast_rays, turn_deg
from iglu_marl.planning.simulation import Simulation, has_done
from iglu_marl.planning.support import AROUND

STRIDE = FLY_SPEED * STEP_S  # horizontal distance of every step, in cells
CLIMB = JUMP_SPEED * STEP_S  # vertical distance of a step at full throttle
LOWEST_EYE, HIGHEST_EYE = -0.25, 9.5
RIM = 6.99  # limit of |x| and |z| in flight
ROUTES = ("straight", "climb first", "climb last", "over the top")
EYES_AT_ONCE = 160
JOBS_COMPARED = 4  # jobs whose ways are compared


@dataclass(frozen=True)
class Hover:
    """A way to do a job: hover at `eye`, look along (yaw, pitch), act."""

    job: Job
    eye: Vector
    yaw_deg: float
    pitch_deg: float
    cost: float


def flight_steps(start: Floats, eyes: Floats) -> Floats:
    """Return lower bounds of the steps of flights to `eyes`, float64 [k]."""
    level = np.hypot(eyes[:, 0] - start[0], eyes[:, 2] - start[2])
    climb = np.abs(eyes[:, 1] - start[1])
    steps: Floats = np.maximum(np.round(level / STRIDE), np.ceil(climb / CLIMB - 1e-9))
    return steps


def turn_steps(pose: Floats, looks: Floats) -> Floats:
    """Return the steps of turns from a pose to looks float64 [k, 2] (yaw, pitch), float64 [k]."""
    turns = np.maximum(np.abs(turn_deg(pose[3], looks[:, 0])), np.abs(looks[:, 1] - pose[4]))
    steps: Floats = np.ceil(turns / CAMERA_DEG - 1e-9)
    return steps


def action(move: Any, camera: Any) -> dict[str, Any]:
    """Return an action that moves and turns only."""
    return {
        "movement": np.array(move, np.float32),
        "camera": np.array(camera, np.float32),
        "inventory": 0,
        "placement": 0,
    }


def act_action(move: Any, camera: Any, job: Job, active: int) -> dict[str, Any]:
    """Return the action that does a job."""
    select = job.color if job.color != active else 0
    return {**action(move, camera), "inventory": select, "placement": 1 if job.color else 2}


def camera_towards(pose: Floats, yaw_deg: float, pitch_deg: float) -> tuple[float, float]:
    """Return the camera change of the next step towards an aim."""
    yaw, pitch = float(turn_deg(pose[3], yaw_deg)), float(pitch_deg - pose[4])
    return max(-CAMERA_DEG, min(CAMERA_DEG, yaw)), max(-CAMERA_DEG, min(CAMERA_DEG, pitch))


def _spots() -> Floats:
    """Return the horizontal offsets (x, z) of whole strides in one direction, float64 [k, 2]."""
    around = np.radians(np.arange(0.0, 360.0, 15.0))
    ring = np.stack([np.cos(around), np.sin(around)], axis=-1)
    far = STRIDE * np.arange(1, 20)
    return np.concatenate([np.zeros((1, 2)), (ring[None] * far[:, None, None]).reshape(-1, 2)])


_SPOTS = _spots()
_EYE_HEIGHTS = (-1.0, 0.0, 0.6, 1.2, 2.2, 3.5)  # above the cell


@lru_cache(maxsize=2)
def aim_templates(places: bool) -> list[tuple[Cell, Floats, Floats]]:
    """Return for each neighbour of a cell: points to aim at, [k, 3] from the centre, and their outward normals.

    For a removal the points are on the faces of the block. For a placement they are on the faces and edges shared with
    the neighbour, slightly inside it; edges are visible from any side (normal zero).
    """
    templates = []
    for neighbour in AROUND:
        side = np.array(neighbour, float)
        flat = [a for a in range(3) if neighbour[a] == 0]
        if not flat or (not places and len(flat) < 2):
            continue
        shifts = [
            s
            for s in product((0.0, -0.3, 0.3), repeat=len(flat))
            if len(flat) == 1 or 0.0 not in s or not any(s)
        ]
        points = np.tile(side * (0.48 if not places else 0.53 if len(flat) == 2 else 0.5), (len(shifts), 1))
        points[:, flat] += shifts
        normal = side * ((-1.0 if places else 1.0) if len(flat) == 2 else 0.0)
        templates.append((neighbour, points, np.tile(normal, (len(shifts), 1))))
    return templates


def aim_points(grid: Any, job: Job) -> tuple[Floats, Floats]:
    """Return points to aim at, float64 [k, 3], and the outward normals of their faces (zero = any side)."""
    chosen = [
        (points + job.cell, normals)
        for side, points, normals in aim_templates(job.color != 0)
        if not job.color or solid(grid, *(c + d for c, d in zip(job.cell, side, strict=True)))
    ]
    if not chosen:
        return np.empty((0, 3)), np.empty((0, 3))
    points, normals = zip(*chosen, strict=True)
    return np.concatenate(points), np.concatenate(normals)


class Flier:
    """Do jobs by flying: `find` searches for the cheapest way, `perform` carries it out in the simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._banned: set[tuple[Cell, Vector]] = set()

    def find(self, jobs: list[Job]) -> Hover | None:
        """Return the cheapest way to do one of the most promising jobs, or else one of the others."""
        eye = self.simulation.pose[:3]
        jobs = sorted(jobs, key=lambda job: job.penalty + math.dist(eye, job.cell))
        best: Hover | None = None
        for number, job in enumerate(jobs):
            if best is not None and number >= JOBS_COMPARED:
                break
            if not job.color or self.simulation.held(job.color) > 0:
                found = self._hover_for(job)
                if found is not None and (best is None or found.cost < best.cost):
                    best = found
        return best

    def find_anywhere(self, jobs: list[Job]) -> Hover | None:
        """Return None: `find` is exhaustive."""
        return None

    def perform(self, way: Hover) -> bool:
        """Fly there and do the job. If it fails, undo it and return False."""
        simulation = self.simulation
        start = simulation.save()
        for route in ROUTES:
            if self._fly(way, route) and self._act(way):
                self._banned.clear()
                return True
            # An obstacle has pushed the flier aside: try from the place where it is.
            if self._improvise(way.job):
                return True
            simulation.restore(start)
        self._banned.add((way.job.cell, way.eye))
        return False

    def ways_out(self) -> list[Job]:
        """Return the block around the eye, if any: it hides everything else."""
        x, y, z = np.rint(self.simulation.pose[:3]).astype(int).tolist()
        inside = in_zone(x, y, z) and self.simulation.color_at((x, y, z)) != 0
        return [Job((x, y, z), 0)] if inside else []

    def _steps(self, eyes: Floats) -> Floats:
        return flight_steps(self.simulation.pose, eyes)

    def _turns(self, looks: Floats) -> Floats:
        return turn_steps(self.simulation.pose, looks)

    def _hover_for(self, job: Job) -> Hover | None:
        points, normals = aim_points(self.simulation.grid, job)
        eyes = self._eyes_near(job)
        steps = self._steps(eyes)
        order = np.argsort(np.maximum(steps, self._turns(bearing(job.cell - eyes))), kind="stable")
        for start in range(0, len(order) if len(points) else 0, EYES_AT_ONCE):
            chosen = order[start : start + EYES_AT_ONCE]
            found = self._best_of(job, eyes[chosen], steps[chosen], points, normals)
            if found is not None:
                return found
        return None

    def _eyes_near(self, job: Job) -> Floats:
        """Return free places to hover within reach of a cell, float64 [k, 3]."""
        x, y, z = self.simulation.pose[:3]
        heights = np.clip([y, *(job.cell[1] + above for above in _EYE_HEIGHTS)], LOWEST_EYE, HIGHEST_EYE)
        spots = np.tile(_SPOTS + (x, z), (len(heights), 1))
        eyes = np.stack([spots[:, 0], np.repeat(heights, len(_SPOTS)), spots[:, 1]], axis=-1)
        apart = np.linalg.norm(eyes - job.cell, axis=1)
        eyes = eyes[(np.abs(eyes[:, [0, 2]]) <= RIM).all(axis=1) & (apart > 0.9) & (apart < REACH - 0.9)]
        padded = np.zeros((16, 19, 19), bool)  # y -3..12, x and z -9..9
        padded[: GROUND_Y + 4] = True
        padded[2:11, 4:15, 4:15] = self.simulation.grid != 0
        ix, iy, iz = np.rint(eyes).astype(int).T + np.array([[9], [3], [9]])
        free = ~padded[iy, ix, iz] & ~padded[iy - 1, ix, iz]
        return np.concatenate([[[x, y, z]], eyes[free]])

    def _best_of(
        self, job: Job, eyes: Floats, steps: Floats, points: Floats, normals: Floats
    ) -> Hover | None:
        offsets = points[None] - eyes[:, None]  # [eyes, points, 3]
        facing = -(offsets * normals[None]).sum(-1) > 0.02 * np.linalg.norm(offsets, axis=-1)
        facing |= (np.abs(eyes - job.cell) < 0.5).all(
            axis=1, keepdims=True
        )  # from inside, all sides are visible
        which, aim = np.nonzero(facing | ~normals.any(axis=1))
        poses = np.concatenate([eyes[which], bearing(offsets[which, aim])], axis=1)
        hits, befores = cast_rays(self.simulation.grid, poses)
        good = ((befores if job.color else hits) == job.cell).all(axis=1)
        if job.color:
            good &= ~blocked_by_body(poses, job.cell)
        cost = np.maximum(steps[which], self._turns(poses[:, 3:]))
        for index in np.flatnonzero(good)[np.argsort(cost[good], kind="stable")]:
            x, y, z, yaw, pitch = poses[index].tolist()
            if (job.cell, (x, y, z)) not in self._banned:
                return Hover(job, (x, y, z), yaw, pitch, float(cost[index]) + 1.0 + job.penalty)
        return None

    def _improvise(self, job: Job) -> bool:
        points, normals = aim_points(self.simulation.grid, job)
        here = self.simulation.pose[None, :3].copy()
        hover = self._best_of(job, here, np.zeros(1), points, normals)
        return hover is not None and self._turn(hover) and self._act(hover)

    def _camera(self, hover: Hover) -> tuple[float, float]:
        return camera_towards(self.simulation.pose, hover.yaw_deg, hover.pitch_deg)

    def _fly(self, hover: Hover, route: str) -> bool:
        """Follow a route, turning on the way. Returns False at an obstacle."""
        x, y, z = hover.eye
        from_x, from_y, from_z = self.simulation.pose[:3].tolist()
        stops = {
            "straight": [hover.eye],
            "climb first": [(from_x, y, from_z), hover.eye],
            "climb last": [(x, from_y, z), hover.eye],
            "over the top": [(from_x, HIGHEST_EYE, from_z), (x, HIGHEST_EYE, z), hover.eye],
        }
        return all(self._leg(hover, stop) for stop in stops[route]) and self._turn(hover)

    def _turn(self, hover: Hover) -> bool:
        """Turn until one step's camera change is left, which is part of the act."""
        for _ in range(40):
            camera = self._camera(hover)
            if max(abs(camera[0]), abs(camera[1])) < CAMERA_DEG:
                return True
            self.simulation.step(action((0.0, 0.0, 0.0), camera))
        return False

    def _leg(self, hover: Hover, stop: Vector) -> bool:
        pose = self.simulation.pose
        for _ in range(64):
            dx, dy, dz = (float(goal - here) for goal, here in zip(stop, pose[:3], strict=True))
            level = math.hypot(dx, dz)
            if level <= STRIDE / 2 and abs(dy) < 1e-4:
                return level < 0.05
            last = pose[:3].copy()
            camera = self._camera(hover)
            forth = keys_along(pose[3] + camera[0], dx, dz) if level > STRIDE / 2 else (0.0, 0.0)
            self.simulation.step(action((*forth, max(-1.0, min(1.0, dy / CLIMB))), camera))
            if np.abs(pose[:3] - last).max() < 1e-6:
                return False
        return False

    def _act(self, hover: Hover) -> bool:
        """Finish the turn, and place or break."""
        simulation = self.simulation
        camera = self._camera(hover)
        simulation.step(act_action((0.0, 0.0, 0.0), camera, hover.job, simulation.active))
        return has_done(simulation.state, hover.job)


def keys_along(yaw_deg: Any, x: Any, z: Any) -> tuple[Any, Any]:
    """Return the movement (back - forward, right - left) along (x, z) on the map, for a gaze along `yaw_deg`."""
    ahead = np.arctan2(z, x) - np.radians(yaw_deg)
    sideways = np.cos(ahead)
    # Flight exactly along the gaze would follow its pitch.
    return np.sin(ahead), np.where(np.abs(sideways) < 1e-3, 1e-3, sideways)
