"""Carrying out edits step by step in a world that somebody else steps, planning anew when it goes another way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.controls import Controls, ControlsName
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.edits import Plan, desired_grid
from iglu_marl.planning.planner import plan
from iglu_marl.planning.site import private_world


class Executor:
    """Gives the next action towards some edits, until they are done.

    It plans at the first `next_action`, checks at every one that the world is where the plan expects it, and plans
    again from where it is otherwise, at most `replans` times. What shall result is fixed at the first call: the grid
    as it is then with the edits made; a block that somebody else adds later is removed again. width: as of `plan`.
    """

    def __init__(
        self, edits: Any, controls: ControlsName = "walking", *, replans: int = 4, width: int = 0
    ) -> None:
        self.controls = controls
        self._width = width
        self.plan: Plan | None = None
        self._edits = edits
        self._replans = replans
        self._encoding = Controls(controls)
        self._desired: npt.NDArray[np.int8] | None = None
        self._expected: Worlds | None = None
        self._at = 0

    def next_action(self, world: Worlds) -> Any | None:
        """The next action in a world as it is now; None when the edits are done or no plan leads there (see `plan`)."""
        if self._desired is None:
            self._desired = desired_grid(world.grid[0], self._edits)
            self._make_plan(world)
        elif self.plan is not None and not self._as_expected(world):
            if self._replans <= 0:
                return None
            self._replans -= 1
            self._make_plan(world)
        if self.plan is None or not self.plan.built or self._at >= len(self.plan.actions):
            return None
        action = self.plan.actions[self._at]
        self._at += 1
        self._foresee(action)
        return action

    def _make_plan(self, world: Worlds) -> None:
        self.plan = plan(world, self._desired, self.controls, width=self._width)
        self._expected = private_world(world)
        self._at = 0

    def _as_expected(self, world: Worlds) -> bool:
        """Whether the parts of the state that motion and hands depend on are what the last action led to."""
        expected = self._expected
        if expected is None:
            return False
        names = ("pose", "speed", "slices", "inventory", "active", "grid")
        return all(np.array_equal(world.state[name][0], expected.state[name][0]) for name in names)

    def _foresee(self, action: Any) -> None:
        records, index = self._encoding.encode(action)
        if self._expected is not None:
            step_at(self._expected.state, 0, records, index)
