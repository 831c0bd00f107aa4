"""The kernels with plain arguments, by which planners and pictures ask, are the rules by which worlds are stepped."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from iglu_marl import Task
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.core.kernels.body import body_fits, in_the_way, many_in_the_way
from iglu_marl.core.kernels.effects import effects_many
from iglu_marl.core.kernels.motion import rise
from iglu_marl.core.kernels.ray import cast, cast_many, cells_along, gaze
from iglu_marl.core.kernels.records import (
    CONTROL,
    FLYING,
    GRAVITY,
    JUMP_SPEED,
    NO_CELL,
    PLACE_IN_THE_WAY,
    PLACE_NO_HIT,
    PLACED,
    RAY_SAMPLES,
    WORLD,
)
from iglu_marl.core.kernels.step import step_many
from iglu_marl.core.worlds import Worlds


def clutter(seed: int, count: int = 18) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = {tuple(rng.integers((-3, -1, -3), (4, 3, 4)).tolist()) for _ in range(count)}
    return blocks_to_grid([(*cell, 1) for cell in sorted(cells)])


@pytest.mark.parametrize("seed", range(3))
def test_rays_and_bodies_are_those_of_the_hands(seed: int) -> None:
    rng, count = np.random.default_rng(seed), 2000
    worlds = Worlds(count)
    worlds.grid[:] = grid = np.array(clutter(seed))
    poses = rng.uniform((-7, -2.4, -7, 0, -90), (7, 9, 7, 360, 90), (count, 5))
    poses[: count // 2, :3] = np.round(poses[: count // 2, :3] * 4) / 4  # on the edges of cells, too
    worlds.pose[:] = poses
    controls = np.zeros(count, CONTROL)
    controls["place"], controls["mode"] = 1, FLYING
    step_many(worlds.state, controls)
    hits, befores = np.zeros((2, count, 3), np.int8)
    cast_many(grid, poses, hits, befores)
    np.testing.assert_array_equal(hits, worlds.hit)
    np.testing.assert_array_equal(befores, worlds.before)
    np.testing.assert_array_equal(hits[:, 0] == NO_CELL, worlds.event == PLACE_NO_HIT)

    refused = np.zeros(count, np.bool_)
    many_in_the_way(poses, befores.astype(np.int64), refused)
    asked = np.isin(worlds.event, (PLACED, PLACE_IN_THE_WAY))
    np.testing.assert_array_equal(refused[asked], worlds.event[asked] == PLACE_IN_THE_WAY)
    assert refused[asked].any()
    assert not refused[asked].all()


def test_a_ray_comes_through_its_cells_up_to_the_first_solid_one() -> None:
    grid, rng = np.array(clutter(5)), np.random.default_rng(5)
    hit, before = np.zeros((2, 3), np.int8)
    met = 0
    for x, y, z, yaw, pitch in rng.uniform((-5, -0.3, -5, 0, -90), (5, 5, 5, 360, 90), (300, 5)):
        path = list(cells_along((x, y, z), gaze(yaw, pitch)))
        assert path[0] == tuple(np.rint((x, y, z)).astype(int))
        assert len(path) <= RAY_SAMPLES
        assert all(one != other for one, other in pairwise(path))
        if cast(grid, (x, y, z), gaze(yaw, pitch), hit, before):
            at = path.index(tuple(hit.tolist()))
            assert at == 0 or path[at - 1] == tuple(before.tolist())
            met += 1
        else:
            assert hit.tolist() == before.tolist() == [NO_CELL] * 3
    assert met > 100


def test_a_body_is_two_cells_high() -> None:
    grid = np.array(blocks_to_grid([(1, 1, 0, 1)]))
    assert [body_fits(grid, 1, eye, 0) for eye in range(-1, 5)] == [False, True, False, False, True, True]
    assert in_the_way(1.5, 0.0, 0.0, 1, -1, 0), "the sides of a cell are part of it"
    assert not in_the_way(1.5 + 1e-9, 0.0, 0.0, 1, -1, 0)


@pytest.mark.parametrize("speed", [0.0, -9.0, JUMP_SPEED])
def test_rise_is_what_a_free_body_does(speed: float) -> None:
    worlds = Worlds(1)
    worlds.spawn(0, Task("", [(0, -1, 0, 1)]), pose=(6.0, 9.0, 0.0, 0.0, 0.0))
    worlds.speed[0], heights = speed, []
    for _ in range(12):
        worlds.step(Controls().encode_batch([0]))
        heights.append(worlds.pose[0, 1] - 9.0)
    assert heights == pytest.approx([rise(speed, steps) for steps in range(1, 13)], abs=1e-12)
    assert max(heights) <= max(speed, 0.0) ** 2 / (2 * GRAVITY)


@pytest.mark.parametrize("name", ["walking", "cells-in-reach"])
def test_a_control_has_an_effect_if_the_world_after_it_differs(name: str) -> None:
    """Against steps: anywhere around blocks, standing, jumping and falling."""
    rng, count = np.random.default_rng(3), 400
    worlds, space = Worlds(count), Controls(name)
    worlds.grid[:] = clutter(3)
    worlds.pose[:] = rng.uniform((-7.2, -0.3, -7.2, 0, -90), (7.2, 6, 7.2, 360, 90), (count, 5))
    worlds.pose[::2, 1] = rng.choice([-0.25, 0.75], count // 2)
    worlds.speed[::4] = rng.uniform(-20, 7, count // 4)
    worlds.active[:] = rng.integers(1, 7, count)
    worlds.inventory[:] = rng.integers(0, 3, (count, 6))
    cells = rng.integers((0, 3, 3, 0), (4, 9, 9, 7), (20, 4))
    controls = space.encode_batch(list(cells if space.on_cells else range(18)))
    before, found = worlds.get_state(), np.zeros((count, len(controls)), np.int8)
    effects_many(worlds.state, 0, 1, controls, space.noop()[0], np.zeros(2, WORLD), found)
    np.testing.assert_array_equal(worlds.state, before)

    def after(control: np.ndarray) -> np.ndarray:
        worlds.set_state(before)
        step_many(worlds.state, np.repeat(control, count))
        fields = (worlds.pose, worlds.speed, worlds.slices, worlds.active, worlds.grid)
        return np.concatenate([field.reshape(count, -1) for field in fields], axis=1)

    waited = after(space.noop()[0][:1])
    stepped = [(after(control[None]) != waited).any(axis=1) for control in controls]
    np.testing.assert_array_equal(found, np.stack(stepped, axis=1))
    assert 0.1 < found.mean() < 0.95
