"""Play games of a level and apply its success rule: batches for trained baselines, single games for agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.zoo import zoo
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.random import RandomArchitect
from iglu_marl.agents.registry import known, seated
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.dialogue import Role, role_of
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.metrics import change_counts
from iglu_marl.game.agent import Agent
from iglu_marl.recording.rollout import Trajectory, play

Array = npt.NDArray[Any]

_UNPLAYED = Task("", [(0, -1, 0, 1)])  # starts after the end of an episode
_PATCHES = 8  # per side of a picture


class Features:
    """Encode batches of a single builder's observations as numbers of about 0..1, float32 [count, n].

    | field | features |
    |---|---|
    | grid, target | one-hot colour per cell, filled cells, colours that occur |
    | dialog | count of each token |
    | pov | means of 8 × 8 patches |

    sees: fields among "pose", "grid", "target", "inventory", "compass", "dialog" and "pov". cells: cells of the grids
    to encode, bool [9, 11, 11]. tokens: size of the vocabulary.
    """

    def __init__(self, sees: Sequence[str], cells: npt.NDArray[np.bool_], tokens: int) -> None:
        self.sees, self._cells, self._tokens = tuple(sees), cells, tokens
        self._ids = np.arange(1, 7, dtype=np.int8)

    def __call__(self, seen: Mapping[str, Any], count: int) -> Array:
        """Return the features of a batch of observations."""
        parts = [np.zeros((count, 0), np.float32), *(getattr(self, f"_{name}")(seen) for name in self.sees)]
        return np.concatenate([part.reshape(count, -1) for part in parts], axis=1, dtype=np.float32)

    def _grid(self, seen: Mapping[str, Any], key: str = "grid") -> Array:
        colors = seen[key][:, self._cells][..., None] == self._ids  # [count, cells, 6]
        parts = (colors.reshape(len(colors), -1), colors.any(axis=2), colors.any(axis=1))
        return np.concatenate(parts, axis=1)

    def _target(self, seen: Mapping[str, Any]) -> Array:
        return self._grid(seen, "target_grid")

    def _pose(self, seen: Mapping[str, Any]) -> Array:
        x, y, z, pitch, yaw = seen["agentPos"].T
        return np.stack([x / 5, y / 5, z / 5, pitch / 90, *_turned(yaw)], axis=1)

    def _compass(self, seen: Mapping[str, Any]) -> Array:
        return np.stack(_turned(seen["compass"].ravel()), axis=1)

    def _inventory(self, seen: Mapping[str, Any]) -> Array:
        return seen["inventory"] / 20

    def _dialog(self, seen: Mapping[str, Any]) -> Array:
        rows = seen["dialog"] + np.arange(len(seen["dialog"]))[:, None] * self._tokens
        counts = np.bincount(rows.ravel(), minlength=len(rows) * self._tokens)
        return counts.reshape(-1, self._tokens)[:, 1:]

    def _pov(self, seen: Mapping[str, Any]) -> Array:
        pictures = seen["pov"]
        high, wide = (side // _PATCHES for side in pictures.shape[1:3])
        patches = pictures.reshape(len(pictures), _PATCHES, high, _PATCHES, wide, 3)
        return patches.mean(axis=(2, 4), dtype=np.float32) / 255


def _turned(angle_deg: Array) -> tuple[Array, Array]:
    return np.sin(np.radians(angle_deg)), np.cos(np.radians(angle_deg))


def features_for(level: Level, sees: Sequence[str], cells: npt.NDArray[np.bool_]) -> Features:
    """Return the `Features` of a single builder's observations on a level."""
    env = builder_env(
        level, "train", alone=True, sees=(*sees, "dialog"), fields={"chat": "tokens", "tasks": _UNPLAYED}
    )
    tokens = int(env.observation_space["dialog"].high.max()) + 1
    env.close()
    return Features(sees, cells, tokens)


def cells_of_tasks(tasks: Sequence[Task]) -> npt.NDArray[np.bool_]:
    """Return the cells that any of the tasks fills, bool [9, 11, 11]."""
    filled: npt.NDArray[np.bool_] = np.any(
        [(one.target_grid != 0) | (one.start_grid != 0) for one in tasks], axis=0
    )
    return filled


class BuilderGames:
    """A batch of single-builder games, one task each, observed through `Features`.

    An architect speaks live only where these have the dialog.

    success: games that succeeded by the level's rule, bool [count]. playing: games that have not ended and can still
    succeed, bool [count].
    """

    def __init__(self, level: Level, count: int, features: Features) -> None:
        self.level, self.count, self._features = level, count, features
        env = builder_env(
            level,
            "train",
            num_envs=count,
            sees=features.sees,
            alone="dialog" not in features.sees,
            fields={"chat": "tokens", "tasks": _UNPLAYED},
            copy=False,
            info_keys=("event",),
        )
        self._env = discretize(env, table=GRID_ACTIONS) if level.controls == "grid" else env
        self.actions = int(self._env.single_action_space.n)

    def begin(self, tasks: Sequence[Task]) -> Array:
        """Start an episode for each task and return the features, float32 [count, n]."""
        seen, _ = self._env.reset(seed=0, options={"task": list(tasks)})
        self._allowed = np.array([self.level.allowed_changes(task) for task in tasks])
        self._changes = np.zeros(self.count)
        self.success, self.playing = np.zeros(self.count, np.bool_), np.ones(self.count, np.bool_)
        return self._features(seen, self.count)

    @property
    def worlds(self) -> Worlds:
        """The worlds of the games."""
        return self._env.unwrapped.worlds

    def step(self, actions: Array) -> tuple[Array, Array]:
        """Apply one action per game; return features and rewards, float64 [count] (0 after the end)."""
        seen, rewards, terminated, truncated, infos = self._env.step(actions)
        playing, event = self.playing, infos["event"]
        self._changes += playing & ((event == "placed") | (event == "removed"))
        fits = self._changes <= self._allowed
        self.success = self.success | (playing & terminated & fits)
        self.playing = playing & fits & ~(terminated | truncated)
        return self._features(seen, self.count), np.where(playing, rewards, 0.0)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def successes(
    level: Level, tasks: Sequence[Task], features: Features, choose: Callable[[Array, int], Array]
) -> npt.NDArray[np.bool_]:
    """Play one game per task with the actions `choose(features, step)`; return the successes, bool [n]."""
    games = BuilderGames(level, len(tasks), features)
    seen = games.begin(tasks)
    for step in range(level.max_steps):
        seen, _ = games.step(choose(seen, step))
        if not games.playing.any():
            break
    games.close()
    return games.success


# ------------------------------------------------------------------------------------------------------- one by one


class Judged(NamedTuple):
    """Outcome of a game.

    f1: F1 of the changes. changes: number of block changes. steps: number of builder steps.
    """

    success: bool
    completed: bool
    f1: float
    changes: int
    steps: int


Played = Callable[[Trajectory], None]


class ChangeCounter:
    """Count block changes; an `on_step` callback of `play`."""

    def __init__(self) -> None:
        self.count = 0
        self._grid: Array | None = None

    def __call__(self, env: Any) -> None:
        """Compare the build with that of the previous step."""
        grid = env.unwrapped.episode.worlds.grid[0]
        if self._grid is not None:
            self.count += int(np.count_nonzero(grid != self._grid))
        self._grid = grid.copy()


def judged(
    level: Level,
    env: Any,
    agents: Mapping[Any, Agent],
    task: Task,
    seed: int,
    after: Played = lambda game: None,
    on_step: Callable[[Any], None] = lambda env: None,
) -> Judged:
    """Play a task in an environment of the level and apply the level's success rule.

    after: called with the game. on_step: as of `play`.
    """
    changes = ChangeCounter()

    def stepped(env: Any) -> None:
        changes(env)
        on_step(env)

    game = play(env, dict(agents), seed=seed, options={"task": task}, on_step=stepped)
    after(game)
    return judgement(level, game, changes.count, game.builder_steps)


def judgement(level: Level, game: Trajectory, changes: int, steps: int) -> Judged:
    """Return the outcome of a game that ended. Raises `AgentError` if its world was edited from outside."""
    game.check_unedited()
    task = game.task.in_ids("iglu")
    assert game.grid is not None  # since it ended
    counts = change_counts(task.start_grid, task.target_grid, game.grid, invariant=task.is_invariant)
    success = level.is_success(game.task, game.completed, changes)
    return Judged(success, game.completed, float(counts.f1), changes, steps)


def silent_architect(env: Any) -> Agent:
    """Return an architect that says nothing."""
    return RandomArchitect.for_env(env, silence=1.0)


def team_of(level: Level, env: Any, architect: Any, builder: Any) -> dict[str, Agent]:
    """Return the agents of all seats of a team level by name, from one spec for each role; {} on other levels."""
    if not level.is_team:
        return {}
    return {
        agent: seated(builder if role_of(agent) is Role.BUILDER else architect, env, agent)
        for agent in env.possible_agents
    }


def plays_itself(builder: Any) -> bool:
    """Whether a builder is an untrained one of this package, by name.

    Such builders use the game's own actions and observe more than the level shows.
    """
    named = isinstance(builder, str) and builder not in zoo()
    return named and (builder.startswith(NamedModel.PREFIX) or builder in known(Role.BUILDER))


def reference_env(level: Level, split: Any) -> Any:
    """Return the level's game with the observations and actions that scripted builders need."""
    sees = tuple(name for name in dict.fromkeys((*level.sees, "grid", "pose", "dialog")) if name != "pov")
    if level.is_pair or level.is_live:
        return parallel_env(level.config(split, builder_sees=sees).for_view("parallel"))
    return builder_env(level, split, sees=(*sees, *(("target",) * level.sees_target)))
