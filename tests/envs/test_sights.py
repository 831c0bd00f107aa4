"""`aim`, `egocentric` and `hotbar`: what they promise of the next step and of the grid, in every view alike."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import Pose, Task
from iglu_marl.core.conventions import OWN
from iglu_marl.core.grid import MIN_Y, index_of
from iglu_marl.core.kernels.records import (
    CONTROL,
    FLYING,
    PLACE_EYE_INSIDE,
    PLACE_NO_HIT,
    PLACED,
    REMOVED,
    EpisodeRules,
)
from iglu_marl.core.kernels.sights import OUTSIDE, see_many
from iglu_marl.core.kernels.step import step_many
from iglu_marl.core.scoring import Shifts
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs.wrappers import flatten
from iglu_marl.game.observations import make_sights
from iglu_marl.tasks import RandomTasks

SEES = ("aim", "egocentric", "hotbar")
FEW = RandomTasks(max_blocks=2, max_dist=3, num_colors=2, max_cache=12)


def clutter(rng: np.random.Generator, count: int = 40) -> np.ndarray:
    grid = np.zeros((9, 11, 11), np.int8)
    grid[tuple(rng.integers((0, 0, 0), (4, 11, 11), (count, 3)).T)] = rng.integers(1, 7, count)
    return grid


def crowd(seed: int, count: int, shifts: Shifts = "all") -> Worlds:
    """Worlds with blocks all about, each seen from somewhere."""
    rng = np.random.default_rng(seed)
    worlds = Worlds(count)
    for i in range(count):
        start, target = clutter(rng), clutter(rng, 12)
        pose = rng.uniform((-8, -2.4, -8, 0, -90), (8, 9, 8, 360, 90))
        worlds.spawn(
            i,
            Task("", target, starting_grid=start, invariant=True),
            EpisodeRules(shifts=shifts),
            pose.tolist(),
        )
    return worlds


@pytest.mark.parametrize("seed", range(3))
def test_aim_is_where_the_hands_act(seed: int) -> None:
    worlds = crowd(seed, 800)
    sights = make_sights(800, ("aim",))
    see_many(worlds.state, sights, 0, 800)
    aim, eyes, count = sights.aim, worlds.position.copy(), 0
    before = worlds.get_state()
    controls = np.zeros(800, CONTROL)
    controls["mode"] = FLYING
    for hand, event in (("place", PLACED), ("remove", REMOVED)):
        worlds.set_state(before)
        controls["place"], controls["remove"] = hand == "place", hand == "remove"
        step_many(worlds.state, controls)
        acted = worlds.event == event
        columns = slice(4, 7) if hand == "place" else slice(1, 4)
        assert (worlds.change[acted, :3] == aim[acted, columns]).all()
        count += acted.sum()
        if hand == "place":
            nothing, inside = worlds.event == PLACE_NO_HIT, worlds.event == PLACE_EYE_INSIDE
    assert count > 100
    assert (aim[nothing] == 0).all()
    assert (aim[~nothing, 0] == 1).all()
    assert (aim[inside, 1:4] == aim[inside, 4:7]).all()
    assert (aim[inside, 7] == 0).all()
    assert nothing.any()
    assert inside.any()
    # The hit is as far as the distance says, give or take a cell and a sample.
    far = np.linalg.norm(aim[:, 1:4] - eyes, axis=1)
    assert (np.abs(far - aim[:, 7])[~nothing] < np.sqrt(3) / 2 + 0.2).all()


def test_the_aim_is_the_first_block_on_the_line_of_sight() -> None:
    worlds = Worlds(4)
    poses = [(0, 0, 0, 0, 0), (0, 0, 0, 90, 0), (0, 0, 0, 180, 0), (0, 1, 0, 0, -90)]
    for number, pose in enumerate(poses):
        worlds.spawn(number, Task("", [(5, -1, 5, 1)]), pose=pose)
        for cell, color in (((0, 0, -3), 4), ((0, 0, -4), 5), ((0, -1, 0), 2)):
            worlds.grid[number][index_of(cell)] = color
    sights = make_sights(4, ("aim",))
    see_many(worlds.state, sights, 0, 4)
    assert sights.aim[0, :7].tolist() == [1, 0, 0, -3, 0, 0, -2]
    assert sights.aim[1].tolist() == sights.aim[2].tolist() == [0] * 8
    assert sights.aim[3, :7].tolist() == [1, 0, -1, 0, 0, 0, 0]
    # a face is half a cell before the middle; rays go by samples
    assert sights.aim[[0, 3], 7] == pytest.approx([2.5, 1.5], abs=0.13)


def turned(cells: np.ndarray, pose: np.ndarray, radius: int) -> np.ndarray:
    """The definition, with NumPy: the grid in a wide frame, cut out around the eye and turned to its yaw."""
    wide = 40
    frame = np.pad(cells, wide, constant_values=OUTSIDE)
    x, y, z = (round(number) for number in pose[:3])
    low = np.array([y - MIN_Y, x + 5, z + 5]) + wide - radius
    cut = frame[tuple(slice(first, first + 2 * radius + 1) for first in low)]
    return np.rot90(cut, -round(pose[3] / 90), axes=(1, 2))


@pytest.mark.parametrize("radius", [1, 4, 11])
@pytest.mark.parametrize("shifts", ["all", "inside"])
def test_egocentric_is_the_grid_turned_and_cut(shifts: Shifts, radius: int) -> None:
    worlds = crowd(5, 200, shifts)
    sights = make_sights(200, ("egocentric", "target_egocentric"), radius=radius)
    see_many(worlds.state, sights, 0, 200)
    for i in range(200):
        pose = worlds.pose[i]
        np.testing.assert_array_equal(sights.egocentric[i], turned(worlds.grid[i], pose, radius))
        np.testing.assert_array_equal(
            sights.target_egocentric[i], turned(worlds.aligned_target(i), pose, radius)
        )
    assert len({worlds.alignment(i).rotation for i in range(200)}) == 4
    if radius == 11:
        assert sights.egocentric.any()


def test_the_target_lies_over_the_build_wherever_that_was_begun() -> None:
    """A silent builder who builds the target elsewhere, turned, sees no difference between the two."""
    target = np.zeros((9, 11, 11), np.int8)
    target[0, 3, 2:6], target[1, 3, 2] = 4, 2
    build = np.roll(np.rot90(target, 1, axes=(1, 2)), (1, -2), axis=(1, 2))
    env = gym.make("IGLUGridworldVector-v0", builder_sees=SEES, target_egocentric=True, egocentric_radius=10)
    seen, _ = env.reset(options={"task": Task("", target, starting_grid=build, invariant=True)})
    assert (seen["target_egocentric"] == seen["egocentric"]).all()
    assert (seen["egocentric"] == 4).sum() == 4


@pytest.mark.parametrize(
    ("yaw", "ahead"), [(0, (0, -2)), (40, (0, -2)), (50, (2, 0)), (180, (0, 2)), (269, (-2, 0))]
)
def test_what_lies_ahead_is_ahead(yaw: float, ahead: tuple[int, int]) -> None:
    block = (ahead[0], 1, ahead[1], 3)
    task = Task("", [(0, -1, 0, 1)], starting_grid=[block])
    env = iglu_marl.parallel_env(builder_sees=SEES, egocentric_radius=2)
    seen = env.reset(options={"task": task, "pose": Pose(0, 0, 0, yaw)})[0]["builder_0"]["egocentric"]
    assert seen.shape == (5, 5, 5)
    assert np.argwhere(seen == 3).tolist() == [[3, 2, 0]]  # one up, none to the right, two ahead
    assert (seen[0] == OUTSIDE).all()  # the ground


def test_the_ids_are_those_of_the_environment() -> None:
    task = Task("", [(0, -1, 0, 1)], starting_grid=[(0, -1, -2, 6)])  # red
    shown = {}
    for name, options in {
        "IGLUGridworldVector-v0": {},
        "IGLUGridworld-v0": {"compat": "iglu2022"},
        "IGLUSilentBuilder-v0": {},
    }.items():
        env = gym.make(name, builder_sees=("egocentric",), tasks=task.replace(ids="iglu"), **options)
        seen = env.reset()[0]["egocentric"]
        assert env.observation_space["egocentric"].contains(seen)
        shown[name] = sorted(np.unique(seen).tolist())
    assert list(shown.values()) == [[0, 6, 7], [0, 3, 7], [-1, 5, 6]]
    assert OWN.outside == OUTSIDE


@pytest.mark.parametrize("name", ["IGLUGridworld-v0", "IGLUSilentBuilder-v0"])
@pytest.mark.parametrize("compat", [None, "profile"])
def test_the_hotbar_shows_the_number_that_selects(name: str, compat: str | None) -> None:
    """In the ids of the environment's actions, whatever they are; inventory and hotbar go together."""
    profile = {"IGLUGridworld-v0": "iglu2022", "IGLUSilentBuilder-v0": "iglu2021"}[name] if compat else None
    env = gym.make(
        name,
        builder_sees=("hotbar", "inventory"),
        compat=profile,
        action_space="discrete",
        select_and_place=False,
        tasks=FEW,
    )
    env.reset(options={"task": Task("", [(5, 7, 5, 1)])})
    still = {key: np.zeros(part.shape, part.dtype) for key, part in env.action_space.spaces.items()}
    camera = np.array([60, 0] if profile == "iglu2021" else [0, -60], np.float32)  # down
    env.step({**still, "camera": camera})
    for number in range(1, 7):
        seen = env.step({**still, "hotbar": number, "use": int(number == 4)})[0]
        assert env.observation_space.contains(seen)
        assert seen["hotbar"] == [number]
    assert np.flatnonzero(seen["inventory"] < 20).tolist() == [3]


@pytest.mark.parametrize("name", ["IGLUGridworldVector-v0", "IGLUSilentBuilder-v0"])
def test_flattened_one_hot_with_a_place_for_what_is_outside(name: str) -> None:
    env = flatten(gym.make(name, builder_sees=("egocentric",), egocentric_radius=2))
    task = Task("", [(0, -1, 0, 1)], starting_grid=[(0, -1, -2, 6)])
    seen, _ = env.reset(options={"task": task})
    cells = seen.reshape(5, 5, 5, 7)
    assert env.observation_space.contains(seen)
    assert cells[1, 2, 0].tolist() == [0, 0, 0, 0, 0, 1, 0]  # red
    assert cells[0, 0, 0].tolist() == [0, 0, 0, 0, 0, 0, 1]  # the ground
    assert not cells[2, 2, 2].any()
