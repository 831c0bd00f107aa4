"""Walking as one shows it to a learner: turn to the target, look at it, walk forwards, aim at the middle of a face.

What is done next depends on what is seen from where one is, by a few plain rules, so that it can be learned from
examples and shown from any state. Where the straight way does not lead to a job, the stands of `controller.py` do,
with the same aims.
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

NEAREST, FARTHEST = 1.25, 2.0  # cells, on the level, to a cell that one acts on
WALK_OFF_DEG = (5.0, 7.5)  # by which gaze and target may lie apart on the way: yaw, pitch
MOST_OFF = 0.3  # cells from the middle of a face
SHOWN = 4  # jobs, the nearest first, that are tried on the straight way
LONGEST = 160  # steps of it
FINE = 0.75  # cells: nearer to a stand one steps to any side
BODY = 0.3  # of a cell, half as wide as what has to be free beside a straight way


@dataclass(frozen=True)
class Lesson:
    """A job done on the straight way: the actions, as they came out."""

    job: Job
    cost: float
    actions: tuple[int, ...]


class Teacher(Walker):
    """A `Walker` that shows how it is done."""

    # -- finding

    def find(self, jobs: list[Job]) -> Lesson | Way | None:  # type: ignore[override]
        """The nearest job that the straight way leads to; else as a `Walker`."""
        eye = self.simulation.pose[:3]
        ranked = sorted(
            self._possible(jobs), key=lambda job: job.penalty + DISTANCE_COST * math.dist(eye, job.cell)
        )
        lessons = (self._lesson(job) for job in ranked[:SHOWN])
        return next((lesson for lesson in lessons if lesson), None) or super().find(jobs)

    def _lesson(self, job: Job) -> Lesson | None:
        """What the straight way to a job is; None when it does not lead there."""
        moment = self.simulation.save()
        done = self._approach(job)
        actions = tuple(self.simulation.actions[moment.actions :])
        self.simulation.restore(moment)
        return Lesson(job, job.penalty + len(actions), actions) if done else None

    def _approach(self, job: Job) -> bool:
        """Select the colour, go straight to the cell until it is in reach of hand and eye, and act."""
        simulation, pose = self.simulation, self.simulation.pose
        if not self._settle():
            return False
        height, (x, _, z) = float(pose[1]), job.cell
        self._select(job)
        for _ in range(LONGEST):
            level = math.hypot(x - pose[0], z - pose[2])
            if NEAREST <= level <= FARTHEST and self._act_from_here(job):
                return True
            if level <= FARTHEST:
                key = Action.BACK if level < NEAREST else Action.FORWARD
                if level >= NEAREST and level - PACE < NEAREST:
                    return False  # as near as one gets
            else:
                key = self._way_to(job.cell)
            before = pose.copy()
            simulation.step(key)
            if abs(pose[1] - height) > 1e-9 or (before == pose).all():
                return False
        return False

    def _way_to(self, cell: Cell) -> Action:
        """The next step to a cell far away: turn to it, look at it, or walk."""
        around, up = self._apart(cell)
        if abs(around) > WALK_OFF_DEG[0]:
            return Action.TURN_RIGHT if around > 0 else Action.TURN_LEFT
        if abs(up) > WALK_OFF_DEG[1]:
            return Action.LOOK_UP if up > 0 else Action.LOOK_DOWN
        return Action.FORWARD

    def _apart(self, cell: Cell) -> tuple[float, float]:
        """By how many degrees one would have to turn right and up to look at a cell's lower side."""
        x, y, z, yaw, pitch = self.simulation.pose.tolist()
        dx, dy, dz = cell[0] - x, cell[1] - 0.5 - y, cell[2] - z
        around = math.degrees(math.atan2(dz, dx)) + 90.0 - yaw
        return (around + 180.0) % 360.0 - 180.0, math.degrees(math.atan2(dy, math.hypot(dx, dz))) - pitch

    def _act_from_here(self, job: Job) -> bool:
        """Do it from here where the aim is good; where not, nothing is done."""
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
        """The best aim at one of the jobs from a stand, in the middle of a face if possible."""
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

    # -- doing

    def perform(self, way: Lesson | Way) -> bool:
        """Do it; undone, and False, when it does not come out as foreseen."""
        if isinstance(way, Lesson):
            self.simulation.step(*way.actions)
            return has_done(self.simulation.state, way.job)
        straight = replace(way, path=tuple(self._straightened(way)))
        return super().perform(straight) or super().perform(way)

    def _straightened(self, way: Way) -> Iterator[Step]:
        """The path without the steps between two stands of a level that lie in sight of each other."""
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
        """Turn to a column and walk there forwards; the last bit with any key."""
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
    """Whether one walks straight from one stand to another of the same height."""
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
