"""A learner on a level of the benchmark, by the protocol: train, measure, write the result file, report.

    python examples/benchmark_levels.py --level see-place-v1 --seeds 6 --output see-place.json

The learner is that of the shortcut baselines, a network that imitates the oracle with NumPy alone, on the levels of a
single builder without a live architect. Put your own in its place: what `train` returns is a function that makes a
builder for an environment.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from iglu_marl import benchmark
from iglu_marl.benchmark.controls import ImitatingBuilder, cells_of_tasks, expert_actions, imitate
from iglu_marl.benchmark.report import markdown
from iglu_marl.benchmark.splits import some_of

Curve = list[tuple[int, float]]
SHARES = (0.125, 0.25, 0.5, 1.0)  # of the demonstrations, for the curve of sample efficiency


def train(level: benchmark.Level, games: int, seed: int) -> tuple[Callable[[Any], ImitatingBuilder], Curve]:
    """A builder that imitates `games` demonstrations, and its success on the validation split by environment steps."""
    level = level.fold(seed)  # what is held out depends on the seed
    tasks, actions = expert_actions(level, some_of(level.tasks("train"), games, seed))
    validation = some_of(level.tasks("validation"), 100)
    cells = cells_of_tasks([*tasks, *validation, *some_of(level.tasks("test"), 256)])  # that have weights
    sees = (*level.sees, *(("target",) * level.sees_target))
    curve: Curve = [(0, 0.0)]
    for share in SHARES:
        count = max(1, round(share * len(tasks)))
        policy = imitate(level, tasks[:count], actions[:count], sees, seed, cells=cells)
        curve.append((sum(map(len, actions[:count])), float(policy.successes(validation).mean())))
    return lambda env: ImitatingBuilder(policy), curve


def main(
    level: str = "see-place-v1",
    seeds: int = 6,
    demonstrations: int = 1000,
    episodes: int = 40,
    output: Path | None = None,
) -> benchmark.Result:
    """Train for each seed, measure all runs on the test split, and show the report.

    demonstrations: games of the oracle that each run imitates. episodes: test games per run. output: the result file.
    """
    step = benchmark.find(level)
    runs = []
    for seed in range(seeds):
        runs.append(train(step, demonstrations, seed))
        steps, share = runs[-1][1][-1]
        print(
            f"seed {seed}: {share:.2f} of the validation split after {steps:,} steps of the oracle",
            flush=True,
        )
    makers, curves = zip(*runs, strict=True)
    options = f"--level {level} --seeds {seeds} --demonstrations {demonstrations} --episodes {episodes}"
    result = benchmark.run(
        step,
        makers,
        name="imitation of the oracle",
        episodes=episodes,
        curves=curves,
        budget=max(curve[-1][0] for curve in curves),
        command=f"examples/benchmark_levels.py {options}",
        output=output,
    )
    print(markdown([result]))
    return result


if __name__ == "__main__":
    typer.run(main)
