"""The two-agent building game in PettingZoo's manner: `from iglu_marl import architect_builder_v0`."""

from __future__ import annotations

from iglu_marl.envs.aec import env, raw_env
from iglu_marl.envs.parallel import parallel_env

__all__ = ["env", "parallel_env", "raw_env"]
