"""A builder that lets a language model decide what to place and what to remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import Role, Utterance
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.llm.decision import Decider, Deciding, ModelClient, check_sayable
from iglu_marl.agents.llm.messages import Backend, Message
from iglu_marl.agents.llm.prompting import joined
from iglu_marl.agents.llm.reading import BuilderReply, Unreadable, read_order
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import as_png, counts_of, pictured, told_edits, told_pose
from iglu_marl.agents.llm.world_text import told as told_scene
from iglu_marl.agents.scripted.dialogue_tracker import DIALOG_KEYS, SHOW_BUILDER, need
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import cell_index
from iglu_marl.planning import Edit, Plan

RETRY_AFTER, MAX_PAUSE = 20, 640  # steps of doing nothing before the same is asked once more after a failure

_NOT_YET = "not yet"


class LLMBuilder(Decider, BuilderBase):
    """Builds what a language model makes of the architect's words.

    When the architect has said something, the model is shown the build, the inventory, the builder's own pose and the
    dialogue, and answers with edits in a small JSON form (docs/llm.md). They are checked, planned and done in the same
    way as those of the `ScriptedBuilder`. A reply that cannot be used in whole changes
    nothing: the builder yields, and the model learns at the next request what was wrong.

    It needs `dialog`, `agentPos` and `grid` in its observation, and is helped by `inventory`.

    settings: see `LLMSettings`; None = from the environment. backend: one of your own instead. controls,
    select_and_place, can_yield, can_ask: as in the game; can_ask: the model may ask the architect. codec: the
    vocabulary of token chat. message_length: of an utterance, in characters or tokens. background: stand still until
    the reply is there, instead of waiting for it.
    """

    role = Role.BUILDER

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        controls: ControlsName = "walking",
        background: bool = False,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        self.background, self.message_length = background, self.game.most
        self.client = ModelClient(Role.BUILDER, settings, backend)
        self._executor = PlanExecutor(self.game, "LLMBuilder")
        self._forget(None)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self.forget_call()
        self._remark = ""  # what is to be said when the plan is done
        self._unheeded = False  # whether the architect's latest words have come to nothing yet
        self._pause, self._failures = 0, 0
        self._done: dict[int, str] = {}  # what was done for messages of the architect, by their number
        self._newest = -1  # the number of the latest one
        self._order: tuple[int, list[Edit]] | None = None  # what is being done, and for which message

    @property
    def plan(self) -> Plan | None:
        """The last plan that was made."""
        return self._executor.plan

    # -- Agent

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        super().reset(role, seed)
        self.client.begin(seed)

    @property
    def idle(self) -> bool:
        """Whether there is nothing left to do or to say of what it was told."""
        return not (self._executor.steps or self._remark or self._executor.lost or self._unheeded)

    def waiting(self) -> Any:
        """Stand still."""
        return self._with_words(self._executor.state.wait())

    def deciding(self, observation: Any) -> Deciding:
        """The next step for what was said. Raises `AgentError` when something needed is not observed."""
        dialog = need(observation, DIALOG_KEYS, "LLMBuilder", SHOW_BUILDER)
        executor = self._executor
        if executor.look(observation):
            interrupted = bool(executor.steps or self._remark)
            executor.steps = []
            if interrupted and executor.changes and not executor.resume():
                executor.tidy_up()
        fresh = self._dialogue.hear(dialog)
        self.client.dialogue.extend(fresh)
        if any(said.role == Role.ARCHITECT for said in fresh):
            self._unheeded, self._pause, self._failures = True, 0, 0
            self._hear()
        self._pause = max(0, self._pause - 1)
        if executor.lost:
            return self.waiting()
        if self._unheeded and not self._pause:
            yield from self._decide(observation)
        if executor.steps:
            return self._with_words(executor.act())
        remark, self._remark = self._remark, ""
        return self._with_words(executor.act(), remark)

    # -- deciding

    def _decide(self, observation: Any) -> Deciding:
        """Ask the model what the newest words come to, and plan for it."""
        self._settle_order()
        self._executor.drop()  # of what was being done, what is in place counts
        self._remark = ""
        reply = yield from self.client.ask(lambda said: self._chat(observation, said), self._planned)
        if reply is None:
            self._pause = min(RETRY_AFTER * 2**self._failures, MAX_PAUSE)
            self._failures += 1
            return
        self._unheeded, self._remark = False, reply.say
        self._order = self._newest, reply.edits
        for number in range(self._newest):
            if self._done.get(number) == _NOT_YET:
                self._done[number] = "see the next messages"

    def _hear(self) -> None:
        """Note the architect's messages that nothing was done for so far."""
        for number in range(self._newest + 1, len(self.client.dialogue)):
            if self.client.dialogue[number].role == Role.ARCHITECT:
                self._done[number] = _NOT_YET
                self._newest = number

    def _settle_order(self) -> None:
        """Note what is in place of what was being done."""
        if self._order is not None:
            number, edits = self._order
            self._done[number] = told_edits(edits, self._executor.state.grid)
            self._order = None

    def _planned(self, text: str) -> BuilderReply:
        """A reply as an order that can be carried out; its plan is at hand then. Raises `Unreadable`."""
        executor = self._executor
        reply = read_order(text, executor.settled, self.client.settings.max_edits)
        goal = executor.settled.copy()
        for edit in reply.edits:
            goal[cell_index(*edit.cell)] = edit.color
        if not executor.pursue(goal):
            reason = "" if self.plan is None else self.plan.reason
            executor.drop()
            raise Unreadable(f"this cannot be built: {reason}")
        executor.changes = {edit.cell: edit.color for edit in reply.edits}
        return BuilderReply(reply.edits, self._sayable(reply.say))

    def _sayable(self, text: str) -> str:
        """What is left of an utterance that this game can carry."""
        if not text or not self.can_ask:
            return ""
        if self._dialogue.tokens:
            try:
                check_sayable(self._dialogue.codec, text, self.message_length)
            except Unreadable:
                self.client.stats.parse_failures += 1
                self.client.stats.failures["unreadable"] += 1
                return ""
            return text
        return self.client.clipped(text, self.message_length)

    def _chat(self, observation: Any, said: Sequence[Utterance]) -> tuple[Message, ...]:
        tokens = self._dialogue.tokens
        return builder_chat(
            self.client,
            said,
            observation,
            self._executor.settled,
            limit=f"{self.message_length} {'words' if tokens else 'characters'}",
            can_ask=self.can_ask,
            codec=self._dialogue.codec if tokens else None,
            done=self._done,
        )


def builder_rules(client: ModelClient, *, limit: str, can_ask: bool, codec: Codec | None = None) -> Message:
    """The rules of a builder's chat. limit: of an utterance, with its unit. codec: of token chat."""
    system = client.part(
        "system",
        max_edits=client.settings.max_edits,
        say=client.part("can_ask", limit=limit) if can_ask else "",
        say_form=client.part("can_ask_form").strip() if can_ask else "",
    )
    return Message("system", (system + client.channel(codec)).strip())


def builder_chat(
    client: ModelClient,
    said: Sequence[Utterance],
    observation: Mapping[str, Any],
    grid: npt.NDArray[Any],
    *,
    limit: str,
    can_ask: bool,
    codec: Codec | None = None,
    done: Mapping[int, str] | None = None,
) -> tuple[Message, ...]:
    """A chat in which a builder is to answer: the rules, and what it knows.

    said: the end of the dialogue. observation: agentPos, and perhaps inventory and pov. grid: the build [9, 11, 11].
    limit: of an utterance, with its unit. codec: of token chat. done: see `ModelClient.told`.
    """
    pictures: tuple[bytes, ...] = ()
    if client.settings.view == "picture":
        pictures = (pictured(grid),)
        scene = client.part("pictures", which=1).strip()
        if "pov" in observation:
            pictures = (*pictures, as_png(observation["pov"]))
            scene += "\n" + client.part("pov", which=2).strip()
    else:
        scene = told_scene(grid, client.settings.view)
    left = ""
    if "inventory" in observation:
        left = client.part("inventory", counts=joined(counts_of(observation["inventory"])))
    place, gaze = told_pose(np.asarray(observation["agentPos"]))
    user = client.part(
        "turn",
        build=client.part("build", scene=scene),
        inventory=left,
        pose=client.part("pose", place=place, gaze=gaze),
        dialogue=client.told(said, done),
        note=client.noted(),
    )
    rules = builder_rules(client, limit=limit, can_ask=can_ask, codec=codec)
    return rules, Message("user", user.strip(), pictures)
