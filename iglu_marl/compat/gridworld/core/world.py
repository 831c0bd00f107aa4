"""`gridworld.core.world`: `World` and `Agent`, as `GridWorld.world` and `GridWorld.agent` have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat.absent import absent_attribute
from iglu_marl.core.errors import GridError, PoseError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.records import GROUND_RADIUS, GROUND_Y, PADDING, RAY_SAMPLES_PER_CELL
from iglu_marl.core.worlds import Worlds

__all__ = ["Agent", "World"]

Cell = tuple[int, int, int]
_HEIGHT, _WIDTH, _ = ZONE_SHAPE
_HALF = _WIDTH // 2
_STEP = "GridWorld.step(action)"
_ABSENT = dict.fromkeys(
    ("callbacks", "collide", "get_motion_vector", "move_camera", "movement", "parse_flying_action",
     "parse_walking_action", "parse_walking_discrete_action", "place_or_remove_block", "reticle", "shown", "step",
     "strafe", "sustain", "update"),
    _STEP,
) | {"add_callback": "a comparison of two values of GridWorld.grid", "deinit": "GridWorld.reset()"}  # fmt: skip


class _View:
    """A part of the state of one world, which is read and written in place."""

    __slots__ = ("_worlds",)

    def __init__(self, worlds: Worlds) -> None:
        object.__setattr__(self, "_worlds", worlds)

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(type(self).__name__, name, _ABSENT)


class Agent(_View):
    """The builder's body. What is assigned changes it.

    position: the eye (x, y, z) in cells. rotation: (yaw, pitch) in degrees. dy: vertical speed in cells/s. inventory:
    blocks left of each colour, in the order of the ids 1..6. active_block: the id in hand. time_int_steps: number of
    slices of the next step.
    """

    __slots__ = ("flying",)
    PAD = PADDING
    flying: bool

    def __init__(self, worlds: Worlds, flying: bool = False) -> None:
        super().__init__(worlds)
        self.flying = flying

    @property
    def position(self) -> tuple[float, ...]:
        return tuple(self._worlds.pose[0, :3].tolist())

    @position.setter
    def position(self, value: Sequence[float]) -> None:
        self._worlds.pose[0, :3] = finite(value, 3)

    @property
    def rotation(self) -> tuple[float, ...]:
        return tuple(self._worlds.pose[0, 3:].tolist())

    @rotation.setter
    def rotation(self, value: Sequence[float]) -> None:
        self._worlds.pose[0, 3:] = finite(value, 2)

    @property
    def inventory(self) -> npt.NDArray[np.int16]:
        counts: npt.NDArray[np.int16] = self._worlds.inventory[0]
        return counts

    @inventory.setter
    def inventory(self, value: Sequence[int]) -> None:
        self._worlds.inventory[0] = value

    @property
    def dy(self) -> float:
        return float(self._worlds.speed[0])

    @dy.setter
    def dy(self, value: float) -> None:
        self._worlds.speed[0] = value

    @property
    def active_block(self) -> int:
        return int(self._worlds.active[0])

    @active_block.setter
    def active_block(self, value: int) -> None:
        if value not in range(1, 7):
            raise GridError(f"active_block is {value!r}, expected a colour id in 1..6")
        self._worlds.active[0] = value

    @property
    def time_int_steps(self) -> int:
        return int(self._worlds.slices[0])

    @time_int_steps.setter
    def time_int_steps(self, value: int) -> None:
        self._worlds.slices[0] = value


class World(_View):
    """The blocks. Adding and removing them here changes no inventory."""

    __slots__ = ()
    initialized = True

    @property
    def placed(self) -> set[Cell]:
        """The cells (x, y, z) with blocks."""
        return {(x - _HALF, y - 1, z - _HALF) for y, x, z in np.argwhere(self._worlds.grid[0]).tolist()}

    @property
    def world(self) -> dict[Cell, int]:
        """The id of each solid cell; 0 for the ground."""
        ground = range(-GROUND_RADIUS, GROUND_RADIUS + 1)
        blocks = {(x, y, z): int(self._worlds.grid[0, y + 1, x + _HALF, z + _HALF]) for x, y, z in self.placed}
        return {(x, GROUND_Y, z): 0 for x in ground for z in ground} | blocks

    @staticmethod
    def build_zone(x: float, y: float, z: float, pad: float = 0) -> bool:
        """Return whether a point is in the zone, or at most `pad` outside it."""
        return max(abs(x), abs(z)) <= _HALF + pad and -1 - pad <= y < _HEIGHT - 1 + pad

    def add_block(self, position: Cell, texture: int) -> None:
        """Set the id of a cell of the zone."""
        x, y, z = position
        if not self.build_zone(x, y, z) or texture not in range(7):
            raise GridError(f"the block is {(*position, texture)}, expected x, z in -5..5, y in -1..7 and an id in 0..6")
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

    def get_focused_block(self, agent: Agent) -> Cell | None:
        """Return the solid cell that an agent looks at, within reach."""
        return self.hit_test(agent.position, self.get_sight_vector(agent))[0]

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


