"""The `Agent` protocol: scripts, models and people that play a role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from iglu_marl.core.dialogue import Role


@runtime_checkable
class Agent(Protocol):
    """An agent. It may also have these attributes:

    | attribute | meaning |
    |---|---|
    | `privileged` | if true, `reset(role, seed, task=task)` gets the episode's `Task`, as for an oracle or a replay |
    | `idle` | true while it only waits for a change or an utterance; `play` ends a game if all are idle |
    | `ready` | true while its next act takes no time: it follows a plan or waits |
    | `fault` | the `ServiceError` of this episode, or None; a game with one does not measure the agent |
    | `made_for` | the fields of `iglu_marl.game.seats.GameSeat` that it needs; checked before a game |
    | `reads` | false for an agent that ignores messages |
    | `check_task(task)` | raises `AgentError` for a task that it cannot play; called by `begin` and `evaluate` |
    | `stats` | its `as_dict()` returns counts of this episode, for JSON |
    """

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode in a role. All randomness follows from the seed."""

    def act(self, observation: Any) -> Any:
        """Return an action of the role's action space."""

    def close(self) -> None:
        """Release resources. May be called more than once."""


def begin(agent: Agent, role: Role, seed: int | None, task: Any) -> None:
    """Reset an agent for an episode. Only privileged agents get the task."""
    check_task(agent, task)
    if getattr(agent, "privileged", False):
        agent.reset(role, seed, task=task)  # type: ignore[call-arg]
    else:
        agent.reset(role, seed)


def check_task(agent: Agent, task: Any) -> None:
    """Raise `AgentError` if an agent cannot play a task."""
    if (check := getattr(agent, "check_task", None)) is not None:
        check(task)


def is_idle(agent: Agent) -> bool:
    """Return whether an agent is idle."""
    return bool(getattr(agent, "idle", False))


def is_ready(agent: Agent) -> bool:
    """Return whether the next act of an agent takes no time."""
    return bool(getattr(agent, "ready", False))


def asks_service(agent: Agent) -> bool:
    """Return whether an agent waits for a service, such as a language model."""
    return hasattr(agent, "fault")


def check_service(agents: Iterable[Agent]) -> None:
    """Raise the `fault` of an agent, if one has any."""
    for agent in agents:
        if (fault := getattr(agent, "fault", None)) is not None:
            raise fault


def counts_of(agent: Agent) -> dict[str, Any]:
    """Return an agent's counts of this episode (`stats`), or {}."""
    stats: Any = getattr(agent, "stats", None)
    return dict(stats.as_dict()) if hasattr(stats, "as_dict") else {}


def add_counts(total: dict[str, Any], counts: Mapping[str, Any]) -> None:
    """Add counts, which may be nested, to a total."""
    for name, number in counts.items():
        if isinstance(number, Mapping):
            add_counts(total.setdefault(name, {}), number)
        else:
            total[name] = total.get(name, 0) + number
