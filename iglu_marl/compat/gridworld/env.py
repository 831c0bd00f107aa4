"""`gridworld.env`: `GridWorld` and `create_env` of 2022, with four values, and `GridworldEnv` in Gymnasium's five."""

from __future__ import annotations

from typing import Any

from iglu_marl.compat import gym
from iglu_marl.envs import single

__all__ = ["GridWorld", "GridworldEnv", "create_env"]


class GridworldEnv(single.GridworldEnv):
    """`IGLUGridworld-v0` with `compat="iglu2022"` by default."""

    def __init__(self, *args: Any, compat: Any = "iglu2022", **options: Any) -> None:
        super().__init__(*args, compat=compat, **options)


class GridWorld(gym.GridworldEnv):
    """The environment of 2022 with four values and its own defaults: keys, and the reward of each placement."""

    def __init__(
        self,
        render: bool = True,
        max_steps: int = 250,
        select_and_place: bool = False,
        discretize: bool = False,
        right_placement_scale: float = 1.0,
        wrong_placement_scale: float = 0.1,
        render_size: tuple[int, int] = (64, 64),
        target_in_obs: bool = False,
        action_space: Any = "walking",
        vector_state: bool = True,
        fake: bool = False,
        name: str = "",
    ) -> None:
        options = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        width, height = render_size
        super().__init__(GridworldEnv(**{**options, "render_size": (height, width), "size_reward": False}))


def create_env(
    render: bool = True,
    discretize: bool = True,
    size_reward: bool = True,
    select_and_place: bool = True,
    right_placement_scale: float = 1,
    render_size: tuple[int, int] = (64, 64),
    target_in_obs: bool = False,
    vector_state: bool = False,
    max_steps: int = 250,
    action_space: Any = "walking",
    wrong_placement_scale: float = 0.1,
    name: str = "",
    fake: bool = False,
) -> gym.GridworldEnv:
    """Return the environment of `gym.make("IGLUGridworld-v0")`; render_size: (width, height)."""
    options = dict(locals())
    return gym.GridworldEnv(GridworldEnv(**{**options, "render_size": tuple(reversed(render_size))}))
