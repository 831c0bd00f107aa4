"""Progress bars."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")


def progress_bar(wanted: bool | None = None, *columns: Any, console: Any = None) -> Progress:
    """Return a bar with times and a count (or `columns`), which is removed at the end.

    `wanted` is whether to show it (None: only if the error stream is a terminal). `console` is by default the error
    stream.
    """
    from rich import progress as rich
    from rich.console import Console

    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        *(columns or (rich.MofNCompleteColumn(), rich.TimeElapsedColumn())),
        rich.TimeRemainingColumn(),
        console=console or Console(stderr=True),
        transient=True,
        disable=not (sys.stderr.isatty() if wanted is None else wanted),
    )


def track(
    items: Iterable[Item], label: str, total: int | None = None, wanted: bool | None = None
) -> Iterator[Item]:
    """Yield the items and show a progress bar with a label; `total` is the number of items if they have no length."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield from items
        return
    with progress_bar(True) as bar:
        yield from bar.track(items, total=total, description=label)
