"""Environments for TRL's `GRPOTrainer` (`environment_factory`), whose methods are the tools of a model.

>>> from iglu_marl.text.trl import BuilderEnvironment
>>> environment = BuilderEnvironment(partner="scripted")
>>> environment.reset(seed=0).splitlines()[0]
'DIALOGUE SO FAR (newest last)'

TRL is not imported. Every row of the dataset has a `seed` (see `rows`), so that the rollouts of a group play the same
game. The reward is the sum over all turns of the game; where another model plays the other role, that of the own one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.text.game import ChatMessage, TextGame

Answer = Callable[[list[ChatMessage]], str]
OVER = "The game is over."


class _Environment:
    _role: Role

    def __init__(self, other: Answer | None = None, **options: Any) -> None:
        if options.get("view") == "own":
            raise ConfigError("view is 'own', expected a text: tools of TRL return no pictures")
        role = self._role.value if other is None else "both"
        own = {**options, "role": role, "observations": "delta", "answers": "tools"}
        self._game = TextGame(**own)
        self._other, self._others_chat = other, list[ChatMessage]()
        self._earned, self._over = 0.0, True

    def reset(self, seed: int = 0, **row: Any) -> str:
        """Start the game of a row, and return the end of its prompt."""
        self._earned, self._over, self._others_chat = 0.0, False, []
        return self._own_turn(self._game.reset(int(seed)))

    def get_reward(self) -> float:
        """Return the sum of the own rewards of the game so far."""
        return self._earned

    def _step(self, reply: Any) -> str:
        return OVER if self._over else self._own_turn(self._play(reply))

    def _play(self, reply: Any) -> list[ChatMessage]:
        messages, _, self._over, info = self._game.step(reply)
        rewards: dict[str, float] = info["rewards"]
        self._earned += sum(reward for agent, reward in rewards.items() if agent.startswith(self._role.value))
        return messages

    def _own_turn(self, messages: list[ChatMessage]) -> str:
        """Let the other model reply until the own turn, and return the newest part of the own chat."""
        while self._other is not None and not self._over and self._game.turn is not self._role:
            self._others_chat += messages
            reply = self._other(self._others_chat)
            self._others_chat.append({"role": "assistant", "content": reply})
            messages = self._play(reply)
        return OVER if self._over else str(messages[-1]["content"])


class BuilderEnvironment(_Environment):
    """The model builds.

    Args:
        other: replies to the chats of the architect instead of a partner: another model, which may learn by an
            `ArchitectEnvironment` in turn.
        options: those of `TextGame`.

    """

    _role = Role.BUILDER

    def build(self, edits: list[dict[str, Any]], say: str = "") -> str:
        """Place and remove blocks, and say something to the architect.

        Args:
            edits: Objects with "action" ("place" or "remove"), "color" (to place), "east", "north" and "height".
            say: A short message to the architect; empty for none.

        Returns:
            What has been done, and what the architect says next.

        """
        return self._step({"edits": edits, "say": say})


class ArchitectEnvironment(_Environment):
    """The model instructs a builder. other, options: as of `BuilderEnvironment`."""

    _role = Role.ARCHITECT

    def speak(self, say: str) -> str:
        """Say something to the builder.

        Args:
            say: The message; empty to wait.

        Returns:
            What has been built since, and what the builder says.

        """
        return self._step({"say": say})


def rows(
    seeds: Iterable[int], environment: type[_Environment] = BuilderEnvironment, **options: Any
) -> list[dict[str, Any]]:
    """Return rows of a dataset, one per game: `prompt` (the rules, and a place for the text of `reset`) and `seed`.

    options: those of the environment, on which its rules depend.
    """
    game = environment(**{**options, "other": None})._game
    rules = game.reset(0)[0]
    return [{"prompt": [rules, {"role": "user", "content": ""}], "seed": seed} for seed in seeds]
