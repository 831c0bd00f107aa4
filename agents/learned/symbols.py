"""Pairs with their own symbols: the input of their networks, and the agents.

Targets are in the eight cells around the start. The architect sends one message, the builder acts by it with grid
actions. Both learned by `examples/torchrl_pairs.py`. Playing needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from iglu_marl import AgentError, Role
from iglu_marl.agents.learned.zoo import Pretrained
from iglu_marl.agents.settings import check_pair
from iglu_marl.core.controls import GRID_ACTIONS
from iglu_marl.core.grid import grid_to_blocks
from iglu_marl.core.task import of_task
from iglu_marl.game.seats import seats_of, unwrap_game

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]

RING = ((0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1))
"""x, z of the eight cells around the start, clockwise from the north."""
TURN_DEG, CODE_WIDTH = 45.0, 14
_COLUMNS = np.array([(x + 5, z + 5) for x, z in RING]).T
_SIXTHS = np.arange(1, 7)


def ring_of(grid: Array) -> Array:
    """Return the colours of the eight cells on the ground of grids [n, 9, 11, 11], [n, 8]."""
    return grid[:, 0, _COLUMNS[0], _COLUMNS[1]]


def target_view(target: Array) -> Floats:
    """Return the architect's input for targets [n, 9, 11, 11]: one-hot colours of the eight cells, [n, 48]."""
    return _one_hot(ring_of(target)).reshape(len(target), -1)


def code_view(target: Array) -> Floats:
    """Return the input of a `CodeArchitect` for targets [n, 9, 11, 11]: colours and filled cells, [n, `CODE_WIDTH`].

    Colour and cell are apart, so that a linear code has a symbol for each, also in pairs that were held out.
    """
    hot = _one_hot(ring_of(target))
    return np.concatenate([hot.max(axis=1), hot.max(axis=2)], axis=1)


def heard_view(seen: Mapping[str, Any], words: int, symbols: int) -> Floats:
    """Return the input of a `CodeBuilder` for a batch of observations, [n, words * symbols + 30].

    The latest message, one-hot; yaw and pitch, one-hot; position; filled cells around the start and their colours.
    """
    dialog, ring = np.asarray(seen["dialog"]), ring_of(np.asarray(seen["grid"]))
    said = np.where(dialog[:, :1] == symbols + 1, dialog[:, 1 : 1 + words], 0)
    pose = np.asarray(seen["agentPos"])
    looks = np.rint(pose[:, 3:] / TURN_DEG).astype(np.int64)  # pitch, yaw
    parts = [
        (said[..., None] == np.arange(1, symbols + 1)).reshape(len(said), -1),
        looks[:, 1:] % 8 == np.arange(8),
        looks[:, :1] == np.arange(-2, 3),
        pose[:, :3] / 3,
        ring > 0,
        _one_hot(ring).max(axis=1),
    ]
    return np.concatenate(parts, axis=1, dtype=np.float32)


def _one_hot(colors: Array) -> Floats:
    return (colors[..., None] == _SIXTHS).astype(np.float32)


# ------------------------------------------------------------------------------------------------------- agents


class _Network:
    """Linear layers with tanh, from tensors named `PART.0.weight`, `PART.0.bias`, `PART.2.weight`, …"""

    def __init__(self, tensors: Mapping[str, Array], part: str) -> None:
        numbers = sorted({int(name.split(".")[1]) for name in tensors if name.startswith(f"{part}.")})
        self._layers = [
            tuple(tensors[f"{part}.{number}.{kind}"].astype(np.float32) for kind in ("weight", "bias"))
            for number in numbers
        ]
        self.inputs = self._layers[0][0].shape[1]

    def __call__(self, seen: Floats) -> Floats:
        for place, (weight, bias) in enumerate(self._layers):
            seen = (np.tanh(seen) if place else seen) @ weight.T + bias
        return seen


def _check_task(name: str, task: Any) -> None:
    """Raise `AgentError` if a task has blocks outside the eight cells."""
    found = task.in_ids("iglu")
    for x, y, z, _ in (*grid_to_blocks(found.target_grid), *grid_to_blocks(found.start_grid)):
        if y != -1 or (x, z) not in RING:
            raise AgentError(
                f"{name} sees the eight cells around the start and no others: the task has a block at {(x, y, z)}, "
                f"expected blocks beside (0, -1, 0), as in the tasks of symbols-two-v1{of_task(task.task_id)}"
            )


class _CodeAgent:
    """An agent of a pair, with a network of its own.

    Raises `AgentError` if the pair cannot play the environment's game.
    """

    role: Role
    part: str  # of the tensors
    needs: str  # observations

    def __init__(self, env: Any, model: Pretrained) -> None:
        check_pair(env, type(self))
        self._seat = next(seat for seat in seats_of(env).values() if seat.role is self.role)
        self._config, sizes = unwrap_game(env).config, model.card["network"]
        for name, expected in model.card["game"].items():
            found = getattr(self._config, name)
            if name in ("controls", "chat", "vocabulary", "select_and_place") and found != expected:
                said = f"{name}={expected!r}, the environment has {found!r}"
                raise AgentError(f"{model.name} plays with {said}")
        if not set(self.needs.split()) <= set(getattr(self._config, f"{self.role}_sees")):
            raise AgentError(f"{model.name} needs {self.needs} in {self.role}_sees")
        words, self._length = sizes["words"], self._config.max_message_length
        if self._length < words:
            raise AgentError(f"max_message_length is {self._length}, {model.name} says {words} symbols")
        self._sizes = (words, sizes["symbols"])
        self._network = _Network(model.tensors, self.part)
        self.check_task = partial(_check_task, model.name)

    @classmethod
    def for_env(cls, env: Any, *, model: Pretrained) -> Self:
        """Return an agent for an environment."""
        return cls(env, model)

    @property
    def made_for(self) -> dict[str, Any]:
        """What it needs of its seat: that of the environment it was made for."""
        return {**vars(self._seat)}

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if the role is another."""
        if role != self.role:
            raise AgentError(f"a {type(self).__name__} cannot play the {role}")
        self._spoke = False

    def close(self) -> None:
        """Do nothing."""


class CodeArchitect(_CodeAgent):
    """Names the target once: colour and cell of one block by a linear code, or the whole of several blocks."""

    role, part, needs, _spoke = Role.ARCHITECT, "speak", "target_grid", False

    def act(self, observation: Any) -> Array:
        """Return the message, int [words], in the first turn; zeros later."""
        tokens = np.zeros(self._length, np.int64)
        if not self._spoke:
            target = np.asarray(observation["target_grid"])[None]
            view = code_view(target) if self._network.inputs == CODE_WIDTH else target_view(target)
            said = self._network(view).reshape(self._sizes).argmax(-1) + 1
            tokens[: len(said)] = said
            self._spoke = True
        return tokens


class CodeBuilder(_CodeAgent):
    """Acts by what it heard and sees, with the most probable of `GRID_ACTIONS`."""

    role, part, needs = Role.BUILDER, "act", "grid pose dialog"

    def __init__(self, env: Any, model: Pretrained) -> None:
        super().__init__(env, model)
        self._space, self._can_ask = env.action_space("builder_0"), self._config.builder_can_ask

    def act(self, observation: Any) -> Any:
        """Return the number of the action, or the action itself where actions are not numbered."""
        seen = {key: np.asarray(observation[key])[None] for key in ("dialog", "grid", "agentPos")}
        number = int(self._network(heard_view(seen, *self._sizes)).argmax())
        if hasattr(self._space, "n"):
            return number
        space = self._space["act"] if self._can_ask else self._space
        act = {
            key: GRID_ACTIONS[number].get(key, np.zeros(part.shape, part.dtype))
            for key, part in space.items()
        }
        return {"act": act, "say": np.zeros(self._length, np.int64)} if self._can_ask else act
