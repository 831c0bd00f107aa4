"""Games of a rung, judged by its own rule: many at once for controls that learn, one by one for agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.ladder import GRID_ACTIONS, Rung, builder_env
from iglu_marl.core.dialogue import Role
from iglu_marl.core.task import Task
from iglu_marl.envs.parallel import parallel_env
from iglu_marl.envs.wrappers import discretize
from iglu_marl.evaluation.metrics import game_metrics
from iglu_marl.game.agent import Agent, is_idle
from iglu_marl.recording.rollout import play

Array = npt.NDArray[Any]

_UNPLAYED = Task("", [(0, -1, 0, 1)])  # what begins where an episode is over
_PATCHES = 8  # of a picture, each way


class Features:
    """What a lone builder sees of many worlds as numbers about 0..1, float32 [count, n].

    sees: of "pose", "grid", "target", "inventory", "compass", "dialog", "pov". cells: of the grids those that matter,
    bool [9, 11, 11]. Grids are one-hot colours by cell, which cells are filled, and which colours there are; dialogs
    how often each token occurs; pictures the means of patches.
    """

    def __init__(self, sees: Sequence[str], cells: npt.NDArray[np.bool_], tokens: int) -> None:
        self.sees, self._cells, self._tokens = tuple(sees), cells, tokens
        self._ids = np.arange(1, 7, dtype=np.int8)

    def __call__(self, seen: Mapping[str, Any], count: int) -> Array:
        """The features of a batch of observations."""
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


def features_for(rung: Rung, sees: Sequence[str], cells: npt.NDArray[np.bool_]) -> Features:
    """The features of what a lone builder sees on a rung; see `Features`."""
    env = builder_env(
        rung, "train", alone=True, sees=tuple(sees), fields={"chat": "tokens", "tasks": _UNPLAYED}
    )
    tokens = int(env.observation_space["dialog"].high.max()) + 1
    env.close()
    return Features(sees, cells, tokens)


class Judge:
    """Who succeeds among first episodes played side by side, by the rung's own rule.

    success: who has. playing: whose episode goes on: it has not ended, and can still be a success. bool [n].
    """

    def __init__(self, rung: Rung, tasks: Sequence[Task]) -> None:
        self._allowed = np.array([rung.allowed_changes(task) for task in tasks])
        self._changes = np.zeros(len(tasks))
        self.success, self.playing = np.zeros(len(tasks), np.bool_), np.ones(len(tasks), np.bool_)

    def after(self, events: Array, terminated: Array, truncated: Array) -> None:
        """Take note of a step: what the hands did (of `EVENTS`), and whose episode ended."""
        playing = self.playing
        self._changes += playing & ((events == "placed") | (events == "removed"))
        fits = self._changes <= self._allowed
        self.success = self.success | (playing & terminated & fits)
        self.playing = playing & fits & ~(terminated | truncated)


class BuilderGames:
    """First episodes of lone builders: a task for each, features of what they see (`Features`), and who succeeds.

    Nobody speaks but the task's own dialog.
    """

    def __init__(self, rung: Rung, count: int, features: Features) -> None:
        self.rung, self.count, self._features = rung, count, features
        env = builder_env(
            rung,
            "train",
            num_envs=count,
            sees=features.sees,
            alone=True,
            fields={"chat": "tokens", "tasks": _UNPLAYED},
            copy=False,
            info_keys=("event",),
        )
        self._env = discretize(env, table=GRID_ACTIONS) if rung.controls == "grid" else env
        self.actions = int(self._env.single_action_space.n)

    def begin(self, tasks: Sequence[Task]) -> Array:
        """Begin an episode for each task; gives what is seen, float32 [count, n]."""
        seen, _ = self._env.reset(seed=0, options={"task": list(tasks)})
        self._judge = Judge(self.rung, tasks)
        return self._features(seen, self.count)

    @property
    def success(self) -> npt.NDArray[np.bool_]:
        """Who has succeeded, bool [count]."""
        return self._judge.success

    @property
    def playing(self) -> npt.NDArray[np.bool_]:
        """Whose episode goes on, bool [count]."""
        return self._judge.playing

    def step(self, actions: Array) -> tuple[Array, Array]:
        """An action for each: features, and the rewards float64 [count] of those who were still playing."""
        seen, rewards, terminated, truncated, infos = self._env.step(actions)
        playing = self.playing
        self._judge.after(infos["event"], terminated, truncated)
        return self._features(seen, self.count), np.where(playing, rewards, 0.0)

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


# ------------------------------------------------------------------------------------------------------- one by one


class Judged(NamedTuple):
    """What came of a game. changes: of blocks, in all."""

    success: bool
    completed: bool
    f1: float
    steps: int
    changes: int


class ChangeCounter:
    """Counts changes of blocks, as `on_step` of `play`."""

    def __init__(self) -> None:
        self.count = 0
        self._grid: Array | None = None

    def __call__(self, env: Any) -> None:
        """Look at the build after a step."""
        grid = env.unwrapped.episode.worlds.grid[0]
        if self._grid is not None:
            self.count += int(np.count_nonzero(grid != self._grid))
        self._grid = grid.copy()


def judged(rung: Rung, env: Any, agents: Mapping[Role, Agent], task: Task, seed: int) -> Judged:
    """Play a task of a rung in one of its environments, and judge it by the rung's rule."""
    changes = ChangeCounter()
    game = play(env, dict(agents), seed=seed, options={"task": task}, on_step=changes)
    measured = game_metrics(game)
    return Judged(
        rung.is_success(task, game.completed, changes.count),
        game.completed,
        float(measured["f1"]),
        game.builder_steps,
        changes.count,
    )


class Observing:
    """An agent that observes something else than it is shown: `change(observation)`.

    task: what a privileged agent is given in place of the episode's.
    """

    def __init__(self, agent: Agent, change: Callable[[Any], Any], task: Task | None = None) -> None:
        self.agent, self.change, self.task = agent, change, task
        self.privileged = getattr(agent, "privileged", False)

    def reset(self, role: Role, seed: int | None, **options: Any) -> None:
        """Begin an episode."""
        if self.task is not None and "task" in options:
            options["task"] = self.task
        self.agent.reset(role, seed, **options)

    def act(self, observation: Any) -> Any:
        """The agent's action for the changed observation."""
        return self.agent.act(self.change(observation))

    @property
    def idle(self) -> bool:
        """As the agent."""
        return is_idle(self.agent)

    def close(self) -> None:
        """Close the agent."""
        self.agent.close()


def muted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """An observation in which nothing has been said."""
    dialog = observation["dialog"]
    silence: Any = "" if isinstance(dialog, str) else np.zeros_like(dialog)
    return {**observation, "dialog": silence}


def seeing(target: Array) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Makes an architect's observation one of another game, whose target this is."""
    return lambda observation: {**observation, "target_grid": target.astype(observation["target_grid"].dtype)}


def reference_env(rung: Rung, split: Any) -> Any:
    """The game of a rung with everything that a scripted builder has to see, and its own actions."""
    if rung.is_pair or rung.is_live:
        sees = tuple(dict.fromkeys((*rung.sees, "grid", "pose", "dialog")))
        sees = tuple(name for name in sees if name != "pov")
        return parallel_env(rung.config(split, builder_sees=sees))
    sees = ("grid", "pose", "dialog", *(("target",) * rung.sees_target))
    return builder_env(rung, split, sees=sees)
