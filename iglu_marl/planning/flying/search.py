"""Short flights: a beam search over sequences of acts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from iglu_marl.planning.flying.kernels import Weights
from iglu_marl.planning.flying.successors import Node, Offer, Successors
from iglu_marl.planning.problem import Problem, acts_between

SEARCHES = (  # one after the other
    Weights(side=0.3),
    Weights(mean=0.1),
    Weights(short=1.5, best_range=2.5),
    Weights(),
    Weights(least=0.6, side=0.8),
    Weights(short=1.5),
    Weights(mean=0.0),
)
BEAM_WIDTH = 12
SAME_GRID = 4  # nodes kept per grid
SAME_PARENT = 12  # nodes kept per parent


def shortest_flight(problem: Problem, limit: int) -> list[Any] | None:
    """Return the shortest plan found with fewer than `limit` actions, or None."""
    search = BeamSearch(problem, BEAM_WIDTH)
    for weights in SEARCHES:
        search.run(weights, limit)
        limit = search.best.steps if search.best else limit
    return search.best.actions() if search.best else None


class BeamSearch:
    """Extend the most promising nodes by one act per round; only nodes that are kept are simulated."""

    def __init__(self, problem: Problem, width: int) -> None:
        self.problem, self.width = problem, width
        self.successors = Successors(problem)
        self.best: Node | None = None

    def run(self, weights: Weights, limit: int) -> None:
        """Search for a plan with fewer than `limit` actions, and store it in `best`."""
        beam = [self.successors.root()]
        known: dict[bytes, int] = {}  # grid -> number of acts when it was first reached
        for number in range(4 * limit):
            offers = [offer for node in beam for offer in self.successors.offers(node, weights)]
            beam, done = self._select(offers, number, limit, known)
            if done:
                self.best, limit = done, done.steps
            if not beam:
                return

    def _select(
        self, offers: list[Offer], number: int, limit: int, known: dict[bytes, int]
    ) -> tuple[list[Node], Node | None]:
        """Return the next nodes, the most promising first, and the shortest plan among the offers, below the limit."""
        beam: list[Node] = []
        best: Node | None = None
        alike: Counter[bytes | int] = Counter()
        poses: set[bytes] = set()
        for offer in sorted(offers, key=lambda offer: offer.price):
            grid = offer.grid
            key, left = grid.tobytes(), acts_between(grid, self.problem.desired)
            if offer.node.steps + offer.steps + left >= limit or known.get(key, number) < number:
                continue  # too long, or a cycle
            if alike[key] >= SAME_GRID or alike[id(offer.node)] >= SAME_PARENT:
                continue
            new = self.successors.settle(offer)
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
