"""How a batch is shown: arrays with a row for each world, their spaces, and copies of them."""

from __future__ import annotations

from dataclasses import dataclass
from sys import getrefcount
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from iglu_marl.core.conventions import OWN, Conventions
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import Shown
from iglu_marl.core.kernels.sights import Sights
from iglu_marl.game.chat import ChatText
from iglu_marl.game.observations import GRIDS, make_sights
from iglu_marl.rendering.renderer import LAYOUTS, Layout, picture_shape

_CELLS = int(np.prod(ZONE_SHAPE))

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Display:
    """What a batch shows."""

    pose: bool = False
    grid: bool = False
    target: bool = False
    pov: bool = False
    events: bool = False
    aim: bool = False
    egocentric: bool = False
    target_egocentric: bool = False
    radius: int = 1
    conventions: Conventions = OWN
    grid_dtype: str = "int8"
    layout: Layout = "hwc"

    def __post_init__(self) -> None:
        if self.grid_dtype not in ("int8", "int32"):
            raise ConfigError(f"grid_dtype is {self.grid_dtype!r}, expected 'int8' or 'int32'")
        if self.layout not in LAYOUTS:
            raise ConfigError(f"pov_layout is {self.layout!r}, expected 'hwc', 'chw' or 'index'")

    def arrays(self, count: int) -> Shown:
        """Where `count` worlds are shown."""

        def rows(wanted: bool, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
            return np.zeros((count if wanted else 0, *shape), dtype)

        grid_dtype = np.dtype(self.grid_dtype)
        grid = rows(self.grid, (_CELLS,), grid_dtype)
        return Shown(
            pose=rows(self.pose, (5,), np.float32),
            inventory=rows(True, (6,), np.float32),
            compass=rows(True, (), np.float32),
            grid=grid,
            target=rows(self.target, (_CELLS,), grid_dtype),
            reward=rows(True, (), np.float64),
            terminated=rows(True, (), np.bool_),
            truncated=rows(True, (), np.bool_),
            event=rows(self.events, (), np.int8),
            counts=rows(self.events, (3,), np.int32),
            scene=rows(self.pov, (_CELLS,), np.int8),
            eye=rows(self.pov, (5,), np.float64),
            stale=rows(self.pov, (), np.bool_),
            ids=np.array(self.conventions.shown, grid_dtype),
            slots=np.array(self.conventions.slots, np.int64),
            half_turn=self.conventions.half_turn,
            lift=self.conventions.lift,
            pitch_down=self.conventions.minerl_camera,
        )

    def sights(self, count: int) -> Sights:
        """Where the computed sights of `count` worlds are written."""
        return make_sights(
            count,
            aim=self.aim,
            egocentric=self.egocentric,
            target_egocentric=self.target_egocentric,
            radius=self.radius,
            conventions=self.conventions,
            dtype=np.dtype(self.grid_dtype),
        )


def batched(space: spaces.Space[Any], count: int) -> spaces.Space[Any]:
    """The space of `count` observations or actions in one array each; texts are an object array, or any sequence."""
    if isinstance(space, ChatText):
        return spaces.Tuple((space,) * count)
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: batched(part, count) for key, part in space.items()})
    return batch_space(space, count)


def shown_space(space: spaces.Space[Any], display: Display) -> spaces.Dict:
    """A single environment's observations in the data types and layouts of a batch."""
    assert isinstance(space, spaces.Dict)
    parts: dict[str, spaces.Space[Any]] = dict(space.spaces)
    for key in GRIDS:
        if key in parts:
            box = parts[key]
            assert isinstance(box, spaces.Box)
            parts[key] = spaces.Box(
                int(box.low.min()), int(box.high.max()), box.shape, np.dtype(display.grid_dtype).type
            )
    if "pov" in parts and display.layout != "hwc":
        height, width, _ = parts["pov"].shape or ()
        parts["pov"] = spaces.Box(0, 255, picture_shape((height, width), display.layout), np.uint8)
    return spaces.Dict(parts)


class Copies:
    """Copies of arrays in memory that is used again once nobody else holds it.

    The system clears fresh memory, which for large arrays takes as long as copying does.
    """

    LARGE, KEPT = 1 << 20, 4  # bytes; arrays for one source

    def __init__(self) -> None:
        self._kept: dict[str, list[Array]] = {}

    def of(self, values: Any, name: str) -> Any:
        """Copies of the arrays in a dict of arrays and dicts; `name` tells whose they are."""
        if isinstance(values, dict):
            return {key: self.of(value, f"{name}/{key}") for key, value in values.items()}
        if values.nbytes < self.LARGE or values.dtype == object:
            return values.copy()
        kept = self._kept.setdefault(name, [])
        for number in range(len(kept)):
            if getrefcount(kept[number]) <= _NOBODY_ELSE and kept[number].shape == values.shape:
                np.copyto(kept[number], values)
                return kept[number]
        copy = values.copy()
        if len(kept) < self.KEPT:
            kept.append(copy)
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": {}}  # a copy of an environment has memory of its own


_HELD = [object()]
_NOBODY_ELSE = getrefcount(_HELD[0])  # what it counts for something that one list alone holds


def rows(values: Any, chosen: Any) -> Any:
    """Rows of the arrays in a dict of arrays and dicts; an integer gives views of one row."""
    if isinstance(values, dict):
        return {key: rows(value, chosen) for key, value in values.items()}
    return values[chosen]
