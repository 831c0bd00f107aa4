"""`gridworld.core.world`: `World` and `Agent`, as `GridWorld.world` and `GridWorld.agent` have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat.absent import absent_attribute
from iglu_marl.core.errors import ConfigError, GridError, PoseError
from iglu_marl.core.grid import cells_of, in_zone, index_of
from iglu_marl.core.worlds import Worlds

Cell = tuple[int, int, int]
_STEP = "GridWorld.step(action)"
_ABSENT = dict.fromkeys(
    ("callbacks", "collide", "get_motion_vector", "move_camera", "movement", "parse_flying_action",
     "parse_walking_action", "parse_walking_discrete_action", "place_or_remove_block", "reticle", "shown", "step",
     "strafe", "sustain", "update"),
    _STEP,
) | {
    "add_callback": "a comparison of two values of GridWorld.grid",
    "deinit": "GridWorld.reset()",
    **dict.fromkeys(("world", "build_zone"), "GridWorld.grid and iglu_marl.core.grid.in_zone"),
    "get_sight_vector": "iglu_marl.core.kernels.ray.gaze(*agent.rotation)",
    **dict.fromkeys(("get_focused_block", "hit_test"), "iglu_marl.core.kernels.ray.reach"),
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
        return {(x, y, z) for x, y, z in cells_of(self._worlds.grid[0]).tolist()}

    def add_block(self, position: Cell, texture: int) -> None:
        """Set the id of a cell of the zone."""
        x, y, z = position
        if not in_zone(x, y, z) or texture not in range(7):
            raise GridError(
                f"the block is {(*position, texture)}, expected x, z in -5..5, y in -1..7, an id in 0..6"
            )
        self._worlds.grid[0][index_of(position)] = texture

    def remove_block(self, position: Cell) -> None:
        """Remove the block of a cell."""
        if position not in self.placed:
            raise GridError(f"there is no block at {position}, expected one of {sorted(self.placed)!s:.200}")
        self.add_block(position, 0)


def finite(value: Any, count: int) -> npt.NDArray[np.float64]:
    """Return `count` finite numbers. Raises `PoseError` for others."""
    try:
        numbers = np.array(value, float)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise PoseError(f"the pose is {value!r:.200}, expected {count} finite numbers")
    return numbers
