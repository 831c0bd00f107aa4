"""`iglu-marl bench`: measures how fast everything is, prints a table, draws the plot of the documentation."""

from __future__ import annotations

import json
import math
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

from iglu_marl.commands.options import Json, ends_in
from iglu_marl.commands.output import stoppable
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.files import made_folder, write_text

if TYPE_CHECKING:
    from iglu_marl.commands.bench_cases import BenchCase

OTHERS = ("start", "memory")  # what is not among the cases
ROUNDS = 5
BUSY = 1.15  # times the processor's time, by the clock
ROUND_S, QUICK_ROUND_S = 0.15, 0.02  # a round lasts at least as long


def bench(
    quick: Annotated[
        bool, Option("--quick", help="Fewer measures and shorter ones: some seconds in all.")
    ] = False,
    only: Annotated[str, Option(help="What has this in its name: single, vector, start, memory, ...")] = "",
    plot: Annotated[
        Path | None,
        Option(help="Also draw steps a second by number of worlds, .svg", callback=ends_in(".svg")),
    ] = None,
    goals: Annotated[
        bool, Option("--goals", help="Say what this project asks of itself, and where it is missed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """How fast everything is on this machine: steps, resets, scores, pictures, start, memory."""
    console = Console(stderr=as_json)
    with stoppable(lambda: "Nothing is kept."):
        figures = measure_all(quick, only, console)
    if plot is not None:
        made_folder(plot.parent)
        write_text(plot, draw_plot(figures))
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures, console, goals)


def chosen_cases(quick: bool, only: str) -> list[BenchCase]:
    """The cases with this in their names. Raises `ConfigError` where nothing at all has it."""
    from iglu_marl.commands.bench_cases import CASES

    found = [case for case in CASES if (case.quick or not quick) and only in f"{case.group}: {case.name}"]
    if not found and only not in OTHERS:
        known = ", ".join([*dict.fromkeys(case.group for case in CASES), *OTHERS])
        raise ConfigError(f"--only is {only!r}, which nothing matches; there are the groups {known}")
    return found


def time_of(case: BenchCase, round_s: float) -> dict[str, Any]:
    """Some rounds in µs per unit of work, by the clock and of the processor, which differ on a busy machine."""
    prepared = case.prepare()
    prepared.run()  # compiles, fills caches
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
        "goal_us": case.goal_us,
    }


def machine() -> dict[str, Any]:
    """Where this runs, as far as it matters for speed."""
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
    """All figures, JSON-ready."""
    from iglu_marl.commands.bench_cases import memory, starts

    chosen = chosen_cases(quick, only)
    figures: dict[str, Any] = {"machine": machine(), "measures": [], "start": [], "memory": []}
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("measuring", total=len(chosen) + 2)
        for case in chosen:
            progress.update(bar, description=f"{case.group}, {case.name}")
            figures["measures"].append(time_of(case, QUICK_ROUND_S if quick else ROUND_S))
            progress.advance(bar)
        if only in ("", "start"):
            progress.update(bar, description="new processes")
            figures["start"] = [
                {
                    "name": start.name,
                    "median_s": statistics.median(start.seconds),
                    "rounds": len(start.seconds),
                    "goal_s": start.goal_s,
                }
                for start in starts(1 if quick else ROUNDS, not quick)
            ]
        progress.advance(bar)
        if only in ("", "memory"):
            progress.update(bar, description="memory")
            names = ("name", "bytes", "goal_bytes")
            figures["memory"] = [dict(zip(names, row, strict=True)) for row in memory()]
    return figures


def _time(us: float) -> str:
    if us < 1:
        return f"{us * 1000:.0f} ns"
    return f"{us:.1f} µs" if us < 1000 else f"{us / 1000:.1f} ms"


def _rate(per_second: float) -> str:
    if per_second >= 1e6:
        return f"{per_second / 1e6:.2f} M/s"
    return f"{per_second / 1e3:.0f} k/s" if per_second >= 1e4 else f"{per_second:,.0f} /s"


def _met(value: float, goal: float | None, shown: str) -> str:
    if goal is None:
        return ""
    return f"[green]≤ {shown}[/]" if value <= goal else f"[red]≤ {shown}: no[/]"


def _measures_table(rows: list[dict[str, Any]], goals: bool) -> Table:
    table = Table(
        *("what", "time", "processor", "a second", *("goal",) * goals),
        title="Medians of five rounds, for one of each",
    )
    group = None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            table.add_section()
            table.add_row(f"[bold]{group}[/]")
        goal = "" if row["goal_us"] is None else _met(row["median_us"], row["goal_us"], _time(row["goal_us"]))
        table.add_row(
            f" {row['name']}",
            _time(row["median_us"]),
            _time(row["processor_us"]),
            _rate(row["per_second"]),
            *(goal,) * goals,
        )
    return table


def show(figures: dict[str, Any], console: Console, goals: bool = False) -> None:
    """Print the figures as tables, with the project's goals when asked."""
    about, measures = figures["machine"], figures["measures"]
    console.print(
        f"{about['processor']}, {about['cores']} cores; Python {about['python']}, Numba {about['numba']}"
    )
    if measures:
        console.print(_measures_table(measures, goals))
        waited = statistics.median(row["median_us"] / row["processor_us"] for row in measures)
        if waited > BUSY:
            console.print(
                f"[yellow]The machine is busy with other work: by the clock, things take {waited:.1f} times the "
                "processor's time.[/]"
            )
    others = Table("what", "", *("goal",) * goals)
    for row in figures["start"]:
        goal = "" if row["goal_s"] is None else _met(row["median_s"], row["goal_s"], f"{row['goal_s']:g} s")
        others.add_row(row["name"], f"{row['median_s']:.2f} s", *(goal,) * goals)
    for row in figures["memory"]:
        most = row["goal_bytes"]
        goal = "" if most is None else _met(row["bytes"], most, f"{most:,}")
        others.add_row(row["name"], f"{row['bytes']:,} bytes", *(goal,) * goals)
    if figures["start"] or figures["memory"]:
        console.print(others)


# ------------------------------------------------------------------------------------------------------- plot

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 400, 70, 170, 30, 50
_LINES = {
    "vector state": ("state", "#0072b2"),
    "vector state, copied": ("state, copied", "#56b4e9"),
    "vector pixels": ("pixels 64×64", "#d55e00"),
}
_LOW, _HIGH = 4, 7  # powers of ten


def draw_plot(figures: dict[str, Any]) -> str:
    """Steps a second by number of worlds, as SVG."""

    def at(count: float, rate: float) -> tuple[float, float]:
        x = _LEFT + math.log2(count) / 14 * (_WIDTH - _LEFT - _RIGHT)
        share = (math.log10(rate) - _LOW) / (_HIGH - _LOW)
        return round(x, 1), round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" '
        'font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for power in range(_LOW, _HIGH + 1):
        (x, y), (end, _) = at(1, 10**power), at(16384, 1)
        label = {4: "10 k", 5: "100 k", 6: "1 M", 7: "10 M"}[power]
        parts.append(f'<path d="M{x} {y}H{end}" stroke="#ddd"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
    for count in (1, 16, 64, 256, 1024, 4096, 16384):
        x, y = at(count, 10**_LOW)
        parts.append(f'<text x="{x}" y="{y + 20}" text-anchor="middle">{count:,}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">worlds</text>')
    parts.append(f'<text x="{_LEFT}" y="18">steps a second, one core</text>')
    for group, (label, color) in _LINES.items():
        rows = [
            row
            for row in figures["measures"]
            if row["group"] == group and row["name"] == f"N = {row['worlds']:,}"
        ]
        if not rows:
            continue
        points = [at(row["worlds"], row["per_second"]) for row in rows]
        line = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in points]
        x, y = points[-1]
        parts.append(f'<text x="{x + 8}" y="{y + 4}" fill="{color}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])
