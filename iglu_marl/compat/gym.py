"""`gym` as the IGLU tools used it: `make` with their conventions, `reset` of one value, `step` of four.

`import gym` becomes `from iglu_marl.compat import gym`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces

__all__ = ["Env", "Wrapper", "make", "spaces"]

_PROFILES = {
    "IGLUGridworld-v0": "iglu2022",
    "IGLUGridworldVector-v0": "iglu2022",
    "IGLUSilentBuilder-v0": "iglu2021",
    "IGLUSilentBuilderVisual-v0": "iglu2021",
}


class Wrapper:
    """A wrapper of another environment, `env`, whose attributes it has."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Any:
        """The innermost environment, in Gymnasium's form."""
        return self.env.unwrapped

    def reset(self, **options: Any) -> Any:
        """Start an episode."""
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        """Run one step."""
        return self.env.step(action)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":  # while it is copied or unpickled, there is no `env` yet
            raise AttributeError(name)
        return getattr(self.env, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"


class Env(Wrapper):
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


def make(name: str, /, **options: Any) -> Env:
    """Return an environment by its id, with the tool's conventions unless `compat` says otherwise."""
    if name in _PROFILES:
        options = {"compat": _PROFILES[name], **options}
    return Env(gymnasium.make(name, **options))
