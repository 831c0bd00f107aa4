"""Bounds of every field of a world's record, checked before a saved state is restored.

The kernels use these values as indices without checks. States from `Worlds.get_state` are within the bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import StateError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, ZONE_SHAPE
from iglu_marl.core.kernels.bounds import within
from iglu_marl.core.kernels.records import (
    ARCHITECT,
    BOTH_HANDS,
    BUILDER,
    COVER,
    EXACT,
    GROUND_RADIUS,
    NO_CELL,
    NOTHING,
    RULE_BOUNDS,
    WORLD,
)

_FARTHEST = 1e6  # cells, degrees or cells/s: no world gets there
_LARGEST = float(np.finfo(np.float64).max)  # any finite number
_CELLS = int(np.prod(ZONE_SHAPE))
_FLAG, _COUNT, _COLOR = (0, 1), (0, _CELLS), (0, 6)
_CLOCK = (0, 2**31 - 1)
_NEAR = (-GROUND_RADIUS - 1, NO_CELL)  # a cell beside a solid one, or none

BOUNDS: Mapping[str, tuple[Any, Any]] = {
    "pose": (-_FARTHEST, _FARTHEST),
    "speed": (-_FARTHEST, _FARTHEST),
    "reward": (-_LARGEST, _LARGEST),
    "steps": _CLOCK,
    "turns": _CLOCK,
    "steps_in_turn": _CLOCK,
    "seen_pose": (-_FARTHEST, _FARTHEST),
    "seen_inventory": (0, BLOCKS_PER_COLOR + _CELLS),
    "seen_compass": (-_FARTHEST, _FARTHEST),
    "inventory": (BLOCKS_PER_COLOR - _CELLS, BLOCKS_PER_COLOR + _CELLS),
    "blocks": _COUNT,
    "target_blocks": _COUNT,
    "asked": _COUNT,
    "missing": _COUNT,
    "best": _COUNT,
    "record": _COUNT,
    "matches": _COUNT,
    "shifts": (-10, 10),
    "invariant": _FLAG,
    "slices": (1, 12),
    "active": (1, 6),
    "floor": (ARCHITECT, BUILDER),
    "completion": (EXACT, COVER),
    "terminated": _FLAG,
    "truncated": _FLAG,
    "event": (NOTHING, BOTH_HANDS),
    "hit": _NEAR,
    "before": _NEAR,
    "change": ((-5, -1, -5, 0, 0), (5, 7, 5, 6, 6)),
    "grid": _COLOR,
    "start": _COLOR,
    "target": _COLOR,
    "spare": (0, 0),
    "edits": _CLOCK,
    "shaping": (-_LARGEST, _LARGEST),
    "potential": (-_LARGEST, _LARGEST),
    "has_potential": _FLAG,
    **RULE_BOUNDS,
}
"""Smallest and largest value of each field of `WORLD`, by entry where they differ."""


class _Part(NamedTuple):
    """Neighbouring fields of one dtype: first byte in a record, and bounds of each value."""

    first: int
    least: npt.NDArray[Any]
    most: npt.NDArray[Any]


def _parts() -> Iterator[_Part]:
    edges = np.zeros(2, WORLD)
    for name in WORLD.names or ():
        edges[name][0], edges[name][1] = BOUNDS[name]
    octets = edges.view(np.uint8).reshape(2, -1)
    fields = [(dtype, offset) for dtype, offset, *_ in (WORLD.fields or {}).values()]
    for kind, group in groupby(fields, lambda field: field[0].base):
        places = [(offset, offset + dtype.itemsize) for dtype, offset in group]
        first, last = places[0][0], places[-1][1]
        yield _Part(first, *octets[:, first:last].copy().view(kind))


_PARTS = tuple(_parts())


def check_state(state: Any, count: int) -> None:
    """Raise `StateError` unless this is WORLD[count] with all values within bounds; name the first that is not."""
    if not isinstance(state, np.ndarray) or state.dtype != WORLD or state.shape != (count,):
        got = f"{getattr(state, 'dtype', type(state).__name__)!s:.60}{list(getattr(state, 'shape', []))}"
        raise StateError(f"state is {got}, expected WORLD[{count}] as get_state returns it")
    octets = np.ascontiguousarray(state).view(np.uint8).reshape(count, -1)
    if not all(within(octets, *part) for part in _PARTS):
        raise StateError(_fault(state))


def _fault(state: npt.NDArray[Any]) -> str:
    for name in WORLD.names or ():
        values = state[name]
        least, most = (np.broadcast_to(bound, values.shape) for bound in BOUNDS[name])
        wrong = np.argwhere(~((values >= least) & (values <= most)))
        if len(wrong):
            world, *entry = place = tuple(wrong[0].tolist())
            where = f"{name}{entry or ''} of world {world}"
            return f"the state's {where} is {values[place]}, expected {least[place]}..{most[place]}"
    raise AssertionError("every value is in its range")
