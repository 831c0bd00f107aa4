"""Agents that act at random, or not at all, as baselines."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import Self, Unpack

from iglu_marl import Controls, Role
from iglu_marl.agents.base import BuilderBase
from iglu_marl.agents.settings import Options, Settings, act_space
from iglu_marl.core.controls import ControlsName, at_rest
from iglu_marl.core.dialogue import Codec
from iglu_marl.language import TemplateCodec


class _Speaker:
    """Random utterances: words of the template vocabulary, or tokens of a codec."""

    def __init__(self, game: Settings) -> None:
        self.tokens, self.message_length = game.tokens, game.max_length
        self.codec = game.codec or TemplateCodec()
        self.words = TemplateCodec().words

    @property
    def made_for(self) -> dict[str, Any]:
        """The chat in which it speaks."""
        if self.tokens:
            return {"chat": "tokens", "codec": self.codec, "max_tokens": self.message_length}
        return {"chat": "text", "max_characters": self.message_length}

    def utter(self, rng: np.random.Generator, speaks: bool) -> Any:
        if not self.tokens:
            if not speaks:
                return ""
            chosen = rng.integers(len(self.words), size=int(rng.integers(1, 9)))
            return " ".join(self.words[number] for number in chosen)[: self.message_length]
        tokens = np.zeros(self.message_length, dtype=np.int64)
        if speaks:
            length = int(rng.integers(1, self.message_length + 1))
            tokens[:length] = rng.integers(1, self.codec.size, size=length)
        return tokens


class RandomArchitect:
    """Say random words, or nothing.

    Args:
        silence: probability of silence, 0..1.
        tokens: whether the game uses token chat.
        codec: vocabulary of token chat; None = the templates.
        message_length: length limit in characters or tokens; None = 200 or 16.

    """

    def __init__(
        self,
        silence: float = 0.5,
        *,
        tokens: bool = False,
        codec: Codec | None = None,
        message_length: int | None = None,
    ) -> None:
        self.silence = silence
        self._speaker = _Speaker(Settings(tokens=tokens, codec=codec, message_length=message_length))
        self._rng = np.random.default_rng(0)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> RandomArchitect:
        """Return an architect for the chat of an environment."""
        return cls(**{**Settings.of(env).only("tokens", "codec", "message_length"), **options})

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        return {"role": Role.ARCHITECT, **self._speaker.made_for}

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode."""
        self._rng = np.random.default_rng(seed)

    def act(self, observation: Any) -> Any:
        """Return a random utterance; the observation is ignored."""
        return self._speaker.utter(self._rng, self._rng.random() >= self.silence)

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class RandomBuilder(BuilderBase):
    """Sample actions from a builder's action space.

    Args:
        controls: action encoding of the game.
        talk: probability of an utterance, 0..1, if the builder can ask.
        space: action space; None = that of `controls`.
        options: fields of `iglu_marl.agents.settings.Settings`.

    """

    any_conventions = True
    any_seat = True
    acts_on_cells = True
    reads = ""

    def __init__(
        self,
        controls: ControlsName = "walking",
        *,
        talk: float = 0.05,
        space: spaces.Space[Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Settings(controls, **options))
        if space is None:
            space = Controls(controls, **self.game.only("can_yield", "select_and_place")).space
        self._space = copy.deepcopy(space)  # a space holds a generator; the environment keeps its own
        self.talk = talk
        self._speaker = _Speaker(self.game)
        self._rng = np.random.default_rng(0)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """Return a builder for the action space and chat of an environment."""
        return super().for_env(env, **{"space": act_space(env), **options})

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode."""
        self._rng = np.random.default_rng(seed)
        self._space.seed(int(self._rng.integers(2**31)))

    def act(self, observation: Any) -> Any:
        """Return a random action; the observation is ignored."""
        act = self._space.sample()
        if not self.can_ask:
            return act
        return {"act": act, "say": self._speaker.utter(self._rng, self._rng.random() < self.talk)}


class NothingBuilder(RandomBuilder):
    """Do nothing: end each turn, or wait where a turn cannot be ended."""

    def act(self, observation: Any) -> Any:
        """Return an action without effect; the observation is ignored."""
        return self._with_words(at_rest(self._space))
