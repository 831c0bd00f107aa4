"""What studies of games and instructions share: options, and tables of figures."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from iglu_marl import IgluMarlError


def make_parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """Return a parser with --seed and --json for `python -m benchmarks.NAME`."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser


def run_command(main: Callable[[], int]) -> NoReturn:
    """Run a command; an error of the package is one line."""
    try:
        sys.exit(main())
    except IgluMarlError as error:
        sys.exit(f"Error: {error}")


def run_options(command: Callable[..., bool | None]) -> None:
    """Run a function with the options of its annotations, as a command of `iglu-marl` does: False is exit code 1."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            if command(*arguments, **options) is False:
                raise typer.Exit(1)
        except IgluMarlError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(run)
    app()


def progress_console(args: argparse.Namespace) -> Console:
    """Return the console for progress bars; quiet for programs that read JSON."""
    return Console(stderr=True, quiet=args.json and not sys.stderr.isatty())


def figures_table(columns: Mapping[str, Mapping[str, Any]], title: str = "") -> Table:
    """Return a table of figures by column; floats whose name begins with "share" or "mean saved" are percentages."""
    table = Table("figure", *columns, title=title or None)
    for figure in next(iter(columns.values())):
        name, cells = figure.replace("_", " "), [column.get(figure, "") for column in columns.values()]
        share = name.startswith(("share", "mean saved"))
        table.add_row(name, *(f"{cell:.1%}" if share else str(cell) for cell in cells))
    return table
