"""The command line: `iglu-marl`, or `python -m iglu_marl`. Each command is a function in `iglu_marl.commands`.

Exit codes: 0 done; 1 done, and the answer is no (a structure was not completed, a pack is not whole, a text is not
understood, a recorded game came out otherwise, games of an evaluation ended with an error, a rung did not pass its
audit); 2 wrong usage or input, or nothing that can be played.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from iglu_marl._version import __version__
from iglu_marl.commands import study
from iglu_marl.commands.agents import agents
from iglu_marl.commands.bench import bench
from iglu_marl.commands.benchmark import audit_rungs, list_rungs, report_results, run_rung
from iglu_marl.commands.browse import browse
from iglu_marl.commands.data import fetch_packs, list_packs, show_pack, verify_pack
from iglu_marl.commands.demo import demo
from iglu_marl.commands.evaluate import evaluate
from iglu_marl.commands.export import export
from iglu_marl.commands.film import film
from iglu_marl.commands.language import check, parse, sample
from iglu_marl.commands.llm import export_prompts, run_benchmark
from iglu_marl.commands.options import in_options
from iglu_marl.commands.play import play
from iglu_marl.commands.predict import predict
from iglu_marl.commands.questions import questions
from iglu_marl.commands.record import record
from iglu_marl.commands.render import render_diff, render_replay, render_structure
from iglu_marl.commands.replay import replay
from iglu_marl.commands.serve import serve
from iglu_marl.commands.serve_openenv import serve_openenv
from iglu_marl.commands.tasks import tasks
from iglu_marl.commands.train import train_edits, train_pov
from iglu_marl.commands.watch import watch
from iglu_marl.core.errors import IgluMarlError


def _leave(answer: Any, **_: Any) -> None:
    """Turn what a command returned into the exit code: False means that its answer is no."""
    raise typer.Exit(1 if answer is False else 0)


def _warn(text: str) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=1)  # here, for the filter of `main`


class _Commands(TyperGroup):
    """The commands, and what was once one of them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant, its name and its words."""
        if args[:1] == ["watch"] and any(word.split("=")[0] in ("--tape", "--session") for word in args):
            _warn("watch of --tape or --session is now called film")
            args = ["film", *args[1:]]
        elif args[:1] == ["watch"] and "--live" in args:
            _warn("watch is --live without saying so")
            args = [word for word in args if word != "--live"]
        return super().resolve_command(ctx, args)


app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},  # of the commands below, too
    no_args_is_help=True,
    cls=_Commands,
    pretty_exceptions_enable=False,
    result_callback=_leave,
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


def _worded(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose errors name its options, where those of the API name arguments."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except IgluMarlError as error:
            error.args = (in_options(str(error), command), *error.args[1:])
            raise

    return run


def _add_group(name: str, summary: str, **commands: Callable[..., Any]) -> None:
    group = typer.Typer(no_args_is_help=True, help=summary)
    for own_name, command in commands.items():
        group.command(own_name)(_worded(command))
    app.add_typer(group, name=name)


for _command in (
    demo,
    tasks,
    agents,
    watch,
    play,
    serve,
    serve_openenv,
    record,
    replay,
    film,
    evaluate,
    bench,
    predict,
    questions,
):
    app.command()(_worded(_command))
_add_group(
    "data",
    "Real human data: what there is, where it is, getting it.",
    list=list_packs,
    fetch=fetch_packs,
    info=show_pack,
    verify=verify_pack,
    export=export,
    browse=browse,
)
_add_group(
    "render",
    "Pictures of structures and changes, pages that replay games.",
    structure=render_structure,
    diff=render_diff,
    replay=render_replay,
)
_add_group(
    "language",
    "Questions and statements about worlds, and their programs.",
    sample=sample,
    parse=parse,
    check=check,
)
_add_group(
    "study",
    "Studies with people in the browser: where they stand, their data.",
    status=study.status,
    export=study.export,
    forget=study.forget,
)
_add_group(
    "benchmark",
    "The ladder of learning: its rungs, their audits, agents on them, reports of results.",
    list=list_rungs,
    run=run_rung,
    audit=audit_rungs,
    report=report_results,
)
_add_group(
    "llm",
    "Language models: data to train them with, a benchmark.",
    export=export_prompts,
    benchmark=run_benchmark,
)
_add_group("train", "Training of the models that come with the package.", edits=train_edits, pov=train_pov)


def main() -> None:
    """Entry point of the command."""
    warnings.filterwarnings("default", category=DeprecationWarning, module=__name__)
    warnings.formatwarning = lambda message, *_: f"Warning: {message}\n"
    try:
        app()
    except IgluMarlError as error:
        typer.secho(f"Error: {error}", fg=typer.colors.RED, err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
