"""`iglu-marl evaluate`: cross-play of named agents, with its reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console
from rich.table import Table
from typer import Option

from iglu_marl.commands.options import (
    Chat,
    Completion,
    Concurrency,
    Controls,
    Json,
    LLMEndpoint,
    LLMModel,
    LLMViewLong,
    MaxSteps,
    Processes,
    Seed,
    TaskSource,
    View,
    a_builder,
    an_architect,
    at_least,
    each_in,
)
from iglu_marl.commands.output import stoppable

IN_TABLE = ("completed", "f1", "steps", "words_per_instruction", "questions_per_instruction")


def _each_once(names: list[str] | None) -> list[str] | None:
    return names and list(dict.fromkeys(names))


def _agents(completion: Completion) -> Any:
    return Option(
        help="By name, or module:attribute; several times for several.",
        callback=_each_once,
        autocompletion=completion,
    )


def evaluate(
    architect: Annotated[list[str] | None, _agents(an_architect)] = None,
    builder: Annotated[list[str] | None, _agents(a_builder)] = None,
    tasks: TaskSource = "bundled",
    count: Annotated[int | None, Option(help="So many tasks at most.", callback=at_least(1))] = None,
    episodes: Annotated[int, Option(help="Games of each pair on each task.", callback=at_least(1))] = 1,
    controls: Controls = None,
    chat: Chat = None,
    view: View = "aec",
    sees: Annotated[
        list[str] | None,
        Option(
            help="What the builder sees; several times for several. "
            "Default: dialog, inventory, pose, grid, and what trained agents need.",
            callback=each_in("iglu_marl.game.config:BUILDER_SIGHTS"),
        ),
    ] = None,
    max_steps: MaxSteps = 5000,
    ask: Annotated[bool, Option("--ask/--no-ask", help="Whether the builder may speak.")] = True,
    model: LLMModel = None,
    endpoint: LLMEndpoint = None,
    llm_view: LLMViewLong = None,
    concurrency: Concurrency = None,
    processes: Processes = 1,
    examples: Annotated[int, Option(help="Tasks whose games the page shows.", callback=at_least(0))] = 3,
    keep_going: Annotated[
        bool, Option("--keep-going", help="Count what an agent raises as a failure, and go on.")
    ] = False,
    seed: Seed = 0,
    output: Annotated[
        Path, Option("--output", "-o", help="Folder for games and reports; it is gone on with.")
    ] = Path("iglu-marl-evaluation"),
    as_json: Json = False,
) -> bool:
    """Every architect with every builder on the same tasks: tables, plots and games. Exit code 1 after errors."""
    from iglu_marl import evaluation
    from iglu_marl.evaluation.report import played, shown, told_models

    kept = f"The games that were played are in {output}; the same command goes on with them."
    with stoppable(lambda: kept):
        result = evaluation.evaluate(
            architect or ["scripted"],
            builder or ["scripted"],
            tasks,
            count=count,
            episodes=episodes,
            seed=seed,
            processes=processes,
            concurrency=concurrency,
            output=output,
            controls=controls,
            chat=chat,
            view=view,
            config={
                "max_steps": max_steps,
                "builder_can_ask": ask,
                **({"builder_sees": tuple(sees)} if sees else {}),
            },
            examples=examples,
            on_error="count" if keep_going else "raise",
            progress=False if as_json else None,
        )
    if as_json:
        print(json.dumps(result.to_json()))
        return not any(row["error"] for row in result.rows)
    console = Console(highlight=False)
    table = Table("architect", "builder", "games", *(evaluation.MEASURES[name].title for name in IN_TABLE))
    for entry in result.summary("architect", "builder"):
        averages = (shown(name, entry[name].value) for name in IN_TABLE)
        table.add_row(entry["architect"], entry["builder"], played(entry), *averages)
    console.print(table)
    for line in told_models(result.models()):
        console.print(line, soft_wrap=True)
    if errors := sum(bool(row["error"]) for row in result.rows):
        console.print(f"[bold red]{errors} games ended with an error[/]; see evaluation.md")
    if failed := sum(not evaluation.is_scored(row) for row in result.rows):
        console.print(
            f"{failed} of them are in no average; the same command plays them again", soft_wrap=True
        )
    console.print(f"Tables, plots and games: {output / 'evaluation.html'}", soft_wrap=True)
    return not errors
