"""A builder for which a language model decides what to place and what to remove."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import Pose, Role, Utterance
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.llm.decision import ModelAgent, ModelClient
from iglu_marl.agents.llm.messages import Backend, Message
from iglu_marl.agents.llm.reading import BuilderReply, Unreadable, read_commands, read_order
from iglu_marl.agents.llm.seat import (
    BUILDER_SEAT,
    DoneNotes,
    TeamSeat,
    check_text,
    known_grid,
    poses_text,
    target_text,
)
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import (
    describe_build,
    describe_edits,
    describe_pose,
    encode_png,
    inventory_text,
    names_text,
)
from iglu_marl.agents.scripted.dialogue_tracker import (
    DIALOG_KEYS,
    SHOW_BUILDER,
    require_entry,
)
from iglu_marl.agents.scripted.plan_executor import PlanExecutor
from iglu_marl.agents.settings import Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import Cell, blocks_to_grid, cell_index
from iglu_marl.game.seats import unwrap_game
from iglu_marl.planning import Edit

RETRY_AFTER, MAX_PAUSE = 20, 640  # steps without action before a failed request is repeated
TALKS = 20  # replies without a change before an answer waits, too

_EXAMPLE = blocks_to_grid(
    [(0, -1, 0, 6), (2, -1, -1, 2), (2, 0, -1, 2), (2, 1, -1, 1)]
)  # build of the examples
_REPLY = re.compile(r"(?:^> .*\n)+", re.MULTILINE)


class LLMBuilder(ModelAgent, BuilderBase):
    """Do the edits that a language model derives from the architect's messages.

    After a message of the architect, the model is shown the build, the inventory, the builder's pose and the
    dialogue. It answers with edits (docs/llm.md), which are checked, planned and done as in `ScriptedBuilder`.
    A reply that cannot be used as a whole changes nothing: the builder yields, and the next request explains the
    problem. The observation must have `dialog`, `agentPos` and `grid`; `inventory` is optional.

    Args:
        settings: None = from the environment variables.
        backend: a backend of your own instead of that of the settings.
        controls: action encoding of the game.
        seat: place in a team.
        options: fields of `iglu_marl.agents.settings.Settings`; with `can_ask` the model may ask the architect.

    """

    role = Role.BUILDER
    reads = "anything"

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        controls: ControlsName = "walking",
        seat: TeamSeat = BUILDER_SEAT,
        **options: Unpack[Options],
    ) -> None:
        self.seat = seat
        super().__init__(check_text(Settings(controls, **options), "LLMBuilder"))
        self.message_length = self.game.max_length
        self.client = ModelClient(Role.BUILDER, settings, backend)
        self._executor = PlanExecutor(self.game, "LLMBuilder")
        self._forget(None)

    @classmethod
    def for_seat(cls, env: Any, agent: str, **options: Any) -> LLMBuilder:
        """Return a builder for a seat ("builder_1") of an environment."""
        return cls._in_game(env, seat=TeamSeat.of(unwrap_game(env).config, agent), **options)

    @property
    def _needed_seat(self) -> dict[str, Any]:
        return self.seat.made_for

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self._executor.forget()
        self._remark = ""  # said when the plan is done
        self._unheeded = False  # whether the architect's newest message waits for a reply of the model
        self._pause, self._failures = 0, 0
        self._fruitless = 0  # replies in a row that asked for no change
        self._leads_on = False  # whether it sees more to build, without an architect
        self._done = DoneNotes(self.seat)
        self._order: tuple[int, list[Edit]] | None = None  # length of the dialogue, and edits in progress

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        super().reset(role, seed)
        self.client.begin(seed)

    @property
    def idle(self) -> bool:
        """Whether all messages are dealt with."""
        executor = self._executor
        return not (executor.steps or self._remark or executor.lost or self._unheeded or self._leads_on)

    def act(self, observation: Any) -> Any:
        """Return the next action.

        Raises:
            AgentError: if the observation lacks a required key.
            ServiceRefusedError: if every request would fail.

        """
        dialog = require_entry(observation, DIALOG_KEYS, "LLMBuilder", SHOW_BUILDER)
        executor = self._executor
        if executor.look(observation):
            interrupted = bool(executor.steps or self._remark)
            executor.steps = []
            if interrupted and executor.changes and not executor.resume():
                executor.tidy_up()
        fresh = self._dialogue.hear(dialog)
        self.client.dialogue.extend(fresh)
        if any(map(self.seat.is_addressed, fresh)):
            self._unheeded, self._failures = True, 0
            late = self._fruitless - TALKS  # talk that leads to nothing goes on less and less often
            self._pause = min(RETRY_AFTER * 2**late, MAX_PAUSE) if late >= 0 else 0
        self._pause = max(0, self._pause - 1)
        if self.seat.leads:
            self._leads_on = not np.array_equal(observation["target_grid"], known_grid(observation))
            self._unheeded |= self._leads_on and not (executor.steps or self._pause)
        if executor.lost:
            return self._with_words(executor.state.wait())
        if self._unheeded and not self._pause:
            self._decide(observation)
        if executor.steps:
            return self._with_words(executor.act())
        remark, self._remark = self._remark, ""
        return self._with_words(executor.act(), remark)

    def _decide(self, observation: Any) -> None:
        self._settle_order()
        self._executor.drop()  # of the previous order, only the finished edits count
        self._remark = ""
        reply = self.client.ask(lambda said: self._chat(observation, said), self._plan_reply)
        if reply is None:
            self._pause = min(RETRY_AFTER * 2**self._failures, MAX_PAUSE)
            self._failures += 1
            return
        self._unheeded, self._remark = False, reply.say
        self._fruitless = 0 if reply.edits else self._fruitless + 1
        if self.seat.leads:
            self._failures += not reply.edits
            self._pause = min(RETRY_AFTER * 2**self._failures, MAX_PAUSE)
        self._order = len(self.client.dialogue), reply.edits

    def _settle_order(self) -> None:
        """Record which edits of the order in progress are in place."""
        if self._order is not None:
            length, edits = self._order
            self._done.note(self.client.dialogue[:length], describe_edits(edits, self._executor.state.grid))
            self._order = None

    def _plan_reply(self, text: str) -> BuilderReply:
        """Read a reply and plan its edits. Raises `Unreadable`."""
        executor = self._executor
        reply = read_order(text, executor.settled, self.client.settings.max_edits)
        goal = executor.settled.copy()
        for edit in reply.edits:
            goal[cell_index(*edit.cell)] = edit.color
        if not executor.pursue(goal):
            reason = "" if executor.plan is None else executor.plan.reason
            executor.drop()
            raise Unreadable(f"this cannot be built: {reason}")
        executor.changes = {edit.cell: edit.color for edit in reply.edits}
        return BuilderReply(
            reply.edits, self.client.clip_message(reply.say, self.message_length) if self.can_ask else ""
        )

    def _chat(self, observation: Any, said: Sequence[Utterance]) -> tuple[Message, ...]:
        return builder_chat(
            self.client,
            said,
            observation,
            self._executor.settled,
            limit=self.message_length,
            can_ask=self.can_ask,
            done=self._done.of(self.client.dialogue),
            seat=self.seat,
        )


def builder_chat(
    client: ModelClient,
    said: Sequence[Utterance],
    observation: Mapping[str, Any],
    grid: npt.NDArray[Any] | None,
    *,
    limit: int,
    can_ask: bool,
    done: Mapping[int, str] | None = None,
    names: Mapping[str, Iterable[Cell]] | None = None,
    seat: TeamSeat = BUILDER_SEAT,
) -> tuple[Message, ...]:
    """Return the chat for a builder's next reply: the rules, and what it knows.

    Args:
        client: prompts and settings.
        said: the newest part of the dialogue.
        observation: has agentPos; inventory and pov are optional.
        grid: the build, int [9, 11, 11]; None: only what the builder sees is shown.
        limit: length limit of an utterance in characters.
        can_ask: whether the builder may speak.
        done: see `ModelClient.dialogue_section`.
        names: cells by the names that were given.
        seat: place in a team.

    """
    shows_pov = grid is None or (client.settings.pictures and "pov" in observation)
    pictures = (encode_png(observation["pov"]),) if shows_pov else ()
    scene = "" if grid is None else describe_build(grid, client.settings.view)
    if shows_pov:
        scene = f"{scene}\n{client.part('pov', which=1)}".strip()
    left = ""
    if "inventory" in observation:
        left = client.part("inventory", counts=inventory_text(observation["inventory"]))
    place, gaze = describe_pose(Pose.from_observation(observation))
    others, number = observation.get("others", ()), seat.me[1] or 0
    beside = [one if one < number else one + 1 for one in range(len(others))]
    target = target_text(observation, client.settings.view) if seat.sees_target else ""
    user = client.part(
        "turn",
        target=client.part("target", scene=target) if target else "",
        others=client.part("others", lines=poses_text(others, beside)) if beside else "",
        build=client.part("build", scene=scene),
        names=client.part("names", lines=names_text(names)) if names else "",
        inventory=left,
        pose=client.part("pose", place=place, gaze=gaze),
        dialogue=client.dialogue_section(said, done),
        note=client.note_section(),
    )
    system = client.part(
        "system",
        form=_form_section(client, can_ask),
        max_edits=client.settings.max_edits,
        say=client.part("can_ask", limit=f"{limit} characters") if can_ask else "",
        examples=_examples_section(client, can_ask),
    )
    rules = Message("system", (system + seat.rules(client.prompts)).strip())
    return rules, Message("user", user.strip(), pictures)


def _form_section(client: ModelClient, can_ask: bool) -> str:
    """Return the paragraph on the form of a reply."""
    if client.answers == "lines":
        say = f"\n{client.part('can_ask_line').strip()}" if can_ask else ""
        return client.part("lines", say_form=say, or_said=" and nothing is said" if can_ask else "").strip()
    say = client.part("can_ask_form").strip() if can_ask else ""
    return client.part(client.answers, say_form=say).strip()


def _examples_section(client: ModelClient, can_ask: bool) -> str:
    """Return the worked examples. Lines after "> " are replies, in the form of the client."""
    scene = describe_build(_EXAMPLE, client.settings.view)
    text = client.part("examples", scene=scene) + (client.part("can_ask_examples") if can_ask else "")
    shown = _REPLY.sub(
        lambda match: _example_reply(match[0].replace("> ", ""), client.answers, can_ask), text
    )
    return shown.strip()


def _example_reply(lines: str, answers: str, can_ask: bool) -> str:
    if answers == "lines":
        return f"Your reply:\n{lines}"
    reply = read_commands(lines)
    shown = reply if can_ask else {"edits": reply["edits"]}
    return f"Your reply:\n{json.dumps(shown, ensure_ascii=False)}\n"
