"""`gridworld.core.world`: `World` and `Agent`, as `GridWorld.world` and `GridWorld.agent` have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat.absent import absent_attribute
from iglu_marl.core.errors import ConfigError, GridError, PoseError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.records import GROUND_RADIUS, GROUND_Y, PADDING, RAY_SAMPLES_PER_CELL
from iglu_marl.core.worlds import Worlds

Cell = tuple[int, int, int]
_HEIGHT, _WIDTH, _ = ZONE_SHAPE
_HALF = _WIDTH // 2
_STEP = "GridWorld.step(action)"
_ABSENT = dict.fromkeys(
    ("callbacks", "collide", "get_motion_vector", "move_camera", "movement", "parse_flying_action",
     "parse_walking_action", "parse_walking_discrete_action", "place_or_remove_block", "reticle", "shown", "step",
     "strafe", "sustain", "update"),
    _STEP,
) | {
    "add_callback": "a comparison of two values of GridWorld.grid",
    "deinit": "GridWorld.reset()",
    "get_focused_block": "hit_test(agent.position, get_sight_vector(agent))[0]",
}  # fmt: skip


class _View:
    """A part of the state of one world, which is read and written in place."""

    __slots__ = ("_worlds",)

    def __init__(self, worlds: Worlds) -> None:
        object.__setattr__(self, "_worlds", worlds)

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(type(self).__name__, name, _ABSENT)


class _Field:
    """An attribute of an agent, kept in a part of a field of its world. check: returns a value that can be assigned."""

    def __init__(
        self, field: str, read: Callable[[Any], Any], *part: slice, check: Callable[[Any], Any] | None = None
    ) -> None:
        self.field, self.read, self.index, self.check = field, read, (0, *part), check

    def __get__(self, agent: Agent, owner: type[Agent] | None = None) -> Any:
        return self.read(getattr(agent._worlds, self.field)[self.index])

    def __set__(self, agent: Agent, value: Any) -> None:
        getattr(agent._worlds, self.field)[self.index] = value if self.check is None else self.check(value)


def _color_id(value: Any) -> int:
    if value not in range(1, 7):
        raise ConfigError(f"active_block is {value!r:.80}, expected a color id in 1..6")
    return int(value)


def _numbers(row: npt.NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(row.tolist())


class Agent(_View):
    """The builder's body. What is assigned changes it.

    position: the eye (x, y, z) in cells. rotation: (yaw, pitch) in degrees. dy: vertical speed in cells/s. inventory:
    blocks left of each colour, in the order of the ids 1..6. active_block: the id in hand. time_int_steps: number of
    slices of the next step.
    """

    __slots__ = ("flying",)
    PAD = PADDING
    position = _Field("pose", _numbers, slice(0, 3), check=lambda value: finite(value, 3))
    rotation = _Field("pose", _numbers, slice(3, 5), check=lambda value: finite(value, 2))
    dy = _Field("speed", float)
    inventory = _Field("inventory", np.asarray)
    active_block = _Field("active", int, check=_color_id)
    time_int_steps = _Field("slices", int)
    flying: bool

    def __init__(self, worlds: Worlds, flying: bool = False) -> None:
        super().__init__(worlds)
        self.flying = flying


class World(_View):
    """The blocks. Adding and removing them here changes no inventory."""

    __slots__ = ()

    @property
    def placed(self) -> set[Cell]:
        """The cells (x, y, z) with blocks."""
        return {(x - _HALF, y - 1, z - _HALF) for y, x, z in np.argwhere(self._worlds.grid[0]).tolist()}

    @property
    def world(self) -> dict[Cell, int]:
        """The id of each solid cell; 0 for the ground."""
        ground = range(-GROUND_RADIUS, GROUND_RADIUS + 1)
        blocks = {
            (x, y, z): int(self._worlds.grid[0, y + 1, x + _HALF, z + _HALF]) for x, y, z in self.placed
        }
        return {(x, GROUND_Y, z): 0 for x in ground for z in ground} | blocks

    @staticmethod
    def build_zone(x: float, y: float, z: float, pad: float = 0) -> bool:
        """Return whether a point is in the zone, or at most `pad` outside it."""
        return max(abs(x), abs(z)) <= _HALF + pad and -1 - pad <= y < _HEIGHT - 1 + pad

    def add_block(self, position: Cell, texture: int) -> None:
        """Set the id of a cell of the zone."""
        x, y, z = position
        if not self.build_zone(x, y, z) or texture not in range(7):
            raise GridError(
                f"the block is {(*position, texture)}, expected x, z in -5..5, y in -1..7, an id in 0..6"
            )
        self._worlds.grid[0, y + 1, x + _HALF, z + _HALF] = texture

    def remove_block(self, position: Cell) -> None:
        """Remove the block of a cell."""
        if position not in self.placed:
            raise GridError(f"there is no block at {position}, expected one of {sorted(self.placed)!s:.200}")
        self.add_block(position, 0)

    @staticmethod
    def get_sight_vector(agent: Agent) -> tuple[float, float, float]:
        """Return the unit vector of an agent's gaze."""
        yaw, pitch = np.radians(agent.rotation[0] - 90.0), np.radians(agent.rotation[1])
        return float(np.cos(yaw) * np.cos(pitch)), float(np.sin(pitch)), float(np.sin(yaw) * np.cos(pitch))

    def hit_test(
        self, position: Sequence[float], vector: Sequence[float], max_distance: float = 8
    ) -> tuple[Cell | None, Cell | None]:
        """Return the first solid cell along a ray, and the cell before it."""
        solid, before = self.world, None
        point = np.array(position, float)
        for _ in range(int(max_distance * RAY_SAMPLES_PER_CELL)):
            x, y, z = (int(number) for number in np.rint(point))
            if (x, y, z) != before and (x, y, z) in solid:
                return (x, y, z), before
            before = x, y, z
            point += np.asarray(vector) / RAY_SAMPLES_PER_CELL
        return None, None


def finite(value: Any, count: int) -> npt.NDArray[np.float64]:
    """Return `count` finite numbers. Raises `PoseError` for others."""
    try:
        numbers = np.array(value, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise PoseError(f"the pose is {value!r:.200}, expected {count} finite numbers")
    return numbers
