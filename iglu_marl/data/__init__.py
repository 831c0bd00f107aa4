"""Datasets: recorded sessions and worlds, read into tasks.

`bundled.load()` gives the sessions that come with the package; `read_sessions` reads any others in the
upstream multi-turn layout. Everything is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iglu_marl.data import bundled as bundled
    from iglu_marl.data.multiturn import Report as Report
    from iglu_marl.data.multiturn import Row as Row
    from iglu_marl.data.multiturn import Skip as Skip
    from iglu_marl.data.multiturn import Skipped as Skipped
    from iglu_marl.data.multiturn import read_rows as read_rows
    from iglu_marl.data.multiturn import read_session as read_session
    from iglu_marl.data.multiturn import read_sessions as read_sessions
    from iglu_marl.data.multiturn import read_world as read_world

_MEMBERS = dict.fromkeys(
    ("Report", "Row", "Skip", "Skipped", "read_rows", "read_session", "read_sessions", "read_world"),
    "iglu_marl.data.multiturn",
)
_MODULES = frozenset({"bundled"})

__all__ = [
    "Report",
    "Row",
    "Skip",
    "Skipped",
    "bundled",
    "read_rows",
    "read_session",
    "read_sessions",
    "read_world",
]


def __getattr__(name: str) -> Any:
    """Load a public name at its first use."""
    if name in _MEMBERS:
        value = getattr(importlib.import_module(_MEMBERS[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
