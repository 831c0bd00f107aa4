"""A lower bound on the length of plans."""

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
    """A lower bound of the steps of any plan, by kind.

    Attributes:
        acts: one per placed or broken block; two if a block is replaced by another colour.
        scaffolds: two per cell that has to be filled temporarily, since a block is placed against one of 26 cells.
        selects: walking only; one per colour to be placed, except the active one.

    """

    acts: int
    scaffolds: int = 0
    selects: int = 0

    @property
    def steps(self) -> int:
        """The sum."""
        return self.acts + self.scaffolds + self.selects


def lower_bound(world: Any, edits: Any, controls: ControlsName = "walking") -> Bound:
    """Return a lower bound of the steps of any plan; arguments as for `plan`."""
    problem = Problem.of(world, edits, controls)
    grid, desired = problem.grid, problem.desired
    wrong, missing = grid != desired, (desired != 0) & (grid == 0)
    _, support = scaffold_prices(grid, missing, np.array(AROUND))
    scaffolds = int(support[missing].max(initial=0)) // SCAFFOLD
    placed = set(np.unique(desired[wrong & (desired != 0)]).tolist()) - {int(problem.start["active"][0])}
    return Bound(acts_between(grid, desired), 2 * scaffolds, len(placed) if controls == "walking" else 0)
