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
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import CONTROLS as CONTROLS
from iglu_marl.benchmark.catalog import Level
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.game.agent import Agent, is_idle


class Scheduled(NamedTuple):
    """A game to play.

    number: its seed. other: task whose message, target or pictures a control gets. dark: whether `unsighted` has black
    pictures.
    """

    number: int
    task: Task
    other: Task
    dark: bool = False


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Change:
    """What a control changes for an agent.

    see: maps an observation to the one that the agent gets. did: called with each action.
    """

    see: Callable[[Any], Any] = _same
    did: Callable[[Any], Any] = _same


def changes_of(
    control: str, game: Scheduled, players: Sequence[Any], second_env: Callable[[], Any]
) -> dict[Any, Change]:
    """Return by player what a control changes in a game.

    Args:
        control: name of the control; "": none.
        game: the game.
        players: roles, or names of agents.
        second_env: returns a second environment like that of the game.

    """
    builders = [player for player in players if role_of(player) is Role.BUILDER]
    if control == "muted":
        return dict.fromkeys(builders, Change(muted))
    if control == "blind":
        return dict.fromkeys(builders, Change(partial(_seeing, game.other.target_grid)))
    if control == "scrambled":
        architects = [player for player in players if player not in builders]
        return dict.fromkeys(architects, Change(partial(_seeing, game.other.target_grid)))
    if control == "unsighted":
        pictures = OtherPictures(game, [_agent_of(player) for player in players], second_env)
        return {player: pictures.change(_agent_of(player)) for player in players}
    return {}


def _agent_of(player: Any) -> str:
    return str(player) if "_" in str(player) else f"{player}_0"


def muted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observation with an empty dialogue."""
    dialog = observation["dialog"]
    return {**observation, "dialog": "" if isinstance(dialog, str) else np.zeros_like(dialog)}


def _seeing(target: npt.NDArray[Any], observation: Mapping[str, Any]) -> dict[str, Any]:
    return {**observation, "target_grid": target.astype(observation["target_grid"].dtype)}


def silenced(level: Level) -> Level:
    """Return the level of a team in which architects are heard by themselves alone: its `muted`."""
    speakers = [f"architect_{number}" for number in range(level.game["architects"])]
    return replace(level, game={**level.game, "hearers": dict.fromkeys(speakers, ())})


class OtherPictures:
    """Pictures in place of those of a game: black ones, or those of the game's other task.

    game: the game, with the other task. agents: names of all agents. second_env: returns the environment of the other
    task, in which the agents' actions are repeated.
    """

    def __init__(self, game: Scheduled, agents: Sequence[str], second_env: Callable[[], Any]) -> None:
        self._game, self._agents, self._second_env = game, agents, second_env
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
        if self._game.dark:
            return {**observation, "pov": np.zeros_like(observation["pov"])}
        self._follow()
        shown = self._observed if len(self._agents) == 1 else self._observed[agent]
        return {**observation, "pov": shown["pov"].copy()}

    def _follow(self) -> None:
        """Start the game of the other task, or repeat the actions there as soon as all agents have acted."""
        alone = len(self._agents) == 1
        if self._env is None:
            self._env = self._second_env()
            options = {"task": self._game.other}
            self._observed, _ = self._env.reset(seed=self._game.number, options=options)
        elif len(self._actions) == len(self._agents) and not self._over:
            actions = self._actions[self._agents[0]] if alone else self._actions
            self._observed, _, *ends, _ = self._env.step(actions)
            self._actions = {}
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
