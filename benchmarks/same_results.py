"""Whether the vector environments are the single ones: random episodes in both, compared step by step.

`python -m benchmarks.same_results` plays 10,000 episodes over all encodings, several numbers of worlds and of threads;
`--episodes 200` plays fewer. Exit code 1 on a difference.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from typing import Any

import gymnasium as gym
import numpy as np

import iglu_marl  # noqa: F401 (registers the ids)
from iglu_marl.core.controls import CONTROLS
from iglu_marl.tasks import BundledTasks, RandomTasks

COUNTS = (1, 7, 50, 2200)  # the last is enough for threads to share the steps
THREADS = (1, 2, 3)
STEPS, LONGEST = 130, 40
KEYS = ("agentPos", "inventory", "compass", "grid", "dialog")
TASKS = {
    "random": lambda: RandomTasks(max_blocks=6, max_dist=4, height_levels=2, num_colors=3),
    "bundled": BundledTasks,
}


def row(actions: Any, world: int) -> Any:
    return (
        {key: part[world] for key, part in actions.items()} if isinstance(actions, dict) else actions[world]
    )


def record(env: Any, seed: int, steps: int) -> tuple[list[Any], list[Any]]:
    """Play random actions; return all that the vector environment shows, the reset first."""
    env.action_space.seed(seed)
    observed: list[Any] = [env.reset(seed=seed)[0]]
    script = [env.action_space.sample() for _ in range(steps)]
    observed += [env.step(actions)[:4] for actions in script]
    return script, observed


def differences(
    single: Any, world: int, seed: int, script: list[Any], observed: list[Any]
) -> tuple[int, int]:
    """Replay one world in a single environment; return the number of steps that differ, and of episodes."""
    shown, over, wrong, episodes = single.reset(seed=seed + world)[0], False, 0, 1
    wrong += any(not np.array_equal(observed[0][key][world], shown[key]) for key in KEYS)
    for actions, (seen, *results) in zip(script, observed[1:], strict=True):
        if over:
            shown, end = single.reset()[0], (0.0, False, False)
            episodes += 1
        else:
            shown, *end = single.step(row(actions, world))[:4]
        same = [part[world] for part in results] == list(end)
        same &= all(np.array_equal(seen[key][world], shown[key]) for key in KEYS)
        wrong += not same
        over = end[1] or end[2]
    return wrong, episodes


def run(episodes: int, seed: int) -> int:
    """Play and compare; return the number of steps that differ."""
    start, done, wrong = time.perf_counter(), 0, 0
    settings = itertools.cycle(itertools.product(COUNTS, CONTROLS, THREADS, TASKS))
    for number, (count, controls, threads, tasks) in enumerate(settings):
        options = {"tasks": TASKS[tasks](), "action_space": controls, "max_steps": LONGEST}
        env = gym.make_vec("IGLUGridworldVector-v0", num_envs=count, num_threads=threads, **options)
        steps = STEPS if count < 1000 else LONGEST + 3
        script, observed = record(env, seed + 10_000 * number, steps)
        env.close()
        single = gym.make("IGLUGridworldVector-v0", **{**options, "tasks": TASKS[tasks]()})
        for world in range(count):
            worse, more = differences(single, world, seed + 10_000 * number, script, observed)
            wrong, done = wrong + worse, done + more
            if done >= episodes:
                break
        print(
            f"{tasks}, {count} worlds, {controls}, {threads} threads: {done} episodes, {wrong} differences",
            flush=True,
        )
        if done >= episodes:
            break
    print(f"{done} episodes in {time.perf_counter() - start:.0f} s: {'OK' if wrong == 0 else 'FAILED'}")
    return wrong


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_results", description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    return 1 if run(options.episodes, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
