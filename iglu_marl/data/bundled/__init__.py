"""The sessions that come with the package: structures and dialogues written for this project.

The data stand beside this file in the layout of the IGLU multi-turn release (see README.md there), so they
are read like any other sessions: offline, and with the standard library alone.
"""

from __future__ import annotations

import copy
import importlib.resources
from functools import cache
from typing import cast

from iglu_marl.core.errors import DataError
from iglu_marl.core.task import Subtasks
from iglu_marl.data.iglu.multiturn import Folder, MultiturnSkip, read_sessions
from iglu_marl.data.report import Report

__all__ = ["files", "load"]


def files() -> Folder:
    """The folder with dialogs.csv and builder-data/."""
    return cast(Folder, importlib.resources.files(__name__))


def load() -> dict[str, list[Subtasks]]:
    """The bundled sessions by structure, names in alphabetic order: `load()["bridge"][0]` is a session.

    The files are read once; every call gives new `Subtasks`, which the caller may seed or make progressive.
    Raises `DataError` when the installed data are incomplete or damaged.
    """
    return {name: [copy.copy(session) for session in sessions] for name, sessions in _read().items()}


@cache
def _read() -> dict[str, tuple[Subtasks, ...]]:
    report = Report[MultiturnSkip]()
    sessions = read_sessions(files(), report)
    if report.skipped:
        raise DataError(f"the bundled data are damaged: {report.skipped[0]}; reinstall iglu_marl")
    return {name: tuple(sessions[name]) for name in sorted(sessions)}
