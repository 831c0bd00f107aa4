"""A team of walking builders by the rules of docs/dynamics.md and docs/score.md, in plain Python.

Motion is not its subject: it takes the poses of all bodies before each act. Everything else is computed from scratch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from iglu_marl import Task, maximal_intersection
from iglu_marl.core.actions import Action


def solid(grid: np.ndarray, x: int, y: int, z: int) -> bool:
    if y == -2:
        return abs(x) <= 18 and abs(z) <= 18
    return abs(x) <= 5 and -1 <= y <= 7 and abs(z) <= 5 and bool(grid[y + 1, x + 5, z + 5])


def inside_body(pose: Any, cell: tuple[int, int, int]) -> bool:
    eye_x, eye_y, eye_z = pose[:3]
    x, y, z = cell
    beside = abs(eye_x - x) <= 0.5 and abs(eye_z - z) <= 0.5
    legs = eye_y - 0.75
    return beside and any(y <= height <= y + 1 for height in (legs, legs + 1))


class TeamReferee:
    """The world of a team: one grid, inventories and colours in hand by builder, and what each act earns."""

    def __init__(self, task: Task, stocks: list[list[int]]) -> None:
        self.target, self.grid = task.target_grid.astype(int), task.start_grid.astype(int).copy()
        self.invariant = task.is_invariant
        started = [int((self.grid == color).sum()) for color in range(1, 7)]
        self.held = [[n - used for n, used in zip(stock, started, strict=True)] for stock in stocks]
        self.placed = [[0] * 6 for _ in stocks]  # by builder and colour: placed minus removed
        self.active = [1] * len(stocks)
        self.best = self._intersection()

    def _intersection(self) -> int:
        return int(maximal_intersection(self.grid, self.target, invariant=self.invariant))

    @property
    def complete(self) -> bool:
        return self.best == np.count_nonzero(self.target) == np.count_nonzero(self.grid)

    def act(self, builder: int, action: int, poses: Any) -> float:
        """Apply an act. Return its reward, with scales 2 and 1. poses: x, y, z, yaw, pitch of all, before the act."""
        if 6 <= action <= 11:
            self.active[builder] = action - 5
        if action not in (Action.PLACE, Action.BREAK):
            return 0.0
        hit, before = self._look(poses[builder])
        if hit is None:
            return 0.0
        if action == Action.BREAK:
            return 0.0 if hit[1] == -2 else self._set(builder, hit, 0)
        color = self.active[builder]
        if before is None or self.held[builder][color - 1] <= 0:
            return 0.0
        x, y, z = before
        if not (abs(x) <= 5 and -1 <= y <= 7 and abs(z) <= 5) or any(
            inside_body(pose, before) for pose in poses
        ):
            return 0.0
        return self._set(builder, before, color)

    def _look(self, pose: Any) -> tuple[Any, Any]:
        x, y, z, yaw, pitch = map(float, pose)
        around, tilt = (yaw - 90.0) * (math.pi / 180.0), pitch * (math.pi / 180.0)
        way = math.cos(around) * math.cos(tilt), math.sin(tilt), math.sin(around) * math.cos(tilt)
        last = None
        for _ in range(40):
            cell = round(x), round(y), round(z)
            if solid(self.grid, *cell):
                return cell, last
            last = cell
            x, y, z = x + way[0] / 5.0, y + way[1] / 5.0, z + way[2] / 5.0
        return None, None

    def _set(self, builder: int, cell: tuple[int, int, int], color: int) -> float:
        place = cell[1] + 1, cell[0] + 5, cell[2] + 5
        for old, change in ((int(self.grid[place]), 1), (color, -1)):
            if old:
                self.held[builder][old - 1] += change
                self.placed[builder][old - 1] -= change
        self.grid[place] = color
        before, self.best = self.best, self._intersection()
        if self.best != before:
            return 2.0 if self.best > before else -2.0
        return 1.0 if color == 0 else -1.0
