"""A builder that does what it reads, and nothing else: it is never told the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, DialogueError, Role
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, Ears, need
from iglu_marl.agents.scripted.state_tracker import Body
from iglu_marl.agents.settings import Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import Cell
from iglu_marl.language import (
    Blocks,
    Context,
    Edit,
    Failure,
    Instruction,
    Pick,
    Reason,
    Talk,
    clarified,
    outcomes,
    parse,
    read,
    say,
)
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
    Reason.NO_NUMBER: Talk.WHICH_NUMBER,
    Reason.NO_DIRECTION: Talk.WHICH_WAY,
    Reason.OUTSIDE: Talk.OUTSIDE,
    Reason.OCCUPIED: Talk.OCCUPIED,
    Reason.NO_MATCH: Talk.NO_SUCH,
    Reason.NO_VIEW: Talk.WHICH_WAY,
}
SEARCH_WIDTH = 3  # of the longer search for a plan, where the first one comes to nothing
MAX_CHOICES = 6  # of the ways to do what leaves a choice that are planned for


class ScriptedBuilder:
    """Parses the architect's latest utterance, plans with `iglu_marl.planning`, and does it.

    It understands all instructions of `iglu_marl.language`. "It" is what the last instruction that it took up was
    about; left, right, in front and behind are as it looks when it is told. When a description fits several things it
    asks which one (with can_ask), and takes the answer; without a voice it yields.

    It needs `dialog`, `agentPos` and `grid` in its observation. A plan that a turn is too short for goes on in the
    next, unless something new is said. Where the first, quick search finds no plan, a longer one is made. When the
    instruction is done, or cannot be done, it yields (where turns can be ended).

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
        return cls(**{**Settings.of(env).of_builder(), **options})

    def _forget(self) -> None:
        self._ears.forget()
        self._settled: Grid | None = None  # the build as the instructions before this one would have it
        self._wanted: Grid | None = None  # what the plan at hand leads to
        self._task: Instruction | None = None
        self._changes: dict[Cell, int] = {}  # what the task comes to: colour ids by cell
        self._last: tuple[Cell, ...] = ()  # what the last task that was taken up is about
        self._asked: tuple[Instruction, Any] | None = None  # what is not clear yet, and what of it
        self._context = Context()
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

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do or to say of what it was told."""
        return not (self._steps or self._remark or self._lost or self._unheeded is not None)

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
        self._context = Context(self._last, yaw, (x, y, z))
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
            if busy and self._task is not None:
                self._resume()

    def _pursue(self, goal: Grid) -> bool:
        """Plan the way to a build, quickly, or else with a longer search; False when no way is found."""
        self._wanted, self._steps = goal.copy(), []
        if np.array_equal(self._body.grid, goal):
            return True
        self.plan = self._body.plan(goal)
        if self.plan.verdict == "unresolved":
            self.plan = self._body.plan(goal, width=SEARCH_WIDTH)
        if self.plan.verdict == "built":
            self._steps = self.plan.actions[::-1]
            return True
        return False

    # -- the words

    def _take(self, text: str) -> None:
        """Understand an utterance of the architect, and plan for it."""
        said = read(text)
        if said is not None:
            if said.talk == Talk.TRY_AGAIN and self._task is not None:
                self._resume()
            elif said.talk in (Talk.COMPLETE, Talk.GIVE_UP):
                self._drop_it("")
            return
        parsed = self._answered(parse(text))
        if isinstance(parsed, Failure):
            self._drop_it(say(_COMPLAINTS.get(parsed.reason, Talk.NOT_UNDERSTOOD)))
        elif parsed != self._task or not self._steps:  # what is being done needs no second telling
            self._work_on(parsed)

    def _answered(self, parsed: Instruction | Failure) -> Instruction | Failure:
        """An instruction; the answer to a question of ours becomes the instruction that was not clear."""
        asked, self._asked = self._asked, None
        if not isinstance(parsed, Pick):
            return parsed
        if asked is None:
            return Failure(Reason.NOT_UNDERSTOOD, "nothing was asked")
        try:
            return clarified(*asked, parsed.where)
        except DialogueError as error:
            return Failure(Reason.NOT_UNDERSTOOD, str(error))

    def _drop_it(self, remark: str) -> None:
        """No instruction any more: only tidy up what the last one left behind."""
        kept = self._settled = self._kept()
        self._task, self._changes = None, {}
        self._pursue(kept)
        self._remark = remark

    def _work_on(self, task: Instruction) -> None:
        """Plan for an instruction, and for tidying up what an interrupted one left behind."""
        kept = self._settled = self._kept()
        found = outcomes(task, kept, self._context)
        self._task, self._changes = task, {}
        if isinstance(found, Failure):
            self._pursue(kept)
            self._remark = self._objection(task, found)
            return
        for outcome in found[:MAX_CHOICES]:
            if self._pursue(outcome.grid):
                self._changes = {
                    cell: _color_at(outcome.grid, cell) for cell in _differing(kept, outcome.grid)
                }
                self._changes |= {cell: _color_at(outcome.grid, cell) for cell in outcome.cells}
                self._last = outcome.cells
                self._remark = say(Talk.DONE)
                return
        self._remark = _regret(self.plan)
        self._pursue(kept)

    def _resume(self) -> None:
        """Plan anew for the present instruction: for what it came to when it was told."""
        if isinstance(self._task, Edit) or not self._changes:
            assert self._task is not None
            self._work_on(self._task)
            return
        kept = self._settled = self._kept()
        goal = kept.copy()
        for (x, y, z), color in self._changes.items():
            goal[y + 1, x + 5, z + 5] = color
        self._remark = say(Talk.DONE)
        if not self._pursue(goal):
            self._remark = _regret(self.plan)
            self._pursue(kept)

    def _objection(self, task: Instruction, failure: Failure) -> str:
        """What speaks against an instruction, or what has to be asked about it."""
        if failure.reason is Reason.WRONG_COLOR:
            return say(Talk.WRONG_COLOR, failure.color)
        if failure.reason is Reason.NO_MATCH and isinstance(task, Edit):
            return say(Talk.NOTHING_THERE)
        if failure.reason is not Reason.AMBIGUOUS:
            return say(_COMPLAINTS.get(failure.reason, Talk.NOT_UNDERSTOOD))
        self._task = None
        if failure.reference is None:
            return say(Talk.WHICH_ONE)
        self._asked = task, failure.reference
        if not isinstance(failure.reference, Blocks):
            return say(Talk.WHICH_PLACE)
        colors = failure.reference.colors
        return say(Talk.WHICH_BLOCK, colors[0]) if len(colors) == 1 else say(Talk.WHICH_ONE)

    def _kept(self) -> Grid:
        """The build as the instructions until now would have it: of the present one counts what is in place."""
        assert self._settled is not None
        assert self._wanted is not None
        kept = self._settled.copy()
        for cell, color in self._changes.items():
            if _color_at(self._wanted, cell) == _color_at(self._body.grid, cell) == color:
                kept[cell[1] + 1, cell[0] + 5, cell[2] + 5] = color
        return kept


def _color_at(grid: Grid, cell: Cell) -> int:
    return int(grid[cell[1] + 1, cell[0] + 5, cell[2] + 5])


def _differing(one: Grid, other: Grid) -> list[Cell]:
    return [(int(x) - 5, int(y) - 1, int(z) - 5) for y, x, z in np.argwhere(one != other)]


def _regret(plan: Plan | None) -> str:
    """Why a plan came to nothing."""
    color = None if plan is None else plan.proof.get("color")
    return say(Talk.UNREACHABLE) if color is None else say(Talk.NO_BLOCKS, int(color))
