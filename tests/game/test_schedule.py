"""Scales by a schedule: the clock, the value of an episode, and what is saved of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from probing import LONE_VIEWS, PAIR_VIEWS, driven

from iglu_marl import ConfigError, Pose, Recorder, Schedule, StateError, Task
from iglu_marl.recording import read_recording, replay

# Any block is a wrong one; the builder looks at the floor.
TASK = Task("", [(4, 0, 4, 1)], invariant=False, pose=Pose(0, -0.25, 0, 0, -50))
PLACE, WAIT = 17, 0
RISING = Schedule(((0, 0), (4, 2)))
OPTIONS: dict[str, Any] = {"tasks": TASK, "max_steps": 2, "wrong_scale": RISING}


def test_a_schedule_is_linear_between_its_points() -> None:
    schedule = Schedule(((10, 1), (20, 3)), "episodes")
    assert schedule.value([0, 10, 15, 20, 99]).tolist() == [1, 1, 2, 3, 3]
    assert Schedule([(0, 1)]) == Schedule(((0.0, 1.0),))  # type: ignore[arg-type]
    assert hash(Schedule(((0, 1),))) == hash(Schedule(((0, 1),)))


@pytest.mark.parametrize(
    ("points", "unit"),
    [
        ((), "steps"),
        (((0, 1), (0, 2)), "steps"),
        (((5, 1), (0, 2)), "steps"),
        (((0, -1),), "steps"),
        (((0, np.nan),), "steps"),
        (5, "steps"),
        (((0, 1, 2),), "steps"),
        (((0, 1),), "days"),
    ],
)
def test_what_is_no_schedule(points: Any, unit: Any) -> None:
    with pytest.raises(ConfigError, match="of a Schedule"):
        Schedule(points, unit)


def costs(env: Any, episodes: int, **reset: Any) -> list[float]:
    """What a wrong block costs in each episode."""
    paid = []
    for _ in range(episodes):
        env.reset(**reset)
        paid.append(-env.step(PLACE)[1])
        env.step(WAIT)
    return paid


def test_the_price_rises_from_episode_to_episode_and_stays_within_one() -> None:
    assert costs(gym.make("IGLUGridworldVector-v0", **OPTIONS), 4) == [0, 1, 2, 2]
    assert costs(gym.make("IGLUGridworldVector-v0", **OPTIONS), 4, seed=1) == [
        0,
        1,
        2,
        2,
    ]  # goes on over seeds
    by_episodes = {**OPTIONS, "wrong_scale": Schedule(((0, 4), (2, 0)), "episodes")}
    assert costs(gym.make("IGLUGridworldVector-v0", **by_episodes), 4) == [4, 2, 0, 0]
    env = gym.make("IGLUGridworldVector-v0", **{**OPTIONS, "max_steps": 6})
    env.reset()
    assert [-env.step(action)[1] for action in (PLACE, 16, PLACE, 16, PLACE)] == [0] * 5
    env.reset()
    assert -env.step(PLACE)[1] == 2
    env.reset()
    env.reset()  # an episode without a step is none
    assert env.get_state().clock.tolist() == [[6], [2]]  # type: ignore[attr-defined]


SHAPED: dict[str, Any] = {  # a turn towards the block is paid 5 / 90 of the scale
    "tasks": Task("", [(5, -1, 0, 1)], invariant=False, pose=Pose(0, -0.25, 0, 0, 0)),
    "max_steps": 2, "shaping": {"yaw": 1}, "shaping_scale": Schedule(((0, 1), (4, 0))),
}  # fmt: skip


@pytest.mark.parametrize("view", [*LONE_VIEWS, *PAIR_VIEWS])
@pytest.mark.parametrize(
    ("options", "action", "expected"), [(OPTIONS, PLACE, [0, -1, -2]), (SHAPED, 13, [5 / 90, 2.5 / 90, 0])]
)
def test_every_view_goes_by_its_clock(view: str, options: Any, action: int, expected: list[float]) -> None:
    env, act = driven(view, {}, **options)
    paid = []
    for _ in range(3):
        paid.append(act(action)[1]["builder_0"])
        assert act(action if options is SHAPED else WAIT)[1]["builder_0"] == 0
        if view in ("vector", "games"):
            act(WAIT)  # begins the next episode
        else:
            env.reset()
    assert paid == pytest.approx(expected)


@pytest.mark.parametrize("many", [False, True])
def test_the_clock_is_saved(many: bool) -> None:
    make: Any = gym.make_vec if many else gym.make
    env = make("IGLUGridworldVector-v0", **({"num_envs": 1} if many else {}), **OPTIONS)
    env.reset(seed=0)
    place, wait = (np.array([PLACE]), np.array([WAIT])) if many else (PLACE, WAIT)
    env.step(place)
    saved = env.get_state()

    def following() -> list[float]:
        env.step(wait)
        prices = []
        for _ in range(2):
            env.reset()
            prices.append(-float(np.ravel(env.step(place)[1])[0]))
            env.step(wait)
        return prices

    first = following()
    env.set_state(saved)
    assert following() == first == [1, 2]
    wrong = saved.batch._replace(clock=np.zeros((2, 3), np.int64)) if many else saved._replace(clock="noon")
    with pytest.raises(StateError, match="the clock is"):
        env.set_state(saved._replace(batch=wrong) if many else wrong)


def test_sparse_rewards_have_no_price() -> None:
    assert costs(gym.make("IGLUGridworldVector-v0", sparse_reward=True, tasks=TASK, max_steps=2), 3) == [
        0,
        0,
        0,
    ]


def test_a_recording_knows_the_price_of_its_episode(tmp_path: Path) -> None:
    env = gym.make("IGLUGridworldVector-v0", **OPTIONS)
    path = tmp_path / "games.jsonl"
    with Recorder(path) as recorder:
        costs(recorder.wrap(env), 3)
    recordings = read_recording(path)
    assert [one.header["config"]["wrong_scale"] for one in recordings] == [0, 1, 2]
    for number, one in enumerate(recordings):
        rewards = [turn.reward for turn in replay(one).turns]
        assert sum(rewards) == -number
