"""A builder that learned from human dialogues."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack

from iglu_marl import Dialogue, Role, Utterance
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.learned.hybrid import Hybrid
from iglu_marl.agents.learned.zoo import Pretrained, pretrained
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, require_entry
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.edits import edited, net_edits
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import NetAction, color_at
from iglu_marl.data.situations import Predictor, Situation

if TYPE_CHECKING:
    from iglu_marl.agents.learned.checkpoint import TrainedModel

MODEL_VARIABLE = "IGLU_MARL_MODEL"
DEFAULT = "edits-v1"  # of the zoo
Grid = npt.NDArray[np.int8]


class LearnedBuilder(BuilderBase):
    """Predicts edits from dialogue, world and pose whenever the architect has spoken, plans its way, and does them.

    model: the folder of a trained model (see `examples/train_edits.py`), one of the zoo, or any predictor of
    `iglu_marl.evaluation.action_prediction`. grammar: whether the grammar reads first, and the model what that cannot
    follow (`Hybrid`). The other arguments are those of `ScriptedBuilder`; it never says anything.

    It needs `dialog`, `agentPos` and `grid` in its observation. Of edits that cannot all be done it does those that
    can. What a turn is too short for goes on in the next, unless the architect says something new.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Pretrained | Predictor,
        controls: ControlsName = "walking",
        *,
        grammar: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self._executor = PlanExecutor(self.game, "LearnedBuilder")
        predict: Predictor = model if callable(model) else load_model(model)
        self._predict: Predictor = Hybrid(predict) if grammar else predict
        self._forget(None)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """One that fits an environment's action space and chat.

        Without `model` it is the folder that the environment variable `IGLU_MARL_MODEL` names, or else `edits-v1`
        of the zoo.
        """
        if "model" not in options:
            options["model"] = os.environ.get(MODEL_VARIABLE) or pretrained(DEFAULT)
        return super().for_env(env, **options)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self._said: list[Utterance] = []
        self._heeded = 0  # how many utterances there were when it last began to act
        self._new_from = 0
        self._history: list[tuple[NetAction, ...]] = []
        self._intended: list[NetAction] = []  # the edits of the plan at hand
        self._before: Grid | None = None  # the world that they were meant for
        self._goal: Grid | None = None

    # -- Agent

    def act(self, observation: Any) -> Any:
        """Return the next step. Raises `AgentError` if a required field is not observed."""
        self._said += self._dialogue.hear(
            require_entry(observation, DIALOG_KEYS, "LearnedBuilder", SHOW_BUILDER)
        )
        executor = self._executor
        if executor.look(observation) and executor.steps and self._goal is not None:
            executor.steps = self._way_to(self._goal) or []
        if executor.lost:
            return self._with_words(executor.state.wait())
        if any(said.role is Role.ARCHITECT for said in self._said[self._heeded :]):
            self._decide()
        return self._with_words(executor.act())

    # -- decide

    def _decide(self) -> None:
        """Predict edits, and plan for them."""
        executor = self._executor
        self._remember()
        now = executor.state.grid.copy()
        situation = Situation(Dialogue(self._said), now, self._new_from, executor.pose, tuple(self._history))
        found = self._predict(situation)
        if isinstance(found, np.ndarray):
            self._intended = net_edits(situation.grid, found)
        else:
            self._intended = [NetAction(*one) for one in found]
        self._before, self._heeded = now, len(self._said)
        executor.steps, self._goal = [], now
        whole = edited(now, self._intended)
        steps = self._way_to(whole)
        if steps is not None:
            executor.steps, self._goal = steps, whole
            return
        for action in self._intended:
            more = edited(self._goal, [action])
            further = self._way_to(more)
            if further is not None:
                executor.steps, self._goal = further, more

    def _remember(self) -> None:
        """Add the intended edits that were carried out to the history."""
        if self._before is None:
            return
        done = tuple(
            one
            for one in self._intended
            if _holds(self._executor.state.grid, one) and not _holds(self._before, one)
        )
        if done:
            self._history.append(done)
            self._new_from = self._heeded

    def _way_to(self, goal: Grid) -> list[Any] | None:
        """Return the steps to a build, the next one last; None if there is no plan."""
        if np.array_equal(self._executor.state.grid, goal):
            return []
        plan = self._executor.state.plan(goal)
        return plan.actions[::-1] if plan.verdict == "built" else None


def load_model(model: str | os.PathLike[str] | Pretrained, threads: int = 0) -> TrainedModel:
    """Return a trained model: one of the zoo, or that of a folder.

    threads: of PyTorch, in the whole process; 0: unchanged.
    """
    with extra("rl"):
        import torch

        from iglu_marl.agents.learned.checkpoint import TrainedModel

    if threads:
        torch.set_num_threads(threads)
    return TrainedModel.pretrained(model) if isinstance(model, Pretrained) else TrainedModel.named(model)


def _holds(grid: Grid, action: NetAction) -> bool:
    """Whether a grid is as an action leaves its cell."""
    return color_at(grid, action.cell) == (action.color if action.place else 0)
