"""Walking with gravity: find a stand and an aim for a job, get there on foot, act.

`find` searches the stands in order of their distance and casts, from each, all rays that camera steps can reach and
that pass the cell in question, from the ground and from the top of a jump. `perform` walks there in the site's world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iglu_marl.core.actions import CAMERA_STEP_DEG, WALKING_ACTIONS
from iglu_marl.core.grid import Cell
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.cells import solid
from iglu_marl.planning.sight import REACH, Floats, aims_through, blocked_by_body, turn_deg
from iglu_marl.planning.site import Job, Site
from iglu_marl.planning.terrain import PILLAR_COST, TIDY_COST, Search, Stand, Step, Terrain, Visit

NOOP, FORWARD, BACK, LEFT, RIGHT, JUMP = range(6)
HOTBAR = WALKING_ACTIONS.index("hotbar_1") - 1  # + colour
TURN_LEFT, TURN_RIGHT = WALKING_ACTIONS.index("turn_left"), WALKING_ACTIONS.index("turn_right")
LOOK_UP, LOOK_DOWN = WALKING_ACTIONS.index("look_up"), WALKING_ACTIONS.index("look_down")
BREAK, PLACE = WALKING_ACTIONS.index("break"), WALKING_ACTIONS.index("place")
PACE = rules.WALK_SPEED * rules.STEP_S  # cells per step
KEYS = ((FORWARD, 0.0), (RIGHT, 90.0), (BACK, 180.0), (LEFT, 270.0))  # the way they go, degrees from the yaw

EYE = 1.75  # the eye of one who stands, above the centre of the cell stood on
AIR_STEPS = (
    5,
    7,
)  # steps after a jump's start at which to act: just high enough to build below oneself; the top
BATCH_STANDS = 12
MAX_JOBS = 14
NEAR_MISS = 0.13  # of a cell: as near as steps of 1/4 cell get


def _rise(steps: int) -> float:
    """How high the eye is so many steps after the start of a jump, in cells."""
    height, speed = 0.0, rules.JUMP_SPEED
    for _ in range(2 * steps):
        speed -= rules.STEP_S / 2 * rules.GRAVITY
        height += speed * rules.STEP_S / 2
    return height


RISES = {0: 0.0, **{steps: _rise(steps) for steps in AIR_STEPS}}


@dataclass(frozen=True)
class Aim:
    """Where to look, and whether in the air: `air` steps after the start of a jump."""

    yaw_deg: float
    pitch_deg: float
    air: int
    cost: float


@dataclass(frozen=True)
class Way:
    """A way to do a job: a path, then an aim."""

    job: Job
    path: tuple[Step, ...]
    aim: Aim
    cost: float
    start: Stand
    stand: Stand


class Walker:
    """Does jobs on foot. `find` looks for the cheapest way, `perform` does it in the site's world."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._banned_steps: set[tuple[Stand, Step]] = set()
        self._banned_jobs: set[tuple[Cell, Stand]] = set()
        self._banned_for = b""

    # -- finding

    def find(self, jobs: list[Job]) -> Way | None:
        """The cheapest way to do one of the jobs, or None when none can be done from any stand."""
        pose, stand = self._rest()
        known = self.site.grid.tobytes()
        if known != self._banned_for:
            self._banned_steps.clear()
            self._banned_jobs.clear()
            self._banned_for = known
        jobs = [job for job in jobs if job.color == 0 or self.site.held(job.color) > 0]
        jobs.sort(key=lambda job: job.penalty + 3.0 * math.dist(pose[:3], job.cell))
        for some in (jobs[:MAX_JOBS], jobs[MAX_JOBS:]):
            way = self._search(some, pose, stand) if some else None
            if way is not None:
                return way
        return None

    def ways_out(self) -> list[Job]:
        """Blocks to break when the walker is walled in; none when it is not."""
        _, stand = self._rest()
        terrain = Terrain(self.site.grid)
        inside = terrain.solid(stand[0], stand[2] + 2, stand[1])
        if not inside and terrain.escapes(stand):
            return []
        return [Job(cell, 0, 10.0 * blocks) for blocks, cell in terrain.ways_out(stand)]

    def _rest(self) -> tuple[Floats, Stand]:
        """The pose once the walker has come to rest, and its stand."""
        moment = self.site.save()
        self._settle()
        pose = self.site.pose.copy()
        self.site.restore(moment)
        return pose, self._stand_of(pose)

    @staticmethod
    def _stand_of(pose: Floats) -> Stand:
        x, y, z = (int(v) for v in np.rint(pose[:3]))
        return x, z, y - 2

    def _pillar_price(self, cell: Cell) -> float:
        wanted = self.site.wanted_at(cell)
        if wanted and self.site.held(wanted) > 0:
            return PILLAR_COST - 6.0
        return PILLAR_COST + (100.0 if wanted else TIDY_COST)

    def _search(self, jobs: list[Job], pose: Floats, start: Stand) -> Way | None:
        terrain = Terrain(self.site.grid)
        spare = int(np.maximum(self.site.inventory, 0).sum())
        search = Search(terrain, start, self._pillar_price, spare, self._banned_steps)
        least = min(job.penalty for job in jobs)
        best: tuple[float, Visit, Job, Aim] | None = None
        while True:
            visits: list[Visit] = []
            while len(visits) < BATCH_STANDS:
                visit = search.next_visit()
                if visit is None or (best is not None and visit.cost + least + 1.0 >= best[0]):
                    break
                visits.append(visit)
                if best is None and len(visits) == 1 and visit.stand == start:
                    break  # often enough one can act from where one stands
            if not visits:
                break
            found = self._best_aim(visits, jobs, pose, start)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        if best is None:
            return None
        cost, visit, job, aim = best
        return Way(job, tuple(search.path(visit.stand)), aim, cost, start, visit.stand)

    def _best_aim(
        self, visits: list[Visit], jobs: list[Job], pose: Floats, start: Stand
    ) -> tuple[float, Visit, Job, Aim] | None:
        """Of all rays from these stands through the cells of these jobs, the cheapest that does its job."""
        parts, owners = [], []
        yaw_base, pitch_base = round(pose[3] % 5.0, 9), round(pose[4] % 5.0, 9)
        for number, visit in enumerate(visits):
            x, z, b = visit.stand
            rest = pose[:3] if visit.stand == start else np.array([x, b + EYE, z])
            bumps = solid(self.site.grid, x, b + 3, z)
            for air, rise in RISES.items():
                if air and bumps:
                    continue
                eye = (float(rest[0]), float(rest[1]) + rise, float(rest[2]))
                for which, job in enumerate(jobs):
                    if math.dist(eye, job.cell) > REACH + 0.9 or (job.cell, visit.stand) in self._banned_jobs:
                        continue
                    if air and job.color == 0 and job.cell[1] < b + 2:
                        continue  # nothing to be gained
                    offset = tuple(round(c - e, 6) for c, e in zip(job.cell, eye, strict=True))
                    aims = aims_through(offset, yaw_base, pitch_base)
                    if visit.pillars and visit.stand != start:
                        aims = aims[
                            aims[:, 1] > -62.0
                        ]  # steeper rays would meet the pillar, which is not there yet
                    if len(aims):
                        rays = np.empty((len(aims), 5))
                        rays[:, :3] = eye
                        rays[:, 3:] = aims
                        parts.append(rays)
                        owners.append((number, which, air, len(aims)))
        if not parts:
            return None
        return self._cheapest(np.concatenate(parts), owners, visits, jobs, pose)

    def _cheapest(
        self,
        rays: Floats,
        owners: list[tuple[int, int, int, int]],
        visits: list[Visit],
        jobs: list[Job],
        pose: Floats,
    ) -> tuple[float, Visit, Job, Aim] | None:
        table = np.array(owners)
        number, which, air = (np.repeat(table[:, column], table[:, 3]) for column in range(3))
        hit, before = self.site.eyes().cast(rays)
        cells = np.array([job.cell for job in jobs])[which]
        places = np.array([job.color != 0 for job in jobs])[which]
        good = (np.where(places[:, None], before, hit) == cells).all(axis=1)
        good &= ~(places & blocked_by_body(rays, cells))
        if not good.any():
            return None
        turns = np.rint(
            (np.abs(turn_deg(pose[3], rays[:, 3])) + np.abs(rays[:, 4] - pose[4])) / CAMERA_STEP_DEG
        )
        select = np.array([bool(job.color) and job.color != self.site.active for job in jobs])[which]
        # The camera turns while the builder rises: only what is longer than the rise costs more.
        fill = turns + select
        aim_cost = 1.0 + np.where(air > 0, np.maximum(fill, air - 1.0) + 1.0, fill)
        aim_cost += np.where(air > 0, 1.5, 0.0)
        cost = np.array([visit.cost for visit in visits])[number] + aim_cost
        cost += np.array([job.penalty for job in jobs])[which]
        cost[~good] = np.inf
        at = int(np.argmin(cost))
        aim = Aim(float(rays[at, 3]), float(rays[at, 4]), int(air[at]), float(aim_cost[at]))
        return float(cost[at]), visits[int(number[at])], jobs[int(which[at])], aim

    # -- doing

    def perform(self, way: Way) -> bool:
        """Go there and do it; undone, and False, when it does not come out as foreseen."""
        site = self.site
        moment = site.save()
        here = way.start
        for step in way.path:
            if not self._go(step):
                site.restore(moment)
                self._banned_steps.add((here, step))
                return False
            here = step.stand
        if self._aim_and_act(way):
            return True
        site.restore(moment)
        self._banned_jobs.add((way.job.cell, way.stand))
        return False

    def _aim_and_act(self, way: Way) -> bool:
        """Choose the aim anew from where the walker really stands, and act."""
        if self.site.color_at(way.job.cell) == way.job.color:
            return True  # done by a pillar on the way
        pose, stand = self._rest()
        if stand != way.stand:
            return False
        visit = Visit(0.0, stand, 0)
        found = self._best_aim([visit], [way.job], pose, stand)
        if found is None:
            return False
        return self._act(way.job, found[3])

    def _act(self, job: Job, aim: Aim) -> bool:
        """Turn, select, jump if need be, and use the hand."""
        site = self.site
        fill = self._turns(aim.yaw_deg, aim.pitch_deg)
        if job.color and site.active != job.color:
            fill.append(HOTBAR + job.color)
        if aim.air:
            ahead = max(0, len(fill) - (aim.air - 1))
            for action in fill[:ahead]:
                site.step(action)
            self._settle()
            site.step(JUMP)
            fill = fill[ahead:] + [NOOP] * (aim.air - 1 - len(fill[ahead:]))
        for action in fill:
            site.step(action)
        if not aim.air:
            self._settle()
        site.step(PLACE if job.color else BREAK)
        return site.changed(job)

    def _turns(self, yaw_deg: float, pitch_deg: float) -> list[int]:
        """The camera actions that lead to an aim."""
        yaw = round(float(turn_deg(self.site.pose[3], yaw_deg)) / CAMERA_STEP_DEG)
        pitch = round((pitch_deg - float(self.site.pose[4])) / CAMERA_STEP_DEG)
        return [TURN_RIGHT if yaw > 0 else TURN_LEFT] * abs(yaw) + [
            LOOK_UP if pitch > 0 else LOOK_DOWN
        ] * abs(pitch)

    def _settle(self, limit: int = 80) -> bool:
        """Wait until the walker rests: no vertical speed and no motion."""
        site = self.site
        for _ in range(limit):
            if site.speed == 0.0 and self._standing():
                return True
            site.step(NOOP)
        return False

    def _standing(self) -> bool:
        x, y, z = (int(v) for v in np.rint(self.site.pose[:3]))
        grid = self.site.grid
        return self.site.pose[1] == y - rules.PADDING and (
            solid(grid, x, y - 2, z) or solid(grid, x, y - 1, z)
        )

    # -- on foot

    def walk_to(self, stand: Stand) -> bool:
        """Go there over what stands already; False when there is no way, or it does not come out as foreseen."""
        here = self._rest()[1]
        search = Search(Terrain(self.site.grid), here, self._pillar_price, 0, set())
        while (visit := search.next_visit()) is not None and visit.stand != stand:
            pass
        return visit is not None and all(self._go(step) for step in search.path(stand))

    def pillar_up(self) -> bool:
        """Put one block under oneself."""
        x, z, b = self._rest()[1]
        return Terrain(self.site.grid).can_pillar((x, z, b)) and self._pillar((x, z, b + 1))

    def _go(self, step: Step) -> bool:
        if step.how == "pillar":
            return self._pillar(step.stand)
        if step.how == "jump":
            return self._climb(step.stand)
        if step.how == "walk":
            self._settle()
        self._stride(step.stand)
        return self._settle() and self._stand_of(self.site.pose) == step.stand

    def _stride(self, stand: Stand, limit: int = 64) -> None:
        """Press the keys that lead to a column's centre until none leads nearer."""
        pose = self.site.pose
        for _ in range(limit):
            dx, dz = stand[0] - float(pose[0]), stand[1] - float(pose[2])
            if max(abs(dx), abs(dz)) < NEAR_MISS:
                return
            key, gain = self._best_key(dx, dz)
            if gain < PACE / 2 + 1e-9:
                return
            before = pose[:3].copy()
            self.site.step(key)
            if np.array_equal(before, pose[:3]):
                return

    def _best_key(self, dx: float, dz: float) -> tuple[int, float]:
        """The key that goes farthest along (dx, dz), and how far that vector reaches along it, in cells."""
        best, gain = NOOP, 0.0
        for key, turned in KEYS:
            way = math.radians(float(self.site.pose[3]) + turned - 90.0)
            along = dx * math.cos(way) + dz * math.sin(way)
            if along > gain:
                best, gain = key, along
        return best, gain

    def _square_up(self, dx: float, dz: float, tolerance_deg: float) -> None:
        """Turn until one of the keys leads along (dx, dz)."""
        way = math.degrees(math.atan2(dz, dx)) + 90.0
        off = (way - float(self.site.pose[3]) + 45.0) % 90.0 - 45.0
        while abs(off) > tolerance_deg:
            self.site.step(TURN_RIGHT if off > 0 else TURN_LEFT)
            off -= math.copysign(CAMERA_STEP_DEG, off)

    def _climb(self, stand: Stand) -> bool:
        """Jump onto a block next to the one stood on."""
        pose = self.site.pose
        self._square_up(stand[0] - round(pose[0]), stand[1] - round(pose[2]), 12.0)
        if not self._settle():
            return False
        self.site.step(JUMP)
        for _ in range(20):
            dx, dz = stand[0] - float(pose[0]), stand[1] - float(pose[2])
            key, gain = self._best_key(dx, dz)
            arrived = max(abs(dx), abs(dz)) < NEAR_MISS or gain < PACE / 2 + 1e-9
            if arrived:
                break
            self.site.step(key)
        return self._settle() and self._stand_of(pose) == stand

    def _pillar(self, stand: Stand) -> bool:
        """Jump and place a block below, onto the one stood on: the wanted colour, else any."""
        cell = (stand[0], stand[2], stand[1])
        wanted = self.site.wanted_at(cell)
        color = wanted if wanted and self.site.held(wanted) > 0 else self.site.scaffold_color()
        if not color:
            return False
        pose, here = self._rest()
        job = Job(cell, color)
        found = self._best_aim([Visit(0.0, here, 0)], [job], pose, here)
        return (
            found is not None
            and self._act(job, found[3])
            and self._settle()
            and (self._stand_of(self.site.pose) == stand)
        )
