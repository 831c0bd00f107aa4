"""What controls learn without what the rung is about: policies of the time alone, or of a part of what is seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.games import BuilderGames, Features, features_for
from iglu_marl.benchmark.ladder import Rung
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import AgentError
from iglu_marl.core.task import Task
from iglu_marl.evaluation.open_loop import Score, search

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

TIMES = 64  # moments of an episode that a policy tells apart
_WORLDS, _BATCH = (8, 256), 16_384  # worlds at once, and environment steps of an update, about
_ROWS = 8192  # of features that an update looks at, at most
_RATE, _ENTROPY, _DISCOUNT = 0.05, 0.05, 0.99
_BEST = 1.0  # paid for a success besides the reward


def worlds_for(rung: Rung) -> int:
    """How many worlds are played at once, so that they are neither slow nor large."""
    least, most = _WORLDS
    return int(np.clip(_BATCH // rung.max_steps, least, most))


def cells_of_tasks(tasks: Sequence[Task]) -> Flags:
    """The cells that any of the tasks fills, bool [9, 11, 11]."""
    filled: Flags = np.any([(task.target_grid != 0) | (task.start_grid != 0) for task in tasks], axis=0)
    return filled


def random_play(rung: Rung, tasks: Sequence[Task], rounds: int, seed: int) -> float:
    """The share of episodes that actions drawn by lot make a success, over all tasks `rounds` times."""
    games = BuilderGames(rung, len(tasks), features_for(rung, (), cells_of_tasks(tasks)))
    rng, found = np.random.default_rng(seed), 0
    for _ in range(rounds):
        games.begin(tasks)
        for _ in range(rung.max_steps):
            games.step(rng.integers(games.actions, size=games.count))
            if not games.playing.any():
                break
        found += int(games.success.sum())
    games.close()
    return found / (rounds * len(tasks))


def open_loop(rung: Rung, tasks: Sequence[Task], budget: int, seed: int) -> float:
    """The share of the tasks that the best fixed sequence of actions makes a success, searched for on these very tasks.

    budget: environment steps, at most `max_steps` for each task and try.
    """
    games = BuilderGames(rung, len(tasks), features_for(rung, (), cells_of_tasks(tasks)))

    def played(actions: npt.NDArray[np.int64]) -> tuple[Flags, Score]:
        games.begin(tasks)
        total = 0.0
        for action in actions:
            _, rewards = games.step(np.full(games.count, action))
            total += float(rewards.sum())
            if not games.playing.any():
                break
        return games.success, (int(games.success.sum()), total)

    tries = max(1, budget // (rung.max_steps * len(tasks)))
    found = search(played, (0, games.actions), rung.max_steps, tries=tries, seed=seed)
    games.close()
    return found.share


@dataclass
class LinearPolicy:
    """A softmax of linear features of what is seen, and of the moment of the episode.

    rung, features: of what it plays and sees. seen: float32 [features, actions]; times: float32 [TIMES, actions].
    """

    rung: Rung
    features: Features
    seen: Floats
    times: Floats

    def moment(self, step: int) -> int:
        """The row of `times` for a step of an episode."""
        return step if self.rung.max_steps <= TIMES else min(step * TIMES // self.rung.max_steps, TIMES - 1)

    def logits(self, features: Floats, step: int) -> Floats:
        """Of each action, float32 [n, actions]."""
        result: Floats = features @ self.seen + self.times[self.moment(step)]
        return result

    def successes(self, tasks: Sequence[Task]) -> Flags:
        """Who succeeds, each at a task, doing what the policy likes best; bool [n]."""
        games = BuilderGames(self.rung, len(tasks), self.features)
        features = games.begin(tasks)
        for step in range(self.rung.max_steps):
            features, _ = games.step(self.logits(features, step).argmax(axis=1))
            if not games.playing.any():
                break
        games.close()
        return games.success


class LinearBuilder:
    """An agent that does what a `LinearPolicy` likes best, in the environment that `make` gives for its rung."""

    def __init__(self, policy: LinearPolicy) -> None:
        self.policy, self._step = policy, 0

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        if role != Role.BUILDER:
            raise AgentError(f"a LinearBuilder cannot play the {role}")
        self._step = 0

    def act(self, observation: Any) -> int:
        """The number of the action."""
        batch = {key: np.asarray(value)[None] for key, value in observation.items()}
        logits = self.policy.logits(self.policy.features(batch, 1), self._step)
        self._step += 1
        return int(logits.argmax())

    def close(self) -> None:
        """Nothing is held."""


class _Adam:
    """Adam's steps for some arrays, in place."""

    def __init__(self, arrays: Sequence[Floats]) -> None:
        self.arrays, self._count = list(arrays), 0
        self._moments = [(np.zeros_like(array), np.zeros_like(array)) for array in arrays]

    def step(self, gradients: Sequence[Floats]) -> None:
        """Upwards along the gradients."""
        self._count += 1
        scale = _RATE * np.sqrt(1 - 0.999**self._count) / (1 - 0.9**self._count)
        for array, gradient, (mean, square) in zip(self.arrays, gradients, self._moments, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            array += scale * mean / (np.sqrt(square) + 1e-8)


def train(
    rung: Rung,
    tasks: Sequence[Task],
    sees: Sequence[str],
    budget: int,
    seed: int,
    *,
    cells: Flags | None = None,
    after: Callable[[int, LinearPolicy], None] = lambda steps, policy: None,
) -> LinearPolicy:
    """A `LinearPolicy` that learned on these tasks, of `sees` and the time, for `budget` environment steps.

    By policy gradient (REINFORCE, baselines by time, Adam); it is paid the rung's reward, and 1 for a success. sees: of
    `Features`. cells: those that it may see; None: those that the tasks fill. after: is called after each update with
    the environment steps so far.
    """
    rng = np.random.default_rng(seed)
    features = features_for(rung, sees, cells_of_tasks(tasks) if cells is None else cells)
    games = BuilderGames(rung, worlds_for(rung), features)
    width = games.begin([tasks[0]] * games.count).shape[1]
    shapes = (width, games.actions), (TIMES, games.actions)
    policy = LinearPolicy(rung, features, *(np.zeros(shape, np.float32) for shape in shapes))
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
    """An episode in every world, and a step of the policy; how many environment steps it took."""
    steps, features = games.rung.max_steps, games.begin(tasks)
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
    """Of the mean of advantage × log probability + entropy, for both parts of the policy."""
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
