"""`Curriculum`: when its stages begin, and that saved environments know how far it is."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import StateError, Task, TaskError
from iglu_marl.envs.vector_game import VectorGame
from iglu_marl.tasks import DUMMY_TASK, Curriculum, RandomTasks

ONE, TWO, THREE = (Task(name, [(0, -1, 0, color)]) for color, name in enumerate(("one", "two", "three"), 1))


def drawn(source: Curriculum, count: int = 400) -> Counter[str]:
    rng = np.random.default_rng(0)
    return Counter(source.sample(rng).dialog for _ in range(count))


def test_a_curriculum_advances_with_success() -> None:
    source = Curriculum([ONE, [TWO], lambda: THREE], threshold=0.75, window=4, rehearsal=0.25)
    assert drawn(source) == {"one": 400}
    assert not source.record([True, True, False])  # three episodes are not yet four
    assert not source.record([False])
    assert not source.record([True])
    assert source.record([True, True, True, True])  # the fourth is left out
    assert source.stage == 1
    counts = drawn(source)
    assert counts.keys() == {"one", "two"}
    assert 70 < counts["one"] < 130
    assert not source.record([True] * 3)
    assert source.record(np.array([1]))
    assert source.stage == 2
    assert not source.record([True] * 100)
    counts = drawn(source)
    assert 20 < counts["one"] < 80
    assert 20 < counts["two"] < 80
    assert repr(source) == "Curriculum(stage 2 of 0..2)"


def test_a_curriculum_is_decided_by_the_seed_and_fills_vector_environments() -> None:
    source = Curriculum([RandomTasks(max_blocks=1), RandomTasks(max_blocks=3)], window=1)
    source.record([True])
    assert [source.sample(np.random.default_rng(3)) for _ in range(2)] == [
        source.sample(np.random.default_rng(3))
    ] * 2
    envs = gym.make_vec("IGLUGridworldVector-v0", num_envs=3, tasks=source, target_in_obs=True)
    first = envs.reset(seed=5)[0]["target_grid"]
    assert np.array_equal(first, envs.reset(seed=5)[0]["target_grid"])


ENVIRONMENTS: dict[str, Callable[[Any], Any]] = {
    "single": lambda tasks: gym.make("IGLUGridworldVector-v0", tasks=tasks).unwrapped,
    "aec": lambda tasks: iglu_marl.raw_env(tasks=tasks),
    "parallel": lambda tasks: iglu_marl.parallel_env(tasks=tasks),
    "vector": lambda tasks: gym.make_vec("IGLUGridworldVector-v0", num_envs=2, tasks=tasks),
    "vector game": lambda tasks: VectorGame(2, tasks=tasks),
    "goals in words": lambda tasks: gym.make("iglu_marl/LanguageGoal-v0", scenes=tasks),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_saved_environment_knows_how_far_its_curriculum_is(name: str) -> None:
    inner = Curriculum([ONE, TWO], window=3)
    source = Curriculum([inner, THREE, ONE], window=2)
    env = ENVIRONMENTS[name]([source])
    env.reset(seed=0)
    source.record([True, False, True])
    inner.record([True, True])
    saved = env.get_state()
    source.record([True])
    assert inner.record([True])
    assert (source.stage, inner.stage) == (1, 1)
    for wrong in ((), source.get_state()), (source.get_state()._replace(stage=3),), (None,):
        with pytest.raises(StateError, match="expected"):
            env.set_state(with_sources(saved, wrong))
    assert (source.stage, inner.stage) == (1, 1)
    env.set_state(pickle.loads(pickle.dumps(saved)))  # noqa: S301 (our own bytes)
    assert (source.stage, inner.stage) == (0, 0)
    assert inner.record([True])  # the third of three
    assert source.record([True])  # the second of two
    with pytest.raises(StateError, match="states of 0 sources"):
        ENVIRONMENTS[name](ONE).set_state(saved)


def with_sources(saved: Any, states: tuple[Any, ...]) -> Any:
    """A saved environment with other states of its task sources."""
    if hasattr(saved, "sources"):
        return saved._replace(sources=states)
    return saved._replace(batch=saved.batch._replace(sources=states))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"stages": []}, "at least one source"),
        ({"stages": DUMMY_TASK}, "a list of at least one"),
        ({"stages": [DUMMY_TASK, 3]}, r"^Curriculum: stages\[1\] is 3"),
        ({"stages": [DUMMY_TASK], "threshold": 0}, "threshold=0"),
        ({"stages": [DUMMY_TASK], "threshold": 1.5}, "threshold=1.5"),
        ({"stages": [DUMMY_TASK], "threshold": math.nan}, "threshold=nan"),
        ({"stages": [DUMMY_TASK], "window": 0}, "window=0"),
        ({"stages": [DUMMY_TASK], "window": 2.0}, "window=2.0"),
        ({"stages": [DUMMY_TASK], "rehearsal": 1}, "rehearsal=1"),
    ],
)
def test_a_curriculum_refuses(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(TaskError, match=says):
        Curriculum(**arguments)
