"""Share of human instructions that are understood: `python -m benchmarks.human_instructions [--data PATH]`.

PATH is the IGLU single-turn data (zip or folder), or its table alone as a csv file, which gives the parse share only.
Results of understood instructions are compared with what another person built from the same instruction ("a second
build") and with what its author had built ("the original"). The agreement between the two people is printed as well.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from benchmarks.harness import figures_table, make_parser, progress_console, run_command
from iglu_marl.data import SingleturnDataset
from iglu_marl.language import Failure, done, outcomes, parse, progress


@dataclass(frozen=True)
class Sample:
    """An instruction, with the worlds before and after if known."""

    name: str
    text: str
    start: npt.NDArray[Any] | None = None
    built: npt.NDArray[Any] | None = None
    original: npt.NDArray[Any] | None = None


def samples_of(path: str | None) -> list[Sample]:
    """Return the different games of a table (those found clear) or of a data set (those that were built)."""
    if path is not None and path.endswith(".csv"):
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = {row["GameId"]: row for row in csv.DictReader(file) if row["IsInstructionClear"] == "Yes"}
        return [Sample(name, row["InputInstruction"]) for name, row in rows.items()]
    data = SingleturnDataset(path=path, progress=False)
    first = SingleturnDataset(path=path, progress=False, target="original")
    originals = {task.task_id: task.target_grid for tasks in first.tasks.values() for task in tasks}
    return [
        Sample(
            str(task.task_id),
            str(task.last_instruction),
            task.start_grid,
            task.target_grid,
            originals.get(task.task_id),
        )
        for tasks in data.tasks.values()
        for task in tasks
    ]


def judge(sample: Sample) -> dict[str, Any]:
    found = parse(sample.text)
    known = sample.start is not None and sample.built is not None
    row: dict[str, Any] = {
        "name": sample.name,
        "text": sample.text,
        "understood": not isinstance(found, Failure),
        "changed": known and not np.array_equal(sample.start, sample.built),  # an empty build judges nothing
        "agreed": known and np.array_equal(sample.built, sample.original),
        "equal": False,
        "either": False,
    }
    if isinstance(found, Failure):
        return {**row, "result": str(found.reason), "detail": found.detail}
    if sample.start is None or sample.built is None:
        return {**row, "result": "parsed", "detail": str(found)}
    made = outcomes(found, sample.start)
    if isinstance(made, Failure):
        return {**row, "result": f"cannot be followed: {made.reason}", "detail": f"{made.detail}; {found}"}
    share = progress(found, sample.start, sample.built)
    assert not isinstance(share, Failure)
    original = sample.original is not None and done(found, sample.start, sample.original)
    row |= {"equal": share == 1.0, "either": share == 1.0 or original, "progress": round(share, 3)}
    return {**row, "result": "equal" if share == 1.0 else "different", "detail": str(found)}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return counts and shares. Those of worlds leave out the games in which the second person built nothing."""
    changed = [row for row in rows if row["changed"]]
    figures: dict[str, Any] = {
        "instructions": len(rows),
        "understood": sum(row["understood"] for row in rows),
        "share_understood": share_of(rows, "understood"),
    }
    if changed:
        followed = [row for row in changed if "progress" in row]
        figures |= {
            "something_was_built": len(changed),
            "followed": len(followed),
            "equal_to_the_build": sum(row["equal"] for row in followed),
            "share_equal_to_the_build": share_of(changed, "equal"),
            "share_equal_to_build_or_original": share_of(changed, "either"),
            "share_equal_to_the_build_of_followed": share_of(followed, "equal"),
            "share_equal_to_build_or_original_of_followed": share_of(followed, "either"),
            "share_in_which_build_and_original_agree": share_of(changed, "agreed"),
            "mean_progress_of_followed": share_of(followed, "progress"),
        }
    return figures | {"results": dict(Counter(row["result"] for row in rows).most_common())}


def share_of(rows: list[dict[str, Any]], name: str) -> float:
    return round(sum(row[name] for row in rows) / max(1, len(rows)), 4)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser("human_instructions", __doc__)
    parser.add_argument(
        "--data", help="the single-turn data, or its table as csv; default: where `iglu-marl data` finds it"
    )
    parser.add_argument("--count", type=int, help="largest number of instructions")
    parser.add_argument("--examples", type=int, default=0, help="number of examples to print per result")
    args = parser.parse_args(arguments)
    began = time.perf_counter()
    samples = samples_of(args.data)[: args.count]
    rows = [judge(sample) for sample in track(samples, "reading", console=progress_console(args))]
    figures = summary(rows) | {"seconds": round(time.perf_counter() - began, 1)}
    if args.json:
        print(json.dumps({"settings": vars(args), "summary": figures, "instructions": rows}))
        return 0
    results = figures.pop("results")
    Console().print(
        figures_table({"value": figures | {f"  {name}": count for name, count in results.items()}})
    )
    for result in results:
        chosen = [row for row in rows if row["result"] == result][: args.examples]
        for row in chosen:
            print(f"[{result}] {row['name']}: {row['text']!r}\n    {row['detail']}")
    return 0


if __name__ == "__main__":
    run_command(main)
