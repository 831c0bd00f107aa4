"""Goals in words, after CLEVR-Robot: descriptions with programs, goal-conditioned rewards, achieved goals.

`gymnasium.make("iglu_marl/LanguageGoal-v0")` is a builder alone in a world with a few things in it;
`LanguageGoal` gives the same to any single-agent environment of this package.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.controls import Controls
from iglu_marl.core.errors import ConfigError, StateError
from iglu_marl.core.grid import MAX_CORNER, MIN_CORNER, ZONE_SHAPE, BlockGrid, cells_of
from iglu_marl.core.task import Task
from iglu_marl.envs.base import EnvState
from iglu_marl.envs.single import SingleAgentEnv
from iglu_marl.game.chat import ChatText
from iglu_marl.game.config import GameConfig
from iglu_marl.game.episode import Episode
from iglu_marl.game.observations import (
    Observer,
    Sight,
    agent_pos_sight,
    compass_sight,
    grid_sight,
    inventory_sight,
    pov_sight,
)
from iglu_marl.language import TemplateCodec
from iglu_marl.language.generator import Generator
from iglu_marl.language.goals import Goal, GoalSpace, GoalTask, program_of, statement_goals
from iglu_marl.language.scene import Scene
from iglu_marl.language.scene.interpreter import Value, answer
from iglu_marl.language.scene.program import Program
from iglu_marl.language.scene.random_scenes import Piece, arrange, draw_pieces
from iglu_marl.tasks import draw, is_source
from iglu_marl.tasks.source import StatefulSources

ObsType = Literal["direct", "order_invariant", "image"]
OBS_TYPES: tuple[ObsType, ...] = ("direct", "order_invariant", "image")
GOAL_FORMS = (None, "text", "tokens")
GOAL_CHARACTERS, GOAL_TOKENS = 400, 32
MAX_BLOCKS = 240  # rows of `blocks`; 120 can be placed on top of what is there at the start
_MIDDLE = (5, 5)  # the column where the builder stands
_MAX_SEED = 2**31 - 1


class LanguageState(NamedTuple):
    """A saved `LanguageGoal`: the environment inside, the content of its scenes, what describes it, and how far the
    source of its scenes is.
    """

    inner: EnvState
    pieces: tuple[Piece, ...]
    seed: int
    achieved: tuple[Goal, ...] | None
    sources: tuple[Any, ...] = ()


def _blocks(episode: Episode) -> npt.NDArray[np.int8]:
    """int8 [240, 4]: x, y, z, colour id of every block; rows of zeros behind them."""
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


def blocks_sight() -> Sight:
    """`blocks`: int8 [240, 4], the blocks as a set of rows x, y, z, colour; colour 0 in rows that hold none."""
    low, high = np.array([*MIN_CORNER, 0], np.int8), np.array([*MAX_CORNER, 6], np.int8)
    shape = (MAX_BLOCKS, 4)
    space = spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, np.int8)
    return Sight("blocks", space, _blocks)


def goal_observer(episode: Episode, obs_type: ObsType) -> Observer:
    """What the builder sees besides the goal."""
    seen = {
        "direct": [grid_sight("grid"), agent_pos_sight()],
        "order_invariant": [blocks_sight(), agent_pos_sight()],
        "image": [pov_sight(episode.config.pov_size)],
    }
    return Observer([*seen[obs_type], inventory_sight(), compass_sight()])


class LanguageGoal(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Descriptions, goals in words, and rewards for reaching them, on a single-agent environment of this package.

    goals: the `GoalSpace` from which goals are drawn and against which achieved ones are recorded (default:
        `statement_goals()`).
    scenes: where worlds come from. None: a few blocks, rows, towers and squares; each reset puts the same ones
        down anew, and `new_scene_content=True` (as well as a seed) draws others. "empty": nothing. A task
        source, task, list or
        function: the starting blocks of its tasks.
    description_num, describe: how many descriptions there are, and of which kinds: "statement", "question" or both.
    goal_in_obs: "text" (default) or "tokens" adds the key `goal` to observations; None does not.

    An episode ends when its goal holds, and is cut off by `max_steps`.
    """

    def __init__(
        self,
        env: SingleAgentEnv,
        *,
        goals: GoalSpace | None = None,
        scenes: Any = None,
        description_num: int = 16,
        describe: tuple[str, ...] | str = ("statement",),
        goal_in_obs: Literal["text", "tokens"] | None = "text",
    ) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, SingleAgentEnv):
            raise ConfigError(f"env is {env!r:.80}, expected a single-agent environment of iglu_marl")
        if goal_in_obs not in GOAL_FORMS:
            raise ConfigError(f"goal_in_obs is {goal_in_obs!r}, expected one of {GOAL_FORMS}")
        if isinstance(description_num, bool) or not isinstance(description_num, int) or description_num < 0:
            raise ConfigError(f"description_num is {description_num!r}, expected an integer of 0 or more")
        if not (scenes is None or (isinstance(scenes, str) and scenes == "empty") or is_source(scenes)):
            raise ConfigError(f"scenes is {scenes!r:.80}, expected None, 'empty' or a source of tasks")
        if not isinstance(goals, GoalSpace | None):
            raise ConfigError(f"goals is {goals!r:.80}, expected a GoalSpace")
        self._base: SingleAgentEnv = env.unwrapped
        self.goals = statement_goals() if goals is None else goals
        self.description_num = description_num
        Generator(kinds=describe)  # raises for wrong kinds
        self._describe = describe
        self._scenes, self._sources = scenes, StatefulSources(scenes)
        self._pieces: tuple[Piece, ...] = ()
        self._new_content = True
        self._seed = 0
        self._described: tuple[Any, list[dict[str, Any]]] | None = None
        self._held: tuple[Any, npt.NDArray[np.bool_]] | None = None
        self._achieved: tuple[Goal, ...] | None = None
        self._goal_in_obs = goal_in_obs
        self._codec = TemplateCodec() if goal_in_obs == "tokens" else None
        self._actions = copy.deepcopy(self.action_space)
        self._set_observation_space()
        self._base.set_task_generator(self._next_task)

    def _set_observation_space(self) -> None:
        inner = self.env.observation_space
        if self._goal_in_obs is None:
            return
        if not isinstance(inner, spaces.Dict):
            raise ConfigError(
                f"observations are {inner!r:.80}, expected a Dict to add the goal to; or goal_in_obs=None"
            )
        goal: spaces.Space[Any] = ChatText(GOAL_CHARACTERS)
        if self._codec is not None:
            goal = spaces.Box(0, self._codec.size - 1, (GOAL_TOKENS,), np.int32)
        self.observation_space = spaces.Dict({**inner.spaces, "goal": goal})

    # -- worlds and goals

    @property
    def episode(self) -> Episode:
        """The game itself: worlds, dialogue, task. For reading."""
        return self._base.episode

    @property
    def scene(self) -> Scene:
        """The scene graph of the world as it is now, seen by the builder as it stands."""
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
        """The task of the next episode: a world, and a goal that does not hold in it."""
        self._seed = int(rng.integers(_MAX_SEED))
        grid = self._starting_grid(rng)
        return GoalTask(self.goals.sample(rng, grid), grid)

    def _starting_grid(self, rng: np.random.Generator) -> BlockGrid:
        if self._scenes is None:
            if self._new_content or not self._pieces:
                self._pieces = draw_pieces(rng, int(rng.integers(3, 7)))
            return arrange(self._pieces, rng, clear=_MIDDLE)
        if isinstance(self._scenes, str):
            return np.zeros(ZONE_SHAPE, np.int8)
        return np.array(draw(self._scenes, rng).in_ids("iglu").start_grid)

    def sample_goal(self) -> tuple[str, Program]:
        """A random goal of `goals` that does not hold now: its text and program. It does not become the goal yet."""
        grid = self._grid()
        goal = self.goals.sample(self._base.np_random, grid, self._yaw_deg())
        return goal.text, goal.program

    def set_goal(self, goal_text: Any, goal_program: Any = None) -> None:
        """Make this the goal: `set_goal(text, program)`, or one value that `Goal.of` takes (a statement in
        words, say).

        An episode that had ended by its goal goes on, unless the new goal holds already.
        """
        goal = Goal.of(goal_text) if goal_program is None else Goal(goal_text, program_of(goal_program))
        self._replace_task(goal)
        self.episode.worlds.terminated[0] = goal.holds(self.scene)

    def _replace_task(self, goal: Goal) -> None:
        task = self._task().replace(goal=goal)
        self.episode.task, self.episode.objective = task, task.objective

    def answer_question(self, goal_program: Any) -> Value:
        """The answer to a program (or goal, or a question in plain words) about the world as it is now.

        None where a "the" in it means nothing, or several things.
        """
        return answer(program_of(goal_program), self.scene)

    def sample_random_action(self) -> Any:
        """A random action, from a generator that `reset(seed=…)` seeds (`action_space.sample` has one of its own)."""
        return self._actions.sample()

    # -- descriptions

    def get_description(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Descriptions of the world as it is now: their texts, and records of `question` (the text),
        `program`, `answer`.

        About as many are true as false; the same world after as many steps of the same episode has the same ones.
        """
        full = self.full_descriptions
        return [record["question"] for record in full], full

    @property
    def descriptions(self) -> list[str]:
        """The texts of `full_descriptions`."""
        return self.get_description()[0]

    @property
    def full_descriptions(self) -> list[dict[str, Any]]:
        """The records of `get_description`, made when they are first asked for and kept until something changes."""
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
        """The goals that became true by the last step, in words. Needs `step(…, record_achieved_goal=True)`."""
        return [goal.text for goal in self._recorded()]

    def get_achieved_goal_programs(self) -> list[Program]:
        """The programs of `get_achieved_goals`, in the same order."""
        return [goal.program for goal in self._recorded()]

    def _recorded(self) -> tuple[Goal, ...]:
        if self._achieved is None:
            raise StateError(
                "achieved goals were not recorded: call step(action, record_achieved_goal=True) first"
            )
        return self._achieved

    def _holding(self) -> npt.NDArray[np.bool_]:
        """Which goals hold now, bool [goals]; kept while the world stays as it is."""
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
        """Begin an episode with a goal that does not hold yet.

        new_scene_content: other things, not the same ones put down anew (also as `options["new_scene_content"]`).
        options: besides, `goal` (see `set_goal`), `task` (its starting blocks are the world) and `pose`.
        """
        options = dict(options or {})
        new_scene_content = bool(options.pop("new_scene_content", False)) or new_scene_content
        goal = options.pop("goal", None)
        task = options.get("task")
        if task is not None and not isinstance(task, GoalTask):
            options["task"] = self._goal_task(task, goal)
        self._new_content = new_scene_content or seed is not None
        self._achieved = self._described = self._held = None
        observation, info = self.env.reset(seed=seed, options=options)
        self._actions.seed(self._seed)
        if goal is not None:
            self.set_goal(*goal) if isinstance(goal, tuple) else self.set_goal(goal)
        return self._with_goal(observation), self._info(info)

    def _goal_task(self, task: Any, goal: Any) -> GoalTask:
        if not isinstance(task, Task):
            raise ConfigError(f"options['task'] is {task!r:.80}, expected a Task")
        grid = task.in_ids("iglu").start_grid
        rng = np.random.default_rng(0)
        return GoalTask(self.goals.sample(rng, grid) if goal is None else Goal.of(goal), grid)

    def step(
        self, action: Any, goal: Any = None, record_achieved_goal: bool = False, update_des: bool = False
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One builder step; the reward is 1.0 when the goal holds after it.

        goal: a program (or anything that `answer_question` takes) that decides reward and end of this step in
        place of the episode's goal. record_achieved_goal: `get_achieved_goals` tells afterwards what became
        true. update_des: the info holds `descriptions` and `full_descriptions`.
        """
        before = self._holding() if record_achieved_goal else None
        own = self._task()
        if goal is not None:
            self.episode.objective = GoalTask(Goal.of(program_of(goal))).objective
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

    def _with_goal(self, observation: Any) -> Any:
        if self._goal_in_obs is None:
            return observation
        text = self.goal.text
        shown: Any = text[:GOAL_CHARACTERS]
        if self._codec is not None:
            tokens = self._codec.encode(text)[:GOAL_TOKENS]
            shown = np.zeros(GOAL_TOKENS, np.int32)
            shown[: len(tokens)] = tokens
        return {**observation, "goal": shown}

    def _info(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """The goal in place of the target, which means nothing here."""
        kept = {key: value for key, value in info.items() if key != "target_grid"}
        return {**kept, "goal": self.goal.text, "goal_program": str(self.goal.program)}

    # -- saving

    def get_state(self) -> LanguageState:
        """Everything needed to go on from here."""
        sources = self._sources.get_state()
        return LanguageState(self._base.get_state(), self._pieces, self._seed, self._achieved, sources)

    def set_state(self, state: LanguageState) -> None:
        """Put back what `get_state` gave. Raises `StateError` when it does not fit; nothing is changed then."""
        if not isinstance(state, LanguageState):
            raise StateError(
                f"state is a {type(state).__name__}, expected a LanguageState as get_state returns it"
            )
        self._sources.check_state(state.sources)
        self._base.set_state(state.inner)
        self._sources.set_state(state.sources)
        self._pieces, self._seed, self._achieved = state.pieces, state.seed, state.achieved
        self._described = self._held = None


def make_language_goal(
    obs_type: ObsType = "direct",
    *,
    action_space: str = "walking",
    goals: GoalSpace | None = None,
    scenes: Any = None,
    description_num: int = 16,
    describe: tuple[str, ...] | str = ("statement",),
    goal_in_obs: Literal["text", "tokens"] | None = "text",
    **options: Any,
) -> LanguageGoal:
    """`iglu_marl/LanguageGoal-v0`: a builder alone, rewarded for making a statement true.

    obs_type: "direct" (grid and pose), "order_invariant" (the blocks as a set of rows, and pose) or "image"
    (the builder's picture); inventory and compass always. action_space: any of the five encodings. The rest is
    as in `LanguageGoal`, and fields of `GameConfig` (`max_steps` is 200 here unless given).
    """
    if obs_type not in OBS_TYPES:
        raise ConfigError(f"obs_type is {obs_type!r}, expected one of {', '.join(OBS_TYPES)}")
    if "tasks" in options:
        raise ConfigError(
            "tasks has no place here: scenes says where worlds come from, and goals what to do in them"
        )
    options.setdefault("max_steps", 200)
    config = GameConfig.of(None, {**options, "controls": action_space})
    controls = Controls(config.controls, select_and_place=config.select_and_place)
    env = SingleAgentEnv(config, controls, partial(goal_observer, obs_type=obs_type))
    return LanguageGoal(
        env,
        goals=goals,
        scenes=scenes,
        description_num=description_num,
        describe=describe,
        goal_in_obs=goal_in_obs,
    )
