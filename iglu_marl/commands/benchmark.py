"""`iglu-marl benchmark`: list levels, compute their shortcut baselines, run agents, and report results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from rich.console import Group
from rich.table import Table
from typer import Argument, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import stoppable, text_console
from iglu_marl.core.tables import markdown_table, tables_as

Levels = Annotated[
    list[str] | None,
    Argument(help="Names of levels, or of families. Default: all.", autocompletion=opt.a_level),
]
Level = Annotated[str, Argument(help="The name of a level.", autocompletion=opt.a_level)]


def _chosen(names: list[str] | None) -> list[str]:
    """Return the names of the given levels, and of all levels of given families."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark.catalog import FAMILIES

    found: dict[str, None] = {}
    everything = [*FAMILIES, *(level.name for level in benchmark.levels())]
    for name in names or list(FAMILIES):
        opt.expect_one_of("NAMES", name, everything)
        family = name if name in FAMILIES else None
        parts = benchmark.levels(family) if family else (benchmark.find(name),)
        found.update(dict.fromkeys(level.name for level in parts))
    return list(found)


def list_levels(names: Levels = None, as_json: opt.Json = False) -> None:
    """List the levels: tasks, what is held out, and whether the shortcut baselines fail."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark.audits import read_audits

    audits = read_audits()
    chosen = [benchmark.find(name) for name in _chosen(names)]
    if as_json:
        rows = [
            {
                "level": level.name,
                "about": level.about,
                "held_out": [str(rule) for rule in level.held_out],
                "max_steps": level.max_steps,
                "budget": level.budget,
                "runs": level.seeds,
                "digest": level.digest,
                "audited": level.name in audits and audits[level.name].digest == level.digest,
            }
            for level in chosen
        ]
        print(json.dumps(rows))
        return
    table = Table(show_lines=True)
    for name in ("level", "what is asked for, and held out", "steps", "budget", "audit"):
        table.add_column(
            name, no_wrap=" " not in name, justify="right" if name in ("steps", "budget") else "left"
        )
    for level in chosen:
        about = Group(level.about, f"Held out: {'; '.join(map(str, level.held_out))}.")
        audit = audits.get(level.name)
        verdict = "none" if audit is None else audit.verdict
        if audit is not None and audit.digest != level.digest:
            verdict = "old"
        table.add_row(level.name, about, f"{level.max_steps:,}", f"{level.budget:,}", verdict)
    text_console(as_json).print(table)


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
    from iglu_marl import benchmark
    from iglu_marl.benchmark.audits import write_audits
    from iglu_marl.benchmark.report import audit_table

    if quick:
        budget, tasks, games = 10_000, 16, 2
    console = text_console(as_json)
    found = {}
    kept = "Nothing is kept without --output." if output is None else f"Whole audits are in {output}."
    with stoppable(lambda: kept):
        for name in _chosen(names):

            def show(control: str, level: str = name) -> None:
                console.print(f"{level}: {control}", style="dim")

            found[name] = benchmark.audit(name, budget=budget, tasks=tasks, games=games, progress=show)
            if output is not None:  # each at once: a later one may be stopped
                write_audits([found[name]], output)
    if as_json:
        print(
            json.dumps(
                {
                    name: {**audit.to_json(), "passes": audit.passes, "verdict": audit.verdict}
                    for name, audit in found.items()
                }
            )
        )
    console.print(*markdown_table(audit_table(found)).split("\n"), sep="\n")
    return all(audit.passes for audit in found.values())


def run_level(
    level: Level,
    builder: Annotated[
        list[str] | None, Option(help="By name, or module:attribute; once for each run. Default: scripted.")
    ] = None,
    architect: Annotated[
        list[str] | None, Option(help="One per builder, for pairs. Default: the level's scripted ones.")
    ] = None,
    model: opt.LLMModel = None,
    endpoint: opt.LLMEndpoint = None,
    llm_view: opt.LLMView = None,
    name: Annotated[str, Option(help="Name of the agent in the result.")] = "",
    split: Annotated[str, opt.choice("train", "validation", "test")] = "test",
    episodes: Annotated[int, opt.integer(1, "Games of each run.")] = 200,
    budget: Annotated[int, opt.integer(0, "Environment steps of training, for the file.")] = 0,
    command: Annotated[str, Option(help="Command that trained the agent, for the file.")] = "",
    controls: Annotated[
        bool, Option("--control-runs/--no-control-runs", help="Also measure it muted, scrambled or hidden.")
    ] = True,
    output: Annotated[Path | None, opt.output_file("The result file to write (JSON).")] = None,
    record: Annotated[bool, Option("--keep-games", help="Keep all games beside it, for `verify`.")] = False,
    ray: opt.Ray = "",
    as_json: opt.Json = False,
) -> None:
    """Measure agents on a level."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark.report import markdown

    builders = builder or ["scripted"]
    if architect is not None:
        opt.expect(
            "--architect",
            architect,
            len(architect) == len(builders),
            f"{len(builders)} of them, one a builder",
        )
    agents = list(zip(architect, builders, strict=True)) if architect else builders
    console = text_console(as_json)
    with stoppable(lambda: "No result is written before all games are played."):
        result = benchmark.run(
            level,
            agents,
            name=name or ", ".join(dict.fromkeys(builders)),
            split=split,  # type: ignore[arg-type]  # checked
            episodes=episodes,
            budget=budget,
            command=command,
            controls=controls,
            output=output,
            record=record,
            ray=ray,
            progress=lambda text: console.print(text, style="dim"),
        )
    if as_json:
        print(json.dumps(result.to_json()))
    console.print(*markdown([result]).split("\n"), sep="\n")


def demonstrate_level(
    level: Level,
    dataset: Annotated[
        str,
        Option(
            help="Id of the dataset. Default: such as iglu/see-place-train-v1, or iglu/see-place-train-fold2-v1."
        ),
    ] = "",
    split: Annotated[str, opt.choice("train", "validation", "test")] = "train",
    games: Annotated[int, opt.integer(1, "Games of the expert; those that fail are left out.")] = 100,
    fold: Annotated[int, opt.integer(0, "Seed of the training run, which determines what is held out.")] = 0,
    seed: Annotated[int, opt.integer(0, "Seed of the tasks and games.")] = 0,
    as_json: opt.Json = False,
) -> None:
    """Write games of an expert on a level as a Minari dataset, for imitation."""
    from iglu_marl.benchmark.demonstrations import write_demonstrations

    name, _, version = level.rpartition("-v")
    console = text_console(as_json)
    with stoppable(lambda: "Nothing is written before all games are played."):
        made = write_demonstrations(
            level,
            dataset or f"iglu/{name}-{split}{f'-fold{fold}' if fold else ''}-v{version}",
            split,  # type: ignore[arg-type]  # checked
            games,
            fold=fold,
            seed=seed,
        )
    found = {"dataset": made.spec.dataset_id, "episodes": made.total_episodes, "steps": made.total_steps}
    if as_json:
        print(
            json.dumps(
                {name: value if isinstance(value, str) else int(value) for name, value in found.items()}
            )
        )
        return
    console.print(f"{found['dataset']}: {found['episodes']} games, {found['steps']} steps of the builder")


def verify_result(
    result: Annotated[Path, Argument(help="A result file.")], as_json: opt.Json = False
) -> None:
    """Check a result file against its level, and replay its recorded games."""
    from iglu_marl import benchmark

    replayed, found = benchmark.verify(result), benchmark.read_result(result)
    if as_json:
        print(json.dumps({"episodes": len(found.rows), "replayed": replayed}))
        return
    text_console(as_json).print(
        f"{result}: {len(found.rows)} episodes fit {found.level}; {replayed} of them replayed"
        + ("" if replayed else " (no recordings: run with --keep-games)")
    )


def report_results(
    results: Annotated[list[Path], Argument(help="Result files.")],
    published: Annotated[
        list[Path] | None, Option(help="A result file to compare with; several times for several.")
    ] = None,
    output: Annotated[
        Path | None, opt.output_folder("Folder for benchmark.md, benchmark.csv and plots.")
    ] = None,
    form: opt.TableForm = None,
    as_json: opt.Json = False,
) -> None:
    """Print tables of result files, with the controls of the levels; write plots."""
    from iglu_marl import benchmark
    from iglu_marl.benchmark import report

    found = [benchmark.read_result(path) for path in results]
    known = [benchmark.read_result(path) for path in published or []]
    if output is not None:
        paths = report.write(found, output, published=known)
    if as_json:
        print(json.dumps(report.entries(found)))
        return
    if form:
        tables = report.tables(found, published=known)
        text_console().print(*tables_as(form, tables).split("\n"), sep="\n")
        return
    console = text_console(as_json)
    console.print(*report.markdown(found, published=known).split("\n"), sep="\n")
    if output is not None:
        console.print(f"Written: {', '.join(map(str, paths))}")


def write_leaderboard(
    folder: Annotated[Path, Argument(help="Folder of the pages.", callback=opt.writable_folder)],
    results: Annotated[
        list[Path] | None, Argument(help="Result files, or folders of them. Default: none.")
    ] = None,
    games: Annotated[int, opt.integer(0, "Recorded games to show for each result.")] = 2,
    as_json: opt.Json = False,
) -> None:
    """Write the leaderboard as static pages: levels, controls, results, curves and games to watch."""
    from iglu_marl.benchmark.site import write_site

    files = [
        path
        for given in results or []
        for path in (sorted(given.glob("*.json")) if given.is_dir() else [given])
    ]
    page = write_site(files, folder, games=games)
    if as_json:
        print(json.dumps({"page": str(page), "results": len(files)}))
        return
    text_console(as_json).print(f"{page}: {len(files)} results")
