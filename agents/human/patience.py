"""Partners of people in a window: the window lives on while they think."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.core.jobs import ThreadPerCall
from iglu_marl.game.agent import Agent


class Unhurried:
    """An agent that thinks in a thread of its own, and repeats one action until it has decided.

    Args:
        agent: the agent, which waits for a service.
        meanwhile: the action until then.

    """

    def __init__(self, agent: Agent, meanwhile: Any) -> None:
        self.agent, self.meanwhile = agent, meanwhile
        self._thought: Future[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def reset(self, role: Role, seed: int | None, **options: Any) -> None:
        """Reset the agent; what it thinks about is forgotten."""
        self._thought = None
        self.agent.reset(role, seed, **options)

    def act(self, observation: Any) -> Any:
        """Return what the agent has decided, once; the action of waiting while it thinks. Raises its errors."""
        if self._thought is None:
            self._thought = ThreadPerCall().submit(self.agent.act, observation)
        if not self._thought.done():
            return self.meanwhile
        thought, self._thought = self._thought, None
        return thought.result()

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()
