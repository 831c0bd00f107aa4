"""A lower bound on the length of plans: no sequence of actions makes the edits in fewer steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iglu_marl.core.controls import ControlsName
from iglu_marl.planning.kernels import SCAFFOLD
from iglu_marl.planning.problem import Problem, acts_between
from iglu_marl.planning.support import AROUND, scaffold_prices


@dataclass(frozen=True)
class Bound:
    """How many steps any plan takes at least, and what they are spent on.

    acts: one block is placed or broken in a step; two acts where a block makes room for another colour. scaffolds: two
    for every cell that has to be filled for a time, because a block is placed against one of the 26 cells around it.
    selects: walking only, one for every colour to be placed but the one in hand.
    """

    acts: int
    scaffolds: int = 0
    selects: int = 0

    @property
    def steps(self) -> int:
        """The bound: the sum of all."""
        return self.acts + self.scaffolds + self.selects


def lower_bound(world: Any, edits: Any, controls: ControlsName = "walking") -> Bound:
    """A number of steps that no plan is shorter than; arguments as of `plan`. 0 when there is nothing to do."""
    problem = Problem.of(world, edits, controls)
    grid, desired = problem.grid, problem.desired
    wrong, missing = grid != desired, (desired != 0) & (grid == 0)
    _, support = scaffold_prices(grid, missing, np.array(AROUND))
    scaffolds = int(support[missing].max(initial=0)) // SCAFFOLD
    placed = set(np.unique(desired[wrong & (desired != 0)]).tolist()) - {int(problem.start["active"][0])}
    return Bound(acts_between(grid, desired), 2 * scaffolds, len(placed) if controls == "walking" else 0)
