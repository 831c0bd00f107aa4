"""Writer of world files with action logs, in the form of the newer recorder (see `action_log`)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from iglu_marl.core.grid import (
    ZONE_SHAPE,
    BlockGrid,
    Color,
    cells_of,
    color_at,
    grid_to_blocks,
)
from iglu_marl.data.iglu.trajectory import RECORDED_EYE_HEIGHT, START_POSITION, view_of
from iglu_marl.data.iglu.world_files import FLOOR_Y, LOG_KEY, VOXEL_OF_COLOR
from iglu_marl.data.situations import EYE_HEIGHT

Pose = tuple[float, float, float, float, float]  # eye x, y, z (cells), yaw, pitch (degrees)
BuilderPath = tuple[tuple[Pose, BlockGrid], ...]  # pose and world after each step

_CAMERA_DISTANCE = 4.0  # of the third-person camera behind the eye


def _numbers(values: Iterable[float], separator: str = ", ") -> str:
    """Format numbers like the recorder: whole numbers without a fraction."""
    rounded = (round(value, 6) for value in values)
    return separator.join(str(int(n)) if n == int(n) else repr(n) for n in rounded)


class _LogWriter:
    def __init__(self) -> None:
        self.text = ""
        self.index = 0
        self.feet = START_POSITION
        self.look = (0.0, 0.0)  # pitch, yaw; radians
        self.view = view_of(0.0, 0.0)

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
        self.feet, self.look, self.view = feet, look, view_of(yaw, pitch)

    def change(self, before: BlockGrid, after: BlockGrid) -> None:
        """Write the actions that lead from one world to another, removals first, and the change."""
        eye = np.add(self.feet, (0.0, RECORDED_EYE_HEIGHT, 0.0))
        aim = _numbers([*(eye - _CAMERA_DISTANCE * self.view).tolist(), *self.view.tolist()], " ")
        changes = []
        for x, y, z in cells_of(before != after).tolist():
            place = f"{x} {y + FLOOR_Y} {z}"
            old, new = (_voxel(color_at(world, (x, y, z))) for world in (before, after))
            if old:
                self.action(f"break {place} {aim}")
            if new:
                self.action(f"select_and_place_block {new} {place} {aim}")
            changes.append(f"({x}, {y + FLOOR_Y}, {z}, {old}, {new})")
        if changes:
            self.index += 1
            self._line(f"block_change  {' '.join(changes)}")


def _voxel(color: int) -> int:
    return VOXEL_OF_COLOR[Color(color)] if color else 0


def world_file(before: BlockGrid, goal: BlockGrid, path: BuilderPath | None = None) -> dict[str, Any]:
    """Return the contents of a world file, as JSON values: how the world `before` became the world `goal`.

    `path` has the poses and worlds on the way. Where it is None or ends early, the missing blocks are changed at once.
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
    log.change(world, goal)
    blocks = [[x, y + FLOOR_Y, z, _voxel(color)] for x, y, z, color in grid_to_blocks(goal)]
    return {
        "gameId": 19,  # as in every file upstream
        "stepId": 1,
        "avatarInfo": {"pos": list(log.feet), "look": list(log.look)},
        "worldEndingState": {"blocks": blocks},
        LOG_KEY: log.text,
        "clarification_question": "null",
    }
