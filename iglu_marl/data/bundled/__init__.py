"""The bundled sessions: structures and dialogues written for this project.

The files beside this module have the layout of the IGLU multi-turn release (see README.md there).
"""

from __future__ import annotations

import copy
import importlib.resources
from functools import cache
from pathlib import Path
from typing import cast

from iglu_marl.core.errors import DataError
from iglu_marl.core.task import Subtasks
from iglu_marl.data.iglu.multiturn import MultiturnSkip
from iglu_marl.data.iglu.multiturn_dataset import read_sessions
from iglu_marl.data.report import Report

__all__ = ["files", "load"]


def files() -> Path:
    """Return the folder with dialogs.csv and builder-data/."""
    return cast(Path, importlib.resources.files(__name__))


def load() -> dict[str, list[Subtasks]]:
    """Return the bundled sessions by structure, in alphabetical order: `load()["bridge"][0]` is a session.

    The files are read once. Each call returns new `Subtasks`, which the caller may seed or make progressive.
    Raises `DataError` if the installed data are incomplete or damaged.
    """
    return {name: [copy.copy(session) for session in sessions] for name, sessions in _read().items()}


@cache
def _read() -> dict[str, tuple[Subtasks, ...]]:
    report = Report[MultiturnSkip]()
    sessions = read_sessions(files(), report)
    if report.skipped:
        raise DataError(f"the bundled data are damaged: {report.skipped[0]}; reinstall iglu_marl")
    return {name: tuple(sessions[name]) for name in sorted(sessions)}
