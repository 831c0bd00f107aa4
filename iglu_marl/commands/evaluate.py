"""What `iglu-marl evaluate` does: cross-play of named agents, with its reports."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from iglu_marl.evaluation import MEASURES, Evaluation, evaluate, is_scored
from iglu_marl.reports import played, shown

IN_TABLE = ("completed", "f1", "steps", "words_per_instruction", "questions_per_instruction")


@dataclass(frozen=True)
class EvaluateOptions:
    """The options of the command; `evaluate` validates them."""

    architects: list[str]
    builders: list[str]
    tasks: str = "bundled"
    count: int | None = None
    episodes: int = 1
    controls: str = "walking"
    chat: str = "text"
    view: str = "aec"
    max_steps: int = 5000
    ask: bool = True
    processes: int = 1
    examples: int = 3
    keep_going: bool = False
    seed: int = 0
    output: Path = Path("iglu-marl-evaluation")
    json: bool = False


def run(options: EvaluateOptions) -> Evaluation:
    """Play what is missing, write the reports, show the averages."""
    result = evaluate(
        options.architects,
        options.builders,
        options.tasks,
        count=options.count,
        episodes=options.episodes,
        seed=options.seed,
        processes=options.processes,
        output=options.output,
        controls=options.controls,
        chat=options.chat,
        view=options.view,
        config={"max_steps": options.max_steps, "builder_can_ask": options.ask},
        examples=options.examples,
        on_error="count" if options.keep_going else "raise",
        progress=False if options.json else None,
    )
    if options.json:
        print(json.dumps(result.to_json()))
        return result
    console = Console(highlight=False)
    table = Table("architect", "builder", "games", *(MEASURES[name].title for name in IN_TABLE))
    for entry in result.summary("architect", "builder"):
        averages = (shown(name, entry[name].value) for name in IN_TABLE)
        table.add_row(entry["architect"], entry["builder"], played(entry), *averages)
    console.print(table)
    if errors := sum(bool(row["error"]) for row in result.rows):
        console.print(f"[bold red]{errors} games ended with an error[/]; see evaluation.md")
    if failed := sum(not is_scored(row) for row in result.rows):
        console.print(
            f"{failed} of them are in no average; the same command plays them again", soft_wrap=True
        )
    console.print(f"Tables, plots and games: {options.output / 'evaluation.html'}", soft_wrap=True)
    return result
