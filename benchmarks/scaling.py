"""What scaling out costs: environments with the adapters of frameworks, learners, and Ray, as docs/scaling.md has it.

    python -m benchmarks.scaling environments learners      # with the extra `rl`
    .venv-rllib/bin/python -m benchmarks.scaling ray        # with the extra `rllib`

Prints one line a figure: the fastest of the rounds by the clock, and the least that this process used of the processor.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import iglu_marl
from iglu_marl.envs import VectorGame
from iglu_marl.envs.wrappers import align, flatten, mask
from iglu_marl.tasks import RandomTasks

ROUNDS = 7
BATCH = 256  # worlds at once


def measure(name: str, unit: str, count: int, work: Callable[[], Any]) -> float:
    """Time `work`, which does `count` units; print and return microseconds per unit."""
    work()
    clock, processor = [], []
    for _ in range(ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    each, own = (min(times) / count * 1e6 for times in (clock, processor))
    print(
        f"{name}: {each:,.2f} µs a {unit} ({1e6 / each:,.0f} a second), processor {own:,.2f} µs", flush=True
    )
    return each


# ------------------------------------------------------------------------------------------------------- environments


def stepped(env: Any, actions: list[Any], vector: bool = False) -> Callable[[], None]:
    """Play every action once; single environments are reset at the end of episodes."""
    env.reset(seed=0)

    def work() -> None:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if not vector and (terminated or truncated):
                env.reset()

    return work


def game(**options: Any) -> dict[str, Any]:
    return {
        "tasks": RandomTasks(max_blocks=3),
        "vocabulary": 8,
        "max_message_length": 1,
        "dialog_length": 2,
        "builder_sees": ("inventory", "dialog", "pose", "grid"),
        "max_steps": 200,
        "max_turns": None,
        **options,
    }


def both(env: Any, count: int | None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    space = env.action_space("builder_0")
    high = space.n if isinstance(space, gym.spaces.Discrete) else space.nvec
    shape = () if count is None else (count,)
    return [
        {agent: rng.integers(high, size=shape or None) for agent in env.possible_agents} for _ in range(200)
    ]


def environments() -> None:
    """State, pixels and two agents; single and in batches; bare and wrapped for frameworks."""
    options: dict[str, Any] = {
        "tasks": RandomTasks(max_blocks=3),
        "max_steps": 200,
        "chat": "tokens",
        "dialog_length": 4,
    }
    walks = np.random.default_rng(0).integers(18, size=1000)
    for name, env in (
        ("state", gym.make("IGLUGridworldVector-v0", **options)),
        ("state, flatten", flatten(gym.make("IGLUGridworldVector-v0", **options), drop=("dialog",))),
        (
            "state, flatten, mask",
            mask(flatten(gym.make("IGLUGridworldVector-v0", **options), drop=("dialog",))),
        ),
        ("pixels", gym.make("IGLUGridworld-v0", **options)),
    ):
        measure(f"one environment, {name}", "step", len(walks), stepped(env, walks.tolist()))
    walks = np.random.default_rng(0).integers(18, size=(100, BATCH))
    for name, env in (
        ("state", gym.make_vec("IGLUGridworldVector-v0", num_envs=BATCH, **options)),
        ("state, flatten", flatten(gym.make_vec("IGLUGridworldVector-v0", num_envs=BATCH, **options))),
        (
            "state, flatten scaled",
            flatten(gym.make_vec("IGLUGridworldVector-v0", num_envs=BATCH, **options), grids="scaled"),
        ),
        ("pixels", gym.make_vec("IGLUGridworld-v0", num_envs=BATCH, **options)),
    ):
        measure(f"{BATCH} environments, {name}", "step", walks.size, stepped(env, list(walks), vector=True))
    one = align(iglu_marl.parallel_env(**game(chat="tokens")), actions="discrete", grids="scaled")
    many = VectorGame(BATCH, **game())
    measure("one game, both agents, align", "step", 200, played(one, both(one, None)))
    words = np.zeros((BATCH, 1), int)
    bare = [
        {"architect_0": words, "builder_0": row}
        for row in np.random.default_rng(0).integers(18, size=(200, BATCH))
    ]
    measure(f"{BATCH} games, both agents", "step", 200 * BATCH, played(many, bare))
    alike = align(VectorGame(BATCH, **game()), actions="discrete", grids="scaled")
    measure(f"{BATCH} games, both agents, align", "step", 200 * BATCH, played(alike, both(alike, BATCH)))


def played(env: Any, actions: list[dict[str, Any]]) -> Callable[[], None]:
    env.reset(seed=0)

    def work() -> None:
        for action in actions:
            env.step(action)
            if not env.agents:
                env.reset()

    return work


# ------------------------------------------------------------------------------------------------------------ learners


def learners() -> None:
    """Frames per second of a PPO update (four epochs) on one core, for state and for pixels; and of SB3."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    state = nn.Sequential(nn.Linear(2200, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 20))
    pixels = nn.Sequential(
        *(nn.Conv2d(3, 16, 8, 4), nn.ReLU(), nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(32 * 6 * 6, 128), nn.ReLU(), nn.Linear(128, 20)),
    )
    for name, network, shape in (
        ("state, MLP 2×128", state, (2200,)),
        ("pixels, small CNN", pixels, (3, 64, 64)),
    ):
        optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
        batch = torch.rand(1024, *shape)

        def act(network: Any = network, batch: Any = batch) -> None:
            with torch.no_grad():
                network(batch)

        def update(network: Any = network, batch: Any = batch, optimizer: Any = optimizer) -> None:
            for _ in range(4):
                for rows in batch.split(256):
                    optimizer.zero_grad()
                    network(rows).square().mean().backward()
                    optimizer.step()

        measure(f"{name}, choosing actions", "frame", 1024, act)
        measure(f"{name}, update of four epochs", "frame", 1024, update)


# ----------------------------------------------------------------------------------------------------------------- Ray


def rollout(count: int, steps: int, seed: int, megabytes: float = 0.0) -> Any:
    """Step many worlds; return some megabytes."""
    envs = flatten(
        gym.make_vec(
            "IGLUGridworldVector-v0",
            num_envs=count,
            tasks=RandomTasks(max_blocks=3),
            chat="tokens",
            dialog_length=4,
        ),
        grids="scaled",
    )
    envs.reset(seed=seed)
    walks = np.random.default_rng(seed).integers(18, size=(steps, count))
    for walk in walks:
        envs.step(walk)
    return np.zeros(int(megabytes * 2**20), np.uint8)


def rays() -> None:
    """A call, an object of 10 MB sent and returned, and rollouts, with one and two workers."""
    import ray

    os.environ.setdefault("RAY_worker_niceness", "0")  # as other processes; Ray's own default steps back
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    class Worker:
        def nothing(self) -> None:
            """Answer."""

        def take(self, value: Any) -> int:
            """Read an object."""
            return int(value[-1])

        def give(self, megabytes: float) -> Any:
            """Make an object."""
            return np.zeros(int(megabytes * 2**20), np.uint8)

        def work(self, count: int, steps: int, seed: int) -> Any:
            """Roll out."""
            return rollout(count, steps, seed, 1.0)

    made = ray.remote(Worker)
    for number in (1, 2):
        workers = [made.remote() for _ in range(number)]
        ray.get([worker.work.remote(2, 2, 0) for worker in workers])
        name = f"Ray, {number} worker{'s' * (number > 1)}"

        def calls(workers: Any = workers) -> None:
            for _ in range(50):
                ray.get([worker.nothing.remote() for worker in workers])

        def flood(workers: Any = workers) -> None:
            ray.get([worker.nothing.remote() for _ in range(200) for worker in workers])

        def taken(workers: Any = workers) -> None:
            ray.get([worker.take.remote(ray.put(np.zeros(10 * 2**20, np.uint8))) for worker in workers])

        def given(workers: Any = workers) -> None:
            ray.get([worker.give.remote(10.0) for worker in workers])

        def rolled(workers: Any = workers) -> None:
            ray.get([worker.work.remote(BATCH, 200, seed) for seed, worker in enumerate(workers)])

        measure(f"{name}, a call and its answer", "call", 50 * number, calls)
        measure(f"{name}, 200 calls under way for each", "call", 200 * number, flood)
        measure(f"{name}, 10 MB to a worker", "object", number, taken)
        measure(f"{name}, 10 MB from a worker", "object", number, given)
        measure(f"{name}, rollouts of {BATCH} worlds, 1 MB back", "step", 200 * BATCH * number, rolled)
        for worker in workers:
            ray.kill(worker)
    measure("no Ray, the same rollouts", "step", 200 * BATCH, lambda: rollout(BATCH, 200, 0, 1.0))
    ray.shutdown()


PARTS = {"environments": environments, "learners": learners, "ray": rays}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    for part in parser.parse_args().parts:
        PARTS[part]()
