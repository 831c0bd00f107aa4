"""Walking: aims and views are those of the hands, what is promised is done, and plans from viewpoints are short."""

from __future__ import annotations

import numpy as np
import pytest
from worlds import Block, replays, world_with

from iglu_marl.core.actions import Action
from iglu_marl.core.controls import Controls
from iglu_marl.core.grid import blocks_to_grid, index_of
from iglu_marl.core.kernels.ray import gaze
from iglu_marl.core.kernels.step import step_many
from iglu_marl.core.worlds import Pose, Worlds
from iglu_marl.planning import plan
from iglu_marl.planning.problem import Problem
from iglu_marl.planning.raycast import blocked_by_body, cast_rays
from iglu_marl.planning.simulation import Simulation
from iglu_marl.planning.walking import kernels
from iglu_marl.planning.walking.camera_search import CENTRES, CameraSearch
from iglu_marl.planning.walking.kernels import END, GROUND, OUTSIDE
from iglu_marl.planning.walking.shortening import shorten
from iglu_marl.planning.walking.viewpoints import shortest_walk

NOTHING = np.zeros((9, 11, 11), bool)
TOWER = [(0, y, -1, 1 + y % 2) for y in range(-1, 5)]
WALL = [(x, y, -1, 1 + (x + y) % 3) for x in range(-2, 3) for y in range(-1, 3)]
BRIDGE = [(x, 2, -1, 4) for x in range(-2, 3)] + [(-2, y, -1, 3) for y in range(-1, 2)]
FLOATING = [(x, 2, z, 5) for x in range(2, 4) for z in range(-2, 0)] + [(4, -1, 4, 2), (4, 0, 4, 2)]
SITES = pytest.mark.parametrize(
    "blocks", [TOWER, WALL, BRIDGE, FLOATING], ids=["tower", "wall", "bridge", "floating"]
)


def random_grid(rng: np.random.Generator, count: int) -> np.ndarray:
    grid = np.zeros((9, 11, 11), np.int8)
    cells = rng.integers((0, 1, 1), (5, 10, 10), (count, 3))
    grid[tuple(cells.T)] = rng.integers(1, 7, count)
    return grid


def random_pose(rng: np.random.Generator, grid: np.ndarray) -> np.ndarray:
    """An eye in the open; the grid is changed for that."""
    pose = np.array(
        [*rng.uniform((-5, 0, -5), (5, 6, 5)), 5.0 * rng.integers(72), 5.0 * rng.integers(-18, 19)]
    )
    grid[index_of(np.rint(pose[:3]).astype(int))] = 0
    return pose


# --- what is seen ----------------------------------------------------------------------------------------


def first_solid(ray: np.ndarray, grid: np.ndarray) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """(hit, before) of one ray of a table, as cells x, y, z; the ground and what is outside count as None."""
    last, flat = OUTSIDE, grid.ravel()
    for cell in ray:
        if cell == END:
            return None, None
        if cell == GROUND or (cell >= 0 and flat[cell]):
            return (CENTRES[cell] if cell >= 0 else None), (CENTRES[last] if last >= 0 else None)
        last = cell
    raise AssertionError("a ray without an end")


@pytest.mark.parametrize("seed", range(6))
def test_rays_meet_what_the_hands_meet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = random_grid(rng, 60)
    pose = random_pose(rng, grid)
    search = CameraSearch(pose)
    table = search.table
    aims = rng.integers(0, len(table.rays), 400)
    looks = np.tile(pose, (len(aims), 1))
    looks[:, 3] += 5.0 * (aims // table.rows)
    looks[:, 4] += 5.0 * (aims % table.rows - search.level)
    hits, befores = cast_rays(grid, looks)
    zone = lambda cell: max(abs(cell[0]), abs(cell[2])) <= 5 and -1 <= cell[1] <= 7  # noqa: E731
    for aim, hit, before in zip(aims, hits.tolist(), befores.tolist(), strict=True):
        seen = tuple(hit) if zone(hit) else None, tuple(before) if zone(before) else None
        assert first_solid(table.rays[aim], grid) == seen
    np.testing.assert_array_equal(table.blocked, blocked_by_body(np.tile(pose, (1089, 1)), CENTRES))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("places", [True, False])
def test_no_other_aim_takes_fewer_camera_steps(seed: int, places: bool) -> None:
    rng = np.random.default_rng(seed)
    grid = random_grid(rng, 40)
    pose = random_pose(rng, grid)
    steps = np.array(
        [(yaw, pitch) for yaw in range(-36, 36) for pitch in range(-36, 37) if abs(pose[4] + 5 * pitch) <= 90]
    )
    looks = np.tile(pose, (len(steps), 1))
    looks[:, 3:] += 5.0 * steps
    hits, befores = cast_rays(grid, looks)
    met = befores if places else hits
    found = 0
    for cell in CENTRES:
        mine = (met == cell).all(axis=1)
        if places:
            mine &= ~blocked_by_body(looks, cell) & (hits[:, 0] != 127)
        least = int(np.abs(steps[mine]).sum(axis=1).min(initial=kernels.FAR))
        turns, yaw, pitch = kernels.best_aim(
            grid, tuple(pose[:3].tolist()), *pose[3:].tolist(), -90.0, cell, places
        )
        assert turns == least, cell
        if turns < kernels.FAR:
            assert turns == abs(yaw) + abs(pitch)
            found += 1
    assert found > 10
    assert gaze(0.0, 0.0) == pytest.approx((0.0, 0.0, -1.0))


# --- what is promised ------------------------------------------------------------------------------------


# --- whole plans -----------------------------------------------------------------------------------------


@pytest.mark.slow
@SITES
def test_plans_from_viewpoints(blocks: list[Block]) -> None:
    start = Worlds(1)
    problem = Problem.of(start, blocks, "walking")
    first = plan(start, blocks, "walking", "fast")
    found = shortest_walk(problem, 10_000)
    assert found is not None
    assert replays(start, found, "walking", problem.desired)
    assert len(found) < len(first)
    assert shortest_walk(problem, len(found) // 2) is None


# --- against an exhaustive search -----------------------------------------------------------------------

FIELDS = ("pose", "speed", "slices", "active", "inventory", "grid")


def shortest(worlds: Worlds, target: np.ndarray, limit: int) -> int | None:
    """Steps of the shortest walking plan, by trying every action in every state; None if above the limit."""
    table = Controls("walking").encode(0)[0][:18]
    states = worlds.get_state()[:1]
    seen: set[bytes] = set()
    for steps in range(limit + 1):
        if (states["grid"] == target).all(axis=(1, 2, 3)).any():
            return steps
        if steps == limit:
            return None
        grown = []
        for start in range(0, len(states), 512):
            many = np.repeat(states[start : start + 512], len(table))
            step_many(many, np.tile(table, len(many) // len(table)))
            keys = np.concatenate(
                [np.ascontiguousarray(many[f]).reshape(len(many), -1).view(np.uint8) for f in FIELDS], 1
            )
            fresh = []
            for number, key in enumerate(keys):
                if (known := key.tobytes()) not in seen:
                    seen.add(known)
                    fresh.append(number)
            grown.append(many[fresh])
        states = np.concatenate(grown)
    return None


TINY: dict[str, tuple[list[Block], Pose, list[Block], int]] = {
    "look down and place": ([], Pose(0, -0.25, 0, 0, -5), [(0, -1, -4, 1)], 5),
    "another colour": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 3)], 4),
    "two in a row": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -2, 1), (0, -1, -1, 1)], 5),
    "two side by side": ([], Pose(0, -0.25, 0, 0, -20), [(0, -1, -3, 1), (1, -1, -3, 1)], 5),
    "a step aside": ([], Pose(0.4, -0.25, 0, 0, -30), [(1, -1, -2, 1)], 4),
    "break": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -10), [], 4),
    "recolour": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -35), [(0, -1, -2, 4)], 5),
    "on top": ([(0, -1, -2, 1)], Pose(0, -0.25, 0, 0, -5), [(0, -1, -2, 1), (0, 0, -2, 1)], 5),
    "to the left": ([], Pose(0, -0.25, 0, 315, -20), [(-3, -1, -2, 1)], 4),
}


@pytest.mark.parametrize("name", TINY)
def test_no_plan_is_shorter(name: str) -> None:
    blocks, pose, wanted, limit = TINY[name]
    worlds, target = world_with(blocks, pose), blocks_to_grid(wanted)
    found = shortest(worlds, target, limit)
    assert found is not None
    made = plan(worlds, target, "walking")
    assert made.built
    assert found <= len(made) <= found + 2


# --- shortening ------------------------------------------------------------------------------------------


def test_steps_that_make_no_difference_are_left_out() -> None:
    problem = Problem.of(
        world_with([], Pose(0, -0.25, 0, 0, -20)), [(0, -1, -2, 1), (0, -1, -1, 1)], "walking"
    )
    look = [Action.LOOK_UP, Action.LOOK_DOWN, Action.TURN_LEFT, Action.NOOP, Action.TURN_RIGHT]
    acts = [Action.PLACE, Action.LOOK_DOWN, Action.LOOK_DOWN, Action.LOOK_DOWN, Action.PLACE]
    long = [int(action) for action in [*look, Action.LOOK_DOWN, *look, *acts]]
    simulation = Simulation(problem)
    simulation.step(*long)
    placed = [cell for cell in ((0, -1, -2), (0, -1, -1)) if simulation.color_at(cell)]
    assert placed
    short = shorten(problem, long)
    assert len(short) < len(long) - len(look)
    assert short.count(Action.PLACE) == 2
    again = Simulation(problem)
    again.step(*short)
    np.testing.assert_array_equal(again.grid, simulation.grid)


def test_fast_plans_are_shortened() -> None:
    made = plan(Worlds(1), WALL, "walking", "fast")
    assert made.actions == shorten(Problem.of(Worlds(1), WALL, "walking"), made.actions)
