"""Partners for an environment, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium

from iglu_marl import Agent, AgentError, GameConfig, Role
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.learned.builder import HybridBuilder, LearnedBuilder
from iglu_marl.agents.llm import LLMArchitect, LLMBuilder
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.oracle import OracleBuilder
from iglu_marl.agents.random import RandomArchitect, RandomBuilder
from iglu_marl.agents.replay import ReplayArchitect
from iglu_marl.agents.scripted import partners
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.core.text import similar

ARCHITECTS: dict[str, Any] = {
    "llm": LLMArchitect,
    "random": RandomArchitect,
    "replay": ReplayArchitect,
    "scripted": ScriptedArchitect,
    **partners.ARCHITECTS,
    **zoo.in_role(Role.ARCHITECT),
}
BUILDERS: dict[str, Any] = {
    "hybrid": HybridBuilder,
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
    "scripted" (has to observe its pose and the grid), "learned" and "hybrid" (so do they; their model is the
    folder that the environment variable IGLU_MARL_MODEL names, else one of the zoo), "oracle", "random", "llm", or one
    of the partners or the zoo.
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
    if not isinstance(name, str):
        return None
    if name.startswith(NamedModel.PREFIX):
        return NamedModel.of(name, known(role)["llm"])
    return known(role).get(name)


def named(name: str, role: Role) -> Any:
    """What has a `for_env` that makes the agent of a name. Raises `AgentError` for an unknown one."""
    if (maker := find(name, role)) is None:
        names = known(role)
        raise AgentError(
            f"agent {name!r} is unknown{similar(name, names)}, expected one of {', '.join(names)}, "
            "or llm:MODEL@ENDPOINT"
        )
    return maker


_SIGHTS = ("architect_sees", "builder_sees")


def game_options(
    agents: Mapping[Role, Iterable[Any]], own: Mapping[str, Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Options of a game in which agents by name can play, for `iglu_marl.env` and its like.

    A trained agent plays in the game that it has learned in: what its card says (controls, chat, ...) holds over `own`,
    the options of whoever asks, and what it sees is added to theirs. What is `asked` for holds over both: an agent
    that cannot play so refuses.

    agents: their names by role; what is no name has no game of its own. asked: options; None is not asked for.
    Raises `AgentError` for two agents who have learned in games that are not one.
    """
    game, wanted = dict(own), {key: value for key, value in asked.items() if value is not None}
    learned: dict[str, tuple[str, Any]] = {}  # by option: who first, and how
    for role, names in agents.items():
        for name in names:
            trained = getattr(find(name, role), "game", {})
            for key, value in trained.items():
                if key in _SIGHTS:
                    game[key] = tuple(dict.fromkeys((*game.get(key, getattr(GameConfig, key)), *value)))
                    continue
                first, known = learned.setdefault(key, (name, value))
                if known != value and key not in wanted:
                    raise AgentError(
                        f"{first} plays with {key}={known!r}, {name} with {value!r}: they have no game in common"
                    )
                game[key] = value
    return {**game, **wanted}


# Of partners who play with people in real time, and are asked once a second: patient; the game goes on while a model
# thinks.
_MANNERS: dict[Role, dict[str, dict[str, Any]]] = {
    Role.ARCHITECT: {
        # Turns before it says something else, the same again, or speaks of a block that does not belong there.
        "scripted": {"patience": 30, "repeat_after": 120, "comment_after": 3},
        "llm": {"patience": 30, "settle_after": 3, "background": True},
    },
    Role.BUILDER: {"llm": {"background": True}},
}


def partner_for(env: Any, role: Role, name: str) -> Agent:
    """An agent by name that plays a role with a person, in real time. Raises `AgentError` for unknown names."""
    agent: Agent = named(name, role).for_env(env, **_MANNERS[role].get(name.partition(":")[0], {}))
    return agent
