"""A builder that follows instructions and never sees the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import AgentError, Role
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.scripted.answers import ConversationState
from iglu_marl.agents.scripted.asking import objection, report_done
from iglu_marl.agents.scripted.builder_answers import mentioned, replies
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, require_entry
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import cells_of, color_at
from iglu_marl.language import (
    CellEdit,
    DialogueAct,
    Discourse,
    Failure,
    Instruction,
    say,
)
from iglu_marl.language.talk.discourse import Reader, is_stop
from iglu_marl.language.talk.repair import Understanding, try_instruction
from iglu_marl.planning import Plan

Grid = npt.NDArray[np.int8]
MAX_CHOICES = 6  # maximum number of alternative worlds to plan for


class ScriptedBuilder(BuilderBase):
    """Parses the architect's latest utterance, plans with `iglu_marl.planning`, and acts.

    It understands all instructions of `iglu_marl.language`. "It" is what its last instruction was about. Left,
    right, in front and behind follow its view at the time of the instruction. "Undo" reverts the last instructions,
    one by one. If something is missing or ambiguous it asks (with can_ask), and the next utterance completes the
    instruction ("red", "no, the blue one"). It answers questions, too. Without a voice it yields and waits.

    It observes `dialog`, `agentPos` and `grid`. A plan longer than a turn continues in the next one, unless a new
    instruction comes. If the quick search finds no plan, a longer one follows. When the instruction is done or
    impossible, it yields (if turns can be ended).

    Args:
        controls: any of the game.
        select_and_place, can_yield, can_ask: as in the game; with can_ask it also says "Done." and the like.
        tokens, codec, message_length: of the chat.
        reader: a function of text, grid and context that reads instead of the grammar
            (`iglu_marl.language.talk.discourse.Reader`), such as a language model. None: there is none.

    Raises:
        AgentError: if `reader` is no function.

    """

    acts_on_cells = True

    def __init__(
        self, controls: ControlsName = "walking", *, reader: Reader | None = None, **options: Unpack[Options]
    ) -> None:
        if reader is not None and not callable(reader):
            raise AgentError(
                f"reader is {reader!r:.80}, expected a function of text, grid and context, or None"
            )
        self._reader = reader
        super().__init__(Settings(controls, **options))
        self._executor = PlanExecutor(self.game, "ScriptedBuilder")
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self._task: Instruction | None = None
        self._aside = ""  # what to say at once
        self.discourse = Discourse(self._reader)
        self._remark = ""  # what to say after the plan
        self._unheeded: list[str] = []  # texts that it has not taken up, the oldest first

    @property
    def plan(self) -> Plan | None:
        """The last plan."""
        return self._executor.plan

    def act(self, observation: Any) -> Any:
        """Return the next step for the last instruction; raise `AgentError` if a needed entry is not observed."""
        dialog = require_entry(observation, DIALOG_KEYS, "ScriptedBuilder", SHOW_BUILDER)
        self._look(observation)
        new = self._dialogue.hear(dialog)
        stated = [part.text for part in new if part.role == Role.ARCHITECT]
        for part in new:
            if part.role == Role.BUILDER:  # in recorded dialogues somebody else speaks as the builder
                self.discourse.overhear(part.text)
            elif part.text is not stated[-1]:
                self.discourse.overhear(part.text, part.role)
        self._unheeded += stated[-1:]
        executor = self._executor
        if executor.lost:
            return self._with_words(executor.state.wait())
        if self._unheeded:
            self._take(self._unheeded[0])
            del self._unheeded[0]
        if self._aside:
            aside, self._aside = self._aside, ""
            return self._with_words(executor.act() if executor.steps else executor.state.wait(), aside)
        if executor.steps:
            return self._with_words(executor.act())
        remark, self._remark = self._remark, ""
        return self._with_words(executor.act(), remark)

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do or to say."""
        return not (
            self._executor.steps or self._remark or self._aside or self._executor.lost or self._unheeded
        )

    @property
    def ready(self) -> bool:
        """Whether its next act takes no time: it has a plan or nothing to do, unless somebody speaks."""
        return not (self._unheeded or self._executor.lost)

    def _look(self, observation: Any) -> None:
        """Compare the private world with the observation; plan again after a surprise."""
        executor = self._executor
        agrees_again = executor.look(observation)
        x, y, z, yaw, _ = executor.pose
        self.discourse.stand((x, y, z), yaw, observation.get("inventory"))
        if agrees_again:
            busy = bool(executor.steps or self._remark)
            executor.steps = []
            if busy and self._task is not None:
                self._resume()

    def _take(self, text: str) -> None:
        if self._executor.steps and is_stop(text):
            self.discourse.overhear(text, Role.ARCHITECT)
            self._drop(say(DialogueAct.OKAY))
            return
        # A reader knows what was asked for as done: what is left of it is done with the next request.
        grid = self._executor.settle() if self._reader is None else self._executor.goal()
        unread = self.discourse.ask_reader(text, grid) is None
        if unread and self._answered(text):
            return
        heard = self.discourse.hear(text, grid)
        words = self._clipped(heard.words)
        if heard.act == "again":
            if self._task is not None:
                self._resume()
        elif heard.act in ("stop", "cancel"):
            self._drop(say(DialogueAct.OKAY) if heard.act == "cancel" else "")
        elif isinstance(heard.found, Failure):
            self._ask(heard)
        elif heard.instruction is None:
            self._aside = words
        elif heard.instruction != self._task or not self._executor.steps:  # no repetition
            self._aside = ""
            if self._work_on(heard.instruction, heard) and words:
                self._remark = words

    def _clipped(self, words: str) -> str:
        """Return as many words of a reader as can be sent."""
        said = words.split()
        while said and not self._fits(" ".join(said)):
            said.pop()
        return " ".join(said)

    def _answered(self, text: str) -> bool:
        """Answer a question about the world or itself; return whether the text is one."""
        goal, pending = self._executor.goal(), self.discourse.pending
        grid, context = self._executor.settled, self.discourse.context
        asking = "" if pending is None else self._objection(pending)
        now = ConversationState(grid, goal, grid, (), grid, context)
        found = replies(text, now, asking)
        if found:
            self.discourse.mention(mentioned(text, now))
            self._aside = next(filter(self._fits, [*found, say(DialogueAct.NOT_UNDERSTOOD)]), "")
        return bool(found)

    def _ask(self, heard: Understanding) -> None:
        """Say what speaks against an instruction, or ask about it, and keep it."""
        assert isinstance(heard.found, Failure)
        if heard.instruction is not None and heard.question is None:
            self._task = heard.instruction  # it may become possible later
            self._executor.settle()
            self._executor.changes = {}
            self._executor.tidy_up()
            self._remark = self._objection(heard)
            return
        self._drop(self._objection(heard))

    def _objection(self, heard: Understanding) -> str:
        grid, context = self._executor.settled, self.discourse.context
        return objection(heard, self._fits, grid, context, with_examples=not self._dialogue.tokens)

    def _fits(self, text: str) -> bool:
        length = len(self._dialogue.codec.encode(text)) if self._dialogue.tokens else len(text)
        return length <= self.game.max_length

    def _drop(self, remark: str) -> None:
        """Drop the instruction; only tidy up after the last one."""
        self._task = None
        self._executor.drop()
        self._remark = remark

    def _work_on(self, task: Instruction, heard: Understanding | None = None) -> bool:
        """Plan for an instruction, and for tidying up after an interrupted one; return whether there is a plan."""
        executor = self._executor
        settled = executor.settle().copy()
        before = self.discourse.context.before  # planning again after a surprise is no second instruction
        again = before is not None and before[0] == task and np.array_equal(before[1], settled)
        heard = heard or try_instruction("", task, settled, self.discourse.context)
        self._task, executor.changes = task, {}
        if isinstance(heard.found, Failure):
            self._ask(heard)
            return False
        for outcome in heard.found[:MAX_CHOICES]:
            if executor.pursue(outcome.grid):
                differing = [(x, y, z) for x, y, z in cells_of(settled != outcome.grid).tolist()]
                executor.changes = {
                    cell: color_at(outcome.grid, cell) for cell in (*differing, *outcome.cells)
                }
                if not again:
                    self.discourse.follow(task, settled, outcome)
                self._remark = report_done(heard, outcome.idle, self._fits)
                return True
        self._report_failure()
        return False

    def _resume(self) -> None:
        """Plan again for the current instruction, with its original outcome."""
        if isinstance(self._task, CellEdit) or not self._executor.changes:
            assert self._task is not None
            self._work_on(self._task)
        elif self._executor.resume():
            self._remark = say(DialogueAct.DONE)
        else:
            self._report_failure()

    def _report_failure(self) -> None:
        color = 0 if self.plan is None else self.plan.lacking
        self._remark = say(DialogueAct.NO_BLOCKS, color) if color else say(DialogueAct.UNREACHABLE)
        self._executor.tidy_up()
