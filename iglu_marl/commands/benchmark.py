"""`iglu-marl benchmark`: the rungs of the ladder, their audits, agents on them, and reports of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Argument, Option

from iglu_marl.commands.options import (
    Json,
    LLMEndpoint,
    LLMModel,
    LLMView,
    a_rung,
    at_least,
    choice,
    expect,
    expect_one_of,
)
from iglu_marl.commands.output import stoppable, text_console

Rungs = Annotated[
    list[str] | None,
    Argument(help="Names of rungs, or of families. Default: all.", autocompletion=a_rung),
]


def _chosen(names: list[str] | None) -> list[str]:
    """The rungs that are named, those of families in their order."""
    from iglu_marl import benchmark

    found: dict[str, None] = {}
    everything = [*benchmark.FAMILIES, *(rung.name for rung in benchmark.rungs())]
    for name in names or list(benchmark.FAMILIES):
        expect_one_of("NAMES", name, everything)
        family = name if name in benchmark.FAMILIES else None
        parts = benchmark.rungs(family) if family else (benchmark.find(name),)
        found.update(dict.fromkeys(rung.name for rung in parts))
    return list(found)


def list_rungs(names: Rungs = None, as_json: Json = False) -> None:
    """The rungs: what is asked for, what is held out, and whether the audit was passed."""
    from iglu_marl import benchmark

    audits = benchmark.read_audits()
    chosen = [benchmark.find(name) for name in _chosen(names)]
    if as_json:
        rows = [
            {
                "rung": rung.name,
                "about": rung.about,
                "held_out": [str(rule) for rule in rung.held_out],
                "max_steps": rung.max_steps,
                "budget": rung.budget,
                "runs": rung.seeds,
                "digest": rung.digest,
                "audited": rung.name in audits and audits[rung.name].digest == rung.digest,
            }
            for rung in chosen
        ]
        print(json.dumps(rows))
        return
    table = Table(show_lines=True)
    for name in ("rung", "what is asked for, and held out", "steps", "budget", "audit"):
        table.add_column(
            name, no_wrap=" " not in name, justify="right" if name in ("steps", "budget") else "left"
        )
    for rung in chosen:
        about = f"{rung.about}\nHeld out: {'; '.join(map(str, rung.held_out))}."
        audit = audits.get(rung.name)
        told = "none" if audit is None else "passed" if audit.passes else "failed"
        if audit is not None and audit.digest != rung.digest:
            told = "old"
        table.add_row(rung.name, about, f"{rung.max_steps:,}", f"{rung.budget:,}", told)
    text_console(as_json).print(table)


def audit_rungs(
    names: Rungs = None,
    budget: Annotated[
        int | None,
        Option(help="Environment steps of each control at most. Default: a learner's.", callback=at_least(1)),
    ] = None,
    tasks: Annotated[int, Option(help="Tasks that are played, of both splits.", callback=at_least(2))] = 128,
    games: Annotated[
        int, Option(help="Games of the scripted builder and the oracle.", callback=at_least(1))
    ] = 16,
    quick: Annotated[bool, Option("--quick", help="10,000 steps, 16 tasks, 2 games.")] = False,
    output: Annotated[
        Path | None, Option("--output", "-o", help="A file of audits (JSON), which is added to.")
    ] = None,
    as_json: Json = False,
) -> bool:
    """What each rung gives away to players without sense, and what is possible. Exit code 1 if one does not pass."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark.report import audit_table

    if quick:
        budget, tasks, games = 10_000, 16, 2
    console = text_console(as_json)
    found = {}
    kept = "Nothing is kept without --output." if output is None else f"Whole audits are in {output}."
    with stoppable(lambda: kept):
        for name in _chosen(names):

            def tell(control: str, rung: str = name) -> None:
                console.print(f"{rung}: {control}", style="dim")

            found[name] = benchmark.audit(name, budget=budget, tasks=tasks, games=games, progress=tell)
            if output is not None:  # each at once: a later one may be stopped
                benchmark.write_audits([found[name]], output)
    if as_json:
        print(
            json.dumps({name: {**audit.to_json(), "passes": audit.passes} for name, audit in found.items()})
        )
    console.print(audit_table(found), markup=False)
    return all(audit.passes for audit in found.values())


def run_rung(
    rung: Annotated[str, Argument(help="The name of a rung.", autocompletion=a_rung)],
    builder: Annotated[
        list[str] | None, Option(help="By name, or module:attribute; once for each run. Default: scripted.")
    ] = None,
    architect: Annotated[
        list[str] | None, Option(help="As many as builders, for pairs. Default: the rung's own.")
    ] = None,
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMView = None,
    name: Annotated[str, Option(help="What the agent is called in the result.")] = "",
    split: Annotated[str, choice("train", "test")] = "test",
    episodes: Annotated[int, Option(help="Games of each run.", callback=at_least(1))] = 200,
    budget: Annotated[
        int, Option(help="Environment steps of training, for the file.", callback=at_least(0))
    ] = 0,
    command: Annotated[str, Option(help="What trained the agent, for the file.")] = "",
    controls: Annotated[
        bool, Option("--controls/--no-controls", help="Also muted, scrambled, or with the target hidden.")
    ] = True,
    output: Annotated[Path | None, Option("--output", "-o", help="The result file to write (JSON).")] = None,
    as_json: Json = False,
) -> None:
    """Measure agents on a rung by the protocol."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark.report import markdown

    builders = builder or ["scripted"]
    if architect is not None:
        expect(
            "--architect",
            architect,
            len(architect) == len(builders),
            f"{len(builders)} of them, one a builder",
        )
    agents = list(zip(architect, builders, strict=True)) if architect else builders
    console = text_console(as_json)
    with stoppable(lambda: "Nothing is kept: a result is of all games."):
        result = benchmark.run(
            rung,
            agents,
            name=name or ", ".join(dict.fromkeys(builders)),
            split=split,  # type: ignore[arg-type]  # checked
            episodes=episodes,
            budget=budget,
            command=command,
            controls=controls,
            output=output,
            progress=lambda text: console.print(text, style="dim"),
        )
    if as_json:
        print(json.dumps(result.to_json()))
    console.print(markdown([result]), markup=False)


def report_results(
    results: Annotated[list[Path], Argument(help="Result files.")],
    published: Annotated[
        list[Path] | None, Option(help="A result file to compare with; several times for several.")
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Folder for benchmark.md, benchmark.csv and plots.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tables and plots of result files, with the audits beside them."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark import report

    found = [benchmark.read_result(path) for path in results]
    known = [benchmark.read_result(path) for path in published or []]
    if output is not None:
        paths = report.write(found, output, published=known)
    if as_json:
        print(json.dumps(report.entries(found)))
        return
    console = text_console(as_json)
    console.print(report.markdown(found, published=known), markup=False)
    if output is not None:
        console.print(f"Written: {', '.join(map(str, paths))}", markup=False)
