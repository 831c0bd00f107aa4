"""Agents for both roles, with the `Agent` protocol.

They are loaded on first use, and use public names of `iglu_marl` only, as an agent of your own would.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from iglu_marl.agents.bases import pretrained as pretrained
    from iglu_marl.agents.human.architect import HumanArchitect as HumanArchitect
    from iglu_marl.agents.human.builder import HumanBuilder as HumanBuilder
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

_MODULES = {
    "HumanArchitect": "human.architect",
    "HumanBuilder": "human.builder",
    "LLMArchitect": "llm.architect",
    "LLMBuilder": "llm.builder",
    "LearnedBuilder": "learned.builder",
    "OracleBuilder": "oracle",
    "RandomArchitect": "random",
    "RandomBuilder": "random",
    "ReplayArchitect": "replay",
    "ScriptedArchitect": "scripted.architect",
    "ScriptedBuilder": "scripted.builder",
    "agents_for": "registry",
    "pretrained": "bases",
    "zoo": "learned.zoo",
}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"iglu_marl.agents.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
