"""Short flights: a beam search over the sequences of acts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.beam import Grid, Node, acts_left
from iglu_marl.planning.bounds import bridges
from iglu_marl.planning.flights import Flair, Flights, Offer

# One after the other; those with `since` go on from the best plan so far.
FLAIRS = (
    Flair(side=0.3),
    Flair(hidden=1.0, mean=0.1),
    Flair(short=1.5, best_range=2.5),
    Flair(since=0.25),
    Flair(since=0.5),
    Flair(since=0.75, hidden=1.0),
    Flair(since=0.15, least=0.6, side=0.8),
    Flair(since=0.4, short=1.5),
    Flair(since=0.6, mean=0.0),
    Flair(since=0.3, side=0.3, hidden=1.0),
    Flair(since=0.8),
)

SAME_GRID = 4  # beginnings kept that lead to the same grid
SAME_PARENT = 12
WIDER = 4  # beginnings kept for one of `width`
EDITS, WIDEST = 20, 16
PATIENCE = 400  # acts in all searches together, about


class FlightSearch:
    """Keeps the most promising beginnings, one act longer each time, and goes on from the best plan's own later.

    Only what is kept is acted out, so that many ways can be weighed up. start: a world; width: as of `plan`, kept are
    `WIDER` times as many, and still more where there are few acts.
    """

    def __init__(self, start: Worlds, desired: Grid, width: int) -> None:
        self.desired, self.start = desired, start.grid[0].copy()
        self.flights = Flights(desired, self.start)
        self.world = start
        self.best: Node | None = None
        acts = acts_left(self.start, desired) + 2 * bridges(self.start, desired)
        self.width = WIDER * max(width, min(WIDEST, width * EDITS // max(1, acts)))
        self.flairs = FLAIRS[: max(4, PATIENCE // max(1, acts))]

    def run(self, flair: Flair, limit: int) -> tuple[list[Any], bool]:
        """The shortest actions found so far, by any search, that make the desired grid, and True.

        Where there are none below the limit, the most promising beginning before the search came to its end, and False.
        """
        root = self._beginning(flair.since)
        beam, last, best = [root], root, None
        known: dict[bytes, int] = {}  # grid -> after how many acts it was first reached
        for number in range(4 * limit):
            offers = [offer for node in beam for offer in self.flights.offers(node, flair)]
            beam, done = self._chosen(offers, number, limit, known)
            if done:
                best, limit = done, done.steps
            if not beam:
                break
            last = beam[0]
        self.best = best or self.best
        return (self.best.actions(), True) if self.best else (last.actions(), False)

    def _chosen(
        self, offers: list[Offer], number: int, limit: int, known: dict[bytes, int]
    ) -> tuple[list[Node], Node | None]:
        """What to go on from, the most promising first; and the shortest plan among the offers, below the limit."""
        beam: list[Node] = []
        best: Node | None = None
        alike: Counter[bytes | int] = Counter()
        poses: set[bytes] = set()
        for offer in sorted(offers, key=lambda offer: offer.price):
            grid = after(offer)
            key, left = grid.tobytes(), acts_left(grid, self.desired)
            if offer.node.steps + offer.steps + left >= limit or known.get(key, number) < number:
                continue  # too long, or in a circle
            if alike[key] >= SAME_GRID or alike[id(offer.node)] >= SAME_PARENT:
                continue
            new = self.flights.settle(offer)
            if new is None:
                continue
            known.setdefault(key, number)
            pose = key + np.round(new.pose, 1).tobytes()
            if not left:
                best, limit = new, new.steps
            elif pose not in poses:
                poses.add(pose)
                alike.update((key, id(offer.node)))
                beam.append(new)
            if len(beam) >= self.width:
                break
        return beam, best

    def _beginning(self, since: float) -> Node:
        """Where to begin: at a share of the acts of the best plan so far."""
        nodes = []
        node = self.best
        while node is not None and since:
            nodes.append(node)
            node = node.parent
        nodes.reverse()
        return nodes[int(since * (len(nodes) - 1))] if nodes else self.flights.root(self.world)


def after(offer: Offer) -> Grid:
    """The grid that an offer leads to."""
    grid = offer.node.grid.copy()
    x, y, z = offer.job.cell
    grid[y + 1, x + 5, z + 5] = offer.job.color
    return grid
