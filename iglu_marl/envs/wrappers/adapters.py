"""Wrapper classes for the five kinds of environments, each with an `AgentChange` per agent.

The changes themselves are in the other modules of this folder.
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
from iglu_marl.envs.two_agent import BUILDER, BatchedSpacesByAgent, SpacesByAgent
from iglu_marl.envs.vector_game import VectorGame

Space = spaces.Space[Any]
SCORE = ("intersection", "target_blocks", "blocks")  # in infos of architects who see the whole target


class AgentSpaces(NamedTuple):
    """An agent with its two spaces."""

    agent: str  # of the environment; a lone builder is builder_0
    observation_space: Space
    action_space: Space


class AgentChange:
    """The change of a wrapper for one agent. The base class changes nothing.

    Arrays may have a leading axis for many worlds.
    """

    def __init__(self, given: AgentSpaces) -> None:
        self.observation_space, self.action_space = given.observation_space, given.action_space

    def seed(self, seed: Any) -> None:
        """Restart the change's randomness, if it has any, at a reset with this seed (None: it goes on)."""

    def observe(self, observation: Any, env: Any) -> Any:
        """Return the agent's observation. env: the innermost environment."""
        return observation

    def act(self, action: Any) -> Any:
        """Return the environment's action. Raises `ActionError` for an action outside the space."""
        return action

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """Return the agent's info."""
        return info


class CombinedChange(AgentChange):
    """A change of observations and a change of actions."""

    def __init__(self, seen: AgentChange, done: AgentChange) -> None:
        self.seen, self.done = seen, done
        self.observation_space, self.action_space = seen.observation_space, done.action_space

    def observe(self, observation: Any, env: Any) -> Any:
        """Return the agent's observation."""
        return self.seen.observe(observation, env)

    def act(self, action: Any) -> Any:
        """Return the environment's action."""
        return self.done.act(action)

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """Return the agent's info."""
        return self.seen.inform(info, env)


Make = Callable[[AgentSpaces], AgentChange]


class Recipe(NamedTuple):
    """A wrapping function of this package, and its arguments besides the environment."""

    name: str
    arguments: dict[str, Any]


class Named:
    """Mixin: `repr` is `flatten<…>`, by the wrapping function."""

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
        self.changes, _, _ = _changed(env, make)
        self._change = self.changes[BUILDER]
        self.observation_space = self._change.observation_space
        self.action_space = self._change.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observed(observation), self._change.inform(info, self.unwrapped)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Run one step."""
        observation, reward, terminated, truncated, info = self.env.step(self._change.act(action))
        info = self._change.inform(info, self.unwrapped)
        return self._observed(observation), reward, terminated, truncated, info

    def _observed(self, observation: Any) -> Any:
        return self._change.observe(observation, self.unwrapped)

    @property
    def spec(self) -> EnvSpec | None:  # type: ignore[override]  # as Gymnasium's wrappers have it
        """The spec from which `gymnasium.make` makes this environment, the wrapper included."""
        inner = self.env.spec
        if inner is None:
            return None
        place = f"{__package__}:{self.recipe.name}"
        made = copy.copy(inner)
        made.additional_wrappers += (WrapperSpec(self.recipe.name, place, self.recipe.arguments),)
        return made


class MaskedHost(SingleHost):
    """A changed Gymnasium environment with action masks."""

    def action_masks(self) -> Any:
        """Return the current mask, bool [n]. The name is that of sb3-contrib."""
        return self._change.inform({}, self.unwrapped)["action_mask"].astype(np.bool_)


class AECHost(Named, SpacesByAgent, BaseWrapper):  # type: ignore[misc]
    """A changed AEC environment."""

    def __init__(self, env: Any, make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self._cached_infos: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.changes, self.observation_spaces, self.action_spaces = _changed(env, make)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode."""
        _seed(self, seed)
        self.env.reset(seed=seed, options=options)

    def observe(self, agent: str) -> Any:
        """Return an agent's observation."""
        observation = self.env.observe(agent)
        return self.changes[agent].observe(observation, self.unwrapped)

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """The infos by agent; the same objects until the next step."""
        for agent, info in self.env.infos.items():
            if self._cached_infos.get(agent, (None,))[0] is not info:
                self._cached_infos[agent] = info, self.changes[agent].inform(info, self.unwrapped)
        return {agent: self._cached_infos[agent][1] for agent in self.env.infos}

    def step(self, action: Any) -> None:
        """Run one move of the agent whose turn it is; None if its episode is over."""
        self.env.step(None if action is None else self.changes[self.env.agent_selection].act(action))


class ParallelHost(Named, SpacesByAgent, BaseParallelWrapper):  # type: ignore[misc]
    """A changed parallel environment."""

    def __init__(self, env: Any, make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self.changes, self.observation_spaces, self.action_spaces = _changed(env, make)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Start an episode."""
        _seed(self, seed)
        observations, infos = self.env.reset(seed=seed, options=options)
        return _observed(observations, self), _informed(infos, self)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Run one step of all agents."""
        observations, *ends, infos = self.env.step(_acted(actions, self))
        return _observed(observations, self), *ends, _informed(infos, self)


class VectorHost(Named, VectorWrapper):
    """A changed Gymnasium vector environment."""

    def __init__(self, env: VectorEnv[Any, Any, Any], make: Make, recipe: Recipe) -> None:
        super().__init__(env)
        self.recipe = recipe
        self.changes, _, _ = _changed(env, make)
        self._change = change = self.changes[BUILDER]
        self.single_observation_space = change.observation_space
        self.single_action_space = change.action_space
        self.observation_space = batched(change.observation_space, env.num_envs)
        self.action_space = batched(change.action_space, env.num_envs)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Start episodes."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._change.observe(observations, self.unwrapped), self._informed(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Run one step in all worlds."""
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
        """Start all games."""
        _seed(self, seed)
        observations, infos = self.env.reset(seed=seed, options=options)
        return _observed(observations, self), self._informed(infos)

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Run one step of all agents in every game."""
        observations, *ends, infos = self.env.step(_acted(actions, self))
        return _observed(observations, self), *ends, self._informed(infos)

    def _informed(self, infos: Any) -> dict[str, Any]:
        return {
            agent: _with_final(info, self.changes[agent], self.unwrapped)
            for agent, info in _informed(infos, self).items()
        }


def _changed(env: Any, make: Make) -> tuple[dict[str, AgentChange], dict[str, Space], dict[str, Space]]:
    changes = {agent: make(given) for agent, given in spaces_of(env).items()}
    return (
        changes,
        {agent: change.observation_space for agent, change in changes.items()},
        {agent: change.action_space for agent, change in changes.items()},
    )


def _seed(host: Any, seed: Any) -> None:
    for change in host.changes.values():
        change.seed(seed)


def _observed(observations: Mapping[str, Any], host: Any) -> dict[str, Any]:
    return {
        agent: host.changes[agent].observe(observation, host.unwrapped)
        for agent, observation in observations.items()
    }


def _acted(actions: Any, host: Any) -> Any:
    """Return the actions in the environment's form; a value that is no dict passes unchanged."""
    if not isinstance(actions, Mapping) or not actions.keys() <= host.changes.keys():
        return actions
    return {agent: host.changes[agent].act(action) for agent, action in actions.items()}


def _informed(infos: Mapping[str, dict[str, Any]], host: Any) -> dict[str, dict[str, Any]]:
    return {agent: host.changes[agent].inform(info, host.unwrapped) for agent, info in infos.items()}


def _with_final(infos: dict[str, Any], change: AgentChange, env: Any) -> dict[str, Any]:
    """Return infos with changed last observations of ended episodes, `final_obs`: object array with None elsewhere."""
    if "final_obs" not in infos:
        return infos
    final = np.full(len(infos["final_obs"]), None, object)
    for number in np.flatnonzero(infos["_final_obs"]).tolist():
        final[number] = change.observe(infos["final_obs"][number], env)
    return {**infos, "final_obs": final}


def wrap(env: Any, make: Make, recipe: Recipe) -> Any:
    """Return an environment of the same kind with a change for each agent.

    Raises `ConfigError` if `env` is no such environment.
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


def uncommon_infos(env: Any, role: str = "") -> set[str]:
    """Return the keys of infos that some agents of a single game have, and others not. role: only its agents."""
    if not isinstance(env, (AECEnv, ParallelEnv)):
        return set()
    config, keys = env.unwrapped.config, []
    for agent in config.agents:
        if agent.startswith(role):
            builds = agent.startswith("builder")
            scored = not builds and "all" in config.parts_of(agent)
            keys.append({"event" if builds or config.builders == 1 else "events", *(SCORE if scored else ())})
    return set.union(*keys) - set.intersection(*keys)


def _strange(env: Any) -> ConfigError:
    return ConfigError(
        f"env is {env!r:.80}, expected a Gymnasium, vector, AEC or parallel environment, or a VectorGame"
    )


def spaces_of(env: Any) -> dict[str, AgentSpaces]:
    """Return the spaces of an environment by agent. Raises `ConfigError` as in `wrap`."""
    if isinstance(env, VectorEnv):
        return {BUILDER: AgentSpaces(BUILDER, env.single_observation_space, env.single_action_space)}
    if isinstance(env, gymnasium.Env):
        return {BUILDER: AgentSpaces(BUILDER, env.observation_space, env.action_space)}
    if isinstance(env, (AECEnv, ParallelEnv, VectorGame, GameHost)):
        return {
            agent: AgentSpaces(agent, env.observation_space(agent), env.action_space(agent))
            for agent in env.possible_agents
        }
    raise _strange(env)
