"""Compare the older tools with this package, by running both: `python -m benchmarks.conformance --against CHECKOUT`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

from rich.table import Table
from typer import Option

from benchmarks.harness import run_options
from iglu_marl.commands.options import Json, output_file
from iglu_marl.commands.output import print_json, text_console


def conformance(
    against: Annotated[
        list[Path] | None,
        Option(metavar="CHECKOUT", help="Checkout of a tool, repeatable. Default: recorded results."),
    ] = None,
    python: Annotated[str | None, Option(help="Interpreter for the tools. Default: made with pip.")] = None,
    save: Annotated[Path | None, output_file("JSON file to save the tools' results in.", "--save")] = None,
    as_json: Json = False,
) -> bool:
    """Run the documented parts of the older tools beside this package, and print a table.

    A row is "same" only if both were run and gave the same. Exit code 1 if a row differs without a note.
    """
    from benchmarks import conformance as measured
    from iglu_marl.data.packs.cache import cache_folder

    answers = measured.recorded()
    if tools := {measured.tool_of(checkout): checkout for checkout in against or ()}:
        interpreter = python or measured.environment(cache_folder() / "conformance")
        answers = {tool: measured.record(tool, checkout, interpreter) for tool, checkout in tools.items()}
    if save is not None:
        save.write_text(json.dumps(answers, separators=(",", ":")) + "\n", encoding="utf-8")
    rows = [row for tool, results in answers.items() for row in measured.rows(tool, results)]
    if not print_json(as_json, [row._asdict() for row in rows]):
        table = Table("tool", "item", "verdict", "note")
        for row in rows:
            table.add_row(*row)
        text_console().print(table)
        counts = Counter(row.verdict for row in rows)
        text_console().print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return not any(row.verdict in ("differs", "refused") and not row.note for row in rows)


if __name__ == "__main__":
    run_options(conformance)
