"""Options by agent: who sees which part of the target, who hears whom, and who holds which blocks.

The parts of a target, for `sees`:

| name | what is seen |
|---|---|
| `all` | every cell |
| `none` | nothing |
| `layers:0-2` | the cells of these layers; 0 is the lowest of 9 |
| `half:north` | the cells of a half: north, east, south, west, lower or upper; the middle belongs to both |
| `color:red` | the blocks of a color |
| `side:north` | the view of a side: for each line of sight, the color of the nearest block, without its distance |

Cells outside the seen parts look like air; masks say which are seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.arguments import as_count
from iglu_marl.core.dialogue import Role
from iglu_marl.core.errors import ConfigError
from iglu_marl.core.grid import BLOCKS_PER_COLOR, COLOR_NAMES, ZONE_SHAPE

Array = npt.NDArray[Any]

SIDES = ("north", "east", "south", "west")  # in the order of the observation `target_sides`
SIDES_SHAPE = (len(SIDES), ZONE_SHAPE[0], ZONE_SHAPE[1])
UNSEEN = -1  # in `target_sides`: a side that is not seen
HALVES: Mapping[str, tuple[slice, ...]] = {
    "north": (slice(None), slice(None), slice(0, 6)),
    "south": (slice(None), slice(None), slice(5, 11)),
    "west": (slice(None), slice(0, 6), slice(None)),
    "east": (slice(None), slice(5, 11), slice(None)),
    "lower": (slice(0, 5), slice(None), slice(None)),
    "upper": (slice(4, 9), slice(None), slice(None)),
}
_COLORS = COLOR_NAMES[1:]
_PART = re.compile(
    r"all|none|layers:(?P<low>[0-8])-(?P<high>[0-8])"
    rf"|half:(?P<half>{'|'.join(HALVES)})|color:(?P<color>{'|'.join(_COLORS)})|side:(?P<side>{'|'.join(SIDES)})"
)
_EXPECTED = (
    f"'all', 'none', 'layers:0-2', 'half:' with one of {', '.join(HALVES)}, 'color:' with one of "
    f"{', '.join(_COLORS)}, 'side:' with one of {', '.join(SIDES)}, or a tuple of these"
)


class Parts:
    """What one agent sees of a target: the union of parts. Raises `ConfigError` for an unknown part."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        found = [_PART.fullmatch(name) if isinstance(name, str) else None for name in names]
        for name, match in zip(names, found, strict=True):
            if match is None or (match["low"] is not None and match["low"] > match["high"]):
                raise ConfigError(f"a part of the target is {name!r:.80}, expected {_EXPECTED}")
        # Dicts of the matches, which cannot be pickled.
        self._matches = [match.groupdict() for match in found if match is not None]
        self.whole = "all" in names

    def mask(self, target: Array) -> npt.NDArray[np.int8]:
        """Return which cells of targets [..., 9, 11, 11] are seen, int8 of 0 and 1."""
        seen = np.full(target.shape, self.whole, np.int8)
        for match in self._matches:
            if match["low"] is not None:
                seen[..., int(match["low"]) : int(match["high"]) + 1, :, :] = 1
            elif match["half"] is not None:
                y, x, z = HALVES[match["half"]]
                seen[..., y, x, z] = 1
            elif match["color"] is not None:
                seen |= target == COLOR_NAMES.index(match["color"])
        return seen

    def sides(self, target: Array) -> npt.NDArray[np.int8]:
        """Return targets [..., 9, 11, 11] from all four sides, int8 [..., 4, 9, 11]; -1 in sides that are not seen."""
        views = np.full((*target.shape[:-3], *SIDES_SHAPE), UNSEEN, np.int8)
        seen = {match["side"] for match in self._matches}
        for number, side in enumerate(SIDES):
            if self.whole or side in seen:
                views[..., number, :, :] = side_view(target, side)
        return views


def side_view(target: Array, side: str) -> npt.NDArray[np.int8]:
    """Return grids [..., 9, 11, 11] as they look from a side, int8 [..., 9, 11]: the color of the nearest block, or 0.

    Rows are layers from the lowest up, columns go from the viewer's left to the right: from the north, the first
    column is the easternmost.
    """
    lines = lines_of_sight(target, side)
    nearest = (lines != 0).argmax(axis=-1)
    return np.take_along_axis(lines, nearest[..., None], axis=-1)[..., 0].astype(np.int8)


def lines_of_sight(grid: Array, side: str) -> Array:
    """Return views of grids, [..., 9, 11, 11]: layers, columns as in `side_view`, cells from the nearest on."""
    lines = grid if side in ("north", "south") else grid.swapaxes(-1, -2)
    columns, depth = {"north": (-1, 1), "south": (1, -1), "west": (1, 1), "east": (-1, -1)}[side]
    return lines[..., ::columns, ::depth]


def agents_of(architects: int, builders: int) -> tuple[str, ...]:
    """Return the names of all agents, in the order in which they act."""
    counts = zip(Role, (architects, builders), strict=True)
    return tuple(f"{role.value}_{number}" for role, count in counts for number in range(count))


def _by_agent(value: Any, known: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError("expected None or a dict by agent")
    for agent in value:
        if not isinstance(agent, str) or agent not in known:
            raise ConfigError(f"the key {agent!r:.80} is no agent, expected one of {', '.join(known)}")
    return dict(value)


def _strings(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def read_sees(value: Any, agents: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the names of the parts that each agent sees; by default architects see all, builders nothing."""
    given = _by_agent(value, agents)
    usual = {agent: "all" if agent.startswith(Role.ARCHITECT) else "none" for agent in agents}
    return {agent: Parts(_strings(part)).names for agent, part in (usual | given).items()}


def read_hearers(value: Any, agents: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the hearers by speaker."""
    given = _by_agent(value, agents)
    for speaker, hearers in given.items():
        given[speaker] = _strings(hearers)
        for hearer in given[speaker]:
            if not isinstance(hearer, str) or hearer not in agents:
                raise ConfigError(f"expected a tuple of names from {', '.join(agents)} for {speaker}")
    return given


def read_inventories(value: Any, builders: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Return the blocks of each builder by color, in the order of the ids."""
    given = _by_agent(value, builders)
    for builder, blocks in given.items():
        if isinstance(blocks, Mapping) and all(color in _COLORS for color in blocks):
            counts: Any = [blocks.get(color, 0) for color in _COLORS]
        else:
            counts = blocks
        if not isinstance(counts, (tuple, list)) or len(counts) != len(_COLORS):
            raise ConfigError(
                f"expected numbers by color ({', '.join(_COLORS)}), or 6 numbers, for {builder}"
            )
        given[builder] = tuple(
            as_count(f"a number of {builder}", count, 0, BLOCKS_PER_COLOR) for count in counts
        )
    return given
