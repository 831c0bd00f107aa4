"""A builder that is given the target: a reference for what can be built, and how fast."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from iglu_marl import AgentError, Pose, Role, Task
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.state_tracker import StateTracker
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.planning import Plan
from iglu_marl.planning.problem import PlanLevel, check_level


class OracleBuilder(BuilderBase):
    """Build the target of the given `Task`, at the target's own place in the zone.

    It observes at most its pose, so it plays with any observation. `verdict` and `reason` are those of the plan:
    "built", "impossible" (proved) or "unresolved". An unresolved plan is carried out as far as it goes. In a
    progressive task it continues with the next turns.

    Args:
        controls: action encoding of the game.
        pose: initial pose, used if the pose is not observed.
        level: see `iglu_marl.planning.plan`.
        options: fields of `iglu_marl.agents.settings.Settings`.

    """

    privileged = True
    acts_on_cells = True
    reads = ""

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        pose: tuple[float, float, float, float, float] = Pose(),
        level: PlanLevel = "shortest",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self._state = StateTracker(controls, **self.game.only("can_yield", "select_and_place"))
        self.pose, self._level = pose, check_level(level)
        self._task: Task | None = None
        self._steps: list[Any] = []
        self.plan: Plan | None = None

    @property
    def verdict(self) -> str:
        """Verdict of the planner: "built", "impossible" or "unresolved"; "" before the first act."""
        return "" if self.plan is None else self.plan.verdict

    @property
    def reason(self) -> str:
        """Why the verdict is not "built"."""
        return "" if self.plan is None else self.plan.reason

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder, or without a task."""
        if role != Role.BUILDER or task is None:
            raise AgentError(
                f"an OracleBuilder plays the builder and needs the task, got {role} and {task!r:.60}"
            )
        self._task = task.in_ids("iglu")
        self._steps = []
        self.plan = None

    def act(self, observation: Any) -> Any:
        """Return the next action of the plan; the observation is used for the initial pose only."""
        if self._task is None:
            raise AgentError("the OracleBuilder has no task: call reset(role, seed, task=task) before act()")
        if self.plan is None:
            self._begin(observation)
        elif not self._steps and self.verdict == "built" and self._task.next_task is not None:
            self._task = self._task.next_task.in_ids("iglu")
            self._plan()
        return self._with_words(self._state.do(self._steps.pop()) if self._steps else self._state.rest())

    def _begin(self, observation: Any) -> None:
        assert self._task is not None
        pose = tuple(self.pose)
        if "agentPos" in observation:
            pose = Pose.from_observation(observation)
        self._state.begin(self._task.start_grid, pose)
        self._plan()

    def _plan(self) -> None:
        assert self._task is not None
        self.plan = self._state.plan(self._task.target_grid, self._level)
        self._steps = self.plan.actions[::-1]
