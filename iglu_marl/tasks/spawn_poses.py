"""A task source that gives the tasks of another source random start poses."""

from __future__ import annotations

from typing import Any

import numpy as np

from iglu_marl.core.errors import PoseError, TaskError
from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, BlockGrid, in_zone
from iglu_marl.core.pose import Pose, as_pose
from iglu_marl.core.task import Task, of_task
from iglu_marl.tasks.named import as_source
from iglu_marl.tasks.source import TaskSource, sample_task

MAX_DRAWS = 1000
"""`SpawnPoses` raises an error after this number of poses in a row inside starting blocks."""

Range = float | tuple[float, float]


class SpawnPoses(TaskSource):
    """Tasks of another source with a start pose (`Task.pose`) sampled uniformly from ranges.

    The task is sampled first, then the coordinates with a range, in the order of the arguments, and again while the
    body is inside a starting block.

    Args:
        source: a task source (see `sample_task`), or its name.
        x: eye position in cells, a number or (low, high).
        y: as `x`.
        z: as `x`.
        yaw_deg: gaze (see `Pose`), a number or (low, high).
        pitch_deg: as `yaw_deg`.
        builders: number of builders of a team, who each get a pose of their own.

    Raises:
        TaskError: if the source or a range is wrong, or no free pose is found.

    """

    def __init__(
        self,
        source: Any,
        *,
        x: Range = (-5.0, 5.0),
        y: Range = 0.0,
        z: Range = (-5.0, 5.0),
        yaw_deg: Range = (0.0, 360.0),
        pitch_deg: Range = 0.0,
        builders: int = 1,
    ) -> None:
        if isinstance(builders, bool) or not isinstance(builders, int) or builders < 1:
            raise TaskError(f"SpawnPoses got builders={builders!r}, expected an integer of 1 or more")
        given = {"x": x, "y": y, "z": z, "yaw_deg": yaw_deg, "pitch_deg": pitch_deg}
        ranges = [_read_range(name, value) for name, value in given.items()]
        self.source = as_source(source, "SpawnPoses: source", TaskError)
        self.builders = builders
        self.low, self.high = (Pose(*ends) for ends in zip(*ranges, strict=True))
        for end in (self.low, self.high):
            try:
                as_pose(end)
            except PoseError as error:
                raise TaskError(f"SpawnPoses: {error}") from None

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a task and its pose."""
        generator = self.rng if rng is None else rng
        task = sample_task(self.source, generator)
        poses: Any = [self._sample_pose(task, generator) for _ in range(self.builders)]
        return task.replace(pose=poses if self.builders > 1 else poses[0])

    def _sample_pose(self, task: Task, rng: np.random.Generator) -> Pose:
        for _ in range(MAX_DRAWS):
            pose = Pose(
                *(
                    low if low == high else float(rng.uniform(low, high))
                    for low, high in zip(self.low, self.high, strict=True)
                )
            )
            if _fits(task.starting_grid, pose):
                return pose
        raise TaskError(
            f"{MAX_DRAWS} poses in a row in {self!r} were inside starting blocks{of_task(task.task_id)}"
        )

    def __repr__(self) -> str:
        return f"SpawnPoses({self.source!r:.80}, {tuple(self.low)} to {tuple(self.high)})"


def _read_range(name: str, value: Any) -> tuple[float, float]:
    """Return the two ends of a range."""
    try:
        low, high = (value, value) if isinstance(value, (int, float)) else value
        if isinstance(value, (bool, str)) or not low <= high:
            raise ValueError
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise TaskError(f"SpawnPoses got {name}={value!r}, expected a number or (low, high)") from None


def _fits(grid: BlockGrid, pose: Pose) -> bool:
    """Whether the cells of head and legs are free of blocks."""
    x, y, z = round(pose.x), round(pose.y), round(pose.z)
    return not any(in_zone(x, layer, z) and grid[layer - MIN_Y, x - MIN_X, z - MIN_Z] for layer in (y, y - 1))
