"""Base class of the builders of this package."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from typing_extensions import Self

from iglu_marl import AgentError, Role
from iglu_marl.agents.scripted.dialogue_tracker import DialogueTracker
from iglu_marl.agents.settings import Settings, check_pair
from iglu_marl.core.controls import CELL_CONTROLS, CONTROLS
from iglu_marl.game.seats import seats_of


class BuilderBase:
    """Base of builders: construction by `for_env`, and utterances in the format of the chat.

    `game` holds the settings that affect actions and utterances. Subclasses override `_forget(seed)`.
    """

    any_conventions: ClassVar[bool] = False
    """Whether it can play in environments with the colours or the camera of an older tool (`compat`)."""
    any_seat: ClassVar[bool] = False
    """Whether it can play in a game of a team without knowing its seat."""
    reads: ClassVar[Literal["words", "anything", ""]] = "words"
    """Which messages it uses."""

    acts_on_cells: ClassVar[bool] = False
    """Whether it can play with controls that act on cells (`controls="cells"`)."""

    def __init__(self, game: Settings) -> None:
        if game.controls in CELL_CONTROLS and not self.acts_on_cells:
            raise AgentError(
                f"the game has controls={game.controls!r}, and a {type(self).__name__} moves; expected one of "
                f"{', '.join(CONTROLS)}"
            )
        self.game, self.can_ask = game, game.can_ask
        self._dialogue = DialogueTracker(game.codec, game.message_length, game.tokens)

    @classmethod
    def for_env(cls, env: Any, **options: Any) -> Self:
        """Return a builder for the action space and chat of an environment.

        Raises `AgentError` for a game of a team and for an environment with a `compat` profile, unless the class
        supports them, and for a chat of symbols, if the class reads words.
        """
        if not cls.any_seat:
            check_pair(env, cls)
        return cls._in_game(env, **options)

    @classmethod
    def _in_game(cls, env: Any, **options: Any) -> Self:
        """Return a builder for any seat of an environment."""
        compat = next(iter(seats_of(env).values())).compat
        if compat is not None and not cls.any_conventions:
            raise AgentError(
                f"the environment has compat={compat!r}, whose colors and camera {cls.__name__} does not support; "
                "expected an environment without compat"
            )
        settings = Settings.in_words(env, cls.__name__) if cls.reads == "words" else Settings.of(env)
        return cls(**{**vars(settings), **options})

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat, see `iglu_marl.game.seats.GameSeat`."""
        game, dialogue = self.game, self._dialogue
        needs = {
            "role": Role.BUILDER,
            **game.only("controls", "select_and_place", "can_ask"),
            **self._needed_seat,
        }
        if game.can_yield:
            needs["can_yield"] = True
        if not self.any_conventions:
            needs["compat"] = None
        if self.reads:
            needs["codec"] = dialogue.codec
        if game.can_ask:
            needs["max_tokens"] = dialogue.message_length
            if not self.reads:  # then it does not see which chat it is
                needs |= {"chat": "tokens" if dialogue.tokens else "text", "codec": dialogue.codec}
            if not dialogue.tokens:
                needs["max_characters"] = game.max_length
        return needs

    @property
    def _needed_seat(self) -> dict[str, Any]:
        """The seats in which it can play, in the form of `made_for`."""
        return {} if self.any_seat else {"pair": True}

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        if role != Role.BUILDER:
            raise AgentError(f"the {type(self).__name__} cannot play the {role}")
        self._forget(seed)

    def _forget(self, seed: int | None) -> None:
        """Reset the state of the last episode."""
        self._dialogue.forget()

    def _with_words(self, act: Any, text: str = "") -> Any:
        """Combine an act with an utterance, if the builder can speak."""
        return {"act": act, "say": self._dialogue.utter(text)} if self.can_ask else act

    def close(self) -> None:
        """Do nothing: there are no resources to release."""
