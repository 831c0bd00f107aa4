"""Share of human instructions that are understood: `python -m benchmarks.human_instructions --data PATH`.

PATH is the IGLU single-turn data (zip or folder), or its table alone as a csv file, which gives the parse share only.
Results of understood instructions are compared with what another person built from the same instruction ("a second
build") and with what its author had built ("the original"). The agreement between the two people is printed as well.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from benchmarks.harness import figures_table, make_parser, progress_console
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


def samples_of(path: str) -> list[Sample]:
    """Return the different games of a table (those found clear) or of a data set (those that were built)."""
    if path.endswith(".csv"):
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
    row: dict[str, Any] = {"name": sample.name, "text": sample.text, "understood": False, "detail": ""}
    if isinstance(found, Failure):
        return {**row, "result": str(found.reason), "detail": found.detail}
    row |= {"understood": True, "result": "parsed", "detail": str(found)}
    if sample.built is not None and sample.original is not None:
        row["agreed"] = bool(np.array_equal(sample.built, sample.original))
    if sample.start is None or sample.built is None:
        return row
    made = outcomes(found, sample.start)
    if isinstance(made, Failure):
        return {**row, "result": f"cannot be followed: {made.reason}", "detail": f"{made.detail}; {found}"}
    share = progress(found, sample.start, sample.built)
    assert not isinstance(share, Failure)
    row["equal_to_original"] = sample.original is not None and done(found, sample.start, sample.original)
    row["changed"] = bool((sample.start != sample.built).any())
    return {**row, "result": "equal" if share == 1.0 else "different", "progress": round(share, 3)}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    results = Counter(row["result"] for row in rows)
    understood = sum(row["understood"] for row in rows)
    followed = [row["progress"] for row in rows if "progress" in row]
    agreed = [row["agreed"] for row in rows if "agreed" in row]
    equal = results["equal"]
    either = sum(row["result"] == "equal" or row.get("equal_to_original", False) for row in rows)
    changed = sum(row.get("changed", False) for row in rows)
    figures: dict[str, Any] = {
        "instructions": len(rows),
        "understood": understood,
        "share_understood": round(understood / max(1, len(rows)), 4),
    }
    if followed:
        figures |= {
            "followed": len(followed),
            "equal_to_the_build": equal,
            "share_equal_of_understood": round(equal / max(1, understood), 4),
            "share_equal_of_followed": round(equal / len(followed), 4),
            "followed_and_something_was_built": changed,
            "share_equal_where_something_was_built": round(equal / max(1, changed), 4),
            "share_equal_to_build_or_original_of_understood": round(either / max(1, understood), 4),
            "share_equal_to_build_or_original_of_followed": round(either / len(followed), 4),
            "share_of_understood_in_which_build_and_original_agree": round(float(np.mean(agreed)), 4),
            "mean_progress_of_followed": round(float(np.mean(followed)), 4),
        }
    return figures | {"results": dict(results.most_common())}


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser("human_instructions", __doc__)
    parser.add_argument("--data", required=True, help="the single-turn data, or its table as csv")
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
    sys.exit(main())
