"""A builder that does what it reads, and nothing else: it is never told the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Role
from iglu_marl.agents.body import Body
from iglu_marl.agents.ears import DIALOG_KEYS, Ears, need
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import Action, Edit, Failure, Reason, Talk, parse, read, say
from iglu_marl.planning import Plan

Grid = npt.NDArray[np.int8]

_HINT = (
    'let it see that: builder_sees=("dialog", "inventory", "pose", "grid"), or the id IGLUGridworldVector-v0'
)
_COMPLAINTS = {
    Reason.UNKNOWN_WORD: Talk.UNKNOWN_WORD,
    Reason.NO_COLOR: Talk.WHICH_COLOR,
    Reason.NO_HEIGHT: Talk.WHICH_HEIGHT,
    Reason.NO_PLACE: Talk.WHICH_PLACE,
    Reason.OUTSIDE: Talk.OUTSIDE,
}


class ScriptedBuilder:
    """Parses the architect's latest utterance, plans with `iglu_marl.planning`, and does it.

    It needs `dialog`, `agentPos` and `grid` in its observation. A plan that a turn is too short for goes on in the
    next, unless something new is said. When the instruction is done, or cannot be done, it yields (where turns can be
    ended).

    controls: "walking", "human-level" or "flying"; select_and_place, can_yield, can_ask: as in the game. can_ask: it
    says short things as well ("Done.", "I don't understand."). codec, message_length: of token chat.
    """

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        can_yield: bool = True,
        can_ask: bool = False,
        select_and_place: bool = False,
        codec: Codec | None = None,
        message_length: int = 16,
    ) -> None:
        self._body = Body(controls, select_and_place=select_and_place, can_yield=can_yield)
        self.can_ask = can_ask
        self._ears = Ears(codec, message_length)
        self._forget()

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> ScriptedBuilder:
        """One that fits an environment's action space and chat."""
        settings = Settings.of(env)
        fitting: dict[str, Any] = {
            "controls": settings.controls,
            "can_yield": settings.can_yield,
            "can_ask": settings.can_ask,
            "select_and_place": settings.select_and_place,
        }
        if settings.tokens:
            fitting |= {"codec": settings.codec, "message_length": settings.message_length}
        return cls(**{**fitting, **options})

    def _forget(self) -> None:
        self._ears.forget()
        self._settled: Grid | None = None  # the build as the instructions before this one would have it
        self._wanted: Grid | None = None  # what the plan at hand leads to
        self._edit: Edit | None = None
        self._steps: list[Any] = []  # what is left of the plan, the next step last
        self._remark = ""  # what is to be said when the plan is done
        self._unheeded: str | None = None
        self._lost = False
        self.plan: Plan | None = None

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        if role != Role.BUILDER:
            raise AgentError(f"a ScriptedBuilder cannot play the {role}")
        self._forget()

    def act(self, observation: Any) -> Any:
        """The next step for what was said last. Raises `AgentError` when something needed is not observed."""
        dialog = need(observation, DIALOG_KEYS, "ScriptedBuilder", _HINT)
        self._look(observation)
        told = [part.text for part in self._ears.hear(dialog) if part.role == Role.ARCHITECT]
        if told:
            self._unheeded = told[-1]
        if self._lost:
            return self._with_words(self._body.wait(), "")
        if self._unheeded is not None:
            self._take(self._unheeded)
            self._unheeded = None
        if self._steps:
            return self._with_words(self._body.do(self._steps.pop()), "")
        remark, self._remark = self._remark, ""
        return self._with_words(self._body.rest(), remark if self.can_ask else "")

    def close(self) -> None:
        """Nothing is held."""

    def _with_words(self, act: Any, text: str) -> Any:
        return {"act": act, "say": self._ears.utter(text)} if self.can_ask else act

    # -- the world

    def _look(self, observation: Any) -> None:
        """Compare the private world with what is seen; where they differ, what is seen counts.

        What cannot be seen, the speed of a fall, is unknown then: it waits until the two agree for a step.
        """
        grid = np.asarray(need(observation, ("grid",), "ScriptedBuilder", _HINT))
        agent_pos = np.asarray(need(observation, ("agentPos",), "ScriptedBuilder", _HINT), dtype=np.float64)
        grid = (grid - min(0, int(grid.min()))).astype(np.int8)  # air is -1 in the environments of IGLU 2021
        x, y, z, pitch, yaw = agent_pos.tolist()
        if self._settled is None or self._wanted is None:
            self._settled, self._wanted = grid.copy(), grid.copy()
            self._body.begin(grid, (x, y, z, yaw, pitch))
        elif not self._body.agrees(grid, agent_pos):
            changed = grid != self._body.grid  # by someone else: that is how it shall be
            self._settled[changed] = self._wanted[changed] = grid[changed]
            self._body.correct(grid, (x, y, z, yaw, pitch))
            self._lost = True
        elif self._lost:
            self._lost = False
            busy = bool(self._steps or self._remark)
            self._steps = []
            if busy and self._edit is not None:
                self._work_on(self._edit)

    def _pursue(self, goal: Grid) -> bool:
        """Plan the way to a build; False, and no plan, when there is none."""
        self._wanted, self._steps = goal.copy(), []
        if np.array_equal(self._body.grid, goal):
            return True
        self.plan = self._body.plan(goal)
        if self.plan.verdict == "built":
            self._steps = self.plan.actions[::-1]
            return True
        return False

    # -- the words

    def _take(self, text: str) -> None:
        """Understand an utterance of the architect, and plan for it."""
        said = read(text)
        if said is not None:
            if said.talk == Talk.TRY_AGAIN and self._edit is not None:
                self._work_on(self._edit)
            elif said.talk in (Talk.COMPLETE, Talk.GIVE_UP):
                self._drop_it("")
            return
        parsed = parse(text)
        if isinstance(parsed, Failure):
            self._drop_it(say(_COMPLAINTS.get(parsed.reason, Talk.NOT_UNDERSTOOD)))
        elif parsed != self._edit or not self._steps:  # what is being done needs no second telling
            self._work_on(parsed)

    def _drop_it(self, remark: str) -> None:
        """No instruction any more: only tidy up what the last one left behind."""
        kept = self._kept()
        self._edit = None
        self._pursue(kept)
        self._remark = remark

    def _work_on(self, edit: Edit) -> None:
        """Plan for an edit, and for tidying up what an interrupted one left behind."""
        kept = self._settled = self._kept()
        x, y, z = edit.cell
        there = int(kept[y + 1, x + 5, z + 5])
        self._edit = edit
        self._remark = say(Talk.DONE)
        if objection := _objection(edit, there):
            self._pursue(kept)
            self._remark = objection
            return
        goal = kept.copy()
        goal[y + 1, x + 5, z + 5] = edit.after
        if not self._pursue(goal):
            self._remark = _regret(self.plan)
            self._pursue(kept)

    def _kept(self) -> Grid:
        """The build as the instructions until now would have it: the present one counts if its block is in place."""
        assert self._settled is not None
        assert self._wanted is not None
        if self._edit is None:
            return self._settled
        x, y, z = self._edit.cell
        index = y + 1, x + 5, z + 5
        made = self._wanted[index] == self._body.grid[index] == self._edit.after
        return self._wanted if made else self._settled


def _objection(edit: Edit, there: int) -> str:
    """What speaks against an edit where colour id `there` stands (0 = nothing); "" when nothing does."""
    if edit.action is Action.PLACE:
        return say(Talk.OCCUPIED) if there not in (0, edit.after) else ""
    if edit.action is Action.REPLACE and there == edit.after:
        return ""
    if there == 0:
        return say(Talk.NOTHING_THERE)
    return say(Talk.WRONG_COLOR, there) if edit.old_color not in (None, there) else ""


def _regret(plan: Plan | None) -> str:
    """Why a plan came to nothing."""
    color = None if plan is None else plan.proof.get("color")
    return say(Talk.UNREACHABLE) if color is None else say(Talk.NO_BLOCKS, int(color))
