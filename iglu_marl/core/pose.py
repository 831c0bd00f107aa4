"""Where a builder stands and looks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import PoseError


class Pose(NamedTuple):
    """Where an episode starts: the eye in cells, the gaze in degrees (yaw 0 = north, clockwise; pitch up positive)."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0


# The space of the observation `agentPos`, in its order x, y, z, pitch, yaw. One can fly down to y = -3, and a jump
# from the highest starting pose ends at most 1.1 above it.
POSE_LOW = np.array([-8, -3, -8, -90, 0], dtype=np.float32)
POSE_HIGH = np.array([8, 13.25, 8, 90, 360], dtype=np.float32)
HIGHEST_START = 12.0


def as_pose(value: Any, lowest: float = -3.0) -> Pose:
    """A validated `Pose` from five numbers x, y, z, yaw_deg, pitch_deg.

    Raises `PoseError` unless they are finite and lie in x, z -8..8, y lowest..12, yaw 0..360 and pitch -90..90.
    `lowest` is -1.25 where there is gravity: from further below one would fall out of the world.
    """
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        pose = Pose(*(float(number) for number in value))
        count = len(value)
    except (TypeError, ValueError, OverflowError):
        raise PoseError(
            f"pose is {value!r:.200}, expected five numbers (x, y, z, yaw_deg, pitch_deg)"
        ) from None
    if count != 5:
        raise PoseError(f"pose has {count} numbers, expected five (x, y, z, yaw_deg, pitch_deg)")
    limits = ((-8, 8), (lowest, HIGHEST_START), (-8, 8), (0, 360), (-90, 90))
    for name, number, (low, high) in zip(Pose._fields, pose, limits, strict=True):
        if not low <= number <= high:
            raise PoseError(f"pose {name} is {number}, expected a number in {low:g}..{high:g}")
    return pose
