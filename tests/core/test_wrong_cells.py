"""Cells in which build and target differ, their bearing, and the potential of both, against plain definitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from iglu_marl import Controls, Task, Worlds
from iglu_marl.core.actions import Action
from iglu_marl.core.grid import cells_of, index_of
from iglu_marl.core.kernels.records import EpisodeRules
from iglu_marl.core.kernels.sights import see_many
from iglu_marl.game.config import SHAPING, GameConfig
from iglu_marl.game.observations import WRONG_CELL_HIGH, WRONG_CELL_LOW, make_sights
from iglu_marl.planning.support import supported_cells

SIDES = ((0, -1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1), (0, 1, 0))


def seen(worlds: Worlds, count: int = 4) -> np.ndarray:
    sights = make_sights(len(worlds), ("wrong_cells",), max_wrong_cells=count)
    see_many(worlds.state, sights, 0, len(worlds))
    return sights.wrong_cells


def spawned(target: Any, pose: Any, start: Any = (), **options: Any) -> Worlds:
    worlds = Worlds(1)
    task = Task("", target, starting_grid=start or None, invariant=options.pop("invariant", False))
    worlds.spawn(0, task, GameConfig(**options).rules(), pose)
    return worlds


def test_a_block_ahead_to_the_right_and_below() -> None:
    """By hand: the eye at (0, 0, 0) looks east, the cell (3, -1, 4) is 3 ahead, 4 to the right and 1 down."""
    row = seen(spawned([(3, -1, 4, 6)], (0, 0, 0, 90, -10)))[0]
    yaw, pitch = math.degrees(math.atan2(4, 3)), math.degrees(math.atan2(-1.5, 5)) + 10
    np.testing.assert_allclose(row[0], [1, -1, 4, -3, yaw, pitch, 6, 0], atol=1e-5)
    assert (row[1:] == 0).all()


def test_who_turns_by_the_bearing_acts_on_the_cell() -> None:
    controls = Controls("human-level")
    still = dict.fromkeys(controls.space.spaces, 0)  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    for _ in range(60):
        x, z, color = *rng.integers(-5, 6, 2), int(rng.integers(1, 7))
        worlds = spawned([(x, -1, z, color)], (0, 0.75, 0, rng.uniform(0, 360), rng.uniform(-80, 80)))
        if abs(x) < 2 and abs(z) < 2:
            continue
        row = seen(worlds)[0, 0]
        assert row[6] == color
        act = {**still, "camera": row[4:6], "hotbar": color, "use": 1}
        worlds.step(controls.encode_batch([act]))
        assert worlds.terminated[0]


def test_the_order_is_what_can_be_placed_then_what_is_to_go_by_distance() -> None:
    target = [(1, -1, 0, 1), (4, -1, 0, 2), (4, 0, 0, 2), (0, -1, 3, 5)]
    start = [(2, -1, 2, 3), (0, -1, 3, 4)]  # one too many, one of a wrong color
    rows = seen(spawned(target, (0, 0, 0, 0, 0), start), 7)[0]
    kinds = [(int(row[0]), int(row[6])) for row in rows]
    assert kinds == [(1, 1), (1, 2), (2, 0), (2, 5), (1, 2), (0, 0), (0, 0)]
    assert seen(spawned(target, (0, 0, 0, 0, 0), start), 2)[0].tolist() == rows[:2].tolist()
    assert rows[:, 1].tolist() == [-1, -1, -1, -1, 0, 0, 0]


def definition(worlds: Worlds, i: int, count: int, cover: bool) -> list[list[float]]:
    """The rows of `wrong_cells` but the last column, with NumPy."""
    grid, target = worlds.grid[i], worlds.aligned_target(i)
    wrong = grid != target
    if cover:
        asked = worlds.target[i] != worlds.start[i]
        assert not worlds.invariant[i]
        wrong &= asked
    x, y, z, yaw, pitch = worlds.pose[i].tolist()
    free = supported_cells(grid != 0)
    rows = []
    for cell in cells_of(wrong).tolist():
        at = index_of(cell)
        rank = 1 if grid[at] else 0 if free[at] else 2
        offset = np.array(cell) - (x, y, z)
        aim = np.array(cell, float)
        if not grid[at]:
            solid = [
                np.array(cell) + side
                for side in SIDES
                if cell[1] + side[1] == -2 or color_at(grid, np.array(cell) + side)
            ]
            if solid:
                far = max(solid, key=lambda other: round(float(((other - (x, y, z)) ** 2).sum()), 9))
                aim = (aim + far) / 2
        way = aim - (x, y, z)
        turn = math.degrees(math.atan2(way[0], -way[2])) - yaw
        ahead = math.sin(math.radians(yaw)), -math.cos(math.radians(yaw))
        rows.append(
            [
                rank * 100 + math.dist(cell, (x, y, z)),
                2 if grid[at] else 1,
                offset[1],
                offset[2] * ahead[0] - offset[0] * ahead[1],
                -(offset[0] * ahead[0] + offset[2] * ahead[1]),
                (turn + 180) % 360 - 180,
                math.degrees(math.atan2(way[1], math.hypot(way[0], way[2]))) - pitch,
                int(target[at]),
            ]
        )
    rows.sort(key=lambda row: row[0])
    return [row[1:] for row in rows[:count]] + [[0] * 7] * max(0, count - len(rows))


def color_at(grid: np.ndarray, cell: np.ndarray) -> int:
    at = np.array(index_of(cell))
    inside = (at >= 0).all() and (at < (9, 11, 11)).all()
    return int(grid[tuple(at)]) if inside else 0


@pytest.mark.parametrize(("invariant", "completion"), [(True, "exact"), (False, "exact"), (False, "cover")])
def test_random_worlds_against_the_definition(invariant: bool, completion: Any) -> None:
    rng, count = np.random.default_rng(3), 60
    worlds = Worlds(count)
    for i in range(count):
        start, target = np.zeros((2, 9, 11, 11), np.int8)
        for grid, blocks in ((start, 30), (target, 40)):
            grid[tuple(rng.integers((0, 0, 0), (4, 11, 11), (blocks, 3)).T)] = rng.integers(1, 7, blocks)
        pose = rng.uniform((-8, -2.4, -8, 0, -90), (8, 9, 8, 360, 90))
        task = Task("", target, starting_grid=start, invariant=invariant)
        worlds.spawn(i, task, EpisodeRules(completion=completion), pose.tolist())
    rows = seen(worlds, 6)
    assert ((WRONG_CELL_LOW <= rows) & (rows <= WRONG_CELL_HIGH)).all()
    for i in range(count):
        expected = definition(worlds, i, 6, completion == "cover")
        np.testing.assert_allclose(rows[i, :, :7], expected, atol=1e-4)
    rotations = {worlds.alignment(i).rotation for i in range(count)}
    assert len(rotations) == (4 if invariant else 1)


@pytest.mark.parametrize("hand", ["place", "remove"])
def test_the_last_column_is_whether_the_hands_would_act_on_it(hand: str) -> None:
    block = (0, -1, -2, 6)
    target, start = ([block], []) if hand == "place" else ([(5, 5, 5, 1), (5, -1, 5, 1)], [block])
    aimed = []
    for pitch in range(-60, 0, 3):
        worlds = spawned(target, (0, -0.25, 0, 0, pitch), start)
        rows = seen(worlds)[0]
        row = rows[0] if hand == "place" else rows[rows[:, 0] == 2][0]
        worlds.step(Controls().encode_batch([Action.PLACE if hand == "place" else Action.BREAK]))
        acted = worlds.change[0, 3] != worlds.change[0, 4] and worlds.change[0, :3].tolist() == [*block[:3]]
        assert row[7] == acted
        aimed.append(acted)
    assert set(aimed) == {True, False}


# ----------------------------------------------------------------------------------------------------------- shaping

TURN = 5 / 90


def paid(worlds: Worlds, *actions: int) -> list[float]:
    controls, gains = Controls(), []
    for action in actions:
        worlds.step(controls.encode_batch([action]))
        gains.append(worlds.shaping[0])
    return gains


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_each_term_pays_its_gain(scale: float) -> None:
    """By hand: a red block two cells ahead on the ground, whose lower face lies 32 degrees below the eye."""
    steps = (Action.TURN_RIGHT, Action.TURN_LEFT, Action.LOOK_DOWN, Action.hotbar(6), Action.hotbar(2))
    expected: dict[str, list[float]] = {
        "yaw": [-TURN, TURN, 0, 0, 0],
        "pitch": [0, 0, TURN, 0, 0],
        "distance": [0] * 5,
        "color": [0, 0, 0, 1, -1],
        "aim": [0, 0, 1, 0, 0],
    }
    for term, gains in expected.items():
        worlds = spawned([(0, -1, -2, 6)], (0, -0.25, 0, 0, -23), shaping={term: 3}, shaping_scale=scale)
        np.testing.assert_allclose(paid(worlds, *steps), 3 * scale * np.array(gains), atol=1e-12)
        assert (worlds.reward == 0).all()
    worlds = spawned([(0, -1, -4, 6)], (0, -0.25, 0, 0, -20), shaping={"distance": 1})
    (gain,) = paid(worlds, Action.FORWARD)
    assert gain == pytest.approx(math.hypot(4, 1.25) - math.hypot(3.75, 1.25))


def test_the_sum_is_the_difference_of_the_potential_and_ends_pay_nothing() -> None:
    rng = np.random.default_rng(0)
    target = [(2, -1, -2, 6), (-3, -1, 1, 1)]
    worlds = spawned(target, (0, -0.25, 0, 0, -40), shaping=True, max_steps=200)
    controls, total, first = Controls(), 0.0, None
    for _ in range(199):
        worlds.step(controls.encode_batch([int(rng.integers(18))]))
        total += worlds.shaping[0]
        first = worlds.potential[0] - worlds.shaping[0] if first is None else first
        assert worlds.potential[0] - first == pytest.approx(total)
    assert worlds.blocks[0]
    assert paid(worlds, Action.FORWARD) == [0.0]
    assert worlds.truncated[0]
    worlds = spawned([(0, -1, -2, 1)], (0, -0.25, 0, 0, -32), shaping=True)
    assert paid(worlds, Action.TURN_LEFT, Action.TURN_RIGHT, Action.PLACE)[2] == 0
    assert worlds.terminated[0]


def test_a_changed_world_a_new_target_and_a_new_pose_pay_nothing() -> None:
    worlds = spawned([(0, -1, -4, 6), (3, -1, 3, 6)], (0, -0.25, 0, 0, -40), shaping=True)
    assert paid(worlds, Action.NOOP) == [0.0]
    worlds.rewrite(0, [(0, -1, -4, 6)])
    assert paid(worlds, Action.NOOP) == [0.0]
    worlds.retarget(
        0, Task("", [(-4, -1, 0, 2)], starting_grid=[(0, -1, -4, 6)]), GameConfig(shaping=True).rules()
    )
    assert paid(worlds, Action.NOOP, Action.TURN_LEFT)[0] == 0.0
    assert worlds.shaping[0] > 0


def test_a_wrong_block_is_no_shortcut() -> None:
    """A block placed at one's feet is not the next wrong cell while there is something to place."""
    worlds = spawned([(0, -1, -5, 6)], (0, -0.25, 0, 0, -50), shaping=True)
    assert paid(worlds, Action.NOOP, Action.PLACE) == [0.0, 0.0]
    assert worlds.blocks[0] == 1
    assert seen(worlds)[0, :, 0].tolist() == [1, 2, 0, 0]


def test_without_the_option_nothing_is_computed() -> None:
    worlds = spawned([(0, -1, -2, 6)], (0, -0.25, 0, 0, -40))
    assert paid(worlds, *range(12)) == [0.0] * 12
    assert not worlds.has_potential.any()
    assert GameConfig(shaping={"aim": 1}).rules().shaping_scale == 1
    assert GameConfig().rules() == EpisodeRules(max_steps=500, max_turns=100, turn_steps=50)


def test_the_own_game_is_the_same_with_it() -> None:
    rng = np.random.default_rng(1)
    pair = [spawned([(2, -1, -2, 6)], (0, -0.25, 0, 0, -40), **more) for more in ({}, {"shaping": True})]
    for _ in range(150):
        action = int(rng.integers(18))
        for worlds in pair:
            worlds.step(Controls().encode_batch([action]))
        for name in ("pose", "grid", "reward", "best", "event", "terminated"):
            assert (getattr(pair[0], name) == getattr(pair[1], name)).all()
    assert pair[1].potential[0]
    assert list(itertools.chain(SHAPING)) == ["distance", "yaw", "pitch", "aim", "color"]
