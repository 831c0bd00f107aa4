"""A channel that loses messages and changes symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces

Array = npt.NDArray[Any]


class NoisyMessages(AgentChange):
    """The messages of one agent, of which some get lost and some symbols become others.

    given: the agent with its spaces. length: number of symbols in a message; 0: texts. number: of the agent, for its
    seed. drop, replace: as of `noise`.
    """

    def __init__(self, given: AgentSpaces, length: int, number: int, drop: float, replace: float) -> None:
        super().__init__(given)
        self._length, self._number, self._drop, self._replace = length, number, drop, replace
        self._rng = np.random.default_rng()
        space = given.action_space
        self._in_dict = isinstance(space, spaces.Dict) and "say" in space.spaces
        said: Any = space["say"] if isinstance(space, spaces.Dict) and self._in_dict else space
        has_symbols = isinstance(said, spaces.MultiDiscrete) and len(said.nvec) >= length > 0
        self._speaks = isinstance(said, spaces.Text) or has_symbols
        self._symbols = int(said.nvec[-1]) - 1 if has_symbols else 0
        self._acts = len(said.nvec) - length if has_symbols else 0  # digits before the message
        if has_symbols and replace and self._symbols < 2:
            raise ConfigError(f"replace is {replace}, expected 0 with a vocabulary of one symbol")

    def seed(self, seed: Any) -> None:
        """Restart the noise from a seed, or from the seeds of several games; None: it goes on."""
        if seed is not None:
            self._rng = np.random.default_rng([*np.ravel(seed).tolist(), self._number])

    def act(self, action: Any) -> Any:
        """Return the action with the message that arrives. A question that is lost takes its step: no act happens."""
        if not self._speaks:
            return action
        if self._in_dict:
            return self._asked(action) if isinstance(action, dict) and "say" in action else action
        if isinstance(action, str):
            return self._heard_text(action)
        digits = np.array(action)
        if not digits.ndim or not self._has_symbols(digits[..., self._acts :]):
            return action  # the environment says what is wrong
        before = digits[..., self._acts :].any(axis=-1)
        digits[..., self._acts :] = self._heard(digits[..., self._acts :])
        digits[before & ~digits[..., self._acts :].any(axis=-1)] = 0
        return digits

    def _asked(self, action: dict[str, Any]) -> dict[str, Any]:
        said = action["say"]
        if isinstance(said, str):
            heard: Any = self._heard_text(said)
            lost: Any = bool(said and not heard)
        else:
            said = np.array(said)
            if not self._has_symbols(said):
                return action
            heard = self._heard(said)
            lost = said.any(axis=-1) & ~heard.any(axis=-1)
        return {**{key: _stilled(part, lost) for key, part in action.items()}, "say": heard}

    def _has_symbols(self, said: Array) -> bool:
        return said.dtype.kind in "iu" and said.size > 0 and 0 <= said.min() <= said.max() <= self._symbols

    def _heard_text(self, said: str) -> str:
        return "" if said and self._rng.random() < self._drop else said

    def _heard(self, said: Array) -> Array:
        """Return what arrives of messages, [length] or [n, length]."""
        if not said.any():
            return said
        shift = self._rng.integers(1, max(2, self._symbols), said.shape)
        is_replaced = (said > 0) & (self._rng.random(said.shape) < self._replace)
        heard = np.where(is_replaced, 1 + (said - 1 + shift) % self._symbols, said)
        heard[self._rng.random(said.shape[:-1]) < self._drop] = 0
        return heard


def _stilled(act: Any, lost: Any) -> Any:
    """Return an act, with nothing done in the games where a question was lost."""
    if isinstance(act, dict):
        return {key: _stilled(part, lost) for key, part in act.items()}
    if not np.ndim(lost):
        return act if not lost else np.zeros_like(act) if np.ndim(act) else 0
    stilled = np.array(act)
    stilled[lost] = 0
    return stilled
