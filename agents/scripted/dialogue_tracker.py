"""Hearing and speaking: what is new in an observed dialog, and utterances in the form that the chat takes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Dialogue, Role, Utterance
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import TemplateCodec

DIALOG_KEYS = ("dialog", "chat")  # "chat" in the environments of IGLU 2021


def need(observation: Any, keys: tuple[str, ...], who: str, hint: str) -> Any:
    """The entry of an observation under one of the keys; raises `AgentError` when there is none."""
    if isinstance(observation, Mapping):
        for key in keys:
            if key in observation:
                return observation[key]
    got = sorted(map(str, observation)) if isinstance(observation, Mapping) else type(observation).__name__
    raise AgentError(f"the {who} needs {keys[0]!r} in its observation and got {got}; {hint}")


class Ears:
    """Tells which utterances are new, and says things in the form of the chat: text, or tokens.

    codec: the vocabulary of token chat; None = the templates. Whether the chat is text or tokens is seen from the
    dialog. message_length: of token utterances.
    """

    def __init__(self, codec: Codec | None, message_length: int) -> None:
        self.codec: Codec = TemplateCodec() if codec is None else codec
        self.message_length = message_length
        self.tokens = codec is not None
        self._raw: Any = None
        self._known: tuple[Utterance, ...] = ()

    def forget(self) -> None:
        """Begin with an empty memory."""
        self._raw, self._known = None, ()

    def hear(self, dialog: Any) -> tuple[Utterance, ...]:
        """The utterances that were not in the dialog last time, oldest first.

        A dialog may be a window over the latest part of a longer one. Raises `AgentError` for what is no dialog.
        """
        if isinstance(dialog, str):
            if dialog == self._raw:
                return ()
            self.tokens, now = False, Dialogue.parse(dialog).utterances
        elif isinstance(dialog, np.ndarray) and dialog.ndim == 1 and dialog.dtype.kind in "iu":
            if self._raw is not None and np.array_equal(dialog, self._raw):
                return ()
            self.tokens, now = True, self._read_tokens(dialog)
        else:
            raise AgentError(f"the dialog is {dialog!r:.80}, expected text or an array of token ids")
        self._raw = dialog
        before, self._known = self._known, now
        return now[_overlap(before, now) :]

    def _read_tokens(self, dialog: npt.NDArray[Any]) -> tuple[Utterance, ...]:
        size = self.codec.size
        said = dialog[dialog != 0]
        if len(said) and said.max() > size + 1:
            raise AgentError(
                f"the dialog holds token {said.max()}, but {self.codec.name!r} has {size}: another codec?"
            )
        starts = np.flatnonzero(said >= size).tolist()  # what comes before the first mark was cut off
        utterances = []
        for start, end in pairwise([*starts, len(said)]):
            role = Role.ARCHITECT if said[start] == size else Role.BUILDER
            utterances.append(Utterance(role, self.codec.decode(said[start + 1 : end].tolist())))
        return tuple(utterances)

    def utter(self, text: str) -> Any:
        """A text as an utterance of this chat; "" is silence."""
        if not self.tokens:
            return text
        tokens = np.zeros(self.message_length, dtype=np.int64)
        told = self.codec.encode(text)
        if len(told) > self.message_length:
            raise AgentError(f"{text!r} has {len(told)} tokens, but a message holds {self.message_length}")
        tokens[: len(told)] = told
        return tokens


def _overlap(before: tuple[Utterance, ...], now: tuple[Utterance, ...]) -> int:
    """How many utterances at the beginning of `now` are those at the end of `before`."""
    for count in range(min(len(before), len(now)), 0, -1):
        if before[-count:] == now[:count]:
            return count
    return 0
