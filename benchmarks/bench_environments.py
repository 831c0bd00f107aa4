"""Time of one call from Python: steps, resets, the score, pictures."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iglu_marl
from iglu_marl import Task, Worlds, maximal_intersection
from iglu_marl.core.controls import Controls
from iglu_marl.rendering import Painter
from iglu_marl.tasks import RandomTasks

CALLS = 2000  # of the measured function in one round


def scene(blocks: int, seed: int = 0) -> np.ndarray:
    """A heap of blocks in the middle of the zone."""
    rng = np.random.default_rng(seed)
    grid = np.zeros((9, 11, 11), np.int8)
    while np.count_nonzero(grid) < blocks:
        x, z = rng.integers(2, 9, 2)
        column = grid[:, x, z]
        height = np.count_nonzero(column)
        if height < 4:
            column[height] = rng.integers(1, 7)
    return grid


def uniform_walk(count: int = CALLS) -> list[int]:
    """Walking actions drawn uniformly."""
    return np.random.default_rng(0).integers(18, size=count).tolist()


def report(benchmark: Any, values: list[float], group: str) -> None:
    """Enter seconds measured elsewhere as this benchmark's rounds."""
    benchmark.group = group
    benchmark.pedantic(lambda: None, rounds=len(values))
    benchmark.stats.stats.data = values


def rounds(benchmark: Any, function: Callable[[], Any], calls: int, group: str) -> None:
    """Five rounds of `function`, which makes `calls` calls; figures are per call."""
    function()  # compiles, fills caches
    values = []
    for _ in range(5):
        start = time.perf_counter()
        function()
        values.append((time.perf_counter() - start) / calls)
    report(benchmark, values, group)


def env_steps(benchmark: Any, blocks: int, **options: Any) -> None:
    env = gym.make("IGLUGridworld-v0", max_steps=10**9, **options)
    target = np.ones((9, 11, 11), np.int8)
    env.reset(seed=0, options={"task": Task("", target, starting_grid=scene(blocks), invariant=True)})
    actions = [action if action < 16 else 0 for action in uniform_walk()] if blocks else uniform_walk()

    def run() -> None:
        for action in actions:
            env.step(action)

    rounds(benchmark, run, len(actions), "gymnasium step")


def bench_step_without_pixels(benchmark: Any) -> None:
    env_steps(benchmark, 0, render=False)


def bench_step_with_grid_and_pose(benchmark: Any) -> None:
    env_steps(benchmark, 0, render=False, vector_state=True)


@pytest.mark.parametrize("blocks", [0, 20, 60])
def bench_step_with_pixels_64(benchmark: Any, blocks: int) -> None:
    env_steps(benchmark, blocks)


def bench_step_busy_builder(benchmark: Any) -> None:
    """A flier who places and breaks all the time, without pixels."""
    env = gym.make("IGLUGridworld-v0", action_space="flying", render=False, max_steps=10**9)
    env.reset(options={"task": Task("", scene(20)), "pose": (0, 2, 0, 0, -60)})
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(CALLS)]

    def run() -> None:
        for action in actions:
            env.step(action)

    rounds(benchmark, run, len(actions), "gymnasium step")


@pytest.mark.parametrize("kind", ["new tasks", "prepared tasks"])
def bench_reset(benchmark: Any, kind: str) -> None:
    tasks = RandomTasks(max_blocks=20, max_dist=8, num_colors=6, max_cache=0 if kind == "new tasks" else 100)
    env = gym.make("IGLUGridworld-v0", render=False, tasks=tasks)
    env.reset(seed=0)

    def run() -> None:
        for _ in range(500):
            env.reset()

    rounds(benchmark, run, 500, "reset")


@pytest.mark.parametrize("chat", ["text", "tokens"])
def bench_aec_agent_step(benchmark: Any, chat: str) -> None:
    """Without observations: `raw_env().step` alone, architect and builder in turn."""
    env = iglu_marl.raw_env(
        tasks=Task("", np.ones((9, 11, 11))), chat=chat, turn_steps=1, max_steps=None, max_turns=None
    )
    env.reset(seed=0)
    said = "place a red block on the ground at the centre" if chat == "text" else np.arange(1, 17)
    actions = uniform_walk(100)

    def run() -> None:
        env.reset()
        for action in actions:
            env.step(said)
            env.step(action)

    rounds(benchmark, run, 2 * len(actions), "two agents")


def bench_parallel_step(benchmark: Any) -> None:
    """Both agents, with all their observations but the picture."""
    env = iglu_marl.parallel_env(
        tasks=Task("", np.ones((9, 11, 11))), builder_sees=("inventory", "compass", "dialog"), max_turns=None
    )
    actions = uniform_walk(200)

    def run() -> None:
        env.reset(seed=0)
        for action in actions:
            env.step({"architect_0": "", "builder_0": action})

    rounds(benchmark, run, len(actions), "two agents")


@pytest.mark.parametrize("count", [1, 64, 1024, 4096])
def bench_worlds(benchmark: Any, count: int) -> None:
    """Per world and step, state only."""
    worlds = Worlds(count)
    for index in range(count):
        worlds.spawn(index, Task("", scene(12, index % 50)))
    controls = Controls("walking")
    batches = [controls.encode_batch(row) for row in np.random.default_rng(0).integers(18, size=(8, count))]

    def run() -> None:
        for batch in batches:
            worlds.step(batch)

    rounds(benchmark, run, count * len(batches), "worlds")


@pytest.mark.parametrize("blocks", [20, 60])
def bench_maximal_intersection(benchmark: Any, blocks: int) -> None:
    pairs = [(scene(blocks, seed), scene(blocks, seed + 100)) for seed in range(20)]

    def run() -> None:
        for grid, target in pairs:
            maximal_intersection(grid, target)

    rounds(benchmark, run, len(pairs), "score")


@pytest.mark.parametrize("blocks", [0, 20, 60])
@pytest.mark.parametrize("count", [1, 64])
def bench_painter_64(benchmark: Any, blocks: int, count: int) -> None:
    """Per frame, one or 64 frames a call."""
    worlds, painter = Worlds(count), Painter()
    rng = np.random.default_rng(1)
    for index in range(count):
        pose = (
            *rng.uniform(-4, 4, 1),
            0.5,
            *rng.uniform(-4, 4, 1),
            rng.uniform(0, 360),
            rng.uniform(-40, 10),
        )
        worlds.spawn(index, Task("", np.ones((9, 11, 11)), starting_grid=scene(blocks, index)), pose=pose)
    indices = list(range(count))

    def run() -> None:
        for _ in range(20):
            painter.render(worlds, indices, (64, 64))

    rounds(benchmark, run, 20 * count, "painter")


@pytest.mark.parametrize("module", ["iglu_marl", "iglu_marl.envs.single"])
def bench_import(benchmark: Any, module: str) -> None:
    """A new process, less the start of Python itself."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"

    def run() -> float:
        return float(
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        )

    run()
    report(benchmark, [run() for _ in range(5)], "import")
