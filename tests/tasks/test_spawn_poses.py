"""Where episodes begin: `Task.pose`, and sources that draw it."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import Pose, PoseError, Subtasks, Task, TaskError
from iglu_marl.core.grid import MIN_X, MIN_Z, blocks_to_grid
from iglu_marl.envs import VectorGame
from iglu_marl.envs.live import LiveGame
from iglu_marl.recording.values import task_from_json, task_to_json
from iglu_marl.tasks import RandomTasks, SpawnPoses, sample_task

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


def team_starts(tasks: Any, builders: int, options: dict[str, Any]) -> list[list[list[float]]]:
    """Where the builders start in each view, in two episodes: [view][2 * builders][x, y, z, yaw, pitch]."""
    team: dict[str, Any] = {"builders": builders, "tasks": tasks, "max_steps": 1, "max_turns": None}
    seen: list[list[list[float]]] = []
    for make in (iglu_marl.env, iglu_marl.parallel_env, LiveGame):
        game = make(**team)
        game.reset(seed=3, options=options)
        poses = game.unwrapped.episode.worlds.pose.tolist()
        game.reset()
        seen.append(poses + game.unwrapped.episode.worlds.pose.tolist())
    for mode in ("NextStep", "SameStep", "Disabled"):
        games = VectorGame(1, chat="tokens", **team, autoreset_mode=mode)
        games.reset(seed=3, options=options)
        poses = games.worlds.pose.tolist()
        still = {agent: np.zeros(1, int) for agent in games.possible_agents[1:]}
        for _ in range(1 + (mode == "NextStep")):
            games.step({"architect_0": np.zeros((1, 16), int), **still})
        if mode == "Disabled":
            games.reset(options={"reset_mask": np.array([True])})
        seen.append(poses + games.worlds.pose.tolist())
    return seen


@pytest.mark.parametrize("builders", [2, 3, 16])
def test_the_builders_of_a_team_start_apart(builders: int) -> None:
    """A task's poses hold in all its episodes, those of `reset` in the episode that it starts."""
    poses = {f"builder_{k}": Pose(-4 + k / 2, 0, k % 4, 10 * k, -k) for k in range(builders)}
    apart = [list(pose) for pose in poses.values()]
    task = Task("", RED, pose=poses)
    assert team_starts([task], builders, {}) == [apart + apart] * 6
    backwards = {name: poses[name] for name in reversed(poses)}
    origin = [[0.0] * 5] * builders
    for named in (poses, backwards, {name: list(pose) for name, pose in poses.items()}):
        assert team_starts([Task("", RED)], builders, {"pose": named}) == [apart + origin] * 6
    together = [list(THERE)] * builders
    assert team_starts([task], builders, {"pose": THERE}) == [together + apart] * 6
    assert team_starts([Task("", RED, pose=THERE)], builders, {}) == [together + together] * 6
    spawned = team_starts(SpawnPoses([Task("", RED)], builders=builders), builders, {})
    assert spawned == [spawned[0]] * 6
    assert len({tuple(pose) for pose in spawned[0]}) == 2 * builders


def test_poses_of_a_team_are_part_of_a_task() -> None:
    poses = {"builder_0": THERE, "builder_1": Pose(1)}
    task = Task("", RED, pose=poses)
    assert task != Task("", RED, pose=THERE)
    turned = Task("", RED, pose=dict(reversed(poses.items())))
    assert (task, hash(task)) == (turned, hash(turned))
    assert task_from_json(json.loads(json.dumps(task_to_json(task)))).pose == task.pose == poses
    poses["builder_0"] = Pose()
    assert task.pose["builder_0"] == THERE  # type: ignore[index]


@pytest.mark.parametrize(
    ("poses", "words"),
    [
        ({"builder_0": THERE}, "pose is for builder_0, expected a pose for each of builder_0, builder_1"),
        ({"builder_0": THERE, "builder_1": THERE, "architect_0": THERE}, "architect_0"),
        ({}, "nobody"),
        ({"builder_0": THERE, "builder_1": (9, 0, 0, 0, 0)}, "builder_1: pose x is 9"),
        ({"builder_0": THERE, "builder_1": (0, -2, 0, 0, 0)}, "builder_1: pose y is -2"),
        ({"builder_0": THERE, "builder_1": [THERE, (0, 0)]}, "pose"),
        ([THERE, THERE, THERE], "pose"),
    ],
)
def test_poses_that_do_not_fit_a_team(poses: Any, words: str) -> None:
    team: dict[str, Any] = {"builders": 2, "tasks": [Task("", RED)]}
    aec, parallel, games = iglu_marl.env(**team), iglu_marl.parallel_env(**team), VectorGame(2, **team)
    for game in (aec, parallel, games):
        game.reset(seed=0, options={"pose": {"builder_0": THERE, "builder_1": Pose(1)}})
        with pytest.raises(PoseError, match=words):
            game.reset(options={"pose": poses})
        worlds = game.worlds if isinstance(game, VectorGame) else game.unwrapped.episode.worlds
        assert worlds.pose[:2].tolist() == [list(THERE), [1, 0, 0, 0, 0]], "nothing has changed"


def test_poses_by_world_and_by_builder() -> None:
    """A list has one start for each world, a dict one pose (or one for each world) for each builder."""
    games = VectorGame(2, builders=2, tasks=[Task("", RED)])
    one, two = Pose(1), Pose(2)
    for given, expected in (
        ([[one, two], [two, two]], [1, 2, 2, 2]),
        ([{"builder_0": one, "builder_1": two}, two], [1, 2, 2, 2]),
        ({"builder_0": one, "builder_1": two}, [1, 2, 1, 2]),
    ):
        games.reset(seed=0, options={"pose": given})
        assert games.worlds.pose[:, 0].tolist() == expected
    with pytest.raises(
        PoseError, match="a list of 2 poses, which could be those of the games or of the builders"
    ):
        games.reset(seed=0, options={"pose": [one, two]})
    pairs = VectorGame(2, tasks=[Task("", RED)])
    for poses in ([one, two], np.array([one, two])):
        pairs.reset(seed=0, options={"pose": poses})
        assert pairs.worlds.pose[:, 0].tolist() == [1, 2]
    games = VectorGame(3, builders=2, tasks=[Task("", RED)])
    with pytest.raises(PoseError, match="there are 2 poses, expected one, or one for each of 3 worlds"):
        games.reset(seed=0, options={"pose": [one, two]})


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


def test_no_spawn_pose_lies_inside_a_block() -> None:
    # before the legs in the west, before the head in the east
    wall = blocks_to_grid([(x, -1 if x < 0 else 0, z, 1) for x in range(-5, 6) for z in range(-5, 1)])
    task = Task("", RED, starting_grid=wall)
    rng = np.random.default_rng(0)
    poses = [SpawnPoses(task).sample(rng).pose for _ in range(100)]
    columns = [wall[:2, round(x) - MIN_X, round(z) - MIN_Z] for x, _, z, *_ in poses]  # type: ignore[misc]
    assert not any(column.any() for column in columns)
    with pytest.raises(TaskError, match="1000 poses in a row"):
        SpawnPoses(task, z=-3).sample(rng)


@pytest.mark.parametrize(
    "options",
    [
        {"x": "a"},
        {"x": (3, 1)},
        {"yaw_deg": (0, 400)},
        {"y": True},
        {"z": (1, 2, 3)},
        {"source": 5},
    ],
)
def test_ranges_that_are_none(options: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match="SpawnPoses"):
        SpawnPoses(options.pop("source", FEW), **options)
    assert sample_task(SpawnPoses(FEW), np.random.default_rng(0)).pose is not None
