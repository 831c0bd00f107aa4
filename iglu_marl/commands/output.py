"""How commands show what they do: text, unless JSON is asked for, and bars that vanish when they are full."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Exit

if TYPE_CHECKING:
    from iglu_marl.recording.rollout import Trajectory


def text_console(as_json: bool) -> Console:
    """Where text goes: to stdout, which JSON has for itself."""
    return Console(quiet=as_json, highlight=False, soft_wrap=True)


def score(value: float, digits: int = 3) -> str:
    """A score as text; "–" where it is not defined."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


class _Terminated(KeyboardInterrupt):
    """SIGTERM came."""


def _terminate(*_: object) -> None:
    raise _Terminated


@contextlib.contextmanager
def stoppable(kept: Callable[[], str]) -> Iterator[None]:
    """Say what is kept when a command is stopped by Ctrl+C or SIGTERM; it exits with 130 and 143, as shells have it."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    except KeyboardInterrupt as stop:
        print(f"Stopped. {kept()}", file=sys.stderr)
        raise Exit(128 + (signal.SIGTERM if isinstance(stop, _Terminated) else signal.SIGINT)) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def progress_bar(as_json: bool, console: Console | None = None) -> Progress:
    """A bar that counts; on stderr, or on a console that is written to meanwhile."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    shown = console or Console(stderr=True, quiet=as_json)
    return Progress(*columns, console=shown, transient=True)


def game_facts(game: Trajectory) -> dict[str, Any]:
    """The figures of a game, JSON-ready."""
    return {
        "task": game.task.task_id,
        "seed": game.seed,
        "completed": game.completed,
        "intersection": game.intersection,
        "target_blocks": game.target_blocks,
        "steps": game.builder_steps,
        "turns": game.architect_turns,
    }
