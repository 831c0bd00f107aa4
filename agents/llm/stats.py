"""What LLM agents count, and the transcript of what they asked and were told."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iglu_marl import AgentError
from iglu_marl.agents.llm.messages import ChatRequest, Reply, RequestFailure
from iglu_marl.core.files import PRIVATE, opened


@dataclass
class Stats:
    """Counts of an agent.

    requests: chats that a reply was wanted for; cache_hits: those that the disk had; sent: those that went out, each
    retry counted; tokens and cost as they count against the budget. failures: by kind, `RequestFailure` and
    "unreadable". parse_failures: replies that came, but could not be read as what was asked for. over_budget: requests
    that were not sent because of the budget. no_ops: decisions at which nothing was done because of any of
    these. gave_up: episodes
    in which nothing more was asked after too many failures in a row. cut: replies that came to their limit; clipped:
    messages that were longer than the game allows; forgotten: utterances that a chat had no room for.
    """

    requests: int = 0
    cache_hits: int = 0
    sent: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    parse_failures: int = 0
    over_budget: int = 0
    no_ops: int = 0
    gave_up: int = 0
    cut: int = 0
    clipped: int = 0
    forgotten: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    def count(self, reply: Reply, cost: float) -> None:
        """Take a reply into account."""
        self.requests += 1
        self.cache_hits += reply.cached
        self.sent += reply.sent
        self.retries += max(0, reply.sent - 1)
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.cost += cost
        self.cut += reply.cut
        if reply.failure is not None:
            self.failures[reply.failure.value] += 1
            self.over_budget += reply.failure is RequestFailure.OVER_BUDGET

    def as_dict(self) -> dict[str, Any]:
        """The counts, JSON-ready."""
        found = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}
        return {**found, "cost": round(self.cost, 9), "failures": dict(sorted(self.failures.items()))}

    def add(self, other: Stats) -> None:
        """Add another's counts to these."""
        for part in dataclasses.fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))


_writing = threading.Lock()


class Transcript:
    """Appends every chat and its reply to a file, a JSON object a line. Pictures are named by their SHA-256.

    secret: the environment variable whose value never goes there. Raises `AgentError` when it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], secret: str) -> None:
        self.path, self._secret = Path(path), secret
        self._write("")

    def note(self, about: Mapping[str, Any], request: ChatRequest, reply: Reply, problem: str) -> None:
        """Append what was asked and answered. problem: why the reply could not be read."""
        messages = [
            {
                "speaker": part.speaker,
                "text": part.text,
                **(
                    {"pictures": [hashlib.sha256(picture).hexdigest() for picture in part.pictures]}
                    if part.pictures
                    else {}
                ),
            }
            for part in request.messages
        ]
        failure = None if reply.failure is None else reply.failure.value
        answer = {**dataclasses.asdict(reply), "failure": failure}
        line = {**about, "seed": request.seed, "messages": messages, "reply": answer, "problem": problem}
        text = json.dumps(line, ensure_ascii=False)
        secret = os.environ.get(self._secret, "").strip()
        if len(secret) >= 4:
            text = text.replace(secret, "[key]").replace(json.dumps(secret)[1:-1], "[key]")
        self._write(text + "\n")

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _writing, opened(self.path, "ab", PRIVATE) as file:  # one write at the end of the file
                file.write(text.encode("utf-8", errors="replace"))
        except OSError as error:
            raise AgentError(
                f"the transcript {self.path} cannot be written: {error.strerror or error}"
            ) from None
