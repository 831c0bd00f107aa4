"""How long plans are, against a lower bound: `python -m benchmarks.plan_lengths --controls flying --tasks varied`.

Every task is planned for as a whole, from its starting grid and the usual starting pose. A plan counts as built when
the kernel says so, and as impossible when its certificate passes the independent check; both are done here once more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.pairs import SOURCES, VERDICTS, tasks_of
from iglu_marl import Pose
from iglu_marl.planning import check_certificate, lower_bound, plan, replays
from iglu_marl.tasks import Task


def plan_one(task: Task, controls: Any, width: int) -> dict[str, Any]:
    """One plan: verdict, length, bound. Raises `AssertionError` where the planner claims what is not so."""
    world, target = (task.start_grid, Pose()), task.target_grid
    began = time.process_time()
    made = plan(world, target, controls, width=width)
    seconds = time.process_time() - began
    bound = lower_bound(world, target, controls)
    if made.built:
        assert replays(world, made.actions, controls, target), f"{task.task_id}: not built"
        assert len(made) >= bound.steps, f"{task.task_id}: {len(made)} steps, shorter than {bound}"
    if made.verdict == "impossible":
        assert check_certificate(world, target, controls, made.proof), f"{task.task_id}: {made.proof}"
    return {
        "task": task.task_id,
        "edits": int(np.count_nonzero(task.start_grid != target)),
        "verdict": made.verdict,
        "reason": made.reason,
        "steps": len(made),
        "bound": bound.steps,
        "scaffolds": len(made.scaffolds),
        "seconds": round(seconds, 3),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts by verdict, and medians over what was built."""
    verdicts = Counter(row["verdict"] for row in rows)
    built = [row for row in rows if row["verdict"] == "built" and row["bound"]]
    columns = {
        "median_steps": [row["steps"] for row in built],
        "median_steps_per_edit": [row["steps"] / row["edits"] for row in built],
        "median_bound_per_edit": [row["bound"] / row["edits"] for row in built],
        "median_ratio": [row["steps"] / row["bound"] for row in built],
        "median_seconds": [row["seconds"] for row in rows],
    }
    medians = {name: round(float(np.median(values)), 2) for name, values in columns.items() if values}
    return {"tasks": len(rows), **{verdict: verdicts[verdict] for verdict in VERDICTS}, **medians}


def run(tasks: list[Task], args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """All plans, over the processes asked for."""
    columns = tasks, [args.controls] * len(tasks), [args.width] * len(tasks)
    with ExitStack() as stack:
        if args.processes == 1:
            results = map(plan_one, *columns)
        else:
            results = stack.enter_context(ProcessPoolExecutor(args.processes)).map(plan_one, *columns)
        title = f"{args.controls}, {args.tasks}"
        return list(track(results, title, len(tasks), console=console, transient=True))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plan_lengths", description=__doc__)
    parser.add_argument("--controls", choices=("flying", "walking"), default="flying")
    parser.add_argument("--tasks", default="varied", help=SOURCES)
    parser.add_argument("--count", type=int, help="plan only so many (default: 200 random ones, or all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=3, help="of the search for shorter plans")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Plan, and print the figures."""
    args = parse_arguments(arguments)
    tasks = tasks_of(args.tasks, args.count, args.seed)
    rows = run(tasks, args, Console(stderr=True, quiet=args.json and not sys.stderr.isatty()))
    if args.json:
        print(json.dumps({"settings": vars(args), "summary": summary(rows), "plans": rows}))
        return 0
    table = Table("figure", "value", title=f"{args.controls}, {args.tasks}")
    for name, value in summary(rows).items():
        table.add_row(name.replace("_", " "), str(value))
    console = Console()
    console.print(table)
    for row in rows:
        if row["verdict"] != "built":
            console.print(f"{row['task']}: {row['verdict']}: {row['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
