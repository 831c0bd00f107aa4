"""Backends by settings; agents with equal settings share one."""

from __future__ import annotations

import dataclasses
import json
import threading

from iglu_marl.agents.llm.endpoint import EndpointBackend
from iglu_marl.agents.llm.local import LocalBackend
from iglu_marl.agents.llm.messages import Backend
from iglu_marl.agents.llm.settings import LLMSettings

# Fields that do not concern the backend.
_AGENT_FIELDS = ("view", "changes", "history", "attempts", "max_edits", "prompts", "transcript")

_lock = threading.Lock()
_shared: dict[str, tuple[Backend, int]] = {}


def make_backend(settings: LLMSettings) -> Backend:
    """Return a new backend: an endpoint if the settings name one, else a local model."""
    return EndpointBackend(settings) if settings.endpoint else LocalBackend(settings)


def _key(settings: LLMSettings) -> str:
    about = dataclasses.asdict(settings).items()
    return json.dumps([part for part in about if part[0] not in _AGENT_FIELDS], sort_keys=True)


def acquire_backend(settings: LLMSettings) -> Backend:
    """Return the backend of these settings, shared by all users, with its model and budget."""
    with _lock:
        key = _key(settings)
        backend, users = _shared.get(key) or (make_backend(settings), 0)
        _shared[key] = backend, users + 1
        return backend


def release_backend(settings: LLMSettings) -> None:
    """Release an acquired backend; the last user closes it."""
    with _lock:
        key = _key(settings)
        backend, users = _shared.pop(key)
        if users > 1:
            _shared[key] = backend, users - 1
    if users == 1:
        backend.close()
