"""A reader for `Discourse` and the scripted builder that asks a language model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import Role, Utterance
from iglu_marl.agents.llm.builder import builder_chat
from iglu_marl.agents.llm.decision import ModelClient
from iglu_marl.agents.llm.messages import Backend
from iglu_marl.agents.llm.reading import read_order
from iglu_marl.agents.llm.seat import NOT_YET
from iglu_marl.agents.llm.settings import LLMSettings
from iglu_marl.agents.llm.world_text import edits_text
from iglu_marl.agents.settings import MESSAGE_CHARACTERS
from iglu_marl.core.grid import color_at
from iglu_marl.language import CellEdit, Context
from iglu_marl.language.meaning.verbs import Sequence
from iglu_marl.language.talk.discourse import ReaderReply

Grid = npt.NDArray[np.int8]


class LLMReader:
    """Ask a language model what a text means: a reader for `Discourse` and `ScriptedBuilder`.

    The model gets the prompts of the `LLMBuilder`. Its edits are carried out as an instruction, so "it" and "undo"
    mean them.

    Args:
        settings: None = from the environment variables.
        backend: a backend of your own instead of that of the settings.

    """

    def __init__(self, settings: LLMSettings | None = None, *, backend: Backend | None = None) -> None:
        self.client = ModelClient(Role.BUILDER, settings, backend)

    def __call__(self, text: str, grid: Grid, context: Context) -> ReaderReply | None:
        """Return the edits and what is said, both possibly empty; None without a usable reply.

        Args:
            text: the newest text of the architect, not yet in `context.said`.
            grid: the world, int8 [9, 11, 11].
            context: the dialogue so far, where the builder stands, and its blocks.

        Raises:
            ServiceRefusedError: if every request would fail.

        """
        client = self.client
        client.dialogue = [*context.said, Utterance(Role.ARCHITECT, text)]
        position = context.position or (0.0, -0.25, 0.0)
        observation: dict[str, Any] = {
            "agentPos": (*position, 0.0, context.yaw_deg or 0.0)
        }  # x y z pitch yaw
        if context.inventory is not None:
            observation["inventory"] = context.inventory
        compose = partial(
            builder_chat,
            client,
            observation=observation,
            grid=grid,
            limit=MESSAGE_CHARACTERS,
            can_ask=True,
            done=_done(context),
            names={name: named.cells for name, named in context.names.items()},
        )
        read = partial(read_order, grid=grid, max_edits=client.settings.max_edits)
        order = client.ask(compose, read)
        if order is None:
            return None
        changes = [edit for edit in order.edits if edit.color != color_at(grid, edit.cell)]
        parts = [CellEdit.between(edit.cell, color_at(grid, edit.cell), edit.color) for edit in changes]
        instruction = Sequence(tuple(parts)) if len(parts) > 1 else next(iter(parts), None)
        return ReaderReply(instruction, client.clip_message(order.say, MESSAGE_CHARACTERS))


def _done(context: Context) -> dict[int, str]:
    """Return what was done for each of the architect's messages, by number; the newest one is still to be read."""
    spoken = [number for number, said in enumerate(context.said) if said.role is Role.ARCHITECT]
    made = {
        number: edits_text((edit.cell, edit.color or 0) for edit in edits) for number, edits in context.done
    }
    return {**dict.fromkeys(spoken, "nothing"), **made, len(context.said): NOT_YET}
