"""Partners for an environment, by name."""

from __future__ import annotations

from typing import Any

import gymnasium

from iglu_marl import Agent, AgentError, Role
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.learned.builder import LearnedBuilder
from iglu_marl.agents.llm import LLMArchitect, LLMBuilder
from iglu_marl.agents.oracle import OracleBuilder
from iglu_marl.agents.random import RandomArchitect, RandomBuilder
from iglu_marl.agents.replay import ReplayArchitect
from iglu_marl.agents.scripted import partners
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.agents.scripted.builder import ScriptedBuilder

ARCHITECTS: dict[str, Any] = {
    "llm": LLMArchitect,
    "random": RandomArchitect,
    "replay": ReplayArchitect,
    "scripted": ScriptedArchitect,
    **partners.ARCHITECTS,
    **zoo.in_role(Role.ARCHITECT),
}
BUILDERS: dict[str, Any] = {
    "learned": LearnedBuilder,
    "llm": LLMBuilder,
    "oracle": OracleBuilder,
    "random": RandomBuilder,
    "scripted": ScriptedBuilder,
    **partners.BUILDERS,
    **zoo.in_role(Role.BUILDER),
}


def agents_for(env: Any, architect: str = "scripted", builder: str = "scripted") -> dict[Role, Agent]:
    """Agents that fit an environment's action spaces and chat, ready for `iglu_marl.play`.

    architect: "scripted", "random", "replay" (a recorded dialogue), "llm" (a language model, as the environment
    variables say), one of `iglu_marl.agents.scripted.partners`, or of `iglu_marl.agents.learned.zoo`. builder:
    "scripted" (has to observe its pose and the grid), "learned" (so does it; its model is the folder that
    the environment variable IGLU_MARL_MODEL names), "oracle", "random", "llm", or one of the partners or the zoo.
    A single-agent environment has its architect inside: it gets the builder alone. Raises `AgentError` for other names.
    """
    for name, known in ((architect, ARCHITECTS), (builder, BUILDERS)):
        if name not in known:
            raise AgentError(f"agent {name!r} is unknown, expected one of {', '.join(known)}")
    found: dict[Role, Agent] = {}
    if not isinstance(getattr(env, "unwrapped", env), gymnasium.Env):
        found[Role.ARCHITECT] = ARCHITECTS[architect].for_env(env)
    found[Role.BUILDER] = BUILDERS[builder].for_env(env)
    return found
