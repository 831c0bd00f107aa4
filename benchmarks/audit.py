"""Compute the shortcut baselines of levels: `python -m benchmarks.audit LEVEL… [--quick] [--output FILE]`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Option

from benchmarks.harness import run_options
from iglu_marl.commands import options as opt
from iglu_marl.commands.benchmark import Levels, chosen_levels
from iglu_marl.commands.output import stoppable, text_console
from iglu_marl.core.tables import markdown_table


def audit_levels(
    names: Levels = None,
    budget: Annotated[
        int | None, opt.integer(1, "Environment steps per trained control. Default: a learner's.")
    ] = None,
    tasks: Annotated[int, opt.integer(2, "Number of tasks of the test split.")] = 128,
    games: Annotated[int, opt.integer(1, "Games of scripted builder and oracle.")] = 16,
    quick: Annotated[bool, Option("--quick", help="10,000 steps, 16 tasks, 2 games.")] = False,
    output: Annotated[Path | None, opt.output_file("JSON file; other levels in it are kept.")] = None,
    as_json: opt.Json = False,
) -> bool:
    """Compute the shortcut baselines and references of levels. Exit code 1 if a baseline beats chance."""
    from benchmarks.audits import AUDITED, audit, write_audits
    from iglu_marl.benchmark.report import audit_table

    if quick:
        budget, tasks, games = 10_000, 16, 2
    console = text_console(as_json)
    found = {}
    kept = "Nothing is kept without --output." if output is None else f"Whole audits are in {output}."
    with stoppable(lambda: kept):
        for name in chosen_levels(names or list(AUDITED)):

            def show(control: str, level: str = name) -> None:
                console.print(f"{level}: {control}", style="dim")

            found[name] = audit(name, budget=budget, tasks=tasks, games=games, progress=show)
            if output is not None:  # each at once: a later one may be stopped
                write_audits([found[name]], output)
    if as_json:
        print(
            json.dumps(
                {
                    name: {**made._asdict(), "passes": made.passes, "verdict": made.verdict}
                    for name, made in found.items()
                }
            )
        )
    console.print(*markdown_table(audit_table(found)).split("\n"), sep="\n")
    return all(made.passes for made in found.values())


if __name__ == "__main__":
    run_options(audit_levels)
