"""Plan lengths against a lower bound: `python -m benchmarks.plan_lengths --controls flying --tasks varied`.

Every task is planned from its starting grid and the usual starting pose. Built plans are replayed in the kernel, and
certificates of impossible ones are checked. `--ablation` has a row for each level of the planner, and for the planner
without each of its layers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

from benchmarks.harness import figures_table, progress_console, run_all
from benchmarks.pairs import VERDICTS, task_parser, tasks_of
from iglu_marl import Pose
from iglu_marl.planning import PlanLevel, check_certificate, lower_bound, plan, replays
from iglu_marl.planning.flying import search
from iglu_marl.planning.problem import PLAN_LEVELS
from iglu_marl.planning.walking import viewpoints
from iglu_marl.tasks import Task

# Layer -> what stands in for it: (module, name, replacement).
LAYERS: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "shortening": tuple(
        (f"iglu_marl.planning.{module}", "shorten", lambda problem, actions: list(actions))
        for module in ("planner", "walking.viewpoints")
    ),
    "scaffolds": ((viewpoints.__name__, "pillars", lambda grid, desired: np.zeros(grid.shape, bool)),),
    "trials": ((viewpoints.__name__, "_price_by_trial", lambda problem, viewpoint: viewpoint),),
    "camera beam": ((viewpoints.__name__, "WORK_WIDTH", 1),),
    "side prices": (
        (
            search.__name__,
            "SEARCHES",
            tuple(weights._replace(side=0.0, short=0.0) for weights in search.SEARCHES),
        ),
    ),
    "flight beam": ((search.__name__, "BEAM_WIDTH", 1),),
}
# Rows of the table: the level, and the layer that is left out.
ABLATION: dict[str, tuple[tuple[PlanLevel, str | None], ...]] = {
    "walking": (
        ("fast", None),
        ("short", None),
        ("shortest", None),
        ("fast", "shortening"),
        ("short", "shortening"),
        ("short", "scaffolds"),
        ("short", "trials"),
        ("short", "camera beam"),
    ),
    "flying": (
        ("fast", None),
        ("short", None),
        ("shortest", None),
        ("short", "side prices"),
        ("short", "flight beam"),
    ),
}


@contextmanager
def without(layer: str | None) -> Iterator[None]:
    """Disable a layer of the planner."""
    with ExitStack() as stack:
        for module, name, replacement in LAYERS[layer] if layer else ():
            stack.enter_context(patch(f"{module}.{name}", replacement))
        yield


def plan_one(task: Task, controls: Any, level: PlanLevel, layer: str | None = None) -> dict[str, Any]:
    """Make and check one plan."""
    world, target = (task.start_grid, Pose()), task.target_grid
    with without(layer):
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
    parser = task_parser("plan_lengths", __doc__, tuple(ABLATION), "varied")
    parser.add_argument("--level", choices=PLAN_LEVELS, default="shortest")
    parser.add_argument("--without", choices=tuple(LAYERS), help="leave out a layer of the search")
    parser.add_argument(
        "--ablation", action="store_true", help="a row for each level, and without each layer"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    args = parse_arguments(arguments)
    tasks = tasks_of(args.tasks, args.count, args.seed)[:: args.every]
    plan_one(tasks[0], args.controls, args.level)  # compiles what is not compiled yet
    chosen = ABLATION[args.controls] if args.ablation else ((args.level, args.without),)
    found = []
    for level, layer in chosen:
        jobs = [(task, args.controls, level, layer) for task in tasks]
        title = f"{args.controls}, {args.tasks}, {level}"
        rows = run_all(plan_one, jobs, args.processes, title, progress_console(args))
        found.append({"level": level, "without": layer, "summary": summary(rows), "plans": rows})
    if args.json:
        print(json.dumps({"settings": vars(args), "runs": found}))
        return 0
    names = [f"{run['level']}{' without ' + run['without'] if run['without'] else ''}" for run in found]
    console = Console()
    columns = {name: run["summary"] for name, run in zip(names, found, strict=True)}
    console.print(figures_table(columns, f"{args.controls}, {args.tasks}"))
    for name, result in zip(names, found, strict=True):
        for row in result["plans"]:
            if row["verdict"] != "built":
                console.print(f"{name}: {row['task']}: {row['verdict']}: {row['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
