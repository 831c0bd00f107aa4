"""Plain Ray: rollouts and an evaluation on several workers, with the results of a single process.

    python examples/ray_rollouts.py --workers 2 --worlds 64 --steps 500 --games 6 --output results

World w has its own seed, and the seeds of a game follow from its task, so the number of workers changes no result. Each
shard of the evaluation has a folder for its games, from which an interrupted run resumes. On a cluster, pass
`--address auto` and a shared output folder.
Needs the extra `rllib`, or `pip install ray` beside iglu_marl.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import typer

import iglu_marl  # registers the ids  # noqa: F401
from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.evaluation import Evaluation, evaluate, tasks_of
from iglu_marl.tasks import RandomTasks

with extra("rllib", script=True):
    import ray

CONFIG = {"max_steps": 3000}


def rollouts(first: int, count: int, steps: int, seed: int) -> dict[str, Any]:
    """Step the worlds first .. first + count - 1 at random; return arrays [count, steps, …]."""
    envs = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=count, tasks=RandomTasks(max_blocks=3), max_steps=100, copy=False
    )
    walkers = [np.random.default_rng([seed, world]) for world in range(first, first + count)]
    actions = np.stack([walker.integers(18, size=steps) for walker in walkers])
    poses, rewards = np.empty((count, steps, 5), np.float32), np.empty((count, steps), np.float32)
    envs.reset(seed=seed + first)  # world i of these gets this seed + i
    for step in range(steps):
        observations, rewards[:, step], *_ = envs.step(actions[:, step])
        poses[:, step] = observations["agentPos"]
    envs.close()
    return {"actions": actions, "poses": poses, "rewards": rewards}


def games(tasks: list[Task], seed: int, folder: str | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings and rows of an evaluation."""
    done = evaluate(
        "scripted", "scripted", tasks, seed=seed, config=CONFIG, output=folder, examples=0, progress=False
    )
    return done.settings, done.rows


def shares(count: int, workers: int) -> list[tuple[int, int]]:
    """Return the range of each worker."""
    ends = np.linspace(0, count, min(workers, count) + 1).astype(int).tolist()
    return list(itertools.pairwise(ends))


def spread_rollouts(workers: int, worlds: int, steps: int, seed: int) -> dict[str, Any]:
    """Run `rollouts` for all worlds in Ray tasks."""
    task = ray.remote(rollouts)
    parts = ray.get([task.remote(low, high - low, steps, seed) for low, high in shares(worlds, workers)])
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def spread_evaluation(workers: int, tasks: list[Task], seed: int, output: Path | None) -> Evaluation:
    """Run `evaluate` on all tasks in Ray tasks. Equal tasks belong into one shard."""
    task = ray.remote(games)
    waiting = []
    for number, (low, high) in enumerate(shares(len(tasks), workers)):
        folder = None if output is None else str(output.absolute() / f"shard-{number:03}")
        waiting.append(task.remote(tasks[low:high], seed, folder))
    parts = ray.get(waiting)
    settings = {**parts[0][0], "tasks": [name for given, _ in parts for name in given["tasks"]]}
    return Evaluation(settings, [row for _, rows in parts for row in rows], tasks=tasks)


def main(
    workers: int = 2,
    worlds: int = 64,
    steps: int = 500,
    count: Annotated[int, typer.Option("--games")] = 6,
    seed: int = 0,
    output: str | None = None,
    address: str | None = None,
) -> tuple[dict[str, Any], Evaluation]:
    """Run rollouts and an evaluation, and return both results.

    output: folder for the games and tables of the evaluation. address: a running Ray cluster; without it a local one
    is started.
    """
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    ray.init(address=address, log_to_driver=False, **own)
    # Start the processes and load the kernels.
    ray.get([ray.remote(rollouts).remote(0, 1, 1, 0) for _ in range(workers)])

    began = time.perf_counter()
    rolled = spread_rollouts(workers, worlds, steps, seed)
    passed = time.perf_counter() - began
    size = sum(part.nbytes for part in rolled.values())
    print(f"{worlds * steps:,} steps by {workers} workers in {passed:.2f} s, {size / 2**20:.1f} MB came back")

    tasks = tasks_of("bundled", count=count)
    evaluation = spread_evaluation(workers, tasks, seed, None if output is None else Path(output))
    print(evaluation.markdown())
    if output is not None:
        evaluation.write(output)
    ray.shutdown()
    return rolled, evaluation


if __name__ == "__main__":
    app = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]})
    app.command()(main)
    app()
