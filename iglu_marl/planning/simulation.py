"""The private world that a plan is worked out in, with the log of what was done, and undo."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.actions import Action
from iglu_marl.core.controls import Controls, ControlsName
from iglu_marl.core.grid import Cell, color_at, index_of
from iglu_marl.core.kernels.records import PLACED
from iglu_marl.core.kernels.step import step_at
from iglu_marl.planning.problem import Job, Problem, WorldArray
from iglu_marl.planning.support import scaffold_color


class Snapshot(NamedTuple):
    """All that `Simulation.restore` puts back."""

    state: WorldArray
    actions: int
    scaffolds: int


@lru_cache(maxsize=4)
def encoding(name: ControlsName) -> Controls:
    """The action encoding of that name; its spaces take long to make."""
    return Controls(name)


def step(state: WorldArray, controls: ControlsName, action: Any) -> None:
    """One action in a world, by the kernel of the game."""
    step_at(state, 0, *encoding(controls).encode(action))


def has_done(state: WorldArray, job: Job) -> bool:
    """Whether the last step in a world did exactly this job."""
    x, y, z, old, new = state["change"][0].tolist()
    return (x, y, z) == job.cell and old != new and new == job.color


class Simulation:
    """One world, what it shall become, and the actions so far. Every way to change it can be undone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.desired = problem.desired
        self.actions: list[Any] = []
        self.scaffolds: list[Cell] = []  # cells filled though they shall be air, in order
        self.state = problem.start.copy()
        self.grid = self.state["grid"][0]
        self.pose = self.state["pose"][0]
        self.inventory = self.state["inventory"][0]

    def step(self, *actions: Any) -> None:
        """Actions, one after the other, logged."""
        for named in actions:
            action = int(named) if isinstance(named, Action) else named  # what the spaces have
            step(self.state, self.problem.controls, action)
            self.actions.append(action)
            if self.state["event"][0] == PLACED:
                cell = tuple(self.state["change"][0, :3].tolist())
                if self.desired[index_of(cell)] == 0:
                    self.scaffolds.append(cell)

    def save(self) -> Snapshot:
        """The moment, to come back to."""
        return Snapshot(self.state.copy(), len(self.actions), len(self.scaffolds))

    def restore(self, moment: Snapshot) -> None:
        """Undo everything since `moment`."""
        self.state[:] = moment.state
        del self.actions[moment.actions :]
        del self.scaffolds[moment.scaffolds :]

    def color_at(self, cell: Cell) -> int:
        """What a cell holds now."""
        return color_at(self.grid, cell)

    def wanted_at(self, cell: Cell) -> int:
        """What a cell shall hold at the end."""
        return color_at(self.desired, cell)

    def held(self, color: int) -> int:
        """Blocks of a colour in hand."""
        return int(self.inventory[color - 1])

    def replaceable(self, cell: Cell) -> bool:
        """Whether a block can be put back once it is broken; of a colour overdrawn by the start, none can."""
        wanted = self.wanted_at(cell)
        return wanted == 0 or self.color_at(cell) != wanted or self.held(wanted) >= 0

    @property
    def active(self) -> int:
        """The colour in hand."""
        return int(self.state["active"][0])

    @property
    def speed(self) -> float:
        """Vertical speed in cells/s."""
        return float(self.state["speed"][0])

    def difference(self) -> npt.NDArray[np.bool_]:
        """The cells that are not yet as they shall be, bool [9, 11, 11]."""
        return self.grid != self.desired

    def scaffold_color(self) -> int:
        """The colour that is best used where any will do; 0 when nothing is in hand."""
        return scaffold_color(self.grid, self.desired, self.inventory, self.active)
