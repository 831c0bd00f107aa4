"""A builder that lets a language model decide what to place and what to remove."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iglu_marl import AgentError, Role, Utterance
from iglu_marl.agents.llm.decision import Decider, Deciding, Mind, check_sayable
from iglu_marl.agents.llm.messages import Backend, Message
from iglu_marl.agents.llm.prompting import joined
from iglu_marl.agents.llm.reading import Order, Unreadable, clipped, read_order
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import counts_of, pictured, told_pose
from iglu_marl.agents.llm.world_text import told as told_scene
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, need
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import cell_index

RETRY_AFTER, MAX_PAUSE = 20, 640  # steps of doing nothing before the same is asked once more after a failure

_HINT = (
    'let it see that: builder_sees=("dialog", "inventory", "pose", "grid"), or the id IGLUGridworldVector-v0'
)


class LLMBuilder(Decider, ScriptedBuilder):
    """Builds what a language model makes of the architect's words.

    When the architect has said something, the model is shown the build, the inventory, the builder's own pose and the
    dialogue, and answers with edits in a small JSON form (docs/llm.md). They are checked, planned and done in the same
    way as those of the `ScriptedBuilder`, of which this is another head. A reply that cannot be used in whole changes
    nothing: the builder yields, and the model learns at the next request what was wrong.

    It needs `dialog`, `agentPos` and `grid` in its observation, and is helped by `inventory`.

    settings: see `LLMSettings`; None = from the environment. backend: one of your own instead. controls,
    select_and_place, can_yield, can_ask: as in the game; can_ask: the model may ask the architect. codec: the
    vocabulary of token chat. message_length: of an utterance, in characters or tokens. background: stand still until
    the reply is there, instead of waiting for it.
    """

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        controls: ControlsName = "walking",
        can_yield: bool = True,
        can_ask: bool = False,
        select_and_place: bool = False,
        codec: Codec | None = None,
        message_length: int | None = None,
        background: bool = False,
    ) -> None:
        self.background = background
        self.message_length = message_length or (200 if codec is None else 16)
        self.mind = Mind(Role.BUILDER, settings, backend)
        super().__init__(
            controls,
            can_yield=can_yield,
            can_ask=can_ask,
            select_and_place=select_and_place,
            codec=codec,
            message_length=self.message_length,
        )

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> LLMBuilder:
        """One that fits an environment's action space and chat; its settings come from the environment variables."""
        found = super().for_env(env, **options)
        assert isinstance(found, LLMBuilder)
        return found

    def _forget(self) -> None:
        super()._forget()
        self.forget_call()
        self._pause, self._failures = 0, 0

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        if role != Role.BUILDER:
            raise AgentError(f"an LLMBuilder cannot play the {role}")
        self._forget()
        self.mind.begin(seed)

    def waiting(self) -> Any:
        """Stand still."""
        return self._with_words(self._body.wait(), "")

    def deciding(self, observation: Any) -> Deciding:
        """The next step for what was said. Raises `AgentError` when something needed is not observed."""
        dialog = need(observation, DIALOG_KEYS, "LLMBuilder", _HINT)
        for key in ("grid", "agentPos"):
            need(observation, (key,), "LLMBuilder", _HINT)
        self._look(observation)
        fresh = self._ears.hear(dialog)
        self.mind.dialogue.extend(fresh)
        if told := [said.text for said in fresh if said.role == Role.ARCHITECT]:
            self._unheeded, self._pause, self._failures = told[-1], 0, 0
        self._pause = max(0, self._pause - 1)
        if self._lost:
            return self._with_words(self._body.wait(), "")
        if self._unheeded is not None and not self._pause:
            yield from self._decide(observation)
        if self._steps:
            return self._with_words(self._body.do(self._steps.pop()), "")
        remark, self._remark = self._remark, ""
        return self._with_words(self._body.rest(), remark if self.can_ask else "")

    def _look(self, observation: Any) -> None:
        """As the `ScriptedBuilder` looks; what was interrupted goes on."""
        interrupted, remark = bool(self._lost and (self._steps or self._remark)), self._remark
        super()._look(observation)
        if interrupted and not self._lost and self._changes:
            self._resume()
            self._remark = remark

    # -- deciding

    def _decide(self, observation: Any) -> Deciding:
        """Ask the model what the newest words come to, and plan for it."""
        self._drop_it("")  # of what was being done, what is in place counts
        order = yield from self.mind.ask(lambda said: self._chat(observation, said), self._planned)
        if order is None:
            self._pause = min(RETRY_AFTER * 2**self._failures, MAX_PAUSE)
            self._failures += 1
            return
        self._unheeded, self._remark = None, order.say

    def _planned(self, text: str) -> Order:
        """A reply as an order that can be carried out; its plan is at hand then. Raises `Unreadable`."""
        assert self._settled is not None
        order = read_order(text, self._settled, self.mind.settings.max_edits)
        goal = self._settled.copy()
        for edit in order.edits:
            goal[cell_index(*edit.cell)] = edit.color
        if not self._pursue(goal):
            reason = "" if self.plan is None else self.plan.reason
            self._drop_it("")
            raise Unreadable(f"this cannot be built: {reason}")
        self._changes = {edit.cell: edit.color for edit in order.edits}
        return Order(order.edits, self._sayable(order.say))

    def _sayable(self, text: str) -> str:
        """What is left of an utterance that this game can carry."""
        if not text or not self.can_ask:
            return ""
        if self._ears.tokens:
            try:
                check_sayable(self._ears.codec, text, self.message_length)
            except Unreadable:
                self.mind.stats.parse_failures += 1
                self.mind.stats.failures["unreadable"] += 1
                return ""
            return text
        short = clipped(text, self.message_length)
        self.mind.stats.clipped += short != text
        return short

    def _chat(self, observation: Any, said: Sequence[Utterance]) -> tuple[Message, ...]:
        mind, tokens = self.mind, self._ears.tokens
        limit = f"{self.message_length} {'words' if tokens else 'characters'}"
        system = mind.part(
            "system",
            max_edits=mind.settings.max_edits,
            say=mind.part("can_ask", limit=limit) if self.can_ask else "",
            say_form=mind.part("can_ask_form").strip() if self.can_ask else "",
        )
        system += mind.channel(self._ears.codec if tokens else None)
        assert self._settled is not None
        pictures: tuple[bytes, ...] = ()
        if mind.settings.view == "picture":
            pictures = (pictured(self._settled),)
            scene = mind.part("pictures", which=1).strip()
        else:
            scene = told_scene(self._settled, mind.settings.view)
        left = ""
        if "inventory" in observation:
            left = mind.part("inventory", counts=joined(counts_of(observation["inventory"])))
        place, gaze = told_pose(np.asarray(observation["agentPos"]))
        user = mind.part(
            "turn",
            build=mind.part("build", scene=scene),
            inventory=left,
            pose=mind.part("pose", place=place, gaze=gaze),
            dialogue=mind.told(said),
            note=mind.noted(),
        )
        return Message("system", system.strip()), Message("user", user.strip(), pictures)
