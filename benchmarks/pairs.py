"""How often the scripted pair completes its tasks: `python -m benchmarks.pairs --controls walking`.

The builder does not see the target. The architect describes single blocks, or shapes with `--level shapes`; the table
then has the share of utterances that shapes save. The games are those of `iglu_marl.evaluate`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.harness import figures_table, make_parser, run_command
from iglu_marl import Task, evaluate
from iglu_marl.agents import ScriptedArchitect
from iglu_marl.core.controls import CONTROLS
from iglu_marl.data import tasks_from_folder
from iglu_marl.evaluation import ImpossibleWarning, tasks_of

VERDICTS = ("built", "impossible", "unresolved")
ADVERSARIAL = Path(__file__).with_name("adversarial.jsonl")
"""A hundred structures that are awkward to build, each with what stands at the start."""


def play(
    tasks: list[Task],
    controls: str,
    *,
    builder: str = "scripted",
    level: str = "blocks",
    references: str = "none",
    ask: bool = False,
    seed: int = 0,
    processes: int = 1,
) -> list[dict[str, Any]]:
    """Return a row for each task."""
    architect = {"scripted": partial(ScriptedArchitect.for_env, level=level, references=references)}
    config = {"max_steps": 60_000, "builder_can_ask": ask}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleWarning)
        played = evaluate(
            *(architect, builder, tasks),
            controls=controls,
            config=config,
            seed=seed,
            processes=processes,
            baselines=False,
        )
    return [
        {
            "task": row["task"],
            "blocks": row["blocks"][2],
            "verdict": "built" if row["completed"] else "impossible" if row["impossible"] else "unresolved",
            "reason": row["impossible"],
            "intersection": row["blocks"][0],
            "utterances": len(row["dialogue"]),
            "edits": row["changes"][2],
            **{name: row[name] for name in ("steps", "instructions", "seconds")},
        }
        for row in played.rows
    ]


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts by verdict, medians over the completed games, and the mean share of instructions saved against one
    per changed cell, over these games and those with a saving.
    """
    verdicts = Counter(row["verdict"] for row in rows)
    built = [row for row in rows if row["verdict"] == "built"]
    saved = [1 - row["instructions"] / row["edits"] for row in built if row["edits"]]
    where = [share for share in saved if share > 0]

    def median(values: list[float]) -> float:
        return round(float(np.median(values)), 1) if values else 0.0

    return {
        "games": len(rows),
        **{verdict: verdicts[verdict] for verdict in VERDICTS},
        "share_built": round(verdicts["built"] / len(rows), 4),
        "median_steps": median([row["steps"] for row in built]),
        "median_steps_per_block": median([row["steps"] / row["blocks"] for row in built]),
        "median_utterances": median([row["utterances"] for row in built]),
        "instructions": sum(row["instructions"] for row in built),
        "edits": sum(row["edits"] for row in built),
        "mean_saved": round(float(np.mean(saved)), 4) if saved else 0.0,
        "games_with_shapes": len(where),
        "mean_saved_with_shapes": round(float(np.mean(where)), 4) if where else 0.0,
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }


def show(rows: list[dict[str, Any]], console: Console, title: str) -> None:
    console.print(title)
    console.print(figures_table({"value": summary(rows)}))
    for row in rows:
        if row["verdict"] != "built":
            built = f"{row['intersection']} of {row['blocks']}"
            console.print(
                f"{row['task']}: {row['verdict']} ({built} blocks, {row['steps']} steps) {row['reason']}"
            )


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser("pairs", __doc__)
    parser.add_argument("--controls", choices=CONTROLS, default="flying")
    parser.add_argument("--tasks", default="random", help="adversarial, or a source as of `evaluate`")
    parser.add_argument("--count", type=int, help="number of tasks (default: 200 random ones, or all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take only every Nth")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--level", choices=("blocks", "shapes"), default="blocks", help="what is asked for")
    parser.add_argument(
        "--references", choices=("none", "exact", "loose"), default="none", help="references to places"
    )
    parser.add_argument("--builder", choices=("scripted", "oracle"), default="scripted")
    parser.add_argument("--ask", action="store_true", help="the builder may speak")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    source = list(tasks_from_folder(ADVERSARIAL)) if args.tasks == "adversarial" else args.tasks
    count = 200 if args.tasks == "random" and args.count is None else args.count
    options = {
        key: getattr(args, key) for key in ("builder", "level", "references", "ask", "seed", "processes")
    }
    rows = play(tasks_of(source, count=count, seed=args.seed)[:: args.every], args.controls, **options)
    if args.json:
        print(json.dumps({"settings": vars(args), "summary": summary(rows), "games": rows}))
    else:
        show(rows, Console(), f"{args.builder} builder, {args.controls}, {args.tasks}")
    return 0


if __name__ == "__main__":
    run_command(main)
