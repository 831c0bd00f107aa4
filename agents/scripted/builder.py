"""A builder that does what it reads, and nothing else: it is never told the target."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import DialogueError, Role
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.asking import is_no, is_yes, objection, respelling
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, need
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import cells_of, color_at
from iglu_marl.language import (
    CellEdit,
    Context,
    DialogueAct,
    ExpectedWorld,
    Failure,
    Instruction,
    Pick,
    Reason,
    parse,
    read,
    say,
)
from iglu_marl.language.repair import Understanding, answered, tried, understand
from iglu_marl.language.verbs import clarified
from iglu_marl.planning import Plan

Grid = npt.NDArray[np.int8]
MAX_CHOICES = 6  # of the ways to do what leaves a choice that are planned for


class ScriptedBuilder(BuilderBase):
    """Parses the architect's latest utterance, plans with `iglu_marl.planning`, and does it.

    It understands all instructions of `iglu_marl.language`. "It" is what the last instruction that it took up was
    about; left, right, in front and behind are as it looks when it is told. "Undo" takes the last instruction back, one
    after the other. When something is missing or not clear it asks (with can_ask), and keeps what it knows: the next
    utterance fills it in ("red", "the left one", "no, the blue one"). Without a voice it yields, and waits for it.

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
        self._pending: Understanding | None = None  # what left a question open
        self._aside = ""  # what is to be said at once
        self._context = Context()  # what may be spoken of: what was done, and where it stands
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
        if self._aside:
            aside, self._aside = self._aside, ""
            return self._with_words(executor.act() if executor.steps else executor.state.wait(), aside)
        if executor.steps:
            return self._with_words(executor.act())
        remark, self._remark = self._remark, ""
        return self._with_words(executor.act(), remark)

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do or to say of what it was told."""
        return not (
            self._executor.steps
            or self._remark
            or self._aside
            or self._executor.lost
            or self._unheeded is not None
        )

    @property
    def ready(self) -> bool:
        """Whether its next act takes no time, unless somebody speaks: a step of the plan that it has, or none."""
        return self._unheeded is None and not self._executor.lost

    # -- the world

    def _look(self, observation: Any) -> None:
        """Compare the private world with what is seen; after a surprise, plan anew."""
        executor = self._executor
        agrees_again = executor.look(observation)
        x, y, z, yaw, _ = executor.pose
        self._context = replace(self._context, yaw_deg=yaw, position=(x, y, z))
        if agrees_again:
            busy = bool(executor.steps or self._remark)
            executor.steps = []
            if busy and self._task is not None:
                self._resume()

    # -- the words

    def _take(self, text: str) -> None:
        """Understand an utterance of the architect, and plan for it."""
        pending, self._pending = self._pending, None
        said = read(text)
        if said is not None and not (pending is not None and is_yes(text)):
            if said.talk == DialogueAct.TRY_AGAIN and self._task is not None:
                self._resume()
            elif said.talk in (DialogueAct.COMPLETE, DialogueAct.GIVE_UP):
                self._drop_it("")
            else:
                self._pending = pending
            return
        heard = self._heard(text, pending)
        if heard is None:
            self._drop_it(say(DialogueAct.OKAY))
        elif isinstance(heard.found, Failure):
            self._ask(heard)
        elif (
            heard.instruction != self._task or not self._executor.steps
        ):  # what is being done needs no second telling
            assert heard.instruction is not None
            self._aside = respelling(text)
            self._work_on(heard.instruction, heard.found)

    def _heard(self, text: str, pending: Understanding | None) -> Understanding | None:
        """What is made of an utterance, after one that left a question open; None when that is taken back."""
        grid = self._executor.settle()
        if pending is not None:
            question = pending.question
            assert question is not None
            if is_no(text):
                return None
            if is_yes(text):
                text = question.suggestion or text
            told = parse(text)
            if isinstance(told, Pick) and pending.instruction is not None and question.reference is not None:
                return self._picked(pending, told)
            found = answered(pending, text, grid, self._context)
            if found is not None:
                return found
        new = understand(text, grid, self._context)
        if isinstance(new.instruction, Pick):  # and nothing was asked
            new = Understanding(text, None, Failure(Reason.NOT_UNDERSTOOD, "", text))
        if pending is not None and isinstance(new.found, Failure) and new.instruction is None:
            return pending  # no answer: the question is still open
        return new

    def _picked(self, pending: Understanding, told: Pick) -> Understanding:
        """The answer of the scripted architect: the one at a place."""
        assert pending.instruction is not None
        assert isinstance(pending.found, Failure)
        try:
            made = clarified(pending.instruction, pending.found.reference, told.where)
        except DialogueError:
            return pending
        return tried(pending.text, made, self._executor.settle(), self._context)

    def _ask(self, heard: Understanding) -> None:
        """Say what speaks against an instruction, or ask about it, and keep it in mind."""
        assert isinstance(heard.found, Failure)
        if heard.instruction is not None and heard.question is None:
            self._task = heard.instruction  # it may become possible
            self._executor.settle()
            self._executor.changes = {}
            self._executor.tidy_up()
            self._remark = objection(heard, self._fits, self._executor.settled, self._context)
            return
        self._drop_it(objection(heard, self._fits, self._executor.settled, self._context))
        self._pending = heard if heard.question is not None else None

    def _fits(self, text: str) -> bool:
        length = len(self._dialogue.codec.encode(text)) if self._dialogue.tokens else len(text)
        return length <= self.game.most

    def _drop_it(self, remark: str) -> None:
        """No instruction any more: only tidy up what the last one left behind."""
        self._task = None
        self._executor.drop()
        self._remark = remark

    def _work_on(self, task: Instruction, found: tuple[ExpectedWorld, ...] | Failure | None = None) -> None:
        """Plan for an instruction, and for tidying up what an interrupted one left behind."""
        executor = self._executor
        settled = executor.settle().copy()
        before = self._context.before  # the same, anew after a surprise, is no second time
        again = before is not None and before[0] == task and np.array_equal(before[1], settled)
        heard = (
            Understanding("", task, found) if found is not None else tried("", task, settled, self._context)
        )
        self._task, executor.changes = task, {}
        if isinstance(heard.found, Failure):
            self._ask(heard)
            return
        for outcome in heard.found[:MAX_CHOICES]:
            if executor.pursue(outcome.grid):
                differing = [(x, y, z) for x, y, z in cells_of(settled != outcome.grid).tolist()]
                executor.changes = {
                    cell: color_at(outcome.grid, cell) for cell in (*differing, *outcome.cells)
                }
                if not again:
                    self._context = self._context.after(task, settled, outcome)
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
