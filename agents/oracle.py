"""A builder that knows the target: it shows what can be built, and how fast."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import Unpack

from iglu_marl import AgentError, Pose, Role, Task
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.planning import Plan, PlanLevel
from iglu_marl.planning.problem import level_of


class OracleBuilder(BuilderBase):
    """Builds the target of the `Task` that it is given, at the target's own place in the zone.

    It looks at nothing but, where it is observed, its own pose; so it plays with any observation. `verdict` and
    `reason` are those of the plan: "built", "impossible" (proved) or "unresolved"; what the planner could do of an
    unresolved plan is done. In a progressive task it goes on with the next turns.

    controls: any of the game; select_and_place, can_yield, can_ask: as in the game. pose: where
    episodes start, if the pose is not observed. tokens, codec, message_length: of the chat, with `can_ask`. level: of
    planning, as of `planning.plan`; `width` is its deprecated form.
    """

    privileged = True

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        pose: tuple[float, float, float, float, float] = Pose(),
        level: PlanLevel = "shortest",
        width: int | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self._state = StateTracker(controls, **self.game.only("can_yield", "select_and_place"))
        self.pose, self._level = pose, level_of(level, width)
        self._task: Task | None = None
        self._steps: list[Any] = []
        self.plan: Plan | None = None

    @property
    def verdict(self) -> str:
        """What the planner found for the task: "built", "impossible" or "unresolved"; "" before the first act."""
        return "" if self.plan is None else self.plan.verdict

    @property
    def reason(self) -> str:
        """Why the verdict is not "built"."""
        return "" if self.plan is None else self.plan.reason

    # -- Agent

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Begin an episode. Raises `AgentError` for another role than the builder's, or without the task."""
        if role != Role.BUILDER or task is None:
            raise AgentError(
                f"an OracleBuilder plays the builder and needs the task, got {role} and {task!r:.60}"
            )
        self._task = task.in_ids("iglu")
        self._steps = []
        self.plan = None

    def act(self, observation: Any) -> Any:
        """The next step of the plan; the observation only confirms where it stands."""
        if self._task is None:
            raise AgentError("the OracleBuilder has no task yet: call reset(role, seed, task=task) first")
        if self.plan is None:
            self._begin(observation)
        elif not self._steps and self.verdict == "built" and self._task.next_task is not None:
            self._task = self._task.next_task.in_ids("iglu")
            self._plan()
        return self._with_words(self._state.do(self._steps.pop()) if self._steps else self._state.rest())

    # -- planning

    def _begin(self, observation: Any) -> None:
        assert self._task is not None
        pose = tuple(self.pose)
        if "agentPos" in observation:
            x, y, z, pitch, yaw = np.asarray(observation["agentPos"], dtype=np.float64).tolist()
            pose = (x, y, z, yaw, pitch)
        self._state.begin(self._task.start_grid, pose)
        self._plan()

    def _plan(self) -> None:
        assert self._task is not None
        self.plan = self._state.plan(self._task.target_grid, self._level)
        self._steps = self.plan.actions[::-1]
