"""AgileRL: independent PPO for architect and builder, a network for each role, evolved or not.

    python examples/agilerl_two_agents.py --steps 20000

AgileRL takes PettingZoo's parallel environments whose observations are Boxes and whose actions are numbers: `flatten`
and `discretize` make them, and its vector environments run several at once. The game is that of
examples/torchrl_two_agents.py: the architect sees a blue or a red block and says one of four symbols. `make adapters`
gives it an environment of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

import iglu_marl
from iglu_marl import Task
from iglu_marl.core.extras import extra
from iglu_marl.envs.wrappers import align, discretize

with extra("agilerl", script=True):
    import torch
    from agilerl.algorithms import IPPO
    from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
    from agilerl.vector.pz_async_vec_env import AsyncPettingZooVecEnv

# What the builder can do, one number each: look around, and place a blue or a red block.
ACTIONS = (
    {},
    *({"camera": (yaw, pitch)} for yaw, pitch in ((-5, 0), (5, 0), (0, -5), (0, 5))),
    *({"inventory": color, "placement": 1} for color in (1, 6)),
)


def make_env(max_steps: int) -> Any:
    """Return the game with a Box and a Discrete action per agent."""
    env = iglu_marl.parallel_env(
        tasks=[Task("", [(0, -1, 0, color)]) for color in (1, 6)],
        controls="flying",
        chat="tokens",
        vocabulary=4,
        max_message_length=1,
        dialog_length=2,  # the speaker's mark and the latest symbol
        architect_sees=("target_grid", "dialog"),
        builder_sees=("pose", "dialog"),
        completion="cover",  # a block in the other colour may stay,
        wrong_scale=0,  # and costs nothing
        max_steps=max_steps,
        max_turns=None,
    )
    return align(discretize(env, table=ACTIONS), actions="discrete", words="one-hot")


def main(steps: int = 20_000, envs: int = 4, max_steps: int = 50, seed: int = 0) -> float:
    """Train, and return the best mean return of an evaluation, of both agents together."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    games = AsyncPettingZooVecEnv([lambda: make_env(max_steps)] * envs)
    agent = IPPO(
        observation_spaces=[games.single_observation_space(name) for name in games.agents],
        action_spaces=[games.single_action_space(name) for name in games.agents],
        agent_ids=list(games.agents),
        learn_step=1000,
        batch_size=250,
        lr=3e-4,
    )
    _, fitness = train_multi_agent_on_policy(
        games, "iglu_marl", "IPPO", [agent], max_steps=steps, evo_steps=4000, eval_loop=5, verbose=False
    )
    games.close()
    best = float(np.max(np.concatenate([np.ravel(scores) for scores in fitness])))
    print(f"IPPO: best mean return {best:.2f} within {steps:,} steps")
    return best


if __name__ == "__main__":
    typer.run(main)
