"""Things that act: partners for either role, all with the `Agent` protocol.

Members load when they are first used. They use public names of `iglu_marl` only, as an agent of your own would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members

if TYPE_CHECKING:  # what type checkers and editors see
    from iglu_marl.agents.human import HumanArchitect as HumanArchitect
    from iglu_marl.agents.human import HumanBuilder as HumanBuilder
    from iglu_marl.agents.learned.builder import LearnedBuilder as LearnedBuilder
    from iglu_marl.agents.llm import LLMArchitect as LLMArchitect
    from iglu_marl.agents.llm import LLMBuilder as LLMBuilder
    from iglu_marl.agents.oracle import OracleBuilder as OracleBuilder
    from iglu_marl.agents.pairing import agents_for as agents_for
    from iglu_marl.agents.random_agents import RandomArchitect as RandomArchitect
    from iglu_marl.agents.random_agents import RandomBuilder as RandomBuilder
    from iglu_marl.agents.replay import ReplayArchitect as ReplayArchitect
    from iglu_marl.agents.scripted_architect import ScriptedArchitect as ScriptedArchitect
    from iglu_marl.agents.scripted_builder import ScriptedBuilder as ScriptedBuilder

_MODULE_OF = {
    "HumanArchitect": "human",
    "HumanBuilder": "human",
    "LearnedBuilder": "learned.builder",
    "LLMArchitect": "llm",
    "LLMBuilder": "llm",
    "OracleBuilder": "oracle",
    "RandomArchitect": "random_agents",
    "RandomBuilder": "random_agents",
    "ReplayArchitect": "replay",
    "ScriptedArchitect": "scripted_architect",
    "ScriptedBuilder": "scripted_builder",
    "agents_for": "pairing",
}

__getattr__, __dir__, __all__ = members(__name__, _MODULE_OF)
