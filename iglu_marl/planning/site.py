"""The private world that a plan is worked out in, with the log of what was done, and undo."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls, ControlsName
from iglu_marl.core.grid import BLOCKS_PER_COLOR, Cell, as_grid
from iglu_marl.core.kernels import records as rules
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Worlds, as_pose
from iglu_marl.planning.sight import RayCaster
from iglu_marl.planning.support import scaffold_color


class Job(NamedTuple):
    """A cell to change now: to `color`, or to air when 0; `penalty` in actions says how little it is wanted yet."""

    cell: Cell
    color: int
    penalty: float = 0.0


class Snapshot(NamedTuple):
    """All that `Site.restore` puts back."""

    state: npt.NDArray[Any]
    actions: int
    filled: int


def private_world(world: Any) -> Worlds:
    """A copy to plan in: of world 0 of `Worlds`, or of a (grid, pose) pair with a full inventory less the blocks."""
    private = Worlds(1)
    if isinstance(world, Worlds):
        private.state[0] = world.state[0]
    else:
        grid, pose = world
        private.grid[0] = as_grid(grid)
        private.pose[0] = as_pose(pose)
        counts = np.bincount(private.grid[0].ravel(), minlength=7)[1:]
        private.inventory[0] = BLOCKS_PER_COLOR - counts
    # Nobody keeps the score here: an empty target in its place costs nothing per edit.
    for name in ("target", "invariant", "matches", "target_blocks", "best", "completion"):
        private.state[name] = 0
    return private


class Site:
    """One world, its controls, and the actions so far. Every way to change it can be undone."""

    def __init__(self, world: Any, controls: ControlsName, desired: npt.NDArray[np.int8]) -> None:
        self.worlds = private_world(world)
        self.controls = Controls(controls)
        self.desired = desired
        self.actions: list[Any] = []
        self.sight = RayCaster()
        self.scaffolds: list[Cell] = []  # cells filled though they shall be air, in order
        self._state = self.worlds.state
        self.grid = self.worlds.grid[0]
        self.pose = self.worlds.pose[0]
        self.inventory = self.worlds.inventory[0]
        self._shown = b""

    def step(self, action: Any) -> None:
        """One action, logged."""
        records, index = self.controls.encode(action)
        step_at(self._state, 0, records, index)
        self.actions.append(action)
        if self._state["event"][0] == rules.PLACED:
            x, y, z = (int(v) for v in self._state["change"][0, :3])
            if self.desired[y + 1, x + 5, z + 5] == 0:
                self.scaffolds.append((x, y, z))

    def save(self) -> Snapshot:
        """The moment, to come back to."""
        return Snapshot(self._state.copy(), len(self.actions), len(self.scaffolds))

    def restore(self, moment: Snapshot) -> None:
        """Undo everything since `moment`."""
        self._state[:] = moment.state
        del self.actions[moment.actions :]
        del self.scaffolds[moment.filled :]

    def eyes(self) -> RayCaster:
        """The ray caster, looking at the grid as it is now."""
        now = self.grid.tobytes()
        if now != self._shown:
            self.sight.look_at(self.grid)
            self._shown = now
        return self.sight

    def color_at(self, cell: Cell) -> int:
        """What a cell holds now."""
        x, y, z = cell
        return int(self.grid[y + 1, x + 5, z + 5])

    def wanted_at(self, cell: Cell) -> int:
        """What a cell shall hold at the end."""
        x, y, z = cell
        return int(self.desired[y + 1, x + 5, z + 5])

    def held(self, color: int) -> int:
        """Blocks of a colour in hand."""
        return int(self.inventory[color - 1])

    @property
    def active(self) -> int:
        """The colour in hand."""
        return int(self._state["active"][0])

    @property
    def speed(self) -> float:
        """Vertical speed in cells/s."""
        return float(self._state["speed"][0])

    def difference(self) -> npt.NDArray[np.bool_]:
        """The cells that are not yet as they shall be, bool [9, 11, 11]."""
        return self.grid != self.desired

    def scaffold_color(self) -> int:
        """The colour that is best used where any will do; 0 when nothing is in hand."""
        return scaffold_color(self.grid, self.desired, self.inventory, self.active)

    def changed(self, job: Job) -> bool:
        """Whether the last step did exactly this job."""
        x, y, z, old, new = (int(v) for v in self._state["change"][0])
        return (x, y, z) == job.cell and old != new and new == job.color
