"""How often the scripted pair completes its tasks: `python -m benchmarks.pairs --controls walking`.

The builder does not see the target. The architect describes single blocks, or shapes with `--level shapes`; the table
then has the share of utterances that shapes save. If the pair fails, the planner is asked whether the structure is
impossible.
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

import iglu_marl
from benchmarks.adversarial import adversarial_tasks
from benchmarks.harness import figures_table, make_parser, progress_console, run_all
from iglu_marl import Role, Task
from iglu_marl.agents import ScriptedArchitect, agents_for
from iglu_marl.agents.scripted.state_tracker import PLANNED_AS
from iglu_marl.core.controls import CONTROLS
from iglu_marl.data import MultiturnDataset
from iglu_marl.planning import plan
from iglu_marl.tasks import BundledTasks, RandomTasks, StructureTasks

VERDICTS = ("built", "impossible", "unresolved")
_SIGHTS = ("dialog", "inventory", "pose", "grid")


# Settings of RandomTasks that "varied" takes in turn: low, tall, floating, dense, wide, scattered.
VARIED: tuple[dict[str, Any], ...] = (
    {"max_blocks": 8, "height_levels": 3, "num_colors": 6},
    {"max_blocks": 20, "height_levels": 6, "num_colors": 6, "max_dist": 3},
    {"max_blocks": 12, "height_levels": 9, "num_colors": 3, "max_dist": 4, "allow_float": True},
    {"max_blocks": 27, "height_levels": 9, "num_colors": 4},
    {"max_blocks": 20, "height_levels": 1, "num_colors": 2, "max_dist": 10},
    {"max_blocks": 6, "height_levels": 9, "num_colors": 6, "max_dist": 10, "allow_float": True},
)
ZONE = (9, 11, 11)
SOURCES = "random, varied, hard, adversarial, bundled, or a file of structures or turns"


def tasks_of(source: str, count: int | None, seed: int) -> list[Task]:
    """Return the tasks of a source.

    "random": up to 8 blocks, 3 layers, 6 colours. "varied": the settings `VARIED` in turn. "hard": see `hard_task`.
    "adversarial": `benchmarks/adversarial.py`. "bundled", or a file of structures. The zip or folder of the IGLU
    multi-turn data: every turn is a task, and `count` of them are sampled.
    """
    rng = np.random.default_rng(seed)
    if source in ("random", "varied"):
        makers = [RandomTasks(**settings) for settings in (VARIED if source == "varied" else VARIED[:1])]
        made = (makers[number % len(makers)].sample(rng) for number in range(count or 200))
        return [task.replace(task_id=f"{source}-{number}") for number, task in enumerate(made)]
    if source == "hard":
        return [hard_task(number, rng) for number in range(count or 200)]
    if source == "adversarial":
        return adversarial_tasks()[:count]
    if source == "bundled" or source.endswith(".json"):
        found = list(BundledTasks(mode="structures") if source == "bundled" else StructureTasks(source))
        return found[:count]
    sessions = [own for group in MultiturnDataset(path=source, dialogs=False).tasks.values() for own in group]
    turns = [own[turn] for own in sessions for turn in range(len(own))]
    turns = [task for task in turns if not task.is_complete_at_start]
    chosen = rng.permutation(len(turns))[:count]
    return [turns[number].replace(task_id=f"{turns[number].task_id}#{number}") for number in sorted(chosen)]


def hard_task(number: int, rng: np.random.Generator) -> Task:
    """Return a structure that is hard to build: towers, a roof, a ring, a plane, a box, dots, or clutter."""
    grid, start = np.zeros(ZONE, np.int8), np.zeros(ZONE, np.int8)
    x, z = (int(v) for v in rng.integers(0, 8, 2))
    top = int(rng.integers(3, 10))
    kind = ("towers", "roof", "ring", "plane", "box", "dots", "clutter")[number % 7]
    if kind == "towers":
        for _ in range(int(rng.integers(1, 4))):
            grid[: int(rng.integers(4, 10)), rng.integers(0, 11), rng.integers(0, 11)] = 1
    elif kind == "roof":  # on one pillar
        grid[:top, x, z] = 1
        grid[top - 1, x : x + 3, z : z + 3] = 1
    elif kind == "ring":
        grid[top - 1, x : x + 3, z : z + 3] = 1
        grid[top - 1, x + 1, z + 1] = 0
    elif kind == "plane":
        width = int(rng.integers(5, 11))
        grid[int(rng.integers(0, 3)), :width, : 100 // width] = 1
    elif kind == "box":
        grid[: min(top, 5), x : x + 3, z : z + 3] = 1
        grid[1, x + 1, z + 1] = 0
    elif kind == "dots":
        grid[tuple(rng.integers(0, ZONE, (int(rng.integers(1, 8)), 3)).T)] = 1
    else:
        for world in (grid, start):
            world[tuple(rng.integers(0, ZONE, (int(rng.integers(1, 30)), 3)).T)] = 1
            world[tuple(rng.integers(0, (2, 11, 11), (int(rng.integers(1, 30)), 3)).T)] = 1
    for world in (grid, start):
        cells = np.argwhere(world)
        world[tuple(cells.T)] = rng.permutation(np.repeat(np.arange(1, 7), 20))[: len(cells)]
    return Task("", grid, starting_grid=start, task_id=f"{kind}-{number}")


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


def task_parser(
    name: str, about: str | None, controls: tuple[str, ...], source: str
) -> argparse.ArgumentParser:
    """Return a parser with the options that name controls and tasks. source: the default of --tasks."""
    parser = make_parser(name, about)
    parser.add_argument("--controls", choices=controls, default="flying")
    parser.add_argument("--tasks", default=source, help=SOURCES)
    parser.add_argument("--count", type=int, help="number of tasks (default: 200 random ones, or all)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take only every Nth")
    parser.add_argument("--processes", type=int, default=1)
    return parser


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = task_parser("pairs", __doc__, CONTROLS, "random")
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
    sys.exit(main())
