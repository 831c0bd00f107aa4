"""The IGLU building game as a multi-agent environment: an architect explains, a builder builds.

Public names are loaded when they are first used, so that `import iglu_marl` stays light: no OpenGL, pygame,
pandas, requests, torch or transformers, and no kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from iglu_marl.envs.registration import register

if TYPE_CHECKING:  # what type checkers and editors see; tests/test_import.py keeps it equal to _MEMBERS
    from iglu_marl.core.controls import Controls as Controls
    from iglu_marl.core.dialogue import Dialogue as Dialogue
    from iglu_marl.core.dialogue import Role as Role
    from iglu_marl.core.dialogue import Utterance as Utterance
    from iglu_marl.core.errors import ActionError as ActionError
    from iglu_marl.core.errors import AgentError as AgentError
    from iglu_marl.core.errors import ConfigError as ConfigError
    from iglu_marl.core.errors import DataError as DataError
    from iglu_marl.core.errors import DialogueError as DialogueError
    from iglu_marl.core.errors import GridError as GridError
    from iglu_marl.core.errors import IgluMarlError as IgluMarlError
    from iglu_marl.core.errors import LanguageError as LanguageError
    from iglu_marl.core.errors import PlanningError as PlanningError
    from iglu_marl.core.errors import PoseError as PoseError
    from iglu_marl.core.errors import RenderError as RenderError
    from iglu_marl.core.errors import ReplayError as ReplayError
    from iglu_marl.core.errors import ServiceError as ServiceError
    from iglu_marl.core.errors import ServiceRefusedError as ServiceRefusedError
    from iglu_marl.core.errors import StateError as StateError
    from iglu_marl.core.errors import TaskError as TaskError
    from iglu_marl.core.grid import from_iglu2022_ids as from_iglu2022_ids
    from iglu_marl.core.grid import to_iglu2022_ids as to_iglu2022_ids
    from iglu_marl.core.scoring import intersection_scores as intersection_scores
    from iglu_marl.core.scoring import maximal_intersection as maximal_intersection
    from iglu_marl.core.task import Subtasks as Subtasks
    from iglu_marl.core.task import Task as Task
    from iglu_marl.core.worlds import Pose as Pose
    from iglu_marl.core.worlds import Worlds as Worlds
    from iglu_marl.envs.aec import env as env
    from iglu_marl.envs.aec import raw_env as raw_env
    from iglu_marl.envs.parallel import parallel_env as parallel_env
    from iglu_marl.evaluation import evaluate as evaluate
    from iglu_marl.game.agent import Agent as Agent
    from iglu_marl.game.config import GameConfig as GameConfig
    from iglu_marl.recording import Recorder as Recorder
    from iglu_marl.recording import replay as replay
    from iglu_marl.rollout import Trajectory as Trajectory
    from iglu_marl.rollout import play as play

__version__ = "0.1.0"

# public name -> module that defines it
_MEMBERS = {
    "ActionError": "iglu_marl.core.errors",
    "Agent": "iglu_marl.game.agent",
    "AgentError": "iglu_marl.core.errors",
    "ConfigError": "iglu_marl.core.errors",
    "Controls": "iglu_marl.core.controls",
    "DataError": "iglu_marl.core.errors",
    "Dialogue": "iglu_marl.core.dialogue",
    "DialogueError": "iglu_marl.core.errors",
    "GameConfig": "iglu_marl.game.config",
    "GridError": "iglu_marl.core.errors",
    "IgluMarlError": "iglu_marl.core.errors",
    "LanguageError": "iglu_marl.core.errors",
    "PlanningError": "iglu_marl.core.errors",
    "Pose": "iglu_marl.core.worlds",
    "PoseError": "iglu_marl.core.errors",
    "Recorder": "iglu_marl.recording",
    "RenderError": "iglu_marl.core.errors",
    "ReplayError": "iglu_marl.core.errors",
    "Role": "iglu_marl.core.dialogue",
    "ServiceError": "iglu_marl.core.errors",
    "ServiceRefusedError": "iglu_marl.core.errors",
    "StateError": "iglu_marl.core.errors",
    "Subtasks": "iglu_marl.core.task",
    "Task": "iglu_marl.core.task",
    "TaskError": "iglu_marl.core.errors",
    "Trajectory": "iglu_marl.rollout",
    "Utterance": "iglu_marl.core.dialogue",
    "Worlds": "iglu_marl.core.worlds",
    "env": "iglu_marl.envs.aec",
    "evaluate": "iglu_marl.evaluation",
    "from_iglu2022_ids": "iglu_marl.core.grid",
    "intersection_scores": "iglu_marl.core.scoring",
    "maximal_intersection": "iglu_marl.core.scoring",
    "parallel_env": "iglu_marl.envs.parallel",
    "play": "iglu_marl.rollout",
    "raw_env": "iglu_marl.envs.aec",
    "replay": "iglu_marl.recording",
    "to_iglu2022_ids": "iglu_marl.core.grid",
}

# public modules, loaded as attributes: `import iglu_marl; iglu_marl.agents`
_MODULES = frozenset(
    {
        "action_prediction",
        "agents",
        "architect_builder_v0",
        "compat",
        "const",
        "core",
        "data",
        "envs",
        "evaluation",
        "language",
        "metrics",
        "planning",
        "recording",
        "rendering",
        "tasks",
    }
)

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


register()
