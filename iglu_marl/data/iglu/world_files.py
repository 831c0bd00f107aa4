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
from iglu_marl.core.grid import ZONE_SHAPE, BlockGrid, index_of
from iglu_marl.core.parsing import wrap_errors
from iglu_marl.data.iglu.multiturn import (
    COLOR_OF_VOXEL,
    FLOOR_Y,
    LOG_KEY,
    SECOND_PALETTE,
    WORLD_LIMIT,
    parse_numbers,
    parse_world,
    read_world,
)
from iglu_marl.data.packs.archive import Pack
from iglu_marl.data.packs.cache import Arrays, json_array, read_json
from iglu_marl.data.progress import track

VERSION = "3"  # of the arrays; increase it when they change

_SET_UP = "finish_recover_world_state"  # marker in an action log
_COLOR_TABLE = np.zeros(128, dtype=np.int8)
for _voxel, _color in COLOR_OF_VOXEL.items():
    _COLOR_TABLE[_voxel] = int(_color)


@dataclass(frozen=True)
class RecordedWorld:
    """One world file."""

    name: str  # the file, relative to the pack
    voxels: BlockGrid  # int8 [9, 11, 11], the voxel engine's ids (0: air)
    # x, y, z of the feet at the end, in the engine's coordinates; NaN if unknown
    avatar_pos: tuple[float, ...]
    avatar_look: tuple[float, ...]  # pitch, yaw in radians at the end; NaN if unknown
    previous_voxels: BlockGrid | None = None  # the world before the step; only some early sessions have it
    set_up: bool = True  # whether the action log shows that the start world was set up

    @property
    def grid(self) -> BlockGrid:
        """The world, int8 [9, 11, 11] in this project's color ids."""
        return _colors(self.voxels)

    @property
    def previous(self) -> BlockGrid | None:
        """The world before the step in this project's color ids, or None."""
        return None if self.previous_voxels is None else _colors(self.previous_voxels)

    @property
    def placed(self) -> npt.NDArray[np.bool_]:
        """Cells whose block this annotator placed, bool [9, 11, 11] (target worlds of the single-turn pack)."""
        return self.voxels >= SECOND_PALETTE


def _colors(voxels: npt.NDArray[np.int8]) -> BlockGrid:
    grid = _COLOR_TABLE[voxels]
    grid.setflags(write=False)
    return grid


class RecordedWorlds(Mapping[str, BlockGrid]):
    """All world files of a pack: `worlds[name]` is the grid, int8 [9, 11, 11], read-only.

    `worlds.file(name)` has the other contents of a file. `damaged` maps unusable files to their errors.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._names: list[str] = arrays["names"].tolist()
        self._index = {name: number for number, name in enumerate(self._names)}
        self.voxels: npt.NDArray[np.int8] = arrays["voxels"]  # [n, 9, 11, 11]
        self.grids = _colors(self.voxels)  # [n, 9, 11, 11]
        self.voxels.setflags(write=False)
        self._avatars = arrays["avatars"]
        self._set_up = arrays["set_up"]
        self._previous = dict(zip(arrays["previous_of"].tolist(), arrays["previous"], strict=True))
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
        avatar = self._avatars[number].tolist()
        return RecordedWorld(
            name,
            self.voxels[number],
            tuple(avatar[:3]),
            tuple(avatar[3:]),
            self._previous.get(number),
            bool(self._set_up[number]),
        )

    def __copy__(self) -> RecordedWorlds:
        return self

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
    previous: dict[int, npt.NDArray[np.int8]] = {}
    damaged: dict[str, str] = {}
    for name in track(names, label, len(names), progress):
        try:
            with wrap_errors(name):
                parsed = parse_world(pack.read(name, WORLD_LIMIT), name)
                grid, before, avatar = _voxels(parsed, name), _voxels_before(parsed, name), _avatar(parsed)
        except DataError as error:
            damaged[name] = str(error)
            continue
        if before is not None:
            previous[len(read)] = before
        read.append(name)
        voxels.append(grid)
        avatars.append(avatar)
        set_up.append(_SET_UP in str(parsed.get(LOG_KEY)))
    shape = (-1, *ZONE_SHAPE)
    return {
        "names": np.array(read, dtype=str) if read else np.zeros(0, dtype="U1"),
        "voxels": np.array(voxels, dtype=np.int8).reshape(shape),
        "avatars": np.array(avatars, dtype=np.float64).reshape(-1, 5),
        "set_up": np.array(set_up, dtype=np.bool_),
        "previous_of": np.array(list(previous), dtype=np.int64),
        "previous": np.array(list(previous.values()), dtype=np.int8).reshape(shape),
        "damaged": json_array(damaged),
    }


def _voxels(parsed: Mapping[str, Any], name: str) -> npt.NDArray[np.int8]:
    """Return the engine's ids, after `read_world` has checked the blocks."""
    grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
    read_world(parsed, place=name)
    for x, y, z, voxel in parsed["worldEndingState"]["blocks"]:
        grid[index_of((x, y - FLOOR_Y, z))] = voxel
    return grid


def _voxels_before(parsed: Mapping[str, Any], name: str) -> npt.NDArray[np.int8] | None:
    before = parsed.get("prevWorldEndingState")
    return None if before is None else _voxels({"worldEndingState": before}, f"{name}: prevWorldEndingState")


def _avatar(parsed: Mapping[str, Any]) -> list[float]:
    """Return x, y, z, pitch, yaw; NaN if unknown."""
    avatar = parsed.get("avatarInfo")
    place = avatar if isinstance(avatar, Mapping) else {}
    values: list[float] = []
    for key, count in (("pos", 3), ("look", 2)):
        values += parse_numbers(place.get(key), count) or [float("nan")] * count
    return values
