"""A control for learners: how much of a setting can be done without looking, by one fixed sequence of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from iglu_marl.core.errors import ConfigError

Actions = npt.NDArray[np.int64]
Score = tuple[int, float]


class OpenLoop(NamedTuple):
    """A sequence of actions, int64 [steps], and which episodes it completes, bool [num_envs]."""

    actions: Actions
    completed: npt.NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Of the episodes that are completed, 0..1."""
        return float(self.completed.mean())


def best_open_loop(
    envs: VectorEnv[Any, Any, Any],
    steps: int,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    tries: int = 2000,
) -> OpenLoop:
    """The sequence of `steps` actions, the same in every world, that completes the most episodes, as far as found.

    What a policy achieves without observations is the mean of such sequences. A setting in which the best of them
    completes much shows little of what a learner has understood. What is found is a lower bound.

    envs: with Discrete actions; `reset(seed=seed, options=options)` has to begin the same episodes each time, one in
    each world, such as `options={"task": tasks}`. An episode is completed when it is terminated. tries: how many
    sequences are played. The search is hill climbing: once or more, an action is replaced, taken out (and one added at
    the end), or put in (and the last dropped); the new sequence stays unless it completes less, or as much with a
    smaller return. All chance follows from `seed`.

    Raises `ConfigError` for other actions, and for steps or tries below 1.
    """
    space = envs.single_action_space
    if not isinstance(space, spaces.Discrete):
        raise ConfigError(
            f"the action space is {space}, expected Discrete; see iglu_marl.envs.wrappers.discretize"
        )
    for name, value in (("steps", steps), ("tries", tries)):
        if value < 1:
            raise ConfigError(f"{name} is {value}, expected at least 1")
    first, end = int(space.start), int(space.start + space.n)

    def play(actions: Actions) -> tuple[npt.NDArray[np.bool_], Score]:
        return _played(envs, actions, seed, options)

    return search(play, (first, end), steps, tries=tries, seed=seed)


def search(
    play: Callable[[Actions], tuple[npt.NDArray[np.bool_], Score]],
    bounds: tuple[int, int],
    steps: int,
    *,
    tries: int,
    seed: int = 0,
) -> OpenLoop:
    """The best sequence found by hill climbing, as of `best_open_loop`, by any way of playing one.

    play: which episodes a sequence completes, bool [n], and how good that is: their number, and the sum of returns.
    bounds: actions are in bounds[0]..bounds[1] - 1.
    """
    rng = np.random.default_rng(seed)
    actions = rng.integers(*bounds, size=steps)
    completed, best = play(actions)
    for _ in range(tries - 1):
        changed = actions
        for _ in range(int(rng.geometric(0.7))):
            place, last = int(rng.integers(steps)), steps - 1
            out, into = ((place, place), (place, last), (last, place))[int(rng.integers(3))]
            changed = np.insert(np.delete(changed, out), into, rng.integers(*bounds))
        reached, score = play(changed)
        if score >= best:
            actions, completed, best = changed, reached, score
    return OpenLoop(actions, completed)


def _played(
    envs: VectorEnv[Any, Any, Any], actions: Actions, seed: int, options: Mapping[str, Any] | None
) -> tuple[npt.NDArray[np.bool_], Score]:
    """Which first episodes a sequence completes; their number, and the sum of the returns of all."""
    envs.reset(seed=seed, options=None if options is None else dict(options))
    completed, playing = np.zeros(envs.num_envs, bool), np.ones(envs.num_envs, bool)
    total = 0.0
    for action in actions:
        _, rewards, terminated, truncated, _ = envs.step(np.full(envs.num_envs, action))
        total += float(rewards[playing].sum())
        completed |= playing & terminated
        playing &= ~(terminated | truncated)
    return completed, (int(completed.sum()), total)
