"""`gym` as the IGLU tools used it: `make` with their conventions, `reset` of one value, `step` of four.

`import gym` becomes `from iglu_marl.compat import gym`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium
import gymnasium.wrappers
from gymnasium import spaces
from gymnasium.envs.registration import load_env_creator

__all__ = [
    "ActionWrapper", "Env", "ObservationWrapper", "RewardWrapper", "Wrapper", "make", "register", "spaces",
]  # fmt: skip

_PROFILES = {
    "IGLUGridworld-v0": "iglu2022",
    "IGLUGridworldVector-v0": "iglu2022",
    "IGLUSilentBuilder-v0": "iglu2021",
    "IGLUSilentBuilderVisual-v0": "iglu2021",
}
sys.modules[f"{__name__}.spaces"] = spaces  # for `from gym.spaces import Box`
for _name in ("envs", "envs.registration"):  # for `from gym.envs.registration import register`
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
_REGISTERED: dict[str, tuple[Any, Mapping[str, Any], int | None]] = {}


class Env:
    """Base class of environments: `reset()` returns an observation, `step(action)` four values."""

    @property
    def unwrapped(self) -> Any:
        """The innermost environment."""
        return self

    def seed(self, seed: int | None = None) -> Any:
        """Seed the environment."""

    def close(self) -> None:
        """Release what the environment holds."""


def _passed_on(name: str) -> Any:
    """Return a method that calls that of the wrapped environment, also by `super()`."""

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(self.env, name)(*arguments, **options)

    return call


class Wrapper(Env):
    """A wrapper of another environment, `env`, whose attributes it has."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Any:
        """The innermost environment, in Gymnasium's form if it has one."""
        return self.env.unwrapped

    reset, step, render, seed, close = map(_passed_on, ("reset", "step", "render", "seed", "close"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":  # while it is copied or unpickled, there is no `env` yet
            raise AttributeError(name)
        return getattr(self.env if hasattr(self.env, name) else self.env.unwrapped, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"


class ObservationWrapper(Wrapper):
    """A wrapper with a method `observation(observation)`."""

    def reset(self, **options: Any) -> Any:
        """Start an episode. Return the changed observation."""
        return self.observation(self.env.reset(**options))

    def step(self, action: Any) -> Any:
        """Run one step, with the changed observation."""
        observation, *rest = self.env.step(action)
        return self.observation(observation), *rest


class ActionWrapper(Wrapper):
    """A wrapper with a method `action(action)`."""

    def step(self, action: Any) -> Any:
        """Run one step with the changed action."""
        return self.env.step(self.action(action))


class RewardWrapper(Wrapper):
    """A wrapper with a method `reward(reward)`."""

    def step(self, action: Any) -> Any:
        """Run one step, with the changed reward."""
        observation, reward, *rest = self.env.step(action)
        return observation, self.reward(reward), *rest


class FourValueEnv(Wrapper):
    """An environment of Gymnasium with the calls of the older `gym`."""

    _seed: int | None = None

    def seed(self, seed: int | None = None) -> None:
        """Seed the next reset."""
        self._seed = seed

    def reset(self, **options: Any) -> Any:
        """Start an episode. Return the observation. `seed` and `options` are Gymnasium's."""
        observation, _ = self.env.reset(**{"seed": self._seed, **options})
        self._seed = None
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Run one step. Return observation, reward, done, info (with "TimeLimit.truncated")."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if truncated:
            info = {**info, "TimeLimit.truncated": not terminated}
        return observation, float(reward), terminated or truncated, info


class GridworldEnv(FourValueEnv):
    """An environment of this package with the profile of an older tool."""

    @property
    def task(self) -> Any:
        """The task of this episode, as the tools of 2022 have it; None before one is set."""
        from iglu_marl.compat.gridworld.tasks import Task

        task = self.unwrapped.task
        return None if task is None else Task.of(task)

    def set_task(self, task: Any) -> None:
        """Set the task of this and the next episodes. As in 2022, an episode with it starts at once."""
        self.unwrapped.set_task(task)
        self.reset()

    def render(self, mode: str = "rgb_array", **options: Any) -> Any:
        """Return the builder's view, uint8 [height, width, 3]; with a window, show the game."""
        env = self.unwrapped
        if mode != "human" and env.render_mode is None:
            episode = env.episode
            return episode.renderer.render(episode.worlds, (0,), episode.config.pov_size)[0]
        return self.env.render()


class FiveValueEnv(gymnasium.Env[Any, Any]):
    """An environment of the older `gym` as one of Gymnasium, for its wrappers."""

    render_mode = "rgb_array"

    def __init__(self, env: Any) -> None:
        self.env, self.action_space, self.observation_space = env, env.action_space, env.observation_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        if seed is not None:
            self.env.seed(seed)
        return self.env.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Run one step."""
        observation, reward, done, info = self.env.step(action)
        truncated = bool(info.get("TimeLimit.truncated", False))
        return observation, reward, done and not truncated, truncated, info

    def render(self) -> Any:
        """Render the environment."""
        return self.env.render()

    def __getattr__(self, name: str) -> Any:
        return Wrapper.__getattr__(self, name)  # type: ignore[arg-type]


def register(  # the older names of the arguments
    id: str,  # noqa: A002
    entry_point: Any,
    kwargs: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Register an environment with four values for `make`: a callable or "module:name", and its arguments.

    `max_episode_steps` ends its episodes; other options are without effect.
    """
    _REGISTERED[id] = entry_point, kwargs or {}, options.get("max_episode_steps")


def make(name: str, /, **options: Any) -> Any:
    """Return an environment by its id, with the tool's conventions unless `compat` says otherwise."""
    if name in _PROFILES:
        options = {"compat": _PROFILES[name], **options}
        return GridworldEnv(gymnasium.make(name, **options))
    if name not in _REGISTERED:
        return FourValueEnv(gymnasium.make(name, **options))
    entry_point, preset, limit = _REGISTERED[name]
    create = entry_point if callable(entry_point) else load_env_creator(entry_point)
    env = create(**{**preset, **options})
    return env if limit is None else FourValueEnv(gymnasium.wrappers.TimeLimit(FiveValueEnv(env), limit))


def __getattr__(name: str) -> Any:
    if name == "wrappers":  # loaded when it is used
        return importlib.import_module(f"{__name__}.wrappers")
    instead = "gymnasium.make_vec or iglu_marl.envs.vector" if name == "vector" else "gymnasium"
    raise AttributeError(f"gym.{name} is not offered here; use {instead}")
