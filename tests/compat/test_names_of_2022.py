"""Names that code of 2022 uses besides its documents' examples: each works, or says what to use instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iglu_marl import ConfigError, TaskError
from iglu_marl.compat import gym
from iglu_marl.compat.gridworld import data, tasks
from iglu_marl.compat.gridworld.visualizer import Visualizer
from iglu_marl.compat.gym import wrappers
from iglu_marl.compat.gym.envs.registration import register
from iglu_marl.compat.gym.spaces import Discrete
from iglu_marl.compat.iglu.tasks import CustomTasks, RandomTasks, Task, TaskSet
from iglu_marl.data.packs.store import MissingPackError, find_pack

TWO = [(0, -1, -1, 3), (0, -1, 0, 3)]


def vector_env(**options: Any) -> Any:
    env = gym.make("IGLUGridworldVector-v0", **options)
    env.set_task(tasks.Task("<Architect> go", TWO, starting_grid=[]))
    return env


def paid(**options: Any) -> list[float]:
    env = vector_env(**options)
    env.reset()
    return [env.step(action)[1] for action in [14] * 9 + [8, 16, 6, 16]][9:]


def test_scales_switch_the_reward_by_size_off() -> None:
    assert paid(right_scale=3, wrong_scale=0.5) == [3, -3, -0.5, 0.5]
    assert paid(size_reward=False) == [1, -1, -0.1, 0.1]
    assert paid() == paid(right_placement_scale=3) == [0, 0, 0, 0]  # as in 2022: of the starting blocks alone
    with pytest.raises(ConfigError, match=r"unknown option 'max_step' \(did you mean 'max_steps'"):
        gym.make("IGLUGridworld-v0", max_step=3)


def test_wrappers_of_each_kind() -> None:
    class Stock(gym.ObservationWrapper):
        def observation(self, observation: Any) -> Any:
            return observation["inventory"]

    class Blue(gym.ActionWrapper):
        def action(self, action: Any) -> int:
            return 6

    class More(gym.RewardWrapper):
        def reward(self, reward: float) -> float:
            return reward + 10

    env = More(Blue(Stock(vector_env(size_reward=False))))
    assert env.reset().tolist() == [20] * 6
    seen, reward, done, _ = env.step(0)
    assert (seen.tolist(), reward, done) == ([20] * 6, 10, False)  # it looks ahead: nothing in reach
    assert isinstance(env, gym.Env)
    assert env.max_steps == 250


def test_wrappers_of_gymnasium_under_their_older_names() -> None:
    env = wrappers.TimeLimit(vector_env(), 3)
    env.seed(1)
    env.set_task(tasks.Task("another", TWO, starting_grid=[]))
    assert env.reset()["dialog"] == env.task.chat == "another"
    assert [env.step(0)[2] for _ in range(3)] == [False, False, True]
    assert gym.wrappers.RecordEpisodeStatistics(vector_env()).reset()["dialog"] == "<Architect> go"
    with pytest.raises(AttributeError, match="Teapot"):
        _ = wrappers.Teapot
    with pytest.raises(AttributeError, match=r"gym\.teapot is not offered"):
        _ = gym.teapot


def test_several_environments_are_made_by_other_means() -> None:
    with pytest.raises(AttributeError, match=r"gymnasium\.make_vec or iglu_marl\.envs\.vector"):
        _ = gym.vector


def test_environments_of_ones_own() -> None:
    class Counter(gym.Env):
        def __init__(self, start: int) -> None:
            self.start, self.action_space, self.observation_space = (
                start,
                Discrete(2),
                gym.spaces.Discrete(9),
            )

        def reset(self) -> int:
            return self.start

        def step(self, action: int) -> Any:
            return self.start + action, 0.0, False, {}

    register("Counter-v0", Counter, kwargs={"start": 4})
    assert gym.make("Counter-v0").reset() == 4
    gym.register(id="Short-v0", entry_point=Counter, kwargs={"start": 1}, max_episode_steps=1)
    env = gym.make("Short-v0", start=2)
    assert env.reset() == 2
    assert env.step(1)[2] is True
    gym.register("Named-v0", "iglu_marl.compat.clevr_robot:ClevrEnv", kwargs={"maximum_episode_steps": 7})
    assert gym.make("Named-v0").config.max_steps == 7


def test_scores_of_a_task(shared: Path) -> None:
    task = tasks.Task("", TWO, starting_grid=[(0, -1, -1, 3)])
    assert list(task) == [task]
    assert (task.reset() is task, len(task), task.max_int, task.prev_grid_size) == (True, 1, 1, 1)
    dense = tasks.Tasks.to_dense(TWO)
    assert task.step_intersection(dense) == (1, -1, True)
    assert task.step_intersection(dense) == (0, 0, True)
    assert task.step_intersection(np.zeros_like(dense)) == (-2, 2, False)
    assert tasks.Tasks.to_sparse(dense) == TWO
    golden = np.load(shared / "golden" / "intersection.npz")
    chosen = np.flatnonzero(golden["invariant"] & ~golden["has_full_grid"] & (golden["max_int"] > 0))[:40]
    for number in chosen:
        one = tasks.Task("", golden["target"][number])
        place = one.argmax_intersection(golden["grid"][number])
        assert place == tuple(golden["argmax"][number])


def test_turns_of_a_session() -> None:
    said = [["<Architect> a"], ["<Architect> b", "<Builder> c", "<Architect> d"]]
    session = tasks.Subtasks(said, [TWO[:1], TWO], progressive=True, session_id="1-c1")
    whole = session.create_task(-1, 1)
    assert (whole.starting_grid, whole.last_instruction) == ([], "<Architect> b\n<Builder> c\n<Architect> d")
    session.next = 0
    assert session.reset().starting_grid == TWO[:1]
    assert session.last_instruction == whole.last_instruction  # of the current turn
    assert (session.session_id, session.task_start, session.task_goal) == ("1-c1", 0, 1)
    session.set_task(0)
    assert session.step_intersection(tasks.Tasks.to_dense(TWO[:1])) == (1, -1, False)  # it continues
    assert session.task_goal == 1
    assert session.step_intersection(tasks.Tasks.to_dense(TWO))[2]
    with pytest.raises(TaskError, match="turns are 1 and 1"):
        session.create_task(1, 1)
    with pytest.raises(AttributeError):
        _ = session.teapot


def test_custom_tasks_with_options() -> None:
    source = tasks.CustomTasks([("a", TWO)], task_kwargs={"invariant": False})
    assert [task.invariant for task in source] == [False]


@pytest.mark.usefixtures("packs")
def test_arguments_of_the_datasets() -> None:
    assert len(data.SingleTurnIGLUDataset(None, {"progressive": False}, False, 1)) == 1
    singles = data.SingleTurnIGLUDataset(limit=2)
    assert singles.tasks["c7"] == singles.tasks["1-c7/step-2"]
    assert len(data.IGLUDataset("v0.1.0-rc1", {"progressive": True}, False)) == 3


@pytest.mark.usefixtures("packs")
def test_data_are_downloaded_again_if_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(name: str, *, force: bool) -> Path:
        asked.append((name, force))
        return tmp_path / "multiturn"

    monkeypatch.setattr("iglu_marl.data.packs.fetch.fetch_pack", fetch)
    assert len(data.IGLUDataset(force_download=True)) == 3
    assert asked == [("iglu-multiturn", True)]


def test_pictures_of_a_pose() -> None:
    camera = Visualizer(render_size=(64, 48))
    empty = camera.render()
    assert (empty.shape, empty.dtype) == ((48, 64, 3), np.uint8)
    camera.set_world_state([(0, -1, -2, 3)])
    camera.set_agent_state(position=(0, 0, 0), rotation=(0, -20))
    red = camera.render()
    assert red[30, 32, 0] > red[30, 32, 2] + 60  # red in the middle
    camera.set_world_state([(0, -1, -2, 3)], add=False)
    assert (camera.render() != red).any()
    assert (camera.render(position=(0, 0, 0), rotation=(0, -20), blocks=[(0, -1, -2, 3)]) == red).all()
    camera.clear()
    assert (camera.render(rotation=(0, 0)) == empty).all()


@pytest.mark.parametrize("name", ["IGLUSilentBuilder-v0", "IGLUSilentBuilderVisual-v0"])
def test_a_data_folder_that_is_not_there_yet(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IGLU_DATA_PATH", str(tmp_path / "new"))
    monkeypatch.setenv("IGLU_MARL_OFFLINE", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert gym.make(name).reset()  # the bundled tasks
    with pytest.raises(MissingPackError, match=r"IGLU_DATA_PATH names .*new, which does not exist"):
        find_pack("mdc")


def test_what_programs_of_2021_read() -> None:
    """The attributes that the wrappers of both baselines and their `test_submission.py` use."""
    env = gym.make("IGLUSilentBuilder-v0", max_steps=40)
    target = np.zeros((9, 11, 11))
    target[0, 5, 4] = 1
    env.update_taskset(CustomTasks([("<Architect> go", target)]))
    env.reset()
    assert env.tasks.current.target_grid.nonzero()[0].tolist() == [0]
    assert env.current_task.chat == "<Architect> go"
    monitor = env.task.task_monitor
    action = env.action_space.no_op()
    action["camera"][0] = 45
    assert env.unwrapped.task.task_monitor.max_int == 0
    for act in (action, {**env.action_space.noop(), "hotbar": 1}, {**env.action_space.noop(), "use": 1}):
        env.step(act)
    assert monitor.max_int == 1
    env.should_reset(True)
    assert (env.max_steps, env.action_space_type, env.resolution) == (40, "human-level", (64, 64))
    env.set_task("0")
    env.set_task(Task("<Architect> other", target))
    assert env.reset()["chat"] == "<Architect> other"
    assert env.render().shape == (64, 64, 3)
    with pytest.raises(
        AttributeError, match=r"SilentBuilder\.real_reset of the older tool is not here; use reset"
    ):
        env.real_reset  # noqa: B018
    with pytest.raises(AttributeError):
        env.teapot  # noqa: B018
    with pytest.raises(AttributeError):
        env.tasks._teapot  # noqa: B018
    visual = gym.make("IGLUSilentBuilderVisual-v0")
    visual.update_taskset(RandomTasks())
    assert sorted(visual.reset().keys() - visual.observation_space.spaces.keys()) == ["grid"]


def test_what_else_programs_import() -> None:
    from iglu_marl.compat.gridworld.control import Agent
    from iglu_marl.compat.gridworld.world import World
    from iglu_marl.compat.iglu.const import BUILD_ZONE_SIZE_X
    from iglu_marl.compat.iglu_datasets.multiturn_dataset import MultiturnDataset
    from iglu_marl.compat.iglu_datasets.task import BLUE, color_map

    assert (BUILD_ZONE_SIZE_X, color_map["blue"], Agent.__name__, World.__name__) == (
        11,
        BLUE,
        "Agent",
        "World",
    )
    assert MultiturnDataset.__name__ == "MultiturnDataset"
    for module, name, use in (
        ("iglu_datasets.common", "fix_log", "read_action_log"),
        ("gym.wrappers", "Monitor", "RecordVideo"),
        ("iglu.const", "block2id", "id2color"),
        ("iglu.env", "IGLUEnv", "IGLUSilentBuilder-v0"),
    ):
        with pytest.raises(ImportError, match=use):
            exec(f"from iglu_marl.compat.{module} import {name}", {})  # noqa: S102 (the names above)
    assert gym.make("gridworld:IGLUGridworld-v0", render=False).action_space.n == 18
    assert gym.make("IGLUSilentBuilder-v0", resolution=(96, 48)).observation_space["pov"].shape == (48, 96, 3)


def test_a_session_that_asks_for_its_end(tmp_path: Path) -> None:
    session = tasks.Subtasks([["<Architect> a"], ["<Architect> b"]], [TWO[:1], TWO])
    session.full, session.next = True, -1
    assert (session.sample().target_size, session.full_structure.sum()) == (2, 6)
    assert session.set_task_obj(tasks.DUMMY_TASK) is session.current
    with pytest.raises(AttributeError, match="progressive"):  # the sessions of now keep theirs
        session.progressive = not session.progressive
    stock, empty = RandomTasks(max_cache=2), RandomTasks()
    stock.dump(tmp_path / "tasks.npz")
    empty.load(tmp_path / "tasks.npz")  # of an instance, as in the tool
    assert [task.target_size for task in empty] == [task.target_size for task in stock]


@pytest.mark.usefixtures("packs")
def test_sources_of_2021() -> None:
    chosen = TaskSet(preset=["C1", "C2"])
    assert (chosen.task_ids, list(chosen.preset)) == (["C1", "C2"], ["C1", "C2"])
    assert chosen.set_task("C2") is chosen.current
    assert TaskSet(preset="one_task", task_id="C3").task_ids == ["C3"]
    assert TaskSet.subset(["C8"]) == {"C8": "table2 (12 blocks, 2 colors)"}
    with pytest.raises(TaskError, match="there is no task 'C9'"):
        chosen.set_task("C9")
    fixed = RandomTasks(max_cache=2)
    assert (len(fixed.preset), RandomTasks().preset) == (2, {})
    assert RandomTasks().current.target_size >= 1
    source = RandomTasks()
    assert source.sample_task() is source.current
