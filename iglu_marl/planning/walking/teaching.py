"""Walking plans as demonstrations: turn to the target, look at it, walk forwards, aim at the middle of a face.

The next action follows from the view by a few simple rules, so that it can be learned from examples and demonstrated
from any state. If the straight way does not lead to a job, the stands of `controller.py` are used with the same aims.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from iglu_marl.core.actions import Action
from iglu_marl.core.grid import Cell
from iglu_marl.planning.kernels import CAMERA_DEG
from iglu_marl.planning.problem import Job
from iglu_marl.planning.raycast import Floats
from iglu_marl.planning.simulation import has_done
from iglu_marl.planning.walking import kernels
from iglu_marl.planning.walking.controller import (
    AIR_COST,
    DISTANCE_COST,
    LOWEST_FROM_PILLAR,
    PACE,
    Aim,
    Found,
    Walker,
    Way,
    at_rest,
    camera_actions,
)
from iglu_marl.planning.walking.navigation import Stand, Step, Terrain, Visit

NEAREST, FARTHEST = 1.25, 2.0  # horizontal distance of acts, in cells
WALK_OFF_DEG = (5.0, 7.5)  # tolerance of the gaze while walking: yaw, pitch
MOST_OFF = 0.3  # largest distance from the middle of a face, in cells
JOBS_TRIED = 4  # nearest jobs that are tried on the straight way
MAX_STEPS = 160  # of the straight way
FINE = 0.75  # cells; nearer to a stand, steps to any side are allowed
BODY = 0.3  # half the width of the free space around a straight way, in cells


@dataclass(frozen=True)
class Lesson:
    """A job done on the straight way, with its actions."""

    job: Job
    cost: float
    actions: tuple[int, ...]


class Teacher(Walker):
    """A `Walker` whose plans are demonstrations."""

    def find(self, jobs: list[Job]) -> Lesson | Way | None:  # type: ignore[override]
        """Return the nearest job on a straight way, otherwise the result of `Walker`."""
        eye = self.simulation.pose[:3]
        ranked = sorted(
            self._possible(jobs), key=lambda job: job.penalty + DISTANCE_COST * math.dist(eye, job.cell)
        )
        lessons = (self._lesson(job) for job in ranked[:JOBS_TRIED])
        return next((lesson for lesson in lessons if lesson), None) or super().find(jobs)

    def _lesson(self, job: Job) -> Lesson | None:
        """Try the straight way to a job; return None if it fails."""
        moment = self.simulation.save()
        done = self._approach(job)
        actions = tuple(self.simulation.actions[moment.actions :])
        self.simulation.restore(moment)
        return Lesson(job, job.penalty + len(actions), actions) if done else None

    def _approach(self, job: Job) -> bool:
        """Select the colour, go straight to the cell until an aim is possible, and act."""
        simulation, pose = self.simulation, self.simulation.pose
        if not self._settle():
            return False
        height, (x, _, z) = float(pose[1]), job.cell
        self._select(job)
        for _ in range(MAX_STEPS):
            level = math.hypot(x - pose[0], z - pose[2])
            if NEAREST <= level <= FARTHEST and self._act_from_here(job):
                return True
            if level <= FARTHEST:
                key = Action.BACK if level < NEAREST else Action.FORWARD
                if level >= NEAREST and level - PACE < NEAREST:
                    return False  # the next step would be too near
            else:
                key = self._way_to(job.cell)
            before = pose.copy()
            simulation.step(key)
            if abs(pose[1] - height) > 1e-9 or (before == pose).all():
                return False
        return False

    def _way_to(self, cell: Cell) -> Action:
        """Return the next action on the way to a distant cell: turn to it, look at it, or walk."""
        around, up = self._apart(cell)
        if abs(around) > WALK_OFF_DEG[0]:
            return Action.TURN_RIGHT if around > 0 else Action.TURN_LEFT
        if abs(up) > WALK_OFF_DEG[1]:
            return Action.LOOK_UP if up > 0 else Action.LOOK_DOWN
        return Action.FORWARD

    def _apart(self, cell: Cell) -> tuple[float, float]:
        """Return the degrees to turn right and up to look at the lower side of a cell."""
        x, y, z, yaw, pitch = self.simulation.pose.tolist()
        dx, dy, dz = cell[0] - x, cell[1] - 0.5 - y, cell[2] - z
        around = math.degrees(math.atan2(dz, dx)) + 90.0 - yaw
        return (around + 180.0) % 360.0 - 180.0, math.degrees(math.atan2(dy, math.hypot(dx, dz))) - pitch

    def _act_from_here(self, job: Job) -> bool:
        pose, stand = self._rest()
        found = self._best_at(Visit(0.0, stand, 0), [job], pose, stand, MOST_OFF)
        if found is None:
            return False
        moment = self.simulation.save()
        if self._carry_out(job, found.aim):
            return True
        self.simulation.restore(moment)
        return False

    def _best_at(
        self, visit: Visit, jobs: list[Job], pose: Floats, start: Stand, most_off: float = math.inf
    ) -> Found | None:
        best: Found | None = None
        grid = self._grid_without(visit.walls)
        lowest = LOWEST_FROM_PILLAR if visit.pillars and visit.stand != start else -90.0
        yaw, pitch = pose[3:].tolist()
        for air, eye in self._eyes(visit, pose, start):
            for job in jobs:
                if not self._sensible(job, visit, air):
                    continue
                places = job.color != 0
                price, right, up, off = kernels.centred_aim(grid, eye, yaw, pitch, lowest, job.cell, places)
                cost = price + (air + AIR_COST if air else 1.0)
                total = visit.cost + cost + job.penalty
                if price < kernels.FAR and off <= most_off and (best is None or total < best.cost):
                    best = Found(total, visit, job, Aim(cost, right, up, air))
        return best

    def perform(self, way: Lesson | Way) -> bool:
        """Do the job. If it fails, undo it and return False."""
        if isinstance(way, Lesson):
            self.simulation.step(*way.actions)
            return has_done(self.simulation.state, way.job)
        straight = replace(way, path=tuple(self._straightened(way)))
        return super().perform(straight) or super().perform(way)

    def _straightened(self, way: Way) -> Iterator[Step]:
        """Yield the path without steps between stands on a level with a free straight way."""
        here, path = way.start, list(way.path)
        terrain = Terrain(self.simulation.grid)
        while path:
            count = 1
            while count < len(path) and all(step.how == "walk" for step in path[: count + 1]):
                if not _free(terrain, here, path[count].stand):
                    break
                count += 1
            yield path[count - 1]
            here, path = path[count - 1].stand, path[count:]

    def _act(self, job: Job, stand: Stand) -> bool:
        self._select(job)
        return super()._act(job, stand)

    def _select(self, job: Job) -> None:
        if job.color not in (0, self.simulation.active):
            self.simulation.step(Action.hotbar(job.color))

    def _stride(self, stand: Stand, limit: int = 64) -> None:
        """Turn to a column and walk forwards; the last steps use any key."""
        pose, far = self.simulation.pose, (stand[0], 0, stand[1])
        for _ in range(limit):
            before = pose[:3].copy()
            if math.hypot(stand[0] - pose[0], stand[1] - pose[2]) < FINE:
                break
            if at_rest(self.simulation.state):
                around, _ = self._apart(far)
                count = round(around / CAMERA_DEG) if abs(around) > WALK_OFF_DEG[0] else 0
                self.simulation.step(*camera_actions(count, 0))
            self.simulation.step(Action.FORWARD)
            if (before == pose[:3]).all():
                break
        super()._stride(stand, limit)


def _free(terrain: Terrain, start: Stand, end: Stand) -> bool:
    """Return whether the straight way between two stands of the same height is free."""
    x, z, b = start
    dx, dz = end[0] - x, end[1] - z
    steps = 1 + int(4.0 * math.hypot(dx, dz))
    return all(
        terrain.solid(*(round(x + dx * at / steps + side), b, round(z + dz * at / steps + other)))
        and terrain.roomy(round(x + dx * at / steps + side), b + 1, round(z + dz * at / steps + other))
        for at in range(steps + 1)
        for side in (-BODY, BODY)
        for other in (-BODY, BODY)
    )
