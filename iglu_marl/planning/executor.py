"""Carrying out edits step by step in a world that somebody else steps, planning anew when it goes another way."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.worlds import Worlds
from iglu_marl.planning.planner import plan
from iglu_marl.planning.problem import Plan, PlanLevel, WorldArray, desired_grid, level_of, private_state
from iglu_marl.planning.simulation import step

FELT = ("pose", "speed", "slices", "inventory", "active", "grid")  # what motion and hands depend on


class Executor:
    """Gives the next action towards some edits, until they are done.

    It plans at the first `next_action`, checks at every one that the world is where the plan expects it, and plans
    again from where it is otherwise, at most `replans` times. What shall result is fixed at the first call: the grid
    as it is then with the edits made; a block that somebody else adds later is removed again. level, width: as of
    `plan`.
    """

    def __init__(
        self,
        edits: Any,
        controls: ControlsName = "walking",
        level: PlanLevel = "fast",
        *,
        replans: int = 4,
        width: int | None = None,
    ) -> None:
        self.controls = controls
        self.level = level_of(level, width)
        self.plan: Plan | None = None
        self._edits = edits
        self._replans = replans
        self._desired: BlockGrid | None = None
        self._expected: WorldArray | None = None
        self._at = 0

    def next_action(self, world: Worlds) -> Any | None:
        """The next action in a world as it is now; None when the edits are done or no plan leads there (see `plan`)."""
        if self._desired is None:
            self._desired = desired_grid(world.grid[0], self._edits)
            self._make_plan(world)
        elif not self._as_expected(world):
            if self._replans <= 0:
                return None
            self._replans -= 1
            self._make_plan(world)
        if self.plan is None or not self.plan.built or self._at >= len(self.plan.actions):
            return None
        action = self.plan.actions[self._at]
        self._at += 1
        if self._expected is not None:
            step(self._expected, self.controls, action)
        return action

    def _make_plan(self, world: Worlds) -> None:
        self.plan = plan(world, self._desired, self.controls, self.level)
        self._expected = private_state(world)
        self._at = 0

    def _as_expected(self, world: Worlds) -> bool:
        """Whether what motion and hands depend on is what the last action led to."""
        expected = self._expected
        return expected is not None and all(
            np.array_equal(world.state[name][0], expected[name][0]) for name in FELT
        )
