"""Goals in words: the environment after CLEVR-Robot, the wrapper, and goals in the game of two."""

from __future__ import annotations

import importlib
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import reference_evaluator as witness
from gymnasium.utils.env_checker import check_env

import iglu_marl
from iglu_marl import ConfigError, LanguageError, StateError, Task
from iglu_marl.core.errors import ActionError
from iglu_marl.core.grid import blocks_to_grid
from iglu_marl.envs.language import LanguageGoal, make_language_goal
from iglu_marl.envs.registration import LANGUAGE_ID
from iglu_marl.language.goals import Goal, GoalSpace, GoalTask, GoalTasks, statement_goals

LOOK_DOWN = (0, 0, 0, 0, -60)  # at the ground in front, to the north
RED, PLACE, BREAK = 11, 17, 16
RED_BLOCK = "There is a red block."


def make(**options: Any) -> Any:
    return gym.make(LANGUAGE_ID, **options)


def empty(goal: str = RED_BLOCK, **options: Any) -> Any:
    env = make(scenes="empty", **options)
    env.reset(seed=0, options={"pose": LOOK_DOWN, "goal": goal})
    return env


@pytest.mark.slow
@pytest.mark.parametrize("obs_type", ["direct", "order_invariant", "image"])
@pytest.mark.parametrize("goal_in_obs", ["text", "tokens", None])
def test_observations_lie_in_their_space(obs_type: str, goal_in_obs: str | None) -> None:
    env = make(obs_type=obs_type, goal_in_obs=goal_in_obs)
    observation, _ = env.reset(seed=1)
    for _ in range(30):
        assert env.observation_space.contains(observation)
        assert ("goal" in observation) == (goal_in_obs is not None)
        observation, *_ = env.step(env.sample_random_action())
    keys = {"direct": "grid", "order_invariant": "blocks", "image": "pov"}
    assert [key for key in keys.values() if key in observation] == [keys[obs_type]]


# ------------------------------------------------------------------------------------------- goals and rewards


def test_blocks_as_a_set() -> None:
    env = make(obs_type="order_invariant")
    observation, _ = env.reset(seed=2)
    rows = observation["blocks"][observation["blocks"][:, 3] > 0]
    assert (blocks_to_grid(rows) == env.episode.worlds.grid[0]).all()


def test_a_goal_is_drawn_that_does_not_hold_yet() -> None:
    env = make()
    goals = set()
    for _ in range(30):
        observation, info = env.reset()
        assert info["goal"] == observation["goal"] == env.goal.text
        assert info["goal_program"] == str(env.goal.program)
        assert "target_grid" not in info
        assert env.answer_question(env.goal.program) in (False, None)
        goals.add(env.goal)
    assert len(goals) > 20


def test_the_reward_is_one_when_the_goal_holds() -> None:
    env = empty()
    assert env.step(RED)[1:4] == (0.0, False, False)
    assert env.step(PLACE)[1:4] == (1.0, True, False)
    assert env.answer_question(env.goal.program) is True
    with pytest.raises(StateError, match="over"):
        env.step(0)


def test_a_new_goal_keeps_the_world() -> None:
    env = empty()
    env.step(RED)
    env.step(PLACE)
    text, program = env.sample_goal()
    env.set_goal(text, program)
    assert (env.goal.text, env.goal.program) == (text, program)
    assert env.step(0)[1:3] == (0.0, False)
    env.set_goal("There is no red block.")
    assert env.step(BREAK)[1:3] == (1.0, True)


def test_rewards_of_any_programme_are_those_of_the_definitions() -> None:
    env = make(max_steps=None, controls="flying")
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    paid = 0
    for number in range(300):
        if number % 60 == 0:
            env.reset(new_scene_content=True)
        goal = statement_goals()[int(rng.integers(len(statement_goals())))]
        action = env.sample_random_action()
        _, reward, terminated, _, _ = env.step(action, goal=goal.program)
        grid, yaw = env.episode.worlds.grid[0], float(env.episode.worlds.pose[0, 3])
        expected = witness.evaluate(goal.program, grid, yaw) is True
        assert (reward, terminated) == (float(expected), expected)
        paid += expected
        if terminated:
            env.set_goal(*env.sample_goal())
    assert paid > 3


def test_a_goal_of_a_step_counts_for_that_step_alone() -> None:
    env = empty("There is a blue block.")
    env.step(RED)
    assert env.step(PLACE, goal=RED_BLOCK)[1:3] == (1.0, True)
    assert env.goal.text == "There is a blue block."
    env.set_goal("There is a blue block.")  # goes on
    assert env.step(0)[1:3] == (0.0, False)
    assert env.step(0, goal="exist(filter_color(scene(),red))")[1] == 1.0


def test_step_costs_and_the_limit_of_steps() -> None:
    env = empty(max_steps=4, step_cost=0.25)
    paid = [env.step(action)[1:4] for action in (RED, 0, PLACE)]
    assert paid == [(-0.25, False, False), (-0.25, False, False), (0.75, True, False)]
    env.reset(seed=0, options={"pose": LOOK_DOWN, "goal": RED_BLOCK})
    assert [env.step(0)[3] for _ in range(4)] == [False, False, False, True]


# ----------------------------------------------------------------------------------------------- achieved goals


@pytest.mark.slow
def test_achieved_goals_are_those_that_became_true() -> None:
    goals = statement_goals()
    env = empty(goals=goals, max_steps=None)
    env.set_goal("There are more green blocks than blue blocks.")
    for action, some in ((RED, None), (PLACE, RED_BLOCK), (0, None), (BREAK, "There is no red block.")):
        before = [bool(witness.evaluate(goal.program, env.episode.worlds.grid[0])) for goal in goals]
        env.step(action, record_achieved_goal=True)
        after = [bool(witness.evaluate(goal.program, env.episode.worlds.grid[0])) for goal in goals]
        became = [goal for goal, old, new in zip(goals, before, after, strict=True) if new and not old]
        assert env.get_achieved_goals() == [goal.text for goal in became]
        assert env.get_achieved_goal_programs() == [goal.program for goal in became]
        assert (some in env.get_achieved_goals()) if some else not became


def test_achieved_goals_have_to_be_recorded() -> None:
    env = empty()
    for ask in (env.get_achieved_goals, env.get_achieved_goal_programs):
        with pytest.raises(StateError, match="record_achieved_goal=True"):
            ask()
    env.step(0, record_achieved_goal=True)
    assert env.get_achieved_goals() == []
    env.step(0)
    with pytest.raises(StateError, match="not recorded"):
        env.get_achieved_goals()


# ------------------------------------------------------------------------------------------------- descriptions


def test_descriptions_are_right_and_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("iglu_marl.envs.language")
    made: list[int] = []
    describe = module.Generator.describe
    monkeypatch.setattr(module.Generator, "describe", lambda *args: made.append(1) or describe(*args))
    env = make(description_num=10)
    env.reset(seed=5)
    env.step(0)
    assert made == [], "nothing is described unless asked"
    texts, records = env.get_description()
    assert env.descriptions == texts == [record["question"] for record in env.full_descriptions]
    assert made == [1], "and once for the same world"
    grid, yaw = env.episode.worlds.grid[0], float(env.episode.worlds.pose[0, 3])
    for record in records:
        assert witness.evaluate(record["program"], grid, yaw) == record["answer"]
        assert env.answer_question(record["question"]) == record["answer"]
    assert len(records) == len(set(texts)) == 10
    _, _, _, _, info = env.step(12, update_des=True)
    assert made == [1, 1]
    assert info["descriptions"] == env.descriptions != texts
    assert info["full_descriptions"] == env.full_descriptions
    assert "descriptions" not in env.step(0)[4]


@pytest.mark.slow
def test_reading_descriptions_changes_nothing() -> None:
    one, other = make(), make()
    for env in (one, other):
        env.reset(seed=7)
    for _ in range(20):
        one.get_description()
        one.descriptions.clear()
        one.full_descriptions.clear()
        assert (a := one.sample_random_action()) == other.sample_random_action()
        assert one.step(a)[0]["goal"] == other.step(a)[0]["goal"]
    assert one.descriptions == other.descriptions
    assert one.reset()[1] == other.reset()[1]


def test_questions_can_be_descriptions() -> None:
    env = make(describe=("question", "statement"), description_num=30)
    env.reset(seed=0)
    kinds = {type(record["answer"]) for record in env.full_descriptions}
    assert {bool, int} <= kinds
    assert make(description_num=0).reset(seed=0) is not None


def test_questions_in_words() -> None:
    env = empty()
    env.step(RED)
    env.step(PLACE)
    assert env.answer_question("How many blocks are there?") == 1
    assert env.answer_question("What color is the block?") == "red"
    assert env.answer_question("What color is the tower?") is None
    assert env.answer_question("count(scene())") == 1
    with pytest.raises(LanguageError, match="unknown word: teapot"):
        env.answer_question("Is there a teapot?")


# ------------------------------------------------------------------------------------------------------- scenes


def contents(env: Any) -> list[int]:
    counts: list[int] = np.bincount(env.episode.worlds.grid[0].ravel(), minlength=7)[1:].tolist()
    return counts


def test_resets_place_the_same_things_again() -> None:
    env = make()
    env.reset(seed=1)
    grids, counts = [env.episode.worlds.grid[0].copy()], {tuple(contents(env))}
    for _ in range(6):
        env.reset()
        grids.append(env.episode.worlds.grid[0].copy())
        counts.add(tuple(contents(env)))
    assert len({grid.tobytes() for grid in grids}) == 7
    assert len(counts) == 1
    new = set()
    for number in range(6):
        env.reset(**({"new_scene_content": True} if number % 2 else {"options": {"new_scene_content": True}}))
        new.add(tuple(contents(env)))
    assert len(new) > 3


def test_scenes_from_elsewhere() -> None:
    task = Task("", [(0, -1, 0, 3)], starting_grid=[(1, -1, 1, 2), (3, -1, 3, 5)])
    env = make(scenes=[task])
    env.reset(seed=0)
    assert (env.episode.worlds.grid[0] == task.start_grid).all()
    env.reset(options={"task": Task("", [(0, -1, 0, 3)], starting_grid=[(2, -1, 2, 1)])})
    assert contents(env) == [1, 0, 0, 0, 0, 0]
    env.reset(options={"task": GoalTask(RED_BLOCK)})
    assert env.goal.text == RED_BLOCK


# ------------------------------------------------------------------------------------ CLEVR-Robot's switches


SWITCHES: dict[str, dict[str, Any]] = {
    "terminate_on_success": {"terminate_on_success": False},
    "pictures": {"obs_type": "image"},
    "num_object": {"num_object": 5},
    "variable_scene_content": {"variable_scene_content": False},
    "systematic_generalization": {"systematic_generalization": True},
    "cells": {"controls": "cells"},
    "multi-hot": {"goal_in_obs": "multi-hot"},
    "tokens, blocks as a set": {"goal_in_obs": "tokens", "obs_type": "order_invariant"},
    "no goal in observations": {"goal_in_obs": None},
}
switches = pytest.mark.parametrize("options", SWITCHES.values(), ids=SWITCHES)


@switches
def test_gymnasium_is_content_with_each_switch(options: dict[str, Any]) -> None:
    check_env(make(**options), skip_render_check=True)


def test_without_an_end_a_goal_that_holds_pays_at_each_step() -> None:
    env = empty(terminate_on_success=False, max_steps=6)
    steps = [env.step(action)[1:4] for action in (RED, PLACE, 0, BREAK, PLACE)]
    assert steps == [(float(holds), False, False) for holds in (0, 1, 1, 0, 1)]
    env.set_goal("There is a block.")  # which holds already
    assert env.step(0)[1:4] == (1.0, False, True)
    env.reset(options={"pose": LOOK_DOWN, "task": GoalTask("There is no red block.")})
    assert env.step(0, goal="There are no blocks.")[1:3] == (1.0, False)
    assert env.step(0)[1:3] == (1.0, False), "also of a task from elsewhere"


@pytest.mark.parametrize("count", [1, 5, 20])
def test_as_many_objects_are_placed_as_asked_for(count: int) -> None:
    env = make(num_object=count)
    found = set()
    for seed in range(20):
        env.reset(seed=seed)
        pieces = env.get_state().pieces
        assert len(pieces) == count
        assert sum(piece.blocks for piece in pieces) == sum(contents(env))
        found.add(pieces)
    assert len(found) > 10


def test_scene_content_can_be_the_same_everywhere() -> None:
    """CLEVR-Robot's default: `new_scene_content` "has no effect otherwise"; where things lie is random."""
    grids, counts = set(), set()
    for seed in range(3):
        env = make(variable_scene_content=False)
        for options in ({"seed": seed}, {}, {"new_scene_content": True}):
            env.reset(**options)
            grids.add(env.episode.worlds.grid[0].tobytes())
            counts.add(tuple(contents(env)))
            assert len(env.get_state().pieces) == 5
    assert len(grids) == 9
    assert len(counts) == 1
    assert len(make(variable_scene_content=False, num_object=3).reset(seed=0)) == 2


def test_systematic_generalization_keeps_combinations_from_training() -> None:
    """Nothing that is drawn or recorded names a held-out pair; together the two sides are all goals."""
    env = make(systematic_generalization=True, controls="cells", terminate_on_success=False)
    held = set(env.held_out_goals)
    assert held.isdisjoint(env.goals)
    assert held | set(env.goals) == set(statement_goals())
    blue = [goal.text for goal in held if goal.text == "There is a blue block."]
    assert blue, "every goal with a blue block is held out"
    env.reset(seed=0)
    for number in range(40):
        if number % 5 == 0:
            env.reset()
            assert env.goal not in held
        assert env.sample_goal()[0] not in {goal.text for goal in held}
        env.step((0, number % 11, 1, 1 + number % 6), record_achieved_goal=True)
        assert held.isdisjoint(map(Goal, env.get_achieved_goals(), env.get_achieved_goal_programs()))
    assert make().held_out_goals is None
    test = make(goals=env.held_out_goals)
    test.reset(seed=0)
    assert test.goal in held


def test_acting_on_a_cell_directly() -> None:
    env = make(scenes="empty", controls="cells", terminate_on_success=False)
    env.reset(seed=0, options={"goal": "There is a red block on a blue block."})
    red, blue = 6, 1
    for action, event, paid in (
        ((0, 2, 3, blue), "placed", 0.0),
        ((1, 2, 3, red), "placed", 1.0),
        ((1, 2, 3, 2), "placed", 0.0),  # in place of the red one
        ((1, 2, 3, red), "placed", 1.0),
        ((0, 2, 3, 0), "removed", 0.0),
        ((5, 5, 8, red), "place: nothing in reach", 0.0),  # in the air
        ((8, 9, 9, 0), "remove: nothing in reach", 0.0),
        ((0, 5, 5, red), "place: builder in the way", 0.0),
        ((1, 2, 3, red), "nothing", 0.0),
    ):
        pose = env.episode.worlds.pose[0].copy()
        _, reward, _, _, info = env.step(np.array(action))
        assert (info["event"], reward) == (event, paid)
        assert (env.episode.worlds.pose[0, [0, 2, 3, 4]] == pose[[0, 2, 3, 4]]).all()
    grid = np.zeros((9, 11, 11), np.int8)
    grid[1, 2, 3] = red
    assert (env.episode.worlds.grid[0] == grid).all()
    for wrong in (3, (0, 0, 0), (9, 0, 0, 1), (0, 0, 0, 7), (0, 0, 0, -1), (0.0, 0.0, 0.0, 1.0), "red"):
        with pytest.raises(ActionError, match=r"four integers \(y, x, z, color\) below \(9, 11, 11, 7\)"):
            env.step(wrong)
    assert (env.episode.worlds.grid[0] == grid).all()


def test_unwrapped_has_the_goal_api() -> None:
    env = gym.wrappers.TimeLimit(make(), 50)
    env.reset(seed=0)
    inner = env.unwrapped
    assert isinstance(inner, LanguageGoal)
    assert inner.spec is not None
    assert inner.spec.id == LANGUAGE_ID
    inner.set_goal(*inner.sample_goal())
    assert inner.answer_question(inner.goal.program) in (False, None)
    env.step(inner.sample_random_action())
    assert (inner.config, inner.task) == (inner.setup.config, inner.episode.task)
    env.close()


# ------------------------------------------------------------------------------------------------- as a GoalEnv


SMALL = GoalSpace(
    [RED_BLOCK, "There is a blue block.", "There are no blocks.", "There is a block on a block."]
)


@pytest.mark.parametrize("step_cost", [0.0, 0.25])
def test_compute_reward_agrees_with_step(step_cost: float) -> None:
    env = make(
        goals=SMALL,
        goal_in_obs="multi-hot",
        controls="cells",
        terminate_on_success=False,
        step_cost=step_cost,
    )
    rng, told = np.random.default_rng(0), []
    env.reset(seed=0)
    for number in range(120):
        if number % 20 == 0:
            env.reset()
        action = (*rng.integers(0, (2, 4, 4)), int(rng.choice((0, 1, 6))))
        observation, reward, _, _, info = env.step(action)
        achieved, desired = observation["achieved_goal"], observation["desired_goal"]
        assert env.observation_space.contains(observation)
        assert env.compute_reward(achieved, desired, info) == reward
        assert desired.tolist() == [goal == env.goal for goal in SMALL]
        assert achieved.tolist() == [goal.holds(env.scene) for goal in SMALL]
        told.append((achieved, desired, reward))
    achieved, desired, rewards = (np.array(column) for column in zip(*told, strict=True))
    many = env.compute_reward(achieved, desired, [{}] * len(told))
    assert many.dtype == np.float64
    assert (many == rewards).all()
    assert len(set(rewards)) == 2


def test_goals_put_in_place_of_the_desired_one() -> None:
    """As learning from hindsight does: what was achieved counts as desired, and as a goal of its own."""
    env = make(goals=SMALL, scenes="empty", goal_in_obs="multi-hot")
    env.reset(seed=0, options={"pose": LOOK_DOWN, "goal": "There is a blue block."})
    env.step(RED)
    seen = env.step(PLACE, record_achieved_goal=True)[0]
    red = env.goals.multi_hot(*env.get_achieved_goals())
    assert red.tolist() == [1, 0, 0, 0]
    assert (env.goals.holding(env.scene.grid) == seen["achieved_goal"]).all()
    for desired, paid in ((seen["desired_goal"], 0.0), (red, 1.0), (seen["achieved_goal"], 1.0)):
        assert env.compute_reward(seen["achieved_goal"], desired) == paid
    assert env.compute_reward(seen["achieved_goal"], np.zeros(4)) == 0.0, "nothing is asked"
    assert env.compute_reward(seen["achieved_goal"], np.ones(4)) == 0.0, "all of them are"
    for wrong in (np.zeros(3), np.zeros((1, 4)), 1):
        with pytest.raises(LanguageError, match=r"expected \[4\] or \[n, 4\] of both"):
            env.compute_reward(seen["achieved_goal"], wrong)


def test_a_goal_outside_the_space_cannot_be_shown_as_a_vector() -> None:
    env = make(goals=SMALL, scenes="empty", goal_in_obs="multi-hot")
    env.reset(seed=0)
    before = env.goal
    with pytest.raises(LanguageError, match="not in this space of 4 goals"):
        env.set_goal("There is a green block.")
    assert env.goal is before
    env.set_goal("there is a RED block!")  # by another wording
    assert env.step(0)[0]["desired_goal"].tolist() == [1, 0, 0, 0]


# ----------------------------------------------------------------------------------------------------- the rest


def test_wrong_arguments_are_refused() -> None:
    for options, message in (
        ({"obs_type": "smell"}, "obs_type is 'smell', expected one of direct"),
        ({"description_num": -1}, "description_num is -1"),
        ({"describe": "poem"}, "kinds holds 'poem'"),
        ({"goals": []}, "goals is"),
        ({"tasks": []}, r"tasks is \[\], .* use scenes"),
        ({"terminate_on_success": 0}, "terminate_on_success is 0, expected True or False"),
        ({"num_object": 0}, r"num_object is 0, expected None or an integer in 1..20"),
        ({"num_object": 5, "scenes": "empty"}, "num_object and variable_scene_content define the worlds"),
        ({"variable_scene_content": False, "scenes": "empty"}, "and so does scenes"),
        ({"controls": "telepathy"}, "controls is 'telepathy'"),
        (
            {"goals": GoalSpace(["All blocks are green."]), "systematic_generalization": True},
            "one side empty",
        ),
    ):
        with pytest.raises((ConfigError, LanguageError), match=message):
            make_language_goal(**options)
    env = make()
    for early in (
        lambda: env.goal,
        lambda: env.scene,
        env.get_description,
        env.sample_goal,
        lambda: env.step(0),
    ):
        with pytest.raises(StateError):
            early()
    env.reset(seed=0)
    for wrong in ("How many blocks are there?", "count(scene())", 3):
        with pytest.raises(LanguageError):
            env.set_goal(wrong)
        with pytest.raises(LanguageError):
            env.step(0, goal=wrong)
    assert env.step(0)[1] == 0.0, "a refused goal changes nothing"
    with pytest.raises(StateError, match="expected a LanguageState"):
        env.set_state(env.get_state().inner)


def test_the_wrapper_takes_any_single_agent_environment() -> None:
    env = LanguageGoal(gym.make("IGLUGridworldVector-v0", action_space="flying"), scenes="empty")
    observation, _ = env.reset(seed=0, options={"goal": RED_BLOCK})
    assert observation.keys() == {"agentPos", "compass", "dialog", "grid", "inventory", "goal"}
    assert env.observation_space.contains(observation)
    down = {"movement": np.zeros(3, np.float32), "camera": np.array([0, -5], np.float32)}
    still = {**down, "inventory": 6, "placement": 0}
    for _ in range(12):
        env.step(still)
    assert env.step({**still, "placement": 1})[1:3] == (1.0, True)
    with pytest.raises(ConfigError, match="expected a single-agent environment"):
        LanguageGoal(gym.make("CartPole-v1"))
    for options in ({"shaping": True}, {"right_scale": 3.0}, {"sparse_reward": True}):
        with pytest.raises(ConfigError, match=f"{next(iter(options))} is .* use terminate_on_success"):
            LanguageGoal(gym.make("IGLUGridworldVector-v0", **options))


# ---------------------------------------------------------------------------------------------- the game of two


@pytest.mark.parametrize("chat", ["text", "tokens"])
def test_the_architect_sees_a_goal_and_both_are_paid_for_it(chat: str) -> None:
    tasks = GoalTasks(GoalSpace([RED_BLOCK]))
    sees = ("goal", "goal_program", "grid", "dialog", "pose")
    env = iglu_marl.raw_env(tasks=tasks, architect_sees=sees, chat=chat, turn_steps=5)
    env.reset(seed=0, options={"pose": LOOK_DOWN})
    seen = env.observe("architect_0")
    assert env.observation_space("architect_0").contains(seen)
    assert seen["goal_program"] == "exist(filter_color(filter_shape(scene(),block),red))"
    if chat == "text":
        assert seen["goal"] == RED_BLOCK
        env.step(seen["goal"])
    else:
        codec = env.episode.chat.codec
        assert codec.decode(seen["goal"]) == "there is a red block"
        env.step(codec.encode("there is a red block") + [0] * 11)
    assert "goal" not in env.observe("builder_0")
    env.step(0)  # an empty target would be complete here
    assert not env.terminations["builder_0"]
    env.step(RED)
    env.step(PLACE)
    assert env.rewards == {"architect_0": 1.0, "builder_0": 1.0}
    assert env.terminations == {"architect_0": True, "builder_0": True}


def test_goals_in_the_parallel_game_and_saved_states() -> None:
    env = iglu_marl.parallel_env(tasks=GoalTask(RED_BLOCK), architect_sees=("goal",))
    observations, _ = env.reset(seed=0, options={"pose": LOOK_DOWN})
    assert observations["architect_0"] == {"goal": RED_BLOCK}
    env.step({"architect_0": "Red!", "builder_0": RED})
    state = env.get_state()
    other = iglu_marl.parallel_env(architect_sees=("goal",))
    other.reset(seed=1)
    other.set_state(state)
    for game in (env, other):
        _, rewards, terminated, _, _ = game.step({"architect_0": "", "builder_0": PLACE})
        assert rewards == {"architect_0": 1.0, "builder_0": 1.0}
        assert all(terminated.values())


def test_a_game_may_continue_once_its_goal_holds() -> None:
    """In every view: each step after which it holds is paid."""
    tasks = GoalTasks(GoalSpace([RED_BLOCK]), terminate_on_success=False)
    pair = iglu_marl.parallel_env(tasks=tasks)
    many = gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=tasks)
    pair.reset(seed=0, options={"pose": LOOK_DOWN})
    many.reset(seed=0, options={"pose": LOOK_DOWN})
    for action, paid in ((RED, 0.0), (PLACE, 1.0), (0, 1.0), (BREAK, 0.0)):
        _, rewards, terminated, _, _ = pair.step({"architect_0": "", "builder_0": action})
        assert (set(rewards.values()), any(terminated.values())) == ({paid}, False)
        _, rewards, terminated, _, _ = many.step(np.full(2, action))
        assert (rewards.tolist(), terminated.any()) == ([paid] * 2, False)


def test_without_a_goal_there_is_none() -> None:
    env = iglu_marl.raw_env(architect_sees=("target_grid", "goal", "goal_program"))
    env.reset(seed=0)
    assert env.observe("architect_0")["goal"] == env.observe("architect_0")["goal_program"] == ""
    assert env.episode.objective is None
