"""The edit model: for every cell, the probability that a block is placed there (by colour), or removed.

A recurrent network reads the words. A convolutional network sees the world in the builder's frame, with recent edits
and the builder's pose, modulated by the words (FiLM: Perez et al. 2018). Colours are equivariant: a colour is
described by the words said about it and by its use, never by its name.

The outputs are marginal probabilities of all remaining actions of the sequence. For actions, see `decoding`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from iglu_marl.agents.learned.examples import ExampleBatch
from iglu_marl.agents.learned.text import COLOR, MANNERS
from iglu_marl.core.grid import COLORS, ZONE_SHAPE, cells_of

COLOR_COUNT = len(COLORS)
COUNTED = 8  # actions done in the sequence that are distinguished
_CELL_PLANES = 23
_COLOR_FEATURES = 6
_LEAST = 1e-12  # probability of a member, so that its logarithm is one


@dataclass(frozen=True)
class ModelConfig:
    """Size of a model. words: size of its vocabulary."""

    words: int
    embedding: int = 64
    hidden: int = 64  # of the recurrent network, in each direction
    queries: int = 4  # with which the text is looked at
    text: int = 128  # what the text comes to
    mention: int = 16  # what is known of a colour
    channels: int = 32
    blocks: int = 3
    dropout: float = 0.25

    def to_json(self) -> dict[str, Any]:
        """Return a dict."""
        return asdict(self)


class Scores(NamedTuple):
    """Logits: place, remove [n, 1089]; color [n, 1089, 6] (colours 1..6, given a placement)."""

    place: Tensor
    remove: Tensor
    color: Tensor


def tensors(batch: ExampleBatch) -> dict[str, Tensor]:
    """Return the arrays of a batch as tensors."""
    return {name: torch.from_numpy(np.ascontiguousarray(part)) for name, part in vars(batch).items()}


class _Reader(nn.Module):
    """Maps words to states [n, length, 2 × hidden] and a summary [n, text]."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.word = nn.Embedding(config.words, config.embedding, padding_idx=0)
        self.manner = nn.Embedding(MANNERS, config.embedding, padding_idx=0)
        self.recurrent = nn.GRU(config.embedding, config.hidden, batch_first=True, bidirectional=True)
        self.queries = nn.Linear(2 * config.hidden + config.embedding, config.queries)
        self.drop = nn.Dropout(config.dropout)
        self.summary = nn.Linear(2 * config.hidden * config.queries, config.text)

    def forward(self, words: Tensor, manner: Tensor) -> tuple[Tensor, Tensor]:
        known = self.manner(manner)
        given = self.drop(self.word(words) + known)
        states, _ = self.recurrent(given)
        states = self.drop(states)
        scores = self.queries(torch.cat([states, known], -1)).masked_fill((manner == 0)[..., None], -1e4)
        weights = scores.softmax(1).transpose(1, 2)
        return states, self.summary((weights @ states).flatten(1))


class _Block(nn.Module):
    """A residual convolution modulated by the words, with features pooled along the three axes."""

    def __init__(self, channels: int, text: int) -> None:
        super().__init__()
        self.near = nn.Conv3d(channels, channels, 3, padding=1)
        self.narrow = nn.Conv3d(channels, 8, 1)
        self.far = nn.ModuleList(nn.Conv3d(8, channels, 1) for _ in range(3))
        self.norm = nn.GroupNorm(4, channels)
        self.steer = nn.Linear(text, 2 * channels)

    def forward(self, world: Tensor, text: Tensor) -> Tensor:
        mixed, thin = self.near(world), self.narrow(world)
        for axis, line in enumerate(self.far, 2):
            mixed = mixed + line(thin.amax(axis, keepdim=True))
        return world + _steered(self.norm(mixed).to(mixed.dtype), self.steer(text))


class EditModel(nn.Module):
    """The network described in the module's docstring."""

    places: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.reader = _Reader(config)
        width = 2 * config.hidden
        self.said = nn.Linear(width, config.mention)
        self.gate = nn.Linear(width, 1)
        self.color = nn.Linear(config.mention + _COLOR_FEATURES, config.mention)
        self.count = nn.Embedding(COUNTED + 1, config.text)
        self.outlook = nn.Linear(6, config.text)
        self.start = nn.Conv3d(_CELL_PLANES + config.mention, config.channels, 3, padding=1)
        self.start_steer = nn.Linear(config.text, 2 * config.channels)
        self.blocks = nn.ModuleList(_Block(config.channels, config.text) for _ in range(config.blocks))
        self.drop = nn.Dropout(config.dropout)
        self.spare = nn.Dropout3d(config.dropout / 2)
        self.last = nn.Conv3d(config.channels, 64, 1)
        self.last_steer = nn.Linear(config.text, 128)
        self.out = nn.Conv3d(64, 2 + config.mention, 1)
        self.color_score = nn.Sequential(
            nn.Linear(config.mention + config.text, 32), nn.ReLU(), nn.Linear(32, 1)
        )
        nn.init.constant_(self.out.bias[:1], -5.0)
        nn.init.constant_(self.out.bias[1:2], -3.0)
        places = cells_of(np.ones(ZONE_SHAPE)).astype(np.float32)
        self.register_buffer("places", torch.from_numpy(places), persistent=False)

    def forward(self, batch: dict[str, Tensor]) -> Scores:
        """Return logits for a batch (see `tensors`)."""
        states, text = self.reader(batch["words"], batch["manner"])
        text = functional.relu(
            text + self.count(batch["progress"].clamp(max=COUNTED)) + self.outlook(self._outlook(batch))
        )
        text = self.drop(text)
        colors = self._colors(batch, states)  # [n, 7, mention], air first
        index = batch["grid"][..., None].expand(-1, -1, colors.shape[2])
        planes = torch.cat([self._planes(batch), colors.gather(1, index)], 2)
        world = planes.transpose(1, 2).reshape(len(text), -1, *ZONE_SHAPE)
        world = world.contiguous(memory_format=torch.channels_last_3d)
        world = _steered(self.start(world), self.start_steer(text))
        for block in self.blocks:
            world = block(world, text)
        world = self.out(_steered(self.last(self.spare(world)), self.last_steer(text))).flatten(2)
        own = self.color_score(torch.cat([colors[:, 1:], text[:, None].expand(-1, COLOR_COUNT, -1)], 2))
        color = own.transpose(1, 2) + world[:, 2:].transpose(1, 2) @ colors[:, 1:].transpose(1, 2)
        return Scores(world[:, 0], world[:, 1].masked_fill(batch["grid"] == 0, -30.0), color)

    def _outlook(self, batch: dict[str, Tensor]) -> Tensor:
        """Return features of builder and world as a whole, [n, 6]."""
        pose, grid = batch["pose"], batch["grid"]
        size = (grid != 0).sum(1).float()
        return torch.stack(
            [
                pose[:, 3] / 45, pose[:, 4] / 45, pose[:, 1] / 4, (size == 0).float(), (size + 1).log() / 3,
                (batch["latest"].sum(1).float() + 1).log(),
            ], 1,
        )  # fmt: skip

    def _colors(self, batch: dict[str, Tensor], states: Tensor) -> Tensor:
        """Return features of each colour, [n, 7, mention]; zeros for air."""
        is_color = (batch["words"] == COLOR)[..., None]
        names = functional.one_hot(batch["colors"], COLOR_COUNT + 1).float() * is_color  # [n, length, 7]
        said = torch.tanh(self.said(states)) * torch.sigmoid(self.gate(states))
        meant = names.transpose(1, 2) @ said
        order = torch.arange(1, names.shape[1] + 1, device=names.device, dtype=names.dtype) / names.shape[1]
        latest = (names * order[:, None]).amax(1)  # how late it was named
        new = ((batch["manner"] - 1) // 2 % 2 == 1) & (batch["manner"] > 0)
        fresh = (names * new[..., None]).sum(1).clamp(max=2)
        blocks = functional.one_hot(batch["grid"], COLOR_COUNT + 1).float()
        counts = (blocks.sum(1) + 1).log() / 2
        since = batch["since"].float()
        placed = (batch["kind"] > 0).float()
        used = (blocks * (placed * torch.exp(-since / 2))[..., None]).sum(1)
        in_hand = (blocks * (placed * (since == 0))[..., None]).sum(1)
        now = (blocks * (batch["done"] > 0)[..., None]).sum(1).clamp(max=3)
        features = torch.stack([latest, fresh, counts, used, in_hand, now], 2)
        known = self.color(torch.cat([meant, features], 2))
        return known * (torch.arange(COLOR_COUNT + 1, device=known.device) > 0)[:, None]

    def _planes(self, batch: dict[str, Tensor]) -> Tensor:
        """Return features of each cell without its colour, [n, 1089, 23]."""
        filled = (batch["grid"] != 0).float()
        since, kind, done = batch["since"].float(), batch["kind"].float(), batch["done"].float()
        grid = filled.reshape(-1, 1, *ZONE_SHAPE)
        padded = functional.pad(grid, (1, 1, 1, 1, 1, 1))
        below = padded[:, :, :-2, 1:-1, 1:-1].clone()
        below[:, :, 0] = 1.0
        sides = torch.stack(
            [
                padded[:, :, 2:, 1:-1, 1:-1], padded[:, :, 1:-1, 2:, 1:-1], padded[:, :, 1:-1, :-2, 1:-1],
                padded[:, :, 1:-1, 1:-1, 2:], padded[:, :, 1:-1, 1:-1, :-2],
            ]
        ).amax(0)  # fmt: skip
        away = self.places - batch["pose"][:, None, :3]
        distance = away.norm(dim=2).clamp(min=0.5)
        yaw, pitch = torch.deg2rad(batch["pose"][:, 3]), torch.deg2rad(batch["pose"][:, 4])
        gaze = torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), -yaw.cos() * pitch.cos()], 1)
        along = (away * gaze[:, None]).sum(2)
        off = (distance**2 - along**2).clamp(min=0).sqrt()
        x, y, z = self.places.unbind(1)
        fixed = torch.stack([x / 5, (y - 3) / 4, z / 5, (y == -1).float(), x.abs() / 5, z.abs() / 5], 1)
        planes = torch.stack(
            [
                filled, (done > 0).float(), (done < 0).float(), batch["latest"].float(), (since == 0).float(),
                (since == 1).float(), (kind > 0) * torch.exp(-since / 3), (kind < 0) * torch.exp(-since / 3),
                (kind > 0) * torch.exp(-since / 12), below.flatten(1), sides.flatten(1), away[..., 0] / 5,
                away[..., 1] / 5, away[..., 2] / 5, distance / 8, along / distance, torch.exp(-off),
            ], 2,
        )  # fmt: skip
        return torch.cat([planes, fixed.expand(len(filled), -1, -1)], 2)


class Ensemble(nn.ModuleList):
    """Several models whose probabilities are averaged."""

    def forward(self, batch: dict[str, Tensor]) -> Scores:
        """Return logits for a batch."""
        scores = [model(batch) for model in self]
        place, remove = (
            torch.stack([getattr(one, name).float().sigmoid() for one in scores])
            for name in ("place", "remove")
        )
        color = torch.stack([one.color.float().softmax(2) for one in scores]) * place[..., None]
        return Scores(
            place.mean(0).logit(_LEAST), remove.mean(0).logit(_LEAST), (color.mean(0) + _LEAST).log()
        )


def network(config: ModelConfig, members: int = 1) -> EditModel | Ensemble:
    """Return a model, or an ensemble of `members`."""
    return EditModel(config) if members == 1 else Ensemble(EditModel(config) for _ in range(members))


def _steered(world: Tensor, steering: Tensor) -> Tensor:
    scale, shift = steering[:, :, None, None, None].chunk(2, 1)
    return functional.relu(world * (1 + scale) + shift)


def losses(scores: Scores, batch: dict[str, Tensor]) -> Tensor:
    """Return the mean over examples of the summed cross-entropy of remaining actions, [3]: place, remove, color."""
    placing = batch["place"] > 0
    place = functional.binary_cross_entropy_with_logits(scores.place, placing.float(), reduction="none")
    remove = functional.binary_cross_entropy_with_logits(
        scores.remove, batch["remove"].float(), reduction="none"
    )
    color = functional.cross_entropy(scores.color[placing], batch["place"][placing] - 1, reduction="sum")
    return torch.stack([place.sum(), remove.sum(), color]) / len(placing)
