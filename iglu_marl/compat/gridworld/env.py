"""`gridworld.env`: `GridWorld`, `create_env`, `SizeReward` and `Wrapper` of 2022, with that tool's order of events."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.compat import gym
from iglu_marl.compat.absent import absent_attribute
from iglu_marl.compat.gridworld.core.world import Agent, World, finite
from iglu_marl.compat.gridworld.tasks import Subtasks, Task, Tasks
from iglu_marl.core import task as own
from iglu_marl.core.controls import Controls
from iglu_marl.core.conventions import IGLU2022
from iglu_marl.core.errors import TaskError
from iglu_marl.core.grid import ZONE_SHAPE, from_iglu2022_ids
from iglu_marl.core.scoring import Target
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.worlds import Worlds
from iglu_marl.game.chat import ChatText
from iglu_marl.game.observations import agent_pos_sight, compass_sight, grid_sight, inventory_sight, pov_sight
from iglu_marl.rendering import Painter
from iglu_marl.tasks.source import sample_task

__all__ = ["GridWorld", "SizeReward", "String", "Wrapper", "create_env"]

_CONVENTIONS = dataclasses.replace(IGLU2022, ids="iglu")  # colours are numbers: the worlds hold those of 2022
_NO_TARGET = np.zeros(ZONE_SHAPE, np.int8)
_CARRIED = ("speed", "slices", "active")  # through a reset
_ABSENT = {
    "_add_block": "GridWorld.world.add_block",
    "_remove_block": "GridWorld.world.remove_block",
}


class String(ChatText):
    """The space of texts."""

    def __init__(self) -> None:
        super().__init__(1_000_000)


class GridWorld(gym.Env):
    """The environment of 2022: its constructor, attributes, calls and order of events.

    `set_task`, `set_task_generator`, `initialize_world` and `deinitialize_world` start an episode at once. A reset
    keeps the vertical speed, its number of slices and the colour in hand. The first observation of an episode has
    zeros for `agentPos` and `compass`. An episode that is done can be continued.

    The attributes `max_steps`, `right_placement_scale`, `wrong_placement_scale`, `select_and_place`, `discretize`,
    `action_space_type`, `vector_state`, `target_in_obs`, `do_render`, `render_size`, `initial_position`,
    `initial_rotation` and `step_no` can be assigned at any time. `max_int` is the intersection at the last reset.

    Args:
        render: whether to observe `pov`.
        max_steps: number of steps after which an episode is done.
        select_and_place: whether choosing a colour also places.
        discretize: 18 numbered actions; False: keys and camera.
        right_placement_scale: reward per block of change of the intersection of changes and asked changes.
        wrong_placement_scale: reward per removed block otherwise, negative per added block.
        render_size: (width, height) of `pov`, which is an array [height, width, 3].
        target_in_obs: whether to observe `target_grid`.
        action_space: "walking" or "flying".
        vector_state: whether to observe `agentPos` and `grid`.
        fake, name: without effect; `name` can be read.

    """

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
        self.do_render = render
        self.renderer: Any = None
        self.max_steps, self.select_and_place, self.discretize = max_steps, select_and_place, discretize
        self.right_placement_scale, self.wrong_placement_scale = right_placement_scale, wrong_placement_scale
        self.render_size, self.target_in_obs, self.vector_state = render_size, target_in_obs, vector_state
        self.action_space_type, self.fake, self.name = action_space, fake, name
        self.step_no = self.max_int = self.right_placement = self.wrong_placement = 0
        self.initial_position: Sequence[float] = (0, 0, 0)
        self.initial_rotation: Sequence[float] = (0, 0)
        self.starting_grid: Any = None
        self._overwrite_starting_grid: Any = None
        self._task: Any = None
        self._task_generator: Any = None
        self._rng: np.random.Generator | None = None
        self._worlds = Worlds(1)
        self._worlds.spawn(0, own.Task("", _NO_TARGET), pose=(0, 0, 0, 0, 0))
        self.agent, self.world = Agent(self._worlds, action_space == "flying"), World(self._worlds)
        self.action_space: Any = self._controls().space
        self.observation_space: Any = self._space()
        if render:
            self.enable_renderer()

    def _controls(self) -> Controls:
        """Return the encoding of actions by the attributes of now."""
        has_keys = self.action_space_type == "walking" and not self.discretize
        name = "human-level" if has_keys else self.action_space_type
        return _controls(name, bool(self.select_and_place), 5.0 if has_keys else None)

    def _space(self) -> spaces.Dict:
        entries: dict[str, spaces.Space[Any]] = {
            "inventory": inventory_sight().space,
            "compass": compass_sight(IGLU2022).space,
            "dialog": String(),
        }
        if self.vector_state:
            entries |= {"agentPos": agent_pos_sight().space, "grid": grid_sight("grid", margin=1).space}
        if self.target_in_obs:
            entries["target_grid"] = grid_sight("target_grid", margin=1).space
        if self.do_render:
            entries["pov"] = pov_sight((self.render_size[1], self.render_size[0])).space
        return spaces.Dict(entries)

    # -- tasks and worlds

    @property
    def task(self) -> Any:
        """The task of this episode. Raises `TaskError` (a `ValueError`) before one is set."""
        if self._task is None:
            raise TaskError(
                "there is no task yet: call set_task(task) or set_task_generator(generator) first"
            )
        return self._task

    def set_task(self, task: Any) -> None:
        """Play this task, from now on. Without effect while there is a generator, which gives the next task."""
        if self._task_generator is not None:
            warnings.warn(
                "set_task has no effect while there is a generator of tasks: call set_task_generator(None) first",
                stacklevel=2,
            )
        self._task = _of_2022(task)
        self.reset()

    def set_task_generator(self, task_generator: Any) -> None:
        """Play what `task_generator.reset()` gives, now and at each reset. None: the task of now."""
        self._task_generator = task_generator
        self._seed_generator()
        self.reset()

    def initialize_world(
        self, starting_grid: Any, initial_position: Any = None, *, initial_poisition: Any = None
    ) -> None:
        """Start an episode, and the following ones, with these blocks and at this pose.

        Args:
            starting_grid: blocks (x, y, z, id); None: those of the task.
            initial_position: x, y, z in cells, and yaw and pitch in degrees, in any range.
            initial_poisition: the name that the tool has for it.

        """
        pose = initial_position if initial_poisition is None else initial_poisition
        pose = tuple((0, 0, 0, 0, 0) if pose is None else pose)
        finite(pose, 5)
        self._overwrite_starting_grid = None if starting_grid is None else Tasks.to_sparse(starting_grid)
        self.initial_position, self.initial_rotation = pose[:3], pose[3:]
        self.reset()

    def deinitialize_world(self) -> None:
        """Undo `initialize_world`, and start an episode."""
        self._overwrite_starting_grid = None
        self.initial_position, self.initial_rotation = (0, 0, 0), (0, 0)
        self.reset()

    def seed(self, seed: int | None = None) -> None:
        """Seed the generator of tasks."""
        self._rng = np.random.default_rng(seed)
        self._seed_generator()

    def _seed_generator(self) -> None:
        if self._rng is not None and isinstance(self._task_generator, TaskSource):
            self._task_generator.seed(self._rng)

    def _next_task(self) -> Any:
        generator = self._task_generator
        if generator is None:
            return self.task
        if callable(getattr(generator, "reset", None)):
            return generator.reset()
        self._rng = np.random.default_rng() if self._rng is None else self._rng
        return sample_task(generator, self._rng)

    # -- episodes

    def reset(self) -> dict[str, Any]:
        """Start an episode. Return the observation."""
        task = self._task = _of_2022(self._next_task())
        task.reset()
        chosen = self._overwrite_starting_grid
        self.starting_grid = Tasks.to_sparse((task.starting_grid if chosen is None else chosen) or [])
        carried = [getattr(self._worlds, name)[0].copy() for name in _CARRIED]
        pose = *self.initial_position, *self.initial_rotation
        self._worlds.spawn(0, own.Task("", _NO_TARGET, starting_grid=self.starting_grid), pose=pose)
        for name, value in zip(_CARRIED, carried, strict=True):
            getattr(self._worlds, name)[0] = value
        self.step_no = self.right_placement = self.wrong_placement = 0
        self._start = self.grid
        self._asked = Target(np.asarray(task.target_grid) - self._start, "inside")
        self._tracked = self._size = 0
        self.max_int = int(task.maximal_intersection(self._start))
        return self._observe(np.zeros(5), 0.0)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        """Run one step. Return observation, reward, done, info."""
        _ = self.task
        controls, index = self._controls().encode(action, check=False)
        self._worlds.step(controls[index : index + 1])
        self.step_no += 1
        reward = self._pay()
        is_over = self.step_no == self.max_steps
        is_built = self._tracked == self._asked.size
        info = {"TimeLimit.truncated": True} if is_over and not is_built else {}
        x, y, z, yaw, pitch = self._worlds.pose[0].tolist()
        return self._observe(np.array((x, y, z, pitch, yaw)), yaw - 180.0), reward, is_built or is_over, info

    def _pay(self) -> float:
        """Score what differs from the start, as the tool does: a change that keeps the number of blocks is not seen."""
        changes = self.grid - self._start
        size = int(np.count_nonzero(changes))
        wrong, self._size = self._size - size, size
        now = self._asked.score(changes) if wrong else self._tracked
        right, self._tracked = now - self._tracked, now
        return right * self.right_placement_scale if right else wrong * self.wrong_placement_scale

    def _observe(self, agent_pos: npt.NDArray[np.float64], compass: float) -> dict[str, Any]:
        observation: dict[str, Any] = {
            "inventory": np.maximum(self.agent.inventory, 0).astype(np.float32),
            "compass": np.array([compass], np.float32),
            "dialog": self._task.chat,
        }
        if self.vector_state:
            observation |= {"grid": self._grid(), "agentPos": agent_pos.astype(np.float32)}
        if self.target_in_obs:
            observation["target_grid"] = np.array(self._task.target_grid, np.int32)
        if self.do_render:
            observation["pov"] = self.render()[..., :3]
        return observation

    @property
    def grid(self) -> npt.NDArray[np.int32]:
        """The blocks, int32 [9, 11, 11], axes [y, x, z]: a copy that cannot be written. Assigning sets them."""
        grid = self._grid()
        grid.setflags(write=False)
        return grid

    @grid.setter
    def grid(self, grid: npt.ArrayLike) -> None:
        self._worlds.grid[0] = Tasks.to_dense(grid)

    def _grid(self) -> npt.NDArray[np.int32]:
        return self._worlds.grid[0].astype(np.int32)

    # -- pictures

    def enable_renderer(self) -> None:
        """Observe `pov` from now on."""
        self.do_render, self.renderer = True, self.renderer or Painter()

    def render(self, mode: str = "rgb_array") -> npt.NDArray[np.uint8]:
        """Return the agent's view, uint8 [height, width, 4]; the fourth channel is 255."""
        self.renderer = self.renderer or Painter()
        width, height = self.render_size
        grid, pose = from_iglu2022_ids(self._grid()), tuple(self._worlds.pose[0].tolist())
        picture = self.renderer.render_grid(grid, pose, (height, width))
        return np.dstack((picture, np.full((height, width, 1), 255, np.uint8)))

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(type(self).__name__, name, _ABSENT)


@lru_cache(maxsize=32)
def _controls(name: Any, select_and_place: bool, camera_limit: float | None) -> Controls:
    options = {"select_and_place": select_and_place, "camera_limit": camera_limit}
    return Controls(name, conventions=_CONVENTIONS, **options)  # type: ignore[arg-type]


def _of_2022(task: Any) -> Any:
    """Return a task or session with the attributes of 2022: `chat`, `starting_grid`, `target_grid`, `reset()`."""
    if isinstance(task, own.Subtasks):
        return Subtasks.of(task, "iglu2022")
    if isinstance(task, own.Task):
        task = task if task.ids is not None else task.replace(ids="iglu2022")
        return Task.of(task.in_ids("iglu2022"), sparse_start=True)
    missing = [name for name in ("chat", "starting_grid", "target_grid", "reset") if not hasattr(task, name)]
    if missing:
        raise TaskError(
            f"the task is {task!r:.80}, expected a Task or Subtasks, such as Task(chat, target_grid): it has no "
            f"{', '.join(missing)}"
        )
    return task


Wrapper = gym.Wrapper


class SizeReward(Wrapper):
    """Pays what `max_int` has gained over its largest value of the episode.

    As in the tool, `max_int` is that of the last reset, so that only the first step pays. For the gain of the build,
    use `size_reward=False`, or `gymnasium.make("IGLUGridworld-v0", compat="iglu2022")`.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.size = 0

    def reset(self) -> Any:
        """Start an episode. Return the observation."""
        self.size = 0
        return super().reset()

    def step(self, action: Any) -> Any:
        """Run one step. Return observation, reward, done, info."""
        observation, _, done, info = super().step(action)
        largest = max(self.unwrapped.max_int, self.size)
        reward, self.size = largest - self.size, largest
        return observation, reward, done, info


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
    *,
    right_scale: float | None = None,
    wrong_scale: float | None = None,
) -> Any:
    """Return the environment of `gym.make("IGLUGridworld-v0")`: a `GridWorld`, by default in `SizeReward`.

    right_scale and wrong_scale are the documents' names of the scales. They switch `size_reward` off.
    """
    options = {key: value for key, value in locals().items() if not key.endswith(("reward", "_scale"))}
    right, wrong = (
        chosen if scale is None else scale
        for chosen, scale in ((right_placement_scale, right_scale), (wrong_placement_scale, wrong_scale))
    )
    env = GridWorld(right_placement_scale=right, wrong_placement_scale=wrong, **options)
    return SizeReward(env) if size_reward and right_scale is None and wrong_scale is None else env
