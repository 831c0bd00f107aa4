"""What an agent has to know of an environment, read from its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces
from typing_extensions import TypedDict

from iglu_marl import AgentError, GameConfig, Role
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import make_codec

MESSAGE_CHARACTERS, MESSAGE_TOKENS = 200, 16  # of an utterance, unless the game says something else


class Options(TypedDict, total=False):
    """The fields of `Settings` that builders take by keyword; an option is added here and there, and nowhere else."""

    can_yield: bool
    can_ask: bool
    select_and_place: bool
    tokens: bool
    codec: Codec | None
    message_length: int | None


@dataclass(frozen=True)
class Settings:
    """The settings of a game that shape actions and utterances.

    controls, select_and_place: of the builder's action space. can_yield: whether turns can be ended. can_ask: whether
    the builder may speak. tokens: token chat, which a codec implies. codec: its vocabulary; None = the templates.
    message_length: of an utterance, in characters or tokens; None = as the game has it by default.
    """

    controls: ControlsName = "walking"
    can_yield: bool = True
    can_ask: bool = False
    select_and_place: bool = False
    tokens: bool = False
    codec: Codec | None = None
    message_length: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", self.tokens or self.codec is not None)

    @classmethod
    def of(cls, env: Any) -> Settings:
        """The settings of an AEC, parallel or single-agent environment; raises `AgentError` for others."""
        game = game_of(env)
        config = game.config
        single = isinstance(game, gymnasium.Env)
        return cls(
            controls=config.controls,
            can_yield=not single,
            can_ask=config.builder_can_ask and not single,
            select_and_place=config.select_and_place,
            tokens=config.chat == "tokens",
            codec=make_codec(config.vocabulary) if config.chat == "tokens" else None,
            message_length=config.max_message_length,
        )

    def only(self, *names: str) -> dict[str, Any]:
        """Some of the fields, as keyword arguments."""
        return {name: getattr(self, name) for name in names}

    @property
    def most(self) -> int:
        """Characters or tokens of an utterance at most."""
        return self.message_length or (MESSAGE_TOKENS if self.tokens else MESSAGE_CHARACTERS)


def game_of(env: Any) -> Any:
    """The environment of iglu_marl below any wrappers; raises `AgentError` when there is none."""
    game = getattr(env, "unwrapped", env)
    if not isinstance(getattr(game, "config", None), GameConfig):
        raise AgentError(f"env is {env!r:.80}, expected an environment of iglu_marl")
    return game


def act_space(env: Any) -> spaces.Space[Any]:
    """The space of the builder's acts in an environment, without its words."""
    game = game_of(env)
    if isinstance(game, gymnasium.Env):
        return game.action_space
    space: Any = game.action_space(f"{Role.BUILDER.value}_0")
    return space["act"] if game.config.builder_can_ask else space
