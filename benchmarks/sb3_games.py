"""Games side by side as a vector environment of Stable-Baselines3. Needs the extra `rl`."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv


class Games(VecEnv):  # type: ignore[misc]  # checked without the library
    """What Stable-Baselines3 asks of games beside `reset` and `step_wait`, which the classes below it have.

    env: the games. num_envs, observation_space, action_space: as for `VecEnv`.
    """

    def __init__(self, env: Any, num_envs: int, observation_space: Any, action_space: Any) -> None:
        self.env = env
        super().__init__(num_envs, observation_space, action_space)

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions of the next step."""
        self.actions = actions

    def close(self) -> None:
        """Close the games."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute for each game."""
        return [getattr(self.env, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise: the games have none to set."""
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Raise: the games have none to call."""
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each game."""
        return [False] * self.num_envs
