"""Controls: games of the same agents without one of the senses, or partners, that a level claims to need.

| control | levels | what is taken away |
|---|---|---|
| `muted` | with messages | the builders get empty dialogues |
| `scrambled` | with messages of an architect or a task | the message is about the target of another game |
| `forgetful` | of strangers | what was meant or built is not shown after the games |
| `blind` | whose builder sees the target | the builder sees the target of another game |
| `unsighted` | whose builder sees pictures | half of the games have black pictures, half those of another game |
| `alone` | of teams | only the first agent of each role acts |
| `cross-play` | with symbols, if several pairs were trained | the builder is that of the next run |

Pictures of another game come from a second environment with the other task, where the same actions are taken. Black
pictures show what is reached where all games start alike, so that pictures of another game are one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import CONTROLS as CONTROLS
from iglu_marl.benchmark.catalog import Level
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.game.agent import Agent, is_idle

Array = npt.NDArray[Any]
See = Callable[[Any], Any]


class Scheduled(NamedTuple):
    """A game to play.

    number: its seed. other: task whose message, target or pictures a control gets. partner: number of the partner.
    dark: whether `unsighted` has black pictures.
    """

    number: int
    task: Task
    other: Task
    partner: int
    dark: bool = False

    def heard(self, control: str, architect: Any) -> Task:
        """Return the task, `scrambled` with the dialogue of the other one where no architect speaks."""
        if control == "scrambled" and architect is None:
            return self.task.replace(dialog=self.other.dialog)
        return self.task


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Change:
    """What a control changes for an agent.

    see: maps an observation, or a batch of them, to those that the agent gets. did: called with each action.
    """

    see: See = _same
    did: See = _same


def changes_of(
    control: str,
    games: Sequence[Scheduled],
    players: Sequence[Any],
    second_env: Callable[[], Any],
    batch: bool = False,
) -> dict[Any, Change]:
    """Return by player what a control changes in a game, or in games side by side (`batch`).

    Args:
        control: name of the control; "": none.
        games: the games; one without `batch`.
        players: roles, or names of agents.
        second_env: returns a second environment like that of the games.
        batch: whether observations and actions are batches.

    """
    builders = [player for player in players if role_of(player) is Role.BUILDER]
    architects = [player for player in players if player not in builders]
    if control == "muted":
        return dict.fromkeys(builders, Change(muted))
    if control in ("blind", "scrambled"):
        targets = np.stack([game.other.target_grid for game in games])
        change = Change(seeing(targets if batch else targets[0]))
        return dict.fromkeys(builders if control == "blind" else architects, change)
    if control == "unsighted":
        pictures = OtherPictures(games, list(map(_agent_of, players)), second_env, batch)
        return {player: pictures.change(_agent_of(player)) for player in players}
    return {}


def _agent_of(player: Any) -> str:
    return str(player) if "_" in str(player) else f"{player}_0"


def muted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observation with an empty dialogue."""
    dialog = observation["dialog"]
    if isinstance(dialog, str):
        return {**observation, "dialog": ""}
    silence = np.full_like(dialog, "") if dialog.dtype == object else np.zeros_like(dialog)
    return {**observation, "dialog": silence}


def silenced(level: Level) -> Level:
    """Return the level of a team in which architects are heard by themselves alone: its `muted`."""
    speakers = [f"architect_{number}" for number in range(level.game["architects"])]
    return replace(level, game={**level.game, "hearers": dict.fromkeys(speakers, ())})


def seeing(target: Array) -> See:
    """Return a function that replaces the target in an observation."""
    return lambda observation: {**observation, "target_grid": target.astype(observation["target_grid"].dtype)}


class OtherPictures:
    """Pictures of other games in place of those of some games: black ones, or those of the games' other tasks.

    games: the games, with other tasks. agents: names of all agents. second_env: returns the environment of the other
    tasks, in which the agents' actions are repeated. batch: whether observations and actions are batches.
    """

    def __init__(
        self, games: Sequence[Scheduled], agents: Sequence[str], second_env: Callable[[], Any], batch: bool
    ) -> None:
        self._games, self._agents, self._second_env, self._batch = games, agents, second_env, batch
        self._dark = np.array([game.dark for game in games])
        self._env: Any = None
        self._observed: Any = None
        self._actions: dict[str, Any] = {}
        self._over = False

    def change(self, agent: str) -> Change:
        """Return the change for an agent: builders see other pictures, and the actions of all are repeated."""

        def see(observation: Mapping[str, Any]) -> Mapping[str, Any]:
            return self._see(agent, observation) if "pov" in observation else observation

        def did(action: Any) -> Any:
            self._actions[agent] = action
            return action

        return Change(see, did)

    def _see(self, agent: str, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        pictures = np.zeros_like(observation["pov"])
        if not self._dark.all():
            self._follow()
            own = self._observed if len(self._agents) == 1 else self._observed[agent]
            shown = ~self._dark if self._batch else ...
            pictures[shown] = own["pov"][shown]
        return {**observation, "pov": pictures}

    def _follow(self) -> None:
        """Start the games of the other tasks, or repeat the actions there as soon as all agents have acted."""
        if self._env is None:
            self._env = self._second_env()
            seeds, tasks = [game.number for game in self._games], [game.other for game in self._games]
            start: Any = (seeds, tasks) if self._batch else (seeds[0], tasks[0])
            self._observed, _ = self._env.reset(seed=start[0], options={"task": start[1]})
        elif len(self._actions) == len(self._agents) and not self._over:
            alone = len(self._agents) == 1
            self._observed, _, *ends, _ = self._env.step(
                self._actions[self._agents[0]] if alone else self._actions
            )
            self._actions = {}
            if not self._batch:
                self._over = any(ends) if alone else not self._env.agents


class Observing:
    """An agent that a control changes.

    change: what the control changes. task: task that a privileged agent gets instead of the episode's.
    """

    def __init__(self, agent: Agent, change: Change, task: Task | None = None) -> None:
        self.agent, self.change, self.task = agent, change, task
        self.privileged = getattr(agent, "privileged", False)

    def reset(self, role: Role, seed: int | None, **options: Any) -> None:
        """Reset the agent."""
        if self.task is not None and "task" in options:
            options["task"] = self.task
        self.agent.reset(role, seed, **options)

    def act(self, observation: Any) -> Any:
        """Return the agent's action for the changed observation."""
        return self.change.did(self.agent.act(self.change.see(observation)))

    @property
    def idle(self) -> bool:
        """Whether the agent is idle."""
        return is_idle(self.agent)

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()


class Resting:
    """An agent that does nothing. space: its action space."""

    idle = True

    def __init__(self, space: Any) -> None:
        self._rest = at_rest(space)

    def reset(self, role: Role, seed: int | None) -> None:
        """Do nothing."""

    def act(self, observation: Any) -> Any:
        """Return the action of doing nothing."""
        return self._rest

    def close(self) -> None:
        """Do nothing."""


def alone(team: Mapping[str, Agent], env: Any) -> dict[str, Agent]:
    """Return a team of which only the first agent of each role acts."""
    return {
        name: agent if name.endswith("_0") else Resting(env.action_space(name))
        for name, agent in team.items()
    }
