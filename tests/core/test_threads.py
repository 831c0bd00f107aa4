"""Threads share a batch: same results, in parents and children of a fork, in spawned processes, side by side."""

from __future__ import annotations

import copy
import hashlib
import multiprocessing
import os
import threading
import time
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iglu_marl import ConfigError
from iglu_marl.core.threads import Crew
from iglu_marl.tasks import RandomTasks

COUNT = 2500  # enough that threads share the steps


def parts_of(crew: Crew, count: int, least: int = 1) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []

    def kernel(mark: str, first: int, last: int) -> int:
        assert mark == "x"
        seen.append((first, last))
        return last - first

    assert crew.run(kernel, ("x",), count, least) == count
    return sorted(seen)


def test_a_range_is_shared() -> None:
    assert parts_of(Crew(), 10) == [(0, 10)]
    assert parts_of(Crew(3), 10) == [(0, 3), (3, 6), (6, 10)]
    assert parts_of(Crew(4), 2) == [(0, 1), (1, 2)]
    assert parts_of(Crew(4), 10, least=4) == [(0, 5), (5, 10)], "not in parts too small to be worth it"
    assert parts_of(Crew(2), 10, least=20) == [(0, 10)]


def test_parts_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=20)
    crew = Crew(3)
    assert crew.run(lambda first, last: together.wait() * 0, (), 3) == 0
    crew.close()


@pytest.mark.parametrize("bad", [0, 2])
def test_an_error_waits_for_the_other_parts(bad: int) -> None:
    done = []

    def kernel(first: int, last: int) -> None:
        if first == bad:
            raise ValueError("broken")
        time.sleep(0.05)
        done.append(first)

    with pytest.raises(ValueError, match="broken"):
        Crew(3).run(kernel, (), 3)
    assert len(done) == 2


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_wrong_numbers_of_threads(number: Any) -> None:
    with pytest.raises(ConfigError, match="num_threads"):
        Crew(number)


def story(env: Any, steps: int = 8) -> str:
    """All that a vector environment shows over some steps, as a digest."""
    seen = hashlib.sha256()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        shown, *results, _ = env.step(rng.integers(18, size=env.num_envs))
        for part in (*(shown[key] for key in sorted(shown) if key != "dialog"), *results):
            seen.update(part.tobytes())
    return seen.hexdigest()


def make(num_threads: int, count: int = COUNT, name: str = "IGLUGridworldVector-v0") -> Any:
    tasks = RandomTasks(max_blocks=5, max_cache=20)
    return gym.make_vec(name, num_envs=count, num_threads=num_threads, tasks=tasks, max_steps=5)


@pytest.fixture(scope="module")
def expected() -> str:
    return story(make(1))


@pytest.mark.slow
@pytest.mark.parametrize("num_threads", [2, 3])
def test_results_do_not_depend_on_threads(num_threads: int, expected: str) -> None:
    env = make(num_threads)
    assert story(env) == expected
    twin = copy.deepcopy(env)
    assert story(twin) == story(env) == expected
    for one in (env, twin):
        one.close()


def test_pictures_do_not_depend_on_threads() -> None:
    assert len({story(make(threads, 90, "IGLUGridworld-v0")) for threads in (1, 2, 4)}) == 1


@pytest.mark.slow
def test_environments_in_threads_of_the_caller(expected: str) -> None:
    told: list[str] = []
    players = [threading.Thread(target=lambda: told.append(story(make(2)))) for _ in range(3)]
    for player in players:
        player.start()
    for player in players:
        player.join()
    assert told == [expected] * 3


def child(queue: Any, env: Any) -> None:
    queue.put(story(env))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_a_fork(expected: str) -> None:
    """The threads of the parent are running when it forks, and its environment is used on in the child."""
    env = make(2)
    assert story(env) == expected
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking with threads; that is what is tried here
        process = context.Process(target=child, args=(queue, env))
        process.start()
    process.join(60)
    assert process.exitcode == 0
    assert queue.get() == expected
    assert story(env) == expected


@pytest.mark.slow
def test_in_a_spawned_process(expected: str) -> None:
    env = make(2)
    assert story(env) == expected
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue, env))
    process.start()
    process.join(120)
    assert process.exitcode == 0
    assert queue.get() == expected
