"""Learning from a fixed dataset: an expert's games are recorded, become a Minari dataset, and a network imitates them.

The oracle builds small random structures (lone builder, flying, target in the observation). Every game is recorded;
`write_minari` simulates the recording again into a dataset. A network is then trained on the dataset alone, and plays
further games, of the same kinds of structures, in the environment that the dataset recovers.

    python examples/offline_minari.py --folder datasets

Needs torch and Minari: pip install "iglu_marl[minari,rl]"
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import gymnasium as gym
import numpy as np
import typer

import iglu_marl
from iglu_marl.agents import OracleBuilder
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import cells_of, color_at
from iglu_marl.recording.offline import write_minari
from iglu_marl.tasks import RandomTasks

with extra("rl", script=True):
    import minari
    import torch
    from torch import nn

DATASET = "iglu/oracle-builder-v0"
TASKS = RandomTasks(max_blocks=3)
TEST_SEED = 1_000_000  # structures from here on are for the test


def record(path: Path, episodes: int) -> None:
    """Record games of the oracle in the file `path`."""
    env = gym.make(
        "IGLUGridworldVector-v0", tasks=TASKS, action_space="flying", target_in_obs=True, max_steps=60
    )
    oracle = OracleBuilder.for_env(env)
    with iglu_marl.Recorder(path, agents={"builder": "oracle"}) as recorder:
        for seed in range(episodes):
            iglu_marl.play(env, oracle, seed=seed, on_step=recorder)


def look(observation: dict) -> tuple[np.ndarray, int]:
    """Return the nearest different cell, relative to the builder, float32 [6], and its missing colour."""
    *eye, pitch, yaw = (float(value) for value in observation["agentPos"])
    grid, target = observation["grid"], observation["target_grid"]
    cells = cells_of(grid != target)
    if not len(cells):
        return np.zeros(6, np.float32), 0
    away = cells - np.array(eye)
    nearest = (away**2).sum(axis=1).argmin()
    (east, up, south), turn = away[nearest], np.radians(yaw)
    right, ahead = east * np.cos(turn) + south * np.sin(turn), east * np.sin(turn) - south * np.cos(turn)
    color = color_at(target, cells[nearest])
    seen = np.array([right, up, ahead, np.arctan2(right, ahead), pitch / 45, color > 0], np.float32)
    return seen, color


class Builder(nn.Module):
    """Movement and camera by regression, hands by classification. The colour is that of the target."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.motion, self.hands = nn.Linear(128, 5), nn.Linear(128, 3)

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return movement and camera [n, 5], and logits of nothing, place, break [n, 3], for float32 [n, 6]."""
        features = self.trunk(seen)
        return self.motion(features), self.hands(features)

    @torch.no_grad()
    def act(self, observation: dict) -> dict:
        """Return an action of the encoding "flying"."""
        seen, color = look(observation)
        motion, hands = (part.numpy() for part in self(torch.from_numpy(seen)))
        placement = int(hands.argmax())
        return {
            "movement": np.clip(motion[:3], -1, 1),
            "camera": np.clip(5 * motion[3:], -5, 5),
            "inventory": color if placement == 1 else 0,
            "placement": placement,
        }


def train(network: Builder, dataset: minari.MinariDataset, epochs: int) -> None:
    seen, motion, hands = [], [], []
    for episode in dataset:
        for step, placement in enumerate(episode.actions["placement"]):
            seen.append(look({key: values[step] for key, values in episode.observations.items()})[0])
            motion.append([*episode.actions["movement"][step], *episode.actions["camera"][step] / 5])
            hands.append(int(placement))
    inputs, moved, placed = (
        torch.tensor(np.stack(seen)),
        torch.tensor(np.stack(motion)).float(),
        torch.tensor(hands),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(128):
            motions, choices = network(inputs[batch])
            loss = nn.functional.mse_loss(motions, moved[batch])
            loss = loss + nn.functional.cross_entropy(choices, placed[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def completed(network: Builder, env: gym.Env, games: int) -> dict[int, float]:
    """Return the share of new structures that are completed, by number of blocks."""
    built: dict[int, list[bool]] = {}
    for seed in range(TEST_SEED, TEST_SEED + games):
        task = TASKS.sample(np.random.default_rng(seed))
        observation, _ = env.reset(seed=seed, options={"task": task})
        terminated = truncated = False
        while not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(network.act(observation))
        built.setdefault(int((task.target_grid > 0).sum()), []).append(terminated)
    return {blocks: sum(done) / len(done) for blocks, done in sorted(built.items())}


def main(
    episodes: int = 300, epochs: int = 40, games: int = 100, seed: int = 0, folder: str | None = None
) -> dict[str, dict[int, float]]:
    """Record, train and test; recording and dataset stay in `folder`, if given."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(folder or temporary).resolve()
        place.mkdir(parents=True, exist_ok=True)
        os.environ["MINARI_DATASETS_PATH"] = str(place)
        recording = place / "games.jsonl"
        record(recording, episodes)
        write_minari(recording, DATASET)

        dataset = minari.load_dataset(DATASET)  # from here on, the recording is not needed
        print(f"{dataset.total_episodes} episodes, {dataset.total_steps} steps")
        env, network = dataset.recover_environment(), Builder()
        scores = {"untrained": completed(network, env, games)}
        train(network, dataset, epochs)
        scores["trained"] = completed(network, env, games)
        env.close()
    for name, shares in scores.items():
        rates = ", ".join(f"{share:.2f} of those with {blocks}" for blocks, share in shares.items())
        print(f"{name}, share of {games} further structures completed, by blocks: {rates}")
    return scores


if __name__ == "__main__":
    typer.run(main)
