"""Live architects beside many builders: they say what they say to one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from iglu_marl import ConfigError, Task
from iglu_marl.agents.scripted.architect import ScriptedArchitect

NAME = "IGLUGridworldVector-v0"


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_live_architects_say_in_many_worlds_what_they_say_in_one(mode: AutoresetMode) -> None:
    """Of an endless source of tasks."""
    options = {"tasks": "random", "turn_steps": 5, "max_steps": 70}
    many: Any = gym.make_vec(
        NAME, num_envs=3, autoreset_mode=mode, make_architect=ScriptedArchitect, **options
    )

    def single() -> Any:
        return gym.make(NAME, architect=ScriptedArchitect(), **options)

    singles = SyncVectorEnv([single] * 3, autoreset_mode=mode)
    rng, heard = np.random.default_rng(0), set()
    ours, theirs = many.reset(seed=5)[0], singles.reset(seed=5)[0]
    for _ in range(150):
        assert set(ours) == set(theirs)
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
        heard |= set(ours["dialog"])
        actions = rng.integers(18, size=3)
        ours, *outcomes, _ = many.step(actions)
        theirs, *expected, _ = singles.step(actions)
        assert all(np.array_equal(one, other) for one, other in zip(outcomes, expected, strict=True))
    assert len(heard) >= 6


def test_architects_of_vector_environments_by_name() -> None:
    envs: Any = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=2, turn_steps=5, make_architect=ScriptedArchitect
    )
    seen, _ = envs.reset(seed=0)
    assert all(text.startswith("<Architect> ") for text in seen["dialog"])
    with pytest.raises(ConfigError, match="expected both or none"):
        gym.make_vec("IGLUGridworldVector-v0", num_envs=2, architect=ScriptedArchitect())


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_every_world_with_a_live_architect_samples_all_tasks(mode: AutoresetMode) -> None:
    """Each of 4 tasks in about a quarter of a world's 40 episodes, as far as chance goes (4 standard deviations)."""
    tasks = [Task(str(number), [(number, -1, 0, 1)]) for number in range(4)]
    envs: Any = gym.make_vec(
        "IGLUGridworldVector-v0", num_envs=2, tasks=tasks, max_steps=1, autoreset_mode=mode,
        make_architect=ScriptedArchitect,
    )  # fmt: skip
    envs.reset(seed=3)
    played = []
    for _ in range(40):
        played.append([tasks.index(task) for task in envs.tasks])
        for _ in range(2 if mode is AutoresetMode.NEXT_STEP else 1):
            envs.step(np.zeros(2, np.int64))
    for world in zip(*played, strict=True):
        counts = np.bincount(world, minlength=4)
        assert (abs(counts - 10) < 4 * np.sqrt(40 * 0.25 * 0.75)).all(), counts
    assert len({*zip(*played, strict=True)}) == 2


class Cheering(ScriptedArchitect):
    """A user's architect, which speaks every third time."""

    turns = 0

    def act(self, observation: Any) -> Any:
        self.turns += 1
        return super().act(observation) or "Go on!" * (self.turns % 3 == 0)


def test_an_architect_with_an_act_of_its_own_is_asked_each_turn() -> None:
    envs: Any = gym.make_vec("IGLUGridworldVector-v0", num_envs=1, turn_steps=2, make_architect=Cheering)
    envs.reset(seed=0)
    for _ in range(12):
        seen, *_ = envs.step(np.zeros(1, np.int64))
    assert seen["dialog"][0].count("Go on!") == 2
