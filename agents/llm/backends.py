"""Which backend settings mean, and one of each kind for all agents that have the same."""

from __future__ import annotations

import dataclasses
import json
import threading

from iglu_marl.agents.llm.endpoint import EndpointBackend
from iglu_marl.agents.llm.local import LocalBackend
from iglu_marl.agents.llm.messages import Backend
from iglu_marl.agents.llm.settings import LLMSettings

_OF_AGENTS = (
    "view",
    "changes",
    "history",
    "attempts",
    "max_edits",
    "prompts",
    "transcript",
)  # no matter of the model

_lock = threading.Lock()
_lent: dict[str, tuple[Backend, int]] = {}


def make_backend(settings: LLMSettings) -> Backend:
    """A new backend: an endpoint where the settings name one, else a local model."""
    return EndpointBackend(settings) if settings.endpoint else LocalBackend(settings)


def _key(settings: LLMSettings) -> str:
    about = dataclasses.asdict(settings)
    return json.dumps(
        {name: value for name, value in about.items() if name not in _OF_AGENTS}, sort_keys=True
    )


def borrow(settings: LLMSettings) -> Backend:
    """The backend of these settings, with one model and one budget for all who borrow it."""
    with _lock:
        key = _key(settings)
        backend, users = _lent.get(key, (None, 0))
        if backend is None:
            backend = make_backend(settings)
        _lent[key] = backend, users + 1
        return backend


def give_back(settings: LLMSettings) -> None:
    """Done with a borrowed backend; the last one closes it."""
    with _lock:
        key = _key(settings)
        backend, users = _lent[key]
        if users > 1:
            _lent[key] = backend, users - 1
            return
        del _lent[key]
    backend.close()
