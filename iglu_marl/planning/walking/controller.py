"""Walking with gravity: find a stand and an aim for a job, walk there, act.

`find` visits the stands in order of their distance. At each it computes the aim with the fewest camera steps, from the
ground and in a jump. `perform` walks there in the simulation.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from iglu_marl.core.actions import Action
from iglu_marl.core.grid import BlockGrid, Cell, index_of
from iglu_marl.core.kernels.cells import solid
from iglu_marl.core.kernels.motion import rise
from iglu_marl.core.kernels.records import EYE_HEIGHT, JUMP_SPEED, PADDING, STEP_S, WALK_SPEED
from iglu_marl.core.pose import Pose
from iglu_marl.planning.kernels import CAMERA_DEG
from iglu_marl.planning.problem import Job, WorldArray
from iglu_marl.planning.raycast import Floats
from iglu_marl.planning.simulation import Simulation, has_done, step
from iglu_marl.planning.walking import kernels
from iglu_marl.planning.walking.navigation import (
    PILLAR_COST,
    TIDY_COST,
    PathSearch,
    Stand,
    Step,
    Terrain,
    Visit,
)

PACE = WALK_SPEED * STEP_S  # cells per step
WALK_KEYS = (
    (Action.FORWARD, 0.0),
    (Action.RIGHT, 90.0),
    (Action.BACK, 180.0),
    (Action.LEFT, 270.0),
)  # ° from the yaw
EYE = EYE_HEIGHT + 1.0  # of the eye above the centre of the cell below the feet
AIR_STEPS = (5, 7)  # steps after the start of a jump: high enough to build below, and the top
AIR_COST = 1.5
OWN_PILLAR_GAIN, SPOILING_COST = 6.0, 100.0  # of pillars in cells that are to be filled
LONGEST_FALL = 80  # steps, jump included
WALL_COST, LOOSE_COST = 24.0, 6.0  # of a block in the way: to be put back, or wrong anyway
DISTANCE_COST = 3.0  # per cell, to rank jobs
LOWEST_FROM_PILLAR = -62.0  # steeper rays would hit the pillar, which is not in the grid yet
BATCH_STANDS = 12
MAX_JOBS = 14
ASKEW_DEG = 12.0  # tolerance of the direction of a jump
MOVES = (
    (Action.NOOP,),
    *((key,) for key, _ in WALK_KEYS),
    *((Action.JUMP, *[key] * 4) for key, _ in WALK_KEYS),
)  # from one place to the next
LONGEST_MOVE, MOST_PLACES = 30, 2000
MOST_STRIDES = 64  # steps to a column
NEAR_MISS = 0.13  # cells; the precision of steps of 1/4 cell


def jump_height(steps: int) -> float:
    """Return the height above the start of a jump, in cells, some steps after it."""
    return float(rise(JUMP_SPEED, steps))


@lru_cache(maxsize=1)
def jump_heights() -> dict[int, float]:
    """Return the height of a jump in cells by steps in the air; lazy, since it needs compiled kernels."""
    return {0: 0.0, **{steps: jump_height(steps) for steps in AIR_STEPS}}


class Aim(NamedTuple):
    """Camera steps of an aim, and the time of the act: `air` steps after the start of a jump, 0 = on the ground."""

    cost: float
    yaw: int
    pitch: int
    air: int


class Found(NamedTuple):
    """A job with its stand, aim and total cost."""

    cost: float
    visit: Visit
    job: Job
    aim: Aim


@dataclass(frozen=True)
class Way:
    """A way to do a job: a path between stands, and keys that lead off the centre of the last one."""

    job: Job
    path: tuple[Step, ...]
    cost: float
    start: Stand
    stand: Stand
    keys: tuple[Action, ...] = ()


def camera_actions(yaw: int, pitch: int) -> list[Action]:
    """Return the actions that turn by camera steps to the right and up."""
    around = Action.TURN_RIGHT if yaw > 0 else Action.TURN_LEFT
    return [around] * abs(yaw) + [Action.LOOK_UP if pitch > 0 else Action.LOOK_DOWN] * abs(pitch)


def stand_of(pose: Floats) -> Stand:
    """Return the stand of a walker at rest."""
    x, y, z = np.rint(pose[:3]).astype(int).tolist()
    return x, z, y - 2


def at_rest(state: WorldArray) -> bool:
    """Return whether the walker has no vertical speed and stands on something."""
    grid, pose = state["grid"][0], state["pose"][0]
    x, z, b = stand_of(pose)
    on_floor = solid(grid, x, b, z) or solid(grid, x, b + 1, z)
    return state["speed"][0] == 0.0 and bool(on_floor and pose[1] == b + 2 - PADDING)


def come_to_rest(state: WorldArray) -> int:
    """Let a walker of unknown vertical speed land, and return the maximal number of steps.

    It is 0 at rest, and at the default initial height, which is never passed in the air.
    """
    falling = state.copy()
    falling["speed"] = 0.0 if at_rest(state) or state["pose"][0, 1] == Pose().y else JUMP_SPEED
    for steps in range(LONGEST_FALL if falling["speed"] else 0):
        if at_rest(falling):
            state[:] = falling
            return steps
        step(falling, "walking", Action.NOOP)
    return 0


def places_near(state: WorldArray) -> Iterator[tuple[tuple[Action, ...], Floats]]:
    """Yield the places that are reachable by some moves, fewest first, each once: keys and pose."""
    known: set[bytes] = set()
    waiting: deque[tuple[tuple[Action, ...], WorldArray]] = deque([((), state)])
    while waiting and len(known) < MOST_PLACES:
        keys, before = waiting.popleft()
        for move in MOVES:
            after, pressed = before.copy(), list(move)
            for key in move:
                step(after, "walking", key)
            while not at_rest(after) and len(pressed) < LONGEST_MOVE:
                step(after, "walking", Action.NOOP)
                pressed.append(Action.NOOP)
            place = np.round(after["pose"][0, :3], 2).tobytes()
            if place not in known and at_rest(after):
                known.add(place)
                waiting.append(((*keys, *pressed), after))
                yield waiting[-1][0], after["pose"][0]


class Walker:
    """Do jobs on foot: `find` searches for the cheapest way, `perform` carries it out in the simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._banned_steps: set[tuple[Stand, Step]] = set()
        self._banned_jobs: set[tuple[Cell, Stand, tuple[Action, ...]]] = set()
        self._banned_for = b""  # the grid of these failures
        self._opened: Counter[Cell] = Counter()  # how often a block was broken on the way

    def find(self, jobs: list[Job]) -> Way | None:
        """Return the cheapest way to do one of the jobs from a stand, or None."""
        return self._find(self._possible(jobs), None)

    def find_anywhere(self, jobs: list[Job]) -> Way | None:
        """Return a way to do one of the jobs through walls, or from a place off the centre of a column."""
        jobs, start = self._possible(jobs), self._rest()[1]
        if (way := self._find(jobs, self._wall_price)) is not None:
            return way
        for keys, pose in places_near(self.simulation.state) if jobs else ():
            stand = stand_of(pose)
            found = self._best_at(Visit(float(len(keys)), stand, 0, keys), jobs, pose, stand)
            if found is not None:
                return Way(found.job, (), found.cost, start, stand, keys)
        return None

    def _find(self, jobs: list[Job], wall_price: Callable[[Cell], float] | None) -> Way | None:
        pose, stand = self._rest()
        jobs = sorted(jobs, key=lambda job: job.penalty + DISTANCE_COST * math.dist(pose[:3], job.cell))
        parts = (jobs[:MAX_JOBS], jobs[MAX_JOBS:])
        ways = (self._search(some, pose, stand, wall_price) for some in parts if some)
        return next((way for way in ways if way), None)

    def _possible(self, jobs: list[Job]) -> list[Job]:
        """Return the jobs for which there are blocks; forget failures in other grids."""
        known = self.simulation.grid.tobytes()
        if known != self._banned_for:
            self._banned_steps.clear()
            self._banned_jobs.clear()
            self._banned_for = known
        return [job for job in jobs if job.color == 0 or self.simulation.held(job.color) > 0]

    def ways_out(self) -> list[Job]:
        """Return blocks to break if the walker is walled in."""
        _, stand = self._rest()
        terrain = Terrain(self.simulation.grid)
        inside = terrain.solid(stand[0], stand[2] + 2, stand[1])
        if not inside and terrain.escapes(stand):
            return []
        return [Job(cell, 0, 10.0 * blocks) for blocks, cell in terrain.ways_out(stand)]

    def _rest(self) -> tuple[Floats, Stand]:
        if at_rest(self.simulation.state):
            return self.simulation.pose.copy(), self._stand()
        moment = self.simulation.save()
        self._settle()
        rest = self.simulation.pose.copy(), self._stand()
        self.simulation.restore(moment)
        return rest

    def _stand(self) -> Stand:
        return stand_of(self.simulation.pose)

    def _pillar_price(self, cell: Cell) -> float:
        wanted = self.simulation.wanted_at(cell)
        if wanted and self.simulation.held(wanted) > 0:
            return PILLAR_COST - OWN_PILLAR_GAIN
        return PILLAR_COST + (SPOILING_COST if wanted else TIDY_COST)

    def _wall_price(self, cell: Cell) -> float:
        if not self.simulation.replaceable(cell):
            return math.inf
        right = self.simulation.wanted_at(cell) == self.simulation.color_at(cell)
        return WALL_COST * (1 + self._opened[cell]) if right else LOOSE_COST

    def _search(
        self, jobs: list[Job], pose: Floats, start: Stand, wall_price: Callable[[Cell], float] | None
    ) -> Way | None:
        blocks = int(np.maximum(self.simulation.inventory, 0).sum())
        terrain = Terrain(self.simulation.grid)
        search = PathSearch(terrain, start, self._pillar_price, blocks, self._banned_steps, wall_price)
        least = min(job.penalty for job in jobs)
        best: Found | None = None
        while True:
            visits: list[Visit] = []
            while len(visits) < BATCH_STANDS:
                visit = search.next_visit()
                if visit is None or (best is not None and visit.cost + least + 1.0 >= best.cost):
                    break
                visits.append(visit)
                if best is None and visit.stand == start:
                    break  # often the job can be done from the current stand
            if not visits:
                break
            found = [self._best_at(visit, jobs, pose, start) for visit in visits]
            best = min((one for one in (best, *found) if one), key=lambda one: one.cost, default=None)
        if best is None:
            return None
        stand = best.visit.stand
        return Way(best.job, tuple(search.path(stand)), best.cost, start, stand)

    def _best_at(self, visit: Visit, jobs: list[Job], pose: Floats, start: Stand) -> Found | None:
        grid = self._grid_without(visit.walls)
        lowest = LOWEST_FROM_PILLAR if visit.pillars and visit.stand != start else -90.0
        yaw, pitch = pose[3:].tolist()
        best: Found | None = None
        for air, eye in self._eyes(visit, pose, start):
            for job in jobs:
                if not self._sensible(job, visit, air):
                    continue
                places = job.color != 0
                turns, right, up = kernels.best_aim(grid, eye, yaw, pitch, lowest, job.cell, places)
                fill = turns + (job.color not in (0, self.simulation.active))
                # The camera turns during the jump: only turns longer than the jump cost more.
                cost = max(fill, air - 1) + 2.0 + AIR_COST if air else fill + 1.0
                total = visit.cost + cost + job.penalty
                if turns < kernels.FAR and (best is None or total < best.cost):
                    best = Found(total, visit, job, Aim(cost, right, up, air))
        return best

    def _grid_without(self, walls: tuple[Cell, ...]) -> BlockGrid:
        grid = self.simulation.grid
        if walls:
            grid = grid.copy()
            grid[tuple(np.transpose([index_of(cell) for cell in walls]))] = 0
        return grid

    def _eyes(self, visit: Visit, pose: Floats, start: Stand) -> Iterator[tuple[int, tuple[float, ...]]]:
        """Yield the eye positions at a stand, with the steps after the start of a jump (0 = on the ground)."""
        x, z, b = visit.stand
        rest = pose[:3].tolist() if visit.stand == start else [float(x), b + EYE, float(z)]
        for air, height in jump_heights().items():
            if not (air and solid(self._grid_without(visit.walls), x, b + 3, z)):
                yield air, (rest[0], rest[1] + height, rest[2])

    def _sensible(self, job: Job, visit: Visit, air: int) -> bool:
        """Return whether to try a job from a stand: not after a failure, nor with a useless jump."""
        if (job.cell, visit.stand, visit.keys) in self._banned_jobs or job.cell in visit.walls:
            return False
        return not (air and job.color == 0 and job.cell[1] < visit.stand[2] + 2)

    def perform(self, way: Way) -> bool:
        """Go there and do the job. If it fails, undo it and return False."""
        moment = self.simulation.save()
        here = way.start
        for part in way.path:
            if not self._go(part):
                self.simulation.restore(moment)
                self._banned_steps.add((here, part))
                return False
            here = part.stand
        if self.simulation.color_at(way.job.cell) == way.job.color:
            return True  # done by a pillar on the way
        self.simulation.step(*way.keys)
        if self._act(way.job, way.stand):
            return True
        self.simulation.restore(moment)
        self._banned_jobs.add((way.job.cell, way.stand, way.keys))
        return False

    def _act(self, job: Job, stand: Stand) -> bool:
        """Do a job from the actual position: turn, select, jump if necessary, and act."""
        pose, here = self._rest()
        found = self._best_at(Visit(0.0, here, 0), [job], pose, here) if here == stand else None
        if found is None:
            return False
        return self._carry_out(job, found.aim)

    def _carry_out(self, job: Job, aim: Aim) -> bool:
        """Turn, select, jump and act; return whether that did the job."""
        simulation = self.simulation
        _, yaw, pitch, air = aim
        fill = camera_actions(yaw, pitch)
        if job.color not in (0, simulation.active):
            fill.append(Action.hotbar(job.color))
        if air:
            first = max(0, len(fill) - (air - 1))
            simulation.step(*fill[:first])
            self._settle()
            rest = fill[first:]
            simulation.step(Action.JUMP, *rest, *[Action.NOOP] * (air - 1 - len(rest)))
        else:
            simulation.step(*fill)
            self._settle()
        simulation.step(Action.PLACE if job.color else Action.BREAK)
        return has_done(simulation.state, job)

    def _settle(self) -> bool:
        """Wait until the walker rests."""
        for _ in range(LONGEST_FALL):
            if at_rest(self.simulation.state):
                return True
            self.simulation.step(Action.NOOP)
        return False

    def walk_to(self, stand: Stand) -> bool:
        """Go to a stand without changing blocks. Returns False if that fails."""
        search = PathSearch(Terrain(self.simulation.grid), self._rest()[1], self._pillar_price)
        while (visit := search.next_visit()) is not None and visit.stand != stand:
            pass
        return visit is not None and all(self._go(step) for step in search.path(stand))

    def pillar_up(self) -> bool:
        """Jump and place a block below."""
        x, z, b = self._rest()[1]
        return Terrain(self.simulation.grid).can_pillar((x, z, b)) and self._pillar((x, z, b + 1))

    def _go(self, step: Step) -> bool:
        if step.how == "pillar":
            return self._pillar(step.stand)
        if step.how == "open" and not self._open(step.stand):
            return False
        if step.how == "jump" and not self._jump(step.stand):
            return False
        if step.how == "walk":
            self._settle()
        self._stride(step.stand)
        return self._settle() and self._stand() == step.stand

    def _open(self, behind: Stand) -> bool:
        here = self._rest()[1]
        walls = (wall for wall, stand in Terrain(self.simulation.grid).openings(here) if stand == behind)
        wall = next(walls, [])
        self._opened.update(wall)
        return all(self._act(Job(cell, 0), here) for cell in wall)

    def _stride(self, stand: Stand) -> None:
        """Press the keys that lead to a column's centre until none leads nearer."""
        pose = self.simulation.pose
        for _ in range(MOST_STRIDES):
            before = pose[:3].copy()
            dx, dz = stand[0] - float(pose[0]), stand[1] - float(pose[2])
            for key in self._keys_along(dx, dz) if max(abs(dx), abs(dz)) >= NEAR_MISS else ():
                self.simulation.step(key)
                if not np.array_equal(before, pose[:3]):
                    break  # otherwise something is in the way
            else:
                return

    def _keys_along(self, dx: float, dz: float) -> list[Action]:
        """Return the keys that lead along an offset in cells, the best first."""
        ways = (
            (math.radians(float(self.simulation.pose[3]) + turned - 90.0), key) for key, turned in WALK_KEYS
        )
        along = [(dx * math.cos(way) + dz * math.sin(way), key) for way, key in ways]
        return [key for gain, key in sorted(along, reverse=True) if gain >= PACE / 2 + 1e-9]

    def _jump(self, stand: Stand) -> bool:
        pose = self.simulation.pose
        way = math.degrees(math.atan2(stand[1] - round(pose[2]), stand[0] - round(pose[0]))) + 90.0
        off = (way - float(pose[3]) + 45.0) % 90.0 - 45.0
        count = max(0, math.ceil((abs(off) - ASKEW_DEG) / CAMERA_DEG))
        self.simulation.step(*camera_actions(count if off > 0 else -count, 0))
        if not self._settle():
            return False
        self.simulation.step(Action.JUMP)
        return True

    def _pillar(self, stand: Stand) -> bool:
        """Jump and place a block below, of the desired colour if possible."""
        simulation = self.simulation
        cell = (stand[0], stand[2], stand[1])
        wanted = simulation.wanted_at(cell)
        color = wanted if wanted and simulation.held(wanted) > 0 else simulation.scaffold_color()
        here = self._rest()[1]
        return color != 0 and self._act(Job(cell, color), here) and self._settle() and self._stand() == stand
