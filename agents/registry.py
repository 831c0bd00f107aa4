"""Agents by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any, Literal

from iglu_marl import Agent, AgentError, GameConfig, Role
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.learned.builder import LearnedBuilder
from iglu_marl.agents.llm.architect import LLMArchitect
from iglu_marl.agents.llm.builder import LLMBuilder
from iglu_marl.agents.llm.named import NamedModel
from iglu_marl.agents.oracle import OracleBuilder
from iglu_marl.agents.random import NothingBuilder, RandomArchitect, RandomBuilder
from iglu_marl.agents.replay import ReplayArchitect
from iglu_marl.agents.scripted.architect import ScriptedArchitect
from iglu_marl.agents.scripted.builder import ScriptedBuilder
from iglu_marl.agents.scripted.partners import HastyBuilder, VagueArchitect
from iglu_marl.agents.team import TeamArchitect, TeamBuilder, TeamOracle
from iglu_marl.core.dialogue import role_of
from iglu_marl.core.imports import imported
from iglu_marl.core.text import similar
from iglu_marl.game.seats import check_agent, players_of, seats_of, takes, unwrap_game

# A string is a module and its attribute: what lies above the agents.
ARCHITECTS: dict[str, Any] = {
    "human": "iglu_marl.web.human:HumanArchitect",
    "llm": LLMArchitect,
    "random": RandomArchitect,
    "replay": ReplayArchitect,
    "scripted": ScriptedArchitect,
    "vague": VagueArchitect,
}
BUILDERS: dict[str, Any] = {
    "hasty": HastyBuilder,
    "human": "iglu_marl.web.human:HumanBuilder",
    "learned": LearnedBuilder,
    "llm": LLMBuilder,
    "nothing": NothingBuilder,
    "oracle": OracleBuilder,
    "random": RandomBuilder,
    "scripted": ScriptedBuilder,
    "scripted-llm": LLMBuilder,
    **zoo.builders(),
}


# The scripted architect asks people and language models for shapes. A remark would cost a call of a model.
_READER_OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "model": {"level": "shapes", "references": "exact"},
    "person": {"level": "shapes", "references": "exact", "overview": True},
}


def reader_of(builder: str | None) -> Literal["grammar", "model"]:
    """Return what reads an architect's words for a builder, by its name."""
    return "model" if re.match(r"(scripted-)?llm\b", builder or "") else "grammar"


def agents_for(
    env: Any, architect: str = "scripted", builder: str = "scripted", reader: str | None = None
) -> dict[Any, Agent]:
    """Return agents for the action spaces and chat of an environment, ready for `iglu_marl.play`.

    A single-agent environment contains its architect, so only the builder is returned. Those of a team are returned by
    name ("builder_1"); "scripted" and "oracle" are those of `iglu_marl.agents.team` then.

    Args:
        env: an environment of iglu_marl.
        architect: "scripted", "vague", "random", "replay" (a recorded dialogue), "llm" (by environment variables), or a
            name of `iglu_marl.agents.learned.zoo`.
        builder: "scripted", "hasty", "learned", "oracle", "random", "nothing", "llm", or a name of the zoo. The model
            of "learned" is the folder in IGLU_MARL_MODEL, or one of the zoo. For further names see `find`.
        reader: who reads what the architect says, as of `seated`. Default: "model" if the builder is one.

    Raises:
        AgentError: for unknown names.

    """
    names = {Role.ARCHITECT: architect, Role.BUILDER: builder}
    for role, name in names.items():
        named(name, role)
    if reader is None:
        reader = "model" if reader_of(builder) == "model" else ""
    return {
        player: seated(names[role_of(player)], env, agent, reader=reader)
        for agent, player in players_of(env).items()
    }


def seated(spec: Any, env: Any, agent: str, *, reader: str = "", **options: Any) -> Agent:
    """Return the agent that plays `agent` ("builder_1") in an environment, from a spec as of `factory`.

    A class with `for_seat(env, agent)` is made by that, with the options. Raises `AgentError`, also if the agent cannot
    play there.

    reader: for whom the scripted architect speaks: "person" or "model" gets requests for shapes, "" for blocks.
    """
    role, seat = role_of(agent), seats_of(env)[agent]
    if spec in ("scripted", "oracle") and unwrap_game(env).config.is_team:
        spec = (
            {"architect": TeamArchitect, "builder": TeamBuilder}[role] if spec == "scripted" else TeamOracle
        )
    elif spec == "scripted" and role is Role.ARCHITECT:
        options = {**_READER_OPTIONS[reader], **options}
    maker = named(spec, role) if isinstance(spec, str) else spec
    make = factory(maker, role)
    made: Agent = (
        maker.for_seat(env, agent, **options) if hasattr(maker, "for_seat") else make(env, **options)
    )
    check_agent(made, seat)
    return made


def known(role: Role) -> dict[str, Any]:
    """Return the agents of a role by name."""
    return ARCHITECTS if role is Role.ARCHITECT else BUILDERS


def find(name: str, role: Role) -> Any:
    """Return the class or object whose `for_env` makes the agent of a name; None if the name is unknown.

    name: one of `known`, `llm:MODEL`, `llm:MODEL@ENDPOINT`, "module:attribute" or "path/to/file.py:attribute". Modules
    in the current folder come first. Raises `AgentError` for `llm:` without a model, and if the import fails.
    """
    if not isinstance(name, str):
        return None
    if name.startswith(NamedModel.PREFIX):
        return NamedModel.of(name, known(role)["llm"])
    if name in known(role) or ":" not in name:
        found = known(role).get(name)
        return resolve_name(found) if isinstance(found, str) else found
    try:
        spec = imported(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise AgentError(f"{role.value} {name!r} cannot be imported: {error}") from None
    return spec if hasattr(spec, "for_env") else SimpleNamespace(for_env=factory(spec, role))


def named(name: str, role: Role) -> Any:
    """Return the class or object whose `for_env` makes the agent of a name. Raises `AgentError` if it is unknown."""
    if (maker := find(name, role)) is None:
        names = known(role)
        raise AgentError(
            f"{role.value} {name!r} is unknown{similar(name, names)}, expected one of {', '.join(names)}, "
            "llm:MODEL@ENDPOINT, or module:attribute"
        )
    return maker


def factory(spec: Any, role: Role) -> Callable[..., Agent]:
    """What makes an agent for an environment. Raises `AgentError`.

    spec: a name (see `find`), a class with `for_env(env)`, a class that needs no arguments or takes the environment, or
    a function of the environment.
    """
    maker = named(spec, role) if isinstance(spec, str) else spec
    if not isinstance(maker, type) and isinstance(maker, Agent):
        kind = type(maker).__name__
        raise AgentError(
            f"{role.value} is {maker!r:.80}, an agent, expected what makes one for each process: a name, the class "
            f"{kind}, or a function of the environment, such as functools.partial({kind}.for_env, …)"
        )
    if hasattr(maker, "for_env"):
        make: Callable[..., Agent] = maker.for_env
        return make
    if not callable(maker):
        raise AgentError(
            f"{role.value} is {maker!r:.80}, expected a name, a class with for_env, or a function of the environment; "
            "iglu_marl.play(env, iglu_marl.agents.agents_for(env)) plays in an environment"
        )
    if isinstance(maker, type) and takes(maker) and "env" not in inspect.signature(maker).parameters:
        return lambda env: maker()
    if not takes(maker, "env"):
        raise AgentError(
            f"{role.value} {getattr(maker, '__name__', maker)} takes {inspect.signature(maker)}, expected a class with "
            "for_env(env) or without arguments, or a function of the environment"
        )
    return maker


_SEES_OPTIONS = ("architect_sees", "builder_sees")


def game_options(
    agents: Mapping[Role, Iterable[Any]], own: Mapping[str, Any], asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options of a game in which named agents can play, for `iglu_marl.env` and similar functions.

    A trained agent plays in the game of its training: controls, chat and so on of its card override `own`, and its
    observations are added. Options in `asked` override both; an agent that cannot play with them refuses.

    Args:
        agents: names by role; other values are ignored.
        own: options of the caller.
        asked: options that the user chose; None = not chosen.

    Raises:
        AgentError: if two agents were trained in incompatible games.

    """
    game, wanted = dict(own), {key: value for key, value in asked.items() if value is not None}
    learned: dict[str, tuple[str, Any]] = {}  # option -> the first agent that needs it, and its value
    for role, names in agents.items():
        for name in names:
            trained = getattr(find(name, role), "game", {})
            for key, value in trained.items() if isinstance(trained, Mapping) else ():
                if key in _SEES_OPTIONS:
                    game[key] = tuple(dict.fromkeys((*game.get(key, getattr(GameConfig, key)), *value)))
                    continue
                first, known = learned.setdefault(key, (name, value))
                if known != value and key not in wanted:
                    raise AgentError(
                        f"{first} plays with {key}={known!r}, {name} with {value!r}: they have no game in common"
                    )
                game[key] = value
    return {**game, **wanted}


# Partners of people act once a second in real time, and are patient.
_REAL_TIME_OPTIONS: dict[str, dict[str, Any]] = {  # of architects
    # Turns until it says something else, repeats itself, or mentions a wrong block.
    "scripted": {"patience": 30, "repeat_after": 120, "comment_after": 3},
    "replay": {"patience": 10},
    "llm": {"patience": 30, "settle_after": 3},
}


def partner_for(env: Any, player: Role | str, name: str) -> Agent:
    """Return a named agent that plays with people in real time. Raises `AgentError` for unknown names.

    player: its role, or in a game of a team its seat ("builder_1").
    """
    role, kind = role_of(player), "llm" if name.startswith(NamedModel.PREFIX) else name
    options = _REAL_TIME_OPTIONS.get(kind, {}) if role is Role.ARCHITECT else {}
    if player != role:
        return seated(name, env, str(player), **(options if kind == "llm" else {}))
    return seated(name, env, f"{role.value}_0", reader="person", **options)
