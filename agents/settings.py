"""What an agent has to know of an environment, read from its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium import spaces

from iglu_marl import AgentError, GameConfig, Role
from iglu_marl.core.controls import ControlsName
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import make_codec


@dataclass(frozen=True)
class Settings:
    """The settings of a game that shape actions and utterances.

    act_space: the space of the builder's acts. codec: the vocabulary of token chat, None for text.
    """

    controls: ControlsName
    select_and_place: bool
    can_yield: bool
    can_ask: bool
    tokens: bool
    codec: Codec | None
    message_length: int
    turn_steps: int | None
    act_space: spaces.Space[Any]

    @classmethod
    def of(cls, env: Any) -> Settings:
        """The settings of an AEC, parallel or single-agent environment; raises `AgentError` for others."""
        game = getattr(env, "unwrapped", env)
        config = getattr(game, "config", None)
        if not isinstance(config, GameConfig):
            raise AgentError(f"env is {env!r:.80}, expected an environment of iglu_marl")
        single = isinstance(game, gymnasium.Env)
        space = game.action_space if single else game.action_space(f"{Role.BUILDER.value}_0")
        can_ask = config.builder_can_ask and not single
        assert config.max_message_length is not None  # filled in by the config
        return cls(
            controls=config.controls,
            select_and_place=config.select_and_place,
            can_yield=not single,
            can_ask=can_ask,
            tokens=config.chat == "tokens",
            codec=make_codec(config.vocabulary) if config.chat == "tokens" else None,
            message_length=config.max_message_length,
            turn_steps=config.turn_steps,
            act_space=space["act"] if can_ask else space,
        )

    def of_builder(self) -> dict[str, Any]:
        """The arguments that builders of this package have in common."""
        return {
            "controls": self.controls,
            "can_yield": self.can_yield,
            "can_ask": self.can_ask,
            "select_and_place": self.select_and_place,
            "codec": self.codec,
            "message_length": self.message_length,
        }
