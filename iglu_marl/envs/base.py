"""Common parts of all environments: tasks, seeding, pictures, and saved states."""

from __future__ import annotations

import copy
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.utils import seeding

from iglu_marl.core.controls import Controls
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.pose import Pose, as_pose, as_start, poses_of
from iglu_marl.core.schedule import TrainingClock
from iglu_marl.core.task import Task, as_task
from iglu_marl.game.chat import make_chat
from iglu_marl.game.config import GameConfig, Renderer
from iglu_marl.game.episode import Episode, EpisodeState
from iglu_marl.game.team import TeamEpisode
from iglu_marl.tasks import TaskSource, sample_task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import open_task

FRAMES_PER_SECOND = 20  # one builder step is 0.05 s


def make_renderer(config: GameConfig) -> Renderer:
    """Return the renderer of a configuration. Raises `RenderError` if OpenGL is missing."""
    if not isinstance(config.renderer, str):
        return config.renderer
    from iglu_marl.rendering import Painter
    from iglu_marl.rendering.opengl import renderer

    if config.renderer == "opengl":
        return renderer.OpenGLRenderer()
    if config.renderer == "auto" and math.prod(config.pov_size) >= renderer.LARGE and renderer.gpu_present():
        return renderer.AutoRenderer()
    return Painter()


def make_codec(config: GameConfig) -> Codec | None:
    """Return the vocabulary of token chat; None for text chat."""
    if config.chat != "tokens":
        return None
    from iglu_marl.language import make_codec as codec_for

    return codec_for(config.vocabulary)


def draw_view(grid: npt.NDArray[np.int8], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """Return an orbit view of a structure, uint8 [height, width, 3]."""
    from iglu_marl.rendering import orbit_view

    return orbit_view(grid, size=size)


class EnvState(NamedTuple):
    """A saved environment: episode, random generator, other state, and training clock."""

    episode: EpisodeState
    rng: Mapping[str, Any]
    view: Any
    clock: Any = None


class EnvCore:
    """The core of an environment: an episode with its tasks, generator, renderer and window.

    `default` returns the default source of tasks. `teams`: whether the environment supports them.
    """

    def __init__(
        self, config: GameConfig, controls: Controls, default: Callable[[], TaskSource], teams: bool = False
    ) -> None:
        if not teams:
            config.check_pair("this environment")
        self.config = config
        self.controls = controls
        self._default = default
        self._tasks: Any = None
        if config.tasks is not None:
            self.tasks = config.tasks
        self.rng: np.random.Generator | None = None
        self.clock = TrainingClock(1)
        self.check: Callable[[Task], Task] = open_task  # of single tasks
        chat = make_chat(config, make_codec(config), controls.conventions.verbatim)
        kind = TeamEpisode if config.is_team else Episode
        self.episode = kind(config, controls, chat, make_renderer(config))
        self._window: Any = None

    # -- tasks

    @property
    def tasks(self) -> Any:
        """The source of tasks; the default source is loaded on demand."""
        if self._tasks is None:
            self._tasks = self._default()
        return self._tasks

    @tasks.setter
    def tasks(self, source: Any) -> None:
        self._tasks = None if source is None else as_source(source)

    def seed(self, seed: int | None) -> None:
        """Seed the generator; without a seed, once from the system.

        Raises `ConfigError` unless the seed is None or an integer of 0 or more.
        """
        if seed is not None:
            try:
                number = operator.index(seed)
            except TypeError:
                number = -1
            if number < 0:
                raise ConfigError(f"seed is {seed!r}, expected None or an integer of 0 or more")
            seed = number
        if seed is not None or self.rng is None:
            self.rng, _ = seeding.np_random(seed)

    def start(
        self,
        seed: int | None,
        options: Mapping[str, Any] | None,
        *,
        from_recording: bool = False,
        adapt: Callable[[Task], Task] = as_task,
        pose: Pose | None = None,
    ) -> None:
        """Start an episode with `options["task"]`, or a sampled task.

        Args:
            seed: of the generator.
            options: `task` and `pose`.
            from_recording: whether the dialogue is the task's; else it begins empty.
            adapt: changes the task.
            pose: default of `options["pose"]`; then the task's.

        """
        task, poses = self._read_options(options)
        self.seed(seed)
        assert self.rng is not None
        task = sample_task(self.tasks if task is None else task, self.rng, adapt, self.check)
        if poses is None and (start := pose or task.pose) is not None:
            poses = self.read_start(start)
        schedules = self.config.schedules
        if schedules:
            self.clock.close(0, int(self.episode.worlds.steps[0]))
        scales = {name: float(self.clock.value(schedule, 0)) for name, schedule in schedules.items()}
        self.episode.begin(task, poses, from_recording, scales)

    def _read_options(self, options: Mapping[str, Any] | None) -> tuple[Task | None, list[Pose] | None]:
        if options is None:
            return None, None
        if not isinstance(options, Mapping):
            raise ConfigError(f"options is {options!r:.80}, expected a dict with the keys 'task' and 'pose'")
        for name in options:
            if name not in ("task", "pose"):
                warnings.warn(f"unknown reset option {name!r}, expected 'task' or 'pose'", stacklevel=4)
        task, start = options.get("task"), options.get("pose")
        return None if task is None else as_task(task), None if start is None else self.read_start(start)

    def read_pose(self, value: Any) -> Pose:
        """Return a valid start pose. Raises `PoseError` for others."""
        return as_pose(value, self.controls.lowest_start)

    def read_start(self, value: Any) -> list[Pose]:
        """Return the valid start poses of all builders of a game, see `as_start`. Raises `PoseError` for others."""
        builders = self.config.builders
        return poses_of(as_start(value, self.controls.lowest_start, builders), builders)

    # -- pictures

    def render(self, mode: str | None) -> Any:
        """Return an RGB array, a text, or None after showing the window."""
        if mode is None:
            warnings.warn("render() was called, but no render_mode was chosen at construction", stacklevel=3)
            return None
        if self.episode.task is None:
            raise StateError("there is nothing to render yet: call reset() first")
        from iglu_marl.envs.rendering import RenderWindow, scene_frame, scene_text

        if mode == "ansi":
            return scene_text(self.episode)
        if mode == "rgb_array":
            return scene_frame(self.episode)
        if self._window is None:
            self._window = RenderWindow()
        self._window.show(self.episode)
        return None

    def close(self) -> None:
        """Close window and renderer."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self.episode.renderer.close()

    # -- saving

    def get_state(self, view: Any = None) -> EnvState:
        """Return everything needed to resume from here, also for later resets without a seed."""
        rng: Mapping[str, Any] = {} if self.rng is None else copy.deepcopy(self.rng.bit_generator.state)
        return EnvState(self.episode.get_state(), rng, view, self.clock.get_state())

    def set_state(self, state: EnvState, view: type[Any] | None = None) -> Any:
        """Restore a state from `get_state`. Return the environment's part, of type `view`.

        Raises `StateError`, and changes nothing, if it does not fit.
        """
        if not isinstance(state, EnvState) or not isinstance(state.view, view or type(None)):
            kind = type(state.view if isinstance(state, EnvState) else state).__name__
            raise StateError(
                f"state is a {kind}, expected what get_state of the same kind of environment returns"
            )
        if state.view is not None and not set(state.view.agents) <= set(self.episode.agents):
            raise StateError(
                f"the state's agents are {state.view.agents}, expected some of {self.episode.agents}"
            )
        self.clock.check_state(state.clock)
        self.episode.set_state(state.episode)
        self.clock.set_state(state.clock)
        if not state.rng:
            self.rng = None
        else:
            self.rng = np.random.default_rng(0) if self.rng is None else self.rng
            self.rng.bit_generator.state = state.rng  # task sources may hold this very generator
        return state.view

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}  # a window stays with its process
