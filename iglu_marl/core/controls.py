"""The five action encodings of a builder: their spaces, and their translation to `CONTROL` records.

| name | space | source |
|---|---|---|
| walking | Discrete(18) | IGLU 2022 default |
| flying | Dict(movement, camera, inventory, placement) | IGLU 2022 |
| human-level | Dict of keys, camera and hotbar | IGLU 2021 default; 2022 with `camera_limit=5` |
| discrete | Dict: whole-cell moves | IGLU 2021 |
| continuous | Dict: translation along the map's axes | IGLU 2021 |

Camera changes are (yaw, pitch) in degrees, pitch up positive, everywhere.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.core.grid import IGLU_ID_OF_IGLU2022
from iglu_marl.core.kernels.records import CONTINUOUS, CONTROL, DISCRETE, FLYING, WALKING

ControlsName = Literal["walking", "flying", "human-level", "discrete", "continuous"]
CONTROLS: tuple[ControlsName, ...] = ("walking", "flying", "human-level", "discrete", "continuous")
YIELD = 18  # the walking action that ends the builder's turn, in spaces that have one
CAMERA_STEP_DEG = 5.0

# The walking actions by name, in the numbering of IGLU Gridworld's documentation.
WALKING_ACTIONS = (
    *("noop", "forward", "back", "left", "right", "jump"),
    *("hotbar_1", "hotbar_2", "hotbar_3", "hotbar_4", "hotbar_5", "hotbar_6"),
    *("turn_left", "turn_right", "look_up", "look_down", "break", "place", "yield"),
)

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

# Writes a whole CONTROL record: move, camera; mode, hotbar, place, remove, yields.
_write = struct.Struct("=5d5b").pack_into
assert [CONTROL.fields[name][1] for name in CONTROL.names] == [0, 24, 40, 41, 42, 43, 44]  # type: ignore[index,union-attr]


def _box(low: float, high: float, shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(low, high, shape, np.float32)


def _integer(action: Any, limit: int, where: str, check: bool) -> int:
    """A Discrete(limit) value as int; NumPy scalars and 0-d arrays are accepted, booleans and floats are not."""
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
    """`size` finite numbers within ±limit, widened from float32 to double exactly."""
    if type(action) is np.ndarray and action.dtype.char in "fd" and action.shape == (size,):
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
    """What else than a float array passes for `size` numbers (0: for one)."""
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
    """The first world of which something holds."""
    return int(np.argwhere(bad)[0, 0])


def _many_integers(value: Any, count: int, limit: int, where: str) -> Array:
    """Discrete(limit) values of `count` worlds as int64 [count]."""
    expected = f"expected {count} integers in 0..{limit - 1}"
    try:
        array = np.asarray(value)
    except ValueError:
        raise ActionError(f"{where} is {value!r:.80}, {expected}") from None
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ActionError(f"{where} is {array.dtype}{list(array.shape)}, {expected}")
    if array.min() < 0 or array.max() >= limit:
        world = _first((array < 0) | (array >= limit))
        raise ActionError(f"{where} is {array[world]} in world {world}, {expected}")
    return array.astype(np.int64, copy=False)


def many_tokens(value: Any, shape: Shape, size: int, where: str) -> Array:
    """Utterances of many games in tokens 0..size-1, int64 of this shape. Raises `ActionError` for what is none."""
    expected = f"expected integer token ids in 0..{size - 1}, {list(shape)}"
    try:
        array = np.asarray(value)
    except ValueError:
        raise ActionError(f"{where} are {value!r:.80}, {expected}") from None
    if array.shape != shape or array.dtype.kind not in "iu":
        raise ActionError(f"{where} are {array.dtype}{list(array.shape)}, {expected}")
    if array.min() < 0 or array.max() >= size:
        game = _first((array < 0) | (array >= size))
        raise ActionError(f"{where} are {array[game].tolist()!s:.80} in game {game}, {expected}")
    return np.ascontiguousarray(array, np.int64)


def _many_numbers(value: Any, shape: Shape, limit: float, where: str) -> Array:
    """Finite numbers within ±limit of as many worlds as the first axis of `shape` says."""
    expected = f"expected {list(shape)} numbers in [-{limit:g}, {limit:g}]"
    try:
        array = np.asarray(value)
    except ValueError:
        raise ActionError(f"{where} is {value!r:.80}, {expected}") from None
    if array.shape != shape or array.dtype.kind not in "iuf":
        raise ActionError(f"{where} is {array.dtype}{list(array.shape)}, {expected}")
    if not (array.min() >= -limit and array.max() <= limit):  # nor nan
        world = _first(~(np.abs(array) <= limit))
        raise ActionError(f"{where} is {array[world]} in world {world}, {expected}")
    return array


def _check_keys(action: Any, expected: frozenset[str]) -> None:
    """Complains about missing and unknown keys of a Dict action."""
    if type(action) is dict and action.keys() == expected:
        return
    if not isinstance(action, Mapping) or action.keys() != expected:
        got = sorted(action, key=str) if isinstance(action, Mapping) else repr(action)
        raise ActionError(f"action is {got}, expected a dict with the keys {sorted(expected)}")


_KEYS = ("forward", "back", "left", "right", "jump")
_AXES = ("move_x", "move_y", "move_z")
_BACKWARD, _RIGHTWARD = (0.0, -1.0, 1.0), (0.0, 1.0, -1.0)  # of the discrete encoding's move and strafe
_WHERE = {  # formatting these anew would take as long as reading the value
    key: f"action['{key}']"
    for key in (*_KEYS, *_AXES, "move", "strafe", "attack", "use", "inventory", "hotbar")
}


class Controls:
    """One action encoding, with its space, as an environment uses it.

    `select_and_place`: choosing a colour also places, and cancels a break asked in the same step. `camera_limit`: the
    largest camera change in degrees of the Dict encodings (default 5 for flying, 180 else). `can_yield`: the
    space also lets the builder end its turn (`Discrete(19)`, or the key `yield`). `iglu2022`: colour ids in actions are
    those of the 2022 tools, and walking actions 14 and 15 look down and up as they did there.
    """

    def __init__(
        self,
        name: ControlsName = "walking",
        *,
        select_and_place: bool = False,
        camera_limit: float | None = None,
        can_yield: bool = False,
        iglu2022: bool = False,
    ) -> None:
        if name not in CONTROLS:
            raise ConfigError(f"controls is {name!r}, expected one of {', '.join(CONTROLS)}")
        self.name = name
        self.select_and_place = select_and_place
        self.camera_limit = camera_limit or (5.0 if name == "flying" else 180.0)
        self.can_yield = can_yield
        self.iglu2022 = iglu2022
        self._color_ids = [int(i) for i in IGLU_ID_OF_IGLU2022] if iglu2022 else list(range(7))
        self._upside_down = iglu2022
        self.space = self._make_space()
        self._keys = frozenset(self.space.spaces) if isinstance(self.space, spaces.Dict) else frozenset()
        self._table = self._walking_table()
        self._scratch = np.zeros(1, CONTROL)
        self._controls, self._in_order = np.zeros(0, CONTROL), np.arange(0)
        reader = name.replace("-", "_")
        self._fill = getattr(self, f"_fill_{reader}", None)
        self._many = getattr(self, f"_many_{reader}", None)

    @property
    def lowest_start(self) -> float:
        """The lowest eye height from which an episode may start: with gravity, one needs ground to stand on."""
        return -3.0 if self.name in ("flying", "continuous") else -1.25

    # -- spaces

    def _make_space(self) -> spaces.Space[Any]:
        if self.name == "walking":
            return spaces.Discrete(19 if self.can_yield else 18)
        camera = {"camera": _box(-self.camera_limit, self.camera_limit, (2,))}
        hands = {key: spaces.Discrete(2) for key in ("attack", "use")}
        entries: dict[str, spaces.Space[Any]]
        if self.name == "flying":
            movement = _box(-1, 1, (3,))
            entries = {
                "movement": movement,
                **camera,
                "inventory": spaces.Discrete(7),
                "placement": spaces.Discrete(3),
            }
        elif self.name == "human-level":
            keys = {key: spaces.Discrete(2) for key in ("forward", "back", "left", "right", "jump")}
            entries = {**keys, **hands, **camera, "hotbar": spaces.Discrete(7)}
        elif self.name == "discrete":
            moves = {"move": spaces.Discrete(3), "strafe": spaces.Discrete(3), "jump": spaces.Discrete(2)}
            entries = {**moves, **hands, **camera, "hotbar": spaces.Discrete(7)}
        else:
            axes = {key: _box(-1, 1, ()) for key in ("move_x", "move_y", "move_z")}
            entries = {**axes, **camera, **hands, "hotbar": spaces.Discrete(7)}
        if self.can_yield:
            entries["yield"] = spaces.Discrete(2)
        return spaces.Dict(entries)

    # -- translation

    def encode(self, action: Any, check: bool = True) -> tuple[Array, int]:
        """Translate an action to a control: (records, index), as `step_at` takes them.

        The records stay owned by this object and are valid until the next call. Raises `ActionError` for anything
        outside the space; `check=False` lets numbers outside their bounds pass.
        """
        if self._fill is None:
            limit = 19 if self.can_yield else 18
            return self._table, _integer(action, limit, "action", True)
        _check_keys(action, self._keys)
        self._fill(action, check)
        if self.can_yield and _integer(action["yield"], 2, "action['yield']", True):
            return self.yielding()  # cancels the step's act: only time passes
        return self._scratch, 0

    def encode_batch(self, actions: list[Any], check: bool = True) -> Array:
        """The controls of one action per world, CONTROL[n], from a list of actions."""
        controls = np.zeros(len(actions), CONTROL)
        for number, action in enumerate(actions):
            records, index = self.encode(action, check)
            controls[number] = records[index]
        return controls

    def encode_many(self, actions: Any, count: int) -> tuple[Array, Array]:
        """Translate the actions of `count` worlds at once: (records, numbers), world i does records[numbers[i]].

        actions: integers [count] for walking, else a dict of arrays whose first axis is the worlds', as a sample of the
        batched space is. The records stay owned by this object and are valid until the next call. Raises `ActionError`
        for anything outside the space, with the first world where it is.
        """
        if self._many is None:
            limit = 19 if self.can_yield else 18
            return self._table, _many_integers(actions, count, limit, "actions")
        _check_keys(actions, self._keys)
        if len(self._controls) != count:
            self._controls, self._in_order = np.zeros(count, CONTROL), np.arange(count)
            self._controls["mode"] = self._mode
        controls = self._controls
        place, remove = self._many(controls["move"], actions, count)
        color = "inventory" if self.name == "flying" else "hotbar"
        slots = _many_integers(actions[color], count, 7, f"actions[{color!r}]")
        if self.select_and_place:
            place, remove = place | (slots != 0), remove & (slots == 0)
        controls["camera"] = _many_numbers(
            actions["camera"], (count, 2), self.camera_limit, "actions['camera']"
        )
        controls["hotbar"] = np.asarray(self._color_ids, np.int8)[slots]
        controls["place"], controls["remove"] = place, remove
        if self.can_yield:
            yields = _many_integers(actions["yield"], count, 2, "actions['yield']") != 0
            controls["yields"] = 0
            controls[yields] = self._noop[1]  # cancels the step's act: only time passes
        return controls, self._in_order

    def noop(self) -> tuple[Array, int]:
        """The control that does nothing (time passes)."""
        return self._noop, 0

    def yielding(self) -> tuple[Array, int]:
        """The control that does nothing and ends the builder's turn."""
        return self._noop, 1

    def _walking_table(self) -> Array:
        mode = {"flying": FLYING, "discrete": DISCRETE, "continuous": CONTINUOUS}
        self._mode = mode.get(self.name, WALKING)
        self._noop = np.zeros(2, CONTROL)
        self._noop["mode"] = self._mode
        self._noop["yields"][1] = 1
        table = np.zeros(len(WALKING_ACTIONS), CONTROL)
        for number, (axis, value) in enumerate(((0, -1), (0, 1), (1, -1), (1, 1), (2, 1)), start=1):
            table["move"][number, axis] = value
        for slot in range(1, 7):
            table["hotbar"][5 + slot] = self._color_ids[slot]
            table["place"][5 + slot] = self.select_and_place
        table["camera"][12:14, 0] = -CAMERA_STEP_DEG, CAMERA_STEP_DEG
        up = -CAMERA_STEP_DEG if self._upside_down else CAMERA_STEP_DEG
        table["camera"][14:16, 1] = up, -up
        table["remove"][16] = 1
        table["place"][17] = 1
        table["yields"][YIELD] = 1
        return table

    def _record(
        self,
        move: tuple[float, float, float],
        keyed: Mapping[str, Any],
        color: str,
        hands: tuple[bool, bool],
        check: bool,
    ) -> None:
        """What all Dict encodings share: camera, colour, hands. Writes the control."""
        yaw, pitch = _numbers(keyed["camera"], 2, self.camera_limit, "action['camera']", check)
        slot = _integer(keyed[color], 7, _WHERE[color], True)
        place, remove = (True, False) if slot and self.select_and_place else hands
        small = self._mode, self._color_ids[slot], place, remove, 0
        _write(self._scratch, 0, *move, yaw, pitch, *small)  # type: ignore[arg-type]  # NumPy does not declare it a buffer

    def _fill_flying(self, keyed: Mapping[str, Any], check: bool) -> None:
        placement = _integer(keyed["placement"], 3, "action['placement']", True)
        x, y, z = _numbers(keyed["movement"], 3, 1.0, "action['movement']", check)
        self._record((x, y, z), keyed, "inventory", (placement == 1, placement == 2), check)

    def _many_flying(self, move: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
        placement = _many_integers(keyed["placement"], count, 3, "actions['placement']")
        move[:] = _many_numbers(keyed["movement"], (count, 3), 1.0, "actions['movement']")
        return placement == 1, placement == 2

    def _hands(self, keyed: Mapping[str, Any]) -> tuple[bool, bool]:
        use, attack = (_integer(keyed[key], 2, _WHERE[key], True) for key in ("use", "attack"))
        return bool(use), bool(attack)

    def _many_hands(self, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
        use, attack = (_many_integers(keyed[key], count, 2, f"actions[{key!r}]") for key in ("use", "attack"))
        return use != 0, attack != 0

    def _fill_human_level(self, keyed: Mapping[str, Any], check: bool) -> None:
        forward, back, left, right, jump = [_integer(keyed[key], 2, _WHERE[key], True) for key in _KEYS]
        self._record((back - forward, right - left, jump), keyed, "hotbar", self._hands(keyed), check)

    def _many_human_level(self, move: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
        forward, back, left, right, jump = (
            _many_integers(keyed[key], count, 2, f"actions[{key!r}]") for key in _KEYS
        )
        move[:, 0], move[:, 1], move[:, 2] = back - forward, right - left, jump
        return self._many_hands(keyed, count)

    def _fill_discrete(self, keyed: Mapping[str, Any], check: bool) -> None:
        step, strafe = (_integer(keyed[key], 3, _WHERE[key], True) for key in ("move", "strafe"))
        jump = _integer(keyed["jump"], 2, "action['jump']", True)
        self._record((_BACKWARD[step], _RIGHTWARD[strafe], jump), keyed, "hotbar", self._hands(keyed), check)

    def _many_discrete(self, move: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
        step, strafe = (
            _many_integers(keyed[key], count, 3, f"actions[{key!r}]") for key in ("move", "strafe")
        )
        move[:, 0], move[:, 1] = np.asarray(_BACKWARD)[step], np.asarray(_RIGHTWARD)[strafe]
        move[:, 2] = _many_integers(keyed["jump"], count, 2, "actions['jump']")
        return self._many_hands(keyed, count)

    def _fill_continuous(self, keyed: Mapping[str, Any], check: bool) -> None:
        x, y, z = [_numbers(keyed[key], 0, 1.0, _WHERE[key], check)[0] for key in _AXES]
        self._record((x, y, z), keyed, "hotbar", self._hands(keyed), check)

    def _many_continuous(self, move: Array, keyed: Mapping[str, Any], count: int) -> tuple[Array, Array]:
        for axis, key in enumerate(_AXES):
            move[:, axis] = _many_numbers(keyed[key], (count,), 1.0, f"actions[{key!r}]")
        return self._many_hands(keyed, count)
