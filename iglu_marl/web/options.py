"""What can be chosen about a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar

# Agents that need nothing but the game; the first is the one to begin with.
AGENTS: Mapping[Role, tuple[str, ...]] = {
    Role.ARCHITECT: ("scripted", "precise", "terse", "talkative", "vague", "mistaken"),
    Role.BUILDER: ("scripted", "careful", "hasty", "forgetful", "asking"),
}


def shown_name(agent: str) -> str:
    """An agent's name as people are told it: of a language model, not where it runs."""
    return agent.partition("@")[0] if agent.startswith("llm:") else agent


def bundled_tasks() -> dict[str, Task]:
    """The structures that come with the package, by name."""
    from iglu_marl.tasks import BundledTasks

    return {str(task.task_id): task for task in BundledTasks(mode="structures")}


@dataclass(frozen=True)
class ServerOptions:
    """The choices of a server.

    folder: where each game is recorded, in a file of its own.
    tasks: what can be built, by name. agents: who can be played with, by role.
    hosts: names under which the server is reached; others are refused.
    wait_s: how long a game waits for somebody who has left, before an agent goes on in its place (`replace`: by role,
        where there is to be one) or the game ends. invite_s: how long it waits for somebody invited. idle_s: how long
        for a sign of life of those who are there.
    minutes: of a game at most. games_per_address: that one address may have going on. games: at once in all.
    requests_per_s: of one address, and ten times as many at once.
    processes: in which scripted agents think, beside the server's own; 0 = in threads of it.
    late_s: no new game begins while 5 % of all ticks are later than this.
    agents_named: whether people are told which agent plays with them.
    gallery: whether everybody can watch recorded games. back: what the link out of a game says.
    secret: the password of the page /admin; "" = there is none.
    """

    folder: Path = Path("iglu-marl-games")
    tasks: Mapping[str, Task] = field(default_factory=bundled_tasks)
    agents: Mapping[Role, tuple[str, ...]] = field(default_factory=lambda: AGENTS)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    wait_s: float = 60.0
    replace: Mapping[Role, str] = field(default_factory=dict)
    invite_s: float = 900.0
    idle_s: float = 600.0
    minutes: float = 30.0
    games_per_address: int = 20
    games: int = 500
    requests_per_s: float = 20.0
    processes: int = 0
    late_s: float = 0.015
    agents_named: bool = True
    gallery: bool = True
    back: str = "To the lobby"
    secret: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ConfigError("a server has no tasks, expected one or more by name")
        if self.processes < 0:
            raise ConfigError(f"processes is {self.processes!r}, expected 0 or more")
        numbers = [name for name, kind in self.__annotations__.items() if kind in ("float", "int")]
        for name in numbers:
            if name != "processes" and not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)!r}, expected more than 0")
        for role in Role:
            self._check_agents(role, [*self.agents.get(role, ()), *filter(None, [self.replace.get(role)])])

    @staticmethod
    def _check_agents(role: Role, names: Iterable[str]) -> None:
        from iglu_marl.agents.registry import find, known

        for name in names:
            if find(name, role) is None:
                raise ConfigError(
                    f"the {role} {name!r} is unknown{similar(name, known(role))}, expected one of "
                    f"{', '.join(known(role))}, or llm:MODEL@ENDPOINT"
                )
