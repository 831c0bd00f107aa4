"""`clevr_robot_env`: `ClevrEnv`, CLEVR-Robot's calls on a builder and its blocks.

`from clevr_robot_env import ClevrEnv` becomes `from iglu_marl.compat.clevr_robot import ClevrEnv`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.compat import gym
from iglu_marl.core.errors import ConfigError
from iglu_marl.envs.language import make_language_goal
from iglu_marl.language.goals import Goal, GoalSpace, program_of
from iglu_marl.language.scene.interpreter import ProgramStep, answer

__all__ = ["ClevrEnv"]


class AnsweredGoals(GoalSpace):
    """Goals of which those are sampled that have an answer: the things that they name are there."""

    def sample(
        self, rng: np.random.Generator, grid: npt.ArrayLike | None = None, yaw_deg: float = 0.0
    ) -> Goal:
        """Return a random goal; given a grid, one that is false there, not without an answer, if there is one."""
        if grid is not None:
            found = self.programs.ask_all(np.asarray(grid)[None], yaw_deg)
            false = np.flatnonzero(found.answered[0] & (found.values[0] == 0))
            if len(false):
                return self.goals[int(false[int(rng.integers(len(false)))])]
        return super().sample(rng, grid, yaw_deg)


_answered = lru_cache(maxsize=8)(AnsweredGoals)  # compiled once


class ClevrEnv(gym.FourValueEnv):
    """`iglu_marl/LanguageGoal-v0` with CLEVR-Robot's arguments and calls; a goal is there from construction on.

    Sampled goals have an answer, and are false. An episode lasts until its last step; each step after which the goal
    holds pays `reward_scale`. resolution: side of pictures in pixels. direct_obs: False is `obs_type="image"`.
    action_type: any of our encodings; "perfect" acts on a cell directly. The other options are those of
    `make_language_goal`, with the defaults of the tool.

    Raises `ConfigError` for options of a table and its physics, which blocks do not have.
    """

    def __init__(
        self,
        maximum_episode_steps: int = 100,
        *,
        num_object: int = 5,
        description_num: int = 15,
        reward_scale: float = 1.0,
        resolution: int = 64,
        variable_scene_content: bool = False,
        direct_obs: bool = True,
        obs_type: str = "direct",
        action_type: str = "continuous",
        **options: Any,
    ) -> None:
        options |= {"num_object": num_object, "description_num": description_num}
        options |= {"variable_scene_content": variable_scene_content, "max_steps": maximum_episode_steps}
        options["obs_type"] = obs_type if direct_obs else "image"
        if options["obs_type"] == "image":
            options["pov_size"] = resolution, resolution
        options["controls"] = "cells" if action_type == "perfect" else action_type
        super().__init__(make_language_goal(**{"terminate_on_success": False, **options}))
        self.env.goals = _answered(self.env.goals.goals)
        self.reward_scale = reward_scale
        super().reset()

    current_goal_text: Any = property(lambda self: self.env.goal.text)
    current_goal: Any = property(lambda self: self.env.goal.program)

    def reset(self, new_scene_content: bool = True, **options: Any) -> Any:
        """Start an episode; by default with new objects. Return the observation."""
        return super().reset(new_scene_content=new_scene_content, **options)

    def step(
        self,
        a: Any,
        record_achieved_goal: bool = False,
        goal: Any = None,
        atomic_goal: bool = False,
        update_des: bool = False,
    ) -> tuple[Any, float, bool, dict[str, Any]]:
        """Run one step (see `LanguageGoal.step`). Return observation, reward, done, info.

        Raises `ConfigError` for `atomic_goal`, since nothing is pushed here.
        """
        if atomic_goal:
            raise ConfigError(
                "atomic_goal describes how objects were pushed; use get_achieved_goals() for what changed"
            )
        options = {"record_achieved_goal": record_achieved_goal, "update_des": update_des}
        observation, reward, terminated, truncated, info = self.env.step(a, goal=goal, **options)
        return observation, self.reward_scale * reward, terminated or truncated, info

    def answer_question(self, program: Any, all_outputs: bool = False) -> Any:
        """Return the answer to a program or a question in words; with `all_outputs`, that of each of its parts."""
        steps: list[ProgramStep] = []
        found = answer(program_of(program), self.env.scene, steps if all_outputs else None)
        return [step.value for step in steps] if all_outputs else found
