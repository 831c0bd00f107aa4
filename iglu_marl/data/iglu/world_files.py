"""Recorded worlds: the world files of the IGLU packs as arrays.

A world file is JSON without an extension: the blocks in `worldEndingState` with the voxel engine's ids and heights,
and the avatar's position and gaze. Grids are in this project's coordinates and colors. The engine's ids are kept too,
since they show in single-turn worlds who placed a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.core.errors import DataError
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, Color, in_zone, index_of
from iglu_marl.core.parsing import MIB, parse_json, too_large, wrap_errors
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import Arrays, json_array, read_json
from iglu_marl.data.progress import track

VERSION = "4"  # of the arrays; increase it when they change

WORLD_LIMIT = 32 * MIB  # bytes of a world file; upstream's largest one has 0.9 MB
LOG_KEY = "tape"  # of a world file: the builder's action log
PREVIOUS_KEY = "prevWorldEndingState"  # of some world files: the world before the step
FLOOR_Y = 64  # voxel y of our y = 0: the layer on the ground is 63 there and -1 here

# Ids of the voxel engine. In single-turn worlds, the second palette marks blocks that the annotator placed.
_COLORS = (Color.BLUE, Color.YELLOW, Color.GREEN, Color.ORANGE, Color.PURPLE, Color.RED)
VOXEL_OF_COLOR = dict(zip(_COLORS, (57, 50, 59, 47, 56, 60), strict=True))
SECOND_PALETTE = 86  # the first id, in the same order of colors
COLOR_OF_VOXEL = {voxel: color for color, voxel in VOXEL_OF_COLOR.items()}
COLOR_OF_VOXEL |= dict(enumerate(VOXEL_OF_COLOR, SECOND_PALETTE))

Voxel = tuple[int, int, int]  # cell in the engine's coordinates
VoxelWorld = dict[Voxel, int]  # cell -> id, without air

_SET_UP = "finish_recover_world_state"  # marker in an action log
_COLOR_TABLE = np.zeros(128, dtype=np.int8)
for _voxel, _color in COLOR_OF_VOXEL.items():
    _COLOR_TABLE[_voxel] = int(_color)


def parse_world(world: str | bytes | Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """Parse the JSON text of a world file; a parsed one is returned as it is. Raises `DataError` for other content."""
    if isinstance(world, (str, bytes)):
        if len(world) > WORLD_LIMIT:
            raise DataError(too_large(place, len(world), WORLD_LIMIT))
        world = parse_json(world, place)
    if not isinstance(world, Mapping):
        raise DataError(f"{place} is {type(world).__name__}, expected an object with worldEndingState.blocks")
    return world


def read_voxels(state: Any, place: str) -> VoxelWorld:
    """Return the voxel ids by cell of a world in a world file.

    Raises `DataError` unless its "blocks" are a list of integers [x, y, z, voxel id], each cell once.
    """
    entries = state.get("blocks") if isinstance(state, Mapping) else None
    if not isinstance(entries, (list, tuple)):
        raise DataError(f"{place} has no worldEndingState.blocks, expected a list of them")
    world: VoxelWorld = {}
    for entry in entries:
        whole = isinstance(entry, (list, tuple)) and len(entry) == 4
        if not whole or not all(type(number) is int and abs(number) < 1e9 for number in entry):
            raise DataError(
                f"{place} has the block {entry!r:.80}, expected four integers [x, y, z, voxel id]"
            )
        x, y, z, voxel = entry
        if (x, y, z) in world:
            raise DataError(f"{place} has two blocks in the cell {(x, y, z)}")
        world[x, y, z] = voxel
    return world


def read_voxel_grid(state: Any, place: str) -> npt.NDArray[np.int8]:
    """Return a world in a world file as int8 [9, 11, 11] with the engine's ids (0: air).

    Raises `DataError` like `read_voxels`, and for an unknown id or a cell outside the zone.
    """
    grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
    for (x, y, z), voxel in read_voxels(state, place).items():
        if voxel not in COLOR_OF_VOXEL:
            raise DataError(f"{place} has the unknown voxel id {voxel} at {(x, y, z)}")
        if not in_zone(x, y - FLOOR_Y, z):
            raise DataError(
                f"{place} has a block at {(x, y, z)}, outside the zone (x, z in -5..5, y in 63..71)"
            )
        grid[index_of((x, y - FLOOR_Y, z))] = voxel
    return grid


def read_avatar(world: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the avatar's feet (x, y, z) and look (pitch, yaw in radians) of a world file; None if unknown."""
    avatar = world.get("avatarInfo")
    place = avatar if isinstance(avatar, Mapping) else {}
    return _numbers(place.get("pos"), 3), _numbers(place.get("look"), 2)


def _numbers(value: Any, count: int) -> list[float] | None:
    """Return a JSON list of `count` finite numbers as floats; None for anything else."""
    good = isinstance(value, list) and len(value) == count
    good = good and all(type(n) in (int, float) and abs(n) < 1e9 for n in value)  # False for nan
    return [float(number) for number in value] if good else None


def voxel_colors(voxels: npt.NDArray[np.int8]) -> BlockGrid:
    """Return the colors of a grid of the engine's ids, read-only."""
    grid = _COLOR_TABLE[voxels]
    grid.setflags(write=False)
    return grid


@dataclass(frozen=True)
class RecordedWorld:
    """One world file."""

    name: str  # the file, relative to the pack
    # int8 [9, 11, 11], the voxel engine's ids (0: air). From `SECOND_PALETTE` on, this annotator placed the block
    # (target worlds of the single-turn pack).
    voxels: BlockGrid
    avatar_pos: tuple[float, ...]  # feet at the end, in the engine's coordinates; NaN if unknown
    avatar_look: tuple[float, ...]  # pitch, yaw in radians at the end; NaN if unknown
    set_up: bool  # whether the action log shows that the start world was set up


class RecordedWorlds(Mapping[str, BlockGrid]):
    """All world files of a pack: `worlds[name]` is the grid, int8 [9, 11, 11], read-only.

    `worlds.file(name)` has the other contents of a file. `damaged` maps unusable files to their errors.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._names: list[str] = arrays["names"].tolist()
        self._index = {name: number for number, name in enumerate(self._names)}
        self.voxels: npt.NDArray[np.int8] = arrays["voxels"]  # [n, 9, 11, 11]
        self.grids = voxel_colors(self.voxels)  # [n, 9, 11, 11]
        self.voxels.setflags(write=False)
        self._avatars = arrays["avatars"]
        self._set_up = arrays["set_up"]
        self.damaged: dict[str, str] = read_json(arrays["damaged"])

    def __getitem__(self, name: str) -> BlockGrid:
        return self.grids[self._index[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def file(self, name: str) -> RecordedWorld:
        """Return the contents of a file. Raises `DataError` if it is missing or damaged."""
        if name not in self._index:
            reason = self.damaged.get(name)
            raise DataError(reason or f"there is no world {name!r}, expected one of {len(self)} names")
        number = self._index[name]
        x, y, z, pitch, yaw = self._avatars[number].tolist()
        return RecordedWorld(name, self.voxels[number], (x, y, z), (pitch, yaw), bool(self._set_up[number]))

    def __deepcopy__(self, memo: dict[int, Any]) -> RecordedWorlds:
        return self  # immutable

    def __repr__(self) -> str:
        return f"RecordedWorlds({len(self)} worlds, {len(self.damaged)} damaged)"


def read_recorded(
    pack: Pack, names: Sequence[str], label: str, *, progress: bool | None = None
) -> dict[str, Any]:
    """Read world files into the arrays of `RecordedWorlds`. Damaged files are skipped, with the reason in `damaged`."""
    read: list[str] = []
    voxels: list[npt.NDArray[np.int8]] = []
    avatars: list[list[float]] = []
    set_up: list[bool] = []
    damaged: dict[str, str] = {}
    for name in track(names, label, len(names), progress):
        try:
            with wrap_errors(name):
                world = parse_world(pack.read(name, WORLD_LIMIT), name)
                grid = read_voxel_grid(world.get("worldEndingState"), name)
                if world.get(PREVIOUS_KEY) is not None:
                    # a damaged one spoils the file
                    read_voxel_grid(world[PREVIOUS_KEY], f"{name}: {PREVIOUS_KEY}")
        except DataError as error:
            damaged[name] = str(error)
            continue
        position, look = read_avatar(world)
        read.append(name)
        voxels.append(grid)
        avatars.append([*(position or [np.nan] * 3), *(look or [np.nan] * 2)])
        set_up.append(_SET_UP in str(world.get(LOG_KEY)))
    return {
        "names": np.array(read, dtype=str) if read else np.zeros(0, dtype="U1"),
        "voxels": np.array(voxels, dtype=np.int8).reshape(-1, *ZONE_SHAPE),
        "avatars": np.array(avatars, dtype=np.float64).reshape(-1, 5),
        "set_up": np.array(set_up, dtype=np.bool_),
        "damaged": json_array(damaged),
    }
