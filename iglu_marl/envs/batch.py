"""Many episodes in one `Worlds`: what the vector environments have in common. No rules are decided here.

A batch is to a vector environment what `GameSetup` is to the others. What is shown lies in arrays, a row a world;
a step writes only what it changes there, so that grids are not copied and unchanged views not painted again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError, RenderError, StateError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import begin_many, show_many
from iglu_marl.core.kernels.sights import see_many
from iglu_marl.core.kernels.step import sense_at
from iglu_marl.core.task import Task, as_task
from iglu_marl.core.threads import Crew, Kernel
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.envs.base import GameSetup
from iglu_marl.envs.batch_observations import Display
from iglu_marl.envs.task_sampling import (
    Prepared,
    TaskSampling,
    TaskSamplingState,
    check_like,
    read_seeds,
    rows_of_dialogs,
)
from iglu_marl.game.chat import TokenChat

# Fewer worlds than these are not worth a thread's while.
STEPS_PER_THREAD, PICTURES_PER_THREAD = 1024, 16

OPTIONS = ("task", "pose", "reset_mask")

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]


def read_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """When finished worlds begin anew. Raises `ConfigError` for an unknown mode."""
    try:
        return mode if isinstance(mode, AutoresetMode) else AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(known.value) for known in AutoresetMode)
        raise ConfigError(f"autoreset_mode is {mode!r}, expected one of {known}") from None


class BatchState(NamedTuple):
    """A saved batch: the records WORLD[n], each world's task and dialogue, where the generators stand, and how far the
    source of the tasks is.
    """

    worlds: Array
    tasks: Array
    dialogues: Array
    dialogs: Array
    over: Array
    sampling: TaskSamplingState
    sources: tuple[Any, ...] = ()


def _same(task: Task) -> Task:
    return task


class HasBatch:
    """Mixin: what the environments of a batch let one read."""

    _batch: Batch

    @property
    def worlds(self) -> Worlds:
        """All worlds, for reading."""
        return self._batch.worlds

    @property
    def setup(self) -> GameSetup:
        """Tasks, controls and renderer."""
        return self._batch.setup

    @property
    def tasks(self) -> Array:
        """The task that is played in each world, object [n]. For reading."""
        return self._batch.tasks


class Batch:
    """n episodes, advanced together.

    setup: tasks, controls, chat and renderer of one environment, which all worlds share. `recorded`: the architect's
    first turn has passed when an episode begins, and dialogues are the tasks' own. `adapt` changes tasks as the
    environment plays them.
    """

    def __init__(
        self,
        count: int,
        setup: GameSetup,
        display: Display,
        *,
        num_threads: int = 1,
        recorded: bool = False,
        adapt: Callable[[Task], Task] = _same,
    ) -> None:
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ConfigError(f"num_envs is {count!r}, expected an integer of 1 or more")
        self.count = int(count)
        self.setup, self.display, self.recorded = setup, display, recorded
        self.crew = Crew(num_threads)
        self.worlds = Worlds(self.count)
        self.shown, self.sights = display.arrays(self.count), display.sights(self.count)
        self.everyone = np.arange(self.count)
        self.idle = np.zeros(self.count, np.bool_)
        self.over = np.zeros(self.count, np.bool_)
        self.begun = False
        self.chat = setup.episode.chat
        self.tasks, self.dialogues = np.empty(self.count, object), np.empty(self.count, object)
        self.dialogs = rows_of_dialogs(self.chat, self.count)
        self.prepared = Prepared(setup.episode.terms, self.chat, recorded)
        self.sampling = TaskSampling(self.count, adapt, self.prepared)
        self._source: Any = None
        self._pose: Pose | None = None  # where episodes begin, if not where worlds do
        self._goes_on = np.zeros(self.count, np.bool_)
        self._objectives = np.full(self.count, None, object)  # of worlds whose task is not about its target
        self._any_objective = False
        self.pov = np.zeros(0, np.uint8)
        self._make_pictures()

    # -- pictures

    def _make_pictures(self) -> None:
        display, size = self.display, self.setup.config.pov_size
        self._draw: Callable[[Indices, int, int], Any] | None = None
        if not display.pov:
            return
        from iglu_marl.rendering.painter import Painter
        from iglu_marl.rendering.renderer import picture_shape

        if not self.pov.size:
            self.pov = np.zeros((self.count, *picture_shape(size, display.layout)), np.uint8)
        renderer = self.setup.episode.renderer
        if isinstance(renderer, Painter):
            grids = self.shown.scene.reshape(self.count, *ZONE_SHAPE)
            self._draw = renderer.bind(grids, self.shown.eye, size, display.layout, self.pov)
        elif display.layout == "index":
            raise RenderError(
                f"pov_layout 'index' needs the painter, and the renderer is a {type(renderer).__name__}"
            )

    def refresh(self) -> None:
        """Bring what is computed of whole worlds up to date: sights, and the pictures whose view changed."""
        display = self.display
        if display.aim or display.egocentric or display.target_egocentric:
            self.crew.run(see_many, (self.worlds.state, self.sights), self.count, STEPS_PER_THREAD)
        if not display.pov:
            return
        stale = np.flatnonzero(self.shown.stale)
        if not len(stale):
            return
        if self._draw is not None:
            self.crew.run(self._draw, (stale,), len(stale), PICTURES_PER_THREAD)
        else:
            frames = self.setup.episode.renderer.render(
                self.worlds, stale.tolist(), self.setup.config.pov_size
            )
            self.pov[stale] = frames if self.display.layout == "hwc" else frames.transpose(0, 3, 1, 2)
        self.shown.stale[:] = False

    # -- episodes

    def forget_tasks(self) -> None:
        """Prepare all tasks anew: they are played differently from now on."""
        self._source = None

    def reset(self, seed: Any, options: Mapping[str, Any] | None, pose: Pose | None = None) -> Indices:
        """Begin an episode in every world, or in those of `options["reset_mask"]`; returns which.

        options: `task` (a `Task`, or one for each world), `pose` (five numbers, or five for each world), `reset_mask`
        (bool [n]). `pose`: where these and all later episodes begin for which the options name no other.
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
        numbers = self.sampling.draw(chosen) if tasks is None else self.sampling.given(tasks)[chosen]
        self._pose = pose
        self._begin(chosen, numbers, poses)
        self.show(chosen)
        if mask is None:
            self.begun = True
        return chosen

    def _use_source(self) -> None:
        """Draw from the setup's tasks, which may be others than before."""
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
        """Tasks and poses of all worlds, where they are given."""
        task, pose = options.get("task"), options.get("pose")
        tasks = None
        if task is not None:
            tasks = list(task) if isinstance(task, (list, tuple, np.ndarray)) else [task] * self.count
            if len(tasks) != self.count:
                raise ConfigError(
                    f"there are {len(tasks)} tasks, expected one, or one for each of {self.count} worlds"
                )
            tasks = [as_task(one) for one in tasks]
        if pose is None:
            return tasks, None
        if np.ndim(pose) == 2 and len(pose) == self.count:
            return tasks, np.array([self.setup.read_pose(one) for one in pose], np.float64)
        return tasks, np.broadcast_to(np.array(self.setup.read_pose(pose), np.float64), (self.count, 5))

    def again(self, chosen: Indices) -> None:
        """Begin the next episodes of worlds whose last one is over."""
        self._begin(chosen, self.sampling.draw(chosen))
        self.show(chosen)

    def _begin(self, chosen: Indices, numbers: Indices, poses: Array | None = None) -> None:
        prepared = self.prepared
        words = self.worlds.state.view(np.uint64).reshape(self.count, -1)
        begin_many(words, prepared.words, chosen, numbers, 0, len(chosen))
        self.tasks[chosen] = prepared.tasks[numbers]
        self._goes_on[chosen] = prepared.goes_on[numbers]
        self._objectives[chosen] = prepared.objectives[numbers]
        self._any_objective |= prepared.any_objective
        self.over[chosen] = False
        if poses is None and self._pose is not None:
            poses = np.broadcast_to(np.array(self._pose, np.float64), (self.count, 5))
        if poses is not None:
            self.worlds.pose[chosen] = poses[chosen]
            for world in chosen.tolist():
                sense_at(self.worlds.state, world)
        self.dialogues[chosen] = prepared.dialogues[numbers]
        self.dialogs[chosen] = prepared.seen[numbers]

    def begin_next(self, mode: AutoresetMode) -> Indices:
        """Before a step: begin the next episodes of worlds that are over; those are to be idle in this step."""
        self.idle[:] = False
        fresh = np.flatnonzero(self.over)
        if not len(fresh):
            return fresh
        if mode is AutoresetMode.DISABLED:
            raise StateError(
                f"the episode of world {fresh[0]} is over: call reset(options={{'reset_mask': …}}) first"
            )
        self.again(fresh)
        self.idle[fresh] = True
        return fresh

    def show(self, chosen: Indices) -> None:
        """Show all of the chosen worlds."""
        show_many(self.worlds.state, chosen, np.zeros(self.count, np.bool_), self.shown, 0, len(chosen))

    def advance(self, kernel: Kernel, arguments: tuple[Any, ...]) -> bool:
        """Run a step's kernel over all worlds; returns whether an episode is over now."""
        inputs = (self.worlds.state, *arguments, self.shown)
        ended = self.crew.run(kernel, inputs, self.count, STEPS_PER_THREAD)
        if self._any_objective:
            ended += self._score_objectives()
        if not ended:
            self.over[:] = False
            return False
        shown = self.shown
        for world in np.flatnonzero(shown.terminated & self._goes_on).tolist():
            self._go_on(world)
        np.logical_or(shown.terminated, shown.truncated, out=self.over)
        return bool(self.over.any())

    def lend(self, world: int) -> Any:
        """The one episode of the setup, as that of a world. It shares no memory with the world."""
        episode = self.setup.episode
        episode.worlds.state[0] = self.worlds.state[world]
        episode.task, episode.recorded = self.tasks[world], self.recorded
        episode.objective = self._objectives[world]
        episode.dialogue = self.dialogue(world)
        return episode

    def _score_objectives(self) -> int:
        """Rewards and ends of worlds whose tasks have objectives of their own; returns how many are reached."""
        groups: dict[Any, list[int]] = {}
        for world in np.flatnonzero(~self.idle).tolist():
            objective = self._objectives[world]
            if objective is not None:
                together = hasattr(objective, "score_each")
                groups.setdefault(type(objective) if together else id(objective), []).append(world)
        reached = 0
        for kind, group in groups.items():
            if isinstance(kind, type):
                rewards, done = kind.score_each(self._objectives[group], self.worlds, group)  # type: ignore[attr-defined]
            else:
                rewards, done = self._objectives[group[0]].score(self.worlds, group)
            self.worlds.reward[group] = rewards - self.setup.episode.terms.step_cost
            self.worlds.terminated[group] = done
            reached += int(np.count_nonzero(done))
            self.shown.reward[group], self.shown.terminated[group] = self.worlds.reward[group], done
        return reached

    def render(self, environment: Any) -> tuple[Any, ...] | None:
        """What `environment`, whose setup this is, renders of each world, one after the other."""
        if environment.render_mode is None:
            environment.render()  # warns
            return None
        if not self.begun:
            raise StateError("there is nothing to render yet: call reset() first")
        frames = []
        for world in range(self.count):
            self.lend(world)
            frames.append(environment.render())
        return None if environment.render_mode == "human" else tuple(frames)

    def dialogue(self, world: int) -> Dialogue:
        """What was said in a world, as far as it is observed still."""
        if isinstance(self.chat, TokenChat) and not self.recorded:
            return self.chat.dialogue_of(self.dialogs[world])
        dialogue: Dialogue = self.dialogues[world]
        return dialogue

    def _go_on(self, world: int) -> None:
        """A turn of a progressive task is reached: the next one follows, as `Episode.go_on` decides."""
        episode = self.lend(world)
        episode.go_on()
        self.worlds.state[world] = episode.worlds.state[0]
        task = episode.task
        assert task is not None
        self.tasks[world] = task
        self._goes_on[world], self._objectives[world] = task.next_task is not None, task.objective
        self._any_objective |= task.objective is not None
        if self.recorded:
            self.dialogues[world] = episode.dialogue
            self.dialogs[world] = self.chat.show(episode.dialogue, episode.written)
        self.show(np.array([world]))

    # -- saving

    def get_state(self) -> BatchState:
        """Everything needed to go on from here."""
        return BatchState(
            self.worlds.get_state(),
            self.tasks.copy(),
            self.dialogues.copy(),
            self.dialogs.copy(),
            self.over.copy(),
            self.sampling.get_state(),
            self.setup.sources.get_state(),
        )

    def check_state(self, state: Any) -> None:
        """Raises `StateError` unless `set_state` can take this."""
        if not isinstance(state, BatchState):
            raise StateError(f"state is a {type(state).__name__}, expected what get_state of a batch returns")
        for name, kind in (("tasks", Task), ("dialogues", Dialogue)):
            values = check_like(getattr(state, name), getattr(self, name), name)
            wrong = [value for value in values if not (value is None or isinstance(value, kind))]
            if wrong:
                raise StateError(f"the state's {name} hold {wrong[0]!r:.80}, expected a {kind.__name__}")
        tokens = (0, self.chat.codec.size + 1) if isinstance(self.chat, TokenChat) else None
        check_like(state.dialogs, self.dialogs, "dialogs", tokens)
        check_like(state.over, self.over, "over")
        self.sampling.check_state(state.sampling)
        self.setup.sources.check_state(state.sources)

    def set_state(self, state: BatchState) -> None:
        """Put back what `get_state` gave. Raises `StateError` when it does not fit; nothing is changed then."""
        if self._source is None:
            self._use_source()
        self.check_state(state)
        self.worlds.set_state(state.worlds)
        self.tasks[:], self.dialogues[:] = state.tasks, state.dialogues
        self.dialogs[:], self.over[:] = state.dialogs, state.over
        self._goes_on[:] = [task is not None and task.next_task is not None for task in self.tasks]
        self._objectives[:] = [None if task is None else task.objective for task in self.tasks]
        self._any_objective = any(objective is not None for objective in self._objectives)
        self.sampling.set_state(state.sampling)
        self.setup.sources.set_state(state.sources)
        self.begun = all(task is not None for task in self.tasks)
        self.show(self.everyone)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_draw": None}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._make_pictures()

    def close(self) -> None:
        """Close threads, window and renderer."""
        self.crew.close()
        self.setup.close()
