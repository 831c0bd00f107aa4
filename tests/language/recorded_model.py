"""A large language model's replies to prompts of `LLMReader`, from a file.

    python -m benchmarks.dialogues tests/language/requests-7.json --reader tests/language/recorded_model.py:reader

The model was an agent of Anthropic's Claude in November 2026. It had the system message of the `LLMBuilder` and read a
round of prompts at a time, each of which is one user message; it saw neither this project nor the right worlds. In
sessions of the Minecraft corpus (13 of val) it saw each prompt after it had answered the one before. Since then rules
have gone, so a few prompts have changed: a prompt without a recorded reply counts as a reply that changes nothing.

`model_replies.json` has a reply by the SHA-256 of the user message: edits [colour, "" to remove; east, north, height],
or what was said instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from iglu_marl.agents.llm import ChatRequest, LLMSettings, Reply
from iglu_marl.agents.llm.reader import LLMReader

FILE = Path(__file__).with_name("model_replies.json")


def key_of(message: str) -> str:
    return hashlib.sha256(message.encode()).hexdigest()[:16]


class RecordedModel:
    """A backend. missing: user messages without a reply."""

    sees_pictures = False

    def __init__(self) -> None:
        self.missing: list[str] = []

    @cached_property
    def replies(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
        return found

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        return [self._reply(request.messages[1].text) for request in requests]

    def _reply(self, message: str) -> Reply:
        found = self.replies.get(key_of(message))
        if found is None:
            self.missing.append(message)
            return Reply(json.dumps({"edits": [], "say": ""}))
        said = found if isinstance(found, str) else ""
        edits = [
            {
                "action": "place" if color else "remove",
                "color": color or None,
                "east": e,
                "north": n,
                "height": h,
            }
            for color, e, n, h in ([] if said else found)
        ]
        return Reply(json.dumps({"edits": edits, "say": said}))

    def fits(self, request: ChatRequest) -> bool:
        return True

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.0

    def close(self) -> None:
        pass


SETTINGS = LLMSettings("recorded", max_edits=64)  # a fence around the zone has 40 blocks
reader = LLMReader(SETTINGS, backend=RecordedModel())
