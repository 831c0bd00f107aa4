"""`gym` as the IGLU tools used it: `make` with their conventions, `reset` of one value, `step` of four.

`import gym` becomes `from iglu_marl.compat import gym`.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any

import gymnasium
import gymnasium.wrappers
from gymnasium import error, logger, spaces, utils
from gymnasium.envs.registration import load_env_creator
from gymnasium.utils import seeding

from iglu_marl.compat.absent import add_modules
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.text import similar

__all__ = [
    "ActionWrapper", "Env", "ObservationWrapper", "RewardWrapper", "Wrapper", "error", "logger", "make", "register",
    "spaces", "utils",
]  # fmt: skip

_OF_2022: Mapping[str, Mapping[str, Any]] = {
    "IGLUGridworld-v0": {},
    "IGLUGridworldVector-v0": {"render": False, "vector_state": True},
}
_OF_2021 = ("IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0")
# For `from gym.spaces import Box`, `from gym.envs.registration import register`, `from gym.core import Wrapper`, …
_here = sys.modules[__name__]
_MODULES = {"spaces": spaces, "utils": utils, "utils.seeding": seeding, "error": error, "logger": logger}
add_modules(__name__, _MODULES | dict.fromkeys(("envs", "envs.registration", "core"), _here))
_REGISTERED: dict[str, tuple[Any, Mapping[str, Any], int | None]] = {}


class Env:
    """Base class of environments: `reset()` returns an observation, `step(action)` four values."""

    metadata: Any = {"render.modes": []}  # noqa: RUF012 (as in gym)
    reward_range = (-float("inf"), float("inf"))
    spec: Any = None
    action_space: Any
    observation_space: Any

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

    @property
    def unwrapped(self) -> Any:
        """The environment itself: what it wraps has other calls."""
        return self

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
        """Return a picture of three channels, as Gymnasium's wrappers expect."""
        picture = self.env.render()
        return picture[..., :3] if getattr(picture, "ndim", 0) == 3 else picture

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
    """Return an environment by its id, with the calls and the order of events of its tool.

    With `compat`, the ids of the tools give this package's environment with that profile, with four values.

    Raises:
        ConfigError: if the tool's environment has no such option.

    """
    name = name.removeprefix("gridworld:").removeprefix("iglu:")
    if name in _OF_2022 and "compat" not in options:
        return _make_of_2022({**_OF_2022[name], **options})
    if name in _OF_2021 and "compat" not in options:
        from iglu_marl.compat.iglu.env import SilentBuilder

        if "resolution" in options:  # (width, height)
            options["pov_size"] = options.pop("resolution")[::-1]
        return SilentBuilder(gymnasium.make(name, compat="iglu2021", **options))
    if name not in _REGISTERED:
        return FourValueEnv(gymnasium.make(name, **options))
    entry_point, preset, limit = _REGISTERED[name]
    create = entry_point if callable(entry_point) else load_env_creator(entry_point)
    env = create(**{**preset, **options})
    return env if limit is None else FourValueEnv(gymnasium.wrappers.TimeLimit(FiveValueEnv(env), limit))


def _make_of_2022(options: Mapping[str, Any]) -> Any:
    from iglu_marl.compat.gridworld.env import create_env

    known = inspect.signature(create_env).parameters
    for name in options:
        if name not in known:
            raise ConfigError(
                f"unknown option {name!r}{similar(name, known)}, expected one of {', '.join(known)}; for the options "
                'of iglu_marl, use gymnasium.make("IGLUGridworld-v0", compat="iglu2022", …)'
            )
    return create_env(**options)


def __getattr__(name: str) -> Any:
    if name == "wrappers":  # loaded when it is used
        return importlib.import_module(f"{__name__}.wrappers")
    instead = "gymnasium.make_vec or iglu_marl.envs.vector" if name == "vector" else "gymnasium"
    raise AttributeError(f"gym.{name} is not offered here; use {instead}")
