"""Stable-Baselines3: PPO for a silent builder that sees the target.

    python examples/sb3_silent_builder.py --seed 0
    python examples/sb3_silent_builder.py --seed 0 --blind

The target is one block of six colours in one of 5 x 5 cells; wrong blocks cost and have to be removed. One colour is
held out in each cell: 125 pairs of colour and cell are trained, 25 are not. SB3 supports neither Dict actions nor
texts, so observations become a vector and actions the rows of a table. Two controls act without observations:
`--blind` trains on zeros, and a search finds the fixed sequence of actions that completes the most pairs. Needs the
extra `rl`.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import typer
from gymnasium import spaces

from iglu_marl import Pose, Task
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import cells_of, index_of
from iglu_marl.envs.wrappers import discretize, flatten
from iglu_marl.evaluation import best_open_loop

with extra("rl", script=True):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

# Colour, x and z. Of each cell one colour is held out, of each colour some cells.
PAIRS = [(color, x, z) for color in range(1, 7) for x in range(-2, 3) for z in range(-2, 3)]
HELD_OUT = [(color, x, z) for color, x, z in PAIRS if (color + x + 2 * z) % 6 == 0]
TRAINED = [pair for pair in PAIRS if pair not in HELD_OUT]
START = Pose(pitch_deg=-60)  # looks at the next cell ahead
GAME: dict[str, Any] = {
    "action_space": "discrete",
    "select_and_place": True,  # choosing a colour places a block of it
    "wrong_scale": 0.2,  # a tenth of what the right block brings; with 1, some colours are never tried again
    "max_steps": 20,
}

# What the builder can do, one number each: walk, turn, place a block of a colour, break one.
ACTIONS = (
    {},
    *({"move": way} for way in (1, 2)),
    *({"strafe": way} for way in (1, 2)),
    *({"camera": (yaw, 0)} for yaw in (-90, 90)),
    *({"hotbar": color} for color in range(1, 7)),
    {"attack": 1},
)


class NextChange(gym.ObservationWrapper[Any, Any, Any]):
    """Shows what is to be changed next, a wrong block first: where it is, and what belongs there, one-hot.

    place: how far to the builder's right and how far ahead, -2 or less to 2 or more; block: a colour, or 0 for none.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = spaces.Dict(place=spaces.Box(0, 1, (2, 5)), block=spaces.Box(0, 1, (7,)))

    def observation(self, observation: Any) -> dict[str, np.ndarray]:
        x, _, z, _, yaw = observation["agentPos"]
        place, block = np.zeros((2, 5), np.float32), np.zeros(7, np.float32)
        cells = cells_of(observation["grid"] != observation["target_grid"])
        if len(cells):
            wanted = observation["target_grid"][index_of(cells.T)]
            east, south = cells[wanted.argmin(), [0, 2]] - (x, z)
            sine, cosine = np.sin(np.radians(yaw)), np.cos(np.radians(yaw))
            away = np.rint([east * cosine + south * sine, east * sine - south * cosine])
            place[[0, 1], np.clip(away, -2, 2).astype(int) + 2] = 1
            block[wanted.min()] = 1
        return {"place": place, "block": block}


def tasks_of(pairs: list[tuple[int, int, int]]) -> list[Task]:
    """Return tasks of one block at a fixed place."""
    return [Task("", [(x, -1, z, color)], invariant=False) for color, x, z in pairs]


def make_env(tasks: list[Task], blind: bool = False) -> gym.Env[Any, Any]:
    """Return the environment with a Box and Discrete(14)."""
    env = gym.make("IGLUGridworldVector-v0", tasks=tasks, target_in_obs=True, **GAME)
    env.unwrapped.initialize_world(None, START)  # type: ignore[attr-defined]
    env = discretize(flatten(NextChange(env)), table=ACTIONS)
    return gym.wrappers.TransformObservation(env, np.zeros_like, env.observation_space) if blind else env


def completed(model: PPO, tasks: list[Task], repeats: int, blind: bool = False) -> float:
    """Return the share of completed episodes, `repeats` per task."""
    env = make_env(tasks, blind)
    wins = 0
    for task in tasks * repeats:
        observation, _ = env.reset(options={"task": task})
        over = False
        while not over:
            action, _ = model.predict(observation, deterministic=False)
            observation, _, terminated, truncated, _ = env.step(int(action))
            over = terminated or truncated
        wins += terminated
    return wins / (len(tasks) * repeats)


def without_looking(tries: int, seed: int = 0) -> float:
    """Return the share of pairs that the best of the tried fixed sequences of actions completes."""
    tasks = tasks_of(PAIRS)
    envs = discretize(gym.make_vec("IGLUGridworldVector-v0", len(tasks), **GAME), table=ACTIONS)
    options = {"task": tasks, "pose": START}
    return best_open_loop(envs, GAME["max_steps"], options=options, seed=seed, tries=tries).share


def main(
    steps: int = 60_000,
    envs: int = 8,
    repeats: int = 4,
    tries: int = 2000,
    seed: int = 0,
    blind: bool = False,
) -> dict[str, float]:
    """Train, and return the shares of completed episodes and of the best fixed sequence.

    repeats: episodes of each pair in the tests. tries: fixed sequences of the search. blind: train on zeros.
    """
    torch.set_num_threads(1)  # networks as small as this one are slower on several
    many = make_vec_env(lambda: make_env(tasks_of(TRAINED), blind), n_envs=envs, seed=seed)
    schedule = {"n_steps": 128, "batch_size": 256, "n_epochs": 4, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", many, **schedule, gamma=0.95, ent_coef=0.02, seed=seed, device="cpu")
    tests = {"pairs trained": tasks_of(TRAINED), "pairs held out": tasks_of(HELD_OUT)}
    shares = {f"{name}, before": completed(model, tasks, repeats, blind) for name, tasks in tests.items()}
    model.learn(steps)
    for name, tasks in tests.items():
        shares[f"{name}, after {steps:,} steps"] = completed(model, tasks, repeats, blind)
    shares[f"all pairs, the best of {tries:,} fixed sequences"] = without_looking(tries, seed)
    for name, share in shares.items():
        print(f"{name}: {share:.1%}")
    return shares


if __name__ == "__main__":
    typer.run(main)
