"""Conversion of texts to tokens."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces

from iglu_marl.core.dialogue import Dialogue
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces
from iglu_marl.game.chat import TokenChat


class TokenizedTexts(AgentChange):
    """Texts of one agent as tokens: int32 [dialog_length] in observations, a row of tokens in actions."""

    def __init__(self, given: AgentSpaces, chat: TokenChat) -> None:
        super().__init__(given)
        self._chat, self._agent = chat, given.agent
        self._keys: tuple[str, ...] = ()
        self._last: dict[str, tuple[str, Any]] = {}
        space, action = given.observation_space, given.action_space
        if isinstance(space, spaces.Dict):
            self._keys = tuple(key for key, part in space.items() if isinstance(part, spaces.Text))
            if "goal_program" in self._keys:
                raise ConfigError(
                    "architect_sees has 'goal_program', which has no form in tokens; leave it out"
                )
            texts = {key: chat.observation_space() for key in self._keys}
            self.observation_space = spaces.Dict({**space.spaces, **texts})
        self._says = isinstance(action, spaces.Text)
        self._asks = isinstance(action, spaces.Dict) and isinstance(action.spaces.get("say"), spaces.Text)
        if self._says:
            self.action_space = chat.action_space()
        elif self._asks:
            assert isinstance(action, spaces.Dict)
            self.action_space = spaces.Dict({**action.spaces, "say": chat.action_space()})

    def observe(self, observation: Any, env: Any) -> Any:
        """Return the observation with tokens instead of texts."""
        return {**observation, **{key: self._tokens(key, observation[key]) for key in self._keys}}

    def _tokens(self, key: str, text: str) -> Any:
        if key not in self._last or self._last[key][0] != text:
            goal = key == "goal"  # which nobody said
            tokens = self._chat.show_text(text) if goal else self._chat.show(Dialogue.parse(text))
            self._last[key] = text, tokens
        return self._last[key][1].copy()

    def act(self, action: Any) -> Any:
        """Return the action with a text instead of tokens."""
        if self._says:
            return self._chat.read(action, f"the action of {self._agent}")[0]
        if self._asks and isinstance(action, dict) and "say" in action:
            say = self._chat.read(action["say"], f"action['say'] of {self._agent}")[0]
            return {**action, "say": say}
        return action
