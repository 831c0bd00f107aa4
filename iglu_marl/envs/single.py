"""Gymnasium environments of a builder with a recorded dialogue or a live architect.

The ids and keyword arguments are those of IGLU 2022 (`IGLUGridworld-v0`) and IGLU 2021 (`IGLUSilentBuilder-v0`), in
Gymnasium's five-value form.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
from typing_extensions import Unpack

from iglu_marl.core.arguments import check_flags
from iglu_marl.core.controls import Controls, ControlsName
from iglu_marl.core.conventions import OWN
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError, StateError, TaskError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.records import ARCHITECT, CONTROL
from iglu_marl.core.task import Task, as_task
from iglu_marl.core.task_source import TaskSource
from iglu_marl.core.worlds import Pose
from iglu_marl.envs.base import FRAMES_PER_SECOND, EnvCore, EnvState, draw_view
from iglu_marl.envs.batch import Batch
from iglu_marl.envs.batch_observations import BatchObsSpec
from iglu_marl.envs.documentation import BUILDER as BUILDERS
from iglu_marl.envs.documentation import documented
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.game.agent import Agent, begin
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.effects import Setting
from iglu_marl.game.episode import EVENTS, Episode, Say
from iglu_marl.game.observations import (
    Observer,
    architect_observer,
    gridworld_observer,
    silent_builder_observer,
    target_info,
)
from iglu_marl.game.profiles import GRIDWORLD, SILENT_BUILDER, compat_of, read_options
from iglu_marl.game.seats import GameSeat, check_agent
from iglu_marl.tasks.bundled import BundledTasks
from iglu_marl.tasks.named import as_source

MAX_ARCHITECT_SEED = 2**31 - 1


def _default_render_mode() -> Literal["human"] | None:
    """`IGLU_HEADLESS=0` opens a window, as in the IGLU tools."""
    return "human" if os.environ.get("IGLU_HEADLESS", "1") == "0" else None


def _named(options: Mapping[str, Any], **older: Any) -> dict[str, Any]:
    """Return options with those given (not None) under older names. Raises `ConfigError` where they differ.

    older: name of the field, with the older name and the value.
    """
    named = dict(options)
    for name, (alias, value) in older.items():
        if value is not None:
            if name in named and named[name] != value:
                raise ConfigError(
                    f"{alias} is {value!r:.80} and {name} {named[name]!r:.80}, expected one of them: they are the same"
                )
            named[name] = value
    return named


def _choose(
    setting: Setting,
    config: GameConfig | None,
    options: Mapping[str, Any],
    given: set[str],
    default_controls: ControlsName,
    default_sees: Sequence[str],
    flags: Mapping[str, tuple[bool | None, bool, tuple[str, ...]]],
    is_strict: bool = True,
) -> GameConfig:
    """Return the configuration of a lone builder.

    Args:
        setting: the environment.
        config: a configuration, or None.
        options: fields that replace its own.
        given: those that raise where they have no effect.
        default_controls: the encoding without `config`.
        default_sees: what is observed if `builder_sees` is not given.
        flags: options that add observations, or leave them out of `default_sees`: the given value, the value that adds,
            and the names.
        is_strict: whether a flag raises that leaves out what `builder_sees` names; else it has no effect.

    Raises:
        ConfigError: if an option has no effect, or contradicts another one.

    """
    fields = dict(options)
    if config is None:
        fields.setdefault("controls", default_controls)
    chosen = GameConfig.of(config, fields)
    is_chosen = "builder_sees" in fields or chosen.builder_sees != GameConfig.builder_sees
    sees = chosen.builder_sees if is_chosen else tuple(default_sees)
    for flag, (value, adds, names) in flags.items():
        if value is None:
            continue
        if value == adds:
            sees = tuple(dict.fromkeys((*sees, *names)))
        elif is_chosen and is_strict and any(name in sees for name in names):
            raise ConfigError(
                f"{flag} is {value!r} and builder_sees is {sees!r}, expected one of them: {flag}={value!r} leaves out "
                f"{' and '.join(map(repr, names))}"
            )
        elif not is_chosen:
            sees = tuple(name for name in sees if name not in names)
    fields["builder_sees"] = sees
    if chosen.render_mode is None and (mode := _default_render_mode()) is not None:
        fields["render_mode"] = mode
    return GameConfig.read(setting, config, fields, given)


class SingleAgentEnv(gymnasium.Env[dict[str, Any], Any]):
    """A single-agent environment: the game from the builder's side.

    Without `architect`, the task's recorded dialogue is observed. With one (an `Agent`), the dialogue begins empty, and
    the architect speaks at the start and after each `turn_steps` steps. A progressive task adds its next utterance when
    a turn is completed.
    """

    metadata = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": FRAMES_PER_SECOND}  # noqa: RUF012 (Gymnasium's way)

    def __init__(
        self,
        config: GameConfig,
        controls: Controls,
        make_observer: Callable[[Episode], Observer],
        *,
        architect: Agent | None = None,
        default: Callable[[], TaskSource] = BundledTasks,
    ) -> None:
        if architect is not None:
            check_agent(architect, GameSeat.of(config, "architect_0", single=True))
        self.config = config
        self.render_mode = config.render_mode
        self._setup = EnvCore(config, controls, default)
        if compat_of(controls.conventions) is not None:  # code of that time sets tasks without a change, too
            self._setup.check = as_task
        self._episode = self._setup.episode
        self._controls, self._control = controls, np.zeros(1, CONTROL)
        self._observer = make_observer(self._episode)
        self.observation_space = self._observer.space
        self.action_space = controls.space
        self._architect = architect
        self._architect_observer = architect_observer(config, self._episode.chat, draw_view)
        self._read_target = target_info(controls.conventions)
        self._informs = True
        self.own_rewards: dict[str, float] | None = None  # of the last step, where shaping is paid besides
        self._listening = False  # while the architect acts, within reset or step
        self._given: Any = config.tasks
        self._fixed_pose: Pose | None = None
        self._fixed_start: Task | None = None

    @property
    def episode(self) -> Episode:
        """The game itself: worlds, dialogue, task. For reading."""
        return self._episode

    def hide_infos(self) -> None:
        """Leave infos empty. For benchmarks."""
        self._informs = False

    # -- for vector environments, which play many worlds by one single environment's options

    @property
    def has_architect(self) -> bool:
        """Whether a live architect speaks."""
        return self._architect is not None

    @property
    def setup(self) -> EnvCore:
        """Tasks, controls and renderer."""
        return self._setup

    @property
    def first_pose(self) -> Pose | None:
        """Start pose set by `initialize_world`, or None."""
        return self._fixed_pose

    def make_batch(self, count: int, num_threads: int, **shown: Any) -> Batch:
        """Return a batch of `count` episodes with this environment's conventions. shown: of `BatchObsSpec`."""
        obs_spec = BatchObsSpec(conventions=self._controls.conventions, **shown)
        return Batch(count, self._setup, obs_spec, num_threads=num_threads, recorded=True, adapt=self._adapt)

    # -- tasks

    @property
    def task(self) -> Task | None:
        """The task of this episode; before the first reset, the one set."""
        if self._episode.task is not None:
            return self._episode.task
        return self._setup.tasks if isinstance(self._setup.tasks, Task) else None

    def set_task(self, task: Any) -> None:
        """Play this task from the next reset on; for a session (`Subtasks`), a source or its name, a random one each.

        With `compat="iglu2022"`, grids of a task without `ids` are in 2022 ids.
        """
        self._given = as_source(task, "task") if isinstance(task, (str, TaskSource)) else as_task(task)
        if isinstance(self._given, Task):
            try:
                self._setup.check(self._adapt(self._given))
            except TaskError as error:
                warnings.warn(f"reset() will refuse this: {error}", stacklevel=2)
        self.set_task_generator(self._given)

    def set_task_generator(self, generator: Any) -> None:
        """Sample tasks from a source, function or list; None: as after the last `set_task`, or initially."""
        self._setup.tasks = self._given if generator is None else generator
        self._fixed_start = self._fixed_pose = None

    def update_taskset(self, tasks: Any) -> None:
        """Call `set_task_generator` under its 2021 name."""
        self.set_task_generator(tasks)

    def initialize_world(self, starting_grid: Any, initial_position: Any = None) -> None:
        """Start episodes with these blocks (dense, or (x, y, z, id)) and pose (x, y, z, yaw_deg, pitch_deg).

        Effective from the next reset on, until other tasks are set.
        """
        ids = self._controls.conventions.ids
        checked = Task("", np.zeros(ZONE_SHAPE, dtype=np.int8), starting_grid=starting_grid, ids=ids)
        pose = None if initial_position is None else self._setup.read_pose(initial_position)
        self._fixed_start, self._fixed_pose = checked, pose

    def deinitialize_world(self) -> None:
        """Undo `initialize_world`."""
        self._fixed_start = self._fixed_pose = None

    def _adapt(self, task: Task) -> Task:
        """Return the task in this environment's ids, with the blocks of `initialize_world`."""
        ids = self._controls.conventions.ids
        if task.ids is None and ids != OWN.ids:
            task = task.replace(ids=ids)
        if self._fixed_start is not None:
            task = task.replace(starting_grid=self._fixed_start.in_ids(task.ids or "iglu").start_grid)
        return task

    # -- Gymnasium

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode. options: `task` (a `Task`) and `pose` (five numbers, see `Pose`)."""
        live = self._architect is not None
        self._setup.start(seed, options, from_recording=not live, adapt=self._adapt, pose=self._fixed_pose)
        self._np_random = self._setup.rng  # there is one generator, and Gymnasium's name for it
        if seed is not None:
            self._np_random_seed = seed
        if live:
            assert self._architect is not None
            assert self._setup.rng is not None
            begin(
                self._architect,
                Role.ARCHITECT,
                int(self._setup.rng.integers(MAX_ARCHITECT_SEED)),
                self._episode.task,
            )
        self._architect_speaks()
        if self.render_mode == "human":
            self.render()
        return self._observer.observe(self._episode), self._info()

    def _architect_speaks(self) -> None:
        if self._architect is None:
            self._episode.architect_says("")
            return
        self._listening = True
        try:
            action = self._architect.act(self._architect_observer.observe(self._episode))
        finally:
            self._listening = False
        text, _ = self._episode.chat.read(action, "the utterance of the architect")
        self._episode.advance({"architect_0": Say(text)})

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Run one builder step. Return observation, reward, terminated, truncated, info."""
        episode = self._episode
        worlds = episode.worlds
        if episode.task is None or worlds.terminated[0] or worlds.truncated[0]:
            raise StateError("the episode is over or has not begun: call reset() before step()")
        records, index = self._controls.encode(action, out=self._control)
        reward = episode.builder_acts(records, index)
        if self.config.shaping:
            self.own_rewards = {BUILDER: reward}
            reward += episode.take_shaping()[BUILDER]
        terminated, truncated = bool(worlds.terminated[0]), bool(worlds.truncated[0])
        if worlds.floor[0] == ARCHITECT and not (terminated or truncated):
            self._architect_speaks()
        if self.render_mode == "human":
            self.render()
        return self._observer.observe(episode), reward, terminated, truncated, self._info()

    def edit(self, blocks: Any, *, builder: str = BUILDER) -> None:
        """Change the world of the running game. Score, stock and everything derived follow; nobody is paid.

        The next observation shows it. A target that it completes ends the game with the next step. Recordings have it
        as a move; evaluations refuse the game.

        Args:
            blocks: cells (x, y, z, color id) to set, with 0 for air; or the new world, dense [9, 11, 11]. Color ids are
                those of actions.
            builder: whose stock gives the new blocks and gets the old ones.

        Raises:
            GridError: for wrong blocks.
            AgentError: for an unknown builder.
            StateError: if the game is over or has not begun, or while its architect acts. Nothing has changed then.

        """
        if self._listening:
            raise StateError("the architect edits the world while it acts, expected edits between two steps")
        self._episode.edit(blocks, builder)
        if self.render_mode == "human":
            self.render()

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        if not self._informs:
            return {}
        info = {
            "target_grid": self._read_target(episode),
            "event": EVENTS[episode.worlds.event[0]],
            "instruction": episode.instruction,
        }
        if self.config.shaping:
            info["shaping"] = float(episode.worlds.shaping[0])
        return info

    def render(self) -> Any:
        """Return the composed frame (uint8 [height, width, 3]), a text, or None after showing it in a window."""
        return self._setup.render(self.render_mode)

    def close(self) -> None:
        """Close window, renderer and architect."""
        self._setup.close()
        if self._architect is not None:
            self._architect.close()

    def get_state(self) -> EnvState:
        """Return everything needed to resume from here, except a live architect."""
        return self._setup.get_state()

    def set_state(self, state: EnvState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        self._setup.set_state(state)
        self._np_random = self._setup.rng


class GridworldOptions(GameOptions, total=False):
    """Further keyword arguments of `GridworldEnv`. Those of 2022 need `compat="iglu2022"`."""

    right_placement_scale: float
    wrong_placement_scale: float
    name: Any
    fake: Any


PICTURE_SIGHTS = ("pov", "inventory", "compass", "dialog")
STATE_SIGHTS = ("inventory", "compass", "dialog", "pose", "grid")


@documented(*BUILDERS, controls="walking")
class GridworldEnv(SingleAgentEnv):
    """`IGLUGridworld-v0` (IGLU 2022), and with `default_sees=STATE_SIGHTS` `IGLUGridworldVector-v0`.

    action_space: any of the five encodings (default "walking"); `discretize=False` turns "walking" into keys and a
        camera of ±5°.
    builder_sees: what is observed. default_sees: what is observed if it is not given. render=True adds `pov`,
        vector_state=True agentPos and grid; False leaves them out, and raises if `builder_sees` names them.
    target_in_obs: adds target_grid. target_egocentric: adds the target around the builder, aligned with the build as in
        the score.
    compat="iglu2022": colour ids, walking actions 14 and 15, compass, defaults (without a `config`) and names of
        arguments are those of the 2022 tools (see `iglu_marl.game.profiles`). Conversations are shown as written.
    Further keyword arguments are fields of `GameConfig`. One without effect here raises `ConfigError`.
    """

    def __init__(
        self,
        action_space: ControlsName | None = None,
        *,
        render: bool | None = None,
        vector_state: bool | None = None,
        target_in_obs: bool = False,
        target_egocentric: bool = False,
        discretize: bool = True,
        render_size: tuple[int, int] | None = None,
        compat: Literal["iglu2022"] | None = None,
        architect: Agent | None = None,
        config: GameConfig | None = None,
        default_sees: Sequence[str] = PICTURE_SIGHTS,
        **options: Unpack[GridworldOptions],
    ) -> None:
        named = _named(
            options, controls=("action_space", action_space), pov_size=("render_size", render_size)
        )
        profile, fields, given = read_options(
            compat, named, own=GRIDWORLD, known=("iglu2022",), preset=config is None
        )
        conventions = profile.conventions
        flags = {"render": render, "vector_state": vector_state}
        check_flags(
            target_in_obs=target_in_obs,
            target_egocentric=target_egocentric,
            discretize=discretize,
            **{name: flag for name, flag in flags.items() if flag is not None},
        )
        setting = Setting(
            "single" if architect is None else "instructed",
            f"IGLUGridworld{'-v0' if 'pov' in default_sees else 'Vector-v0'}"
            f" with a {'recorded dialogue' if architect is None else 'live architect'}",
            target_in_obs=target_in_obs,
            besides=("target_egocentric",) * target_egocentric,
            aliases={} if render_size is None else {"pov_size": "render_size"},
        )
        sights = {"render": (render, True, ("pov",)), "vector_state": (vector_state, True, ("pose", "grid"))}
        config = _choose(
            setting, config, fields, given, "walking", default_sees, sights, is_strict=compat is None
        )
        camera_limit = None
        if not discretize:
            if config.controls == "walking":
                config, camera_limit = dataclasses.replace(config, controls="human-level"), 5.0
            elif compat is None:
                raise ConfigError(
                    f"discretize is False and controls {config.controls!r}, expected 'walking': it has no effect on "
                    "other encodings"
                )
        controls = Controls(
            config.controls,
            select_and_place=config.select_and_place,
            camera_limit=camera_limit,
            conventions=conventions,
        )

        def observer(episode: Episode) -> Observer:
            return gridworld_observer(
                episode.config,
                episode.chat,
                conventions,
                target_in_obs=target_in_obs,
                target_egocentric=target_egocentric,
            )

        super().__init__(config, controls, observer, architect=architect)


@documented(*BUILDERS, controls="human-level")
class SilentBuilderEnv(SingleAgentEnv):
    """`IGLUSilentBuilder-v0` and, with `default_sees=PICTURE_SIGHTS`, `IGLUSilentBuilderVisual-v0` (IGLU 2021).

    action_space: any of the five encodings (default "human-level"). In grids, air is -1 and colours are 0..5, also in
        `info["target_grid"]`. Default tasks: C8 of the Minecraft Dialogue Corpus if available, else the bundled tasks.
    compat="iglu2021": camera changes are (pitch, yaw), as in MineRL, with pitch down positive, also in `agentPos`. Its
        height is that of the feet above the floor. Conversations are shown as written. Bundled tasks are sessions.
    builder_sees: what is observed; "dialog" has the key `chat`. default_sees: what is observed if it is not given.
        visual=False adds agentPos and grid; True leaves them out, and raises if `builder_sees` names them.
    Further keyword arguments are fields of `GameConfig`. One without effect here raises `ConfigError`.
    """

    def __init__(
        self,
        action_space: ControlsName | None = None,
        *,
        visual: bool | None = None,
        compat: Literal["iglu2021"] | None = None,
        architect: Agent | None = None,
        config: GameConfig | None = None,
        default_sees: Sequence[str] = ("pov", *STATE_SIGHTS),
        **options: Unpack[GameOptions],
    ) -> None:
        named = _named(options, controls=("action_space", action_space))
        profile, fields, given = read_options(
            compat, named, own=SILENT_BUILDER, known=("iglu2021",), preset=config is None
        )
        conventions = profile.conventions
        if visual is not None:
            check_flags(visual=visual)
        setting = Setting(
            "single" if architect is None else "instructed",
            f"IGLUSilentBuilder{'-v0' if 'grid' in default_sees else 'Visual-v0'}"
            f" with a {'recorded dialogue' if architect is None else 'live architect'}",
        )
        sights = {"visual": (visual, False, ("pose", "grid"))}
        config = _choose(setting, config, fields, given, "human-level", default_sees, sights)
        controls = Controls(
            config.controls, select_and_place=config.select_and_place, conventions=conventions
        )

        def observer(episode: Episode) -> Observer:
            return silent_builder_observer(episode.config, episode.chat, conventions)

        super().__init__(config, controls, observer, architect=architect, default=profile.tasks)
