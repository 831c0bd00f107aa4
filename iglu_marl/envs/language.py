"""Environments with goals in words, after CLEVR-Robot: descriptions with programs, goal-conditioned rewards.

`gymnasium.make("iglu_marl/LanguageGoal-v0")` is a single builder in a world with a few objects.
`LanguageGoal` wraps any single-agent environment of this package.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from typing_extensions import Unpack

from iglu_marl.core.arguments import check_flags, check_option
from iglu_marl.core.errors import ConfigError, LanguageError, StateError
from iglu_marl.core.grid import MAX_CORNER, MIN_CORNER, ZONE_SHAPE, BlockGrid, cells_of
from iglu_marl.core.task import Task
from iglu_marl.envs.base import EnvCore, EnvState
from iglu_marl.envs.documentation import documented
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.envs.two_agent import BUILDER
from iglu_marl.game.chat import ChatText
from iglu_marl.game.config import GameConfig, GameOptions
from iglu_marl.game.effects import NO_TARGET, Setting
from iglu_marl.game.episode import Episode
from iglu_marl.game.observations import (
    Observer,
    ObsField,
    agent_pos_sight,
    compass_sight,
    grid_sight,
    inventory_sight,
    pov_sight,
)
from iglu_marl.language import TemplateCodec
from iglu_marl.language.generator import Generator
from iglu_marl.language.goals import (
    Goal,
    GoalObjective,
    GoalSpace,
    GoalTask,
    program_of,
    statement_goals,
)
from iglu_marl.language.scene.graph import Scene
from iglu_marl.language.scene.interpreter import Value, answer
from iglu_marl.language.scene.program import Program
from iglu_marl.language.scene.random_scenes import Piece, arrange, draw_pieces
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import draw_task

ObsType = Literal["direct", "order_invariant", "image"]
GoalForm = Literal["text", "tokens", "multi-hot"]
OBS_TYPES: tuple[ObsType, ...] = get_args(ObsType)
GOAL_CHARACTERS, GOAL_TOKENS = 400, 32
MOST_OBJECTS = 20
OBJECTS_IF_FIXED = 5  # as on the table of CLEVR-Robot
MAX_BLOCKS = 240  # rows of `blocks`; 120 can be placed on top of what is there at the start
_MIDDLE = (5, 5)  # the column where the builder stands
_MAX_SEED = 2**31 - 1


class LanguageState(NamedTuple):
    """A saved `LanguageGoal`: the inner environment, content of scenes, and descriptions."""

    inner: EnvState
    pieces: tuple[Piece, ...]
    seed: int
    achieved: tuple[Goal, ...] | None


def _blocks(episode: Episode) -> npt.NDArray[np.int8]:
    """Return x, y, z, colour id of every block, int8 [240, 4], padded with zeros."""
    grid = episode.worlds.grid[0]
    cells = cells_of(grid)
    if len(cells) > MAX_BLOCKS:
        raise StateError(
            f"the world holds {len(cells)} blocks, expected {MAX_BLOCKS} at most to observe them as a set"
        )
    rows = np.zeros((MAX_BLOCKS, 4), np.int8)
    rows[: len(cells), :3] = cells
    rows[: len(cells), 3] = grid[grid != 0]
    return rows


def blocks_sight() -> ObsField:
    """`blocks`: int8 [240, 4], a row x, y, z, colour per block, padded with zeros."""
    low, high = np.array([*MIN_CORNER, 0], np.int8), np.array([*MAX_CORNER, 6], np.int8)
    shape = (MAX_BLOCKS, 4)
    space = spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, np.int8)
    return ObsField("blocks", space, _blocks)


def goal_observer(config: GameConfig, obs_type: ObsType) -> Observer:
    """Return the builder's observer, without the goal."""
    seen = {
        "direct": [grid_sight("grid"), agent_pos_sight()],
        "order_invariant": [blocks_sight(), agent_pos_sight()],
        "image": [pov_sight(config.pov_size)],
    }
    return Observer([*seen[obs_type], inventory_sight(), compass_sight()])


def goal_spaces(form: GoalForm | None, codec: TemplateCodec, goals: int) -> dict[str, spaces.Space[Any]]:
    """Return the spaces of the goal's observations by key. goals: number of goals."""
    if form == "text":
        return {"goal": ChatText(GOAL_CHARACTERS)}
    if form == "tokens":
        return {"goal": spaces.Box(0, codec.size - 1, (GOAL_TOKENS,), np.int32)}
    if form == "multi-hot":
        return {key: spaces.MultiBinary(goals) for key in ("achieved_goal", "desired_goal")}
    return {}


def _check_rewards(config: GameConfig) -> None:
    """Raise `ConfigError` for options of the reward of a target, which a goal replaces."""
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if item.metadata["without"].get("goal") == NO_TARGET["goal"] and value != item.default:
            raise ConfigError(
                f"{item.name} is {value!r:.80}, expected its default in LanguageGoal: it has no effect there; "
                f"use {NO_TARGET['goal']}"
            )


class LanguageGoal(gymnasium.Env[Any, Any]):
    """Descriptions, goals in words, and rewards for reaching them, on a single-agent environment of this package.

    goals: the `GoalSpace` of sampled and achieved goals (default: `statement_goals()`).
    systematic_generalization: whether to use only the training goals of the split "color-shape"; `held_out_goals` has
        the others.
    terminate_on_success: whether an episode ends when its goal holds. If not, each step after which it holds pays.
    scenes: source of worlds. None: a few blocks, rows, towers and squares; each reset places the same ones again, and
        `new_scene_content=True` or a seed samples others. "empty": nothing. A task source, task, list or function: the
        starting blocks of its tasks.
    num_object: number of objects without `scenes`, 1 to 20 (default: 3 to 6, at random). Objects that touch may be one
        object of the scene graph.
    variable_scene_content: False: the same objects everywhere, 5 by default; only their positions are random.
    description_num, describe: number and kinds of descriptions: "statement", "question" or both.
    goal_in_obs: "text" (default) or "tokens" adds the key `goal`. "multi-hot" adds the keys of a GoalEnv:
        `achieved_goal`, which goals of `goals` hold now, and `desired_goal`. None adds nothing.

    An episode ends when its goal holds, and is truncated by `max_steps`. `unwrapped` is this environment itself.
    """

    def __init__(
        self,
        env: SingleAgentEnv,
        *,
        goals: GoalSpace | None = None,
        systematic_generalization: bool = False,
        terminate_on_success: bool = True,
        scenes: Any = None,
        num_object: int | None = None,
        variable_scene_content: bool = True,
        description_num: int = 16,
        describe: tuple[str, ...] | str = ("statement",),
        goal_in_obs: GoalForm | None = "text",
    ) -> None:
        if not isinstance(env.unwrapped, SingleAgentEnv):
            raise ConfigError(f"env is {env!r:.80}, expected a single-agent environment of iglu_marl")
        if goal_in_obs is not None:
            check_option("goal_in_obs", goal_in_obs, get_args(GoalForm), " or None")
        check_flags(
            systematic_generalization=systematic_generalization,
            terminate_on_success=terminate_on_success,
            variable_scene_content=variable_scene_content,
        )
        if isinstance(description_num, bool) or not isinstance(description_num, int) or description_num < 0:
            raise ConfigError(f"description_num is {description_num!r}, expected an integer of 0 or more")
        if not (scenes is None or (isinstance(scenes, str) and scenes == "empty")):
            scenes = as_source(scenes, "scenes")
        if not isinstance(goals, GoalSpace | None):
            raise ConfigError(f"goals is {goals!r:.80}, expected a GoalSpace")
        if scenes is not None and (num_object is not None or not variable_scene_content):
            raise ConfigError(
                "num_object and variable_scene_content define the worlds, and so does scenes; expected one"
            )
        if num_object is not None and (
            isinstance(num_object, bool)
            or not isinstance(num_object, int)
            or not 1 <= num_object <= MOST_OBJECTS
        ):
            raise ConfigError(
                f"num_object is {num_object!r}, expected None or an integer in 1..{MOST_OBJECTS}"
            )
        _check_rewards(env.unwrapped.config)
        self.env = env
        self._base: SingleAgentEnv = env.unwrapped
        self.metadata, self.render_mode, self.action_space = env.metadata, env.render_mode, env.action_space
        self.goals = statement_goals() if goals is None else goals
        self.held_out_goals: GoalSpace | None = None
        if systematic_generalization:
            self.goals, self.held_out_goals = self.goals.split("color-shape")
        self.terminate_on_success = terminate_on_success
        self.num_object = num_object if variable_scene_content else num_object or OBJECTS_IF_FIXED
        self.variable_scene_content = variable_scene_content
        self.description_num = description_num
        Generator(kinds=describe)  # raises for wrong kinds
        self._describe = describe
        self._scenes = scenes
        self._pieces: tuple[Piece, ...] = ()
        self._new_content = True
        self._seed = 0
        self._described: tuple[Any, list[dict[str, Any]]] | None = None
        self._held: tuple[Any, npt.NDArray[np.bool_]] | None = None
        self._achieved: tuple[Goal, ...] | None = None
        self._goal_in_obs = goal_in_obs
        self._codec = TemplateCodec()
        self._actions = copy.deepcopy(self.action_space)
        self._set_observation_space()
        self._base.set_task_generator(self._next_task)

    def _set_observation_space(self) -> None:
        self.observation_space = inner = self.env.observation_space
        if self._goal_in_obs is None:
            return
        if not isinstance(inner, spaces.Dict):
            raise ConfigError(
                f"observations are {inner!r:.80}, expected a Dict to add the goal to; or goal_in_obs=None"
            )
        more = goal_spaces(self._goal_in_obs, self._codec, len(self.goals))
        self.observation_space = spaces.Dict({**inner.spaces, **more})

    # -- worlds and goals

    @property
    def episode(self) -> Episode:
        """The game itself: worlds, dialogue, task. For reading."""
        return self._base.episode

    @property
    def config(self) -> GameConfig:
        """The options of the game."""
        return self._base.config

    @property
    def setup(self) -> EnvCore:
        """Controls and renderer."""
        return self._base.setup

    @property
    def task(self) -> Task | None:
        """The task of this episode, a `GoalTask`."""
        return self.episode.task

    @property
    def scene(self) -> Scene:
        """The scene graph of the current world, from the builder's pose."""
        return Scene(self._grid().copy(), self._yaw_deg())

    @property
    def goal(self) -> Goal:
        """The goal of this episode. Raises `StateError` before the first reset."""
        return self._task().goal

    def _task(self) -> GoalTask:
        task = self.episode.task
        if not isinstance(task, GoalTask):
            raise StateError("there is no goal yet: call reset() first")
        return task

    def _grid(self) -> BlockGrid:
        self._task()
        grid: BlockGrid = self.episode.worlds.grid[0]
        return grid

    def _yaw_deg(self) -> float:
        return float(self.episode.worlds.pose[0, 3])

    def _next_task(self, rng: np.random.Generator) -> GoalTask:
        self._seed = int(rng.integers(_MAX_SEED))
        grid = self._starting_grid(rng)
        return self._make_task(self.goals.sample(rng, grid), grid)

    def _make_task(self, goal: Goal, grid: BlockGrid) -> GoalTask:
        return GoalTask(goal, grid, terminate_on_success=self.terminate_on_success)

    def _starting_grid(self, rng: np.random.Generator) -> BlockGrid:
        if self._scenes is None:
            if not self.variable_scene_content:
                self._pieces = self._draw_pieces(np.random.default_rng(0))
            elif self._new_content or not self._pieces:
                self._pieces = self._draw_pieces(rng)
            return self._put_down(rng)
        if isinstance(self._scenes, str):
            return np.zeros(ZONE_SHAPE, np.int8)
        return np.array(draw_task(self._scenes, rng).in_ids("iglu").start_grid)

    def _draw_pieces(self, rng: np.random.Generator) -> tuple[Piece, ...]:
        if self.num_object is None:
            return draw_pieces(rng, int(rng.integers(3, 7)))
        while len(pieces := draw_pieces(rng, self.num_object)) < self.num_object:  # a colour was used up
            pass
        return pieces

    def _put_down(self, rng: np.random.Generator) -> BlockGrid:
        grid = arrange(self._pieces, rng, clear=_MIDDLE)
        if self.num_object is not None:
            while np.count_nonzero(grid) < sum(piece.blocks for piece in self._pieces):  # one found no room
                grid = arrange(self._pieces, rng, clear=_MIDDLE)
        return grid

    def sample_goal(self) -> tuple[str, Program]:
        """Return a random goal of `goals` that does not hold now: text and program. It is not set."""
        grid = self._grid()
        goal = self.goals.sample(self._base.np_random, grid, self._yaw_deg())
        return goal.text, goal.program

    def set_goal(self, goal_text: Any, goal_program: Any = None) -> None:
        """Set the goal: `set_goal(text, program)`, or one value for `Goal.of`, such as a statement.

        An episode that ended by its goal continues, unless the new goal holds already.
        """
        goal = Goal.of(goal_text) if goal_program is None else Goal(goal_text, program_of(goal_program))
        if self._goal_in_obs == "multi-hot":
            self.goals.multi_hot(goal)  # raises for a goal that cannot be shown
        task, episode = self._task().replace(goal=goal), self.episode
        episode.task, episode.objective = task, task.objective
        _, episode.worlds.terminated[:] = task.objective.score(episode.worlds, (0,))

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any = None) -> Any:
        """Return the reward of `step` for achieved and desired goals, as in a GoalEnv.

        Args:
            achieved_goal: multi-hot over `goals`, [goals] or [n, goals], as in observations.
            desired_goal: the same.
            info: not used.

        Returns:
            float, or float64 [n]: 1.0 if all desired goals (one at least) are achieved, else 0.0, less `step_cost`.

        Raises:
            LanguageError: for other shapes.

        """
        # Comparing a text, older versions of NumPy give no array but one truth.
        achieved, desired = (np.asarray(np.asarray(value) != 0) for value in (achieved_goal, desired_goal))
        if achieved.shape != desired.shape or achieved.shape[-1:] != (len(self.goals),):
            raise LanguageError(
                f"achieved_goal is of shape {achieved.shape} and desired_goal of {desired.shape}, "
                f"expected [{len(self.goals)}] or [n, {len(self.goals)}] of both"
            )
        reached = (achieved | ~desired).all(axis=-1) & desired.any(axis=-1)
        rewards = reached - self.config.step_cost
        return rewards if achieved.ndim > 1 else float(rewards)

    def answer_question(self, goal_program: Any) -> Value:
        """Return the answer to a program, goal or question in words about the current world.

        None if "the ..." in it refers to no object or several.
        """
        return answer(program_of(goal_program), self.scene)

    def sample_random_action(self) -> Any:
        """Return a random action, from a generator that `reset(seed=…)` seeds."""
        return self._actions.sample()

    # -- descriptions

    def get_description(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Return descriptions of the current world: texts, and records of `question` (the text), `program`, `answer`.

        About half are true. They depend only on episode, step and world.
        """
        full = self.full_descriptions
        return [record["question"] for record in full], full

    @property
    def descriptions(self) -> list[str]:
        """The texts of `full_descriptions`."""
        return self.get_description()[0]

    @property
    def full_descriptions(self) -> list[dict[str, Any]]:
        """The records of `get_description`, created on demand and cached until the world changes."""
        stamp = self._stamp()
        if self._described is None or self._described[0] != stamp:
            # A generator of its own: reading descriptions does not change what happens next.
            rng = np.random.default_rng([self._seed, int(self.episode.worlds.steps[0])])
            made = Generator(kinds=self._describe).describe(self.scene, rng, self.description_num)
            full = [{"question": r.text, "program": r.program, "answer": r.answer} for r in made]
            self._described = stamp, full
        return [dict(record) for record in self._described[1]]

    def _stamp(self) -> tuple[Any, ...]:
        worlds = self.episode.worlds
        return self._seed, int(worlds.steps[0]), self._yaw_deg(), self._grid().tobytes()

    # -- achieved goals

    def get_achieved_goals(self) -> list[str]:
        """Return the goals that became true by the last step, in words. Needs `step(…, record_achieved_goal=True)`."""
        return [goal.text for goal in self._recorded()]

    def get_achieved_goal_programs(self) -> list[Program]:
        """Return the programs of `get_achieved_goals`, in the same order."""
        return [goal.program for goal in self._recorded()]

    def _recorded(self) -> tuple[Goal, ...]:
        if self._achieved is None:
            raise StateError(
                "achieved goals were not recorded: call step(action, record_achieved_goal=True) first"
            )
        return self._achieved

    def _holding(self) -> npt.NDArray[np.bool_]:
        """Return which goals hold now, bool [goals]; cached while the world stays."""
        stamp = (round(self._yaw_deg() / 90) % 4, self._grid().tobytes())
        if self._held is None or self._held[0] != stamp:
            self._held = stamp, self.goals.holding(self._grid(), self._yaw_deg())
        return self._held[1]

    # -- Gymnasium

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
        new_scene_content: bool = False,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode with a goal that does not hold yet.

        new_scene_content: whether to sample new objects (also as `options["new_scene_content"]`). options: also `goal`
        (see `set_goal`), `task` (its starting blocks are the world) and `pose`.
        """
        if not isinstance(options, Mapping | None):
            raise ConfigError(
                f"options is {options!r:.80}, expected a dict with the keys new_scene_content, goal, task, pose"
            )
        options = dict(options or {})
        new_scene_content = bool(options.pop("new_scene_content", False)) or new_scene_content
        goal = options.pop("goal", None)
        task = options.get("task")
        if isinstance(task, GoalTask):
            options["task"] = task.replace(terminate_on_success=self.terminate_on_success)
        elif task is not None:
            options["task"] = self._goal_task(task, goal)
        self._new_content = new_scene_content or seed is not None
        self._achieved = self._described = self._held = None
        observation, info = self.env.reset(seed=seed, options=options)
        self._np_random, self._np_random_seed = self._base.np_random, self._base.np_random_seed
        self._actions.seed(self._seed)
        if goal is not None:
            self.set_goal(goal)
        return self._with_goal(observation), self._info(info)

    def _goal_task(self, task: Any, goal: Any) -> GoalTask:
        if not isinstance(task, Task):
            raise ConfigError(f"options['task'] is {task!r:.80}, expected a Task")
        grid = task.in_ids("iglu").start_grid
        rng = np.random.default_rng(0)
        return self._make_task(self.goals.sample(rng, grid) if goal is None else Goal.of(goal), grid)

    def step(
        self, action: Any, goal: Any = None, record_achieved_goal: bool = False, update_des: bool = False
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Run one builder step; the reward is 1.0 when the goal holds after it.

        goal: replaces the episode's goal in this step; anything that `answer_question` takes. record_achieved_goal:
        whether to record goals for `get_achieved_goals`. update_des: adds `descriptions` and `full_descriptions` to the
        info.
        """
        before = self._holding() if record_achieved_goal else None
        own = self._task()
        if goal is not None:
            self.episode.objective = GoalObjective(Goal.of(program_of(goal)), self.terminate_on_success)
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        finally:
            self.episode.objective = own.objective
        self._achieved = None
        if before is not None:
            became = np.flatnonzero(~before & self._holding())
            self._achieved = tuple(self.goals[int(number)] for number in became)
        if update_des:
            info["descriptions"], info["full_descriptions"] = self.get_description()
        return self._with_goal(observation), float(reward), terminated, truncated, self._info(info)

    def edit(self, blocks: Any, *, builder: str = BUILDER) -> None:
        """Change the world of the running game, see `SingleAgentEnv.edit`.

        A goal that holds then pays in the next step. Raises `StateError` for more blocks than can be observed.
        """
        episode = self.episode
        before, edits = episode.worlds.get_state(), list(episode.edits)
        self._base.edit(blocks, builder=builder)
        count = int(episode.worlds.blocks[0])
        if count > MAX_BLOCKS and "blocks" in self._base.observation_space.spaces:  # type: ignore[attr-defined]
            episode.worlds.set_state(before)
            episode.edits[:] = edits
            raise StateError(
                f"the edit makes a world of {count} blocks, expected {MAX_BLOCKS} at most to observe them"
            )

    def _with_goal(self, observation: Any) -> Any:
        if self._goal_in_obs is None:
            return observation
        if self._goal_in_obs == "multi-hot":
            achieved, desired = self._holding().astype(np.int8), self.goals.multi_hot(self.goal)
            return {**observation, "achieved_goal": achieved, "desired_goal": desired}
        text = self.goal.text
        shown: Any = text[:GOAL_CHARACTERS]
        if self._goal_in_obs == "tokens":
            tokens = self._codec.encode(text)[:GOAL_TOKENS]
            shown = np.zeros(GOAL_TOKENS, np.int32)
            shown[: len(tokens)] = tokens
        return {**observation, "goal": shown}

    def _info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in info.items() if key != "target_grid"}
        return {**kept, "goal": self.goal.text, "goal_program": str(self.goal.program)}

    def render(self) -> Any:
        """Render the inner environment."""
        return self.env.render()

    def close(self) -> None:
        """Close the inner environment."""
        self.env.close()

    # -- saving

    def get_state(self) -> LanguageState:
        """Return everything needed to resume from here."""
        return LanguageState(self._base.get_state(), self._pieces, self._seed, self._achieved)

    def set_state(self, state: LanguageState) -> None:
        """Restore a state from `get_state`. Raises `StateError`, and changes nothing, if it does not fit."""
        if not isinstance(state, LanguageState):
            raise StateError(
                f"state is a {type(state).__name__}, expected a LanguageState as get_state returns it"
            )
        self._base.set_state(state.inner)
        self._pieces, self._seed, self._achieved = state.pieces, state.seed, state.achieved
        self._described = self._held = None


@documented("goal", max_steps=200)
def make_language_goal(
    obs_type: ObsType = "direct",
    *,
    goals: GoalSpace | None = None,
    systematic_generalization: bool = False,
    terminate_on_success: bool = True,
    scenes: Any = None,
    num_object: int | None = None,
    variable_scene_content: bool = True,
    description_num: int = 16,
    describe: tuple[str, ...] | str = ("statement",),
    goal_in_obs: GoalForm | None = "text",
    **options: Unpack[GameOptions],
) -> LanguageGoal:
    """Make `iglu_marl/LanguageGoal-v0`: a builder that is rewarded for making a statement true.

    obs_type: "direct" (grid and pose), "order_invariant" (the blocks as a set of rows, and pose) or "image" (the
        builder's picture); inventory and compass always.
    The rest is as in `LanguageGoal`, and fields of `GameConfig`.
    """
    check_option("obs_type", obs_type, OBS_TYPES)
    fields = {"max_steps": 200, "controls": "walking", **options}
    config = GameConfig.read(Setting("goal", "LanguageGoal-v0"), None, fields, options)
    env = SingleAgentEnv(
        config, config.make_controls(can_yield=False), lambda episode: goal_observer(episode.config, obs_type)
    )
    return LanguageGoal(
        env,
        goals=goals,
        systematic_generalization=systematic_generalization,
        terminate_on_success=terminate_on_success,
        scenes=scenes,
        num_object=num_object,
        variable_scene_content=variable_scene_content,
        description_num=description_num,
        describe=describe,
        goal_in_obs=goal_in_obs,
    )
