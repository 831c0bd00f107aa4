"""Seats of a game, and the check of agents against them.

`check_agent` is called wherever an agent meets a game: `play`, `evaluate`, the option `architect` of single-agent
environments, and agents by name. It raises before the first game.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium

from iglu_marl.core.controls import ControlsName
from iglu_marl.core.conventions import Conventions
from iglu_marl.core.dialogue import Codec, Role
from iglu_marl.core.errors import AgentError
from iglu_marl.game.agent import Agent
from iglu_marl.game.config import GameConfig
from iglu_marl.game.profiles import compat_of

_METHODS: Mapping[str, tuple[Any, ...]] = {"reset": ("role", "seed"), "act": ("observation",), "close": ()}


@dataclass(frozen=True)
class GameSeat:
    """A place in a game, with what it expects of an agent. None: no expectation.

    An agent's `made_for` is a mapping from some of these fields to the values that it was made for.
    """

    name: str  # "builder_1"
    role: Role
    agents: tuple[str, ...]  # the names of all agents
    pair: bool  # one architect, who sees the whole target, and one builder, who hear each other
    controls: ControlsName
    select_and_place: bool
    can_yield: bool  # whether a builder can end its turn
    can_ask: bool  # whether a builder can speak
    chat: Literal["text", "tokens"]
    codec: Codec | None  # vocabulary of tokens
    max_characters: int | None  # of an utterance in text
    max_tokens: int | None  # of an utterance in tokens
    compat: str | None  # profile of an older tool

    @classmethod
    def of(
        cls, config: GameConfig, name: str, *, single: bool = False, conventions: Conventions | None = None
    ) -> GameSeat:
        """Return a seat of a game.

        Args:
            config: options of the game.
            name: name of the agent.
            single: whether the environment is a single-agent one.
            conventions: numbering of colours and directions.

        """
        tokens = config.chat == "tokens"
        return cls(
            name=name,
            role=Role(name.rpartition("_")[0]),
            agents=config.agents,
            pair=_is_pair(config),
            controls=config.controls,
            select_and_place=config.select_and_place,
            can_yield=not single,
            can_ask=config.builder_can_ask and not single,
            chat=config.chat,
            codec=_codec(config.vocabulary) if tokens else None,
            max_characters=None if tokens else config.max_message_length,
            max_tokens=config.max_message_length if tokens else None,
            compat=None if conventions is None else compat_of(conventions),
        )


def _codec(vocabulary: Any) -> Codec:
    from iglu_marl.language import make_codec

    return make_codec(vocabulary)


def _is_pair(config: GameConfig) -> bool:
    if (config.architects, config.builders) != (1, 1):
        return False
    architect, builder = config.agents
    seen = config.parts_of(architect), config.parts_of(builder)
    return seen == (("all",), ("none",)) and all(map(config.hearers_of, config.agents))


def unwrap_game(env: Any) -> Any:
    """Return the environment of iglu_marl below any wrappers. Raises `AgentError` for other objects."""
    game = getattr(env, "unwrapped", env)
    one = hasattr(game, "episode") and not isinstance(game, type)
    if not one or not isinstance(getattr(game, "config", None), GameConfig):
        raise AgentError(
            f"env is {env!r:.80}, expected an environment of iglu_marl with one game, such as iglu_marl.env(); "
            "iglu_marl.agents.agents_for(env) makes its agents"
        )
    return game


def players_of(env: Any) -> dict[str, Role | str]:
    """Return the player of each agent by its name: its role, or in a game of a team the name itself.

    Raises `AgentError` if this is no environment of one game.
    """
    game = unwrap_game(env)
    if isinstance(game, gymnasium.Env):
        return {"builder_0": Role.BUILDER}
    players: dict[str, Role | str] = game.config.players
    return players


def seats_of(env: Any) -> dict[str, GameSeat]:
    """Return the seats of an environment by the agents' names; of a single-agent environment, that of the builder.

    Raises `AgentError` for other objects.
    """
    game = unwrap_game(env)
    single = isinstance(game, gymnasium.Env)
    conventions = game.episode.controls.conventions
    names = ("builder_0",) if single else game.config.agents
    return {name: GameSeat.of(game.config, name, single=single, conventions=conventions) for name in names}


def check_agent(agent: Any, seat: GameSeat) -> None:
    """Raise `AgentError` unless an object is an agent that can play in a seat. It says how to make one that can."""
    if isinstance(agent, type):
        raise AgentError(
            f"{seat.name} is the class {agent.__name__}, expected an agent, {_maker(agent, seat)}"
        )
    if not isinstance(agent, Agent):
        raise AgentError(
            f"{seat.name} is {agent!r:.80}, expected an object with reset, act and close, "
            f"{_maker(type(agent), seat)}"
        )
    kind = type(agent)
    for name, arguments in _METHODS.items():
        named = {"task": None} if name == "reset" and getattr(agent, "privileged", False) else {}
        if not takes(getattr(agent, name), *arguments, **named):
            raise AgentError(
                f"{seat.name}: {kind.__name__}.{name} takes {inspect.signature(getattr(agent, name))}, expected "
                f"({', '.join((*arguments, *named))}), as of the agents of iglu_marl.agents.agents_for(env)"
            )
    made_for = getattr(agent, "made_for", {})
    for field in made_for if isinstance(made_for, Mapping) else ():
        needed, found = made_for[field], getattr(seat, field)
        if not _fits(field, needed, found):
            raise AgentError(
                f"{seat.name} is of the class {kind.__name__}, made for {_shown(field, needed)} and not for "
                f"{_shown(field, found)}; expected an agent {_maker(kind, seat, field == 'role')}"
            )


def takes(function: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Return whether a function can be called with these arguments; True for compiled ones without a signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*arguments, **named)
    except TypeError:
        return False
    return True


def _fits(field: str, needed: Any, found: Any) -> bool:
    if found is None or needed is None:
        return found is None
    if field in ("max_characters", "max_tokens"):
        return bool(needed <= found)
    if field == "codec":
        return _vocabulary(needed) == _vocabulary(found)
    return bool(needed == found)


def _vocabulary(codec: Codec) -> tuple[str, str, int]:
    return codec.name, codec.version, codec.size


def _shown(field: str, value: Any) -> str:
    if field == "pair":
        return "a pair" if value else "a team"
    if field == "codec":
        return "the vocabulary {} {} of {} tokens".format(*_vocabulary(value))
    return f"{field}={str(value) if field == 'role' else value!r}"


def _maker(kind: type, seat: GameSeat, other_role: bool = False) -> str:
    """Return what makes an agent for a seat, in words."""
    own = ""
    if other_role:
        pass
    elif hasattr(kind, "for_seat"):
        own = f"{kind.__name__}.for_seat(env, {seat.name!r}) or "
    elif hasattr(kind, "for_env") and seat.pair:
        own = f"{kind.__name__}.for_env(env) or "
    return f"as {own}iglu_marl.agents.agents_for(env) makes it"
