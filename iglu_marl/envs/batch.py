"""`Batch`: many episodes in one `Worlds`, the core of the vector environments.

Observations are arrays with a row per world. A step writes only what it changes, so that grids are not copied and
unchanged views not painted again.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError, PoseError, StateError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import begin_many, show_many
from iglu_marl.core.kernels.sights import see_many
from iglu_marl.core.kernels.step import sense_at
from iglu_marl.core.pose import Pose, is_several
from iglu_marl.core.schedule import TrainingClock
from iglu_marl.core.task import Task, as_task
from iglu_marl.core.threads import Kernel, ThreadPool
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs.base import EnvCore
from iglu_marl.envs.batch_observations import BatchObsSpec
from iglu_marl.envs.task_sampling import (
    Prepared,
    TaskSampling,
    TaskSamplingState,
    check_like,
    read_seeds,
    rows_of_dialogs,
)
from iglu_marl.game.chat import TokenChat
from iglu_marl.game.objective import pay_objective

# With fewer worlds, a thread costs more than it saves.
STEPS_PER_THREAD, PICTURES_PER_THREAD = 1024, 16

OPTIONS = ("task", "pose", "reset_mask")

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def read_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """Return the autoreset mode. Raises `ConfigError` for an unknown one."""
    try:
        return mode if isinstance(mode, AutoresetMode) else AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(known.value) for known in AutoresetMode)
        raise ConfigError(f"autoreset_mode is {mode!r}, expected one of {known}") from None


class BatchState(NamedTuple):
    """A saved batch: records WORLD[n], tasks and dialogues, generators, training clocks."""

    worlds: Array
    tasks: Array
    dialogues: Array
    dialogs: Array
    over: Array
    sampling: TaskSamplingState
    clock: Any = None


def _same(task: Task) -> Task:
    return task


class HasBatch:
    """Mixin: properties of environments with a batch."""

    _batch: Batch

    @property
    def worlds(self) -> Worlds:
        """All worlds, for reading."""
        return self._batch.worlds

    @property
    def thread_lock(self) -> Any:
        """The lock of the worlds, for `exclusive` methods."""
        return self._batch.worlds.thread_lock

    @property
    def setup(self) -> EnvCore:
        """Tasks, controls and renderer."""
        return self._batch.setup

    @property
    def tasks(self) -> Array:
        """The task that is played in each world, object [n]. For reading."""
        return self._batch.tasks


class Batch:
    """n episodes, advanced together.

    Args:
        count: number of worlds.
        setup: tasks, controls, chat and renderer, shared by all worlds.
        obs_spec: what is observed.
        num_threads: threads that share the work.
        recorded: whether episodes begin after the architect's first turn, with the tasks' own dialogues.
        adapt: changes tasks.
        team: number of builders of an episode. Worlds, observations and pictures have a row for each of them, tasks,
            dialogues, `idle` and `over` one for the episode.

    """

    def __init__(
        self,
        count: int,
        setup: EnvCore,
        obs_spec: BatchObsSpec,
        *,
        num_threads: int = 1,
        recorded: bool = False,
        adapt: Callable[[Task], Task] = _same,
        team: int = 1,
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ConfigError(f"num_envs is {count!r}, expected an integer of 1 or more")
        self.count, self.team = int(count), team
        self.rows = self.count * team
        self.on_begin: Callable[[Indices], None] | None = None  # called with the episodes that start
        self.setup, self.obs_spec, self.recorded = setup, obs_spec, recorded
        self.threads = ThreadPool(num_threads)
        self.worlds = Worlds(self.rows)
        self.shown, self.sights = obs_spec.arrays(self.rows), obs_spec.sights(self.rows)
        self.everyone, self._nobody = np.arange(self.count), np.zeros(0, np.int64)
        self.idle = np.zeros(self.count, np.bool_)
        self.over = np.zeros(self.count, np.bool_)
        self.begun = False
        self.chat = setup.episode.chat
        self.tasks, self.dialogues = np.empty(self.count, object), np.empty(self.count, object)
        self.dialogs = rows_of_dialogs(self.chat, self.count)
        self.prepared = Prepared(setup.episode.rules, self.chat, recorded, team)
        self._adapt = adapt
        self.sampling = TaskSampling(self.count, self._played, self.prepared, setup.check)
        self.clock, self.schedules = TrainingClock(self.count), setup.config.schedules
        self._source: Any = None
        self._pose: Pose | None = None  # where episodes begin; None: at the tasks' poses
        self._has_next = np.zeros(self.count, np.bool_)
        self._objectives = np.full(self.count, None, object)  # None where the target is the objective
        self._any_objective = False
        self.pov = np.zeros(0, np.uint8)
        self._make_pictures()

    # -- pictures

    def _make_pictures(self) -> None:
        obs_spec, size = self.obs_spec, self.setup.config.pov_size
        self._draw: Callable[[Indices, int, int], Any] | None = None
        self._draw_figures: Callable[[Indices, int, int], Any] | None = None
        if not obs_spec.pov:
            return
        from iglu_marl.rendering.painter import Painter

        if not self.pov.size:
            self.pov = np.zeros((self.rows, *size, 3), np.uint8)
        renderer, eyes = self.setup.episode.renderer, self.shown.eye
        grids = self.shown.scene.reshape(self.rows, *ZONE_SHAPE)
        if self.team > 1:
            from iglu_marl.rendering.avatar import bind_figures, lens_of

            lens = lens_of(renderer)
            self._draw_figures = bind_figures(grids, eyes, self.team, lens, self.pov)
        if isinstance(renderer, Painter):
            self._draw = renderer.bind(grids, eyes, size, self.pov)

    def refresh(self) -> None:
        """Update computed observations, and the pictures whose view changed."""
        obs_spec = self.obs_spec
        if obs_spec.computed:
            self.threads.run(see_many, (self.worlds.state, self.sights), self.rows, STEPS_PER_THREAD)
        if not obs_spec.pov:
            return
        if self.team > 1:  # who moves is seen by the others
            by_game = self.shown.stale.reshape(self.count, self.team)
            by_game[:] = by_game.any(axis=1, keepdims=True)
        stale = np.flatnonzero(self.shown.stale)
        if not len(stale):
            return
        if self._draw is not None:
            self.threads.run(self._draw, (stale,), len(stale), PICTURES_PER_THREAD)
        else:
            size = self.setup.config.pov_size
            self.pov[stale] = self.setup.episode.renderer.render(self.worlds, stale.tolist(), size)
        if self._draw_figures is not None:
            self.threads.run(self._draw_figures, (stale,), len(stale), PICTURES_PER_THREAD)
        self.shown.stale[:] = False

    # -- episodes

    def forget_tasks(self) -> None:
        """Prepare all tasks again, after a change of `adapt`."""
        self._source = None

    def reset(self, seed: Any, options: Mapping[str, Any] | None, pose: Pose | None = None) -> Indices:
        """Start an episode in every world, or in those of `options["reset_mask"]`. Return the indices of these worlds.

        options: `task` (a `Task`, or one for each world), `pose` (see `_read_poses`), `reset_mask` (bool [n]); task and
        pose are those of the episodes that start now. `pose`: default pose of these and all later episodes.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ConfigError(
                f"options is {options!r:.80}, expected a dict with the keys {', '.join(OPTIONS)}"
            )
        options = options or {}
        for name in options:
            if name not in OPTIONS:
                warnings.warn(f"unknown reset option {name!r}, expected {', '.join(OPTIONS)}", stacklevel=3)
        mask = options.get("reset_mask")
        chosen = self.everyone if mask is None else self._read_mask(mask)
        tasks, poses = self._read_options(options)
        seeds = read_seeds(seed, chosen, self.count)
        self._use_source()
        self.sampling.seed(seeds, chosen)
        numbers = self.sampling.sample(chosen) if tasks is None else self.sampling.given(tasks)[chosen]
        self._pose = pose
        self._begin(chosen, numbers, poses)
        self.show(chosen)
        if mask is None:
            self.begun = True
        return chosen

    def _played(self, task: Task) -> Task:
        """Return the adapted task. Raises `PoseError` if the game cannot start from its pose."""
        task = self._adapt(task)
        if task.pose is not None:
            self.setup.read_start(task.pose)
        return task

    def _use_source(self) -> None:
        if self._source is None or self._source is not self.setup.tasks:
            self._source = self.setup.tasks
            self.sampling.use(self._source)

    def _read_mask(self, mask: Any) -> Indices:
        array = np.asarray(mask)
        if array.shape != (self.count,) or array.dtype != np.bool_ or not array.any():
            raise ConfigError(
                f"reset_mask is {mask!r:.80}, expected bool[{self.count}] with at least one True"
            )
        if not self.begun:
            raise StateError("nothing has begun yet: call reset() without a reset_mask first")
        return np.flatnonzero(array)

    def _read_options(self, options: Any) -> tuple[list[Task] | None, Array | None]:
        task, pose = options.get("task"), options.get("pose")
        tasks = None
        if task is not None:
            tasks = list(task) if isinstance(task, (list, tuple, np.ndarray)) else [task] * self.count
            if len(tasks) != self.count:
                raise ConfigError(
                    f"there are {len(tasks)} tasks, expected one, or one for each of {self.count} worlds"
                )
            tasks = [as_task(one) for one in tasks]
        return tasks, None if pose is None else self._read_poses(pose)

    def _read_poses(self, pose: Any) -> Array:
        """Return where the builders start, float64 [count, team, 5].

        pose: of one game (see `as_start`), or a list of these, one for each world.
        """
        read = self.setup.read_start
        flat = is_several(pose) and not any(isinstance(one, Mapping) or is_several(one) for one in pose)
        if flat and self.count == self.team > 1:
            raise PoseError(
                f"pose is a list of {self.count} poses, which could be those of the games or of the builders; "
                "expected a dict by builder, or such a dict for each game"
            )
        if not is_several(pose):
            return np.broadcast_to(np.array(read(pose), np.float64), (self.count, self.team, 5))
        if len(pose) != self.count:
            by_name = "; poses of builders are given by name" if self.team > 1 else ""
            raise PoseError(
                f"there are {len(pose)} poses, expected one, or one for each of {self.count} worlds{by_name}"
            )
        return np.array([read(start) for start in pose], np.float64)

    def rows_of(self, chosen: Indices) -> Indices:
        """Return the rows of the builders in these episodes, one after the other."""
        return chosen if self.team == 1 else (chosen[:, None] * self.team + np.arange(self.team)).ravel()

    def reset_done(self, chosen: Indices) -> None:
        """Start the next episodes of worlds whose last one is over."""
        self._begin(chosen, self.sampling.sample(chosen))
        self.show(chosen)

    def _begin(self, chosen: Indices, numbers: Indices, poses: Array | None = None) -> None:
        prepared = self.prepared
        words, rows = self.worlds.state.view(np.uint64).reshape(self.rows, -1), self.rows_of(chosen)
        if self.schedules:
            self.clock.close(chosen, self.worlds.steps[chosen * self.team])
        begin_many(words, prepared.words, rows, np.repeat(numbers, self.team), 0, len(rows))
        for name, schedule in self.schedules.items():
            values = self.clock.value(schedule, chosen)
            getattr(self.worlds, name)[rows] = np.repeat(values, self.team)
        self.tasks[chosen] = prepared.tasks[numbers]
        self._has_next[chosen] = prepared.has_next[numbers]
        self._objectives[chosen] = prepared.objectives[numbers]
        self._any_objective |= prepared.any_objective
        self.over[chosen] = False
        if poses is not None:
            self._place(chosen, poses[chosen])
        elif self._pose is not None:
            self._place(chosen, np.array(self._pose, np.float64))
        elif self.team > 1:
            starts = prepared.starts[numbers]
            apart = ~np.isnan(starts[:, 0, 0])
            self._place(chosen[apart], starts[apart])
        self.dialogues[chosen] = prepared.dialogues[numbers]
        self.dialogs[chosen] = prepared.seen[numbers]
        if self.on_begin is not None:
            self.on_begin(chosen)

    def _place(self, chosen: Indices, poses: Array) -> None:
        """Move the builders of these episodes to their start poses, [chosen, team, 5] or one for all."""
        rows = self.rows_of(chosen)
        self.worlds.pose[rows] = poses.reshape(-1, 5)
        for row in rows.tolist():
            sense_at(self.worlds.state, row)

    def begin_next(self, mode: AutoresetMode) -> Indices:
        """Before a step, start the next episodes of worlds that are over. They are idle in this step."""
        self.idle[:] = False
        if not self.over.any():
            return self._nobody
        fresh = np.flatnonzero(self.over)
        if mode is AutoresetMode.DISABLED:
            raise StateError(
                f"the episode of world {fresh[0]} is over: call reset(options={{'reset_mask': …}}) first"
            )
        self.reset_done(fresh)
        self.idle[fresh] = True
        return fresh

    def show(self, chosen: Indices) -> None:
        """Write all observations of the chosen worlds."""
        rows = self.rows_of(chosen)
        show_many(self.worlds.state, rows, np.zeros(self.rows, np.bool_), self.shown, 0, len(rows))

    def advance(self, kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
        """Run a step's kernel over all worlds. Return whether an episode is over."""
        inputs = (self.worlds.state, *arguments, self.shown)
        ended = self.threads.run(kernel, inputs, self.count, STEPS_PER_THREAD)
        if self._any_objective:
            ended += self._score_objectives()
        if not ended:
            self.over[:] = False
            return False
        for world in np.flatnonzero(self.ends()[0] & self._has_next).tolist():
            self._next_subtask(world)
        np.logical_or(*self.ends(), out=self.over)
        return bool(self.over.any())

    @property
    def rewards(self) -> Array:
        """The rewards of the last step of lone builders with shaping, float64 [count]; without it a view."""
        own = self.shown.reward
        return own + self.worlds.shaping if self.setup.config.shaping else own

    def ends(self) -> tuple[Any, Any]:
        """Return which episodes are terminated and which truncated, bool [count]; views for lone builders."""
        ends = self.shown.terminated, self.shown.truncated
        if self.team == 1:
            return ends
        terminated, truncated = (each.reshape(self.count, self.team) for each in ends)
        return terminated.any(axis=1), truncated.all(axis=1)

    def load_world(self, world: int) -> Any:
        """Copy a world into the episode of the setup, and return that."""
        episode = self.setup.episode
        state = self.worlds.state[world * self.team : (world + 1) * self.team]
        episode.worlds.state.view(np.uint8)[:] = state.view(np.uint8)  # faster than field by field
        episode.task, episode.recorded = self.tasks[world], self.recorded
        episode.objective = self._objectives[world]
        episode.dialogue = self.dialogue(world)
        return episode

    def edit(self, blocks: Any, index: Any, builder: str) -> None:
        """Change the world of a game, of several, or of all (None), see `Episode.edit`; and the observations.

        Raises the errors of `Episode.edit`, and `ConfigError` for an unknown index. Nothing has changed then.
        """
        chosen = self.everyone if index is None else self._read_index(index)
        changed = []
        for world in chosen.tolist():
            episode = self.load_world(world)
            episode.edit(blocks, builder)
            episode.edits.clear()  # this episode stands for all worlds
            changed.append(episode.worlds.get_state())
        self.worlds.state[self.rows_of(chosen)] = np.concatenate(changed)
        self.show(chosen)
        self.refresh()

    def _read_index(self, index: Any) -> Indices:
        try:
            chosen = [operator.index(one) for one in (index if np.iterable(index) else [index])]
        except TypeError:
            chosen = []
        if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(self.count)):
            raise ConfigError(
                f"index is {index!r:.80}, expected one of 0..{self.count - 1}, several of them, or None for all"
            )
        return np.array(chosen)

    def _score_objectives(self) -> int:
        """Set rewards and ends of worlds with objectives, if the builder acted. Return how many are reached."""
        groups: dict[Any, list[int]] = {}
        for world in np.flatnonzero(~self.idle & (self.worlds.steps_in_turn > 0)).tolist():
            objective = self._objectives[world]
            if objective is not None:
                together = hasattr(objective, "score_each")
                groups.setdefault(type(objective) if together else id(objective), []).append(world)
        reached, worlds = 0, self.worlds
        for kind, group in groups.items():
            mine = self._objectives[group]
            score = partial(kind.score_each, mine) if isinstance(kind, type) else mine[0].score  # type: ignore[attr-defined]
            pay_objective(score, worlds, group)
            for name in ("reward", "terminated"):
                getattr(self.shown, name)[group] = getattr(worlds, name)[group]
            reached += int(np.count_nonzero(worlds.terminated[group]))
        return reached

    def render(self, environment: Any) -> tuple[Any, ...] | None:
        """Render each world with `environment`, which has this setup."""
        if environment.render_mode is None:
            environment.render()  # warns
            return None
        if not self.begun:
            raise StateError("there is nothing to render yet: call reset() first")
        frames = []
        for world in range(self.count):
            self.load_world(world)
            frames.append(environment.render())
        return None if environment.render_mode == "human" else tuple(frames)

    def dialogue(self, world: int) -> Dialogue:
        """Return the dialogue of a world, as far as it is observed."""
        if isinstance(self.chat, TokenChat) and not self.recorded:
            return self.chat.dialogue_of(self.dialogs[world])
        dialogue: Dialogue = self.dialogues[world]
        return dialogue

    def _next_subtask(self, world: int) -> None:
        episode = self.load_world(world)
        episode.next_subtask()
        self.worlds.state[world * self.team : (world + 1) * self.team] = episode.worlds.state
        task = episode.task
        assert task is not None
        self.tasks[world] = task
        self._has_next[world], self._objectives[world] = task.next_task is not None, task.objective
        self._any_objective |= task.objective is not None
        if self.recorded:
            self.dialogues[world] = episode.dialogue
            self.dialogs[world] = self.chat.show(episode.dialogue, episode.written)
        self.show(np.array([world]))

    # -- saving

    def get_state(self) -> BatchState:
        """Return everything needed to resume from here."""
        return BatchState(
            self.worlds.get_state(),
            self.tasks.copy(),
            self.dialogues.copy(),
            self.dialogs.copy(),
            self.over.copy(),
            self.sampling.get_state(),
            self.clock.get_state(),
        )

    def check_state(self, state: Any) -> None:
        """Raise `StateError` unless `set_state` can take this."""
        if not isinstance(state, BatchState):
            raise StateError(f"state is a {type(state).__name__}, expected what get_state of a batch returns")
        for name in ("tasks", "dialogues", "dialogs", "over"):
            check_like(getattr(state, name), getattr(self, name), name)
        self.sampling.check_state(state.sampling)
        self.clock.check_state(state.clock)

    def set_state(self, state: BatchState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        if self._source is None:
            self._use_source()
        self.check_state(state)
        self.worlds.set_state(state.worlds)
        self.tasks[:], self.dialogues[:] = state.tasks, state.dialogues
        self.dialogs[:], self.over[:] = state.dialogs, state.over
        self._has_next[:] = [task is not None and task.next_task is not None for task in self.tasks]
        self._objectives[:] = [None if task is None else task.objective for task in self.tasks]
        self._any_objective = any(objective is not None for objective in self._objectives)
        self.sampling.set_state(state.sampling)
        self.clock.set_state(state.clock)
        self.begun = all(task is not None for task in self.tasks)
        self.show(self.everyone)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_draw": None, "_draw_figures": None}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._make_pictures()

    def close(self) -> None:
        """Close threads, window and renderer."""
        self.threads.close()
        self.setup.close()
