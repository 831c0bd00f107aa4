"""Stable-Baselines3: PPO for a silent builder that sees the target.

    python examples/sb3_silent_builder.py --steps 50000

There are six targets, one block in each colour, and a block of the right colour counts wherever it stands. The
builder has to read the colour, look at the ground and place it. SB3 takes neither Dict actions nor texts, so
observations become one vector, and a flier's actions the rows of a table. Needs the extra `rl`.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from iglu_marl import Task
from iglu_marl.envs.wrappers import discretize, flatten

# What the builder can do, one number each: look around, move, place a block of a colour, break one.
ACTIONS = (
    {},
    *({"camera": (yaw, pitch)} for yaw, pitch in ((-5, 0), (5, 0), (0, -5), (0, 5))),
    *({"movement": (forth, 0, 0)} for forth in (-1, 1)),
    *({"inventory": color, "placement": 1} for color in range(1, 7)),
    {"placement": 2},
)


def make_env(max_steps: int = 40) -> gym.Env[Any, Any]:
    """The builder's environment as SB3 takes it: a Box and Discrete(14)."""
    env = gym.make(
        "IGLUGridworldVector-v0",
        action_space="flying",
        tasks=[Task("", [(0, -1, 0, color)]) for color in range(1, 7)],
        target_in_obs=True,
        completion="cover",  # blocks in other colours may stay,
        wrong_scale=0,  # and cost nothing; else a beginner learns to place none
        max_steps=max_steps,
    )
    return discretize(flatten(env, drop=("dialog", "grid")), table=ACTIONS)  # type: ignore[no-any-return]


def completed(model: PPO, episodes: int, seed: int) -> float:
    """The share of fresh episodes that the policy completes."""
    env = make_env()
    wins = 0
    for number in range(episodes):
        observation, _ = env.reset(seed=seed + number)
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=False)
            observation, _, terminated, truncated, _ = env.step(int(action))
            over = terminated or truncated
        wins += terminated
    return wins / episodes


def main(steps: int = 50_000, envs: int = 8, episodes: int = 100, seed: int = 0) -> tuple[float, float]:
    """Train; returns the share of completed episodes before and after."""
    torch.set_num_threads(1)  # networks as small as this one are slower on several
    many = make_vec_env(make_env, n_envs=envs, seed=seed)
    model = PPO(
        "MlpPolicy", many, n_steps=128, batch_size=256, n_epochs=4, ent_coef=0.01, seed=seed, device="cpu"
    )
    before = completed(model, episodes, seed=10_000)
    model.learn(steps)
    after = completed(model, episodes, seed=10_000)
    print(f"completed before: {before:.0%}, after {steps:,} steps: {after:.0%}")
    return before, after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=100, help="of the tests before and after")
    parser.add_argument("--seed", type=int, default=0)
    main(**vars(parser.parse_args()))
