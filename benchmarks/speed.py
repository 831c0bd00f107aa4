"""Measure the speed of the package: `python -m benchmarks.speed [--quick] [--only NAME] [--json]`."""

from __future__ import annotations

import os
import platform
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from typer import Option

from benchmarks.harness import run_options
from iglu_marl.commands.options import Json
from iglu_marl.commands.output import print_json, stoppable, text_console
from iglu_marl.core.errors import ConfigError

if TYPE_CHECKING:
    from benchmarks.speed_cases import BenchCase

START = "start"  # is measured without a `BenchCase`
ROUNDS = 5
BUSY = 1.15  # ratio of wall time to processor time above which a machine counts as busy
ROUND_S, QUICK_ROUND_S = 0.15, 0.02  # minimum length of a round


def speed(
    quick: Annotated[bool, Option("--quick", help="Run fewer and shorter measurements.")] = False,
    only: Annotated[str, Option(help="Run measurements with this name: single, vector, start, …")] = "",
    as_json: Json = False,
) -> None:
    """Measure the speed on this machine: steps, resets, scores, pictures, start."""
    console = text_console(stderr=as_json)
    with stoppable(lambda: "No measurement is kept."):
        figures = measure_all(quick, only, console)
    if not print_json(as_json, figures):
        show(figures, console)


def chosen_cases(quick: bool, only: str) -> list[BenchCase]:
    """Return the cases whose names contain `only`. Raises `ConfigError` if there are none."""
    from benchmarks.speed_cases import CASES

    found = [case for case in CASES if (case.quick or not quick) and only in f"{case.group}: {case.name}"]
    if not found and only != START:
        known = ", ".join([*dict.fromkeys(case.group for case in CASES), START])
        raise ConfigError(f"--only is {only!r}, which matches no measurement; the groups are {known}")
    return found


def time_of(case: BenchCase, round_s: float) -> dict[str, Any]:
    """Return rounds in µs per unit of work, by wall and processor time, which differ on a busy machine."""
    prepared = case.prepare()
    prepared.run()  # compile, fill caches
    start = time.perf_counter()
    prepared.run()
    once = time.perf_counter() - start
    repeats = max(1, round(round_s / max(once, 1e-9)))
    rounds, of_processor = [], []
    for _ in range(ROUNDS):
        start, used = time.perf_counter(), time.process_time()
        for _ in range(repeats):
            prepared.run()
        unit = 1e6 / repeats / prepared.units
        rounds.append((time.perf_counter() - start) * unit)
        of_processor.append((time.process_time() - used) * unit)
    median = statistics.median(rounds)
    return {
        "group": case.group,
        "name": case.name,
        "worlds": case.count,
        "median_us": median,
        "rounds_us": rounds,
        "processor_us": statistics.median(of_processor),
        "per_second": 1e6 / median,
    }


def machine() -> dict[str, Any]:
    """Return the processor, load and versions of this machine."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model
        )
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "system": platform.system(),
    }


def measure_all(quick: bool, only: str, console: Console) -> dict[str, Any]:
    """Return all figures, JSON-ready."""
    from benchmarks.speed_cases import starts

    chosen = chosen_cases(quick, only)
    figures: dict[str, Any] = {"machine": machine(), "measures": [], "start": []}
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("measuring", total=len(chosen) + 1)
        for case in chosen:
            progress.update(bar, description=f"{case.group}, {case.name}")
            figures["measures"].append(time_of(case, QUICK_ROUND_S if quick else ROUND_S))
            progress.advance(bar)
        if only in ("", START):
            progress.update(bar, description="new processes")
            figures["start"] = [
                {
                    "name": start.name,
                    "median_s": statistics.median(start.seconds),
                    "rounds": len(start.seconds),
                }
                for start in starts(1 if quick else ROUNDS, not quick)
            ]
    return figures


def _time(us: float) -> str:
    if us < 1:
        return f"{us * 1000:.0f} ns"
    return f"{us:.1f} µs" if us < 1000 else f"{us / 1000:.1f} ms"


def _rate(per_second: float) -> str:
    if per_second >= 1e6:
        return f"{per_second / 1e6:.2f} M/s"
    return f"{per_second / 1e3:.0f} k/s" if per_second >= 1e4 else f"{per_second:,.0f} /s"


def _measures_table(rows: list[dict[str, Any]]) -> Table:
    table = Table("what", "time", "processor", "per second", title="Medians of five rounds, per item")
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            table.add_section()
            table.add_row(group, style="bold")
        times = (_time(row[name]) for name in ("median_us", "processor_us"))
        table.add_row(f" {row['name']}", *times, _rate(row["per_second"]))
    return table


def show(figures: dict[str, Any], console: Console) -> None:
    """Print the figures as tables."""
    about, measures = figures["machine"], figures["measures"]
    console.print(
        f"{about['processor']}, {about['cores']} cores; Python {about['python']}, Numba {about['numba']}"
    )
    if measures:
        console.print(_measures_table(measures))
        waited = statistics.median(row["median_us"] / row["processor_us"] for row in measures)
        if waited > BUSY:
            console.print(
                f"The machine is busy: wall time is {waited:.1f} times processor time.", style="yellow"
            )
    if figures["start"]:
        table = Table("what", "")
        for row in figures["start"]:
            table.add_row(row["name"], f"{row['median_s']:.2f} s")
        console.print(table)


if __name__ == "__main__":
    run_options(speed)
