"""The command line: `iglu-marl`.

Exit codes: 0 done; 1 the structure was not completed, or the pack is not whole; 2 wrong usage or input.
"""

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


_Name = Annotated[str, typer.Argument(metavar="PACK", help="iglu-multiturn, iglu-singleturn or mdc")]
_Path = Annotated[
    Path | None, typer.Option("--path", help="A zip or folder. Default: IGLU_DATA_PATH, then fetched packs.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, and nothing else.")]

data = typer.Typer(no_args_is_help=True, help="Real human data: what there is, where it is, getting it.")
app.add_typer(data, name="data")


@data.command("list")
def data_list(json: _Json = False) -> None:
    """All packs, and where each one is on this machine."""
    from iglu_marl.commands.data import run_list

    run_list(json)


@data.command("fetch")
def data_fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="PACK...", help="Default: all packs.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Another address of the one pack named.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to put them. Default: this user's cache.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
    json: _Json = False,
) -> None:
    """Download packs. An interrupted download goes on where it was."""
    from iglu_marl.commands.data import run_fetch

    run_fetch(names or [], url=url, folder=folder, force=force, as_json=json)


@data.command("info")
def data_info(name: _Name, path: _Path = None, json: _Json = False) -> None:
    """What a pack is, its licence and citation and, if it is here, what it holds."""
    from iglu_marl.commands.data import run_info

    run_info(name, path, json)


@data.command("verify")
def data_verify(name: _Name, path: _Path = None, json: _Json = False) -> None:
    """Read all of a pack and compare its checksums; exit code 1 if it is not whole."""
    from iglu_marl.commands.data import run_verify

    raise typer.Exit(0 if run_verify(name, path, json) else 1)


def main() -> None:
    """Entry point of the command."""
    try:
        app()
    except IgluMarlError as error:
        typer.secho(f"Error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
