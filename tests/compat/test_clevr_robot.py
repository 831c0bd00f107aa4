"""CLEVR-Robot's README, run with another import, and its sentence forms."""

from __future__ import annotations

import numpy as np
import pytest

from iglu_marl import ConfigError
from iglu_marl.compat.clevr_robot import AnsweredGoals, ClevrEnv
from iglu_marl.language.goals import program_of
from iglu_marl.language.scene.graph import Scene
from iglu_marl.language.scene.interpreter import answer


def test_the_readme_of_clevr_robot() -> None:
    env = ClevrEnv()
    description, full_description = env.get_description()  # before any reset
    assert description == [one["question"] for one in full_description]
    assert not env.answer_question(env.current_goal)  # it does not hold yet
    action = env.sample_random_action()
    assert len(env.step(action)) == 4
    obs = env.reset()
    obs = env.reset(new_scene_content=True)
    _, _, _, info = env.step(action, update_des=True)
    assert info["descriptions"] == [one["question"] for one in info["full_descriptions"]]
    goal_text, goal_program = env.sample_goal()
    env.set_goal(goal_text, goal_program)
    assert (env.current_goal_text, env.current_goal) == (goal_text, goal_program)
    assert not env.answer_question(goal_program)
    assert env.answer_question("Is there a block?", True)[-1] == env.answer_question("Is there a block?")
    assert env.step(action, goal=goal_program)[1] in (0, 1)
    obs, _, _, _ = env.step(action, record_achieved_goal=True)
    assert len(env.get_achieved_goals()) == len(env.get_achieved_goal_programs())
    assert obs.keys() == env.reset().keys()


def test_an_episode_lasts_until_its_last_step_and_pays_where_the_goal_holds() -> None:
    env = ClevrEnv(maximum_episode_steps=3, action_type="perfect", reward_scale=2.0)
    env.set_goal("There is a red block on the ground.", "there is a red block on the ground")
    paid = [env.step(np.array([0, 2, 2, 6]))[1:3] for _ in range(3)]
    assert paid == [(2.0, False), (2.0, False), (2.0, True)]
    with pytest.raises(ConfigError, match="frame_skip"):
        ClevrEnv(frame_skip=3)
    with pytest.raises(ConfigError, match="atomic_goal"):
        ClevrEnv().step(env.sample_random_action(), atomic_goal=True)


def test_names_of_clevr_robot_stand_for_ours() -> None:
    for options, key in (
        ({}, "grid"),
        ({"obs_type": "order_invariant"}, "blocks"),
        ({"direct_obs": False}, "pov"),
        ({"direct_obs": False, "obs_type": "order_invariant"}, "pov"),
    ):
        env = ClevrEnv(9, **options)
        assert {"grid", "blocks", "pov"} & env.observation_space.spaces.keys() == {key}
        assert env.env.config.max_steps == 9


def test_sampled_goals_have_an_answer_and_are_false() -> None:
    """In the tool, too, a goal is a question that can be answered, and whose answer is no."""
    for seed in range(12):
        env = ClevrEnv()
        env.seed(seed)
        env.reset()
        assert env.answer_question(env.current_goal) is False
        goals = [env.sample_goal() for _ in range(40)]
        assert {env.answer_question(program) for _, program in goals} == {False}
        assert len({text for text, _ in goals}) > 10
        env.set_goal(*goals[0])
    space = AnsweredGoals(["there is a red block", "the blue block is on the red block"])
    empty = np.zeros((9, 11, 11), np.int8)
    assert space.sample(np.random.default_rng(0), empty) == space[0]  # the other has no answer there
    assert space.sample(np.random.default_rng(0)) in space


PAIRS = {
    "There is a green block; is there a red block to the left of it?": "Is there a red block left of a green block?",
    "There is a green block, are there any other red blocks left of it?": "Is there a red block left of a green block?",
    "There is a red thing; are there any green things behind it?": "Is there a green block behind a red block?",
    "There is a large red thing; is there another blue block on it?": "Is there a blue block on a red group?",
    "Are any small yellow things visible?": "Is there a yellow block?",
    "What number of red things are there?": "How many red blocks are there?",
    "There is a green block; there is a red block in front of it.": "There is a red block in front of a green block.",
}


@pytest.mark.parametrize("form", PAIRS)
def test_sentence_forms_of_clevr(form: str) -> None:
    """They have the same truth as our statements, in worlds of all kinds."""
    rng = np.random.default_rng(0)
    assert program_of(form) == program_of(PAIRS[form])
    for _ in range(30):
        grid = np.zeros((9, 11, 11), np.int8)
        cells = rng.integers(0, (2, 11, 11), (20, 3))
        grid[tuple(cells.T)] = rng.integers(1, 7, 20)
        scene = Scene(grid, 0.0)

        assert answer(program_of(form), scene) == answer(program_of(PAIRS[form]), scene)
