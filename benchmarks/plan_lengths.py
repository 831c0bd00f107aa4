"""Plan lengths against a lower bound: `python -m benchmarks.plan_lengths --controls flying --tasks varied`.

Every task is planned from its starting grid and the usual starting pose. Built plans are replayed in the kernel, and
certificates of impossible ones are checked. The table has a column for each level of the planner.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.harness import figures_table, progress_console, run_all
from benchmarks.pairs import VERDICTS, task_parser, tasks_of
from iglu_marl import Pose
from iglu_marl.planning import PlanLevel, check_certificate, lower_bound, plan, replays
from iglu_marl.planning.problem import PLAN_LEVELS
from iglu_marl.tasks import Task


def plan_one(task: Task, controls: Any, level: PlanLevel) -> dict[str, Any]:
    """Make and check one plan."""
    world, target = (task.start_grid, Pose()), task.target_grid
    began = time.process_time()
    made = plan(world, target, controls, level)
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


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = task_parser("plan_lengths", __doc__, ("walking", "flying"), "varied")
    parser.add_argument("--level", choices=PLAN_LEVELS, help="one level of the planner; all by default")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    tasks = tasks_of(args.tasks, args.count, args.seed)[:: args.every]
    plan_one(tasks[0], args.controls, "fast")  # compiles what is not compiled yet
    plans: dict[str, list[dict[str, Any]]] = {}
    for level in [args.level] if args.level else PLAN_LEVELS:
        jobs = [(task, args.controls, level) for task in tasks]
        title = f"{args.controls}, {args.tasks}, {level}"
        plans[level] = run_all(plan_one, jobs, args.processes, title, progress_console(args))
    figures = {level: summary(rows) for level, rows in plans.items()}
    if args.json:
        print(json.dumps({"settings": vars(args), "summary": figures, "plans": plans}))
        return 0
    console = Console()
    console.print(figures_table(figures, f"{args.controls}, {args.tasks}"))
    for level, rows in plans.items():
        for row in rows:
            if row["verdict"] != "built":
                console.print(f"{level}: {row['task']}: {row['verdict']}: {row['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
