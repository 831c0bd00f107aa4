"""Counts of LLM agents, and transcripts of their requests and replies."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iglu_marl import AgentError
from iglu_marl.agents.llm.messages import ChatRequest, Reply
from iglu_marl.core.files import PRIVATE, error_reason, opened


@dataclass
class Stats:
    """Counts of an agent."""

    requests: int = 0  # requested replies
    cache_hits: int = 0  # replies from the cache
    retries: int = 0  # repeated attempts
    prompt_tokens: int = 0  # tokens sent, as counted against the budget
    completion_tokens: int = 0  # tokens received, as counted against the budget
    cost: float = 0.0  # in the unit of the prices
    no_ops: int = 0  # decisions without an effect because of failures
    cut: int = 0  # replies that reached their length limit
    clipped: int = 0  # messages longer than the game allows
    failures: Counter[str] = field(default_factory=Counter)  # counts by `RequestFailure`, and "unreadable"
    left_out: Counter[str] = field(
        default_factory=Counter
    )  # requests without a parameter, since the server rejects it

    def count(self, reply: Reply, cost: float) -> None:
        """Count a reply."""
        self.requests += 1
        self.cache_hits += reply.cached
        self.retries += max(0, reply.sent - 1)
        self.prompt_tokens += reply.prompt_tokens
        self.completion_tokens += reply.completion_tokens
        self.cost += cost
        self.cut += reply.cut
        self.left_out.update(reply.left_out)
        if reply.failure is not None:
            self.failures[reply.failure.value] += 1

    def as_dict(self) -> dict[str, Any]:
        """The counts, JSON-ready."""
        found = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}
        counts = {name: dict(sorted(found[name].items())) for name in ("failures", "left_out")}
        return {**found, "cost": round(self.cost, 9), **counts}


def append_transcript(
    path: str, about: Mapping[str, Any], request: ChatRequest | None, reply: Reply | None = None
) -> None:
    """Append a chat, without its pictures, and its reply to a file of JSON lines; without a request only create it.

    Raises `AgentError` if the file cannot be written.
    """
    line = b""
    if request is not None and reply is not None:
        messages = [{"speaker": part.speaker, "text": part.text} for part in request.messages]
        entry = {**about, "seed": request.seed, "messages": messages, "reply": dataclasses.asdict(reply)}
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", errors="replace") + b"\n"
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with opened(path, "ab", PRIVATE) as file:  # one write at the end of the file
            file.write(line)
    except OSError as error:
        raise AgentError(f"the transcript {path} cannot be written: {error_reason(error)}") from None
