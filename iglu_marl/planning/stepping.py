"""The encodings of 2021, which move by whole cells: sliding through blocks, and hopping from cell to cell.

Both turn by any angle in one step. So a job costs the way to a place with a view of it, and one step.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.grid import BlockGrid, Cell, cells_of, in_zone, index_of
from iglu_marl.core.kernels.cells import solid
from iglu_marl.core.kernels.motion import hop
from iglu_marl.planning.flying.controller import Flier, Hover, aim_points
from iglu_marl.planning.kernels import REACH
from iglu_marl.planning.problem import Job
from iglu_marl.planning.raycast import Floats, turn_deg
from iglu_marl.planning.simulation import Simulation, has_done

_AROUND = np.array(
    [*product((-3, -2, -1, 0, 1, 2, 3), (-1.5, -0.75, 0.0, 0.6, 1.2, 2.2, 3.5), (-3, -2, -1, 0, 1, 2, 3))]
)
_LOW, _HIGH = np.array([-5.0, -0.25, -5.0]), np.array([5.0, 8.75, 5.0])  # bounds of sliding
# For yaw 0: (move, strafe) of `Discrete(3)`, and the kernel's (back, right).
_HOPS = (((1, 0), (-1.0, 0.0)), ((2, 0), (1.0, 0.0)), ((0, 1), (0.0, 1.0)), ((0, 2), (0.0, -1.0)))

# Costs in hops: a temporary block, a block in a cell that needs another colour, breaking a correct block.
STAIR_COST, SPOILING_COST, WALL_COST = 4.0, 30.0, 8.0
MOST_FILLED = 3  # blocks stacked at once
PLACES_AT_ONCE = 150
KINDS = ("", "fill", "break")  # work before a hop

Place = tuple[float, float, float]
Keys = tuple[int, int]
Changes = tuple[tuple[Cell, int], ...]


class Stepper(Flier, ABC):
    """Base of builders that move in whole steps and turn at once."""

    def _turns(self, looks: Floats) -> Floats:
        return np.zeros(len(looks))

    def _act_now(self, way: Hover) -> None:
        yaw = float(turn_deg(self.simulation.pose[3], way.yaw_deg))
        hands = {"use": int(bool(way.job.color)), "attack": int(not way.job.color), "hotbar": way.job.color}
        self.simulation.step({**self._still(), **hands, "camera": self._camera_by(yaw, way.pitch_deg)})

    def _camera_by(self, yaw_deg: float, pitch_deg: float) -> Any:
        return np.array((yaw_deg, pitch_deg - self.simulation.pose[4]), np.float32)

    @abstractmethod
    def _still(self) -> dict[str, Any]:
        """Return the action that does nothing."""


class Slider(Stepper):
    """Slide along the axes, one cell per step and through blocks."""

    def perform(self, way: Hover) -> bool:
        """Go there and do the job. If it fails, undo it and return False."""
        start = self.simulation.save()
        if self._go(way.eye):
            self._act_now(way)
            if has_done(self.simulation.state, way.job):
                self._banned.clear()
                return True
        self.simulation.restore(start)
        self._banned.add((way.job.cell, way.eye))
        return False

    def ways_out(self) -> list[Job]:
        """Return nothing: a slider passes through blocks."""
        return []

    def _still(self) -> dict[str, Any]:
        zero = np.array(0.0, np.float32)
        return {
            "move_x": zero,
            "move_y": zero,
            "move_z": zero,
            "camera": np.zeros(2, np.float32),
        } | dict.fromkeys(("use", "attack", "hotbar"), 0)

    def _steps(self, eyes: Floats) -> Floats:
        steps: Floats = np.ceil(np.abs(eyes - self.simulation.pose[:3]).max(axis=1) - 1e-6)
        return steps

    def _eyes_near(self, job: Job) -> Floats:
        eyes = np.concatenate([self.simulation.pose[None, :3], np.clip(_AROUND + job.cell, _LOW, _HIGH)])
        apart = np.linalg.norm(eyes - job.cell, axis=1)
        eyes = eyes[(apart > 0.9) & (apart < REACH)]
        filled = {tuple(cell) for cell in cells_of(self.simulation.grid != 0).tolist()}
        free = [tuple(cell) not in filled for cell in np.rint(eyes).astype(int).tolist()]
        found: Floats = eyes[np.array(free, bool)]
        return found

    def _go(self, eye: Place) -> bool:
        pose = self.simulation.pose
        for _ in range(40):
            way = np.array(eye) - pose[:3]
            if np.abs(way).max() < 1e-5:
                return True
            x, y, z = (np.array(part, np.float32) for part in np.clip(way, -1.0, 1.0))
            self.simulation.step({**self._still(), "move_x": x, "move_y": y, "move_z": z})
        return False


class Route(NamedTuple):
    """The cheapest way to a place: its origin, the jobs there, and the keys of the hop.

    changes: (cell, color) of all jobs on the way, 1 for any colour; filled: number of blocks placed.
    """

    cost: float
    place: Place
    origin: Place | None = None
    jobs: tuple[Job, ...] = ()
    keys: Keys = (0, 0)
    changes: Changes = ()
    filled: int = 0


def set_cells(grid: BlockGrid, changes: Iterable[tuple[Cell, int]]) -> None:
    """Put colours into cells of a grid."""
    for cell, color in changes:
        grid[index_of(cell)] = color


class Hopper(Stepper):
    """Hop from cell to cell, climb one block at a time, and fall at once.

    If no hops lead to a job, search for the cheapest way with a few blocks placed as a stair or broken out of a wall.
    """

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._routes: dict[Place, Route] = {}
        self._places: Floats = np.empty((0, 3))  # candidates for the eye
        self._banned_hops: set[tuple[Place, Keys, tuple[Job, ...]]] = set()
        self._opened: Counter[Cell] = Counter()  # how often a block was broken on a way

    def find(self, jobs: list[Job]) -> Hover | None:
        """Return the cheapest way to do one of the jobs; the highest blocks are broken first."""
        top = max((job.cell[1] for job in jobs), default=0)
        jobs = [job if job.color else job._replace(penalty=job.penalty + top - job.cell[1]) for job in jobs]
        for work in (False, True):
            self._routes, search = {}, self._search(work)
            while batch := [route.place for route in islice(search, PLACES_AT_ONCE)]:
                self._places = np.array(batch)
                if (way := super().find(jobs)) is not None:
                    return way
        return None

    def perform(self, way: Hover) -> bool:
        """Go there, with the work on the way, and do the job. If it fails, undo it and return False."""
        start = self.simulation.save()
        for route in self._path(way.eye):
            if not self._follow(route):
                self.simulation.restore(start)
                assert route.origin is not None
                self._banned_hops.add((route.origin, route.keys, route.jobs))
                return False
        if self.simulation.color_at(way.job.cell) != way.job.color and not self._use(way.job):
            self.simulation.restore(start)
            self._banned.add((way.job.cell, way.eye))
            return False
        self._opened.update(job.cell for route in self._path(way.eye) for job in route.jobs if not job.color)
        self._banned.clear()
        self._banned_hops.clear()
        return True

    def _search(self, work: bool) -> Iterator[Route]:
        """Yield routes to places, the nearest first: those with work on the way, or those without."""
        scratch = self.simulation.state.copy()
        pose, grid = scratch["pose"][0], scratch["grid"][0]
        blocks = int(np.maximum(self.simulation.inventory, 0).sum())
        here: Place = tuple(pose[:3].tolist())
        known = {here: Route(0.0, here)}
        todo = [(0.0, here)]
        while todo:
            cost, place = heapq.heappop(todo)
            route = known[place]
            if place in self._routes:
                continue
            self._routes[place] = route
            if not work or route.changes:
                yield route
            set_cells(grid, route.changes)
            for (keys, (back, right)), kind in product(_HOPS, KINDS if work else KINDS[:1]):
                jobs = self._work(grid, place, back, right, kind)
                filled = route.filled + sum(job.color != 0 for job in jobs)
                if (kind and not jobs) or filled > blocks or (place, keys, jobs) in self._banned_hops:
                    continue
                set_cells(grid, ((job.cell, job.color) for job in jobs))
                pose[:3], pose[3] = place, 0.0
                hop(scratch[0], back, right, True)
                set_cells(grid, ((job.cell, 1 - bool(job.color)) for job in jobs))
                reached: Place = tuple(pose[:3].tolist())
                price = cost + 1.0 + sum(job.penalty for job in jobs)
                if reached not in known or price < known[reached].cost:
                    changes = (*route.changes, *((job.cell, job.color) for job in jobs))
                    known[reached] = Route(price, reached, place, jobs, keys, changes, filled)
                    heapq.heappush(todo, (price, reached))
            set_cells(grid, ((cell, self.simulation.color_at(cell)) for cell, _ in route.changes))

    def _work(self, grid: BlockGrid, place: Place, back: float, right: float, kind: str) -> tuple[Job, ...]:
        """Return the jobs before a hop: fill a column to climb onto, or break the blocks in the way."""
        x, eye, z = round(place[0]), round(place[1]), round(place[2])
        inside = solid(grid, x, eye, z)  # the view is blocked
        x, z = x + int(right), z + int(back)
        if not kind or inside or not in_zone(x, -1, z):
            return ()
        blocked = [cell for cell in ((x, eye, z), (x, eye - 1, z)) if solid(grid, *cell)]
        if kind == "break":
            chosen = (cell for cell in blocked if in_zone(*cell) and self.simulation.replaceable(cell))
            return tuple(Job(cell, 0, self._price_to_break(cell)) for cell in chosen)
        low = eye - 1
        while not solid(grid, x, low - 1, z):
            low -= 1
        if blocked or not in_zone(x, eye - 1, z) or eye - low > MOST_FILLED:
            return ()
        return tuple(Job((x, y, z), 1, self._price_to_fill((x, y, z))) for y in range(low, eye))

    def _price_to_break(self, cell: Cell) -> float:
        right = self.simulation.wanted_at(cell) == self.simulation.color_at(cell)
        return WALL_COST * (1 + self._opened[cell]) if right else 1.0

    def _price_to_fill(self, cell: Cell) -> float:
        wanted = self.simulation.wanted_at(cell)
        return STAIR_COST if not wanted else 1.0 if self.simulation.held(wanted) > 0 else SPOILING_COST

    def _steps(self, eyes: Floats) -> Floats:
        return np.array([self._routes[tuple(eye)].cost for eye in eyes.tolist()])

    def _eyes_near(self, job: Job) -> Floats:
        near: Floats = self._places[np.linalg.norm(self._places - job.cell, axis=1) < REACH]
        return near

    def _best_of(
        self, job: Job, eyes: Floats, steps: Floats, points: Floats, normals: Floats
    ) -> Hover | None:
        """Return the best of some places, with the grid changed by the work on the way to each."""
        groups: dict[Changes, list[int]] = {}
        for number, eye in enumerate(eyes.tolist()):
            groups.setdefault(self._routes[tuple(eye)].changes, []).append(number)
        best: Hover | None = None
        for changes, chosen in sorted(groups.items(), key=lambda group: float(steps[group[1]].min())):
            if best is not None and steps[chosen].min() + 1.0 + job.penalty >= best.cost:
                break
            if job.cell not in dict(changes):
                found = self._seen(job, eyes[chosen], steps[chosen], changes)
                best = min((way for way in (best, found) if way), key=lambda way: way.cost, default=None)
        return best

    def _seen(self, job: Job, eyes: Floats, steps: Floats, changes: Changes = ()) -> Hover | None:
        """Return the best of some places, with a few cells changed."""
        before = [(cell, self.simulation.color_at(cell)) for cell, _ in changes]
        set_cells(self.simulation.grid, changes)
        found = super()._best_of(job, eyes, steps, *aim_points(self.simulation.grid, job))
        set_cells(self.simulation.grid, before)
        return found

    def _path(self, eye: Place) -> list[Route]:
        route, path = self._routes[eye], []
        while route.origin is not None:
            path.append(route)
            route = self._routes[route.origin]
        return path[::-1]

    def _follow(self, route: Route) -> bool:
        simulation = self.simulation
        for cell, filled, _ in route.jobs:
            wanted = simulation.wanted_at(cell)
            color = wanted if wanted and simulation.held(wanted) > 0 else simulation.scaffold_color()
            if not self._use(Job(cell, color if filled else 0)):
                return False
        north = np.array((float(turn_deg(simulation.pose[3], 0.0)), 0.0), np.float32)
        step, strafe = route.keys
        simulation.step({**self._still(), "move": step, "strafe": strafe, "jump": 1, "camera": north})
        return bool(np.abs(simulation.pose[:3] - route.place).max() < 1e-4)

    def _use(self, job: Job) -> bool:
        way = self._seen(job, self.simulation.pose[None, :3].copy(), np.zeros(1))
        if way is not None:
            self._act_now(way)
        return way is not None and has_done(self.simulation.state, job)

    def _still(self) -> dict[str, Any]:
        keys = ("move", "strafe", "jump", "use", "attack", "hotbar")
        return dict.fromkeys(keys, 0) | {"camera": np.zeros(2, np.float32)}
