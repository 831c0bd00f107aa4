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

from iglu_marl import StateError, Task
from iglu_marl.core.kernels.records import CONTROL
from iglu_marl.core.threads import ThreadPool
from iglu_marl.core.worlds import Worlds
from iglu_marl.envs import VectorGame
from iglu_marl.tasks import RandomTasks

COUNT = 2500  # enough that threads share the steps


def parts_of(threads: ThreadPool, count: int, least: int = 1) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []

    def kernel(mark: str, first: int, last: int) -> int:
        assert mark == "x"
        seen.append((first, last))
        return last - first

    assert threads.run(kernel, ("x",), count, least) == count
    return sorted(seen)


def test_a_range_is_shared() -> None:
    assert parts_of(ThreadPool(), 10) == [(0, 10)]
    assert parts_of(ThreadPool(3), 10) == [(0, 3), (3, 6), (6, 10)]
    assert parts_of(ThreadPool(4), 2) == [(0, 1), (1, 2)]
    assert parts_of(ThreadPool(4), 10, least=4) == [(0, 5), (5, 10)], "not in parts too small to be worth it"
    assert parts_of(ThreadPool(2), 10, least=20) == [(0, 10)]


def test_parts_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=20)
    threads = ThreadPool(3)
    assert threads.run(lambda first, last: together.wait() * 0, (), 3) == 0
    threads.close()


@pytest.mark.parametrize("bad", [0, 2])
def test_an_error_waits_for_the_other_parts(bad: int) -> None:
    done = []

    def kernel(first: int, last: int) -> None:
        if first == bad:
            raise ValueError("broken")
        time.sleep(0.05)
        done.append(first)

    with pytest.raises(ValueError, match="broken"):
        ThreadPool(3).run(kernel, (), 3)
    assert len(done) == 2


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


def game(**options: Any) -> VectorGame:
    return VectorGame(2, builder_sees=("inventory",), **options)


def builders(**options: Any) -> Any:
    return gym.make_vec("IGLUGridworld-v0", num_envs=2, render=False, **options)


@pytest.mark.parametrize("make", [game, builders])
def test_one_thread_at_a_time(make: Any) -> None:
    """A second thread gets an error while a first one is in the middle of a reset, and changes nothing."""
    began, go_on = threading.Event(), threading.Event()

    def sample(rng: np.random.Generator) -> Task:
        began.set()
        assert go_on.wait(60)
        return Task("", [(0, -1, 0, 1)])

    env = make(tasks=sample)
    go_on.set()
    env.reset(seed=0)
    saved = env.unwrapped.get_state()
    agents = getattr(env, "possible_agents", None)
    actions = (
        {a: env.batched_action_space(a).sample() for a in agents} if agents else env.action_space.sample()
    )
    began.clear()
    go_on.clear()
    first = threading.Thread(target=env.reset)
    first.start()
    assert began.wait(60)
    worlds = env.unwrapped.worlds
    calls = (env.reset, lambda: env.step(actions), env.unwrapped.get_state)
    try:
        for call in (
            *calls,
            lambda: env.unwrapped.set_state(saved),
            lambda: env.unwrapped.worlds.step(np.zeros(2, CONTROL)),
        ):
            with pytest.raises(StateError, match="already in use by another thread"):
                call()
    finally:
        go_on.set()
        first.join()
    env.step(actions)
    assert worlds.steps.tolist() == [1, 1]


def test_one_thread_may_enter_twice_and_an_error_leaves() -> None:
    worlds = Worlds(1)
    with worlds.thread_lock:
        worlds.step(np.zeros(1, CONTROL))
    with pytest.raises(StateError, match="controls are"):
        worlds.step(np.zeros(2, CONTROL))
    other = threading.Thread(target=worlds.step, args=(np.zeros(1, CONTROL),))
    other.start()
    other.join()
    assert worlds.steps[0] == 2
    assert copy.deepcopy(worlds).thread_lock is not worlds.thread_lock
