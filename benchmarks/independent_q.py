"""Independent Q-learning on levels of teams, by DQN of Stable-Baselines3: all builders share one network.

A method of `python -m benchmarks.algorithms`. Needs the extra `rl`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from marl_ppo import LevelGame
from stable_baselines3 import DQN

from benchmarks.sb3_games import Games

SIDE_BY_SIDE = 16
OPTIONS: dict[str, Any] = {
    "batch_size": 128,
    "buffer_size": 50_000,
    "exploration_final_eps": 0.05,
    "exploration_fraction": 0.5,
    "gamma": 0.97,
    "gradient_steps": 4,
    "learning_starts": 2_000,
    "target_update_interval": 1_000,
    "train_freq": 1,
}


class Builders(Games):
    """Each builder of each game as an environment of its own, with the tasks of the training split.

    `steps` counts those of all games together. A row of `curve` has them, and the share of the games since the last row
    that were completed.
    """

    def __init__(self, level: str, seed: int) -> None:
        self.game, self.rng = LevelGame(level), np.random.default_rng(seed)
        self.tasks, _ = self.game.tasks(seed)
        self.steps, self.curve, self._ended = 0, list[dict[str, float]](), list[bool]()
        env = self.game.make(SIDE_BY_SIDE, {"rewards": "shared", "seed": seed}, True)
        self.agents = env.possible_agents
        count = SIDE_BY_SIDE * len(self.agents)
        super().__init__(env, count, env.observation_space(self.agents[0]), env.action_space(self.agents[0]))

    def _drawn(self) -> list[Any]:
        return [self.tasks[number] for number in self.rng.integers(len(self.tasks), size=SIDE_BY_SIDE)]

    def _shown(self, seen: Any) -> np.ndarray:
        return np.concatenate([seen[agent] for agent in self.agents])

    def reset(self) -> np.ndarray:
        """Start all games."""
        return self._shown(self.env.reset(seed=0, options={"task": self._drawn()})[0])

    def step_wait(self) -> Any:
        """Run the step; a game that is over starts again."""
        parts = dict(zip(self.agents, np.split(self.actions, len(self.agents)), strict=True))
        seen, rewards, terminated, truncated, _ = self.env.step(parts)
        first = self.agents[0]
        over = terminated[first] | truncated[first]
        shown = self._shown(seen)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self.steps += SIDE_BY_SIDE
        if over.any():
            self._ended += list(terminated[first][over])
            for number in np.flatnonzero(np.tile(over, len(self.agents))):
                infos[number]["terminal_observation"] = shown[number].copy()
            shown = self._shown(self.env.reset(options={"reset_mask": over, "task": self._drawn()})[0])
        given = np.concatenate([rewards[agent] for agent in self.agents]).astype(np.float32)
        return shown, given, np.tile(over, len(self.agents)), infos

    def note(self) -> None:
        """Add a row to the curve."""
        completed = float(np.mean(self._ended)) if self._ended else 0.0
        self.curve.append({"steps": self.steps, "completed": completed})
        self._ended = []


class IndependentQ:
    """DQN of all builders of a level. rate: learning rate."""

    def __init__(self, level: str, seed: int, rate: float) -> None:
        self.builders = Builders(level, seed)
        self.model = DQN(
            "MlpPolicy",
            self.builders,
            learning_rate=rate,
            policy_kwargs={"net_arch": [64, 64]},
            seed=seed,
            device="cpu",
            **OPTIONS,
        )

    @property
    def steps(self) -> int:
        """Steps of all games together."""
        return self.builders.steps

    @property
    def curve(self) -> list[tuple[int, float]]:
        """Return the share of games that were completed in training, by the steps before them."""
        rows = self.builders.curve
        return [(0, 0.0), *((int(row["steps"]), row["completed"]) for row in rows)]

    def train(self, steps: int, rows: int = 30) -> None:
        """Train for a number of steps of all games together."""
        for _ in range(rows):
            self.model.learn(steps // rows * len(self.builders.agents), reset_num_timesteps=False)
            self.builders.note()

    def measure(self, tasks: list[Any]) -> float:
        """Return the share of tasks that are completed with the best actions."""
        env = self.builders.game.make(len(tasks), {"rewards": "shared", "seed": 0}, False)
        agents = self.builders.agents
        seen, _ = env.reset(options={"task": tasks})
        playing, completed = np.ones(len(tasks), bool), np.zeros(len(tasks), bool)
        for _ in range(self.builders.game.rules.steps):
            chosen = {agent: self.model.predict(seen[agent], deterministic=True)[0] for agent in agents}
            seen, _, terminated, truncated, _ = env.step(chosen)
            completed |= playing & terminated[agents[0]]
            playing &= ~(terminated[agents[0]] | truncated[agents[0]])
        env.close()
        return float(completed.mean())

    def reset(self, role: Any, seed: int | None) -> None:
        """Do nothing: it remembers nothing."""

    def act(self, observation: np.ndarray) -> int:
        """Return the number with the highest value, for a vector."""
        with torch.no_grad():
            return int(self.model.predict(np.asarray(observation), deterministic=True)[0])

    def close(self) -> None:
        """Do nothing."""
