"""Demonstrations: games of an expert on a level, with what a learner observes, for imitation.

The expert is the oracle where the target is enough, and the scripted builder where an architect speaks during the game.
On levels with grid actions, it is a search for the shortest sequence of these. Games that are no success are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.envs.registration import EnvSpec

from iglu_marl._version import __version__
from iglu_marl.benchmark.catalog import Level, builder_env, find, make
from iglu_marl.benchmark.games import judged, reference_env, silent_architect
from iglu_marl.benchmark.splits import SplitName, content_digest, some_of
from iglu_marl.core.controls import GRID_ACTIONS, Controls, at_rest
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import AgentError, ConfigError, DataError
from iglu_marl.core.grid import Cell
from iglu_marl.core.kernels.batch import step_some
from iglu_marl.core.kernels.records import PLACED, WORLD
from iglu_marl.core.kernels.step import speak_at
from iglu_marl.core.pose import Pose
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import prepare
from iglu_marl.envs.batch_observations import rows
from iglu_marl.envs.registration import DEMONSTRATED_ID
from iglu_marl.envs.two_agent import ARCHITECT, BUILDER
from iglu_marl.evaluation.selection import factory
from iglu_marl.game.agent import Agent
from iglu_marl.planning.problem import planning_state
from iglu_marl.recording.offline import write_episodes
from iglu_marl.recording.rollout import Trajectory
from iglu_marl.recording.values import Script, episode_options, read_script, to_json

Array = npt.NDArray[Any]
_MOTIONS, _PLACE = range(1, 10), 10  # numbers of GRID_ACTIONS; that of colour c is _PLACE + c
_BATCH = 64  # games that are observed side by side


class Demonstration(NamedTuple):
    """A game of an expert. seed: seed of the game. actions: by role, in the encoding of `make`."""

    task: Task
    seed: int
    actions: Mapping[Role, Sequence[Any]]


class DemonstratedEnv(gymnasium.Env[Any, Any]):
    """`iglu_marl/Demonstrated-v0`: the builder's part on a level, as demonstrations of it were written.

    `reset(options={"recording": …})` starts the game of an episode, with the options of its metadata. The architect of
    a two-agent level repeats its utterances there, and is silent after the last one. Without it, a task is sampled.

    Args:
        level: a level with one builder, or its name.
        split: split of the tasks.
        fold: seed of the training run, which determines what is held out.
        digest: `Level.digest` of the fold when the demonstrations were written; None: any.

    Raises `ConfigError` if the level has another digest.

    """

    def __init__(
        self, level: str | Level, split: SplitName = "train", fold: int = 0, digest: str | None = None
    ) -> None:
        level = one_builder(level).fold(fold)
        if digest not in (None, level.digest):
            raise ConfigError(
                f"the digest of {level.name} is {level.digest}, expected {digest} as demonstrated"
            )
        self.game = make(level, split, num_envs=1, autoreset_mode="Disabled")
        self._pair = level.is_pair
        if self._pair:
            self.observation_space = self.game.observation_space(BUILDER)
            self.action_space = self.game.action_space(BUILDER)
            self._silence = at_rest(self.game.action_space(ARCHITECT))
        else:
            self.observation_space = self.game.single_observation_space
            self.action_space = self.game.single_action_space
        self._said: Iterator[Any] = iter(())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see the class for `options["recording"]`."""
        script = read_script(options["recording"]) if options and "recording" in options else Script()
        super().reset(seed=seed)
        self._said = iter(script.partner)
        seed = script.seed if seed is None else seed
        task = None if script.task is None else {"task": [script.task]}
        seen, _ = self.game.reset(seed=None if seed is None else [seed], options=task)
        return self._own(seen), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Run one step."""
        actions = _joined([action])
        if self._pair:
            actions = {ARCHITECT: _joined([next(self._said, self._silence)]), BUILDER: actions}
        seen, *ends, _ = self.game.step(actions)
        reward, terminated, truncated = (end[BUILDER][0] if self._pair else end[0] for end in ends)
        return self._own(seen), float(reward), bool(terminated), bool(truncated), {}

    def _own(self, seen: Any) -> Any:
        return rows(seen[BUILDER] if self._pair else seen, 0)

    def close(self) -> None:
        """Close the game."""
        self.game.close()


class GridOracle:
    """A builder that gets the task, and places its blocks with the fewest `GRID_ACTIONS`, each block after the nearest.

    waits: whether to do nothing before the first message.

    Raises `AgentError` for tasks other than placing blocks within reach of these actions.
    """

    privileged = True

    def __init__(self, env: Any, waits: bool = False) -> None:
        pair = hasattr(env, "possible_agents")
        self._rest: Any = at_rest(env.action_space(BUILDER) if pair else env.action_space)
        self._waits = self._waiting = waits
        self._plan: list[int] = []

    def reset(self, role: Role, seed: int | None, task: Task | None = None) -> None:
        """Plan the actions of an episode."""
        assert task is not None  # since it is privileged
        self._plan = grid_actions(task)[::-1]
        self._waiting = self._waits

    def act(self, observation: Any) -> Any:
        """Return the next action of the plan; action 0 while it waits."""
        self._waiting = self._waiting and not np.any(observation["dialog"])
        action = np.array(self._rest)
        if self._plan and not self._waiting:
            action[(0,) * action.ndim] = self._plan.pop()
        return action

    def close(self) -> None:
        """Do nothing."""


@lru_cache(maxsize=4096)
def grid_actions(task: Task) -> list[int]:
    """Return the numbers of `GRID_ACTIONS` that place the blocks of a task. Raises `AgentError` if none do."""
    state = prepare(task).copy()
    speak_at(state, 0)
    return grid_plan(state)


def grid_plan(state: Array) -> list[int]:
    """Return the numbers of `GRID_ACTIONS` that complete the target from a state, WORLD[1].

    Raises `AgentError` if placing blocks within reach does not complete it.
    """
    grid, pose = state["grid"][0], Pose(*state["pose"][0].tolist())
    changes = net_actions(grid, state["target"][0])
    open_blocks = {(x, y, z): color for _, x, y, z, color in changes}
    state = planning_state((grid, pose))  # without the target: tasks share their searches
    found: list[int] = []
    while open_blocks:
        ways = _ways(state.tobytes())
        near = [cell for cell in open_blocks if cell in ways]
        if not near or not all(change.place for change in changes):
            raise AgentError(f"grid actions do not reach {list(open_blocks)} from {pose}")
        cell = min(near, key=lambda cell: len(ways[cell]))
        steps = [*ways[cell], _PLACE + open_blocks.pop(cell)]
        for number in steps:
            _step(state, [number])
        found += steps
    return found


@lru_cache(maxsize=1)
def _controls() -> Array:
    controls = Controls("discrete", select_and_place=True)
    return controls.encode_batch([{**at_rest(controls.space), **action} for action in GRID_ACTIONS])


def _step(states: Array, numbers: Sequence[int]) -> None:
    """Step a world with each numbered action."""
    idle = np.zeros(len(states), np.bool_)
    step_some(states, _controls(), np.array(numbers, np.int64), idle, 0, len(states))


@lru_cache(maxsize=64)
def _ways(start: bytes) -> dict[Cell, tuple[int, ...]]:
    """Return the shortest motions from a world to where a block can be placed, by the cell of that block."""
    frontier = np.frombuffer(start, WORLD).copy()
    paths: list[tuple[int, ...]] = [()]
    seen = {frontier[0]["pose"].round(3).tobytes()}
    found: dict[Cell, tuple[int, ...]] = {}
    while len(frontier):
        placed = frontier.copy()
        _step(placed, [_PLACE + 1] * len(placed))
        for number in np.flatnonzero(placed["event"] == PLACED).tolist():
            x, y, z = placed["change"][number, :3].tolist()
            found.setdefault((x, y, z), paths[number])
        moved = np.repeat(frontier, len(_MOTIONS))
        _step(moved, [*_MOTIONS] * len(frontier))
        longer = [(*path, motion) for path in paths for motion in _MOTIONS]
        new = []
        for number, pose in enumerate(moved["pose"].round(3)):
            if (key := pose.tobytes()) not in seen:
                seen.add(key)
                new.append(number)
        frontier, paths = moved[new], [longer[number] for number in new]
    return found


def demonstrate(
    level: str | Level,
    split: SplitName = "train",
    games: int = 100,
    *,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Demonstration]:
    """Return the successful ones of `games` games of the expert on tasks of a split.

    Raises:
        DataError: if no game is a success.
        AgentError: if the expert cannot play a task.

    """
    level = one_builder(level)
    tasks = some_of(level.tasks(split), games, seed)
    talks = level.is_live or (level.is_pair and "vocabulary" not in level.game)
    if level.controls == "grid":
        env = make(level, split)
        expert: Agent = GridOracle(env, talks)
    else:
        wide = [name for name in dict.fromkeys((*level.sees, "grid", "pose", "dialog")) if name != "pov"]
        env = builder_env(level, split, sees=tuple(wide)) if level.is_live else reference_env(level, split)
        expert = factory("scripted" if talks else "oracle", Role.BUILDER)(env)
    agents: dict[Role, Agent] = {Role.BUILDER: expert}
    if level.is_pair:
        name: Any = level.architects.get(split, ("scripted",))[0] if talks else silent_architect
        agents[Role.ARCHITECT] = factory(name, Role.ARCHITECT)(env)
    found: list[Demonstration] = []
    for number in range(games):
        kept: dict[Role, list[Any]] = {role: [] for role in agents}

        def keep(game: Trajectory, kept: dict[Role, list[Any]] = kept) -> None:
            for turn in game.turns:
                kept[role_of(turn.role)].append(turn.action)

        task = tasks[number % len(tasks)]
        if judged(level, env, agents, task, seed + number, keep).success:
            found.append(Demonstration(task, seed + number, kept))
        progress(number + 1)
    env.close()
    if not found:
        raise DataError(f"none of {games} games of the expert on {level.name} is a success")
    return found


def one_builder(level: str | Level) -> Level:
    """Return a level. Raises `ConfigError` for one of a team."""
    level = find(level)
    if level.is_team:
        raise ConfigError(f"level is {level.name!r}, expected one with one builder")
    return level


def observed(
    level: Level, split: SplitName, demonstrations: Sequence[Demonstration], **options: Any
) -> Iterator[dict[str, Any]]:
    """Play demonstrations again, side by side; yield Minari's fields of each: the builder's observations and actions.

    options: passed to `make`.
    """
    for first in range(0, len(demonstrations), _BATCH):
        part = demonstrations[first : first + _BATCH]
        env = make(level, split, num_envs=len(part), **options)
        yield from _observed(env, level, part)
        env.close()


def _observed(env: Any, level: Level, part: Sequence[Demonstration]) -> Iterator[dict[str, Any]]:
    lengths = [len(game.actions[Role.BUILDER]) for game in part]
    seen, _ = env.reset(seed=[game.seed for game in part], options={"task": [game.task for game in part]})
    observations, ends = [seen[BUILDER] if level.is_pair else seen], []
    for step in range(max(lengths)):
        acts = {role: _at(part, role, step) for role in part[0].actions}
        given = (
            {ARCHITECT: acts[Role.ARCHITECT], BUILDER: acts[Role.BUILDER]}
            if level.is_pair
            else acts[Role.BUILDER]
        )
        seen, *rest, _ = env.step(given)
        ends.append(tuple(value[BUILDER] for value in rest) if level.is_pair else tuple(rest))
        observations.append(seen[BUILDER] if level.is_pair else seen)
    for game, (demonstration, length) in enumerate(zip(part, lengths, strict=True)):
        own = [rows(batch, game) for batch in observations[: length + 1]]
        rewards, terminated, truncated = (
            [kind(end[place][game]) for end in ends[:length]]
            for place, kind in enumerate((float, bool, bool))
        )
        truncated[-1] = truncated[-1] or not terminated[-1]
        yield {
            "observations": _joined(own),
            "actions": _joined(demonstration.actions[Role.BUILDER]),
            "rewards": rewards,
            "terminations": terminated,
            "truncations": truncated,
            "seed": demonstration.seed,
            "options": episode_options(
                demonstration.task,
                demonstration.seed,
                [to_json(said) for said in demonstration.actions.get(Role.ARCHITECT, ())],
            ),
            "metadata": {"task": content_digest(demonstration.task), "completed": terminated[-1]},
        }


def _at(part: Sequence[Demonstration], role: Role, step: int) -> Any:
    """Return the actions of all games in a step; a game that is over repeats its last one."""
    acts = [game.actions[role][min(step, len(game.actions[role]) - 1)] for game in part]
    return _joined(acts)


def _joined(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Mapping):
        return {key: _joined([value[key] for value in values]) for key in values[0]}
    return list(values) if isinstance(values[0], str) else np.stack([np.asarray(value) for value in values])


def write_demonstrations(
    level: str | Level,
    dataset_id: str,
    split: SplitName = "train",
    games: int = 100,
    *,
    fold: int = 0,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Any:
    """Write demonstrations of a level as a Minari dataset, and return it. Needs the extra `minari`.

    `recover_environment()` of the dataset returns a `DemonstratedEnv`. An episode's `seed` and `options` are those of
    its reset.

    Args:
        level: a level or its name.
        dataset_id: such as "iglu/see-ground-v2".
        split: split of the tasks.
        games: games of the expert; those that are no success are left out.
        fold: seed of the training run, which determines what is held out.
        seed: seed of the tasks and of the first game.
        progress: called with the number of games so far.

    Raises:
        DataError: if no game is a success, or a value cannot be stored.
        ConfigError: if Minari refuses the id, or the dataset exists.

    """
    level = one_builder(level).fold(fold)
    found = demonstrate(level, split, games, seed=seed, progress=progress)
    env = DemonstratedEnv(level, split, fold)
    env.spec = EnvSpec(
        DEMONSTRATED_ID,
        gymnasium.spec(DEMONSTRATED_ID).entry_point,
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"level": level.name, "split": split, "fold": fold, "digest": level.digest},
    )
    env.close()
    return write_episodes(
        dataset_id,
        observed(level, split, found),
        env.observation_space,
        env.action_space,
        env=env,
        algorithm_name="the expert of iglu_marl.benchmark.demonstrations",
        description=f"{level.name} (digest {level.digest}), {split} split of fold {fold}: games of the expert.",
        requirements=[f"iglu_marl>={__version__}"],
    )
