"""The five kinds of environments as wrappers see them: one object for each, with an `AgentChange` for each agent.

What is changed stands in the other modules of this folder; here it is only carried between agent and environment.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, WrapperSpec
from gymnasium.vector import VectorEnv, VectorWrapper
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.batch_observations import batched
from iglu_marl.envs.two_agent import AGENTS, BUILDER, BatchedSpacesByAgent, SpacesByAgent
from iglu_marl.envs.vector_game import VectorGame

Space = spaces.Space[Any]
ARCHITECTS_INFO = ("intersection", "target_blocks", "blocks")


class AgentSpaces(NamedTuple):
    """An agent with its two spaces."""

    agent: str  # architect_0 or builder_0; a lone builder is builder_0
    observation_space: Space
    action_space: Space


class AgentChange:
    """What a wrapper changes for one agent; this one changes nothing.

    Everything may have a leading axis: arrays of many worlds pass as well as those of one.
    """

    def __init__(self, given: AgentSpaces) -> None:
        self.observation_space, self.action_space = given.observation_space, given.action_space

    def observe(self, observation: Any, env: Any) -> Any:
        """The observation as the agent gets it. env: the innermost environment."""
        return observation

    def act(self, action: Any) -> Any:
        """The action as the environment gets it. Raises `ActionError` for what lies outside the space."""
        return action

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """The agent's info as it gets it."""
        return info


class CombinedChange(AgentChange):
    """One change of the observations and one of the actions."""

    def __init__(self, seen: AgentChange, done: AgentChange) -> None:
        self.seen, self.done = seen, done
        self.observation_space, self.action_space = seen.observation_space, done.action_space

    def observe(self, observation: Any, env: Any) -> Any:
        """The observation as the agent gets it."""
        return self.seen.observe(observation, env)

    def act(self, action: Any) -> Any:
        """The action as the environment gets it."""
        return self.done.act(action)

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """The agent's info, in a single game with nothing that only one of the two has."""
        info = self.seen.inform(info, env)
        if not hasattr(env, "episode"):
            return info
        return {key: value for key, value in info.items() if key not in ARCHITECTS_INFO}


Make = Callable[[AgentSpaces], AgentChange]


class Recipe(NamedTuple):
    """The function of this package that wraps, and its arguments besides the environment."""

    name: str
    arguments: dict[str, Any]


class Named:
    """Mixin: shown as `flatten<…>`, by the function that made it."""

    recipe: Recipe
    env: Any

    def __str__(self) -> str:
        return f"{self.recipe.name}<{self.env}>"

    __repr__ = __str__


class SingleHost(Named, gymnasium.Wrapper):
    """A changed Gymnasium environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self.changes = {BUILDER: make(AgentSpaces(BUILDER, env.observation_space, env.action_space))}
        self._change = self.changes[BUILDER]
        self.observation_space = self._change.observation_space
        self.action_space = self._change.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observed(observation), self._change.inform(info, self.unwrapped)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step."""
        observation, reward, terminated, truncated, info = self.env.step(self._change.act(action))
        info = self._change.inform(info, self.unwrapped)
        return self._observed(observation), reward, terminated, truncated, info

    def _observed(self, observation: Any) -> Any:
        return self._change.observe(observation, self.unwrapped)

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # as Gymnasium's wrappers have it
        """From which `gymnasium.make` makes this environment again, the wrapper included."""
        inner = self.env.spec
        if inner is None:
            return None
        place = f"{__package__}:{self.recipe.name}"
        made = copy.copy(inner)
        made.additional_wrappers += (WrapperSpec(self.recipe.name, place, self.recipe.arguments),)
        return made


class MaskedHost(SingleHost):
    """A changed Gymnasium environment that answers for its masks."""

    def action_masks(self) -> Any:
        """The mask now, bool [n], under the name that sb3-contrib asks for."""
        return self._change.inform({}, self.unwrapped)["action_mask"].astype(np.bool_)


class AECHost(Named, SpacesByAgent, BaseWrapper):  # type: ignore[misc]
    """A changed AEC environment."""

    def __init__(self, env: Any, make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self._told: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.changes, self.observation_spaces, self.action_spaces = _changed(env, make)

    def observe(self, agent: str) -> Any:
        """What an agent sees now."""
        observation = self.env.observe(agent)
        return self.changes[agent].observe(observation, self.unwrapped)

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The infos by agent; the same objects until something happens."""
        for agent, info in self.env.infos.items():
            if self._told.get(agent, (None,))[0] is not info:
                self._told[agent] = info, self.changes[agent].inform(info, self.unwrapped)
        return {agent: self._told[agent][1] for agent in self.env.infos}

    def step(self, action: Any) -> None:
        """One move of the agent whose turn it is; None of one for whom the episode is over."""
        self.env.step(None if action is None else self.changes[self.env.agent_selection].act(action))


class ParallelHost(Named, SpacesByAgent, BaseParallelWrapper):  # type: ignore[misc]
    """A changed parallel environment."""

    def __init__(self, env: Any, make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self.changes, self.observation_spaces, self.action_spaces = _changed(env, make)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin an episode."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return _observed(observations, self), _informed(infos, self)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """One step of both agents."""
        observations, *ends, infos = self.env.step(_acted(actions, self))
        return _observed(observations, self), *ends, _informed(infos, self)


class VectorHost(Named, VectorWrapper):
    """A changed Gymnasium vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any], make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        change = make(AgentSpaces(BUILDER, env.single_observation_space, env.single_action_space))
        self.changes, self._change = {BUILDER: change}, change
        self.single_observation_space, self.single_action_space = (
            change.observation_space,
            change.action_space,
        )
        self.observation_space = batched(change.observation_space, env.num_envs)
        self.action_space = batched(change.action_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin episodes."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._change.observe(observations, self.unwrapped), self._informed(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step in all worlds."""
        observations, *ends, infos = self.env.step(self._change.act(actions))
        observations = self._change.observe(observations, self.unwrapped)
        return observations, *ends, self._informed(infos)

    def _informed(self, infos: dict[str, Any]) -> dict[str, Any]:
        changed = self._change.inform(infos, self.unwrapped)
        masks = {f"_{name}": np.ones(self.num_envs, np.bool_) for name in changed.keys() - infos.keys()}
        return _with_final({**changed, **masks}, self._change, self.unwrapped)


class GameHost(Named, BatchedSpacesByAgent):
    """A changed `VectorGame`."""

    def __init__(self, env: Any, make: Make, recipe: Recipe) -> None:
        self.env, self.recipe = env, recipe
        self.changes, self.observation_spaces, self.action_spaces = _changed(env, make)
        self._set_batched(env.num_games)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "env" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)

    @property
    def unwrapped(self) -> VectorGame:
        """The games themselves."""
        return self.env.unwrapped

    def reset(self, seed: Any = None, options: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
        """Begin all games."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return _observed(observations, self), self._informed(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """One step of both agents in every game."""
        observations, *ends, infos = self.env.step(_acted(actions, self))
        return _observed(observations, self), *ends, self._informed(infos)

    def _informed(self, infos: Any) -> dict[str, Any]:
        return {
            agent: _with_final(info, self.changes[agent], self.unwrapped)
            for agent, info in _informed(infos, self).items()
        }


def _changed(env: Any, make: Make) -> tuple[dict[str, AgentChange], dict[str, Space], dict[str, Space]]:
    """The changes, and the spaces that they lead to, by agent."""
    changes = {
        agent: make(AgentSpaces(agent, env.observation_space(agent), env.action_space(agent)))
        for agent in AGENTS
    }
    return (
        changes,
        {agent: change.observation_space for agent, change in changes.items()},
        {agent: change.action_space for agent, change in changes.items()},
    )


def _observed(observations: Mapping[str, Any], host: Any) -> dict[str, Any]:
    return {
        agent: host.changes[agent].observe(observation, host.unwrapped)
        for agent, observation in observations.items()
    }


def _acted(actions: Any, host: Any) -> Any:
    """The actions as the environment takes them; what is no dict by agent is left for it to complain about."""
    if not isinstance(actions, Mapping) or not actions.keys() <= host.changes.keys():
        return actions
    return {agent: host.changes[agent].act(action) for agent, action in actions.items()}


def _informed(infos: Mapping[str, dict[str, Any]], host: Any) -> dict[str, dict[str, Any]]:
    return {agent: host.changes[agent].inform(info, host.unwrapped) for agent, info in infos.items()}


def _with_final(infos: dict[str, Any], change: AgentChange, env: Any) -> dict[str, Any]:
    """The last observations of ended episodes, changed as well: `final_obs` is an object array, None where none is."""
    if "final_obs" not in infos:
        return infos
    final = np.full(len(infos["final_obs"]), None, object)
    for number in np.flatnonzero(infos["_final_obs"]).tolist():
        final[number] = change.observe(infos["final_obs"][number], env)
    return {**infos, "final_obs": final}


def wrap(env: Any, make: Make, recipe: Recipe) -> Any:
    """The environment with a change for each of its agents, of the same kind as it was.

    Raises `ConfigError` for what is no environment.
    """
    hosts: tuple[tuple[Any, Any], ...] = (
        (VectorEnv, VectorHost),
        (gymnasium.Env, SingleHost),
        (AECEnv, AECHost),
        (ParallelEnv, ParallelHost),
        ((VectorGame, GameHost), GameHost),
    )
    for kind, host in hosts:
        if isinstance(env, kind):
            return host(env, make, recipe)
    raise _strange(env)


def _strange(env: Any) -> ConfigError:
    return ConfigError(
        f"env is {env!r:.80}, expected a Gymnasium, vector, AEC or parallel environment, or a VectorGame"
    )


def spaces_of(env: Any) -> dict[str, AgentSpaces]:
    """The spaces of an environment by agent. Raises `ConfigError` as `wrap` does."""
    if isinstance(env, VectorEnv):
        return {BUILDER: AgentSpaces(BUILDER, env.single_observation_space, env.single_action_space)}
    if isinstance(env, gymnasium.Env):
        return {BUILDER: AgentSpaces(BUILDER, env.observation_space, env.action_space)}
    if isinstance(env, (AECEnv, ParallelEnv, VectorGame, GameHost)):
        return {
            agent: AgentSpaces(agent, env.observation_space(agent), env.action_space(agent))
            for agent in AGENTS
        }
    raise _strange(env)
