"""The IGLU building game as a multi-agent environment: an architect explains, a builder builds.

Public names are loaded when they are first used, so that `import iglu_marl` stays light: no OpenGL, pygame,
pandas, requests, torch or transformers, and no kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; tests/test_import.py keeps it equal to _MEMBERS
    from iglu_marl.core.errors import ActionError as ActionError
    from iglu_marl.core.errors import AgentError as AgentError
    from iglu_marl.core.errors import ConfigError as ConfigError
    from iglu_marl.core.errors import DataError as DataError
    from iglu_marl.core.errors import DialogueError as DialogueError
    from iglu_marl.core.errors import GridError as GridError
    from iglu_marl.core.errors import IgluMarlError as IgluMarlError
    from iglu_marl.core.errors import PlanningError as PlanningError
    from iglu_marl.core.errors import PoseError as PoseError
    from iglu_marl.core.errors import RenderError as RenderError
    from iglu_marl.core.errors import StateError as StateError
    from iglu_marl.core.errors import TaskError as TaskError
    from iglu_marl.core.grid import from_iglu2022_ids as from_iglu2022_ids
    from iglu_marl.core.grid import to_iglu2022_ids as to_iglu2022_ids

__version__ = "0.1.0"

# public name -> module that defines it
_MEMBERS = {
    "ActionError": "iglu_marl.core.errors",
    "AgentError": "iglu_marl.core.errors",
    "ConfigError": "iglu_marl.core.errors",
    "DataError": "iglu_marl.core.errors",
    "DialogueError": "iglu_marl.core.errors",
    "GridError": "iglu_marl.core.errors",
    "IgluMarlError": "iglu_marl.core.errors",
    "PlanningError": "iglu_marl.core.errors",
    "PoseError": "iglu_marl.core.errors",
    "RenderError": "iglu_marl.core.errors",
    "StateError": "iglu_marl.core.errors",
    "TaskError": "iglu_marl.core.errors",
    "from_iglu2022_ids": "iglu_marl.core.grid",
    "to_iglu2022_ids": "iglu_marl.core.grid",
}

# public modules, loaded as attributes: `import iglu_marl; iglu_marl.agents`
_MODULES = frozenset({"agents", "core"})

__all__ = ["__version__", *sorted(_MEMBERS)]


def __getattr__(name: str) -> Any:
    """Load a public name, or a public module, at its first use."""
    if name in _MEMBERS:
        value = getattr(importlib.import_module(_MEMBERS[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
