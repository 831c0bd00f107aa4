"""A large language model's replies to prompts of `LLMReader`, from a file.

    python -m benchmarks.dialogues tests/language/requests-7.json --reader tests/language/recorded_model.py:reader

The model was an agent of Anthropic's Claude in November 2026. It had the system message of the `LLMBuilder` and read
one prompt of a dialogue at a time, in an empty folder: it saw neither this project nor the right worlds. Replies that
cannot be used are kept, and no request is repeated.

`model_replies.json` has the text of a reply by the SHA-256 of the user message. A prompt without a recorded reply
counts as a reply that changes nothing. `ask_again.py` asks for the replies that are missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.llm import ChatRequest, LLMSettings, Reply
from iglu_marl.agents.llm.reader import LLMReader
from iglu_marl.language import Context
from iglu_marl.language.talk.discourse import ReaderReply

FILE = Path(__file__).with_name("model_replies.json")
SETTINGS = LLMSettings("recorded", attempts=1)


def key_of(message: str) -> str:
    return hashlib.sha256(message.encode()).hexdigest()[:16]


class RecordedModel:
    """A backend. missing: user messages without a reply. system: the system message of the last request."""

    sees_pictures = False

    def __init__(self) -> None:
        self.replies: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
        self.missing: list[str] = []
        self.system = ""

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: ChatRequest) -> Reply:
        system, user = (message.text for message in request.messages)
        self.system = system
        found = self.replies.get(key_of(user))
        return self.without_reply(user) if found is None else Reply(found)

    def without_reply(self, message: str) -> Reply:
        self.missing.append(message)
        return Reply("nothing")

    def fits(self, request: ChatRequest) -> bool:
        return True

    def close(self) -> None:
        pass


class RecordedReader:
    """Reads each text by a new `LLMReader`, so that a prompt does not depend on the reply before it."""

    def __init__(self, model: RecordedModel | None = None) -> None:
        self.model = RecordedModel() if model is None else model

    def __call__(self, text: str, grid: npt.NDArray[np.int8], context: Context) -> ReaderReply | None:
        return LLMReader(SETTINGS, backend=self.model)(text, grid, context)


reader: Any = RecordedReader()
