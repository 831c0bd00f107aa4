"""A scripted builder for which a language model reads what the architect says."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import Role, Utterance
from iglu_marl.agents.llm.builder import NOT_YET, builder_chat, fit_utterance
from iglu_marl.agents.llm.decision import Decider, Decision, ModelClient, completed
from iglu_marl.agents.llm.messages import Backend, ChatRequest, Reply
from iglu_marl.agents.llm.reading import read_order
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import edits_text
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.settings import MESSAGE_CHARACTERS, Options, Settings
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.grid import color_at
from iglu_marl.language import CellEdit, Context
from iglu_marl.language.meaning.verbs import Sequence
from iglu_marl.language.talk.discourse import ReaderReply

Grid = npt.NDArray[np.int8]
Reading = Generator[ChatRequest, Reply, "ReaderReply | None"]


class LLMReader:
    """Ask a language model what a text means: a reader for `Discourse` and `ScriptedBuilder`.

    The model gets the prompts of the `LLMBuilder`. Its edits are carried out as an instruction, so "it" and "undo"
    mean them.

    Args:
        settings: None = from the environment variables.
        backend: a backend of your own instead of that of the settings.
        can_ask: whether the builder may speak.
        message_length: length limit of what it says.

    Attributes:
        inventory: blocks left by colour, float [6]; None = not known.
        codec: vocabulary of token chat; None = text chat.

    """

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        backend: Backend | None = None,
        can_ask: bool = True,
        message_length: int = MESSAGE_CHARACTERS,
    ) -> None:
        self.client = ModelClient(Role.BUILDER, settings, backend)
        self.can_ask, self.message_length = can_ask, message_length
        self.inventory: npt.NDArray[Any] | None = None
        self.codec: Codec | None = None

    def __call__(self, text: str, grid: Grid, context: Context) -> ReaderReply | None:
        """Return the edits and what is said, both possibly empty; None without a usable reply.

        Args:
            text: the newest text of the architect, not yet in `context.said`.
            grid: the world, int8 [9, 11, 11].
            context: the dialogue so far, and where the builder stands.

        Raises:
            ServiceRefusedError: if every request would fail.

        """
        return completed(self.client.backend, self.read(text, grid, context))

    def read(self, text: str, grid: Grid, context: Context) -> Reading:
        """Yield the requests for a call, receive the replies, and return its result."""
        client = self.client
        client.dialogue = [*context.said, Utterance(Role.ARCHITECT, text)]
        position = context.position or (0.0, -0.25, 0.0)
        observation: dict[str, Any] = {
            "agentPos": (*position, 0.0, context.yaw_deg or 0.0)
        }  # x y z pitch yaw
        if self.inventory is not None:
            observation["inventory"] = self.inventory
        compose = partial(
            builder_chat,
            client,
            observation=observation,
            grid=grid,
            limit=self.message_length,
            can_ask=self.can_ask,
            codec=self.codec,
            done=_done(context),
            names={name: named.cells for name, named in context.names.items()},
        )
        order = yield from client.ask(
            compose, partial(read_order, grid=grid, max_edits=client.settings.max_edits)
        )
        if order is None:
            return None
        changes = [edit for edit in order.edits if edit.color != color_at(grid, edit.cell)]
        parts = [CellEdit.between(edit.cell, color_at(grid, edit.cell), edit.color) for edit in changes]
        instruction = Sequence(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)
        words = fit_utterance(client, order.say, self.message_length, self.codec) if self.can_ask else ""
        return ReaderReply(instruction, words)


def _done(context: Context) -> dict[int, str]:
    """Return what was done for each of the architect's messages, by number; the newest one is still to be read."""
    spoken = [number for number, said in enumerate(context.said) if said.role is Role.ARCHITECT]
    made = {
        number: edits_text((edit.cell, edit.color or 0) for edit in edits) for number, edits in context.done
    }
    return {**dict.fromkeys(spoken, "nothing"), **made, len(context.said): NOT_YET}


class _NeedsReply(Exception):
    """The model has not read a text yet."""

    def __init__(self, key: object, reading: Reading) -> None:
        super().__init__(key)
        self.key, self.reading = key, reading


class AssistedBuilder(Decider, ScriptedBuilder):
    """The scripted builder; a language model reads what the architect says (`LLMReader`).

    While the service is down, and for replies that cannot be used, its rules read.

    Args:
        controls: any of the game.
        settings, backend: see `LLMReader`.
        background: stand still until the reply arrives instead of waiting for it.
        options: those of `ScriptedBuilder`.

    """

    role = Role.BUILDER

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        settings: LLMSettings | None = None,
        backend: Backend | None = None,
        background: bool = False,
        **options: Unpack[Options],
    ) -> None:
        game = Settings(controls, **options)
        self._model = LLMReader(
            settings, backend=backend, can_ask=game.can_ask, message_length=game.max_length
        )
        self.client, self.background = self._model.client, background
        super().__init__(controls, reader=self._reply_to, **options)

    def _forget(self, seed: int | None) -> None:
        super()._forget(seed)
        self.cancel_call()
        self._observation: Any = None  # the newest one
        self._looked = False  # whether it has looked at that
        self._reply: tuple[object, ReaderReply | None] = None, None  # to what, and the reply

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        super().reset(role, seed)
        self.client.begin(seed)

    def wait_action(self) -> Any:
        """Continue the plan until the reply arrives, or do nothing."""
        self._look(self._observation)
        executor = self._executor
        if executor.steps and not executor.lost:
            return self._with_words(executor.act())
        return self._with_words(executor.state.wait())

    def act(self, observation: Any) -> Any:
        """Return the next step; raise `AgentError` if a needed entry is not observed."""
        self._observation, self._looked = observation, False
        return super().act(observation)

    def _look(self, observation: Any) -> None:
        if not self._looked:
            super()._look(observation)
            self._looked = True

    def decide(self, observation: Any) -> Decision:
        """Decide on the next action. Raises `AgentError` if the observation lacks a required key."""
        self._observation, self._looked = observation, False
        while True:
            now = self._observation
            self._model.inventory = now.get("inventory") if isinstance(now, Mapping) else None
            self._model.codec = self._dialogue.codec if self._dialogue.tokens else None
            try:
                return ScriptedBuilder.act(self, now)
            except _NeedsReply as needed:
                reply = yield from needed.reading
                self._reply = needed.key, reply

    def _reply_to(self, text: str, grid: Grid, context: Context) -> ReaderReply | None:
        """Return the model's reply to a text; without one raise `_NeedsReply`, after which `act` starts again."""
        key = text, grid.tobytes(), context.said
        if self._reply[0] != key:
            raise _NeedsReply(key, self._model.read(text, grid.copy(), context))
        return self._reply[1]
