"""PettingZoo AEC and parallel environments, and Gymnasium single-agent and vector environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers, editors and the API reference see
    from iglu_marl.envs.live import LiveGame as LiveGame
    from iglu_marl.envs.single import GridworldEnv as GridworldEnv
    from iglu_marl.envs.single import SilentBuilderEnv as SilentBuilderEnv
    from iglu_marl.envs.vector import GridworldVectorEnv as GridworldVectorEnv
    from iglu_marl.envs.vector import SilentBuilderVectorEnv as SilentBuilderVectorEnv
    from iglu_marl.envs.vector_game import VectorGame as VectorGame

__getattr__, __dir__, __all__ = lazy_exports(__name__)
