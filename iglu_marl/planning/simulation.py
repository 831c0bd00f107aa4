"""A simulated world for planning, with an action log and undo."""

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
    """The state for `Simulation.restore`."""

    state: WorldArray
    actions: int
    scaffolds: int


@lru_cache(maxsize=4)
def encoding(name: ControlsName) -> Controls:
    """Return an action encoding by name; cached, since its spaces are slow to make."""
    return Controls(name)


def step(state: WorldArray, controls: ControlsName, action: Any) -> None:
    """Step a world by one action."""
    step_at(state, 0, *encoding(controls).encode(action))


def has_done(state: WorldArray, job: Job) -> bool:
    """Return whether the last step did exactly this job."""
    x, y, z, old, new = state["change"][0].tolist()
    return (x, y, z) == job.cell and old != new and new == job.color


class Simulation:
    """A world, its desired grid, and the actions so far. Every change can be undone."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.desired = problem.desired
        self.actions: list[Any] = []
        self.scaffolds: list[Cell] = []  # filled cells that are to be air, in order
        self.state = problem.start.copy()
        self.grid = self.state["grid"][0]
        self.pose = self.state["pose"][0]
        self.inventory = self.state["inventory"][0]

    def step(self, *actions: Any) -> None:
        """Do and log actions."""
        for named in actions:
            action = (
                int(named) if isinstance(named, Action) else named
            )  # those of the space are plain integers
            step(self.state, self.problem.controls, action)
            self.actions.append(action)
            if self.state["event"][0] == PLACED:
                cell = tuple(self.state["change"][0, :3].tolist())
                if self.desired[index_of(cell)] == 0:
                    self.scaffolds.append(cell)

    def save(self) -> Snapshot:
        """Return a snapshot."""
        return Snapshot(self.state.copy(), len(self.actions), len(self.scaffolds))

    def restore(self, moment: Snapshot) -> None:
        """Undo everything since a snapshot."""
        self.state[:] = moment.state
        del self.actions[moment.actions :]
        del self.scaffolds[moment.scaffolds :]

    def color_at(self, cell: Cell) -> int:
        """Return the current colour of a cell."""
        return color_at(self.grid, cell)

    def wanted_at(self, cell: Cell) -> int:
        """Return the desired colour of a cell."""
        return color_at(self.desired, cell)

    def held(self, color: int) -> int:
        """Return the number of blocks of a colour in the inventory."""
        return int(self.inventory[color - 1])

    def replaceable(self, cell: Cell) -> bool:
        """Return whether a broken block can be put back; not if the inventory of its colour is negative."""
        wanted = self.wanted_at(cell)
        return wanted == 0 or self.color_at(cell) != wanted or self.held(wanted) >= 0

    @property
    def active(self) -> int:
        """The active colour."""
        return int(self.state["active"][0])

    @property
    def speed(self) -> float:
        """Vertical speed in cells/s."""
        return float(self.state["speed"][0])

    def difference(self) -> npt.NDArray[np.bool_]:
        """Return the cells that differ from the desired grid, bool [9, 11, 11]."""
        return self.grid != self.desired

    def scaffold_color(self) -> int:
        """Return the colour for scaffolds; 0 if the inventory is empty."""
        return scaffold_color(self.grid, self.desired, self.inventory, self.active)
