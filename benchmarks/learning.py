"""Learning from scratch over several seeds: `python -m benchmarks.learning --task target --seeds 3`.

Trains `examples/ppo_builder.py` with each seed, also without the target, the instruction or the picture (control);
writes all measurements to docs/learning/TASK.json and draws docs/images/learning_TASK.svg.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.curves import plot_curves, show_or_measure, table
from benchmarks.examples import load_example
from iglu_marl.core.files import json_ready


@dataclass(frozen=True)
class Study:
    """A task: its curves by label, each with changes of the configuration and the measured split."""

    title: str
    curves: dict[str, tuple[dict[str, Any], str]]

    @property
    def variants(self) -> list[dict[str, Any]]:
        """Return the different configurations to train."""
        return [dict(items) for items in dict.fromkeys(tuple(c.items()) for c, _ in self.curves.values())]


STUDIES = {
    "target": Study(
        "Structures of one to three blocks, built exactly",
        {"target in the observation": ({}, "new")},
    ),
    "language": Study(
        "A block placed as instructed, exactly",
        {
            "seen colour and place pairs": ({}, "seen"),
            "pairs held out": ({}, "unseen"),
            "instruction hidden": ({"blind": True, "total_steps": 300_000}, "seen"),
        },
    ),
    "pixels": Study(
        "The red block among three, found and removed",
        {"64 x 64 pixels": ({}, "new"), "pictures hidden": ({"blind": True, "total_steps": 100_000}, "new")},
    ),
}


@lru_cache(maxsize=1)
def example() -> ModuleType:
    return load_example("ppo_builder")


def run(task: str, changes: dict[str, Any], seed: int, show: Callable[[str], None]) -> dict[str, Any]:
    """Train with one seed; return configuration, measurements and duration."""
    module = example()
    config = replace(module.Config(**module.PRESETS[task]), task=task, seed=seed, **changes)
    began, records = time.perf_counter(), []
    for record in module.train(config):
        records.append(record)
        show(f"{task} {'hidden' if config.blind else ''} seed {seed}: {module.line_of(record)}")
    return {"config": asdict(config), "records": records, "wall_s": round(time.perf_counter() - began, 1)}


def of_variant(runs: Iterable[dict[str, Any]], changes: dict[str, Any]) -> list[dict[str, Any]]:
    full = {"blind": False, **changes}
    return [run for run in runs if all(run["config"][key] == value for key, value in full.items())]


def curves_of(study: Study, runs: list[dict[str, Any]]) -> dict[str, list[tuple[list[int], list[float]]]]:
    return {
        label: [
            ([r["steps"] for r in run["records"]], [r[split]["success"] for r in run["records"]])
            for run in of_variant(runs, changes)
        ]
        for label, (changes, split) in study.curves.items()
        if of_variant(runs, changes)
    }


def report(study: Study, runs: list[dict[str, Any]]) -> str:
    rows = {}
    for label, (changes, split) in study.curves.items():
        last = [run["records"][-1] for run in of_variant(runs, changes)]
        if last:
            rows[label] = {"completed exactly": [record[split]["success"] for record in last]}
    last = [run["records"][-1] for run in runs]
    speed = sum(record["steps"] for record in last) / max(sum(record["seconds"] for record in last), 1e-9)
    minutes = [record["seconds"] / 60 for record in last]
    return (
        f"{table(rows)}\n\n{last[0]['episodes']} episodes at the end of each run; "
        f"{min(minutes):.1f} to {max(minutes):.1f} minutes of one core for each run, "
        f"{last[0]['steps'] / 1e6:.1f} million steps, {speed:,.0f} steps a second with learning and measurements"
    )


def measure(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    steps = {"total_steps": args.steps} if args.steps else {}
    runs = [
        run(args.task, changes | steps, seed, lambda line: print(line, flush=True))
        for changes in STUDIES[args.task].variants
        for seed in range(args.seeds)
    ]
    command = f"python -m benchmarks.learning --task {args.task} --seeds {args.seeds}"
    command += f" --steps {args.steps}" if args.steps else ""
    return json_ready({"command": command, "torch": torch.__version__, "runs": runs}, digits=5)


def show(result: dict[str, Any], images: Path) -> None:
    runs = result["runs"]
    task = runs[0]["config"]["task"]
    study, image = STUDIES[task], images / f"learning_{task}.svg"
    plot_curves(curves_of(study, runs), image, ylabel="episodes completed exactly", title=study.title)
    print(report(study, runs))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--task", choices=sorted(STUDIES), required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="environment steps of each run, by default the example's")
    show_or_measure(parser, "{task}", measure, show)


if __name__ == "__main__":
    main()
