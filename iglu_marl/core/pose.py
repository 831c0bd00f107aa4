"""The pose of a builder, and where the builders of a game start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


class TeamPose(Mapping[str, Pose]):
    """A start pose for each builder of a team, by name. Immutable, and equal to a dict of the same poses."""

    __slots__ = ("_poses",)

    def __init__(self, poses: Mapping[str, Pose]) -> None:
        self._poses = dict(poses)

    def __getitem__(self, builder: str) -> Pose:
        return self._poses[builder]

    def __iter__(self) -> Iterator[str]:
        return iter(self._poses)

    def __len__(self) -> int:
        return len(self._poses)

    def __hash__(self) -> int:
        return hash(frozenset(self._poses.items()))

    def __repr__(self) -> str:
        return repr(self._poses)


def is_several(value: Any) -> bool:
    """Return whether a value is a list of poses rather than one pose."""
    if not isinstance(value, (list, tuple)) and getattr(value, "ndim", 0) == 0:
        return False
    first = value[0] if len(value) else None
    return isinstance(first, (list, tuple, Mapping)) or getattr(first, "ndim", 0) > 0


def as_start(value: Any, lowest: float = -3.0, builders: int | None = None) -> Pose | TeamPose:
    """Return where a game starts: a validated pose of all builders, or one for each.

    Args:
        value: five numbers, a dict of such poses by the names of all builders, or a list of them in this order.
        lowest: as of `as_pose`.
        builders: number of builders; None: any.

    Raises:
        PoseError: if a pose is invalid, a builder is missing or unknown.

    """
    if not isinstance(value, Mapping):
        if not is_several(value):
            return as_pose(value, lowest)
        value = {f"builder_{number}": pose for number, pose in enumerate(value)}
    names = [f"builder_{number}" for number in range(builders or len(value) or 1)]
    if value.keys() != set(names):
        given = ", ".join(map(str, value)) or "nobody"
        raise PoseError(f"pose is for {given:.200}, expected a pose for each of {', '.join(names)}")
    poses = {}
    for name in names:
        try:
            poses[name] = as_pose(value[name], lowest)
        except PoseError as error:
            raise PoseError(f"{name}: {error}") from None
    return TeamPose(poses)


def poses_of(start: Pose | TeamPose, builders: int) -> list[Pose]:
    """Return the start poses of that many builders, in order."""
    return [start] * builders if isinstance(start, Pose) else list(start.values())
