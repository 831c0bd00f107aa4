"""Tasks that ask for no change are refused by every way to give one; an empty target with starting blocks is a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest

import iglu_marl
from iglu_marl import Subtasks, Task, TaskError, evaluate, play
from iglu_marl.agents import ScriptedArchitect, agents_for
from iglu_marl.core.task import as_task
from iglu_marl.envs import VectorGame
from iglu_marl.evaluation import tasks_of
from iglu_marl.language.goals import GoalTask
from iglu_marl.tasks import DUMMY_TASK, BundledTasks, CustomTasks, SpawnPoses
from iglu_marl.text import TextGame

BLOCKS = [(0, -1, 0, 1), (1, -1, 0, 6), (0, 0, 0, 2)]
BUILT = Task("", BLOCKS, starting_grid=BLOCKS, task_id="built")
NOTHING = Task("", [], task_id="nothing")
HOLDS = GoalTask("There is no red block.")
DIG = Task("", [], starting_grid=BLOCKS, task_id="dig")
SEES: dict[str, Any] = {"builder_sees": ("dialog", "pose", "grid", "inventory")}
LONE = "IGLUGridworldVector-v0"

FORMS: list[Callable[[Task], Any]] = [
    lambda task: task,
    lambda task: [task],
    lambda task: CustomTasks([task]),
    lambda task: lambda: task,
    lambda task: SpawnPoses(task),
    lambda task: Subtasks([""], [task.target_grid], starting_grid=task.starting_grid),
]


def in_lone_builder(tasks: Any) -> Any:
    env: Any = gym.make(LONE)
    env.set_task_generator(tasks)
    return env.reset(seed=0)


SOURCES: list[Callable[[Any], Any]] = [
    lambda tasks: iglu_marl.env(tasks=tasks).reset(seed=0),
    lambda tasks: iglu_marl.parallel_env(tasks=tasks).reset(seed=0),
    lambda tasks: gym.make(LONE, tasks=tasks).reset(seed=0),
    lambda tasks: gym.make_vec(LONE, num_envs=2, tasks=tasks).reset(seed=0),
    lambda tasks: VectorGame(2, chat="tokens", tasks=tasks).reset(seed=0),
    lambda tasks: TextGame(tasks=tasks).reset(0),
    in_lone_builder,
]
ALONE: list[Callable[[Task], Any]] = [
    lambda task: iglu_marl.env().reset(options={"task": task}),
    lambda task: gym.make(LONE).reset(options={"task": task}),
    lambda task: gym.make_vec(LONE, num_envs=2).reset(options={"task": [DIG, task]}),
    lambda task: VectorGame(2, chat="tokens").reset(options={"task": task}),
    lambda task: TextGame().reset(0, task),
]


@pytest.mark.parametrize("task", [BUILT, NOTHING], ids=lambda task: task.task_id)
@pytest.mark.parametrize(
    ("form", "start"),
    [*((form, SOURCES[0]) for form in FORMS), *((FORMS[1], start) for start in SOURCES[1:])],
)
def test_a_source_of_complete_tasks_is_refused(form: Any, start: Any, task: Task) -> None:
    with pytest.raises(TaskError):
        start(form(task))
    start(form(DIG))


@pytest.mark.parametrize("task", [BUILT, NOTHING, HOLDS], ids=["built", "nothing", "holds"])
@pytest.mark.parametrize("start", ALONE)
def test_a_complete_task_is_refused_where_it_is_given(start: Any, task: Task) -> None:
    if task is HOLDS and start is ALONE[-1]:
        return  # a text game has no goals
    with pytest.raises(TaskError, match="complete at its start"):
        start(task)
    start(DIG)


def test_what_starts_decides_not_what_the_task_says() -> None:
    """`initialize_world` gives the starting blocks: a target that stands already, and an empty one to dig for."""
    env: Any = gym.make(LONE, tasks=[NOTHING])
    env.initialize_world(BLOCKS)
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="reset\\(\\) will refuse this: the task is complete at its start"):
        env.set_task(Task("", BLOCKS))
    env.initialize_world(BLOCKS)
    with pytest.raises(TaskError):
        env.reset(seed=0)
    many: Any = gym.make_vec(LONE, num_envs=2, tasks=[NOTHING])
    many.initialize_world(BLOCKS)
    many.reset(seed=0)


def test_a_following_turn_may_be_what_changes() -> None:
    turns: dict[str, Any] = {"starting_grid": BLOCKS, "progressive": True}
    env: Any = gym.make(LONE, tasks=Subtasks(["look", "remove it"], [BLOCKS, BLOCKS[:2]], **turns)[0])
    env.reset(seed=0)
    _, _, terminated, _, _ = env.step(0)
    assert not terminated
    assert env.task.target_size == 2
    with pytest.raises(TaskError):
        gym.make(LONE, tasks=Subtasks(["look", "look"], [BLOCKS, BLOCKS], **turns)[0]).reset(seed=0)


def test_a_goal_that_keeps_paying_may_hold_at_the_start() -> None:
    env: Any = gym.make(LONE, tasks=GoalTask("There is no red block.", terminate_on_success=False))
    env.reset(seed=0)
    assert env.step(0)[1] == 1.0


def test_tasks_of_leaves_out_what_asks_for_nothing() -> None:
    assert tasks_of([NOTHING, DIG, BUILT, DIG]) == [DIG, DIG]
    assert tasks_of(CustomTasks([NOTHING, DIG, DIG]), count=1) == [DIG]
    for tasks in (BUILT, [BUILT, NOTHING], CustomTasks([BUILT])):
        with pytest.raises(TaskError):
            tasks_of(tasks)


@pytest.mark.parametrize("options", [{}, {"completion": "cover"}, {"builders": 2}, {"controls": "flying"}])
@pytest.mark.parametrize("builder", ["scripted", "oracle"])
def test_blocks_are_dug_away(builder: str, options: dict[str, Any]) -> None:
    env = iglu_marl.env(tasks=DIG, **SEES, **options)
    played = play(env, agents_for(env, builder=builder), seed=0)
    assert played.completed
    assert not played.grid.any()


def test_digging_is_measured() -> None:
    """Three removals, each of a wrong block; after one of them, precision is 1 and recall 1/3 of the changes."""
    (row,) = evaluate(tasks=DIG, progress=False).rows
    assert (row["completed"], row["f1"], row["change_f1"], row["return"]) == (True, 1.0, 1.0, 3.0)
    (row,) = evaluate(tasks=DIG, progress=False, config={"max_steps": 1}).rows
    assert (row["completed"], row["f1"], row["change_f1"]) == (False, 0.0, 0.5)


def test_a_replay_of_a_complete_task_is_still_a_replay(tmp_path: Any) -> None:
    """Recordings of earlier versions have such games."""
    env = iglu_marl.env(tasks=NOTHING)
    env.unwrapped.setup.check = as_task
    with iglu_marl.Recorder(tmp_path / "game.jsonl") as recorder:
        recorded = recorder.wrap(env)
        recorded.reset(seed=0)
        recorded.step("Hello")
    assert iglu_marl.replay(tmp_path / "game.jsonl").task == NOTHING


def test_code_of_2022_sets_tasks_without_a_change() -> None:
    """Its evaluation subtracts the starting blocks from each target, also where nothing was built."""
    for make in (gym.make, lambda *args, **options: gym.make_vec(*args, num_envs=2, **options)):
        env: Any = make(LONE, compat="iglu2022")
        env.set_task(NOTHING)
        env.reset(seed=0)
        env.set_task_generator([NOTHING])
        with pytest.raises(TaskError):
            env.reset(seed=0)


def test_infos_have_the_instruction_beside_the_dialogue() -> None:
    """The task's; with a live architect, what it said last."""
    tasks = BundledTasks(mode="turns")
    env = gym.make("IGLUGridworldVector-v0", tasks=tasks)
    options = {"tasks": tasks, "info_keys": ("instruction",), "chat": "tokens"}
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=3, **options)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        assert info["instruction"] == env.unwrapped.task.instruction
        assert observation["dialog"].endswith(info["instruction"])
        assert env.step(0)[4]["instruction"] == info["instruction"]
        _, infos = many.reset(seed=seed)
        assert infos["instruction"].tolist() == [task.instruction for task in many.unwrapped.tasks]
    architect = ScriptedArchitect()
    live = gym.make("IGLUGridworldVector-v0", tasks=DUMMY_TASK, architect=architect)
    observation, info = live.reset(seed=0)
    assert observation["dialog"] == f"<Architect> {info['instruction']}"
    assert info["instruction"].startswith("Place")
