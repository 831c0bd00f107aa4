"""How commands show what they do: text, unless JSON is asked for, and bars that vanish when they are full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from iglu_marl.recording.rollout import Trajectory


def text_console(as_json: bool) -> Console:
    """Where text goes: to stdout, which JSON has for itself."""
    return Console(quiet=as_json, highlight=False, soft_wrap=True)


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
