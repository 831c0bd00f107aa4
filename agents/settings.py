"""Settings of a game that agents need, read from an environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces
from typing_extensions import TypedDict

from iglu_marl import AgentError, Role
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.game.seats import seats_of, unwrap_game
from iglu_marl.language.grammar.vocabulary import SymbolCodec

MESSAGE_CHARACTERS, MESSAGE_TOKENS = 200, 16  # default length of an utterance


class Options(TypedDict, total=False):
    """The fields of `Settings` that builders accept as keywords. A new option is added to both classes."""

    can_yield: bool
    can_ask: bool
    select_and_place: bool
    tokens: bool
    codec: Codec | None
    message_length: int | None


@dataclass(frozen=True)
class Settings:
    """Settings of a game that affect actions and utterances."""

    controls: ControlsName = "walking"  # action encoding of the builder
    can_yield: bool = True  # whether the builder can end its turn
    can_ask: bool = False  # whether the builder can speak
    select_and_place: bool = False  # as in the game
    tokens: bool = False  # whether the game uses token chat; a codec implies it
    codec: Codec | None = None  # vocabulary of token chat; None = the templates
    message_length: int | None = None  # characters or tokens of an utterance; None = the default

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", self.tokens or self.codec is not None)

    @classmethod
    def of(cls, env: Any) -> Settings:
        """Return the settings of an AEC, parallel or single-agent environment. Raises `AgentError` for others."""
        seat = next(seat for seat in seats_of(env).values() if seat.role is Role.BUILDER)
        return cls(
            controls=seat.controls,
            can_yield=seat.can_yield,
            can_ask=seat.can_ask,
            select_and_place=seat.select_and_place,
            tokens=seat.chat == "tokens",
            codec=seat.codec,
            message_length=seat.max_characters or seat.max_tokens,
        )

    @classmethod
    def in_words(cls, env: Any, who: str) -> Settings:
        """Return the settings of a game with words. Raises `AgentError` if its vocabulary has only symbols."""
        settings = cls.of(env)
        if isinstance(settings.codec, SymbolCodec):
            raise AgentError(
                f"a {who} needs words, the environment has vocabulary={settings.codec.count}: symbols without a "
                "meaning; expected vocabulary='templates', chat='text', or partners that both use symbols"
            )
        return settings

    def only(self, *names: str) -> dict[str, Any]:
        """Return some of the fields as keyword arguments."""
        return {name: getattr(self, name) for name in names}

    @property
    def max_length(self) -> int:
        """Length limit of an utterance in characters or tokens."""
        return self.message_length or (MESSAGE_TOKENS if self.tokens else MESSAGE_CHARACTERS)


def check_pair(env: Any, kind: type) -> None:
    """Raise `AgentError` if an environment is a game of a team, in which `kind` needs a seat."""
    seat, *_ = seats_of(env).values()
    if not seat.pair:
        own = f" or {kind.__name__}.for_seat(env, agent)" if hasattr(kind, "for_seat") else ""
        raise AgentError(
            f"{kind.__name__}.for_env makes an agent of a pair, and the environment is a game of a team "
            f"({', '.join(seat.agents)}); expected iglu_marl.agents.agents_for(env){own}"
        )


def act_space(env: Any) -> spaces.Space[Any]:
    """Return the builder's action space in an environment, without utterances."""
    game = unwrap_game(env)
    if isinstance(game, gymnasium.Env):
        return game.action_space
    space: Any = game.action_space(f"{Role.BUILDER.value}_0")
    return space["act"] if game.config.builder_can_ask else space
