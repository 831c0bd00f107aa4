"""Things that act: partners for either role, all with the `Agent` protocol.

Members load when they are first used. They use public names of `iglu_marl` only, as an agent of your own would.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from iglu_marl.core.lazy import members
from iglu_marl.core.moved import lead

if (
    __name__ == "agents"
):  # imported from the repository's root: the installed package, not a second copy of it
    lead({"agents": "iglu_marl.agents"}, deprecated=False)
    import iglu_marl.agents

    sys.modules["agents"] = iglu_marl.agents

if TYPE_CHECKING:  # what type checkers and editors see
    from iglu_marl.agents.human.architect import HumanArchitect as HumanArchitect
    from iglu_marl.agents.human.builder import HumanBuilder as HumanBuilder
    from iglu_marl.agents.learned.builder import HybridBuilder as HybridBuilder
    from iglu_marl.agents.learned.builder import LearnedBuilder as LearnedBuilder
    from iglu_marl.agents.llm import LLMArchitect as LLMArchitect
    from iglu_marl.agents.llm import LLMBuilder as LLMBuilder
    from iglu_marl.agents.oracle import OracleBuilder as OracleBuilder
    from iglu_marl.agents.random import RandomArchitect as RandomArchitect
    from iglu_marl.agents.random import RandomBuilder as RandomBuilder
    from iglu_marl.agents.registry import agents_for as agents_for
    from iglu_marl.agents.replay import ReplayArchitect as ReplayArchitect
    from iglu_marl.agents.scripted.architect import ScriptedArchitect as ScriptedArchitect
    from iglu_marl.agents.scripted.builder import ScriptedBuilder as ScriptedBuilder

__getattr__, __dir__, __all__ = members(__name__)
