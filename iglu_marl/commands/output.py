"""Output of commands: text or JSON, progress bars, result folders, and messages at Ctrl+C."""

from __future__ import annotations

import contextlib
import json
import math
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from iglu_marl.core.text import strip_control
from iglu_marl.data.progress import progress_bar as shared_bar

if TYPE_CHECKING:
    from iglu_marl.recording.rollout import Trajectory


def printable(value: object) -> str:
    """Return a value as one line without control characters or characters that change the text direction."""
    return strip_control(str(value)).replace("\n", " ")


def styled(value: object, style: str) -> Text:
    """Return `printable(value)` in a style such as "bold red"."""
    return Text(printable(value), style)


class _PlainConsole(Console):
    """Console without markup, which prints each string as one `printable` line: values may come from files."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return the text as rich prints it."""
        return super().render_str(printable(text), **options)


def text_console(as_json: bool = False, stderr: bool = False) -> Console:
    """Return the console for text, which is silent if stdout is reserved for JSON."""
    return _PlainConsole(
        quiet=as_json, stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True
    )


def print_json(as_json: bool, value: Any) -> bool:
    """Print a value as JSON if that is wanted, and return whether it is."""
    if as_json:
        print(json.dumps(value))
    return as_json


def new_path(folder: str, *about: str, suffix: str = "") -> Path:
    """Return an unused path in a folder of results, named by the time and the parts of `about`."""
    name = "-".join(
        [time.strftime("%Y%m%d-%H%M%S"), *(re.sub(r"[^\w.-]+", "-", part)[:60] for part in about)]
    )
    paths = (Path(folder, f"{name}{number}{suffix}") for number in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(path for path in paths if not path.exists())


def score(value: float, digits: int = 3) -> str:
    """Return a score as text, "–" if it is NaN."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


def exit_code(stop: KeyboardInterrupt) -> int:
    """Return the exit code after Ctrl+C or SIGTERM, 130 or 143 as in shells."""
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


@contextlib.contextmanager
def stoppable(kept: Callable[[], str]) -> Iterator[None]:
    """Report what is kept after Ctrl+C or SIGTERM."""
    try:
        yield
    except KeyboardInterrupt:
        text_console(stderr=True).print(f"Stopped. {kept()}")
        raise


def progress_bar(as_json: bool, console: Console | None = None) -> Progress:
    """Return a progress bar on stderr, or on the console that is also written to."""
    return shared_bar(not as_json, console=console)


def game_facts(game: Trajectory) -> dict[str, Any]:
    """Return the figures of a game, JSON-ready."""
    return {
        "task": game.task.task_id,
        "seed": game.seed,
        "completed": game.completed,
        "intersection": game.intersection,
        "target_blocks": game.target_blocks,
        "steps": game.builder_steps,
        "turns": game.architect_turns,
        **({"edits": game.edits} if game.edits else {}),
    }
