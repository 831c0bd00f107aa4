"""The graph of places where a walker can stand.

A *stand* (x, z, b) is the column x, z with the feet on top of the cell at height b; b + 1 and b + 2 are free. Stands
in mid-air are reached by pillars: the walker jumps and places a block under itself.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from iglu_marl.core.actions import Action
from iglu_marl.core.grid import MAX_X, MAX_Y, BlockGrid, Cell, in_zone
from iglu_marl.core.kernels.cells import solid
from iglu_marl.core.kernels.records import GROUND_Y, LIMIT

Stand = tuple[int, int, int]

EDGE = MAX_X + LIMIT  # limit of walkable columns

# In actions; FALL_COST by height.
WALK_COST = 4.0
JUMP_COST = 9.0
FALL_COST = (0.0, 4.0, 6.0, 8.0, 9.0, 11.0, 12.0, 13.0, 14.0, 15.0)
PILLAR_COST = 10.0
PILLAR_AIM_COST = 12.0  # to look down and up again, once per pillar
TIDY_COST = 6.0  # to remove a scaffold later


class Step(NamedTuple):
    """An edge of a path to `stand`; `how` is "walk", "fall", "jump", "pillar" or "open"."""

    how: str
    stand: Stand


class Terrain:
    """The stands of one grid."""

    def __init__(self, grid: BlockGrid) -> None:
        self._grid = grid

    def solid(self, x: int, y: int, z: int) -> bool:
        """Return whether a cell stops a body."""
        return y < GROUND_Y or bool(solid(self._grid, x, y, z))

    def roomy(self, x: int, y: int, z: int) -> bool:
        """Return whether a body with its legs at y fits."""
        return not self.solid(x, y, z) and not self.solid(x, y + 1, z)

    def floor_below(self, x: int, y: int, z: int) -> int:
        """Return the height of the first solid cell below (x, y, z)."""
        while not self.solid(x, y - 1, z):
            y -= 1
        return y - 1

    def steps(self, stand: Stand) -> Iterator[tuple[float, Step]]:
        """Yield the edges from a stand without pillars, with their costs in actions."""
        x, z, b = stand
        for nx, nz in ((x, z - 1), (x + 1, z), (x, z + 1), (x - 1, z)):
            if abs(nx) > EDGE or abs(nz) > EDGE:
                continue
            if self.roomy(nx, b + 1, nz):
                floor = self.floor_below(nx, b + 1, nz)
                how = "walk" if floor == b else "fall"
                yield WALK_COST + FALL_COST[b - floor], Step(how, (nx, nz, floor))
            elif self.solid(nx, b + 1, nz) and self.roomy(nx, b + 2, nz) and not self.solid(x, b + 3, z):
                yield JUMP_COST, Step("jump", (nx, nz, b + 1))

    def openings(self, stand: Stand) -> Iterator[tuple[list[Cell], Stand]]:
        """Yield walls next to a stand that could be broken: their blocks, and the stand behind."""
        x, z, b = stand
        for nx, nz in ((x, z - 1), (x + 1, z), (x, z + 1), (x - 1, z)):
            wall = [(nx, y, nz) for y in (b + 2, b + 1) if self.solid(nx, y, nz)]
            if wall and all(in_zone(*cell) for cell in wall):
                yield wall, (nx, nz, self.floor_below(nx, b + 1, nz))

    def can_pillar(self, stand: Stand) -> bool:
        """Return whether the walker can jump here and place a block under itself."""
        x, z, b = stand
        return b < MAX_Y and max(abs(x), abs(z)) <= MAX_X and not self.solid(x, b + 3, z)

    def escapes(self, stand: Stand) -> bool:
        """Return whether the walker can leave the build zone by walking and pillars."""
        seen, todo = {stand}, [stand]
        while todo:
            x, z, b = here = todo.pop()
            if max(abs(x), abs(z)) > MAX_X:
                return True
            above = [(x, z, b + 1)] if self.can_pillar(here) else []
            for other in (*above, *(step.stand for _, step in self.steps(here))):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return False

    def ways_out(self, stand: Stand) -> list[tuple[int, Cell]]:
        """Return blocks to break first to escape from walls, with the number of blocks on each way out."""
        x, z, b = stand
        own = [(0, (x, y, z)) for y in (b + 2, b + 1) if self.solid(x, y, z)]
        ways = []
        for dx, dz in ((0, -1), (1, 0), (0, 1), (-1, 0)):
            columns = [(x + k * dx, z + k * dz) for k in range(1, 2 * EDGE)]
            cells = [
                (cx, y, cz) for cx, cz in columns for y in (b + 2, b + 1) if max(abs(cx), abs(cz)) <= MAX_X
            ]
            wall = [cell for cell in cells if self.solid(*cell)]
            near = [cell for cell in wall if (cell[0], cell[2]) == columns[0]] or wall[:1]
            ways += [(len(wall), cell) for cell in near]
        return own or sorted(ways)


class Visit(NamedTuple):
    """A stand reached by a search.

    cost: in actions. pillars: blocks placed on the way. keys: lead off the centre of the column. walls: blocks broken.
    """

    cost: float
    stand: Stand
    pillars: int
    keys: tuple[Action, ...] = ()
    walls: tuple[Cell, ...] = ()


class PathSearch:
    """Dijkstra's algorithm over stands.

    Args:
        terrain: the stands.
        start: the first stand.
        pillar_price: cell -> price of a block under the feet.
        blocks: number of blocks for pillars.
        banned: (stand, step) pairs that are not allowed.
        wall_price: cell -> price of breaking a block in the way; None = no block is broken.

    """

    def __init__(
        self,
        terrain: Terrain,
        start: Stand,
        pillar_price: Callable[[Cell], float],
        blocks: int = 0,
        banned: Collection[tuple[Stand, Step]] = (),
        wall_price: Callable[[Cell], float] | None = None,
    ) -> None:
        self.terrain, self._start = terrain, start
        self._price, self._blocks, self._banned, self._wall_price = pillar_price, blocks, banned, wall_price
        self._came: dict[Stand, tuple[Stand, Step]] = {}
        self._queue = [Visit(0.0, start, 0)]
        self._done: set[Stand] = set()
        self._best: dict[Stand, float] = {start: 0.0}

    def next_visit(self) -> Visit | None:
        """Return the nearest stand that is not visited yet, or None."""
        while self._queue:
            visit = heapq.heappop(self._queue)
            if visit.stand not in self._done:
                self._done.add(visit.stand)
                self._expand(visit)
                return visit
        return None

    def _expand(self, visit: Visit) -> None:
        cost, stand, pillars, _, walls = visit
        for price, step in self.terrain.steps(stand):
            self._offer(cost + price, stand, step, pillars, walls)
        if (wall_price := self._wall_price) is not None:
            for wall, behind in self.terrain.openings(stand):
                price = WALK_COST + FALL_COST[stand[2] - behind[2]] + sum(map(wall_price, wall))
                self._offer(cost + price, stand, Step("open", behind), pillars, (*walls, *wall))
        if pillars < self._blocks and self.terrain.can_pillar(stand):
            x, z, b = stand
            came = self._came.get(stand)
            aim = 0.0 if came and came[1].how == "pillar" else PILLAR_AIM_COST
            step = Step("pillar", (x, z, b + 1))
            self._offer(cost + self._price((x, b + 1, z)) + aim, stand, step, pillars + 1, walls)

    def _offer(self, cost: float, origin: Stand, step: Step, pillars: int, walls: tuple[Cell, ...]) -> None:
        stand = step.stand
        if stand in self._done or cost >= self._best.get(stand, float("inf")):
            return
        if (origin, step) in self._banned:
            return
        self._best[stand] = cost
        self._came[stand] = (origin, step)
        heapq.heappush(self._queue, Visit(cost, stand, pillars, walls=walls))

    def path(self, stand: Stand) -> list[Step]:
        """Return the path to a stand."""
        steps: list[Step] = []
        while stand != self._start:
            stand, step = self._came[stand]
            steps.append(step)
        return steps[::-1]
