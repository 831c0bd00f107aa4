"""`gridworld.env.GridWorld`: the order of events, attributes and pictures of the tool of 2022."""

from __future__ import annotations

import copy
import gzip
import importlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import ROOT

from benchmarks.conformance import sequences
from iglu_marl import ConfigError, GridError, PoseError, TaskError
from iglu_marl.compat import gym
from iglu_marl.compat.gridworld.env import GridWorld, SizeReward, Wrapper, create_env
from iglu_marl.compat.gridworld.tasks import DUMMY_TASK, CustomTasks, RandomTasks, Task
from iglu_marl.core import task as own

RECORDED = json.loads(gzip.decompress((ROOT / "tests/golden/sequences.json.gz").read_bytes()))
BLUE, GREEN = (0, -1, -1, 1), (1, -1, 1, 2)


def world(**options: Any) -> GridWorld:
    return GridWorld(**{"render": False, "discretize": True, "select_and_place": True, **options})


def played(**options: Any) -> GridWorld:
    env = world(**options)
    env.set_task(Task("a", [BLUE, (1, -1, -1, 1)], starting_grid=[]))
    return env


def place(env: Any, color: int = 6) -> list[float]:
    return [env.step(action)[1] for action in [14] * 9 + [color]]


# --- the order of events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(0, len(RECORDED), 50))
def test_programs_of_calls_give_what_they_gave_in_the_tool(first: int) -> None:
    """Recorded in a checkout by `benchmarks/conformance/sequences.py 1000 300 CHECKOUT`."""
    side = sequences.Side(None)
    for recorded in RECORDED[first : first + 50]:
        states = json.loads(json.dumps(side.run(sequences.program(recorded["seed"]))))
        for number, (theirs, ours) in enumerate(zip(recorded["states"], states, strict=True)):
            assert sequences.is_close(theirs, ours), (recorded["seed"], number)


def test_the_recorded_programs_place_blocks_and_end() -> None:
    steps = [step for one in RECORDED for state in one["states"] for step in state["rewards"]]
    assert (len(RECORDED), len(steps)) == (300, 11054)
    assert sum(reward != 0 for reward, _ in steps) == 607
    assert sum(done for _, done in steps) == 73


@pytest.mark.skipif("IGLU_MARL_CHECKOUTS" not in os.environ, reason="no checkouts of the tools")
def test_other_programs_in_a_checkout() -> None:
    python = os.environ.get("IGLU_MARL_TOOLS_PYTHON", sys.executable)
    checkout = Path(os.environ["IGLU_MARL_CHECKOUTS"], "gridworld")
    words = [python, sequences.__file__, "5000", "300", str(checkout)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": ""}
    )
    side = sequences.Side(None)
    for theirs in json.loads(done.stdout.splitlines()[-1]):
        ours = json.loads(json.dumps(side.run(sequences.program(theirs["seed"]))))
        assert sequences.is_close(theirs["states"], ours), theirs["seed"]


def test_a_generator_goes_before_a_task() -> None:
    env = world()
    env.set_task_generator(CustomTasks([("<Architect> drawn", [BLUE])]))
    assert env.task.chat == "<Architect> drawn"
    with pytest.warns(UserWarning, match="set_task has no effect"):
        env.set_task(Task("mine", [BLUE]))
    assert env.reset()["dialog"] == "<Architect> drawn"
    env.set_task_generator(None)
    assert env.task.chat == "<Architect> drawn"
    env.set_task(Task("mine", [BLUE]))
    assert env.task.chat == "mine"


def test_without_a_task() -> None:
    for call in (
        lambda e: e.reset(),
        lambda e: e.step(0),
        lambda e: e.task,
        lambda e: e.deinitialize_world(),
    ):
        with pytest.raises(TaskError, match="there is no task yet"):
            call(world())
    with pytest.raises(TaskError, match="expected a Task or Subtasks"):
        world().set_task(3)


def test_other_sources_and_tasks_of_ours() -> None:
    env = world()
    env.set_task(own.Task("<Architect> red", [(0, -1, 0, 6)], ids="iglu"))  # red, which is 3 in 2022
    assert env.task.target_grid[0, 5, 5] == 3
    env.set_task(own.Subtasks(["one", "two"], [[BLUE], [BLUE, GREEN]], ids="iglu2022"))
    assert "one" in env.task.chat


def test_random_tasks_are_reproducible_by_the_seed_of_the_environment() -> None:
    found = []
    for _ in range(2):
        env = world()
        env.seed(11)
        env.set_task_generator(RandomTasks())
        found.append([env.reset() is not None and env.task.target_grid.tobytes() for _ in range(4)])
    assert found[0] == found[1]
    assert len(set(found[0])) > 1


# --- attributes --------------------------------------------------------------------------------------------------


def test_what_is_assigned_acts() -> None:
    env = played()
    env.max_steps, env.right_placement_scale, env.initial_position = 10, 7, (3, 0, 3)
    assert place(env)[-1] == 7
    assert env.step_no == 10
    env.reset()
    assert env.agent.position == (3, 0, 3)
    assert [env.step(0)[2] for _ in range(12)].index(True) == 9  # and one may go on
    env.agent.position, env.agent.rotation, env.agent.inventory[0] = (0, 3, 0), (10, 20), 5
    seen = env.step(0)[0]
    assert seen["agentPos"][3:].tolist() == [20, 10]
    assert seen["inventory"][0] == 5
    env.agent.inventory, env.agent.dy, env.agent.time_int_steps, env.agent.active_block = [9] * 6, 0, 2, 4
    assert (env.agent.inventory.tolist(), env.agent.dy, env.agent.time_int_steps, env.agent.active_block) == (
        [9] * 6, 0, 2, 4,
    )  # fmt: skip
    env.grid = np.full((9, 11, 11), 2)
    assert (env.grid == 2).all()
    with pytest.raises(ValueError, match="read-only"):
        env.grid[0] = 1
    with pytest.raises(AttributeError):
        env.task = DUMMY_TASK
    env.mine = 3  # a subclass's own
    with pytest.raises(AttributeError):
        env.agent.mine = 3


def test_encodings_can_be_changed() -> None:
    env = played(action_space="flying", select_and_place=False)
    assert (env.agent.flying, env.action_space_type) == (True, "flying")
    env.action_space_type, env.discretize, env.target_in_obs, env.vector_state = "walking", True, True, False
    assert sorted(env.step(14)[0]) == ["compass", "dialog", "inventory", "target_grid"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("_add_block", r"GridWorld\.world\.add_block"),
        ("teapot", "has no attribute 'teapot'"),
    ],
)
def test_what_is_missing_says_what_to_use(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(world(), name)
    for part in (world().agent, world().world):
        with pytest.raises(AttributeError):
            getattr(part, name)


def test_blocks_of_the_world() -> None:
    env = played()
    env.world.add_block((1, -1, 1), 2)
    assert env.grid[0, 6, 6] == 2
    assert env.step(0)[1] == pytest.approx(-0.1)
    assert env.world.placed == {(1, -1, 1)}
    env.world.remove_block((1, -1, 1))
    assert env.step(0)[1] == pytest.approx(0.1)
    assert env.agent.inventory.tolist() == [20] * 6
    with pytest.raises(GridError, match="the block is"):
        env.world.add_block((9, -1, 0), 1)
    with pytest.raises(GridError, match="there is no block"):
        env.world.remove_block((0, 0, 0))
    with pytest.raises(
        AttributeError, match=r"World\.step of the older tool is not here; use GridWorld\.step"
    ):
        env.world.step  # noqa: B018
    with pytest.raises(ConfigError, match="active_block is 7"):
        env.agent.active_block = 7
    for pose in ((1, 0, 1), (0, 0, 0, float("nan"), 0), "north"):
        with pytest.raises(PoseError):
            env.initialize_world([], pose)


def test_subclasses_that_call_super() -> None:
    class Mine(GridWorld):
        def set_task_generator(self, generator: Any) -> None:
            super().set_task_generator(generator)

        def initialize_world(self, grid: Any, pose: Any) -> None:
            super().initialize_world(grid, pose)

        def reset(self) -> Any:
            self.resets = getattr(self, "resets", 0) + 1
            return super().reset()

    env = Mine(render=False, discretize=True)
    env.set_task(Task("a", [BLUE]))
    env.set_task_generator(None)
    env.initialize_world([], (0, 0, 0, 0, 0))
    assert env.resets == 3


def test_copies_go_their_own_way() -> None:
    env = played()
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):  # noqa: S301 (our own)
        place(other)
        assert (len(other.world.placed), other.agent.position) == (1, (0, -0.25, 0))
        assert env.world.placed == set()


def test_the_reward_by_size_is_that_of_the_tool() -> None:
    """`max_int` is that of the last reset, so that the first step alone pays."""
    env = create_env(render=False)
    env.set_task(Task("a", [BLUE, GREEN], starting_grid=[BLUE]))
    env.reset()
    assert (env.unwrapped.max_int, isinstance(env, SizeReward), isinstance(env, Wrapper)) == (1, True, True)
    assert [*place(env)[:2], place(env)[-1]] == [1, 0, 0]


# --- pictures ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [GridWorld, create_env, lambda **options: gym.make("IGLUGridworld-v0", **options)]
)
def test_pictures_have_the_size_and_the_channels_of_the_tool(make: Any) -> None:
    env = make(render_size=(160, 90))
    env.set_task(DUMMY_TASK)
    seen = env.reset()
    assert seen["pov"].shape == env.observation_space["pov"].shape == (90, 160, 3)
    for picture in (env.render(), env.unwrapped.render(), env.render(mode="rgb_array")):
        assert picture.shape == (90, 160, 4)
        assert (picture[..., :-1] == seen["pov"]).all()
        assert (picture[..., 3] == 255).all()
    assert seen["pov"][0, 0].tolist() == [128, 176, 255]  # the sky
    film = gym.wrappers.RecordEpisodeStatistics(env)
    assert film.env.env.render().shape == (90, 160, 3)


def test_the_renderer_can_be_switched_on() -> None:
    env = played()
    assert "pov" not in env.reset()
    assert (env.do_render, env.renderer) == (False, None)
    env.enable_renderer()
    assert env.reset()["pov"].shape == (64, 64, 3)


# --- modules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("data.iglu_dataset", "IGLUDataset SingleTurnIGLUDataset Task Tasks Subtasks"),
        ("data.cdm_dataset", "CDMDataset"),
        ("tasks.task_set", "RandomTasks CustomTasks DUMMY_TASK"),
        ("core.world", "World Agent"),
        ("env", "GridWorld SizeReward Wrapper String create_env Task Tasks"),
    ],
)
def test_modules_of_the_tool(module: str, names: str) -> None:
    found = importlib.import_module(f"iglu_marl.compat.gridworld.{module}")
    assert [hasattr(found, name) for name in names.split()] == [True] * len(names.split())


@pytest.mark.parametrize("module", ["render", "view", "viewer", "utils", "wrappers", "data.load"])
def test_modules_that_say_what_to_use(module: str) -> None:
    found = importlib.import_module(f"iglu_marl.compat.gridworld.{module}")
    name = {"render": "Renderer", "utils": "tex_coords", "wrappers": "Actions", "data.load": "download"}
    with pytest.raises(ImportError, match="is not here; use"):
        exec(f"from iglu_marl.compat.gridworld.{module} import {name.get(module, 'Viewer')}")  # noqa: S102
    assert not hasattr(found, "teapot")
    with pytest.raises(ImportError, match="coordinates of the zone"):
        exec("from iglu_marl.compat.gridworld.data.iglu_dataset import fix_xyz")  # noqa: S102
