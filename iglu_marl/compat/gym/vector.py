"""`gym.vector`: several environments with four values as one; those that are done are reset at once.

`iglu_marl.envs.vector` is the fast way: it steps all worlds in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from iglu_marl.compat import gym

__all__ = ["AsyncVectorEnv", "SyncVectorEnv", "make"]


def _stacked(values: Sequence[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: _stacked([value[key] for value in values]) for key in values[0]}
    return tuple(values) if isinstance(values[0], str) else np.stack(values)


class SyncVectorEnv(gym.Env):
    """Environments from functions. Observations are stacked by key, texts are tuples, infos a tuple of dicts."""

    def __init__(self, env_fns: Sequence[Callable[[], Any]], *_: Any, **__: Any) -> None:
        self.envs = [make_one() for make_one in env_fns]
        self.num_envs = len(self.envs)
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space

    def seed(self, seed: int | Sequence[int | None] | None = None) -> None:
        """Seed the environments: s + i for an integer s, else one seed for each."""
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if np.ndim(seed or 0) == 0 else seed
        for env, own in zip(self.envs, seeds, strict=True):
            env.seed(own)

    def reset(self) -> Any:
        """Reset all environments. Return their observations."""
        return _stacked([env.reset() for env in self.envs])

    def step(self, actions: Sequence[Any]) -> tuple[Any, Any, Any, tuple[dict[str, Any], ...]]:
        """Step all environments. The info of one that is done has its `terminal_observation`."""
        rows = []
        for env, action in zip(self.envs, actions, strict=True):
            observation, reward, done, info = env.step(action)
            if done:
                info, observation = {**info, "terminal_observation": observation}, env.reset()
            rows.append((observation, reward, done, info))
        observations, rewards, dones, infos = zip(*rows, strict=True)
        return _stacked(observations), np.array(rewards, np.float64), np.array(dones, np.bool_), infos

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()


AsyncVectorEnv = SyncVectorEnv


def make(id: str, num_envs: int = 1, asynchronous: bool = True, **options: Any) -> SyncVectorEnv:
    """Make `num_envs` environments of an id."""
    return SyncVectorEnv([lambda: gym.make(id, **options)] * num_envs)
