"""The options of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.task import Task
from iglu_marl.core.text import similar
from iglu_marl.game.config import GameConfig

# Agents that need nothing but the game; the first is the default.
AGENTS: Mapping[Role, tuple[str, ...]] = {
    Role.ARCHITECT: ("scripted", "vague"),
    Role.BUILDER: ("scripted", "hasty"),
}

PERSON = "person"  # in place of an agent's name
READING = "scripted-llm"  # the builder "scripted" with a language model that reads


def expect(what: str, value: Any, fits: object, expected: str) -> None:
    """Raise `ConfigError` that names a value and what was expected, unless it fits."""
    if not fits:
        raise ConfigError(f"{what} is {value!r:.60}, expected {expected}")


def shown_name(agent: str) -> str:
    """Return an agent's name as people see it: of a language model, without its endpoint."""
    return agent.partition("@")[0] if agent.startswith("llm:") else agent


def team_facts(config: GameConfig) -> dict[str, Any]:
    """Return who plays, and who sees, hears and holds what, for pages."""
    names = ("sees", "hearers", "inventories")
    speakers = {str(player): name for player, name in config.speakers.items()}
    return {"speakers": speakers, **{name: getattr(config, name) for name in names}}


def bundled_tasks() -> dict[str, Task]:
    """Return the bundled structures by name."""
    from iglu_marl.tasks import BundledTasks

    return {str(task.task_id): task for task in BundledTasks(mode="structures")}


@dataclass(frozen=True)
class ServerOptions:
    """The options of a server.

    folder: where each game is recorded, in its own file.
    tasks: structures to build, by name. agents: partners, by role; of a team, "scripted" by default.
    team: options of the game, such as those of `iglu_marl.game.profiles.team_options`; {} = one of each role.
    hosts: names under which the server is reached; other names are refused.
    wait_s: how long a game waits for a person who left, before it ends. idle_s: time without input after which it ends.
    minutes: longest duration of a game. games_per_address: running games of one address. games: running games in all.
    requests_per_s: of one address, in bursts of ten times as many.
    late_s: no new game starts while 5 % of all ticks are later than this; players notice a tenth of a second.
    agents_named: whether people see which agent plays with them.
    examples: in which games pages offer example sentences and quick replies: those with "agents", "always", or "never".
    partner_name: how pages call the other player, whoever it is; "" = an agent by its name, or a person.
    free_mb: free space for recordings below which no new game starts.
    header_s: within which a request's head has to come, and then its body.
    back: text of the link that leaves a game.
    secret: the password of the page /metrics; "" = there is no such page.
    """

    folder: Path = Path("iglu-marl-games")
    tasks: Mapping[str, Task] = field(default_factory=bundled_tasks)
    agents: Mapping[Role, tuple[str, ...]] = field(default_factory=lambda: AGENTS)
    team: Mapping[str, Any] = field(default_factory=dict)
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    wait_s: float = 60.0
    idle_s: float = 600.0
    minutes: float = 30.0
    games_per_address: int = 20
    games: int = 500
    requests_per_s: float = 20.0
    late_s: float = 0.1
    agents_named: bool = True
    examples: Literal["agents", "always", "never"] = "agents"
    partner_name: str = ""
    free_mb: float = 200.0
    header_s: float = 10.0
    back: str = "To the lobby"
    secret: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        numbers = [name for name, kind in self.__annotations__.items() if kind in ("float", "int")]
        for name in numbers:
            expect(name, getattr(self, name), getattr(self, name) > 0, "more than 0")
        expect("tasks", self.tasks, self.tasks, "one or more by name")
        if self.config.is_team:
            usual = dict.fromkeys(AGENTS.values(), ("scripted",))
            agents = {role: usual.get(names, names) for role, names in self.agents.items()}
            object.__setattr__(self, "agents", agents)
        for role in Role:
            self._check_agents(role, self.agents.get(role, ()))

    @cached_property
    def config(self) -> GameConfig:
        """The game's options that do not depend on the players. Raises `ConfigError` for wrong ones."""
        return GameConfig.of(None, self.team)

    def _check_agents(self, role: Role, names: Iterable[str]) -> None:
        from iglu_marl.agents.registry import find, known

        for name in names:
            agent, others = find(name, role), f"one of {', '.join(known(role))}, or llm:MODEL@ENDPOINT"
            expect(f"the {role}", name, agent, others + similar(name, known(role)))
            fits = not self.config.is_team or name == "scripted" or hasattr(agent, "for_seat")
            expect(f"the {role} of a team", name, fits, "scripted or llm:MODEL")
