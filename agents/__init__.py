"""Agents for both roles, with the `Agent` protocol.

They are loaded on first use, and use public names of `iglu_marl` only, as an agent of your own would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import lazy_exports

if TYPE_CHECKING:  # what type checkers and editors see
    from iglu_marl.agents.bases import pretrained as pretrained
    from iglu_marl.agents.human.builder import WindowBuilder as WindowBuilder
    from iglu_marl.agents.learned.builder import LearnedBuilder as LearnedBuilder
    from iglu_marl.agents.learned.zoo import zoo as zoo
    from iglu_marl.agents.llm.architect import LLMArchitect as LLMArchitect
    from iglu_marl.agents.llm.builder import LLMBuilder as LLMBuilder
    from iglu_marl.agents.oracle import OracleBuilder as OracleBuilder
    from iglu_marl.agents.random import RandomArchitect as RandomArchitect
    from iglu_marl.agents.random import RandomBuilder as RandomBuilder
    from iglu_marl.agents.registry import agents_for as agents_for
    from iglu_marl.agents.replay import ReplayArchitect as ReplayArchitect
    from iglu_marl.agents.scripted.architect import ScriptedArchitect as ScriptedArchitect
    from iglu_marl.agents.scripted.builder import ScriptedBuilder as ScriptedBuilder

__getattr__, __dir__, __all__ = lazy_exports(__name__)
