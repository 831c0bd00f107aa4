"""A learner on a level of the benchmark, by the protocol: train, measure, write the result file, report.

    python examples/benchmark_levels.py --level see-place-v1 --seeds 6 --output see-place.json

The learner is that of the shortcut baselines, a linear policy trained by REINFORCE with NumPy alone. Put your own in
its place: what `train` returns is a function that makes a builder for an environment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from iglu_marl import Agent, benchmark
from iglu_marl.benchmark.controls import LinearBuilder, LinearPolicy, cells_of_tasks
from iglu_marl.benchmark.controls import train as train_linear
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import some_of

Maker = Callable[[Any], Agent]
Curve = list[tuple[int, float]]


def train(level: benchmark.Level, budget: int, seed: int, every: int) -> tuple[Maker, Curve]:
    """A builder for the level, trained on its training split, and what it reached there each `every` steps."""
    level = level.fold(seed)  # what is held out depends on the seed
    tasks = some_of(level.tasks("train"), 256)
    seen = cells_of_tasks(
        [*tasks, *some_of(level.tasks("test"), 256)]
    )  # which cells a policy has weights for
    curve: Curve = [(0, 0.0)]

    def measure(steps: int, policy: LinearPolicy) -> None:
        if steps >= min(curve[-1][0] + every, budget):
            curve.append((steps, float(policy.successes(tasks).mean())))

    sees = (*level.sees, *(("target",) * level.sees_target))
    policy = train_linear(level, tasks, sees, budget, seed, cells=seen, after=measure)
    return lambda env: LinearBuilder(policy), curve


def main(
    level: str = "see-place-v1",
    seeds: int = 6,
    budget: int | None = None,
    episodes: int = 40,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    budget: environment steps of each run; the level's by default. output: the result file.
    """
    step = benchmark.find(level)
    steps = step.budget if budget is None else budget
    runs = []
    for seed in range(seeds):
        runs.append(train(step, steps, seed, every=max(1, steps // 20)))
        print(
            f"seed {seed}: {runs[-1][1][-1][1]:.2f} of the training split after {steps:,} steps", flush=True
        )
    makers, curves = zip(*runs, strict=True)
    result = benchmark.run(
        step,
        makers,
        name="linear policy",
        episodes=episodes,
        curves=curves,
        budget=steps,
        command=f"examples/benchmark_levels.py --level {level} --seeds {seeds} --budget {steps} --episodes {episodes}",
        output=output,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
