"""`plan`: from edits to a checked sequence of actions, with a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls, ControlsName
from iglu_marl.core.errors import PlanningError
from iglu_marl.core.grid import Cell, in_zone
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.beam import Beam
from iglu_marl.planning.edits import SIDES, Plan, desired_grid, supported_cells
from iglu_marl.planning.flight_search import FlightSearch
from iglu_marl.planning.flying import Flier
from iglu_marl.planning.order import SHUT_COST, shuts_in
from iglu_marl.planning.outlook import Taste
from iglu_marl.planning.proofs import prove_impossible
from iglu_marl.planning.site import Job, Site, private_world
from iglu_marl.planning.strolls import Strolls
from iglu_marl.planning.support import carries, chain_to
from iglu_marl.planning.trimming import Trimmer
from iglu_marl.planning.vantage import shortest_from_above
from iglu_marl.planning.walking import Walker


class Mover(Protocol):
    """What the `Builder` needs of walking and flying."""

    def find(self, jobs: list[Job]) -> Any:
        """The cheapest way to do one of the jobs (it has `.job` and `.cost`), or None."""

    def perform(self, way: Any) -> bool:
        """Do it in the site's world; undone and False when it fails."""

    def ways_out(self) -> list[Job]:
        """Blocks to break when the builder is walled in; none when it is not."""


MAX_RETURNS = 4  # of a scaffold to one and the same cell


MOVERS: dict[str, Callable[[Site], Mover]] = {"walking": Walker, "flying": Flier}
WIDTH = 3  # of the search for shorter plans
TASTES = (Taste(side=0.7), Taste(side=0.7, least=0.5, mean=0.5), Taste(hidden=1.5, climb=1.5))  # of a walker
FEW, MANY = 3, 8  # edits for which one taste is enough, and for which it pays to climb


def plan(
    world: Any,
    edits: Any,
    controls: ControlsName = "walking",
    *,
    max_actions: int = 20_000,
    width: int = WIDTH,
) -> Plan:
    """Actions that make the edits, and nothing else, in a world.

    world: `Worlds` (index 0 is planned for, in any state; it is not changed), or a pair (grid, pose) that stands for a
        fresh episode with this starting grid.
    edits: `Edit`s or rows (x, y, z, color), 0 = remove; or a whole target grid [9, 11, 11].
    controls: "walking" (actions are integers 0..17) or "flying" (dicts).
    max_actions: budget; a longer plan is given up.
    width: how many beginnings the search for a shorter plan keeps at a time; 0 takes the first plan that is found.

    The verdict "built" is given after a simulation of all actions with the kernel. Raises `PlanningError` for
    controls that cannot be planned and for edits that make no sense.
    """
    if controls not in MOVERS:
        raise PlanningError(f"controls is {controls!r}, expected one of {', '.join(MOVERS)}")
    start = private_world(world)
    desired = desired_grid(start.grid[0], edits)
    reason, proof = prove_impossible(start, desired, controls)
    if proof:
        return Plan([], "impossible", reason, controls=controls, proof=proof)
    site = Site(start, controls, desired)
    reason = Builder(site, MOVERS[controls](site), max_actions).build()
    actions = site.actions
    if width:
        reason, actions = shortened(start, desired, controls, width, actions, reason, max_actions)
    filled = built_on_the_way(start, actions, controls, desired)
    if not reason and filled is None:
        reason = "the plan did not survive its check by simulation"
    return Plan(actions, "unresolved" if reason else "built", reason, filled or [], controls)


def shortened(
    start: Worlds,
    desired: npt.NDArray[np.int8],
    controls: ControlsName,
    width: int,
    actions: list[Any],
    reason: str,
    max_actions: int,
) -> tuple[str, list[Any]]:
    """A shorter plan than `actions` where one is found (or one at all, where there is a `reason` for none)."""
    edits = int(np.count_nonzero(start.grid[0] != desired))
    few = edits <= FEW
    from_above: list[int] | None = None
    if controls == "walking" and edits >= MANY:
        from_above = shortest_from_above(start, desired, width, max_actions if reason else len(actions))
        if from_above:
            reason, actions = "", list(from_above)
    for search in searches(start, desired, controls, width, few):
        limit = max_actions if reason else len(actions)
        found, reached = search(limit)
        if not reached and not from_above:  # the rest by the surer way
            site = Site(start, controls, desired)
            for action in found:
                site.step(action)
            reached = not Builder(site, MOVERS[controls](site), limit).build()
            found = site.actions
        if reached and (reason or len(found) < len(actions)):
            reason, actions = "", found
    if controls == "walking" and not reason:
        actions = Trimmer(start, actions).trim()
    return reason, actions


def searches(
    start: Worlds, desired: npt.NDArray[np.int8], controls: ControlsName, width: int, few: bool
) -> Iterator[Callable[[int], tuple[list[Any], bool]]]:
    """The searches to make, one after the other; each takes a limit and returns as `Beam.run` does."""
    if controls == "flying":
        flight = FlightSearch(start, desired, width)
        yield from (partial(flight.run, flair) for flair in flight.flairs[: 1 if few else None])
    else:
        for taste in TASTES[: 1 if few else None]:
            yield partial(Beam(Strolls(desired, taste), desired, width).run, start)


def built_on_the_way(
    world: Any, actions: list[Any], controls: ControlsName, desired: npt.NDArray[np.int8]
) -> list[Cell] | None:
    """By the kernel: the scaffolds that the actions use, in order; None unless they turn the grid into `desired`."""
    site = Site(world, controls, desired)
    for action in actions:
        site.step(action)
    return list(dict.fromkeys(site.scaffolds)) if np.array_equal(site.grid, desired) else None


def replays(world: Any, actions: list[Any], controls: ControlsName, desired: npt.NDArray[np.int8]) -> bool:
    """Whether the actions turn the world's grid into `desired`, by the kernel."""
    copy, encoding = private_world(world), Controls(controls)
    for action in actions:
        records, index = encoding.encode(action)
        step_at(copy.state, 0, records, index)
    return bool(np.array_equal(copy.grid[0], desired))


class Builder:
    """The loop that chooses what to do next: the cheapest useful job, else a scaffold, else clearing the way."""

    def __init__(self, site: Site, mover: Mover, max_actions: int) -> None:
        self.site = site
        self.mover = mover
        self.max_actions = max_actions
        self._original = site.grid.copy()  # without what is gone since
        self._cleared: Counter[Cell] = Counter()
        self._scaffolded: Counter[Cell] = Counter()
        self._holes: dict[Cell, frozenset[Cell]] = {}  # cell kept open -> the cells for which it is

    def build(self) -> str:
        """Work until everything is as desired; returns "" or why not."""
        site = self.site
        rounds = 60 + 8 * int(site.difference().sum())
        for _ in range(rounds):
            if not site.difference().any():
                return ""
            if len(site.actions) > self.max_actions:
                return f"no plan within {self.max_actions} actions"
            attempts = (self._regular, self._get_out, self._scaffold, self._tidy, self._clear)
            if not any(attempt() for attempt in attempts):
                return f"no way found to {self._remaining()}"
        return f"no plan within {rounds} edits; left to do: {self._remaining()}"

    def _remaining(self) -> str:
        cells = [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(self.site.difference())]
        words = [f"{'remove' if self.site.color_at(cell) else 'place'} {cell}" for cell in cells[:4]]
        return ", ".join(words) + (f" and {len(cells) - 4} more" if len(cells) > 4 else "")

    # -- attempts, most wanted first; each returns whether something was done

    def _try(self, jobs: list[Job]) -> bool:
        for _ in range(16):
            way = self.mover.find(jobs)
            if way is None:
                return False
            if self.mover.perform(way):
                self._original[self.site.grid == 0] = 0  # what fills this cell from now on is a scaffold
                return True
        return False

    def _regular(self) -> bool:
        return self._try(self._jobs())

    def _get_out(self) -> bool:
        """Break out of where the builder is walled in; the hole stays until all that is left now is done."""
        jobs = [job for job in self.mover.ways_out() if in_zone(*job.cell)]
        return self._open_hole(jobs, self._stuck())

    def _scaffold(self) -> bool:
        """Place the first block of the shortest chain that gives a missing block something to hold on to."""
        color = self.site.scaffold_color()
        chain = self._chain() if color else []
        if not chain or self._scaffolded[chain[0]] >= MAX_RETURNS:
            return False
        self._scaffolded[chain[0]] += 1
        return self._try([Job(chain[0], color)])

    def _tidy(self) -> bool:
        return self._try(self._leftovers())

    def _clear(self) -> bool:
        """Break a wanted block near what cannot be reached, and keep the hole until that is done."""
        stuck = self._stuck()
        ring, seen = set(stuck), set(stuck)
        for _ in range(5):
            ring = {(x + dx, y + dy, z + dz) for x, y, z in ring for dx, dy, dz in SIDES} - seen
            ring = {cell for cell in ring if in_zone(*cell) and self.site.color_at(cell)}
            seen |= ring
            jobs = [Job(cell, 0, 30.0 * self._cleared[cell]) for cell in sorted(ring)]
            if self._open_hole(jobs, stuck):
                return True
        return False

    def _stuck(self) -> frozenset[Cell]:
        """All that is left to do, holes aside."""
        cells = [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(self.site.difference())]
        return frozenset(cell for cell in cells if cell not in self._holes)

    def _replaceable(self, cell: Cell) -> bool:
        """Whether a block can be put back once it is broken; of a colour overdrawn by the start, none can."""
        wanted = self.site.wanted_at(cell)
        return wanted == 0 or self.site.color_at(cell) != wanted or self.site.held(wanted) >= 0

    def _open_hole(self, jobs: list[Job], purpose: frozenset[Cell]) -> bool:
        """Break one of these blocks, and keep the hole until its purpose is achieved."""
        jobs = [job for job in jobs if self._replaceable(job.cell)]
        if not jobs:
            return False
        for _ in range(3):
            way = self.mover.find(jobs)
            if way is None:
                return False
            if self.mover.perform(way):
                cell = way.job.cell
                self._cleared[cell] += 1
                self._original[self.site.grid == 0] = 0
                if self.site.wanted_at(cell):
                    self._holes[cell] = purpose - {cell}
                return True
        return False

    # -- what there is to do

    def _jobs(self) -> list[Job]:
        """The edits that can be made now, scaffolds left aside."""
        site = self.site
        filled = site.grid != 0
        cells = np.argwhere(site.difference())
        self._close_holes()
        near = supported_cells(filled)
        heights = [int(y) - 1 for y, x, z in cells if site.desired[y, x, z] and not filled[y, x, z]]
        lowest = min(heights, default=0)
        open_cells = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in cells}
        jobs = []
        for iy, ix, iz in cells:
            x, y, z = int(ix) - 5, int(iy) - 1, int(iz) - 5
            color = int(site.desired[iy, ix, iz])
            if not filled[iy, ix, iz]:
                if (x, y, z) in self._holes:
                    continue
                if near[iy, ix, iz] and site.held(color) > 0:
                    shut = SHUT_COST if shuts_in(filled, (x, y, z), open_cells) else 0.0
                    jobs.append(Job((x, y, z), color, 4.0 * (y - lowest) + shut))
            elif color or self._original[iy, ix, iz]:
                jobs.append(Job((x, y, z), 0, 30.0 if carries(filled, site.desired, (x, y, z)) else 0.0))
        return jobs

    def _close_holes(self) -> None:
        """Forget the holes that have served their purpose."""
        for hole, purpose in list(self._holes.items()):
            if all(self.site.color_at(cell) == self.site.wanted_at(cell) for cell in purpose):
                del self._holes[hole]

    def _leftovers(self) -> list[Job]:
        """Scaffolds to remove."""
        site = self.site
        cells = np.argwhere((site.grid != 0) & (site.desired == 0) & (self._original == 0))
        return [Job((int(x) - 5, int(y) - 1, int(z) - 5), 0) for y, x, z in cells]

    def _chain(self) -> list[Cell]:
        """Empty cells, from one that is supported, that lead to a missing block without support; fewest first."""
        return chain_to(self.site.grid, self.site.desired, self.site.inventory, self._holes)
