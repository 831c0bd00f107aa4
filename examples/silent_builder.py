"""Learn from people to build from an instruction: by sentence vectors, or by pictures and tokens.

    python examples/silent_builder.py vectors --save silent.pt
    python examples/silent_builder.py pictures --save silent.zip

`vectors`: a network sees the world and the vector of the instruction (extra `pretrained`), and gives each cell the
probability of each change. It imitates people; its epoch and threshold are chosen on val. `pictures`: a policy of
Stable-Baselines3 sees a picture of 32 x 32 pixels and the words, and chooses a cell and its colour, step by step. It
imitates people, and then learns from the rewards of the game by PPO.

Both learn from IGLU's single turns (split train), and are measured on test as `iglu-marl predict --corpus
iglu-singleturn --split test` measures builders. They need the extra `rl` and the data.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import typer

from iglu_marl import Task
from iglu_marl.agents.bases import SentenceEncoder
from iglu_marl.core.dialogue import Codec
from iglu_marl.core.extras import extra
from iglu_marl.core.grid import index_of
from iglu_marl.data.situations import Predictor, Sample, Situation
from iglu_marl.evaluation.action_prediction import nothing, predict_actions
from iglu_marl.evaluation.prediction_samples import singleturn_part
from iglu_marl.language import fit_vocabulary
from iglu_marl.planning.ordering import order_edits
from iglu_marl.tasks.named import as_source

with extra("rl", script=True):
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from torch import nn
    from torch.nn import functional


def samples_of(split: str, count: int | None) -> list[Sample]:
    """Return the samples of a split that were built, at most `count`."""
    return [sample for sample in singleturn_part(None, split) if not sample.unbuilt][:count]


def measure(builders: dict[str, Predictor], count: int | None) -> None:
    """Print the F1 of changes of builders on test."""
    samples = samples_of("test", count)
    for name, builder in builders.items():
        print(
            f"{name}: F1 of changes on test {predict_actions(builder, samples, name=name).mean_f1().text()}"
        )
    print(f"{time.process_time():.0f} CPU-s")


# ------------------------------------------------------------------------------------------------------- vectors

CHANNELS, LAYERS, VECTOR = 32, 3, 384
THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)


class Network(nn.Module):
    """Logits [n, 7, 9, 11, 11] of removing (0) and of placing a colour (1 to 6), from worlds and sentence vectors.

    The vector scales and shifts the channels of each layer (Perez et al., FiLM, 2018).
    """

    def __init__(self) -> None:
        super().__init__()
        axes = (torch.linspace(-1, 1, size) for size in (9, 11, 11))
        self.register_buffer("places", torch.stack(torch.meshgrid(*axes, indexing="ij")))
        self.first = nn.Conv3d(7 + 3, CHANNELS, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv3d(CHANNELS, CHANNELS, 3, padding=1) for _ in range(LAYERS))
        self.film = nn.Linear(VECTOR, (LAYERS + 1) * 2 * CHANNELS)
        self.last = nn.Conv3d(CHANNELS, 7, 1)
        nn.init.constant_(self.last.bias, -6.0)  # few cells change

    def forward(self, worlds: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        blocks = functional.one_hot(worlds, 7).permute(0, 4, 1, 2, 3).float()
        places = self.places.expand(len(worlds), -1, -1, -1, -1)
        film = self.film(functional.dropout(vectors, 0.1, self.training))
        film = film.view(len(worlds), LAYERS + 1, 2, CHANNELS, 1, 1, 1)
        hidden = functional.relu(
            self.first(torch.cat([blocks, places], 1)) * (1 + film[:, 0, 0]) + film[:, 0, 1]
        )
        for number, layer in enumerate(self.layers, start=1):
            hidden = hidden + functional.relu(layer(hidden) * (1 + film[:, number, 0]) + film[:, number, 1])
        return self.last(hidden)


class Builder:
    """A trained network as a predictor: the world after an instruction."""

    def __init__(self, network: Network, encoder: SentenceEncoder, threshold: float) -> None:
        self.network, self.encoder, self.threshold = network.eval(), encoder, threshold

    def __call__(self, situation: Situation) -> np.ndarray:
        vector = torch.from_numpy(self.encoder([situation.dialogue[-1].text]))
        world = situation.grid.copy()
        with torch.no_grad():
            changes = self.network(torch.from_numpy(world)[None].long(), vector)[0].sigmoid().numpy()
        place = changes[1:].max(0)
        world[(changes[0] > self.threshold) & (place <= self.threshold)] = 0
        placed = (place > self.threshold) & (situation.grid == 0)
        world[placed] = 1 + changes[1:].argmax(0)[placed]
        return world


def part(split: str, encoder: SentenceEncoder, count: int | None) -> tuple[list[Sample], list[torch.Tensor]]:
    """Return the samples of a split, and as tensors: worlds, vectors, changes [n, 7, 9, 11, 11]."""
    samples = samples_of(split, count)
    worlds = torch.from_numpy(np.array([sample.situation.grid for sample in samples])).long()
    targets = torch.from_numpy(np.array([sample.target for sample in samples])).long()
    vectors = torch.from_numpy(encoder([sample.situation.dialogue[-1].text for sample in samples]))
    changes = functional.one_hot(targets, 7).permute(0, 4, 1, 2, 3).float() * (worlds != targets)[:, None]
    return samples, [worlds, vectors, changes]


def vectors(
    epochs: int = 18,
    batch: int = 32,
    rate: float = 3e-3,
    count: int | None = None,
    seed: int = 0,
    save: Path | None = None,
) -> None:
    """Imitate by sentence vectors. count: largest number of samples of a split."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    encoder, network = SentenceEncoder(), Network()
    _, (worlds, said, changes) = part("train", encoder, count)
    validation, _ = part("val", encoder, count)
    optimizer = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-2)
    steps = epochs * -(-len(worlds) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    best = -1.0
    for epoch in range(epochs):
        network.train()
        for rows in torch.randperm(len(worlds)).split(batch):
            logits = network(worlds[rows], said[rows])
            loss = functional.binary_cross_entropy_with_logits(logits, changes[rows], reduction="sum")
            optimizer.zero_grad()
            (loss / len(rows)).backward()
            optimizer.step()
            schedule.step()
        for threshold in THRESHOLDS:
            found = predict_actions(Builder(network, encoder, threshold), validation).mean_f1().value
            if found > best:
                best, chosen = found, threshold
                weights = {name: value.clone() for name, value in network.state_dict().items()}
        print(
            f"epoch {epoch + 1}: best F1 of changes on val {best:.3f}, {time.process_time():.0f} CPU-s",
            flush=True,
        )
    network.load_state_dict(weights)
    if save is not None:
        torch.save({"weights": weights, "threshold": chosen}, save)
    measure({"nothing": nothing, "imitation": Builder(network, encoder, chosen)}, count)


# ------------------------------------------------------------------------------------------------------ pictures

# Outside of the zone, looking over it: nobody stands where something is to be built.
POSE = (0, -0.25, 8, 0, -10)
STEPS = 12  # of an episode
STOP = (8, 0, 0, 0)  # an action without effect: remove air
UNREACHABLE = np.ones((9, 11, 11), np.int8)  # target of games in which the person's is unknown
PPO_OPTIONS = {
    "n_steps": 96,
    "batch_size": 1024,
    "n_epochs": 2,
    "learning_rate": 2e-4,
    "gamma": 0.5,
    "vf_coef": 0.1,
    "target_kl": 0.03,
}


def game(situation: Situation, target: np.ndarray = UNREACHABLE) -> Task:
    """Return a situation as a task."""
    return Task(
        situation.dialogue, target, starting_grid=situation.grid, invariant=False, pose=POSE, ids="iglu"
    )


def make_env(tasks: list[Task], codec: Codec) -> gym.Env[Any, Any]:
    """Return the game of a builder that sees a picture and words, and chooses a cell and its colour."""
    return gym.make(
        "IGLUGridworld-v0",
        tasks=tasks,
        controls="cells",
        builder_sees=("pov", "dialog"),
        pov_size=(32, 32),
        chat="tokens",
        vocabulary=codec,
        dialog_length=codec.dialog_length,
        max_steps=STEPS,
        wrong_scale=0.1,  # a policy that is paid -1 for wrong blocks learns to place none
    )


class Reader(BaseFeaturesExtractor):
    """Features of a picture, scaled and shifted by the mean of the words' embeddings."""

    def __init__(self, space: gym.spaces.Dict, size: int = 128) -> None:
        super().__init__(space, size)
        self.words = nn.EmbeddingBag(int(space["dialog"].high.max()) + 1, 64, padding_idx=0)
        self.picture = nn.Sequential(
            nn.Conv2d(3, 24, 4, 4),
            nn.ReLU(),
            nn.Conv2d(24, 32, 4, 2, 1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(512, size),
        )
        self.film = nn.Linear(64, 2 * size)
        self.last = nn.Linear(size, size)

    def forward(self, observations: dict[str, torch.Tensor]) -> torch.Tensor:
        scale, shift = self.film(4 * self.words(observations["dialog"].long())).chunk(2, 1)
        hidden = functional.relu(self.picture(observations["pov"]) * (1 + scale) + shift)
        return functional.relu(self.last(hidden))


class Player:
    """A function from observations to actions as a predictor: the world after an episode."""

    def __init__(self, env: gym.Env[Any, Any], choose: Callable[[Any], np.ndarray]) -> None:
        self.env, self.choose = env, choose

    def __call__(self, situation: Situation) -> np.ndarray:
        observation, _ = self.env.reset(options={"task": game(situation)})
        for _ in range(STEPS):
            observation = self.env.step(self.choose(observation))[0]
        return self.env.unwrapped.episode.worlds.grid[0].copy()


def imitate(model: PPO, env: gym.Env[Any, Any], samples: list[Sample], epochs: int) -> None:
    """Maximise the likelihood of people's changes, in an order in which each is possible, and of the end."""
    seen, actions = [], []
    for sample in samples:
        observation, _ = env.reset(options={"task": game(sample.situation)})
        edits = order_edits(sample.situation.grid, sample.target, "cells")[: STEPS - 1]
        for action in (*((*index_of(edit.cell), edit.color) for edit in edits), STOP):
            seen.append(observation)
            actions.append(action)
            observation = env.step(np.array(action))[0]
    inputs, _ = model.policy.obs_to_tensor({key: np.stack([one[key] for one in seen]) for key in seen[0]})
    labels = torch.tensor(actions)
    optimizer = torch.optim.AdamW(model.policy.parameters(), 1e-3, weight_decay=0.1)
    steps = epochs * -(-len(labels) // 128)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(128):
            _, likelihood, _ = model.policy.evaluate_actions(
                {key: value[rows] for key, value in inputs.items()}, labels[rows]
            )
            optimizer.zero_grad()
            (-likelihood.mean()).backward()
            optimizer.step()
            schedule.step()


def pictures(
    epochs: int = 10,
    steps: int = 160_000,
    count: int | None = None,
    seed: int = 0,
    save: Path | None = None,
) -> None:
    """Imitate by pictures and tokens, then learn by PPO. steps: of PPO. count: largest number of samples of a split."""
    torch.set_num_threads(1)
    codec = fit_vocabulary(as_source("iglu-singleturn:train"))
    samples = samples_of("train", count)
    tasks = [game(sample.situation, sample.target) for sample in samples]
    env = make_env(tasks, codec)
    model = PPO(
        "MultiInputPolicy",
        make_vec_env(lambda: make_env(tasks, codec), 64, seed=seed),
        **PPO_OPTIONS,
        policy_kwargs={"features_extractor_class": Reader, "net_arch": []},
        seed=seed,
        device="cpu",
    )
    env.action_space.seed(seed)
    player = Player(env, lambda observation: model.predict(observation)[0])
    baselines: dict[str, Predictor] = {
        "nothing": nothing,
        "random": Player(env, lambda _: env.action_space.sample()),
    }
    measure(baselines, count)
    if epochs:
        imitate(model, env, samples, epochs)
        measure({"imitation": player}, count)
    if steps:
        model.learn(steps)
        measure({"imitation, then PPO" if epochs else "PPO": player}, count)
    if save is not None:
        model.save(save)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(vectors)
    app.command()(pictures)
    app()
