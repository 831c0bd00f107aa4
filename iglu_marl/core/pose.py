"""The pose of a builder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from iglu_marl.core.errors import PoseError
from iglu_marl.core.observed import observed_numbers


class Pose(NamedTuple):
    """Position of the eye in cells and gaze in degrees (yaw 0 = north, clockwise; pitch up positive)."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0

    @classmethod
    def from_observation(cls, observation: Any) -> Pose:
        """Return the pose of an observation. Its `agentPos` has the order x, y, z, **pitch, yaw**.

        Raises `PoseError` unless there is an `agentPos` of five numbers. `compat="iglu2021"` changes height and pitch.
        """
        numbers = observed_numbers(observation, "agentPos", "x y z pitch yaw", -1e6, 1e6, PoseError)
        x, y, z, pitch, yaw = numbers.tolist()
        return cls(x, y, z, yaw, pitch)

    def near(self, other: Pose) -> bool:
        """Return whether two poses are equal up to the rounding of observations (float32)."""
        off = np.abs(np.subtract(self, other))
        off[3] = min(off[3], abs(360.0 - off[3]))
        return bool((off[:3] < NEAR_CELLS).all() and (off[3:] < NEAR_DEG).all())


# The space of the observation `agentPos`, in its order x, y, z, pitch, yaw. One can fly down to y = -3, and a jump
# from the highest starting pose ends at most 1.1 above it.
POSE_LOW = np.array([-8, -3, -8, -90, 0], dtype=np.float32)
POSE_HIGH = np.array([8, 13.25, 8, 90, 360], dtype=np.float32)
HIGHEST_START = 12.0
NEAR_CELLS, NEAR_DEG = 1e-3, 1e-2  # far above what float32 observations round away


def as_pose(value: Any, lowest: float = -3.0) -> Pose:
    """Return a validated `Pose` from five numbers x, y, z, yaw_deg, pitch_deg.

    Raises `PoseError` unless they are finite and lie in x, z -8..8, y lowest..12, yaw 0..360 and pitch -90..90.
    `lowest` is -1.25 with gravity: from below that, the builder would fall out of the world.
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
