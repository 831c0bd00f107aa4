"""A control for learners: the best fixed action sequence, which ignores all observations."""

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
    """A sequence of actions, int64 [steps], and the episodes that it completes, bool [num_envs]."""

    actions: Actions
    completed: npt.NDArray[np.bool_]

    @property
    def share(self) -> float:
        """Share of completed episodes, 0..1."""
        return float(self.completed.mean())


def best_open_loop(
    envs: VectorEnv[Any, Any, Any],
    steps: int,
    *,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    tries: int = 2000,
) -> OpenLoop:
    """Search the sequence of actions that completes the most episodes when played in every world.

    The result is a lower bound of what a policy without observations can achieve. The search is hill climbing: one or
    more times, an action is replaced, removed (and one appended), or inserted (and the last dropped). A new sequence is
    kept if it completes more episodes, or as many with at least the same return.

    Args:
        envs: environments with Discrete actions. `reset(seed=seed, options=options)` must start the same episodes each
            time, one per world. An episode is completed when it is terminated.
        steps: length of the sequence.
        options: reset options, such as {"task": tasks}.
        seed: seed of the environments and the search.
        tries: number of sequences to play.

    Raises:
        ConfigError: if the action space is not Discrete, or `steps` or `tries` is below 1.

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
    """Hill climbing as in `best_open_loop`, with any function that plays a sequence.

    play: returns the completed episodes, bool [n], and a score: their number and the sum of returns. bounds: actions
    are in bounds[0]..bounds[1] - 1. steps: length of the sequence. tries: number of sequences to play. seed: seed of
    the search.
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
    """Play a sequence; return the completed first episodes, their number, and the sum of all returns."""
    envs.reset(seed=seed, options=None if options is None else dict(options))
    completed, playing = np.zeros(envs.num_envs, bool), np.ones(envs.num_envs, bool)
    total = 0.0
    for action in actions:
        _, rewards, terminated, truncated, _ = envs.step(np.full(envs.num_envs, action))
        total += float(rewards[playing].sum())
        completed |= playing & terminated
        playing &= ~(terminated | truncated)
    return completed, (int(completed.sum()), total)
