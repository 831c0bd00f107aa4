"""`examples/ppo.py` beside PPO of Stable-Baselines3, on the same games and inputs: `python -m benchmarks.beside_sb3`.

Stable-Baselines3 plays 64 games with small batches, and 1,024 with the sizes of `examples/ppo.py`.
Needs the extra `rl`.
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from benchmarks.harness import run_options
from iglu_marl.core.extras import extra
from iglu_marl.evaluation.metrics import share_interval

with extra("rl", script=True):
    import torch
    from stable_baselines3 import PPO

    from benchmarks.sb3_games import Games

OURS = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "ppo.py"))
SETTINGS = {
    "game": "see-ground",
    "inputs": "egocentric",
    "reward": "shaped",
    "terms": "distance,yaw,pitch,aim,color",
    "end": "own",
}
FEW = {"n_steps": 16, "batch_size": 256, "n_epochs": 4, "gamma": 0.99, "ent_coef": 0.02}
MANY = {"n_steps": 24, "batch_size": 4096, "n_epochs": 2, "gamma": 0.97, "ent_coef": 0.01}


class TrainerGames(Games):
    """The games of a trainer of `examples/ppo.py`."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        inputs = spaces.Box(-np.inf, np.inf, (trainer.inputs.shape[1],))
        super().__init__(trainer.env, trainer.settings["games"], inputs, trainer.env.single_action_space)

    def _shown(self, seen: Any) -> np.ndarray:
        return OURS["inputs_of"](seen, SETTINGS["inputs"]).numpy()

    def reset(self) -> np.ndarray:
        """Start all games."""
        return self._shown(self.env.reset(seed=self.trainer.settings["seed"])[0])

    def step_wait(self) -> Any:
        """Run the step."""
        seen, rewards, terminated, truncated, _ = self.env.step(self.actions)
        rewards, over = rewards.astype(np.float32), terminated | truncated
        if over.any():
            seen, _ = self.env.reset(options={"reset_mask": over})
        return self._shown(seen), rewards, over, [{}] * self.num_envs


def train_ours(trainer: Any, steps: int) -> float:
    """Train by `examples/ppo.py`, and return the steps in a CPU-second."""
    trainer.learn(trainer.play()[0])  # what is compiled is compiled now
    before, started = trainer.steps, time.process_time()
    while trainer.steps < steps:
        trainer.learn(trainer.play()[0])
    return (trainer.steps - before) / (time.process_time() - started)


def train_sb3(trainer: Any, steps: int) -> float:
    """Train by Stable-Baselines3, and return the same."""
    games, seed = trainer.settings["games"], trainer.settings["seed"]
    sizes: dict[str, Any] = FEW if games == 64 else MANY
    shape = {"net_arch": {"pi": [128, 128], "vf": [128, 128]}}
    options = {**sizes, "learning_rate": 1e-3, "policy_kwargs": shape, "seed": seed, "device": "cpu"}
    model = PPO("MlpPolicy", TrainerGames(trainer), **options)
    first = sizes["n_steps"] * games
    model.learn(first)
    started = time.process_time()
    model.learn(steps - first, reset_num_timesteps=False)
    speed = (model.num_timesteps - first) / (time.process_time() - started)
    trainer.ask = lambda inputs: (model.policy.get_distribution(inputs).distribution, None)
    return speed


def compare(seeds: int = 3, steps: int = 500_000) -> None:
    """Train with each, seed by seed, and print steps in a CPU-second and success on the test split."""
    torch.set_num_threads(1)
    for name, train, games in (
        ("examples/ppo.py, 1,024 games", train_ours, 1024),
        ("Stable-Baselines3, 1,024 games", train_sb3, 1024),
        ("Stable-Baselines3, 64 games", train_sb3, 64),
    ):
        speeds, won = list[str](), list[bool]()
        for seed in range(seeds):
            trainer = OURS["Trainer"]({**SETTINGS, "seed": seed, "games": games})
            speeds.append(f"{train(trainer, steps):,.0f}")
            won += trainer.test()
        success = share_interval(float(np.mean(won)), len(won)).text("{:.1%}".format)
        print(f"{name}: {'; '.join(speeds)} steps in a CPU-second, success {success}", flush=True)


if __name__ == "__main__":
    run_options(compare)
