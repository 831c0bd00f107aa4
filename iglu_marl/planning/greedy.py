"""The greedy builder: the cheapest useful job next, otherwise a scaffold, otherwise clearing the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from iglu_marl.core.grid import Cell, cells_of, in_zone, index_of
from iglu_marl.planning.flying.controller import Flier
from iglu_marl.planning.problem import Job
from iglu_marl.planning.simulation import Simulation
from iglu_marl.planning.stepping import Hopper, Slider
from iglu_marl.planning.support import (
    carries,
    neighbours,
    scaffold_for,
    shut_off,
    shuts_in,
    supported_cells,
)
from iglu_marl.planning.walking.controller import Walker

Find = Callable[[list[Job]], Any]  # of a `Controller`

MAX_RETURNS = 4  # scaffolds at the same cell
HEIGHT_COST, SHUT_COST, CARRIER_COST, CLEARED_COST = 4.0, 50.0, 30.0, 30.0  # in actions
MAX_WAYS, CLEARING_WAYS = 16, 3  # ways to try for a list of jobs
CLEARING_RINGS = 5
TIDYING = 4  # blocks broken to remove a scaffold


class Controller(Protocol):
    """The interface of walking and flying."""

    def find(self, jobs: list[Job]) -> Any:
        """Return the cheapest way to do one of the jobs (with `.job` and `.cost`), or None."""

    def find_anywhere(self, jobs: list[Job]) -> Any:
        """Return a way to do one of the jobs from places that `find` skips, or None; this is slow."""

    def perform(self, way: Any) -> bool:
        """Carry out a way in the simulation. If it fails, undo it and return False."""

    def ways_out(self) -> list[Job]:
        """Return blocks to break if the builder is walled in."""


CONTROLLERS: dict[str, Callable[[Simulation], Controller]] = {
    "walking": Walker,
    "flying": Flier,
    "discrete": Hopper,
    "continuous": Slider,
}


def build(simulation: Simulation, max_actions: float) -> str:
    """Work until the grid is as desired, from the current state; returns "" or the reason of failure."""
    return GreedyBuilder(simulation).build(max_actions)


class GreedyBuilder:
    """The loop that chooses the next job."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.controller = CONTROLLERS[simulation.problem.controls](simulation)
        self._cleared: Counter[Cell] = Counter()
        self._scaffolded: Counter[Cell] = Counter()
        self._holes: dict[Cell, frozenset[Cell]] = {}  # cell kept open -> the cells that need it

    def build(self, max_actions: float) -> str:
        """Work until the grid is as desired; returns "" or the reason of failure."""
        simulation = self.simulation
        rounds = 60 + 8 * int(simulation.difference().sum())
        done: Counter[tuple[bytes, str]] = Counter()  # successful attempts by grid
        for _ in range(rounds):
            if not simulation.difference().any():
                return ""
            if len(simulation.actions) > max_actions:
                return f"no plan within {max_actions:.0f} actions"
            attempts = (
                self._edit,
                self._get_out,
                self._scaffold,
                self._tidy,
                self._clear,
                self._scaffold_beside,
            )
            now = simulation.grid.tobytes()
            # Attempts that have led back to this grid come last.
            ranked = sorted((done[now, attempt.__name__], number) for number, attempt in enumerate(attempts))
            finds = (self.controller.find, self.controller.find_anywhere)
            chosen = (attempts[number] for find in finds for _, number in ranked if attempts[number](find))
            if (attempt := next(chosen, None)) is None:
                return f"no way found to {self._describe_rest()}"
            done[now, attempt.__name__] += 1
        return f"no plan within {rounds} edits; left to do: {self._describe_rest()}"

    def _left(self) -> list[Cell]:
        return [(x, y, z) for x, y, z in cells_of(self.simulation.difference()).tolist()]

    def _describe_rest(self) -> str:
        cells = self._left()
        words = [f"{'remove' if self.simulation.color_at(cell) else 'place'} {cell}" for cell in cells[:4]]
        return ", ".join(words) + (f" and {len(cells) - 4} more" if len(cells) > 4 else "")

    def _do(self, jobs: list[Job], find: Find, ways: int = MAX_WAYS) -> Job | None:
        for _ in range(ways if jobs else 0):
            way = find(jobs)
            if way is None:
                return None
            if self.controller.perform(way):
                done: Job = way.job
                return done
        return None

    def _edit(self, find: Find) -> bool:
        return self._do(self._edits(), find) is not None

    def _get_out(self, find: Find) -> bool:
        """Break out if the builder is walled in; the hole stays open until the current rest is done."""
        jobs = [job for job in self.controller.ways_out() if in_zone(*job.cell)]
        return self._open_hole(jobs, self._stuck(), find)

    def _scaffold(self, find: Find) -> bool:
        """Place the first block of the shortest chain of scaffolds that supports a missing block."""
        simulation = self.simulation
        color = simulation.scaffold_color()
        grid, desired, held = simulation.grid, simulation.desired, simulation.inventory
        cell = scaffold_for(grid, desired, held, self._holes) if color else None
        if cell is None or self._scaffolded[cell] >= MAX_RETURNS:
            return False
        return self._place_scaffold([Job(cell, color)], find)

    def _scaffold_beside(self, find: Find) -> bool:
        """Place a block beside a missing one whose neighbours are hidden, once per cell."""
        simulation = self.simulation
        color, air = simulation.scaffold_color(), simulation.grid == 0
        stuck = [cell for cell in self._stuck() if air[index_of(cell)]]
        beside = {other for cell in stuck for other in neighbours(cell) if not self._scaffolded[other]}
        jobs = [Job(cell, color) for cell in sorted(beside) if color and air[index_of(cell)]]
        return self._place_scaffold([job for job in jobs if not simulation.wanted_at(job.cell)], find)

    def _place_scaffold(self, jobs: list[Job], find: Find) -> bool:
        job = self._do(jobs, find)
        self._scaffolded.update([job.cell] if job else [])
        return job is not None

    def _tidy(self, find: Find) -> bool:
        """Break all scaffolds that can be reached, so that as many blocks as can be are in hand again.

        Undone when that takes as many others.
        """
        simulation = self.simulation
        start, left = simulation.save(), len(self._left())
        for _ in range(TIDYING * len(scaffolds := set(simulation.scaffolds))):
            jobs = [Job(cell, 0) for cell in self._left() if cell in scaffolds | set(simulation.scaffolds)]
            if not self._do(jobs, find):
                break
        if len(self._left()) < left:
            return True
        simulation.restore(start)
        return False

    def _clear(self, find: Find) -> bool:
        """Break a correct block near unreachable cells, and keep the hole open until these are done."""
        stuck, filled = self._stuck(), self.simulation.grid != 0
        ring = set(stuck).union(*(shut_off(filled, cell) for cell in stuck if not filled[index_of(cell)]))
        seen = set(ring)
        for _ in range(CLEARING_RINGS):
            ring = {other for cell in ring for other in neighbours(cell)} - seen
            ring = {cell for cell in ring if self.simulation.color_at(cell)}
            seen |= ring
            jobs = [Job(cell, 0, CLEARED_COST * self._cleared[cell]) for cell in sorted(ring)]
            if self._open_hole(jobs, stuck, find):
                return True
        return False

    def _stuck(self) -> frozenset[Cell]:
        return frozenset(cell for cell in self._left() if cell not in self._holes)

    def _open_hole(self, jobs: list[Job], purpose: frozenset[Cell], find: Find) -> bool:
        """Break one of these blocks, and keep the hole open until its purpose is achieved."""
        jobs = [job for job in jobs if self.simulation.replaceable(job.cell)]
        job = self._do(jobs, find, CLEARING_WAYS)
        if job is None:
            return False
        self._cleared[job.cell] += 1
        if self.simulation.wanted_at(job.cell):
            self._holes[job.cell] = purpose - {job.cell}
        return True

    def _edits(self) -> list[Job]:
        simulation = self.simulation
        self._close_holes()
        filled, wanted, scaffolds = simulation.grid != 0, simulation.desired != 0, set(simulation.scaffolds)
        near = supported_cells(filled)
        left = set(self._left())
        lowest = min((cell[1] for cell in left if not filled[index_of(cell)]), default=0)
        jobs = []
        for cell in sorted(left, key=index_of):
            color = simulation.wanted_at(cell)
            if filled[index_of(cell)]:
                if color or cell not in scaffolds:
                    jobs.append(Job(cell, 0, CARRIER_COST if carries(filled, wanted, cell) else 0.0))
            elif cell not in self._holes and near[index_of(cell)] and simulation.held(color) > 0:
                shut = SHUT_COST if shuts_in(filled, cell, left) else 0.0
                jobs.append(Job(cell, color, HEIGHT_COST * (cell[1] - lowest) + shut))
        return jobs

    def _close_holes(self) -> None:
        left = set(self._left())
        self._holes = {hole: purpose for hole, purpose in self._holes.items() if purpose & left}
