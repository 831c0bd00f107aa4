"""A scripted builder for which a language model reads what the rules do not understand."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from iglu_marl import Role, Utterance
from iglu_marl.agents.llm.builder import builder_chat
from iglu_marl.agents.llm.decision import BackgroundCall, ModelClient, ModelUser, completed
from iglu_marl.agents.llm.messages import Backend
from iglu_marl.agents.llm.reading import read_order
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.settings import Options
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.grid import color_at
from iglu_marl.language import CellEdit, Context
from iglu_marl.language.verbs import Instruction, Sequence


class ReplyPending(Exception):
    """The reply has not arrived yet."""


class LLMReader:
    """Ask a language model what a text means: a reader for `Discourse` and `ScriptedBuilder`.

    The model gets the prompts of the `LLMBuilder` and answers with edits. They are checked and carried out as
    instructions are, so "it" and "undo" mean them.

    Args:
        settings: None = from the environment variables.
        backend: a backend of your own instead of that of the settings.
        background: raise `ReplyPending` until the reply arrives; ask again with the same text.

    """

    def __init__(
        self, settings: LLMSettings | None = None, *, backend: Backend | None = None, background: bool = False
    ) -> None:
        self.client = ModelClient(Role.BUILDER, settings, backend)
        self.background = background
        self._call: tuple[object, BackgroundCall] | None = None  # what it is about

    def __call__(self, text: str, grid: npt.NDArray[np.int8], context: Context) -> Instruction | None:
        """Return the edits; None if the model asks or says something instead, or has no usable reply.

        Args:
            text: what was not understood, or by parts only.
            grid: the world, int8 [9, 11, 11].
            context: the dialogue so far, and where the builder stands.

        Raises:
            ServiceRefusedError: if every request would fail.

        """
        if not self.background:
            return self._read(text, grid, context)
        about = text, grid.tobytes(), context.said
        if self._call is None or self._call[0] != about:
            self._call = about, BackgroundCall(partial(self._read, text, grid.copy(), context))
        if self._call[1].is_alive():
            raise ReplyPending
        (_, call), self._call = self._call, None
        return call.result()

    def _read(self, text: str, grid: npt.NDArray[np.int8], context: Context) -> Instruction | None:
        client = self.client
        client.dialogue = [*context.said, Utterance(Role.ARCHITECT, text)]
        position = context.position or (0.0, -0.25, 0.0)
        seen = {"agentPos": (*position, 0.0, context.yaw_deg or 0.0)}  # x y z pitch yaw
        compose = partial(
            builder_chat, client, observation=seen, grid=grid, limit="200 characters", can_ask=True
        )
        read = partial(read_order, grid=grid, max_edits=client.settings.max_edits)
        order = completed(client.backend, client.ask(compose, read))
        found = [] if order is None else order.edits
        changes = [edit for edit in found if edit.color != color_at(grid, edit.cell)]
        parts = [CellEdit.between(edit.cell, color_at(grid, edit.cell), edit.color) for edit in changes]
        return Sequence(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)


class AssistedBuilder(ModelUser, ScriptedBuilder):
    """The scripted builder; a language model reads what no rule reads as a whole (`LLMReader`).

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
        reader = LLMReader(settings, backend=backend, background=background)
        self.client = reader.client
        super().__init__(controls, reader=reader, **options)

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        super().reset(role, seed)
        self.client.begin(seed)

    def act(self, observation: Any) -> Any:
        """Return the next step; raise `AgentError` if a needed entry is not observed."""
        try:
            return super().act(observation)
        except ReplyPending:
            return self._with_words(self._executor.state.wait())

    def _take(self, text: str) -> None:
        known = copy(self.discourse)
        try:
            super()._take(text)
        except ReplyPending:  # the text will be heard again
            self.discourse = known
            raise

    def close(self) -> None:
        """Release the model. May be called more than once."""
        self.client.close()
