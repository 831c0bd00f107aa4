"""Step-by-step execution of edits, with a new plan whenever the world differs from the expectation."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl.core.actions import Action
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import BlockGrid
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning.planner import plan
from iglu_marl.planning.problem import Plan, PlanLevel, WorldArray, check_level, desired_grid, planning_state
from iglu_marl.planning.simulation import step
from iglu_marl.planning.walking.controller import come_to_rest

COMPARED = ("pose", "speed", "slices", "inventory", "active", "grid")  # fields that affect motion and acts


class Executor:
    """Return the next action towards some edits, until they are done.

    The first `next_action` makes a plan. Each call checks that the world is as the plan expects, and plans again
    otherwise, at most `replans` times. The first call also fixes the goal: its grid with the edits made. A block that
    somebody else adds later is removed.

    Args:
        edits: see `plan`.
        controls: see `plan`.
        level: see `plan`.
        replans: maximal number of further plans.

    """

    def __init__(
        self,
        edits: Any,
        controls: ControlsName = "walking",
        level: PlanLevel = "fast",
        *,
        replans: int = 4,
    ) -> None:
        self.controls = controls
        self.level = check_level(level)
        self.plan: Plan | None = None
        self._edits = edits
        self._replans = replans
        self._desired: BlockGrid | None = None
        self._expected: WorldArray | None = None
        self._at = 0

    def next_action(self, world: Any) -> Any | None:
        """Return the next action, None if the edits are done or no plan is found (see `plan`).

        world: the builder's observation or `Worlds`, as for `plan`; the same type in every call.
        """
        seen = planning_state(world)
        if self._desired is None:
            self._desired = desired_grid(seen["grid"][0], self._edits)
        if not self._as_expected(seen, isinstance(world, Worlds)):
            if self._expected is not None:
                if self._replans <= 0:
                    return None
                self._replans -= 1
            self._expected = None
            if self.controls == "walking" and not isinstance(world, Worlds) and come_to_rest(seen.copy()):
                return int(Action.NOOP)  # wait for the landing: the vertical speed is not observed
            self.plan = plan(world, self._desired, self.controls, self.level)
            self._expected, self._at = seen, 0
        if self.plan is None or not self.plan.built or self._at >= len(self.plan.actions):
            return None
        action = self.plan.actions[self._at]
        self._at += 1
        if self._expected is not None:
            step(self._expected, self.controls, action)
        return action

    def _as_expected(self, seen: WorldArray, exact: bool) -> bool:
        """Return whether the world is as expected after the last action, as far as it is observed."""
        expected = self._expected
        if expected is None:
            return False
        one, other = (Pose(*state["pose"][0].tolist()) for state in (seen, expected))
        same_hand = seen["active"][0] in (0, expected["active"][0])
        same = (np.array_equal(seen[name], expected[name]) for name in (COMPARED if exact else ("grid",)))
        return same_hand and one.near(other) and all(same)
