"""Short plans: a beam search over the sequences of acts, with a mover that knows how to get from one to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from iglu_marl.core.grid import cell_index
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.bounds import bridges
from iglu_marl.planning.edits import supported_cells, touched_cells
from iglu_marl.planning.order import shuts_in
from iglu_marl.planning.site import Job
from iglu_marl.planning.support import EDGES, FACES, carries, chain_to, scaffold_color

PACE = 1.4  # steps that an act still to be done counts, when unequal progress is compared
LEAST = 2.0  # steps that it takes in any case, when a beginning is given up as too long
SHUT_COST = 8.0
EDITS, WIDEST = 20, 16
SAME_GRID = 1  # beginnings kept that lead to the same grid

Grid = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Node:
    """A way to begin the plan.

    state: the world [1] before the `tail` (actions that are not settled yet: the mover may still change them), grid and
    inventory: after it. steps: of all actions, the tail's too. body: the actions since the parent, without the tail.
    """

    state: npt.NDArray[Any]
    grid: Grid
    inventory: npt.NDArray[np.int16]
    pose: npt.NDArray[np.float64]
    active: int
    steps: int = 0
    body: tuple[Any, ...] = ()
    tail: tuple[Any, ...] = ()
    parent: Node | None = None
    outlook: float = 0.0

    def actions(self) -> list[Any]:
        """All actions from the start."""
        parts: list[tuple[Any, ...]] = [self.tail]
        node: Node | None = self
        while node is not None:
            parts.append(node.body)
            node = node.parent
        return [action for part in reversed(parts) for action in part]


class Moves(Protocol):
    """How to get on from a node."""

    def root(self, world: Worlds) -> Node:
        """The empty beginning."""

    def expand(self, node: Node, jobs: list[Job]) -> Iterator[Node]:
        """Ways to do one of the jobs next."""


class Beam:
    """Keeps the `width` most promising beginnings, one act longer each time.

    A task of fewer than `EDITS` edits is searched more widely, in the same time. tidy_last: scaffolds stay until
    everything else is done.
    """

    def __init__(self, moves: Moves, desired: Grid, width: int, tidy_last: bool = False) -> None:
        self.moves, self.desired, self.width, self.tidy_last = moves, desired, width, tidy_last

    def run(self, world: Worlds, limit: int, first: Grid | None = None) -> tuple[list[Any], bool]:
        """The shortest actions found, fewer than `limit`, that make the desired grid, and True.

        Where there are none, the most promising beginning before the search came to its end, and False. first: the grid
        of the task's beginning, where that is not the world's: what was built since, and shall not be, is scaffold.
        """
        root = self.moves.root(world)
        start = root.grid if first is None else first
        beam, last, best = [root], root, None
        acts = acts_left(root.grid, self.desired) + 2 * bridges(root.grid, self.desired)
        width = max(self.width, min(WIDEST, self.width * EDITS // max(1, acts)))
        known: dict[bytes, int] = {}  # grid -> after how many acts it was first reached
        for number in range(4 * limit):
            grown: dict[bytes, tuple[float, Node]] = {}
            for node in beam:
                for new in self.moves.expand(node, self._jobs(node, start)):
                    left = acts_left(new.grid, self.desired)
                    if new.steps + LEAST * left >= limit:
                        continue  # too long
                    if known.setdefault(new.grid.tobytes(), number) < number:
                        continue  # in a circle
                    if not left:
                        best, limit = new, new.steps
                        continue
                    price = new.steps + PACE * left + new.outlook
                    key = new.grid.tobytes() + np.round(new.pose, 1).tobytes()
                    if key not in grown or price < grown[key][0]:
                        grown[key] = price, new
            ranked = sorted(grown.values(), key=lambda entry: entry[0])
            beam, alike = [], Counter[bytes]()
            for _, node in ranked:
                alike[node.grid.tobytes()] += 1
                if alike[node.grid.tobytes()] <= SAME_GRID and len(beam) < width:
                    beam.append(node)
            if not beam:
                break
            last = beam[0]
        return (last.actions(), False) if best is None else (best.actions(), True)

    def _jobs(self, node: Node, start: Grid) -> list[Job]:
        jobs = open_jobs(node.grid, self.desired, start, node.inventory)
        if self.tidy_last and ((self.desired != 0) & (node.grid == 0)).any():
            scaffolds = (node.grid != 0) & (self.desired == 0) & (start == 0)
            jobs = [job for job in jobs if job.color or not scaffolds[cell_index(*job.cell)]]
        return jobs


def acts_left(grid: Grid, desired: Grid) -> int:
    """How many placements and removals lead from one grid to another at least."""
    wrong = grid != desired
    return int(wrong.sum()) + int((wrong & (grid != 0) & (desired != 0)).sum())


def open_jobs(grid: Grid, desired: Grid, start: Grid, inventory: npt.NDArray[np.int16]) -> list[Job]:
    """What can be done now: edits, the removal of scaffolds that have served, else one more scaffold."""
    filled = grid != 0
    near, touched = supported_cells(filled), touched_cells(filled)
    wrong = grid != desired
    missing = wrong & ~filled
    waiting = bool((missing & ~near).any())
    cells = {(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(wrong)}
    jobs, removals, held = [], [], False
    for x, y, z in sorted(cells):
        at = y + 1, x + 5, z + 5
        color = int(desired[at])
        if missing[at]:
            if touched[at] and inventory[color - 1] > 0:
                shut = SHUT_COST if shuts_in(filled, (x, y, z), cells) else 0.0
                jobs.append(Job((x, y, z), color, shut))
                held = held or near[at]
        elif not (waiting and start[at] == 0) and (color or not carries(filled, desired, (x, y, z))):
            removals.append(Job((x, y, z), 0))
    jobs += removals
    if waiting and not held:
        color = scaffold_color(grid, desired, inventory)
        for links in (FACES, FACES + EDGES) if color else ():
            chain = chain_to(grid, desired, inventory, frozenset(), links)
            jobs += [Job(chain[0], color)] if chain and Job(chain[0], color) not in jobs else []
    return jobs
