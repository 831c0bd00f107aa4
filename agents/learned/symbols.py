"""Pairs with their own symbols: the input of their networks, and the agents.

`symbols-pair`: two blocks are to be built in two of the eight cells around the start. The architect maps the target to
symbols; the builder maps symbols to a wish, colours for the eight cells, and acts until its build matches. Both learned
by PPO (version 0.2). `code-pair`: one block, grid actions, no wish (`examples/torchrl_pairs.py`). Playing needs no
PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl import AgentError, Role
from iglu_marl.agents.learned.zoo import Pretrained
from iglu_marl.agents.settings import unwrap_game
from iglu_marl.benchmark.catalog import GRID_ACTIONS
from iglu_marl.core.grid import grid_to_blocks

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]

RING = ((0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1))
"""x, z of the eight cells around the start, clockwise from the north."""
COLORS = 6
WAIT, PLACE = 0, 11
TURN_DEG, LOOK_DEG = 45.0, 15.0
# What a builder can do in a step; PLACE + i places colour i + 1. Keys of the `human-level` controls.
ACTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"camera": (-TURN_DEG, 0.0)},
    {"camera": (TURN_DEG, 0.0)},
    {"camera": (0.0, LOOK_DEG)},
    {"camera": (0.0, -LOOK_DEG)},
    {"forward": 1},
    {"back": 1},
    {"left": 1},
    {"right": 1},
    {"jump": 1},
    {"attack": 1},
    *({"hotbar": color} for color in range(1, COLORS + 1)),
)
KEYS = ("forward", "back", "left", "right", "jump", "attack", "use", "hotbar", "yield")
TABLE: dict[str, Array] = {
    "camera": np.array([action.get("camera", (0.0, 0.0)) for action in ACTIONS], np.float32),
    **{key: np.array([action.get(key, 0) for action in ACTIONS], np.int64) for key in KEYS},
}
_COLUMNS = np.array([(x + 5, z + 5) for x, z in RING]).T
_SIXTHS = np.arange(1, COLORS + 1)


def ring_of(grid: Array, layer: int = 0) -> Array:
    """Return the colours of the eight cells in a layer of grids [n, 9, 11, 11], [n, 8]."""
    return grid[:, layer, _COLUMNS[0], _COLUMNS[1]]


def target_view(target: Array) -> Floats:
    """Return the architect's input for targets [n, 9, 11, 11]: one-hot colours of the eight cells, [n, 48]."""
    return _one_hot(ring_of(target)).reshape(len(target), -1)


def code_view(target: Array) -> Floats:
    """Return the input of a `CodeArchitect` for targets [n, 9, 11, 11]: colours and filled cells, [n, 14].

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


def body_view(pose: Array, grid: Array, wish: Array) -> Floats:
    """Return the builder's input, [n, 82], relative to its view direction: ahead first, then clockwise.

    pose: agentPos [n, 5]; grid [n, 9, 11, 11]; wish: colours of the eight cells, int [n, 8], 0 = nothing.
    """
    near = ring_of(grid)
    missing = _one_hot(np.where((wish > 0) & (near != wish), wish, 0))
    wrong = (near > 0) & (near != wish)
    above = ring_of(grid, 1) > 0
    eighth = np.rint(pose[:, 4] / TURN_DEG).astype(np.int64) % 8
    order = (np.arange(8) + eighth[:, None]) % 8
    rows = np.arange(len(pose))[:, None]
    yaw = np.radians(pose[:, 4])
    x, y, z = pose[:, 0], pose[:, 1], pose[:, 2]
    others = (grid > 0).sum((1, 2, 3)) - (near > 0).sum(1)
    rest = [
        x * np.sin(yaw) - z * np.cos(yaw),
        x * np.cos(yaw) + z * np.sin(yaw),
        y + 0.25,
        np.minimum(others, 5) / 5,
        grid[:, 0, 5, 5] > 0,
    ]
    pitch = np.rint(pose[:, 3] / LOOK_DEG).astype(np.int64)[:, None] == np.arange(-6, 7)
    parts = [
        missing[rows, order].reshape(len(pose), 8 * COLORS),
        wrong[rows, order],
        above[rows, order],
        pitch,
        np.stack(rest, 1),
    ]
    return np.concatenate(parts, axis=1, dtype=np.float32)


def satisfied(grid: Array, wish: Array) -> Array:
    """Whether the eight cells match the wish, bool [n]."""
    return (ring_of(grid) == wish).all(axis=1)


def drawn(scores: Array, rng: np.random.Generator) -> Array:
    """Sample an action for each row of scores [n, actions] by their softmax, int64 [n]."""
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=-1)


def keys_of(actions: Array, space: Mapping[str, Any]) -> dict[str, Array]:
    """Map numbers of `ACTIONS` [n] to actions of the `human-level` controls, with the keys of the space."""
    return {key: TABLE[key][actions] for key in space}


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

    def __call__(self, seen: Floats) -> Floats:
        for place, (weight, bias) in enumerate(self._layers):
            seen = (np.tanh(seen) if place else seen) @ weight.T + bias
        return seen


def _check_game(env: Any, model: Pretrained, needs: str, role: str) -> Any:
    """Return the configuration of an environment. Raises `AgentError` if the pair cannot play it."""
    config = unwrap_game(env).config
    for name, expected in model.card["game"].items():
        found = getattr(config, name)
        if name in ("controls", "chat", "vocabulary", "select_and_place") and found != expected:
            raise AgentError(f"{model.name} plays with {name}={expected!r}, the environment has {found!r}")
    if not set(needs.split()) <= set(getattr(config, f"{role}_sees")):
        raise AgentError(f"{model.name} needs {needs} in {role}_sees")
    words = model.card["network"]["words"]
    if config.max_message_length < words:
        raise AgentError(
            f"max_message_length is {config.max_message_length}, {model.name} says {words} symbols"
        )
    return config


def _check_task(name: str, task: Any) -> None:
    """Raise `AgentError` if a task has blocks outside the eight cells."""
    found = task.in_ids("iglu")
    for x, y, z, _ in (*grid_to_blocks(found.target_grid), *grid_to_blocks(found.start_grid)):
        if y != -1 or (x, z) not in RING:
            raise AgentError(
                f"{name} sees the eight cells around the start and no others: the task {task.task_id!r} has a block at "
                f"{(x, y, z)}, expected blocks beside (0, -1, 0), as in the tasks of symbols-two-v0"
            )


class SymbolsArchitect:
    """Sends its learned message for the target once, then is silent."""

    view = staticmethod(target_view)  # of targets

    def __init__(self, model: Pretrained, message_length: int) -> None:
        sizes = model.card["network"]
        self._speak = _Network(model.tensors, "speak")
        self._shape, self._length = (sizes["words"], sizes["symbols"]), message_length
        self.check_task = partial(_check_task, model.name)
        self._spoke = False

    @classmethod
    def for_env(cls, env: Any, *, model: Pretrained) -> SymbolsArchitect:
        """Return an agent for an environment. Raises `AgentError` if the pair cannot play its game."""
        return cls(model, _check_game(env, model, "target_grid", "architect").max_message_length)

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the architect."""
        if role != Role.ARCHITECT:
            raise AgentError(f"a SymbolsArchitect cannot play the {role}")
        self._spoke = False

    def act(self, observation: Any) -> Array:
        """Return the message, int [words], in the first turn; zeros later."""
        tokens = np.zeros(self._length, np.int64)
        if not self._spoke:
            scores = self._speak(self.view(np.asarray(observation["target_grid"])[None]))
            said = scores.reshape(self._shape).argmax(-1) + 1
            tokens[: len(said)] = said
            self._spoke = True
        return tokens

    def close(self) -> None:
        """Do nothing."""


class SymbolsBuilder:
    """Maps the first message to a wish, and builds it."""

    def __init__(self, model: Pretrained, space: Any, can_ask: bool, message_length: int, mark: int) -> None:
        self._listen, self._act = (_Network(model.tensors, part) for part in ("listen", "act"))
        self._sizes, self._mark = model.card["network"], mark
        self.check_task = partial(_check_task, model.name)
        self._space, self._can_ask, self._length = space, can_ask, message_length
        self._wish, self._rng = np.zeros((1, 8), np.int64), np.random.default_rng(0)

    @classmethod
    def for_env(cls, env: Any, *, model: Pretrained) -> SymbolsBuilder:
        """Return an agent for an environment. Raises `AgentError` if the pair cannot play its game."""
        config = _check_game(env, model, "grid pose dialog", "builder")
        space = unwrap_game(env).action_space("builder_0")
        inner = space["act"] if config.builder_can_ask else space
        mark = int(model.card["network"]["symbols"]) + 1  # begins what the architect said
        return cls(model, inner, config.builder_can_ask, config.max_message_length, mark)

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        if role != Role.BUILDER:
            raise AgentError(f"a SymbolsBuilder cannot play the {role}")
        self._wish, self._rng = np.zeros((1, 8), np.int64), np.random.default_rng(seed)

    def act(self, observation: Any) -> Any:
        """Return the next step."""
        keys = keys_of(np.array([self.chosen(observation)]), self._space.spaces)
        act = {key: part[0] for key, part in keys.items()}
        return {"act": act, "say": np.zeros(self._length, np.int64)} if self._can_ask else act

    def chosen(self, observation: Any) -> int:
        """Return the number of the next action."""
        grid, words = np.asarray(observation["grid"])[None], self._sizes["words"]
        dialog = np.asarray(observation["dialog"])
        begins = np.flatnonzero(dialog == self._mark)
        if len(begins) and not self._wish.any():
            heard = dialog[begins[0] + 1 : begins[0] + 1 + words]
            self._wish = self._wished(heard)
        if not self._wish.any() or satisfied(grid, self._wish)[0]:
            return WAIT
        pose = np.asarray(observation["agentPos"])[None]
        return int(drawn(self._act(body_view(pose, grid, self._wish)), self._rng)[0])

    def _wished(self, heard: Array) -> Array:
        symbols = np.zeros((1, self._sizes["words"], self._sizes["symbols"]), np.float32)
        for place, token in enumerate(heard.tolist()):
            if 1 <= token <= symbols.shape[2]:
                symbols[0, place, token - 1] = 1.0
        return self._listen(symbols.reshape(1, -1)).reshape(1, 8, -1).argmax(-1)

    def close(self) -> None:
        """Do nothing."""


class CodeArchitect(SymbolsArchitect):
    """Names the target once: colour and cell of one block by a linear code, or the whole of several blocks."""

    def __init__(self, model: Pretrained, message_length: int) -> None:
        super().__init__(model, message_length)
        one = model.tensors["speak.0.weight"].shape[1] == code_view(np.zeros((1, 9, 11, 11))).shape[1]
        self.view = code_view if one else target_view


class CodeBuilder:
    """Acts by what it heard and sees, with the most probable of `GRID_ACTIONS`."""

    def __init__(self, model: Pretrained, space: Any, can_ask: bool, message_length: int) -> None:
        self._act, sizes = _Network(model.tensors, "act"), model.card["network"]
        self._sizes = (sizes["words"], sizes["symbols"])
        self.check_task = partial(_check_task, model.name)
        self._space, self._can_ask, self._length = space, can_ask, message_length

    @classmethod
    def for_env(cls, env: Any, *, model: Pretrained) -> CodeBuilder:
        """Return an agent for an environment. Raises `AgentError` if the pair cannot play its game."""
        config = _check_game(env, model, "grid pose dialog", "builder")
        return cls(model, env.action_space("builder_0"), config.builder_can_ask, config.max_message_length)

    def reset(self, role: Role, seed: int | None) -> None:
        """Start an episode. Raises `AgentError` if `role` is not the builder."""
        if role != Role.BUILDER:
            raise AgentError(f"a CodeBuilder cannot play the {role}")

    def act(self, observation: Any) -> Any:
        """Return the number of the action, or the action itself where actions are not numbered."""
        seen = {key: np.asarray(observation[key])[None] for key in ("dialog", "grid", "agentPos")}
        number = int(self._act(heard_view(seen, *self._sizes)).argmax())
        if hasattr(self._space, "n"):
            return number
        space = self._space["act"] if self._can_ask else self._space
        act = {
            key: GRID_ACTIONS[number].get(key, np.zeros(part.shape, part.dtype))
            for key, part in space.items()
        }
        return {"act": act, "say": np.zeros(self._length, np.int64)} if self._can_ask else act

    def close(self) -> None:
        """Do nothing."""
