"""How often the scripted pair completes its tasks: `python -m benchmarks.pairs --controls walking`.

The builder does not see the target. The architect describes single blocks, or shapes with `--level shapes`; the table
then has the share of utterances that shapes save. If the pair fails, the planner is asked whether the structure is
impossible.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import iglu_marl
from benchmarks.harness import figures_table, make_parser, progress_console, run_all, run_command
from iglu_marl import Role, Task
from iglu_marl.agents import ScriptedArchitect, agents_for
from iglu_marl.agents.scripted.state_tracker import PLANNED_AS
from iglu_marl.core.controls import CONTROLS
from iglu_marl.data import MultiturnDataset, tasks_from_folder
from iglu_marl.planning import plan
from iglu_marl.tasks import BundledTasks, RandomTasks, StructureTasks

VERDICTS = ("built", "impossible", "unresolved")
_SIGHTS = ("dialog", "inventory", "pose", "grid")


ADVERSARIAL = Path(__file__).with_name("adversarial.jsonl")
"""A hundred structures that are awkward to build, each with what stands at the start."""
RANDOM: dict[str, Any] = {"max_blocks": 8, "height_levels": 3, "num_colors": 6}
SOURCES = "random, adversarial, bundled, or a file of structures or turns"


def tasks_of(source: str, count: int | None, seed: int) -> list[Task]:
    """Return the tasks of a source.

    "random": up to 8 blocks, 3 layers, 6 colours. "adversarial": those of `ADVERSARIAL`. "bundled", or a file of
    structures. The zip or folder of the IGLU multi-turn data: every turn is a task, and `count` of them are sampled.
    """
    rng = np.random.default_rng(seed)
    if source == "random":
        made = RandomTasks(**RANDOM)
        return [made.sample(rng).replace(task_id=f"random-{number}") for number in range(count or 200)]
    if source == "adversarial":
        return list(tasks_from_folder(ADVERSARIAL))[:count]
    if source == "bundled" or source.endswith(".json"):
        found = list(BundledTasks(mode="structures") if source == "bundled" else StructureTasks(source))
        return found[:count]
    sessions = [own for group in MultiturnDataset(path=source, dialogs=False).tasks.values() for own in group]
    turns = [own[turn] for own in sessions for turn in range(len(own))]
    turns = [task for task in turns if not task.is_complete_at_start]
    chosen = rng.permutation(len(turns))[:count]
    return [turns[number].replace(task_id=f"{turns[number].task_id}#{number}") for number in sorted(chosen)]


def play_one(task: Task, options: dict[str, Any], builder: str, seed: int) -> dict[str, Any]:
    options = dict(options)
    speech = {"level": options.pop("level", "blocks"), "references": options.pop("references", "none")}
    options = {"max_steps": 60_000, **options}
    env = iglu_marl.raw_env(tasks=task, builder_sees=_SIGHTS, max_turns=None, **options)
    began = time.perf_counter()
    pair = agents_for(env, builder=builder)
    pair[Role.ARCHITECT] = ScriptedArchitect.for_env(env, **speech)
    game = iglu_marl.play(env, pair, seed=seed)
    spoken = sum(utterance.role is Role.ARCHITECT for utterance in game.dialogue)
    edits = int(np.count_nonzero(task.start_grid != task.target_grid))
    row = {
        "task": task.task_id,
        "blocks": game.target_blocks,
        "verdict": "built" if game.completed else "unresolved",
        "reason": "",
        "intersection": game.intersection,
        "steps": game.builder_steps,
        "utterances": len(game.dialogue),
        "instructions": spoken,
        "edits": edits,
        "seconds": round(time.perf_counter() - began, 2),
    }
    if not game.completed:
        controls = PLANNED_AS[options["controls"]]
        whole = plan((task.start_grid, iglu_marl.Pose()), task.target_grid, controls)
        if whole.verdict == "impossible":
            row["verdict"] = "impossible"
        row["reason"] = (
            whole.reason or f"the planner builds the whole in {len(whole)} steps, the pair does not"
        )
    return row


def run(tasks: list[Task], args: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    options = {"controls": args.controls, "builder_can_ask": args.ask}
    options |= {"level": args.level, "references": args.references}
    jobs = [(task, options, args.builder, args.seed + i) for i, task in enumerate(tasks)]
    return run_all(play_one, jobs, args.processes, f"{args.controls}, {args.tasks}", console)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts by verdict, and medians over the completed games."""
    verdicts = Counter(row["verdict"] for row in rows)
    built = [row for row in rows if row["verdict"] == "built"]

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
        **savings(built),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }


def savings(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean share of instructions saved against one per changed cell, over all games and those with a
    saving.
    """
    saved = [1 - row["instructions"] / row["edits"] for row in rows if row["edits"]]
    where = [share for share in saved if share > 0]
    return {
        "mean_saved": round(float(np.mean(saved)), 4) if saved else 0.0,
        "games_with_shapes": len(where),
        "mean_saved_with_shapes": round(float(np.mean(where)), 4) if where else 0.0,
    }


def show(rows: list[dict[str, Any]], console: Console, title: str) -> None:
    console.print(title)
    console.print(figures_table({"value": summary(rows)}))
    for row in rows:
        if row["verdict"] != "built":
            built = f"{row['intersection']} of {row['blocks']}"
            console.print(
                f"{row['task']}: {row['verdict']} ({built} blocks, {row['steps']} steps): {row['reason']}"
            )


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = make_parser("pairs", __doc__)
    parser.add_argument("--controls", choices=CONTROLS, default="flying")
    parser.add_argument("--tasks", default="random", help=SOURCES)
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
    tasks = tasks_of(args.tasks, args.count, args.seed)[:: args.every]
    rows = run(tasks, args, progress_console(args))
    if args.json:
        print(json.dumps({"settings": vars(args), "summary": summary(rows), "games": rows}))
    else:
        show(rows, Console(), f"{args.builder} builder, {args.controls}, {args.tasks}")
    return 0


if __name__ == "__main__":
    run_command(main)
