"""The IGLU building game as a multi-agent environment: an architect explains, a builder builds.

Public names are loaded when they are first used, so that `import iglu_marl` stays light: no OpenGL, pygame,
pandas, requests, torch or transformers, and no kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl._version import __version__ as __version__
from iglu_marl.core.lazy import lazy_exports
from iglu_marl.envs.registration import register

if TYPE_CHECKING:  # the list of public names: what type checkers and editors see
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
    from iglu_marl.core.errors import MissingExtraError as MissingExtraError
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
    from iglu_marl.core.schedule import Schedule as Schedule
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
    from iglu_marl.recording.rollout import Trajectory as Trajectory
    from iglu_marl.recording.rollout import play as play

# public modules, loaded as attributes: `import iglu_marl; iglu_marl.agents`
_MODULES = frozenset(
    {
        "agents",
        "architect_builder_v0",
        "benchmark",
        "compat",
        "const",
        "core",
        "data",
        "envs",
        "evaluation",
        "language",
        "planning",
        "recording",
        "rendering",
        "tasks",
        "web",
    }
)

__getattr__, __dir__, _public = lazy_exports(__name__, _MODULES)
__all__ = ["__version__", *_public]

register()
