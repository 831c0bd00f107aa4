"""What the builders of this package share."""

from __future__ import annotations

from typing import Any, ClassVar

from typing_extensions import Self

from iglu_marl import AgentError, Role
from iglu_marl.agents.scripted.dialogue_tracker import DialogueTracker
from iglu_marl.agents.settings import Settings, game_of
from iglu_marl.game.profiles import compat_of


class BuilderBase:
    """A builder that knows the settings of its game: made by `for_env`, says things in the form of the chat.

    game: what shapes actions and utterances. Its own `_forget(seed)` begins an episode.
    """

    any_conventions: ClassVar[bool] = False
    """Whether it plays in environments that tell colours or the camera as an older tool does."""

    def __init__(self, game: Settings) -> None:
        self.game, self.can_ask = game, game.can_ask
        self._dialogue = DialogueTracker(game.codec, game.message_length, game.tokens)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """One that fits an environment's action space and chat.

        Raises `AgentError` for an environment that shows things as an older tool does, which it would misread.
        """
        compat = compat_of(game_of(env).episode.controls.conventions)
        if compat is not None and not cls.any_conventions:
            raise AgentError(
                f"the environment has compat={compat!r}, whose colours and camera a {cls.__name__} does not know; "
                "expected one without compat"
            )
        return cls(**{**vars(Settings.of(env)), **options})

    def reset(self, role: Role, seed: int | None) -> None:
        """Begin an episode; raises `AgentError` for another role than the builder's."""
        if role != Role.BUILDER:
            raise AgentError(f"the {type(self).__name__} cannot play the {role}")
        self._forget(seed)

    def _forget(self, seed: int | None) -> None:
        """Forget what belongs to the last episode."""
        self._dialogue.forget()

    def _with_words(self, act: Any, text: str = "") -> Any:
        """The action of the game for an act and an utterance; without a voice, the act alone."""
        return {"act": act, "say": self._dialogue.utter(text)} if self.can_ask else act

    def close(self) -> None:
        """Nothing is held."""
