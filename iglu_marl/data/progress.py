"""A progress bar for long reading, shown where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(
    items: Iterable[Item], label: str, total: int | None = None, wanted: bool | None = None
) -> Iterator[Item]:
    """The items one by one, with a bar on the error stream that counts them.

    label: what stands before the bar. total: how many items there are, where `items` does not tell. wanted:
    whether to show the bar; None: only where the error stream is a terminal.
    """
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=label)
