"""`SilentBuilder`: the environments of 2021 with the calls and attributes that their programs use."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from gymnasium import spaces

from iglu_marl.compat import gym
from iglu_marl.compat.absent import absent_attribute, absent_names
from iglu_marl.compat.gridworld.tasks import Task
from iglu_marl.compat.iglu.tasks import CustomTasks
from iglu_marl.core.conventions import IGLU2021
from iglu_marl.game.observations import grid_sight

_ABSENT = {
    "real_reset": "reset(), which always restores everything",
    "initial_blocks": "the starting_grid of a Task",
    "start_position": "initialize_world(starting_grid, (x, y, z, yaw, pitch))",
    "bound_agent": "nothing: a builder cannot leave the zone by more than two cells",
}


__getattr__ = absent_names(__name__, {"IGLUEnv": 'gym.make("IGLUSilentBuilder-v0")'})


class ActionSpace(spaces.Dict):
    """A Dict space whose `no_op()` is the action that does nothing."""

    def no_op(self) -> OrderedDict[str, Any]:
        """Return the action that does nothing, a new one each time."""
        return OrderedDict(
            (key, 0 if isinstance(space, spaces.Discrete) else np.zeros(space.shape or (), np.float32))
            for key, space in self.spaces.items()
        )

    noop = no_op


class TaskMonitor:
    """Score of an environment: `max_int`, the maximal intersection in blocks."""

    def __init__(self, env: SilentBuilder) -> None:
        self._env = env

    max_int: Any = property(lambda self: int(self._env.episode.worlds.best[0]))


class Tasks:
    """The tasks of an environment: its source, with the task of the episode as `current`, and tasks by name."""

    def __init__(self, env: SilentBuilder, source: Any) -> None:
        self._env, self._source = env, source

    current: Any = property(lambda self: self._env.current_task)

    @property
    def preset(self) -> Any:
        """The tasks by name."""
        preset = getattr(self._source, "preset", None)
        return preset if isinstance(preset, dict) else CustomTasks(self._source).preset

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._source, name)


class SilentBuilder(gym.FourValueEnv):
    """`IGLUSilentBuilder-v0` and `IGLUSilentBuilderVisual-v0` with four values, `tasks`, `task.task_monitor`, …

    The observations of both have `grid`, which programs delete. The space of the second is without, as documented.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.action_space: Any = ActionSpace(env.action_space.spaces)
        self._read_grid = grid_sight("grid", IGLU2021).read

    def reset(self, **options: Any) -> Any:
        """Start an episode. Return the observation."""
        return self._with_grid(super().reset(**options))

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        """Run one step. Return observation, reward, done, info."""
        observation, *rest = super().step(action)
        return self._with_grid(observation), *rest  # type: ignore[return-value]

    def _with_grid(self, observation: dict[str, Any]) -> dict[str, Any]:
        if "grid" not in observation:
            observation["grid"] = self._read_grid(self._inner.episode)
        return observation

    _inner: Any = property(lambda self: self.env.unwrapped)
    tasks: Any = property(lambda self: Tasks(self, self._inner.setup.tasks))

    @property
    def current_task(self) -> Any:
        """The task of this episode; None before the first reset."""
        task = self._inner.task
        return None if task is None else Task.of(task.in_ids("iglu"), sparse_start=True)

    @property
    def task(self) -> Any:
        """The task of this episode, and its `task_monitor`."""
        task = self.current_task
        if task is not None:
            task.task_monitor = TaskMonitor(self)
        return task

    def set_task(self, task_id: Any) -> None:
        """Start an episode with a task of the source by its name, or with a task."""
        if isinstance(task_id, str):
            preset = self.tasks.preset
            task_id = preset[task_id] if task_id in preset else self.tasks.set_task(task_id)
            self.reset(options={"task": task_id})
        else:
            self._inner.set_task(task_id)
            self.reset()

    def should_reset(self, value: bool) -> None:
        """Do nothing: every reset restores everything."""

    max_steps: Any = property(lambda self: self._inner.config.max_steps)
    action_space_type: Any = property(lambda self: self._inner.config.controls)
    resolution: Any = property(lambda self: self._inner.config.pov_size[::-1])

    def render(self, mode: str = "rgb_array", **options: Any) -> Any:
        """Return the builder's view, uint8 [height, width, 3]; with a window, show the game."""
        env = self._inner
        if mode != "human" and env.render_mode is None:
            episode = env.episode
            return episode.renderer.render(episode.worlds, (0,), episode.config.pov_size)[0]
        return self.env.render()

    def __getattr__(self, name: str) -> Any:
        if name in _ABSENT:
            raise absent_attribute("SilentBuilder", name, _ABSENT)
        return super().__getattr__(name)
