"""Language models by name: `llm:MODEL@ENDPOINT`."""

from __future__ import annotations

import os
import re
import socket
import urllib.request
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from iglu_marl import AgentError, ConfigError
from iglu_marl.agents.llm.settings import KEY_AT, PREFIX, LLMSettings

ANSWERS_S = 10.0  # a server answers anything within this time
_NAME = re.compile(r"llm:(?P<model>[^@].*?)(?:@(?P<endpoint>https?://.+|local))?")


def check_server(endpoint: str) -> None:
    """Raise `ConfigError` if nothing answers at an address, before hours of requests that fail; "" is a local model."""
    if not endpoint:
        return
    try:
        urllib.request.urlopen(f"{endpoint.rstrip('/')}/models", timeout=ANSWERS_S).close()
    except OSError as error:  # others than these: it is there, and wants a key or has no such page
        reason = getattr(error, "reason", error)
        if isinstance(reason, (ConnectionRefusedError, socket.gaierror, TimeoutError)):
            raise ConfigError(f"no server answers at {endpoint}: {reason}") from error


@dataclass(frozen=True)
class NamedModel:
    """A maker of agents of the class `agent` with a model and, optionally, endpoint ("" = local).

    All other settings come from the environment variables. The key of the endpoint in these variables is sent to no
    other endpoint: the key for host.example is `IGLU_MARL_LLM_KEY_AT_HOST_EXAMPLE`.
    """

    PREFIX: ClassVar[str] = "llm:"

    agent: Any
    model: str
    endpoint: str | None

    @classmethod
    def of(cls, name: str, agent: Any) -> NamedModel:
        """Parse `llm:MODEL`, `llm:MODEL@https://host/v1` or `llm:MODEL@local`. Raises `AgentError`."""
        match = _NAME.fullmatch(name)
        if match is None:
            raise AgentError(f"agent {name!r} has no model, expected llm:MODEL or llm:MODEL@https://host/v1")
        endpoint = match["endpoint"]
        return cls(agent, match["model"], "" if endpoint == "local" else endpoint)

    def settings(self) -> LLMSettings:
        """Return the settings. Raises `ConfigError` for an invalid endpoint."""
        own_values = {"model": self.model or None, "endpoint": self.endpoint}
        given: dict[str, Any] = {name: value for name, value in own_values.items() if value is not None}
        found = LLMSettings.from_environment(**given)
        usual = os.environ.get(f"{PREFIX}ENDPOINT")
        if not self.endpoint or f"{PREFIX}KEY_VARIABLE" in os.environ:
            return found
        host = urlsplit(self.endpoint).hostname or ""
        own = KEY_AT + re.sub(r"\W", "_", host).upper()
        elsewhere = usual is not None and urlsplit(usual).netloc != urlsplit(self.endpoint).netloc
        if own in os.environ or elsewhere:
            return LLMSettings.from_environment(**given, key_variable=own)
        return found

    def for_env(self, env: Any, **options: Any) -> Any:
        """Return an agent for an environment."""
        return self.agent.for_env(env, settings=self.settings(), **options)

    def for_seat(self, env: Any, agent: str, **options: Any) -> Any:
        """Return an agent for a seat of a game."""
        return self.agent.for_seat(env, agent, settings=self.settings(), **options)

    def describe(self) -> dict[str, Any]:
        """Return the settings that determine the behaviour, JSON-ready."""
        found: dict[str, Any] = self.agent.describe(self.settings())
        return found

    def games_at_once(self) -> int:
        """Return the number of games to play at once."""
        return int(self.agent.games_at_once(self.settings()))
