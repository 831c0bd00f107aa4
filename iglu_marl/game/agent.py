"""The `Agent` protocol: what plays a role, whether it is a script, a model or a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from iglu_marl.core.dialogue import Role


@runtime_checkable
class Agent(Protocol):
    """Something that acts.

    An agent whose attribute `privileged` is true (an oracle, a replay) is also given the episode's `Task`: its `reset`
    is called as `reset(role, seed, task=task)`. One may have an attribute `idle`: true while nothing more is to be
    expected of it, unless the world changes or somebody speaks. `play` ends a game in which everybody is.
    And one `ready`: true while its next act takes no time, unless somebody speaks or the build is changed by another:
    it does a step of a plan that it has, or waits.
    And one `fault`: the `ServiceError` that tells what has failed in this episode of what it runs on, None if nothing;
    such a game is no measure of how it plays.
    And `stats`, whose `as_dict()` tells what it has counted in this episode, JSON-ready.
    """

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode in a role; all randomness follows from the seed."""

    def act(self, observation: Any) -> Any:
        """The action for an observation, from the role's action space."""

    def close(self) -> None:
        """Release what is held. May be called more than once."""


def begin(agent: Agent, role: Role, seed: int | None, task: Any) -> None:
    """Reset an agent for an episode; the task goes to privileged ones only."""
    if getattr(agent, "privileged", False):
        agent.reset(role, seed, task=task)  # type: ignore[call-arg]
    else:
        agent.reset(role, seed)


def is_idle(agent: Agent) -> bool:
    """Whether an agent says that nothing more is to be expected of it."""
    return bool(getattr(agent, "idle", False))


def is_ready(agent: Agent) -> bool:
    """Whether an agent says that its next act takes no time."""
    return bool(getattr(agent, "ready", False))


def check_service(agents: Iterable[Agent]) -> None:
    """Raises what has failed of what agents run on (`fault`), if anything has."""
    for agent in agents:
        if (fault := getattr(agent, "fault", None)) is not None:
            raise fault


def counts_of(agent: Agent) -> dict[str, Any]:
    """What an agent has counted in this episode, where it counts (`stats`)."""
    stats: Any = getattr(agent, "stats", None)
    return dict(stats.as_dict()) if hasattr(stats, "as_dict") else {}


def add_counts(total: dict[str, Any], counts: Mapping[str, Any]) -> None:
    """Add counts, and counts by kind, to a total."""
    for name, number in counts.items():
        if isinstance(number, Mapping):
            add_counts(total.setdefault(name, {}), number)
        else:
            total[name] = total.get(name, 0) + number
