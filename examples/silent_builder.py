"""One builder alone, as a Gymnasium environment: a recorded dialogue says what to build.

    python examples/silent_builder.py --episodes 3

Tasks can be set by hand, drawn at random, or be turns of the sessions that come with the package.
"""

from __future__ import annotations

import gymnasium as gym
import typer

import iglu_marl  # registers the ids  # noqa: F401
from iglu_marl.tasks import DUMMY_TASK, BundledTasks, RandomTasks


def episode(env: gym.Env, seed: int) -> float:
    """Play one episode of random actions, and return the sum of rewards."""
    observation, info = env.reset(seed=seed)
    print(f"target: {(info['target_grid'] > 0).sum()} blocks, {observation['dialog'][-70:]!r}")
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total += float(reward)
        over = terminated or truncated
    print(
        f"  after {info['event']!r}: return {total:+.0f}, {observation['inventory'].sum():.0f} blocks in hand"
    )
    return total


def main(episodes: int = 3, steps: int = 200, seed: int = 0) -> list[float]:
    """Play episodes of each kind of task, and return their returns."""
    env = gym.make("IGLUGridworld-v0", action_space="walking", max_steps=steps)
    env.action_space.seed(seed)
    returns = []

    env.set_task(DUMMY_TASK)  # one blue block
    returns.append(episode(env, seed))

    env.set_task_generator(RandomTasks(max_blocks=6, height_levels=2, num_colors=3))
    returns += [episode(env, seed + number) for number in range(episodes)]

    env.set_task_generator(BundledTasks())  # turns of recorded sessions, with all that was said until then
    returns += [episode(env, seed + number) for number in range(episodes)]
    env.close()
    return returns


if __name__ == "__main__":
    typer.run(main)
