"""A builder that knows the target: it shows what can be built, and how fast."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl import AgentError, Pose, Role, Task
from iglu_marl.agents.scripted.dialogue_tracker import Ears
from iglu_marl.agents.scripted.state_tracker import Body
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.planning import Plan


class OracleBuilder:
    """Builds the target of the `Task` that it is given, at the target's own place in the zone.

    It looks at nothing but, where it is observed, its own pose; so it plays with any observation. `verdict` and
    `reason` are those of the plan: "built", "impossible" (proved) or "unresolved"; what the planner could do of an
    unresolved plan is done. In a progressive task it goes on with the next turns.

    controls: "walking", "human-level" or "flying"; select_and_place, can_yield, can_ask: as in the game. pose: where
    episodes start, if the pose is not observed. tokens, codec, message_length: of the chat, with `can_ask`. width: of
    the search for short plans, as of `planning.plan`; 0 takes the first plan found.
    """

    privileged = True

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        can_yield: bool = True,
        can_ask: bool = False,
        select_and_place: bool = False,
        pose: tuple[float, float, float, float, float] = Pose(),
        tokens: bool = False,
        codec: Codec | None = None,
        message_length: int = 16,
        width: int = 3,
    ) -> None:
        self._body = Body(controls, select_and_place=select_and_place, can_yield=can_yield)
        self.can_ask, self.pose = can_ask, pose
        self._ears = Ears(codec, message_length)
        self._width = width
        self._ears.tokens = tokens
        self._task: Task | None = None
        self._steps: list[Any] = []
        self.plan: Plan | None = None

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> OracleBuilder:
        """One that fits an environment's action space and chat."""
        settings = Settings.of(env)
        fitting = {**settings.of_builder(), "tokens": settings.tokens}
        return cls(**{**fitting, **options})

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
        act = self._body.do(self._steps.pop()) if self._steps else self._body.rest()
        return {"act": act, "say": self._ears.utter("")} if self.can_ask else act

    def close(self) -> None:
        """Nothing is held."""

    # -- planning

    def _begin(self, observation: Any) -> None:
        assert self._task is not None
        pose = tuple(self.pose)
        if "agentPos" in observation:
            x, y, z, pitch, yaw = np.asarray(observation["agentPos"], dtype=np.float64).tolist()
            pose = (x, y, z, yaw, pitch)
        self._body.begin(self._task.start_grid, pose)
        self._plan()

    def _plan(self) -> None:
        assert self._task is not None
        self.plan = self._body.plan(self._task.target_grid, width=self._width)
        self._steps = self.plan.actions[::-1]
