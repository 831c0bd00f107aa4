"""A builder that learned from people what to do with words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack

from iglu_marl import AgentError, Dialogue, Role, Utterance
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.learned.hybrid import Hybrid
from iglu_marl.agents.learned.zoo import Pretrained, pretrained
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, need
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import cells_of, color_at, index_of
from iglu_marl.data.mdc.action_sequences import Action
from iglu_marl.evaluation.action_prediction import Predictor, Situation

if TYPE_CHECKING:
    from iglu_marl.agents.learned.checkpoint import TrainedModel

MODEL_VARIABLE = "IGLU_MARL_MODEL"
DEFAULT = "edits-v1"  # of the zoo
Grid = npt.NDArray[np.int8]


class LearnedBuilder(BuilderBase):
    """Predicts edits from dialogue, world and pose whenever the architect has spoken, plans its way, and does them.

    model: the folder of a trained model (see `iglu-marl train edits`), one of the zoo, or any predictor of
    `iglu_marl.evaluation.action_prediction`. The other arguments are those of `ScriptedBuilder`; it never says
    anything.

    It needs `dialog`, `agentPos` and `grid` in its observation. Of edits that cannot all be done it does those that
    can. What a turn is too short for goes on in the next, unless the architect says something new.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Pretrained | Predictor,
        controls: ControlsName = "walking",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self._executor = PlanExecutor(self.game, "LearnedBuilder")
        self._predict: Predictor = model if callable(model) else _loaded(model)
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

    @staticmethod
    def pretrained(name: str) -> Pretrained:
        """A trained agent that comes with the package: `LearnedBuilder.pretrained(name).for_env(env)` plays.

        Raises `AgentError` for names that `iglu_marl.agents.learned.zoo.zoo()` does not have.
        """
        return pretrained(name)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self._said: list[Utterance] = []
        self._heeded = 0  # how many utterances there were when it last began to act
        self._new_from = 0
        self._history: list[tuple[Action, ...]] = []
        self._question = ""  # what is to be asked at once
        self._intended: list[Action] = []  # the edits of the plan at hand
        self._before: Grid | None = None  # the world that they were meant for
        self._goal: Grid | None = None

    # -- Agent

    def act(self, observation: Any) -> Any:
        """The next step. Raises `AgentError` when something needed is not observed."""
        self._said += self._dialogue.hear(need(observation, DIALOG_KEYS, "LearnedBuilder", SHOW_BUILDER))
        executor = self._executor
        if executor.look(observation) and executor.steps and self._goal is not None:
            executor.steps = self._way_to(self._goal) or []
        if executor.lost:
            return self._with_words(executor.state.wait())
        if any(said.role is Role.ARCHITECT for said in self._said[self._heeded :]):
            self._decide()
        question, self._question = self._question, ""
        return self._with_words(executor.act(), question)

    # -- deciding

    def _decide(self) -> None:
        """Predict what to do now, and plan for it."""
        executor = self._executor
        self._remember()
        now = executor.state.grid.copy()
        situation = Situation(Dialogue(self._said), now, self._new_from, executor.pose, tuple(self._history))
        self._intended = self._edits(situation)
        self._before, self._heeded = now, len(self._said)
        executor.steps, self._goal = [], now
        whole = _done(now, self._intended)
        steps = self._way_to(whole)
        if steps is not None:
            executor.steps, self._goal = steps, whole
            return
        for action in self._intended:
            more = _done(self._goal, [action])
            further = self._way_to(more)
            if further is not None:
                executor.steps, self._goal = further, more

    def _edits(self, situation: Situation) -> list[Action]:
        """What it makes of a situation."""
        found = self._predict(situation)
        if isinstance(found, np.ndarray):
            return _edits(situation.grid, found)
        return [Action(*one) for one in found]

    def _remember(self) -> None:
        """Of what was intended last, what has been done is history."""
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
        """The steps to a build, the next one last; None when there is no way."""
        if np.array_equal(self._executor.state.grid, goal):
            return []
        plan = self._executor.state.plan(goal)
        return plan.actions[::-1] if plan.verdict == "built" else None


class HybridBuilder(LearnedBuilder):
    """A `LearnedBuilder` that follows the grammar where it understands, and asks where grammar and model are unsure."""

    def __init__(
        self,
        model: str | os.PathLike[str] | Pretrained | Hybrid,
        controls: ControlsName = "walking",
        **options: Unpack[Options],
    ) -> None:
        self._hybrid = model if isinstance(model, Hybrid) else Hybrid(_loaded(model))
        super().__init__(self._hybrid, controls, **options)

    def _edits(self, situation: Situation) -> list[Action]:
        """What it makes of a situation; nothing where it has to ask."""
        if self.can_ask:
            self._question = self._hybrid.question(situation, self._fits)
        return [] if self._question else super()._edits(situation)

    def _fits(self, text: str) -> bool:
        length = len(self._dialogue.codec.encode(text)) if self._dialogue.tokens else len(text)
        return length <= self.game.most


def _loaded(model: str | os.PathLike[str] | Pretrained) -> TrainedModel:
    try:
        from iglu_marl.agents.learned.checkpoint import TrainedModel
    except ImportError as error:
        raise AgentError(f"a LearnedBuilder needs PyTorch ({error}): pip install 'iglu_marl[rl]'") from None
    if isinstance(model, Pretrained):
        return TrainedModel.pretrained(model, decoding="steps")
    return TrainedModel.load(model, decoding="steps")


def _done(grid: Grid, actions: list[Action]) -> Grid:
    """A grid after actions."""
    after = grid.copy()
    for place, x, y, z, color in actions:
        after[index_of((x, y, z))] = color if place else 0
    return after


def _holds(grid: Grid, action: Action) -> bool:
    """Whether a grid is as an action leaves its cell."""
    return color_at(grid, action.cell) == (action.color if action.place else 0)


def _edits(before: Grid, after: npt.NDArray[Any]) -> list[Action]:
    """What leads from one grid to another: removals before placements, from the ground up."""
    cells = [(x, y, z) for x, y, z in cells_of(before != after).tolist()]
    old = [(cell, color_at(before, cell)) for cell in cells]
    new = [(cell, color_at(after, cell)) for cell in cells]
    return [Action(False, *cell, color) for cell, color in old if color] + [
        Action(True, *cell, color) for cell, color in new if color
    ]
