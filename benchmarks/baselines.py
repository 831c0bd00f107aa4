"""Trained shortcut baselines: action sequences, and imitation of an expert from a part of the observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.oracle import OracleBuilder
from iglu_marl.benchmark.catalog import Level, builder_env
from iglu_marl.benchmark.demonstrations import grid_actions
from iglu_marl.benchmark.games import judged
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.dialogue import Role
from iglu_marl.core.task import Task
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs.wrappers import discretize
from iglu_marl.recording.rollout import Trajectory

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

TIMES = 64  # time bins of an episode
HIDDEN = 128
UPDATES, EPOCHS = 1000, 60  # the larger number of updates counts
_RATE, _BATCH = 2e-3, 128  # of Adam
_GAMES = 256  # demonstrations that are observed side by side
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


def random_play(level: Level, tasks: Sequence[Task], rounds: int, seed: int) -> float:
    """Return the success rate of random actions, over `rounds` episodes per task."""
    games = BuilderGames(level, len(tasks), features_for(level, (), cells_of_tasks(tasks)))
    rng, found = np.random.default_rng(seed), 0
    for _ in range(rounds):
        games.begin(tasks)
        for _ in range(level.max_steps):
            games.step(rng.integers(games.actions, size=games.count))
            if not games.playing.any():
                break
        found += int(games.success.sum())
    games.close()
    return found / (rounds * len(tasks))


def open_loop(level: Level, tasks: Sequence[Task], budget: int, seed: int) -> float:
    """Search a fixed action sequence for these tasks and return its success rate.

    level: a level. tasks: tasks for search and measurement. budget: environment steps; a try takes at most `max_steps`
    per task. seed: seed of the search.
    """
    games = BuilderGames(level, len(tasks), features_for(level, (), cells_of_tasks(tasks)))

    def played(actions: npt.NDArray[np.int64]) -> tuple[Flags, tuple[int, float]]:
        games.begin(tasks)
        total = 0.0
        for action in actions:
            _, rewards = games.step(np.full(games.count, action))
            total += float(rewards.sum())
            if not games.playing.any():
                break
        return games.success, (int(games.success.sum()), total)

    tries = max(1, budget // (level.max_steps * len(tasks)))
    completed = climbed(played, games.actions, level.max_steps, tries, seed)
    games.close()
    return float(completed.mean())


def climbed(
    play: Callable[[npt.NDArray[np.int64]], tuple[Flags, tuple[int, float]]],
    actions: int,
    steps: int,
    tries: int,
    seed: int,
) -> Flags:
    """Search a sequence of actions by hill climbing; return the episodes that it completes.

    One or more times, an action is replaced, removed (and one appended), or inserted (and the last dropped). A new
    sequence is kept if its score is not lower.

    play: returns the completed episodes of a sequence, int [steps], and their number with the sum of returns. actions:
    their number. tries: number of sequences to play. seed: seed of the search.
    """
    rng, last = np.random.default_rng(seed), steps - 1
    sequence = rng.integers(actions, size=steps)
    completed, best = play(sequence)
    for _ in range(tries - 1):
        changed = sequence
        for _ in range(int(rng.geometric(0.7))):
            place = int(rng.integers(steps))
            out, into = ((place, place), (place, last), (last, place))[int(rng.integers(3))]
            changed = np.insert(np.delete(changed, out), into, rng.integers(actions))
        reached, score = play(changed)
        if score >= best:
            sequence, completed, best = changed, reached, score
    return completed


@dataclass
class Imitator:
    """A network with one hidden layer that imitates demonstrations from observation features and the time.

    level: the level that it plays. features: encoder of its observations. weights: float32 arrays [inputs, HIDDEN],
    [HIDDEN], [HIDDEN, actions], [actions]; the last TIMES inputs are the time, one-hot.
    """

    level: Level
    features: Features
    weights: list[Floats]

    def logits(self, features: Floats, step: int) -> Floats:
        """Return the logits of all actions in a step of an episode, float32 [n, actions]."""
        return self._forward(np.concatenate([features, times(self.level, [step] * len(features))], axis=1))[1]

    def _forward(self, inputs: Floats) -> tuple[Floats, Floats]:
        first, bias, second, last = self.weights
        hidden: Floats = np.maximum(inputs @ first + bias, 0)
        return hidden, hidden @ second + last

    def successes(self, tasks: Sequence[Task]) -> Flags:
        """Play one game per task with the most probable actions; return the successes, bool [n]."""
        return successes(
            self.level, tasks, self.features, lambda seen, step: self.logits(seen, step).argmax(1)
        )

    def fit(self, inputs: Floats, actions: npt.NDArray[np.int64], updates: int, seed: int) -> None:
        """Maximise the log likelihood of actions, int64 [n], for inputs, float32 [n, inputs], by Adam."""
        rng = np.random.default_rng(seed)
        moments = [np.zeros((2, *part.shape), np.float32) for part in self.weights]
        for count in range(1, updates + 1):
            chosen = rng.integers(len(inputs), size=_BATCH)
            scale = float(_RATE * np.sqrt(1 - 0.999**count) / (1 - 0.9**count))
            gradients = self._gradients(inputs[chosen], actions[chosen])
            for weight, gradient, (mean, square) in zip(self.weights, gradients, moments, strict=True):
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                weight += scale * mean / (np.sqrt(square) + 1e-8)

    def _gradients(self, inputs: Floats, actions: npt.NDArray[np.int64]) -> list[Floats]:
        hidden, logits = self._forward(inputs)
        chances = np.exp(logits - logits.max(axis=1, keepdims=True))
        slope = -chances / chances.sum(axis=1, keepdims=True)
        slope[np.arange(len(actions)), actions] += 1
        slope /= len(actions)
        back = (slope @ self.weights[2].T) * (hidden > 0)
        return [inputs.T @ back, back.sum(axis=0), hidden.T @ slope, slope.sum(axis=0)]


def times(level: Level, steps: Sequence[int]) -> Floats:
    """Return the time of steps of an episode, one-hot, float32 [n, TIMES]."""
    bins = np.minimum(np.array(steps) * min(1, TIMES / level.max_steps), TIMES - 1).astype(int)
    return np.eye(TIMES, dtype=np.float32)[bins]


def expert_actions(level: Level, tasks: Sequence[Task]) -> tuple[list[Task], list[list[int]]]:
    """Return the tasks that an expert with the target completes by the level's rule, and its actions in each."""
    if level.controls == "grid":
        return list(tasks), [grid_actions(task) for task in tasks]
    env = builder_env(level, "test", alone=True, sees=("grid", "pose"))
    builder = OracleBuilder.for_env(env, level="fast")
    done, found = [], []
    for task in tasks:
        kept: list[int] = []

        def keep(game: Trajectory, kept: list[int] = kept) -> None:
            kept += [int(turn.action) for turn in game.turns]

        if judged(level, env, {Role.BUILDER: builder}, task, 0, keep).success:
            done.append(task)
            found.append(kept)
    env.close()
    return done, found


def imitate(
    level: Level,
    tasks: Sequence[Task],
    demonstrations: Sequence[Sequence[int]],
    sees: Sequence[str],
    seed: int,
    *,
    cells: Flags | None = None,
    updates: int | None = None,
) -> Imitator:
    """Train an `Imitator` on demonstrations.

    level: a level. tasks: tasks of the demonstrations. demonstrations: the actions of an expert in each. sees:
    observation fields of `Features`; () trains on the time alone. seed: seed of the weights and batches. cells: cells
    of the grids to observe; None: those that the tasks fill. updates: number of batches;
    None: `UPDATES`, or `EPOCHS` passes over all steps if these are more.
    """
    features = features_for(level, sees, cells_of_tasks(tasks) if cells is None else cells)
    inputs: list[Floats] = []
    targets: list[int] = []
    games = BuilderGames(level, min(_GAMES, len(tasks)), features)
    for first in range(0, len(tasks), games.count):
        part = list(demonstrations[first : first + games.count])
        own = list(tasks[first : first + games.count])
        seen = games.begin(own + own[:1] * (games.count - len(own)))
        for step in range(max(map(len, part))):
            alive = [number for number, actions in enumerate(part) if step < len(actions)]
            inputs.append(np.concatenate([seen[alive], times(level, [step] * len(alive))], axis=1))
            targets += [part[number][step] for number in alive]
            acts = np.zeros(games.count, np.int64)
            acts[alive] = targets[len(targets) - len(alive) :]
            seen, _ = games.step(acts)
    count = games.actions
    games.close()
    data = np.concatenate(inputs)
    rng, width = np.random.default_rng(seed), data.shape[1]
    shapes = ((width, HIDDEN), (HIDDEN,), (HIDDEN, count), (count,))
    sizes = (np.sqrt(2 / width), 0, 0.01, 0)
    weights = [
        (rng.normal(size=shape) * size).astype(np.float32) for shape, size in zip(shapes, sizes, strict=True)
    ]
    policy = Imitator(level, features, weights)
    policy.fit(data, np.array(targets), updates or max(UPDATES, EPOCHS * len(data) // _BATCH), seed)
    return policy
