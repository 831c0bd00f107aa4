"""Writer of world files with action logs, in the form of the newer recorder (see `action_log`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from iglu_marl.core.grid import (
    MIN_Y,
    ZONE_SHAPE,
    BlockGrid,
    Cell,
    Color,
    cells_of,
    color_at,
    grid_to_blocks,
    in_zone,
    index_of,
)
from iglu_marl.data.iglu.trajectory import EYE_HEIGHT, RECORDED_EYE_HEIGHT
from iglu_marl.data.iglu.world_files import FLOOR_Y, LOG_KEY, VOXEL_OF_COLOR

Pose = tuple[float, float, float, float, float]  # eye x, y, z (cells), yaw, pitch (degrees)
BuilderPath = tuple[tuple[Pose, BlockGrid], ...]  # pose and world after each step

_CAMERA_DISTANCE = 4.0  # of the third-person camera behind the eye


def _number(value: float) -> str:
    """Format a number like the recorder: whole numbers without a fraction."""
    value = round(value, 6)
    return str(int(value)) if value == int(value) else repr(value)


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(map(_number, values))


class _LogWriter:
    def __init__(self) -> None:
        self.text = ""
        self.index = 0
        self.feet = (0.0, 63.0, 0.0)
        self.look = (0.0, 0.0)  # pitch, yaw; radians

    def _line(self, text: str) -> None:
        self.text += f"{self.index} {text}\n"

    def action(self, text: str) -> None:
        self.index += 1
        self._line(f"action {text}")

    def stand(self, pose: Pose) -> None:
        """Move the avatar to a pose of this project, whose eye is `EYE_HEIGHT` above the feet."""
        x, y, z, yaw, pitch = pose
        feet = (x + 0.5, y - EYE_HEIGHT + FLOOR_Y + 0.5, z + 0.5)
        yaw = (yaw + 180.0) % 360.0 - 180.0
        look = (math.radians(pitch), -math.radians(yaw))
        moved = _numbers(feet) != _numbers(self.feet)
        turned = _numbers(look) != _numbers(self.look)
        self.index += moved or turned
        if moved:
            self._line(f"pos_change ({_numbers(feet)})")
        if turned:
            self._line(f"set_look ({_numbers(look)})")
        self.feet, self.look = feet, look

    def _aim(self) -> str:
        pitch, yaw = self.look
        view = (-math.sin(yaw) * math.cos(pitch), math.sin(pitch), -math.cos(yaw) * math.cos(pitch))
        eye = (self.feet[0], self.feet[1] + RECORDED_EYE_HEIGHT, self.feet[2])
        camera = [e - _CAMERA_DISTANCE * v for e, v in zip(eye, view, strict=True)]
        return " ".join(map(_number, (*camera, *view)))

    def change(self, before: BlockGrid, after: BlockGrid) -> None:
        """Write the actions that lead from one world to another, removals first, and the change."""
        changes = []
        for x, y, z in cells_of(before != after).tolist():
            place = f"{x} {y + FLOOR_Y} {z}"
            old, new = (_voxel(color_at(world, (x, y, z))) for world in (before, after))
            if old:
                self.action(f"break {place} {self._aim()}")
            if new:
                self.action(f"select_and_place_block {new} {place} {self._aim()}")
            changes.append(f"({x}, {y + FLOOR_Y}, {z}, {old}, {new})")
        if changes:
            self.index += 1
            self._line(f"block_change  {' '.join(changes)}")


def _voxel(color: int) -> int:
    return VOXEL_OF_COLOR[Color(color)] if color else 0


_SIDES = ((0, -1, 0), (0, 0, -1), (-1, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0))  # the ground first


def _solid(world: BlockGrid, cell: Cell) -> bool:
    x, y, z = cell
    return y < MIN_Y or (in_zone(x, y, z) and color_at(world, cell) != 0)


def _neighbor(cell: Cell, side: Cell, distance: int = 1) -> Cell:
    x, y, z = (at + distance * step for at, step in zip(cell, side, strict=True))
    return x, y, z


def _touches(world: BlockGrid, cell: Cell) -> bool:
    """Whether a block at a cell touches another block or the ground."""
    return any(_solid(world, _neighbor(cell, side)) for side in _SIDES)


def _pose_towards(world: BlockGrid, cell: Cell) -> Pose:
    """Return a pose that looks at a cell through free space, if possible towards a neighbor that supports it."""

    def worth(side: Cell) -> int:
        supported = _solid(world, cell) or _solid(world, _neighbor(cell, side))
        near, far = (not _solid(world, _neighbor(cell, side, -distance)) for distance in (1, 2))
        return 4 * supported + 2 * near + far

    side = np.array(max(_SIDES, key=worth), np.float64)
    tilt = np.array([0.0, 0.0, 0.3] if side[1] else [0.0, 0.3, 0.0])
    eye = np.array(cell) - 2.5 * side + tilt
    dx, dy, dz = np.array(cell) + 0.5 * side - eye
    yaw = math.degrees(math.atan2(dx, -dz))
    pitch = math.degrees(math.atan2(dy, math.hypot(dx, dz)))
    return float(eye[0]), float(eye[1]) + EYE_HEIGHT - RECORDED_EYE_HEIGHT, float(eye[2]), yaw, pitch


def world_file(before: BlockGrid, goal: BlockGrid, path: BuilderPath | None = None) -> dict[str, Any]:
    """Return the contents of a world file, as JSON values: how the world `before` became the world `goal`.

    `path` has the poses and worlds on the way. Where it is None or ends early, the missing blocks are changed one by
    one, supported ones first.
    """
    log = _LogWriter()
    log.action("start_recover_world_state")
    log.change(np.zeros(ZONE_SHAPE, np.int8), before)
    log.action("finish_recover_world_state")
    world = before
    for pose, grid in path or ():
        log.change(world, grid)
        log.stand(pose)
        world = grid
    left: list[Cell] = [(x, y, z) for x, y, z in cells_of(world != goal).tolist()]
    while left:
        cell = next((cell for cell in left if _touches(world, cell)), left[0])
        left.remove(cell)
        after = np.array(world)
        after[index_of(cell)] = color_at(goal, cell)
        log.stand(_pose_towards(world, cell))
        log.change(world, after)
        world = after
    return {
        "gameId": 19,  # as in every file upstream
        "stepId": 1,
        "avatarInfo": {"pos": list(log.feet), "look": list(log.look)},
        "worldEndingState": {
            "blocks": [[x, y + FLOOR_Y, z, _voxel(color)] for x, y, z, color in grid_to_blocks(goal)]
        },
        LOG_KEY: log.text,
        "clarification_question": "null",
    }
