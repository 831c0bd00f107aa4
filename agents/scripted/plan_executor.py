"""Doing what a builder has decided on: plans, the steps that are left of them, and what gets in the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.scripted.dialogue_tracker import SHOW_BUILDER, need
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Settings
from iglu_marl.core.grid import Cell, color_at, index_of
from iglu_marl.planning import Plan, PlanLevel

SEARCHED: PlanLevel = "shortest"  # the level of planning where the fast one comes to nothing

Grid = npt.NDArray[np.int8]
PoseTuple = tuple[float, float, float, float, float]


class PlanExecutor:
    """Plans the way to a build and does it, step by step, in a world that others may change.

    state: the private world. settled: the build as what was asked before the present changes would have it. changes:
    what is being done to it, colour ids by cell. steps: what is left of the plan, the next one last. plan: the last one
    made. lost: whether private and real world have yet to agree. who: the agent, for its errors.
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
        self.pose: PoseTuple = (0.0, 0.0, 0.0, 0.0, 0.0)

    # -- the world

    def look(self, observation: Any) -> bool:
        """Compare the private world with what is seen; where they differ, what is seen counts.

        What cannot be seen, the speed of a fall, is unknown then: one has to wait until the two agree for a step.
        Returns whether that is so just now: then what is left of a plan is to be planned anew. Raises `AgentError` when
        grid or agentPos is not observed.
        """
        grid = np.asarray(need(observation, ("grid",), self._who, SHOW_BUILDER))
        agent_pos = np.asarray(need(observation, ("agentPos",), self._who, SHOW_BUILDER), dtype=np.float64)
        grid = (grid - min(0, int(grid.min()))).astype(np.int8)  # air is -1 in the environments of IGLU 2021
        x, y, z, pitch, yaw = agent_pos.tolist()
        self.pose = (x, y, z, yaw, pitch)
        if not self._begun:
            self._begun = True
            self.settled, self._wanted = grid.copy(), grid.copy()
            self.state.begin(grid, self.pose)
        elif not self.state.agrees(grid, agent_pos):
            changed = grid != self.state.grid  # by someone else: that is how it shall be
            self.settled[changed] = self._wanted[changed] = grid[changed]
            self.state.correct(grid, self.pose)
            self.lost = True
        elif self.lost:
            self.lost = False
            return True
        return False

    def act(self) -> Any:
        """The next step of the plan; at its end the action that ends the turn, or does nothing."""
        return self.state.do(self.steps.pop()) if self.steps else self.state.rest()

    # -- what is wanted

    def pursue(self, goal: Grid) -> bool:
        """Plan the way to a build, quickly, or else with a longer search; False when no way is found."""
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
        """Settle what of the present changes is in place; returns the build as it shall be without the rest."""
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
        """No changes any more: only tidy up what is left of them."""
        self.settle()
        self.changes = {}
        self.tidy_up()

    def resume(self) -> bool:
        """Plan the present changes anew; False when no way is found."""
        goal = self.settle().copy()
        for cell, color in self.changes.items():
            goal[index_of(cell)] = color
        return self.pursue(goal)
