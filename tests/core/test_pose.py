"""Poses: their limits, their order in observations, and when two are equal."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl import Pose
from iglu_marl.core.errors import PoseError
from iglu_marl.core.pose import as_pose

LIMITS = {"x": (-8, 8), "y": (-3, 12), "z": (-8, 8), "yaw_deg": (0, 360), "pitch_deg": (-90, 90)}


@pytest.mark.parametrize("name", LIMITS)
def test_each_number_has_limits_that_belong_to_its_range(name: str) -> None:
    for limit, beyond in zip(LIMITS[name], (-0.001, 0.001), strict=True):
        pose = Pose()._replace(**{name: float(limit)})
        assert as_pose(list(pose)) == pose
        with pytest.raises(PoseError, match=f"pose {name} is"):
            as_pose(pose._replace(**{name: limit + beyond}))


def test_observations_have_the_pitch_before_the_yaw() -> None:
    seen = {"agentPos": np.array([1, 2, 3, -40, 50], np.float32)}
    assert Pose.from_observation(seen) == Pose(1, 2, 3, yaw_deg=50, pitch_deg=-40)
    for wrong in ({}, {"agentPos": [1, 2, 3, 4]}, {"agentPos": [1, 2, 3, 4, np.nan]}):
        with pytest.raises(PoseError):
            Pose.from_observation(wrong)


@pytest.mark.parametrize(
    ("change", "near"),
    [
        ({}, True), ({"x": 0.0009}, True), ({"x": 0.0011}, False), ({"y": -0.0009}, True), ({"z": 0.0011}, False),
        ({"yaw_deg": 0.009}, True), ({"yaw_deg": 0.011}, False), ({"yaw_deg": 359.991}, True),
        ({"yaw_deg": 359.98}, False), ({"yaw_deg": 360.0}, True), ({"pitch_deg": -0.009}, True),
        ({"pitch_deg": 0.011}, False),
    ],
)  # fmt: skip
def test_poses_are_near_up_to_a_thousandth_of_a_cell_and_a_hundredth_of_a_degree(
    change: dict[str, float], near: bool
) -> None:
    other = Pose()._replace(**change)
    assert Pose().near(other) is near
    assert other.near(Pose()) is near
