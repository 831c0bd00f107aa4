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
from rich.table import Table

from benchmarks.harness import run_options
from iglu_marl.commands.output import text_console
from iglu_marl.core.extras import extra

with extra("rl", script=True):
    import torch
    from stable_baselines3 import PPO
    from torch.distributions import Categorical

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


def train_ours(seed: int, games: int, steps: int) -> tuple[float, float]:
    """Return steps a CPU-second of `examples/ppo.py`, and the success on the test split."""
    trainer = OURS["Trainer"]({**SETTINGS, "seed": seed, "games": games})
    trainer.learn(trainer.play()[0])  # what is compiled is compiled now
    begun, started = trainer.steps, time.process_time()
    while trainer.steps < steps:
        trainer.learn(trainer.play()[0])
    speed = (trainer.steps - begun) / (time.process_time() - started)
    return speed, float(np.mean(trainer.test()))


def train_sb3(seed: int, games: int, steps: int) -> tuple[float, float]:
    """Return the same of Stable-Baselines3."""
    trainer = OURS["Trainer"]({**SETTINGS, "seed": seed, "games": games})
    sizes: dict[str, Any] = FEW if games == 64 else MANY
    shape = {"net_arch": {"pi": [128, 128], "vf": [128, 128]}}
    model = PPO(
        "MlpPolicy",
        TrainerGames(trainer),
        **sizes,
        learning_rate=1e-3,
        policy_kwargs=shape,
        seed=seed,
        device="cpu",
    )
    rollout = sizes["n_steps"] * games
    model.learn(rollout)
    started = time.process_time()
    model.learn(steps - rollout, reset_num_timesteps=False)
    speed = (model.num_timesteps - rollout) / (time.process_time() - started)

    def ask(inputs: torch.Tensor) -> tuple[Categorical, None]:
        return model.policy.get_distribution(inputs).distribution, None

    trainer.ask = ask
    return speed, float(np.mean(trainer.test()))


def compare(seeds: int = 3, steps: int = 500_000) -> None:
    """Train with each, seed by seed, and show speed and success."""
    torch.set_num_threads(1)
    learners = {
        "examples/ppo.py, 1,024 games": (train_ours, 1024),
        "Stable-Baselines3, 1,024 games": (train_sb3, 1024),
        "Stable-Baselines3, 64 games": (train_sb3, 64),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in learners}
    for seed in range(seeds):
        for name, (train, games) in learners.items():
            found[name].append(train(seed, games, steps))
            print(
                f"seed {seed}, {name}: {found[name][-1][0]:,.0f} steps a CPU-second, {found[name][-1][1]:.3f}",
                flush=True,
            )
    table = Table("learner", "steps a CPU-second", "success")
    for name, rows in found.items():
        speeds, shares = zip(*rows, strict=True)
        table.add_row(name, f"{np.median(speeds):,.0f}", ", ".join(f"{100 * share:.1f}" for share in shares))
    text_console().print(table)


if __name__ == "__main__":
    run_options(compare)
