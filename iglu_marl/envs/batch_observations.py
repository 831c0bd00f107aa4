"""Observations of a batch: arrays with a row per world, their spaces, and copies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector.utils import batch_space

from iglu_marl.core.conventions import OWN, Conventions
from iglu_marl.core.grid import ZONE_SHAPE
from iglu_marl.core.kernels.batch import ObsBuffers
from iglu_marl.core.kernels.sights import Sights
from iglu_marl.game.chat import ChatText
from iglu_marl.game.observations import GRIDS, make_sights

_CELLS = int(np.prod(ZONE_SHAPE))

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class BatchObsSpec:
    """Selection and layout of a batch's observations."""

    pose: bool = False
    grid: bool = False
    target: bool = False
    pov: bool = False
    events: bool = False
    computed: Collection[str] = ()  # fields of `Sights`
    radius: int = 1
    max_wrong_cells: int = 1
    conventions: Conventions = OWN

    def arrays(self, count: int) -> ObsBuffers:
        """Return the observation arrays of `count` worlds."""

        def rows(wanted: bool, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
            return np.zeros((count if wanted else 0, *shape), dtype)

        return ObsBuffers(
            pose=rows(self.pose, (5,), np.float32),
            inventory=rows(True, (6,), np.float32),
            compass=rows(True, (), np.float32),
            grid=rows(self.grid, (_CELLS,), np.int8),
            target=rows(self.target, (_CELLS,), np.int8),
            reward=rows(True, (), np.float64),
            terminated=rows(True, (), np.bool_),
            truncated=rows(True, (), np.bool_),
            event=rows(self.events, (), np.int8),
            counts=rows(self.events, (3,), np.int32),
            scene=rows(self.pov, (_CELLS,), np.int8),
            eye=rows(self.pov, (5,), np.float64),
            stale=rows(self.pov, (), np.bool_),
            ids=np.array(self.conventions.obs_id_of_color, np.int8),
            slots=np.array(self.conventions.slots, np.int64),
            half_turn=self.conventions.half_turn,
            eye_offset=self.conventions.eye_offset,
            pitch_down=self.conventions.minerl_camera,
        )

    def sights(self, count: int) -> Sights:
        """Return the arrays of computed observations of `count` worlds."""
        return make_sights(
            count,
            self.computed,
            radius=self.radius,
            max_wrong_cells=self.max_wrong_cells,
            conventions=self.conventions,
            dtype=np.int8,
        )


def batched(space: spaces.Space[Any], count: int) -> spaces.Space[Any]:
    """Return the batched space of `count` observations or actions; texts are an object array or a sequence."""
    if isinstance(space, ChatText):
        return spaces.Tuple((space,) * count)
    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: batched(part, count) for key, part in space.items()})
    return batch_space(space, count)


def shown_space(space: spaces.Space[Any]) -> spaces.Dict:
    """Return a single environment's observations in the data types of a batch."""
    assert isinstance(space, spaces.Dict)
    parts: dict[str, spaces.Space[Any]] = dict(space.spaces)
    for key in GRIDS:
        if key in parts:
            box = parts[key]
            assert isinstance(box, spaces.Box)
            parts[key] = spaces.Box(int(box.low.min()), int(box.high.max()), box.shape, np.int8)
    return spaces.Dict(parts)


def copied(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return copies of the arrays in nested dicts."""
    return {key: copied(value) if isinstance(value, dict) else value.copy() for key, value in values.items()}


def final_infos(views: Mapping[str, Any], infos: Mapping[str, Any], over: Array) -> dict[str, Any]:
    """Return the last observations and infos of episodes that are over, as Gymnasium's vector environments do.

    `final_obs` is an object array of observations; other arrays are empty in the rows of running episodes.
    """
    final = np.full(len(over), None, object)
    chosen = np.flatnonzero(over)
    last = rows(views, chosen)
    for number, world in enumerate(chosen.tolist()):
        final[world] = rows(last, number)
    return {
        "final_obs": final,
        "_final_obs": over.copy(),
        "final_info": _masked(infos, over),
        "_final_info": over.copy(),
    }


def _masked(infos: Mapping[str, Any], mask: Array) -> dict[str, Any]:
    """Return infos with None or 0 in other rows, and `_key` beside each key."""
    masked: dict[str, Any] = {}
    for key, values in infos.items():
        if isinstance(values, Mapping):
            masked[key] = _masked(values, mask)
        else:
            masked[key] = np.full_like(values, None if values.dtype == object else 0)
            masked[key][mask] = values[mask]
        masked[f"_{key}"] = mask.copy()
    return masked


def rows(values: Any, chosen: Any) -> Any:
    """Return rows of the arrays in nested dicts; an integer gives views of one row."""
    if isinstance(values, dict):
        return {key: rows(value, chosen) for key, value in values.items()}
    return values[chosen]
