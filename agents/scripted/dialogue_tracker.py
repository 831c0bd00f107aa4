"""New utterances in an observed dialog, and utterances in the form of the chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from iglu_marl import AgentError, Dialogue, DialogueError, Utterance
from iglu_marl.agents.settings import MESSAGE_TOKENS
from iglu_marl.core.dialogue import PAIR, Codec, Speaker, decode_dialogue
from iglu_marl.language import TemplateCodec

DIALOG_KEYS = ("dialog", "chat")  # "chat" in the environments of IGLU 2021
SHOW_ARCHITECT = 'let it see it: architect_sees=("target_grid", "grid", "dialog", "pose")'
SHOW_BUILDER = (
    'let it see that: builder_sees=("dialog", "inventory", "pose", "grid"), or the id IGLUGridworldVector-v0'
)


def require_entry(observation: Any, keys: tuple[str, ...], who: str, hint: str) -> Any:
    """Return the entry of an observation under one of the keys.

    Raises:
        AgentError: if there is none.

    """
    if isinstance(observation, Mapping):
        for key in keys:
            if key in observation:
                return observation[key]
    got = sorted(map(str, observation)) if isinstance(observation, Mapping) else type(observation).__name__
    raise AgentError(f"the {who} needs {keys[0]!r} in its observation and got {got}; {hint}")


class DialogueTracker:
    """Finds new utterances, and encodes utterances for the chat: text, or tokens.

    Args:
        codec: vocabulary of token chat; None = the templates.
        tokens: whether the chat uses tokens, until a dialog shows it.
        message_length: capacity of a token message.
        speakers: of the game.

    """

    def __init__(
        self,
        codec: Codec | None,
        message_length: int | None,
        tokens: bool = False,
        speakers: tuple[Speaker, ...] = PAIR,
    ) -> None:
        self._speakers = speakers
        self.codec: Codec = TemplateCodec() if codec is None else codec
        self.message_length = message_length or MESSAGE_TOKENS
        self.tokens = tokens or codec is not None
        self._raw: Any = None
        self._known: tuple[Utterance, ...] = ()

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of a seat: it sees itself whether the chat is of text or of tokens."""
        return {"codec": self.codec, "max_tokens": self.message_length}

    def forget(self) -> None:
        """Begin with an empty memory."""
        self._raw, self._known = None, ()

    def hear(self, dialog: Any) -> tuple[Utterance, ...]:
        """Return the utterances that were not in the last dialog, oldest first.

        A dialog may be a window over the latest part of a longer one.

        Raises:
            AgentError: if the value is not a dialog.

        """
        if isinstance(dialog, str):
            if dialog == self._raw:
                return ()
            self.tokens, now = False, Dialogue.parse(dialog).utterances
        elif isinstance(dialog, np.ndarray) and dialog.ndim == 1 and dialog.dtype.kind in "iu":
            if self._raw is not None and np.array_equal(dialog, self._raw):
                return ()
            self.tokens = True
            try:
                now = decode_dialogue(dialog, self.codec, self._speakers)
            except DialogueError as error:
                raise AgentError(str(error)) from None
        else:
            raise AgentError(f"the dialog is {dialog!r:.80}, expected text or an array of token ids")
        self._raw = dialog
        before, self._known = self._known, now
        return now[_overlap(before, now) :]

    def utter(self, text: str) -> Any:
        """Return a text as an utterance of this chat; "" is silence."""
        if not self.tokens:
            return text
        tokens = np.zeros(self.message_length, dtype=np.int64)
        stated = self.codec.encode(text)
        if len(stated) > self.message_length:
            raise AgentError(f"{text!r} has {len(stated)} tokens, but a message holds {self.message_length}")
        tokens[: len(stated)] = stated
        return tokens


def _overlap(before: tuple[Utterance, ...], now: tuple[Utterance, ...]) -> int:
    """Return how many utterances at the beginning of `now` are the end of `before`."""
    for count in range(min(len(before), len(now)), 0, -1):
        if before[-count:] == now[:count]:
            return count
    return 0
