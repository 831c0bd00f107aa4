"""The action encodings of a builder: their spaces, and their translation to `CONTROL` records.

| name | space | source |
|---|---|---|
| walking | Discrete(18) | IGLU 2022 default |
| flying | Dict(movement, camera, inventory, placement) | IGLU 2022 |
| human-level | Dict of keys, camera and hotbar | IGLU 2021 default; 2022 with `camera_limit=5` |
| discrete | Dict: whole-cell moves | IGLU 2021 |
| continuous | Dict: translation along the map's axes | IGLU 2021 |
| cells, cells-in-reach | MultiDiscrete: a cell and a color | CLEVR-Robot's `perfect` |

Camera changes are (yaw, pitch) in degrees, pitch up positive, except with `Conventions.minerl_camera`.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.actions import CAMERA_STEP_DEG, Action
from iglu_marl.core.arguments import as_number
from iglu_marl.core.conventions import OWN, Conventions
from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.core.grid import COLORS, MIN_CORNER, ZONE_SHAPE
from iglu_marl.core.kernels.records import (
    CELL,
    CELL_IN_REACH,
    CONTINUOUS,
    CONTROL,
    DISCRETE,
    FLYING,
    WALKING,
)

ControlsName = Literal[
    "walking", "flying", "human-level", "discrete", "continuous", "cells", "cells-in-reach"
]
ALL_CONTROLS: tuple[ControlsName, ...] = get_args(ControlsName)
CELL_CONTROLS: Mapping[str, int] = {"cells": CELL, "cells-in-reach": CELL_IN_REACH}
"""Encodings that act on cells, with their mode in `CONTROL`."""
END_TURN = 7
"""The color of an action on cells that ends the turn."""
CONTROLS: tuple[ControlsName, ...] = tuple(name for name in ALL_CONTROLS if name not in CELL_CONTROLS)
"""The encodings of the IGLU tools, in which the builder moves."""

_TURNS = ((90.0, 0.0), (-90.0, 0.0), (180.0, 0.0), (0.0, -45.0), (0.0, 45.0))  # yaw, pitch
GRID_ACTIONS: tuple[dict[str, Any], ...] = (
    {},
    *({"camera": np.array(turn, np.float32)} for turn in _TURNS),
    *({key: way} for key in ("move", "strafe") for way in (1, 2)),
    {"attack": 1},
    *({"hotbar": color} for color in COLORS),
)
"""The 17 grid actions: nothing; turn right, left or round; look down or up by 45°; go one cell forward, back, right or
left; break; place one of six colours."""


Array = npt.NDArray[Any]
Shape = tuple[int, ...]
_Motion = tuple[float, float, float]

# Writes a whole CONTROL record: move, camera; mode, hotbar, place, remove, yields.
_write = struct.Struct("=5d5b").pack_into
assert [CONTROL.fields[name][1] for name in CONTROL.names] == [0, 24, 40, 41, 42, 43, 44]  # type: ignore[index,union-attr]


def _integer(action: Any, limit: int, where: str, check: bool) -> int:
    """Return a Discrete(limit) value as int. NumPy scalars and 0-d arrays are accepted; booleans and floats are not."""
    kind = type(action)
    if kind is int or kind is np.int64:  # by far the most
        value = int(action)
    else:
        try:
            plain = action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action
            if isinstance(plain, (bool, np.bool_)):  # older NumPy takes its own as an index
                raise TypeError
            value = operator.index(plain)
        except TypeError:
            raise ActionError(f"{where} is {action!r}, expected an integer in 0..{limit - 1}") from None
    if check and not 0 <= value < limit:
        raise ActionError(f"{where} is {value}, expected an integer in 0..{limit - 1}")
    return value


def _numbers(action: Any, size: int, limit: float, where: str, check: bool) -> list[float]:
    """Return `size` finite numbers within ±limit, widened from float32 to double exactly."""
    if size and type(action) is np.ndarray and action.dtype.char in "fd" and action.shape == (size,):
        values: list[float] = action.tolist()
    else:
        values = _other_numbers(action, size, limit, where)
    for value in values:
        if not -limit <= value <= limit and (check or value != value):
            raise ActionError(f"{where} is {action!r}, {_expected(size, limit)}")
    return values


def _expected(size: int, limit: float) -> str:
    return f"expected {f'{size} numbers' if size else 'a number'} in [-{limit:g}, {limit:g}]"


def _other_numbers(action: Any, size: int, limit: float, where: str) -> list[float]:
    """Return `size` numbers (0: one number) from values other than a float array."""
    try:
        array = np.asarray(action)
        if array.dtype.kind not in "iuf":
            raise TypeError
        values: list[float] = array.astype(np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise ActionError(f"{where} is {action!r}, {_expected(size, limit)}") from None
    if array.shape != ((size,) if size else ()) and not (size == 0 and array.shape == (1,)):
        raise ActionError(f"{where} has shape {array.shape}, {_expected(size, limit)}")
    return values


def _first(bad: Array) -> int:
    return int(np.argwhere(bad)[0, 0])


def _many(value: Any, shape: Shape, kinds: str, said: str, expected: str) -> Array:
    """Return numbers of many worlds as an array of this shape and one of these dtype kinds."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ActionError(f"{said} {value!r:.80}, {expected}") from None
    if array.shape != shape or array.dtype.kind not in kinds:
        raise ActionError(f"{said} {array.dtype}{list(array.shape)}, {expected}")
    return array


def _many_integers(value: Any, count: int, limit: int, where: str) -> Array:
    """Return Discrete(limit) values of `count` worlds as int64 [count]."""
    expected = f"expected {count} integers in 0..{limit - 1}"
    array = _many(value, (count,), "iu", f"{where} is", expected)
    whole = array.astype(np.int64, copy=False)
    if whole.view(np.uint64).max() >= limit:  # or negative
        world = _first((array < 0) | (array >= limit))
        raise ActionError(f"{where} is {array[world]} in world {world}, {expected}")
    return whole


def many_tokens(value: Any, shape: Shape, size: int, where: str) -> Array:
    """Return utterances of many games as tokens 0..size-1, int64 of this shape. Raises `ActionError` for others."""
    expected = f"expected integer token ids in 0..{size - 1}, {list(shape)}"
    array = _many(value, shape, "iu", f"{where} are", expected)
    if array.min() < 0 or array.max() >= size:
        game = _first((array < 0) | (array >= size))
        raise ActionError(f"{where} are {array[game].tolist()!s:.80} in game {game}, {expected}")
    return np.ascontiguousarray(array, np.int64)


def _many_numbers(value: Any, shape: Shape, limit: float, where: str) -> Array:
    """Return finite numbers within ±limit; the first axis of `shape` is the worlds'."""
    expected = f"expected {list(shape)} numbers in [-{limit:g}, {limit:g}]"
    array = _many(value, shape, "iuf", f"{where} is", expected)
    if not (array.min() >= -limit and array.max() <= limit):  # nor nan
        world = _first(~(np.abs(array) <= limit))
        raise ActionError(f"{where} is {array[world]} in world {world}, {expected}")
    return array


def _check_keys(action: Any, expected: frozenset[str]) -> None:
    if type(action) is dict and action.keys() == expected:
        return
    if not isinstance(action, Mapping) or action.keys() != expected:
        got = sorted(action, key=str) if isinstance(action, Mapping) else repr(action)
        raise ActionError(f"action is {got}, expected a dict with the keys {sorted(expected)}")


_KEYS = ("forward", "back", "left", "right", "jump")
_AXES = ("move_x", "move_y", "move_z")
_BACKWARD, _RIGHTWARD = (0.0, -1.0, 1.0), (0.0, 1.0, -1.0)  # of the discrete encoding's move and strafe
_WHERE = {  # formatting these each time would take as long as reading the value
    key: f"action['{key}']"
    for key in (*_KEYS, *_AXES, "move", "strafe", "attack", "use", "inventory", "hotbar")
}


class _Encoding(NamedTuple):
    """Layout and readers of one encoding's Dict actions.

    Attributes:
        mode: of `CONTROL`.
        parts: entries besides `camera`: number of choices, or shape of numbers in -1..1.
        color: the key of the color.
        one: returns the motion (x, y, z) of `CONTROL`, whether to place, and whether to break.
        many: writes the motions of many worlds, float64 [n, 3]; returns whether to place and to break, bool [n] each.

    """

    mode: int
    parts: Mapping[str, int | Shape]
    color: str
    one: Callable[[Mapping[str, Any], bool], tuple[_Motion, bool, bool]]
    many: Callable[[Array, Mapping[str, Any], int], tuple[Array, Array]]


def _flying(keyed: Mapping[str, Any], check: bool) -> tuple[_Motion, bool, bool]:
    placement = _integer(keyed["placement"], 3, "action['placement']", True)
    x, y, z = _numbers(keyed["movement"], 3, 1.0, "action['movement']", check)
    return (x, y, z), placement == 1, placement == 2


def _many_flying(motions: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
    placement = _many_integers(keyed["placement"], count, 3, "actions['placement']")
    motions[:] = _many_numbers(keyed["movement"], (count, 3), 1.0, "actions['movement']")
    return placement == 1, placement == 2


def _hands(keyed: Mapping[str, Any]) -> tuple[bool, bool]:
    use, attack = (_integer(keyed[key], 2, _WHERE[key], True) for key in ("use", "attack"))
    return bool(use), bool(attack)


def _many_hands(keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
    use, attack = (_many_integers(keyed[key], count, 2, f"actions[{key!r}]") for key in ("use", "attack"))
    return use != 0, attack != 0


def _human_level(keyed: Mapping[str, Any], check: bool) -> tuple[_Motion, bool, bool]:
    forward, back, left, right, jump = [_integer(keyed[key], 2, _WHERE[key], True) for key in _KEYS]
    return (back - forward, right - left, jump), *_hands(keyed)


def _many_human_level(motions: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
    forward, back, left, right, jump = (
        _many_integers(keyed[key], count, 2, f"actions[{key!r}]") for key in _KEYS
    )
    motions[:, 0], motions[:, 1], motions[:, 2] = back - forward, right - left, jump
    return _many_hands(keyed, count)


def _discrete(keyed: Mapping[str, Any], check: bool) -> tuple[_Motion, bool, bool]:
    step, strafe = (_integer(keyed[key], 3, _WHERE[key], True) for key in ("move", "strafe"))
    jump = _integer(keyed["jump"], 2, "action['jump']", True)
    return (_BACKWARD[step], _RIGHTWARD[strafe], jump), *_hands(keyed)


def _many_discrete(motions: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
    step, strafe = (_many_integers(keyed[key], count, 3, f"actions[{key!r}]") for key in ("move", "strafe"))
    motions[:, 0], motions[:, 1] = np.asarray(_BACKWARD)[step], np.asarray(_RIGHTWARD)[strafe]
    motions[:, 2] = _many_integers(keyed["jump"], count, 2, "actions['jump']")
    return _many_hands(keyed, count)


def _continuous(keyed: Mapping[str, Any], check: bool) -> tuple[_Motion, bool, bool]:
    x, y, z = [_numbers(keyed[key], 0, 1.0, _WHERE[key], check)[0] for key in _AXES]
    return (x, y, z), *_hands(keyed)


def _many_continuous(motions: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
    for axis, key in enumerate(_AXES):
        motions[:, axis] = _many_numbers(keyed[key], (count,), 1.0, f"actions[{key!r}]")
    return _many_hands(keyed, count)


_HANDS = {"attack": 2, "use": 2, "hotbar": 7}
_FLYING: dict[str, int | Shape] = {"movement": (3,), "inventory": 7, "placement": 3}
_ENCODINGS = {  # all but "walking", whose actions are rows of a table
    "flying": _Encoding(FLYING, _FLYING, "inventory", _flying, _many_flying),
    "human-level": _Encoding(
        WALKING, {**dict.fromkeys(_KEYS, 2), **_HANDS}, "hotbar", _human_level, _many_human_level
    ),
    "discrete": _Encoding(
        DISCRETE, {"move": 3, "strafe": 3, "jump": 2, **_HANDS}, "hotbar", _discrete, _many_discrete
    ),
    "continuous": _Encoding(
        CONTINUOUS, {**dict.fromkeys(_AXES, ()), **_HANDS}, "hotbar", _continuous, _many_continuous
    ),
}


def at_rest(space: spaces.Space[Any], yields: bool = True) -> Any:
    """Return the action of doing nothing: silence, yield (with `yields`), or standing still."""
    if isinstance(space, spaces.Dict):
        return {key: int(yields) if key == "yield" else at_rest(part, yields) for key, part in space.items()}
    if isinstance(space, spaces.Discrete):
        return int(Action.YIELD if yields and space.n > Action.YIELD else Action.NOOP)
    if isinstance(space, spaces.Text):
        return ""
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.tolist() == [*ZONE_SHAPE, END_TURN + 1]:
        return np.array([0, 0, 0, END_TURN])
    return np.zeros(space.shape or (), space.dtype)


class Controls:
    """One action encoding and its space.

    Args:
        name: the encoding.
        select_and_place: whether choosing a color also places, and cancels a break in the same step.
        camera_limit: largest camera change in degrees of the Dict encodings; default 5 for flying, else 180.
        can_yield: whether the builder can end its turn (`Discrete(19)`, the key `yield`, or the color 7 of a cell).
        conventions: color ids and camera directions of actions.

    """

    def __init__(
        self,
        name: ControlsName = "walking",
        *,
        select_and_place: bool = False,
        camera_limit: float | None = None,
        can_yield: bool = False,
        conventions: Conventions = OWN,
    ) -> None:
        if not isinstance(name, str) or name not in ALL_CONTROLS:
            raise ConfigError(f"controls is {name!r}, expected one of {', '.join(ALL_CONTROLS)}")
        for option, flag in (("select_and_place", select_and_place), ("can_yield", can_yield)):
            if not isinstance(flag, (bool, np.bool_)):
                raise ConfigError(f"{option} is {flag!r:.80}, expected True or False")
        if camera_limit is not None:
            camera_limit = as_number("camera_limit", camera_limit, 360.0)
        if not isinstance(conventions, Conventions):
            raise ConfigError(f"conventions is {conventions!r:.80}, expected a Conventions")
        self.name: str = name
        self.select_and_place = select_and_place
        self.camera_limit = camera_limit or (5.0 if name == "flying" else 180.0)
        self.can_yield = can_yield
        self.conventions = conventions
        self._color_ids = conventions.color_of_action_id
        self._walking_actions = len(Action) if can_yield else int(Action.YIELD)
        self._encoding = _ENCODINGS.get(name)
        self._cell_sizes = (*ZONE_SHAPE, END_TURN + can_yield)
        self.space = self._make_space()
        self._keys = frozenset(self.space.spaces) if isinstance(self.space, spaces.Dict) else frozenset()
        self._idle = np.zeros(2, CONTROL)  # doing nothing, and ending the turn
        self._idle["mode"] = CELL_CONTROLS.get(
            name, WALKING if self._encoding is None else self._encoding.mode
        )
        self._idle["hotbar"] = -1 if self.on_cells else 0
        self._idle["yields"][1] = 1
        self._table = self._walking_table()

    @property
    def on_cells(self) -> bool:
        """Whether actions name a cell and its new color."""
        return self.name in CELL_CONTROLS

    @property
    def lowest_start(self) -> float:
        """Lowest eye height at the start of an episode: with gravity, the builder needs ground to stand on."""
        return -3.0 if self._idle["mode"][0] in (FLYING, CONTINUOUS) else -1.25

    # -- spaces

    def _make_space(self) -> spaces.Space[Any]:
        if self.on_cells:
            return spaces.MultiDiscrete(list(self._cell_sizes))
        if self._encoding is None:
            return spaces.Discrete(self._walking_actions)
        limit = self.camera_limit
        entries: dict[str, spaces.Space[Any]] = {"camera": spaces.Box(-limit, limit, (2,), np.float32)}
        for key, values in self._encoding.parts.items():
            entries[key] = (
                spaces.Discrete(values) if isinstance(values, int) else spaces.Box(-1, 1, values, np.float32)
            )
        if self.can_yield:
            entries["yield"] = spaces.Discrete(2)
        return spaces.Dict(entries)

    # -- translation

    def encode(self, action: Any, check: bool = True, out: Array | None = None) -> tuple[Array, int]:
        """Translate an action to a control: (records, index), as `kernels.step.step_at` takes them.

        Args:
            action: of the space.
            check: whether numbers outside their bounds are errors.
            out: CONTROL[1] for a Dict action, which is returned; default: a new one.

        The result for other actions is shared by all calls: only read it. Raises `ActionError` for an action outside
        the space.

        """
        encoding = self._encoding
        if self.on_cells:
            return self._encode_cells([action], 1, out)[0], 0
        if encoding is None:
            return self._table, _integer(action, self._walking_actions, "action", True)
        _check_keys(action, self._keys)
        motion, place, remove = encoding.one(action, check)
        yaw, pitch = _numbers(action["camera"], 2, self.camera_limit, "action['camera']", check)
        if self.conventions.minerl_camera:
            yaw, pitch = pitch, -yaw
        slot = _integer(action[encoding.color], 7, _WHERE[encoding.color], True)
        if self.can_yield and _integer(action["yield"], 2, "action['yield']", True):
            return self.yielding()  # cancels the step's act: only time passes
        if slot and self.select_and_place:
            place, remove = True, False
        records = np.zeros(1, CONTROL) if out is None else out
        small = encoding.mode, self._color_ids[slot], place, remove, 0
        _write(records, 0, *motion, yaw, pitch, *small)  # type: ignore[arg-type]  # NumPy does not declare it a buffer
        return records, 0

    def encode_batch(self, actions: list[Any], check: bool = True) -> Array:
        """Return the controls of a list of actions, one per world: CONTROL[n]."""
        controls = np.zeros(len(actions), CONTROL)
        for number, action in enumerate(actions):
            records, index = self.encode(action, check)
            controls[number] = records[index]
        return controls

    def encode_many(self, actions: Any, count: int, out: Array | None = None) -> tuple[Array, Array]:
        """Translate the actions of many worlds to (records, numbers): world i gets records[numbers[i]].

        Args:
            actions: of the batched space: integers [count] for walking, else a dict of arrays [count, ...].
            count: number of worlds.
            out: CONTROL[count], as in `encode`.

        Raises:
            ActionError: if an action is outside the space; names the first world.

        """
        encoding = self._encoding
        if self.on_cells:
            return self._encode_cells(actions, count, out)
        if encoding is None:
            return self._table, _many_integers(actions, count, self._walking_actions, "actions")
        _check_keys(actions, self._keys)
        records = np.zeros(count, CONTROL) if out is None else out
        place, remove = encoding.many(records["move"], actions, count)
        slots = _many_integers(actions[encoding.color], count, 7, f"actions[{encoding.color!r}]")
        if self.select_and_place:
            place, remove = place | (slots != 0), remove & (slots == 0)
        camera = _many_numbers(actions["camera"], (count, 2), self.camera_limit, "actions['camera']")
        records["camera"] = camera[:, ::-1] * (1.0, -1.0) if self.conventions.minerl_camera else camera
        records["mode"], records["yields"] = encoding.mode, 0
        records["hotbar"] = np.asarray(self._color_ids, np.int8)[slots]
        records["place"], records["remove"] = place, remove
        if self.can_yield:
            yields = _many_integers(actions["yield"], count, 2, "actions['yield']") != 0
            records[yields] = self._idle[1]  # cancels the step's act: only time passes
        return records, np.arange(count)

    def _encode_cells(self, actions: Any, count: int, out: Array | None) -> tuple[Array, Array]:
        """Translate cells and colors, integers [count, 4], as `encode_many` does."""
        expected = f"expected {count} times four integers (y, x, z, color) below {self._cell_sizes}"
        array = _many(actions, (count, 4), "iu", "actions are", expected)
        bad = (array < 0) | (array >= self._cell_sizes)
        if bad.any():
            world = _first(bad)
            raise ActionError(f"the action is {array[world].tolist()} in world {world}, {expected}")
        records = np.zeros(count, CONTROL) if out is None else out
        colors = np.append(self._color_ids, -1).astype(np.int8)  # after the colors: end the turn
        records["mode"] = self._idle["mode"][0]
        records["move"] = array[:, [1, 0, 2]] + MIN_CORNER
        records["hotbar"] = colors[array[:, 3]]
        records["yields"] = array[:, 3] == END_TURN
        return records, np.arange(count)

    def noop(self) -> tuple[Array, int]:
        """Return the control that does nothing (time passes)."""
        return self._idle, 0

    def yielding(self) -> tuple[Array, int]:
        """Return the control that does nothing and ends the builder's turn."""
        return self._idle, 1

    def _walking_table(self) -> Array:
        table = np.zeros(len(Action), CONTROL)
        for action, axis, value in (
            (Action.FORWARD, 0, -1),
            (Action.BACK, 0, 1),
            (Action.LEFT, 1, -1),
            (Action.RIGHT, 1, 1),
            (Action.JUMP, 2, 1),
        ):
            table["move"][action, axis] = value
        for action in Action:
            table["hotbar"][action] = self._color_ids[action.color]
            table["place"][action] = self.select_and_place and action.color != 0
        up = -CAMERA_STEP_DEG if self.conventions.up_looks_down else CAMERA_STEP_DEG
        table["camera"][[Action.TURN_LEFT, Action.TURN_RIGHT], 0] = -CAMERA_STEP_DEG, CAMERA_STEP_DEG
        table["camera"][[Action.LOOK_UP, Action.LOOK_DOWN], 1] = up, -up
        table["remove"][Action.BREAK] = 1
        table["place"][Action.PLACE] = 1
        table["yields"][Action.YIELD] = 1
        return table
