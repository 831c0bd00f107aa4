"""Measure the speed of the package: `python -m benchmarks.speed [--quick] [--only NAME] [--json]`."""

from __future__ import annotations

import os
import statistics
import time
import timeit
from typing import TYPE_CHECKING, Annotated, Any

from rich.progress import track
from typer import Option

from benchmarks.harness import run_options
from iglu_marl.commands.options import Json
from iglu_marl.commands.output import print_json, text_console
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.tables import Table, markdown_table

if TYPE_CHECKING:
    from benchmarks.speed_cases import BenchCase

ROUNDS = 5
ROUND_S, QUICK_ROUND_S = 0.15, 0.02  # minimum length of a round


def speed(
    quick: Annotated[bool, Option("--quick", help="Run fewer and shorter measurements.")] = False,
    only: Annotated[str, Option(help="Run measurements with this name: single, vector, wrappers, …")] = "",
    as_json: Json = False,
) -> None:
    """Measure the speed on this machine: steps, resets, scores, pictures."""
    from benchmarks.speed_cases import CASES

    chosen = [case for case in CASES if (case.quick or not quick) and only in f"{case.group}: {case.name}"]
    if not chosen:
        known = ", ".join(dict.fromkeys(case.group for case in CASES))
        raise ConfigError(f"--only is {only!r}, which matches no measurement; the groups are {known}")
    console = text_console(stderr=as_json)
    cases = track(chosen, "measuring", console=console, transient=True)
    rows = [time_of(case, QUICK_ROUND_S if quick else ROUND_S) for case in cases]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    if not print_json(as_json, {"cores": os.cpu_count(), "load": load, "measures": rows}):
        shown = [
            (row["group"], row["name"], f"{row['median_us']:.3g}", f"{row['per_second']:,.0f}")
            for row in rows
        ]
        console.print(markdown_table(Table(("group", "what", "µs", "a second"), shown)))
        console.print(f"Medians of {ROUNDS} rounds, {os.cpu_count()} cores, load {load}")


def time_of(case: BenchCase, round_s: float) -> dict[str, Any]:
    """Return the rounds in µs per unit of work."""
    prepared = case.prepare()
    timer = timeit.Timer(prepared.run, timer=time.perf_counter)
    timer.timeit(1)  # compile, fill caches
    repeats = max(1, round(round_s / max(timer.timeit(1), 1e-9)))
    rounds = [1e6 * seconds / repeats / prepared.units for seconds in timer.repeat(ROUNDS, repeats)]
    median = statistics.median(rounds)
    return {
        "group": case.group,
        "name": case.name,
        "worlds": case.count,
        "median_us": median,
        "rounds_us": rounds,
        "per_second": 1e6 / median,
    }


if __name__ == "__main__":
    run_options(speed)
