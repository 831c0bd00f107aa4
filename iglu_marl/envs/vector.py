"""Builders in thousands of worlds at once, as Gymnasium vector environments over one `Worlds`.

`gymnasium.make_vec` makes them for the ids of `iglu_marl.envs.single`. They have the same options, observations and
rewards: world i after `reset(seed=s)` is the single environment after `reset(seed=s + i)`, in all its episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from typing_extensions import TypedDict, Unpack

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import advance_many
from iglu_marl.core.kernels.records import CONTROL
from iglu_marl.core.kernels.sights import Sights
from iglu_marl.core.threads import exclusive
from iglu_marl.envs.batch import BatchState, HasBatch, read_mode
from iglu_marl.envs.batch_observations import batched, copied, final_infos, shown_space
from iglu_marl.envs.documentation import BUILDER as BUILDERS
from iglu_marl.envs.documentation import documented
from iglu_marl.envs.single import (
    GridworldEnv,
    GridworldOptions,
    SilentBuilderEnv,
    SingleAgentEnv,
)
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.episode import EVENTS

INFO_KEYS = ("target_grid", "event", "instruction")
_EVENT_NAMES = np.array(EVENTS, object)

Array = npt.NDArray[Any]
Observations = dict[str, Any]


class VectorState(NamedTuple):
    """A saved vector environment."""

    batch: BatchState


class BuilderVectorEnv(HasBatch, VectorEnv[Observations, Any, Array]):
    """A builder in each of `num_envs` worlds, with the tasks, observations and options of one single environment.

    autoreset_mode: "NextStep" (default: the step after the end of an episode ignores the action and begins the next),
        "SameStep" (the same step begins the next; the end is in `infos["final_obs"]` and `infos["final_info"]`), or
        "Disabled" (call `reset(options={"reset_mask": …})`).
    num_threads: how many threads share the work. Results do not depend on it, nor on `num_envs`.
    copy: whether each step returns new arrays. False is faster: the arrays hold the latest step, and are read-only.
    info_keys: further keys of `infos`: "target_grid", "event" and "instruction", as in the single environments.

    Arrays of colour ids are int8. `iglu_marl.envs.vector_game` is for two learning agents.
    """

    def __init__(
        self,
        prototype: SingleAgentEnv,
        num_envs: int = 1,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        num_threads: int = 1,
        copy: bool = True,
        info_keys: tuple[str, ...] = (),
    ) -> None:
        if prototype.has_architect:
            raise ConfigError(
                "architect is given, expected none: it could play in one world only; use SyncVectorEnv with a function "
                "for each environment"
            )
        if not isinstance(copy, bool):
            raise ConfigError(f"copy is {copy!r}, expected True or False")
        unknown = [key for key in info_keys if key not in INFO_KEYS]
        if isinstance(info_keys, str) or unknown:
            raise ConfigError(
                f"info_keys is {info_keys!r}, expected a tuple of names from {', '.join(INFO_KEYS)}"
            )
        self.autoreset_mode = read_mode(autoreset_mode)
        self.metadata = {**prototype.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = prototype.render_mode
        self.config = prototype.config
        self.copy, self.info_keys = copy, (*info_keys, *("shaping",) * bool(self.config.shaping))
        self._prototype = prototype
        self._cached_views: Observations | None = None
        space = prototype.observation_space
        assert isinstance(space, spaces.Dict)
        keys = space.spaces
        self._batch = prototype.make_batch(
            num_envs,
            num_threads,
            pose="agentPos" in keys,
            grid="grid" in keys,
            target="target_grid" in keys or "target_grid" in info_keys,
            pov="pov" in keys,
            computed=keys.keys() & set(Sights._fields),
            radius=prototype.config.egocentric_radius,
            max_wrong_cells=prototype.config.max_wrong_cells,
            events="event" in info_keys,
        )
        self.num_envs = self._batch.count
        self._controls, self._records = prototype.setup.controls, np.zeros(self.num_envs, CONTROL)
        self.single_action_space = prototype.action_space
        self.single_observation_space = shown_space(space)
        self.action_space = batched(self.single_action_space, self.num_envs)
        self.observation_space = batched(self.single_observation_space, self.num_envs)

    # -- tasks

    def set_task(self, task: Any) -> None:
        """Play this task from the next reset on; for a session, a random turn at each reset."""
        self._prototype.set_task(task)
        self._batch.forget_tasks()

    def set_task_generator(self, generator: Any) -> None:
        """Sample tasks from a source, function or list from the next reset on; None: the initial source."""
        self._prototype.set_task_generator(generator)
        self._batch.forget_tasks()

    def update_taskset(self, tasks: Any) -> None:
        """Call `set_task_generator` under its 2021 name."""
        self.set_task_generator(tasks)

    def initialize_world(self, starting_grid: Any, initial_position: Any = None) -> None:
        """Start episodes with these blocks and this pose, from the next reset on."""
        self._prototype.initialize_world(starting_grid, initial_position)
        self._batch.forget_tasks()

    # -- Gymnasium

    @exclusive
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Start an episode in every world.

        seed: s seeds world i as `reset(seed=s + i)` seeds a single environment; or a list with a seed for each world.
        options: `task` (a `Task`, or a list of one for each world), `pose` (five numbers, or five for each world), and
        `reset_mask` (bool [num_envs]: only these worlds). Task and pose hold for the episodes that start now.
        """
        self._batch.reset(seed, options, self._prototype.first_pose)
        self._batch.refresh()
        return self._observations(), self._infos()

    @exclusive
    def step(self, actions: Any) -> tuple[Observations, Array, Array, Array, dict[str, Any]]:
        """Return one builder step in every world: observations, rewards float64, terminations, truncations, infos."""
        batch = self._batch
        if not batch.begun:
            raise StateError("the episodes have not begun: call reset() before step()")
        controls, numbers = self._controls.encode_many(actions, self.num_envs, self._records)
        batch.begin_next(self.autoreset_mode)
        any_over = batch.advance(advance_many, (controls, numbers, batch.idle))
        batch.refresh()
        shown = batch.shown
        if not (any_over and self.autoreset_mode is AutoresetMode.SAME_STEP):
            results = batch.rewards, shown.terminated, shown.truncated
            reward, terminated, truncated = (part.copy() if self.copy else part for part in results)
            return self._observations(), reward, terminated, truncated, self._infos()
        reward, terminated, truncated = batch.rewards.copy(), shown.terminated.copy(), shown.truncated.copy()
        final = self._final()
        batch.reset_done(np.flatnonzero(batch.over))
        batch.refresh()
        return self._observations(), reward, terminated, truncated, {**self._infos(), **final}

    def _views(self) -> Observations:
        """Return the observations as views of the batch's arrays, which stay where they are."""
        if self._cached_views is None:
            self._cached_views = self._new_views()
        return dict(self._cached_views)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached_views": None}  # of this object's arrays

    def _new_views(self) -> Observations:
        batch, shown, count = self._batch, self._batch.shown, self.num_envs
        space = self.single_observation_space
        assert isinstance(space, spaces.Dict)
        angle = "angle" if isinstance(space.spaces.get("compass"), spaces.Dict) else None
        views: Observations = {
            "inventory": shown.inventory,
            "compass": {angle: shown.compass} if angle else shown.compass.reshape(count, 1),
            "dialog": batch.dialogs,
            "chat": batch.dialogs,
            "pov": batch.pov,
            "agentPos": shown.pose,
            **batch.sights._asdict(),
        }
        for key, cells in (("grid", shown.grid), ("target_grid", shown.target)):
            views[key] = cells.reshape(-1, *ZONE_SHAPE)
        return {key: views[key] for key in space.spaces}

    def _observations(self) -> Observations:
        return copied(self._views()) if self.copy else self._views()

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for key in self.info_keys:
            if key == "event":
                infos[key] = _EVENT_NAMES[self._batch.shown.event]
            elif key == "shaping":
                infos[key] = self._batch.worlds.shaping.copy()
            elif key == "instruction":
                texts = [self._batch.load_world(world).instruction for world in range(self.num_envs)]
                infos[key] = np.array(texts, object)
            else:
                infos[key] = self._batch.shown.target.reshape(-1, *ZONE_SHAPE).copy()
            infos[f"_{key}"] = np.ones(self.num_envs, np.bool_)
        return infos

    def _final(self) -> dict[str, Any]:
        """Return the last observations and infos of ended episodes."""
        infos = self._infos()
        kept = {key: infos[key] for key in self.info_keys}
        return final_infos(self._views(), kept, self._batch.over)

    def render(self) -> tuple[Any, ...] | None:
        """Return the composed frame or text of each world, one after the other."""
        return self._batch.render(self._prototype)

    def close_extras(self, **kwargs: Any) -> None:
        """Close threads, window and renderer."""
        if hasattr(self, "_batch"):  # Gymnasium before 1.3 closes what could not be made, too
            self._batch.close()

    # -- saving

    @exclusive
    def get_state(self) -> VectorState:
        """Return everything needed to resume from here, also for later resets without a seed."""
        return VectorState(self._batch.get_state())

    @exclusive
    def set_state(self, state: VectorState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        if not isinstance(state, VectorState):
            raise StateError(f"state is a {type(state).__name__}, expected what get_state returns")
        self._batch.set_state(state.batch)
        self._batch.refresh()

    # -- changes from outside

    @exclusive
    def edit(self, blocks: Any, index: Any = None, *, builder: str = BUILDER) -> None:
        """Change running worlds, as `edit` of a single environment does. The next observations show it.

        Args:
            blocks: as in a single environment, the same in all these worlds.
            index: of a world, or of several; None: all.
            builder: builder_0.

        Raises the errors of a single environment; a world that waits for its reset is over. Nothing has changed then.

        """
        self._batch.edit(blocks, index, builder)


class BatchOptions(TypedDict, total=False):
    """The keyword arguments of `BuilderVectorEnv`."""

    autoreset_mode: str | AutoresetMode
    num_threads: int
    copy: bool
    info_keys: tuple[str, ...]


class GridworldVectorOptions(GridworldOptions, BatchOptions, total=False):
    """The keyword arguments of `GridworldVectorEnv`."""

    action_space: ControlsName | None
    render: bool | None
    vector_state: bool | None
    target_in_obs: bool
    target_egocentric: bool
    discretize: bool
    render_size: tuple[int, int] | None
    compat: Literal["iglu2022"] | None
    config: GameConfig | None
    default_sees: Sequence[str]


class SilentBuilderVectorOptions(GameOptions, BatchOptions, total=False):
    """The keyword arguments of `SilentBuilderVectorEnv`."""

    action_space: ControlsName | None
    visual: bool | None
    compat: Literal["iglu2021"] | None
    config: GameConfig | None
    default_sees: Sequence[str]


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those of the batch and those of each environment."""
    ours = {name: options[name] for name in BatchOptions.__annotations__ if name in options}
    theirs = {name: value for name, value in options.items() if name not in ours}
    return ours, theirs


@documented(*BUILDERS, like=(BuilderVectorEnv, GridworldEnv))
class GridworldVectorEnv(BuilderVectorEnv):
    """`IGLUGridworld-v0` and `IGLUGridworldVector-v0` in many worlds.

    Takes the options of `GridworldEnv` and of `BuilderVectorEnv`. Actions and observations have a first axis of
    num_envs.
    """

    def __init__(self, num_envs: int = 1, **options: Unpack[GridworldVectorOptions]) -> None:
        ours, theirs = split_options(options)
        super().__init__(GridworldEnv(**theirs), num_envs, **ours)


@documented(*BUILDERS, like=(BuilderVectorEnv, SilentBuilderEnv))
class SilentBuilderVectorEnv(BuilderVectorEnv):
    """`IGLUSilentBuilder-v0` and `IGLUSilentBuilderVisual-v0` in many worlds.

    Takes the options of `SilentBuilderEnv` and of `BuilderVectorEnv`. Actions and observations have a first axis of
    num_envs.
    """

    def __init__(self, num_envs: int = 1, **options: Unpack[SilentBuilderVectorOptions]) -> None:
        ours, theirs = split_options(options)
        super().__init__(SilentBuilderEnv(**theirs), num_envs, **ours)
