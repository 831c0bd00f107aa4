"""A builder that does what it reads, and nothing else: it is never told the target."""

from __future__ import annotations

from typing import Any

from typing_extensions import Unpack

from iglu_marl import DialogueError, Role
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, need
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, cells_of, color_at
from iglu_marl.language import (
    Blocks,
    CellEdit,
    Context,
    DialogueAct,
    Failure,
    Instruction,
    Pick,
    Reason,
    clarified,
    outcomes,
    parse,
    read,
    say,
)
from iglu_marl.planning import Plan

_COMPLAINTS = {
    Reason.UNKNOWN_WORD: DialogueAct.UNKNOWN_WORD,
    Reason.NO_COLOR: DialogueAct.WHICH_COLOR,
    Reason.NO_HEIGHT: DialogueAct.WHICH_HEIGHT,
    Reason.NO_PLACE: DialogueAct.WHICH_PLACE,
    Reason.NO_NUMBER: DialogueAct.WHICH_NUMBER,
    Reason.NO_DIRECTION: DialogueAct.WHICH_WAY,
    Reason.OUTSIDE: DialogueAct.OUTSIDE,
    Reason.OCCUPIED: DialogueAct.OCCUPIED,
    Reason.NO_MATCH: DialogueAct.NO_SUCH,
    Reason.NO_VIEW: DialogueAct.WHICH_WAY,
}
MAX_CHOICES = 6  # of the ways to do what leaves a choice that are planned for


class ScriptedBuilder(BuilderBase):
    """Parses the architect's latest utterance, plans with `iglu_marl.planning`, and does it.

    It understands all instructions of `iglu_marl.language`. "It" is what the last instruction that it took up was
    about; left, right, in front and behind are as it looks when it is told. When a description fits several things it
    asks which one (with can_ask), and takes the answer; without a voice it yields.

    It needs `dialog`, `agentPos` and `grid` in its observation. A plan that a turn is too short for goes on in the
    next, unless something new is said. Where the first, quick search finds no plan, a longer one is made. When the
    instruction is done, or cannot be done, it yields (where turns can be ended).

    controls: any of the game; select_and_place, can_yield, can_ask: as in the game. can_ask: it
    says short things as well ("Done.", "I don't understand."). tokens, codec, message_length: of the chat.
    """

    def __init__(self, controls: ControlsName = "walking", **options: Unpack[Options]) -> None:
        super().__init__(Settings(controls, **options))
        self._executor = PlanExecutor(self.game, "ScriptedBuilder")
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self._task: Instruction | None = None
        self._last: tuple[Cell, ...] = ()  # what the last task that was taken up is about
        self._asked: tuple[Instruction, Any] | None = None  # what is not clear yet, and what of it
        self._context = Context()
        self._remark = ""  # what is to be said when the plan is done
        self._unheeded: str | None = None

    @property
    def plan(self) -> Plan | None:
        """The last plan that was made."""
        return self._executor.plan

    # -- Agent

    def act(self, observation: Any) -> Any:
        """The next step for what was said last. Raises `AgentError` when something needed is not observed."""
        dialog = need(observation, DIALOG_KEYS, "ScriptedBuilder", SHOW_BUILDER)
        self._look(observation)
        told = [part.text for part in self._dialogue.hear(dialog) if part.role == Role.ARCHITECT]
        if told:
            self._unheeded = told[-1]
        executor = self._executor
        if executor.lost:
            return self._with_words(executor.state.wait())
        if self._unheeded is not None:
            self._take(self._unheeded)
            self._unheeded = None
        if executor.steps:
            return self._with_words(executor.act())
        remark, self._remark = self._remark, ""
        return self._with_words(executor.act(), remark)

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do or to say of what it was told."""
        return not (self._executor.steps or self._remark or self._executor.lost or self._unheeded is not None)

    # -- the world

    def _look(self, observation: Any) -> None:
        """Compare the private world with what is seen; after a surprise, plan anew."""
        executor = self._executor
        agrees_again = executor.look(observation)
        x, y, z, yaw, _ = executor.pose
        self._context = Context(self._last, yaw, (x, y, z))
        if agrees_again:
            busy = bool(executor.steps or self._remark)
            executor.steps = []
            if busy and self._task is not None:
                self._resume()

    # -- the words

    def _take(self, text: str) -> None:
        """Understand an utterance of the architect, and plan for it."""
        said = read(text)
        if said is not None:
            if said.talk == DialogueAct.TRY_AGAIN and self._task is not None:
                self._resume()
            elif said.talk in (DialogueAct.COMPLETE, DialogueAct.GIVE_UP):
                self._drop_it("")
            return
        parsed = self._answered(parse(text))
        if isinstance(parsed, Failure):
            self._drop_it(say(_COMPLAINTS.get(parsed.reason, DialogueAct.NOT_UNDERSTOOD)))
        elif parsed != self._task or not self._executor.steps:  # what is being done needs no second telling
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
        self._task = None
        self._executor.drop()
        self._remark = remark

    def _work_on(self, task: Instruction) -> None:
        """Plan for an instruction, and for tidying up what an interrupted one left behind."""
        executor = self._executor
        settled = executor.settle()
        found = outcomes(task, settled, self._context)
        self._task, executor.changes = task, {}
        if isinstance(found, Failure):
            executor.tidy_up()
            self._remark = self._objection(task, found)
            return
        for outcome in found[:MAX_CHOICES]:
            if executor.pursue(outcome.grid):
                differing = [(x, y, z) for x, y, z in cells_of(settled != outcome.grid).tolist()]
                executor.changes = {
                    cell: color_at(outcome.grid, cell) for cell in (*differing, *outcome.cells)
                }
                self._last = outcome.cells
                self._remark = say(DialogueAct.DONE)
                return
        self._regret()

    def _resume(self) -> None:
        """Plan anew for the present instruction: for what it came to when it was told."""
        if isinstance(self._task, CellEdit) or not self._executor.changes:
            assert self._task is not None
            self._work_on(self._task)
        elif self._executor.resume():
            self._remark = say(DialogueAct.DONE)
        else:
            self._regret()

    def _regret(self) -> None:
        """A plan came to nothing: say why, and tidy up."""
        color = None if self.plan is None else self.plan.proof.get("color")
        self._remark = (
            say(DialogueAct.UNREACHABLE) if color is None else say(DialogueAct.NO_BLOCKS, int(color))
        )
        self._executor.tidy_up()

    def _objection(self, task: Instruction, failure: Failure) -> str:
        """What speaks against an instruction, or what has to be asked about it."""
        if failure.reason is Reason.WRONG_COLOR:
            return say(DialogueAct.WRONG_COLOR, failure.color)
        if failure.reason is Reason.NO_MATCH and isinstance(task, CellEdit):
            return say(DialogueAct.NOTHING_THERE)
        if failure.reason is not Reason.AMBIGUOUS:
            return say(_COMPLAINTS.get(failure.reason, DialogueAct.NOT_UNDERSTOOD))
        self._task = None
        if failure.reference is None:
            return say(DialogueAct.WHICH_ONE)
        self._asked = task, failure.reference
        if not isinstance(failure.reference, Blocks):
            return say(DialogueAct.WHICH_PLACE)
        colors = failure.reference.colors
        return say(DialogueAct.WHICH_BLOCK, colors[0]) if len(colors) == 1 else say(DialogueAct.WHICH_ONE)
