"""Action masks.

An action is masked if the world after it equals the world after doing nothing, bit for bit: walking against a wall,
placing a block that is used up or out of reach, choosing the selected colour. The reported `event` is ignored. A mask
does not depend on the target, which is only scored when a block changes. Other builders of a team stand still in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.errors import ConfigError
from iglu_marl.core.kernels.effects import effects_many
from iglu_marl.core.kernels.records import WORLD
from iglu_marl.envs.wrappers.adapters import AgentChange, AgentSpaces

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.int8]


def effective(
    state: Array, controls: Array, noop: Array, builder: int = 0, team: int = 1
) -> npt.NDArray[np.int8]:
    """Return whether each control of a builder has an effect, int8 [games, controls]. Other builders stand still.

    state: WORLD[games * team]; controls: CONTROL[controls]; noop: CONTROL[1].
    """
    found = np.zeros((len(state) // team, len(controls)), np.int8)
    effects_many(state, builder, team, controls, noop, np.zeros(2, WORLD), found)
    return found


class ActionMask(AgentChange):
    """`action_mask`, int8 [n], of an agent with `Discrete` actions: 1 for allowed actions.

    env: the environment whose actions are masked. translate: from an action there to one of the innermost.
    """

    def __init__(self, given: AgentSpaces, env: Any, translate: Callable[[int], Any]) -> None:
        super().__init__(given)
        self._count = int(given.action_space.n) if isinstance(given.action_space, spaces.Discrete) else None
        self._controls: Array | None = None
        if self._count is None:
            if given.agent.startswith("builder"):
                space = given.action_space
                on_cells = env.unwrapped.setup.controls.on_cells
                advice = "there are no masks of cells" if on_cells else "wrap with discretize() first"
                raise ConfigError(f"actions of {given.agent} are {space}, expected Discrete; {advice}")
            return
        inner = [translate(number) for number in range(self._count)]
        keys = [repr(action if not hasattr(action, "tolist") else action.tolist()) for action in inner]
        self._first = np.array([keys.index(key) == number for number, key in enumerate(keys)])
        if given.agent.startswith("builder"):
            controls = env.unwrapped.setup.controls
            self._controls, self._builder = controls.encode_batch(inner), int(given.agent.rpartition("_")[2])
            self._noop = controls.noop()[0][:1].copy()
            quiet = self._controls == self._noop[0]
            self._kept = quiet & (np.cumsum(quiet) == 1)  # the first action that does nothing

    def mask(self, env: Any) -> Mask:
        """Return the current mask, int8 [n], or [worlds, n]."""
        many = not hasattr(env, "episode")
        worlds, team = env.worlds if many else env.episode.worlds, env.config.builders
        if self._controls is None:
            found = np.tile(self._first, (len(worlds) // team, 1)).astype(np.int8)
        else:
            found = effective(worlds.state, self._controls, self._noop, self._builder, team)
            found = found & self._first | self._kept
            if not self._kept.any():
                found |= ~found.any(axis=1, keepdims=True)  # one must be allowed
        return found if many else found[0]

    def inform(self, info: dict[str, Any], env: Any) -> dict[str, Any]:
        """Return the info with `action_mask`."""
        return info if self._count is None else {**info, "action_mask": self.mask(env)}
