"""Trained shortcut baselines: action sequences, and linear policies of the time or of a part of the observation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.catalog import Level
from iglu_marl.benchmark.games import BuilderGames, Features, features_for
from iglu_marl.core.task import Task
from iglu_marl.evaluation.open_loop import Score, search

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

TIMES = 64  # time bins of an episode
_WORLDS, _BATCH = (8, 256), 16_384  # range of parallel games; approximate environment steps per update
_ROWS = 8192  # largest number of observations per update
_RATE, _ENTROPY, _DISCOUNT = 0.05, 0.05, 0.99
_BEST = 1.0  # reward for a success, in addition to the game's


def worlds_for(level: Level) -> int:
    """Return the number of parallel games."""
    least, most = _WORLDS
    return int(np.clip(_BATCH // level.max_steps, least, most))


def cells_of_tasks(tasks: Sequence[Task]) -> Flags:
    """Return the cells that any of the tasks fills, bool [9, 11, 11]."""
    filled: Flags = np.any([(task.target_grid != 0) | (task.start_grid != 0) for task in tasks], axis=0)
    return filled


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

    def played(actions: npt.NDArray[np.int64]) -> tuple[Flags, Score]:
        games.begin(tasks)
        total = 0.0
        for action in actions:
            _, rewards = games.step(np.full(games.count, action))
            total += float(rewards.sum())
            if not games.playing.any():
                break
        return games.success, (int(games.success.sum()), total)

    tries = max(1, budget // (level.max_steps * len(tasks)))
    found = search(played, (0, games.actions), level.max_steps, tries=tries, seed=seed)
    games.close()
    return found.share


@dataclass
class LinearPolicy:
    """A softmax policy, linear in the observation features and the time.

    level: the level that it plays. features: encoder of its observations. seen: weights, float32 [features, actions].
    times: biases by time, float32 [TIMES, actions].
    """

    level: Level
    features: Features
    seen: Floats
    times: Floats

    def moment(self, step: int) -> int:
        """Return the row of `times` for a step of an episode."""
        return step if self.level.max_steps <= TIMES else min(step * TIMES // self.level.max_steps, TIMES - 1)

    def logits(self, features: Floats, step: int) -> Floats:
        """Return the logits of all actions, float32 [n, actions]."""
        result: Floats = features @ self.seen + self.times[self.moment(step)]
        return result

    def successes(self, tasks: Sequence[Task]) -> Flags:
        """Play one game per task with the most probable actions; return the successes, bool [n]."""
        games = BuilderGames(self.level, len(tasks), self.features)
        features = games.begin(tasks)
        for step in range(self.level.max_steps):
            features, _ = games.step(self.logits(features, step).argmax(axis=1))
            if not games.playing.any():
                break
        games.close()
        return games.success


class LinearBuilder:
    """A `BatchPlayer` that takes the most probable actions of a `LinearPolicy`, in the environments of `make`."""

    def __init__(self, policy: LinearPolicy) -> None:
        self.policy, self._count, self._step = policy, 0, 0

    def begin(self, count: int, seed: int) -> None:
        """Start `count` games."""
        self._count, self._step = count, 0

    def act(self, observations: Any) -> npt.NDArray[np.int64]:
        """Return the numbers of the actions, int64 [count]."""
        logits = self.policy.logits(self.policy.features(observations, self._count), self._step)
        self._step += 1
        return logits.argmax(axis=1)


class _Adam:
    """Adam optimizer that changes arrays in place."""

    def __init__(self, arrays: Sequence[Floats]) -> None:
        self.arrays, self._count = list(arrays), 0
        self._moments = [(np.zeros_like(array), np.zeros_like(array)) for array in arrays]

    def step(self, gradients: Sequence[Floats]) -> None:
        """Ascend the gradients."""
        self._count += 1
        scale = _RATE * np.sqrt(1 - 0.999**self._count) / (1 - 0.9**self._count)
        for array, gradient, (mean, square) in zip(self.arrays, gradients, self._moments, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            array += scale * mean / (np.sqrt(square) + 1e-8)


def train(
    level: Level,
    tasks: Sequence[Task],
    sees: Sequence[str],
    budget: int,
    seed: int,
    *,
    cells: Flags | None = None,
    after: Callable[[int, LinearPolicy], None] = lambda steps, policy: None,
) -> LinearPolicy:
    """Train a `LinearPolicy` with REINFORCE (baselines by time, Adam).

    level: a level; its reward is used, plus 1 for a success. tasks: tasks for training. sees: observation fields of
    `Features`; () trains on the time alone. budget: environment steps. seed: seed of tasks and actions. cells: cells
    of the grids to observe; None: those that the tasks fill. after: called after each update with the environment
    steps so far and the policy.
    """
    rng = np.random.default_rng(seed)
    features = features_for(level, sees, cells_of_tasks(tasks) if cells is None else cells)
    games = BuilderGames(level, worlds_for(level), features)
    width = games.begin([tasks[0]] * games.count).shape[1]
    shapes = (width, games.actions), (TIMES, games.actions)
    policy = LinearPolicy(level, features, *(np.zeros(shape, np.float32) for shape in shapes))
    adam, spent = _Adam([policy.seen, policy.times]), 0
    while spent < budget:
        drawn = [tasks[number] for number in rng.integers(len(tasks), size=games.count)]
        spent += _update(policy, adam, games, drawn, rng)
        after(spent, policy)
    games.close()
    return policy


def _update(
    policy: LinearPolicy, adam: _Adam, games: BuilderGames, tasks: Sequence[Task], rng: np.random.Generator
) -> int:
    """Play a batch of episodes and update the policy; return the number of environment steps."""
    steps, features = games.level.max_steps, games.begin(tasks)
    keep = rng.random(steps) < _ROWS / (games.count * steps)
    rows, rewards, alive = [], [], []
    for step in range(steps):
        playing, before = games.playing, games.success
        logits = policy.logits(features, step)
        actions = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        if keep[step]:
            rows.append((step, features, logits, actions))
        features, reward = games.step(actions)
        rewards.append(reward + _BEST * (games.success & ~before))
        alive.append(playing)
        if not games.playing.any():
            break
    returns = np.zeros((len(rewards), games.count), np.float32)
    ahead = np.zeros(games.count)
    for step in reversed(range(len(rewards))):
        returns[step] = ahead = rewards[step] + _DISCOUNT * ahead
    if rows:
        adam.step(_gradients(policy, rows, returns, np.array(alive), steps))
    return int(np.sum(alive))


def _gradients(
    policy: LinearPolicy,
    rows: Sequence[tuple[int, Floats, Floats, npt.NDArray[np.int64]]],
    returns: Floats,
    alive: Flags,
    steps: int,
) -> list[Floats]:
    """Return the gradients of mean(advantage × log probability + entropy), for `seen` and `times`."""
    seen, times = np.zeros_like(policy.seen), np.zeros_like(policy.times)
    count = max(1, sum(int(alive[step].sum()) for step, *_ in rows))
    gains = {
        step: np.where(alive[step], returns[step] - returns[step][alive[step]].mean(), 0) for step, *_ in rows
    }
    for step, features, logits, actions in rows:
        log = logits - logits.max(axis=1, keepdims=True)
        chances = np.exp(log)
        chances /= chances.sum(axis=1, keepdims=True)
        log = np.log(chances + 1e-12)
        slope = -chances * gains[step][:, None]
        slope[np.arange(len(actions)), actions] += gains[step]
        surprise = -(chances * log).sum(axis=1, keepdims=True)
        slope -= _ENTROPY * chances * (log + surprise) * alive[step][:, None]
        slope = (slope / count).astype(np.float32)
        seen += features.T @ slope
        times[policy.moment(step)] += slope.sum(axis=0)
    return [seen, times]
