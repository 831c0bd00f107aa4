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
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from iglu_marl.core import rules
from iglu_marl.core.errors import ActionError, ConfigError
from iglu_marl.core.grid import IGLU_ID_OF_IGLU2022

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
_Value = TypeVar("_Value")


def _box(low: float, high: float, shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(low, high, shape, np.float32)


def _integer(action: Any, limit: int, where: str, check: bool) -> int:
    """A Discrete(limit) value as int; NumPy scalars and 0-d arrays are accepted, booleans and floats are not."""
    try:
        plain = action.item() if isinstance(action, np.ndarray) and action.ndim == 0 else action
        if plain is True or plain is False:
            raise TypeError
        value = operator.index(plain)
    except TypeError:
        raise ActionError(f"{where} is {action!r}, expected an integer in 0..{limit - 1}") from None
    if check and not 0 <= value < limit:
        raise ActionError(f"{where} is {value}, expected an integer in 0..{limit - 1}")
    return value


def _numbers(action: Any, size: int, limit: float, where: str, check: bool) -> list[float]:
    """`size` finite numbers within ±limit, widened from float32 to double exactly."""
    expected = f"expected {f'{size} numbers' if size else 'a number'} in [-{limit:g}, {limit:g}]"
    try:
        array = np.asarray(action)
        if array.dtype.kind not in "iuf":
            raise TypeError
        values: list[float] = array.astype(np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise ActionError(f"{where} is {action!r}, {expected}") from None
    if array.shape != ((size,) if size else ()) and not (size == 0 and array.shape == (1,)):
        raise ActionError(f"{where} has shape {array.shape}, {expected}")
    for value in values:
        if not (-limit <= value <= limit) and (check or value != value):
            raise ActionError(f"{where} is {action!r}, {expected}")
    return values


def _keyed(action: Any, reader: Callable[[Mapping[str, Any]], _Value], expected: frozenset[str]) -> _Value:
    """Read a Dict action; complains about missing and unknown keys."""
    if not isinstance(action, Mapping) or action.keys() != expected:
        got = sorted(action, key=str) if isinstance(action, Mapping) else repr(action)
        raise ActionError(f"action is {got}, expected a dict with the keys {sorted(expected)}")
    return reader(action)


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
        self._color_ids = [int(i) for i in IGLU_ID_OF_IGLU2022] if iglu2022 else list(range(7))
        self._upside_down = iglu2022
        self.space = self._make_space()
        self._keys = frozenset(self.space.spaces) if isinstance(self.space, spaces.Dict) else frozenset()
        self._table = self._walking_table()
        self._scratch = np.zeros(1, rules.CONTROL)
        self._fill = {
            "flying": self._fill_flying,
            "human-level": self._fill_human_level,
            "discrete": self._fill_discrete,
            "continuous": self._fill_continuous,
        }.get(name)

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
        """Translate an action to a control: (records, index), as `rules.step_at` takes them.

        The records stay owned by this object and are valid until the next call. Raises `ActionError` for anything
        outside the space; `check=False` lets numbers outside their bounds pass.
        """
        if self._fill is None:
            limit = 19 if self.can_yield else 18
            return self._table, _integer(action, limit, "action", True)
        self._scratch[:] = np.zeros((), rules.CONTROL)
        _keyed(action, lambda keyed: self._fill(self._scratch[0], keyed, check), self._keys)  # type: ignore[misc]
        if self.can_yield and _integer(action["yield"], 2, "action['yield']", True):
            return self.yielding()  # cancels the step's act: only time passes
        return self._scratch, 0

    def encode_batch(self, actions: list[Any], check: bool = True) -> Array:
        """The controls of one action per world, CONTROL[n]."""
        controls = np.zeros(len(actions), rules.CONTROL)
        for number, action in enumerate(actions):
            records, index = self.encode(action, check)
            controls[number] = records[index]
        return controls

    def noop(self) -> tuple[Array, int]:
        """The control that does nothing (time passes)."""
        return self._noop, 0

    def yielding(self) -> tuple[Array, int]:
        """The control that does nothing and ends the builder's turn."""
        return self._noop, 1

    def _walking_table(self) -> Array:
        mode = {"flying": rules.FLYING, "discrete": rules.DISCRETE, "continuous": rules.CONTINUOUS}
        self._mode = mode.get(self.name, rules.WALKING)
        self._noop = np.zeros(2, rules.CONTROL)
        self._noop["mode"] = self._mode
        self._noop["yields"][1] = 1
        table = np.zeros(len(WALKING_ACTIONS), rules.CONTROL)
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

    def _common(
        self, c: Any, keyed: Mapping[str, Any], hotbar: str, place: bool, remove: bool, check: bool
    ) -> None:
        """What all Dict encodings share: camera, colour, hands."""
        camera = _numbers(keyed["camera"], 2, self.camera_limit, "action['camera']", check)
        slot = _integer(keyed[hotbar], 7, f"action['{hotbar}']", True)
        if slot and self.select_and_place:
            place, remove = True, False
        c["mode"], c["camera"], c["hotbar"] = self._mode, camera, self._color_ids[slot]
        c["place"], c["remove"] = place, remove

    def _fill_flying(self, c: Any, keyed: Mapping[str, Any], check: bool) -> None:
        placement = _integer(keyed["placement"], 3, "action['placement']", True)
        movement = _numbers(keyed["movement"], 3, 1.0, "action['movement']", check)
        c["move"] = movement
        self._common(c, keyed, "inventory", placement == 1, placement == 2, check)

    def _hands(self, keyed: Mapping[str, Any]) -> tuple[bool, bool]:
        use, attack = (_integer(keyed[key], 2, f"action['{key}']", True) for key in ("use", "attack"))
        return bool(use), bool(attack)

    def _fill_human_level(self, c: Any, keyed: Mapping[str, Any], check: bool) -> None:
        names = ("forward", "back", "left", "right", "jump")
        forward, back, left, right, jump = (
            _integer(keyed[key], 2, f"action['{key}']", True) for key in names
        )
        c["move"] = back - forward, right - left, jump
        self._common(c, keyed, "hotbar", *self._hands(keyed), check)

    def _fill_discrete(self, c: Any, keyed: Mapping[str, Any], check: bool) -> None:
        move, strafe = (_integer(keyed[key], 3, f"action['{key}']", True) for key in ("move", "strafe"))
        jump = _integer(keyed["jump"], 2, "action['jump']", True)
        c["move"] = (0.0, -1.0, 1.0)[move], (0.0, 1.0, -1.0)[strafe], jump
        self._common(c, keyed, "hotbar", *self._hands(keyed), check)

    def _fill_continuous(self, c: Any, keyed: Mapping[str, Any], check: bool) -> None:
        axes = ("move_x", "move_y", "move_z")
        c["move"] = [_numbers(keyed[key], 0, 1.0, f"action['{key}']", check)[0] for key in axes]
        self._common(c, keyed, "hotbar", *self._hands(keyed), check)
