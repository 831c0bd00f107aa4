"""The command line: `iglu-marl`. Exit codes: 0 done, 1 the structure was not completed, 2 wrong usage or input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from iglu_marl import __version__
from iglu_marl.core.errors import IgluMarlError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Architect and builder in one voxel world.",
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"iglu-marl {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Architect and builder in one voxel world."""


@app.command()
def demo(
    tasks: Annotated[
        Path | None,
        typer.Option("--tasks", help="A file of named structures (JSON). Default: the bundled ones."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Which structure, by name or id. Default: by the seed.")
    ] = None,
    controls: Annotated[str, typer.Option("--controls", help="walking or flying")] = "walking",
    seed: Annotated[int, typer.Option("--seed", help="Decides structure, wording and everything else.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for video, picture and transcript.")
    ] = Path("iglu-marl-demo"),
    video: Annotated[str, typer.Option("--video", help="mp4, gif, both or none")] = "both",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")] = False,
) -> None:
    """A scripted architect explains a structure, a scripted builder builds it from the words alone."""
    from iglu_marl.commands.demo import DemoOptions, run

    options = DemoOptions(
        tasks=tasks, task=task, controls=controls, seed=seed, output=output, video=video, json=json
    )
    raise typer.Exit(0 if run(options) else 1)


def main() -> None:
    """Entry point of the command."""
    try:
        app()
    except IgluMarlError as error:
        typer.secho(f"Error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
