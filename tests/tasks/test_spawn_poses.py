"""Where episodes begin: `Task.pose`, and sources that draw it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import Pose, PoseError, Subtasks, Task, TaskError
from iglu_marl.core.grid import MIN_X, MIN_Y, MIN_Z, blocks_to_grid
from iglu_marl.envs import VectorGame
from iglu_marl.recording.values import task_from_json, task_to_json
from iglu_marl.tasks import Curriculum, RandomTasks, SpawnPoses, sample_task

RED = [(0, -1, 0, 6)]
THERE = Pose(2.5, 0.5, -3, 90, -30)
FEW = RandomTasks(max_blocks=2, max_cache=8)


def test_a_pose_is_part_of_a_task() -> None:
    task = Task("red", RED, pose=THERE)
    assert task.pose == THERE
    assert task != task.replace(pose=None) == Task("red", RED)
    assert task.replace(pose=THERE).replace(invariant=False).pose == THERE
    assert hash(task) == hash(Task("red", RED).replace(pose=list(THERE)))
    for other in (copy.deepcopy(task), pickle.loads(pickle.dumps(task))):  # noqa: S301 (our own)
        assert other == task
        assert other.pose == THERE
    assert task_from_json(task_to_json(task)).pose == THERE
    session = Subtasks(["one", "two"], [RED, [*RED, (1, -1, 0, 6)]], progressive=True)
    moved = session[0].replace(pose=THERE)
    assert moved.next_task == session[1]


@pytest.mark.parametrize("pose", [5, (0, 0), (0, 0, 0, 0, 91), (0, 20, 0, 0, 0), ("a", 0, 0, 0, 0)])
def test_a_pose_that_is_none(pose: Any) -> None:
    with pytest.raises(TaskError, match=r"pose .*; task 'x'"):
        Task("", RED, pose=pose, task_id="x")
    with pytest.raises(TaskError, match=r"pose .*; task 'x'"):
        Task("", RED, task_id="x").replace(pose=pose)


def starts(tasks: Any, options: dict[str, Any]) -> list[list[float]]:
    """Where an episode begins in each view: x, y, z, pitch, yaw."""
    seen: list[Any] = []
    turns = iglu_marl.raw_env(tasks=tasks, builder_sees=("pose",))
    turns.reset(seed=0, options=options)
    seen.append(turns.observe("builder_0"))
    seen.append(iglu_marl.parallel_env(tasks=tasks, builder_sees=("pose",)).reset(0, options)[0]["builder_0"])
    seen.append(gym.make("IGLUGridworldVector-v0", tasks=tasks).reset(seed=0, options=options)[0])
    games = VectorGame(1, tasks=tasks, builder_sees=("pose",)).reset(0, options)[0]["builder_0"]
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=1, tasks=tasks).reset(seed=0, options=options)[0]
    seen += [{"agentPos": part["agentPos"][0]} for part in (games, many)]
    return [one["agentPos"].tolist() for one in seen]


def test_every_view_begins_there() -> None:
    task = Task("", RED, pose=THERE)
    there = [2.5, 0.5, -3, -30, 90]
    assert starts(task, {}) == [there] * 5
    assert starts(None, {"task": task}) == [there] * 5
    assert starts(task, {"pose": (1, 0, 1, 0, 0)}) == [[1, 0, 1, 0, 0]] * 5
    drawn = starts(SpawnPoses([Task("", RED)]), {})
    assert drawn == [drawn[0]] * 5
    assert drawn[0] != [0, 0, 0, 0, 0]


def test_what_the_world_was_begun_with_comes_first() -> None:
    env = gym.make("IGLUGridworldVector-v0", tasks=Task("", RED, pose=THERE))
    env.initialize_world([], (1, 0, 1, 0, 0))  # type: ignore[attr-defined]
    assert env.reset()[0]["agentPos"].tolist() == [1, 0, 1, 0, 0]


def test_a_place_below_the_world_is_none_where_one_falls() -> None:
    task = Task("", RED, pose=(0, -2, 0, 0, 0))
    for make in (gym.make, lambda name, **options: gym.make_vec(name, num_envs=2, **options)):
        with pytest.raises(PoseError, match="pose y is -2"):
            make("IGLUGridworldVector-v0", tasks=task).reset(seed=0)
        make("IGLUGridworldVector-v0", tasks=task, action_space="flying").reset(seed=0)


def test_poses_are_drawn_evenly_from_their_ranges() -> None:
    source = SpawnPoses(FEW, x=(-2, 4), y=1, z=3, yaw_deg=(90, 180), pitch_deg=(-60, 0))
    rng = np.random.default_rng(0)
    tasks = [source.sample(rng) for _ in range(400)]
    poses = np.array([task.pose for task in tasks])
    assert (poses[:, 1:3] == (1, 3)).all()
    for column, low, high in ((0, -2, 4), (3, 90, 180), (4, -60, 0)):
        numbers = poses[:, column]
        assert low <= numbers.min() < low + (high - low) / 20
        assert high - (high - low) / 20 < numbers.max() <= high
        assert abs(numbers.mean() - (low + high) / 2) < (high - low) / 10
    assert {task.replace(pose=None) for task in tasks} == set(FEW)
    again = np.random.default_rng(0)
    assert [source.sample(again) for _ in range(400)] == tasks


def test_nobody_begins_inside_a_block() -> None:
    wall = blocks_to_grid([(x, y, z, 1) for x in range(-5, 6) for z in range(-5, 1) for y in (-1, 0)])
    task = Task("", RED, starting_grid=wall)
    rng = np.random.default_rng(0)
    clear, any_place = SpawnPoses(task), SpawnPoses(task, clear=False)
    inside = []
    for source in (clear, any_place):
        poses = [source.sample(rng).pose for _ in range(100)]
        cells = [(round(y) - MIN_Y, round(x) - MIN_X, round(z) - MIN_Z) for x, y, z, *_ in poses]  # type: ignore[misc]
        inside.append(sum(bool(wall[cell]) for cell in cells))
    assert inside[0] == 0
    assert inside[1] > 20
    with pytest.raises(TaskError, match="1000 poses in a row"):
        SpawnPoses(task, z=-3).sample(rng)


def test_the_sources_within_are_saved() -> None:
    growing = Curriculum([FEW, [Task("last", RED)]], window=2)
    env = gym.make("IGLUGridworldVector-v0", tasks=SpawnPoses(growing))
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=SpawnPoses(growing))
    env.reset(seed=0)
    many.reset(seed=0)
    saved = env.get_state(), many.get_state()  # type: ignore[attr-defined]
    following = env.reset()[0]["agentPos"].tolist()
    growing.record([True, True])
    assert growing.stage == 1
    env.set_state(saved[0])  # type: ignore[attr-defined]
    assert growing.stage == 0
    assert env.reset()[0]["agentPos"].tolist() == following
    growing.record([True, True])
    many.set_state(saved[1])  # type: ignore[attr-defined]
    assert growing.stage == 0


@pytest.mark.parametrize(
    "options",
    [
        {"x": "a"},
        {"x": (3, 1)},
        {"yaw_deg": (0, 400)},
        {"y": True},
        {"z": (1, 2, 3)},
        {"clear": 1},
        {"source": 5},
    ],
)
def test_ranges_that_are_none(options: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match="SpawnPoses"):
        SpawnPoses(options.pop("source", FEW), **options)
    assert sample_task(SpawnPoses(FEW), np.random.default_rng(0)).pose is not None
