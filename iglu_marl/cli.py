"""The command line: `iglu-marl`, or `python -m iglu_marl`. Each command is a function in `iglu_marl.commands`.

Exit codes:
    0: The command succeeded.
    1: The command ran, and its result is negative: a structure is incomplete, a pack is damaged, a text is not
        understood, a replay differs, or games ended with an error.
    2: The usage or the input is wrong.
    130, 143: Ctrl+C or SIGTERM ended it.
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from iglu_marl._version import __version__
from iglu_marl.commands import study
from iglu_marl.commands.agents import agents
from iglu_marl.commands.benchmark import (
    list_levels,
    report_results,
    run_level,
    verify_result,
    write_leaderboard,
)
from iglu_marl.commands.browse import browse
from iglu_marl.commands.data import fetch_packs, list_packs, show_pack, verify_pack
from iglu_marl.commands.demo import demo
from iglu_marl.commands.evaluate import evaluate
from iglu_marl.commands.export import export
from iglu_marl.commands.llm import check_model, export_prompts, report_models, run_benchmark
from iglu_marl.commands.new import new
from iglu_marl.commands.options import in_options
from iglu_marl.commands.output import Terminated, exit_code, printable
from iglu_marl.commands.play import play
from iglu_marl.commands.predict import predict
from iglu_marl.commands.questions import questions
from iglu_marl.commands.record import record
from iglu_marl.commands.replay import replay
from iglu_marl.commands.serve import serve
from iglu_marl.commands.serve_openenv import serve_openenv
from iglu_marl.commands.show import show
from iglu_marl.commands.tasks import tasks
from iglu_marl.core.errors import IgluMarlError
from iglu_marl.core.files import error_reason, usable_path

# The commands of the first screen, the others, and the page of docs/ that each help page names.
PANELS = {
    "First": {
        "demo": "agents",
        "play": "playing",
        "show": "pictures",
        "new": "tutorials/your-own-agent",
        "evaluate": "evaluation",
        "serve": "browser",
        "data": "data",
        "benchmark": "benchmark",
    },
    "More": {
        "record": "evaluation",
        "replay": "evaluation",
        "tasks": "tasks",
        "agents": "agents",
        "predict": "action_prediction",
        "questions": "data",
        "serve-openenv": "text",
        "study": "studies",
        "llm": "llm",
    },
}
_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


def _page_line(name: str) -> str:
    return f"Page: docs/{PANELS[_PANEL_OF[name]][name]}.md"


class _WithoutFlagTypes:
    """A command or group whose help shows no `<bool>` beside its flags: they take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of Typer."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the command or group beside it
        for param in params:
            if getattr(param, "is_flag", False):  # arguments have none
                param.metavar = ""
        return params


class _Command(_WithoutFlagTypes, TyperCommand):
    """A command."""


class _Group(_WithoutFlagTypes, TyperGroup):
    """A group of commands."""


def _exit_with(result: Any, **_: Any) -> None:
    raise typer.Exit(1 if result is False else 0)


app = typer.Typer(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},  # of the commands below, too
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    result_callback=_exit_with,
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
    """Play, evaluate and record architects and builders in a voxel world."""


def _with_option_names(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with a check of its paths, and errors that name its options, not arguments of the API."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            for value in options.values():
                for path in value if isinstance(value, list) else [value]:
                    if isinstance(path, Path):
                        usable_path(path, named=False)
            return command(*arguments, **options)
        except IgluMarlError as error:
            error.args = (in_options(str(error), command), *error.args[1:])
            raise
        except KeyboardInterrupt as stop:
            raise typer.Exit(exit_code(stop)) from None

    return run


def _add(group: typer.Typer, name: str, command: Callable[..., Any], page: str, **options: Any) -> None:
    """Add a command to a group. The examples at the end of its docstring and its page of docs/ end its help."""
    text, _, examples = inspect.getdoc(command).partition("\nExamples: ")  # type: ignore[union-attr]
    lines = [f"  {line}" for line in " ".join(examples.split()).split("; ")]
    group.command(name, cls=_Command, help=text, epilog="\n\n".join(["Examples:", *lines, page]), **options)(
        _with_option_names(command)
    )


def _add_group(name: str, summary: str, **commands: Callable[..., Any]) -> None:
    group = typer.Typer(cls=_Group, no_args_is_help=True, help=summary, epilog=_page_line(name))
    for own_name, command in commands.items():
        _add(group, own_name, command, _page_line(name))
    app.add_typer(group, name=name, rich_help_panel=_PANEL_OF[name])


for _command in (
    demo,
    play,
    show,
    new,
    evaluate,
    record,
    tasks,
    agents,
    predict,
    questions,
    replay,
    serve,
    serve_openenv,
):
    _name = _command.__name__.replace("_", "-")
    _add(app, _name, _command, _page_line(_name), rich_help_panel=_PANEL_OF[_name])
_add_group(
    "data",
    "List, download, check, export and browse the human datasets.",
    list=list_packs,
    fetch=fetch_packs,
    info=show_pack,
    verify=verify_pack,
    export=export,
    browse=browse,
)
_add_group(
    "study",
    "Follow a study with people in the browser, and export its data.",
    links=study.links,
    rehearse=study.rehearse,
    status=study.status,
    export=study.export,
    backup=study.backup,
    forget=study.forget,
)
_add_group(
    "benchmark",
    "The benchmark of learning: levels, results and reports.",
    list=list_levels,
    run=run_level,
    verify=verify_result,
    report=report_results,
    site=write_leaderboard,
)
_add_group(
    "llm",
    "Check a language model; export training data for one; run their benchmark.",
    check=check_model,
    export=export_prompts,
    benchmark=run_benchmark,
    report=report_models,
)


def _terminate(*_: object) -> None:
    raise Terminated


def main() -> None:
    """Entry point of the command. SIGTERM ends it as Ctrl+C does: temporary files and processes go."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except IgluMarlError as error:
        typer.secho(f"Error: {printable(error)}", fg=typer.colors.RED, err=True)
        sys.exit(2)
    except KeyboardInterrupt as stop:  # before a command began
        sys.exit(exit_code(stop))
    except OSError as error:
        if error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still to be written
        reason = f"Error: the output cannot be written: {error_reason(error)}"
        typer.secho(reason, fg=typer.colors.RED, err=True)
        sys.exit(1)
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    main()
