"""Partners for an environment, by name."""

from __future__ import annotations

from typing import Any

import gymnasium

from iglu_marl import Agent, AgentError, Role
from iglu_marl.agents.learned.builder import LearnedBuilder
from iglu_marl.agents.llm import LLMArchitect, LLMBuilder
from iglu_marl.agents.llm.named import NamedModel
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
}
BUILDERS: dict[str, Any] = {
    "learned": LearnedBuilder,
    "llm": LLMBuilder,
    "oracle": OracleBuilder,
    "random": RandomBuilder,
    "scripted": ScriptedBuilder,
    **partners.BUILDERS,
}


def agents_for(env: Any, architect: str = "scripted", builder: str = "scripted") -> dict[Role, Agent]:
    """Agents that fit an environment's action spaces and chat, ready for `iglu_marl.play`.

    architect: "scripted", "random", "replay" (a recorded dialogue), "llm" (a language model, as the environment
    variables say), or one of `iglu_marl.agents.scripted.partners`. builder:
    "scripted" (has to observe its pose and the grid), "learned" (so does it; its model is the folder that
    the environment variable IGLU_MARL_MODEL names), "oracle", "random", "llm", or one of the partners.
    `llm:MODEL` and `llm:MODEL@ENDPOINT` name a language model themselves.
    A single-agent environment has its architect inside: it gets the builder alone. Raises `AgentError` for other names.
    """
    makers = {
        role: named(name, role) for role, name in ((Role.ARCHITECT, architect), (Role.BUILDER, builder))
    }
    if isinstance(getattr(env, "unwrapped", env), gymnasium.Env):
        del makers[Role.ARCHITECT]
    return {role: maker.for_env(env) for role, maker in makers.items()}


def known(role: Role) -> dict[str, Any]:
    """The agents of a role, by name."""
    return ARCHITECTS if role is Role.ARCHITECT else BUILDERS


def find(name: str, role: Role) -> Any:
    """What has a `for_env` that makes the agent of a name; None for an unknown one.

    Raises `AgentError` for a name that begins with `llm:` and does not go on with a model.
    """
    if name.startswith(NamedModel.PREFIX):
        return NamedModel.of(name, known(role)["llm"])
    return known(role).get(name)


def named(name: str, role: Role) -> Any:
    """What has a `for_env` that makes the agent of a name. Raises `AgentError` for an unknown one."""
    if (maker := find(name, role)) is None:
        raise AgentError(
            f"agent {name!r} is unknown, expected one of {', '.join(known(role))}, or llm:MODEL@ENDPOINT"
        )
    return maker
