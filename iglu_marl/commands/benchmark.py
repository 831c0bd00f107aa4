"""`iglu-marl benchmark`: list levels, run agents, and report results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from rich import box
from rich.table import Column, Table
from typer import Argument, Exit, Option

from iglu_marl.commands import options as opt
from iglu_marl.commands.output import stoppable, text_console
from iglu_marl.core.tables import tables_as

Levels = Annotated[list[str] | None, Argument(help="Names of levels, or of families. Default: all.")]
Level = Annotated[str, Argument(help="The name of a level.")]


def chosen_levels(names: list[str] | None) -> list[str]:
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
    """List the levels: tasks, and steps of a game. Named levels: all about them.

    Examples: iglu-marl benchmark list; iglu-marl benchmark list see; iglu-marl benchmark list see-few-v2
    """
    from iglu_marl import benchmark

    chosen = [benchmark.find(name) for name in chosen_levels(names)]
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
            }
            for level in chosen
        ]
        print(json.dumps(rows))
        return
    console = text_console(as_json)
    if any(name in {level.name for level in chosen} for name in names or ()):
        for level in chosen:
            console.print(level.name, style="bold")
            console.print(f"  {level.about}")
            console.print(f"  Held out: {'; '.join(map(str, level.held_out))}.")
            console.print(f"  {level.max_steps:,} steps a game, {level.budget:,} of training.")
            console.print(f"  Controls: {', '.join(level.agent_controls)}.")
        return
    table = Table(
        Column("level", no_wrap=True),
        Column("what is asked for", no_wrap=True, ratio=1),
        Column("steps", justify="right", no_wrap=True),
        box=box.SIMPLE_HEAD,
        expand=True,
    )
    for level in chosen:
        table.add_row(level.name, level.about, f"{level.max_steps:,}")
    console.print(table)
    console.print("iglu-marl benchmark list LEVEL shows all about a level, --json about all.")


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
    supervision: Annotated[
        list[str] | None,
        Option(
            help="What the agents had, such as reward; several times for several. Default: by their names."
        ),
    ] = None,
    controls: Annotated[
        bool, Option("--control-runs/--no-control-runs", help="Also measure it in the controls of the level.")
    ] = True,
    output: Annotated[Path | None, opt.output_file("The result file to write (JSON).")] = None,
    record: Annotated[bool, Option("--keep-games", help="Keep all games beside it, for `verify`.")] = False,
    processes: opt.Processes = 1,
    as_json: opt.Json = False,
) -> None:
    """Measure agents on a level.

    Examples: iglu-marl benchmark run told-ground-v2 --builder scripted -o result.json
    """
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
            supervision=supervision or (),
            command=command,
            controls=controls,
            output=output,
            record=record,
            processes=processes,
            progress=lambda text: console.print(text, style="dim"),
        )
    if as_json:
        print(json.dumps(result.to_json()))
    console.print(*markdown([result]).split("\n"), sep="\n")


def verify_result(
    result: Annotated[Path, Argument(help="A result file.")],
    strict: Annotated[
        bool, Option("--strict", help="Exit with code 1 if the file lacks what a place on the board takes.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Check a result file against its level, replay its recorded games, and say what it lacks.

    Examples: iglu-marl benchmark verify result.json --strict
    """
    from iglu_marl import benchmark

    replayed, found = benchmark.verify(result), benchmark.read_result(result)
    faults = found.faults()
    if as_json:
        print(json.dumps({"episodes": len(found.rows), "replayed": replayed, "faults": faults}))
    else:
        console = text_console()
        console.print(f"{result}: {len(found.rows)} episodes fit {found.level}; {replayed} games replayed")
        for fault in faults:
            console.print(f"No place on the board: {fault}")
    if strict and faults:
        raise Exit(1)


def report_results(
    results: Annotated[list[Path], Argument(help="Result files.")],
    output: Annotated[
        Path | None, opt.output_folder("Folder for benchmark.md, benchmark.csv and plots.")
    ] = None,
    form: opt.TableForm = None,
    as_json: opt.Json = False,
) -> None:
    """Print tables of result files, with the controls of the levels; write plots.

    Examples: iglu-marl benchmark report result.json --format latex
    """
    from iglu_marl import benchmark
    from iglu_marl.benchmark import report

    found = [benchmark.read_result(path) for path in results]
    if output is not None:
        paths = report.write(found, output)
    if as_json:
        print(json.dumps(report.entries(found)))
        return
    if form:
        tables = report.tables(found)
        text_console().print(*tables_as(form, tables).split("\n"), sep="\n")
        return
    console = text_console(as_json)
    console.print(*report.markdown(found).split("\n"), sep="\n")
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
    """Write the leaderboard as static pages: levels, controls, results, curves and games to watch.

    Examples: iglu-marl benchmark site leaderboard result.json
    """
    from iglu_marl.benchmark.report import write_site

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
