"""Execution of plans in a world that others may change."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.scripted.dialogue_tracker import SHOW_BUILDER, require_entry
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Settings
from iglu_marl.core.grid import Cell, color_at, index_of
from iglu_marl.core.observed import observed_grid
from iglu_marl.core.pose import Pose
from iglu_marl.planning import Plan
from iglu_marl.planning.problem import PlanLevel

SEARCHED: PlanLevel = "shortest"  # level of planning after the fast one failed

Grid = npt.NDArray[np.int8]


class PlanExecutor:
    """Plans the way to a build and executes it step by step.

    Args:
        state: the private world.
        settled: the build without the current changes.
        changes: current changes, colour ids by cell.
        steps: rest of the plan, the next step last.
        plan: the last plan.
        lost: whether the private world still differs from the real one.
        who: name of the agent, for its errors.

    """

    def __init__(self, game: Settings, who: str) -> None:
        self.state = StateTracker(
            game.controls, select_and_place=game.select_and_place, can_yield=game.can_yield
        )
        self._who = who
        self.forget()

    def forget(self) -> None:
        """Begin an episode."""
        self._begun = self.lost = False
        self.settled: Grid = self.state.grid.copy()
        self._wanted = self.settled
        self.changes: dict[Cell, int] = {}
        self.steps: list[Any] = []
        self.plan: Plan | None = None
        self.pose = Pose()

    def look(self, observation: Any) -> bool:
        """Compare the private world with the observation, which is right where they differ.

        The speed of a fall cannot be observed: after a difference, wait until both agree for a step.
        Raises `AgentError` if grid or agentPos is not observed.

        Returns:
            Whether they have just agreed again: then plan the rest again.

        """
        for key in ("grid", "agentPos"):
            require_entry(observation, (key,), self._who, SHOW_BUILDER)
        grid, self.pose = observed_grid(observation), Pose.from_observation(observation)
        if not self._begun:
            self._begun = True
            self.settled, self._wanted = grid.copy(), grid.copy()
            self.state.begin(grid, self.pose)
        elif not self.state.agrees(grid, self.pose):
            changed = grid != self.state.grid  # someone else changed it: keep that
            self.settled[changed] = self._wanted[changed] = grid[changed]
            self.state.correct(grid, self.pose)
            self.lost = True
        elif self.lost:
            self.lost = False
            return True
        return False

    def act(self) -> Any:
        """Return the next step of the plan; at its end the action that ends the turn, or the idle action."""
        return self.state.do(self.steps.pop()) if self.steps else self.state.rest()

    def pursue(self, goal: Grid) -> bool:
        """Plan the way to a build, quickly or else with a longer search; return False if there is none."""
        self._wanted, self.steps = goal.copy(), []
        if np.array_equal(self.state.grid, goal):
            return True
        self.plan = self.state.plan(goal)
        if self.plan.verdict == "unresolved":
            self.plan = self.state.plan(goal, SEARCHED)
        if self.plan.verdict == "built":
            self.steps = self.plan.actions[::-1]
            return True
        return False

    def settle(self) -> Grid:
        """Settle the finished part of the current changes; return the build without the rest."""
        settled = self.settled.copy()
        for cell, color in self.changes.items():
            if color_at(self._wanted, cell) == color_at(self.state.grid, cell) == color:
                settled[index_of(cell)] = color
        self.settled = settled
        return settled

    def tidy_up(self) -> None:
        """Plan the way to the settled build."""
        self.pursue(self.settled)

    def drop(self) -> None:
        """Drop the current changes: only tidy up."""
        self.settle()
        self.changes = {}
        self.tidy_up()

    def resume(self) -> bool:
        """Plan the current changes again; return False if there is no way."""
        return self.pursue(self.goal())

    def goal(self) -> Grid:
        """Settle the finished part of the current changes; return the build with all of them."""
        goal = self.settle().copy()
        for cell, color in self.changes.items():
            goal[index_of(cell)] = color
        return goal
