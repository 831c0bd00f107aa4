"""Algorithms compared on levels of teams, by `examples/marl_ppo.py`: `python -m benchmarks.algorithms LEVEL`.

For each method: settings chosen by one run on the validation split, then a run for each seed, and a result file with
its games in the folder. The pairs of `PAIRS` were named before any of these runs. Needs the extra `rl`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from iglu_marl import benchmark
from iglu_marl.benchmark.results import improvement
from iglu_marl.core.extras import extra
from iglu_marl.core.tables import Code, Table, markdown_table

with extra("rl", script=True):
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import marl_ppo
    import torch

    from benchmarks.independent_q import IndependentQ

METHODS: dict[str, dict[str, str]] = {
    "IPPO": {"algorithm": "ippo", "memory": "none"},
    "MAPPO": {"algorithm": "mappo", "memory": "none"},
    "IPPO with GRU": {"algorithm": "ippo", "memory": "gru"},
    "MAPPO with GRU": {"algorithm": "mappo", "memory": "gru"},
    "IQL": {},  # on levels whose agents are all builders
}
PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "team-divide-v2": (
        ("IPPO with GRU", "IPPO"),
        ("MAPPO with GRU", "IPPO with GRU"),
        ("IPPO with GRU", "IQL"),
    ),
    "team-assist-v2": (("MAPPO", "IPPO"), ("IPPO with GRU", "IPPO"), ("MAPPO", "IQL")),
    "team-sides-v2": (("MAPPO", "IPPO"), ("IPPO with GRU", "IPPO")),
    "team-relay-v2": (("MAPPO", "IPPO"), ("IPPO with GRU", "IPPO")),
}
"""The pairs that are compared on each level, the one that is expected to be better first."""
GAMES = 512  # side by side


class Seats:
    """The trained agents of a role, for `benchmark.run`."""

    def __init__(self, trainer: Any, role: str) -> None:
        self.trainer, self.role = trainer, role

    def for_seat(self, env: Any, agent: str) -> Any:
        """Return the agent of a seat."""
        if isinstance(self.trainer, IndependentQ):
            return self.trainer
        settings = self.trainer.settings
        return marl_ppo.Seat(self.trainer.learners[self.role], settings["memory"] != "none")

    def __call__(self, env: Any) -> Any:
        """Return the agent of the first seat."""
        return self.for_seat(env, f"{self.role}_0")


def trained(level: str, method: str, seed: int, rate: float, steps: int) -> Any:
    """Return a trainer after a number of steps of all games together."""
    if method == "IQL":
        learner = IndependentQ(level, seed, rate)
        learner.train(steps)
        return learner
    settings = {"game": level, **METHODS[method], "rewards": "shared", "reward": "own", "seed": seed}
    trainer = marl_ppo.Trainer({**settings, "games": GAMES, "rate": rate})
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        trainer.train(steps, Path(folder))
    return trainer


def curve_of(trainer: Any) -> list[tuple[int, float]]:
    """Return the share completed in training at the steps before each update, about thirty of them."""
    if isinstance(trainer, IndependentQ):
        return trainer.curve
    each = GAMES * trainer.game.rules.steps
    points = [(row["steps"] - each, row["completed"]) for row in trainer.curve]
    return points[:: max(1, len(points) // 30)]


def compare(level: str, results: dict[str, Any]) -> str:
    """Return the table of the named pairs."""
    rows = []
    for better, other in PAIRS[level]:
        if not {better, other} <= results.keys():
            continue
        share = improvement(results[better].scores(), results[other].scores())
        rows.append([Code(level), better, other, share.text(lambda value: f"{value:.2f}")])
    return markdown_table(Table(("level", "method", "other", "probability of improvement"), rows))


def measure(level: str, method: str, trainers: Sequence[Any], path: Path, episodes: int, command: str) -> Any:
    """Play the games of a method on the test split, and write the result file."""
    return benchmark.run(
        level,
        [(Seats(trainer, "architect"), Seats(trainer, "builder")) for trainer in trainers],
        name=method,
        episodes=episodes,
        curves=[curve_of(trainer) for trainer in trainers],
        command=command,
        output=path,
        record=True,
        budget=max(trainer.steps for trainer in trainers),
        supervision=("reward",),
    )


def main(
    level: str,
    output: Path = Path("runs/algorithms"),
    rates: str = "0.005",
    tried: int = 0,
    methods: str = "",
    seeds: int = 0,
    steps: int = 0,
    episodes: int = 60,
) -> None:
    """Train and measure all methods on a level.

    level: name. output: folder of the result files. rates: learning rates, of which the best on the validation split is
    used, by one run each. seeds: runs of each method; 0: as many as the level asks for. steps, tried: of the training
    of a run, and of one that chooses the rate; 0: the level's budget. methods: their names, separated by commas; none:
    all. episodes: games of each run.
    """
    torch.set_num_threads(1)
    count, budget = seeds or benchmark.find(level).seeds, steps or benchmark.find(level).budget
    options = (
        f"--rates {rates} --tried {tried or budget} --steps {budget} --seeds {count} --episodes {episodes}"
    )
    options += f" --methods '{methods}'" if methods else ""
    command = f"python -m benchmarks.algorithms {level} {options}"
    numbers = list(map(float, rates.split(",")))
    results: dict[str, Any] = {}
    output.mkdir(parents=True, exist_ok=True)
    chosen = [one.strip() for one in methods.split(",")] if methods else list(METHODS)
    for method in chosen:
        if method == "IQL" and any("builder" not in agent for agent in benchmark.make(level).possible_agents):
            continue
        started, shares = time.process_time(), dict.fromkeys(numbers, 0.0)
        for rate in numbers if len(numbers) > 1 else ():
            trainer = trained(level, method, 0, rate, tried or budget)
            shares[rate] = trainer.measure(marl_ppo.some_of(benchmark.find(level).tasks("validation"), GAMES))
        rate = max(shares, key=lambda one: shares[one])
        trainers = [trained(level, method, seed, rate, budget) for seed in range(count)]
        path = output / f"{level}_{method.lower().replace(' ', '-')}.json"
        results[method] = measure(level, method, trainers, path, episodes, command)
        success = results[method].interval().text("{:.3f}".format)
        used = time.process_time() - started
        print(f"{level} {method}: {success}, by run {results[method].scores()}", flush=True)
        print(
            f"  validation by rate {shares}; {used:.0f} CPU-seconds, {trainers[0].steps:,} steps", flush=True
        )
    print(compare(level, results))


if __name__ == "__main__":
    typer.run(main)
