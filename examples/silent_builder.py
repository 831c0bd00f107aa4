"""Learn from people to build from an instruction, by sentence vectors.

    python examples/silent_builder.py --save silent.pt

A network sees the world and the vector of the instruction (extra `pretrained`), and gives each cell the probability of
each change. It imitates people; its epoch and threshold are chosen on val. It learns from IGLU's single turns (split
train), and is measured on test as `iglu-marl predict --corpus iglu-singleturn --split test` measures builders. It needs
the extra `rl` and the data.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import typer

from iglu_marl.agents.bases import SentenceEncoder
from iglu_marl.core.extras import extra
from iglu_marl.data.situations import Predictor, Sample, Situation
from iglu_marl.evaluation.action_prediction import nothing, predict_actions
from iglu_marl.evaluation.prediction_samples import singleturn_part

with extra("rl", script=True):
    import torch
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


def main(
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


if __name__ == "__main__":
    typer.run(main)
