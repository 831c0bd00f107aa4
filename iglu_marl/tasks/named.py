"""Task sources by name: what `tasks=` and `--task-source` accept besides sources themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from iglu_marl.core.errors import ConfigError, IgluMarlError
from iglu_marl.core.imports import imported
from iglu_marl.core.text import similar
from iglu_marl.tasks.bundled import BundledTasks
from iglu_marl.tasks.random_tasks import RandomTasks
from iglu_marl.tasks.source import source_fault
from iglu_marl.tasks.structures import StructureTasks

NAMES: dict[str, Callable[[], Any]] = {
    "bundled": lambda: BundledTasks(mode="structures"),
    "turns": lambda: BundledTasks(mode="turns"),
    "random": lambda: RandomTasks(max_blocks=8, height_levels=3, num_colors=6),
}
"""What makes the source of a name: bundled structures, turns of the bundled sessions, and random structures."""


def as_source(value: Any, place: str = "tasks", error: type[IgluMarlError] = ConfigError) -> Any:
    """Return a source for `sample_task`: the value itself, or the source that it names.

    Args:
        value: a source (see `sample_task`); one of `NAMES`; a JSON file of structures; or FILE.py:Class or module:Class
            of a source that needs no arguments.
        place: where the value was given, for errors.
        error: raised for other values. It names the wrong element of a list.

    """
    if isinstance(value, (str, os.PathLike)):
        return _by_name(os.fspath(value), place, error)
    if fault := source_fault(value, place):
        raise error(fault)
    return value


def _by_name(name: str, place: str, error: type[IgluMarlError]) -> Any:
    if name in NAMES:
        return NAMES[name]()
    if ":" in name and name.rpartition(":")[2].isidentifier():
        return _imported(name, place, error)
    if name.endswith(".py"):
        raise error(f"{place} is {name!r}, expected a class in it, as in {name}:Class")
    if not name or not os.path.lexists(name):
        raise error(
            f"{place} is {name!r:.200}{similar(name, NAMES)}, expected {', '.join(NAMES)}, an existing JSON file of "
            "structures, FILE.py:Class or module:Class"
        )
    return StructureTasks(name)


def _imported(name: str, place: str, error: type[IgluMarlError]) -> Any:
    try:
        found = imported(name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise error(f"{place} is {name!r}, which cannot be imported: {fault}") from None
    try:
        source = found() if callable(found) else found
    except TypeError as fault:
        raise error(f"{place} is {name!r}, which cannot be called without arguments: {fault}") from None
    if wrong := source_fault(source, f"what {name} gives"):
        raise error(f"{place} is {name!r}: {wrong}")
    return source
