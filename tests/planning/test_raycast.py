"""Rays and bodies in bulk are those of the hands, and so are the planners' camera steps."""

from __future__ import annotations

import numpy as np
from worlds import world_with

from iglu_marl.core.actions import CAMERA_STEP_DEG
from iglu_marl.core.controls import Controls
from iglu_marl.core.kernels.records import CONTROL, FLYING, NO_CELL, PLACE_IN_THE_WAY, PLACE_OUTSIDE
from iglu_marl.core.kernels.step import step_at
from iglu_marl.core.worlds import Pose
from iglu_marl.planning.kernels import CAMERA_DEG
from iglu_marl.planning.raycast import blocked_by_body, cast_rays


def test_camera_steps_are_those_of_the_controls() -> None:
    assert CAMERA_DEG == CAMERA_STEP_DEG == Controls("flying").camera_limit


def test_rays_and_bodies_are_those_of_the_hands() -> None:
    worlds = world_with([(0, -1, -2, 3), (2, 1, 1, 4)], Pose(0.3, 0.9, 0.2, 0.0, 0.0))
    rng = np.random.default_rng(0)
    poses = np.concatenate(
        [np.tile(worlds.pose[0, :3], (700, 1)), rng.uniform((0, -90), (360, 90), (700, 2))], 1
    )
    hits, befores = cast_rays(worlds.grid[0], poses)
    control = np.zeros(1, CONTROL)
    control["place"], control["mode"] = 1, FLYING
    for pose, hit, before in zip(poses, hits, befores, strict=True):
        state = worlds.get_state()
        state["pose"][0] = pose
        step_at(state, 0, control, 0)
        assert (state["hit"][0] == hit).all()
        if hit[0] != NO_CELL:
            assert (state["before"][0] == before).all()
            in_way = bool(blocked_by_body(pose[None], before)[0])
            assert in_way == (state["event"][0] == PLACE_IN_THE_WAY) or state["event"][0] == PLACE_OUTSIDE
