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

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import Level
from iglu_marl.core.controls import at_rest
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.game.agent import Agent


class Scheduled(NamedTuple):
    """A game to play.

    number: its seed. other: task whose message, target or pictures a control gets. dark: whether `unsighted` has black
    pictures.
    """

    number: int
    task: Task
    other: Task
    dark: bool = False


def controlled(
    control: str, game: Scheduled, agents: Mapping[Any, Agent], env: Any, second_env: Callable[[], Any]
) -> dict[Any, Agent]:
    """Return the agents of a game as a control has them.

    Args:
        control: name of the control; "": none.
        game: the game.
        agents: the agents by role or name.
        env: the environment of the game.
        second_env: returns a second environment like it.

    """
    other: Callable[[Any], Any] = partial(_with_target, game.other.target_grid)
    changed: dict[Any, Any] = {}
    for player, agent in agents.items():
        builds = role_of(player) is Role.BUILDER
        if control == "muted" and builds:
            changed[player] = Observing(agent, muted)
        elif control == "blind" and builds:
            changed[player] = Observing(agent, other, game.other)
        elif control == "scrambled" and not builds:
            changed[player] = Observing(agent, other)
        elif control == "unsighted":
            changed[player] = Unsighted(agent, game, second_env)
        elif control == "alone" and not player.endswith("_0"):
            changed[player] = Resting(env.action_space(player))
    return {**agents, **changed}


def muted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the observation with an empty dialogue."""
    dialog = observation["dialog"]
    return {**observation, "dialog": "" if isinstance(dialog, str) else np.zeros_like(dialog)}


def _with_target(target: npt.NDArray[Any], observation: Mapping[str, Any]) -> dict[str, Any]:
    return {**observation, "target_grid": target.astype(observation["target_grid"].dtype)}


def silenced(level: Level) -> Level:
    """Return the level of a team in which architects are heard by themselves alone: its `muted`."""
    speakers = [f"architect_{number}" for number in range(level.game["architects"])]
    return replace(level, game={**level.game, "hearers": dict.fromkeys(speakers, ())})


class Observing:
    """An agent with other observations.

    see: maps an observation to the one that the agent gets. task: task that a privileged agent gets instead of the
    episode's.
    """

    def __init__(self, agent: Agent, see: Callable[[Any], Any], task: Task | None = None) -> None:
        self.agent, self.see, self.task = agent, see, task

    def __getattr__(self, name: str) -> Any:
        return getattr(self.agent, name)

    def reset(self, role: Role, seed: int | None, **options: Any) -> None:
        """Reset the agent."""
        if self.task is not None and "task" in options:
            options["task"] = self.task
        self.agent.reset(role, seed, **options)

    def act(self, observation: Any) -> Any:
        """Return the agent's action for the changed observation."""
        return self.agent.act(self.see(observation))

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()


class Unsighted(Observing):
    """A builder that gets black pictures, or those of another game with its actions."""

    def __init__(self, agent: Agent, game: Scheduled, second_env: Callable[[], Any]) -> None:
        super().__init__(agent, self._without_pictures)
        self._game, self._second_env = game, second_env
        self._env: Any = None
        self._over = False

    def _without_pictures(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        if "pov" not in observation:  # of a scripted builder
            return dict(observation)
        if self._game.dark:
            return {**observation, "pov": np.zeros_like(observation["pov"])}
        if self._env is None:
            self._env = self._second_env()
            options = {"task": self._game.other}
            self._observed, _ = self._env.reset(seed=self._game.number, options=options)
        return {**observation, "pov": self._observed["pov"].copy()}

    def act(self, observation: Any) -> Any:
        """Return the agent's action, and repeat it in the other game."""
        action = super().act(observation)
        if self._env is not None and not self._over:
            self._observed, _, *ends, _ = self._env.step(action)
            self._over = any(ends)
        return action


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
