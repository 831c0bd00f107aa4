"""The networks of a builder that sees pictures: a reader of sentences, a localiser, and a policy."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from iglu_marl.agents.learned.pov_senses import (
    ACTIONS,
    FEATURES,
    GLIMPSES,
    NONE,
    NOWHERE,
    OUTLINE,
    REACHES,
)
from iglu_marl.rendering import palette

WORDS = 24  # of a sentence that are read
DONE = ACTIONS  # what a policy does when it is done, beside the walking actions
PEAKS, REACH = 17, 8.0  # of a belief; cells
NOTHING, PLACE, REMOVE, CHANGE = range(4)  # verbs
SLOTS = 2  # requests of a sentence that name landmarks
AWAY = 3  # cells from a landmark, at most
_SIDES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # north, east, south, west
WAYS = ((0, 0, 0), (0, 1, 0), *((n * x, 0, n * z) for n in range(1, AWAY + 1) for x, z in _SIDES))
"""Cells from a landmark: itself, the one on top, those north, east, south and west."""


class ReadRequest(NamedTuple):
    """Logits of a sentence's request: verb [n, 4], colours before and after [n, 7] each, x, z [n, 11], y [n, 9]."""

    verb: Tensor
    before: Tensor
    after: Tensor
    x: Tensor
    y: Tensor
    z: Tensor


class SentenceReader(nn.Module):
    """Maps words, int64 [n, WORDS] (0: none), to a request."""

    SIZES = (4, 7, 7, 11, 9, 11)

    def __init__(self, words: int, width: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.memory = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.heads = nn.Sequential(nn.Linear(4 * width, 128), nn.ReLU(), nn.Linear(128, sum(self.SIZES)))

    def forward(self, words: Tensor) -> ReadRequest:
        """Return the logits."""
        return ReadRequest(*self.heads(_summary(self.words, self.memory, words)).split(self.SIZES, 1))


class ReferenceReader(nn.Module):
    """Maps words, int64 [n, WORDS] (0: none), to requests that name a standing block, the landmark, by its colour.

    They are logits of `SLOTS` requests in their order: verb [n, SLOTS, 3] (`NOTHING`: no such request), colour of the
    new block [n, SLOTS, 7], colour of the landmark [n, SLOTS, 7], and the cells from it [n, SLOTS, 14] (see `WAYS`).
    """

    SIZES = (3, 7, 7, len(WAYS))

    def __init__(self, words: int, width: int = 32) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.memory = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.heads = nn.Sequential(
            nn.Linear(4 * width, 128), nn.ReLU(), nn.Linear(128, SLOTS * sum(self.SIZES))
        )

    def forward(self, words: Tensor) -> tuple[Tensor, ...]:
        """Return the logits."""
        made = self.heads(_summary(self.words, self.memory, words))
        return made.unflatten(1, (SLOTS, -1)).split(self.SIZES, 2)


def _summary(embedding: nn.Embedding, memory: nn.GRU, words: Tensor) -> Tensor:
    """Return maximum and mean of what a memory makes of words, [n, 4 * width]."""
    words = torch.where(words < embedding.num_embeddings, words, 1)  # the vocabulary may have grown
    seen, _ = memory(embedding(words))
    there = (words > 0)[..., None]
    highest = seen.masked_fill(~there, -10.0).amax(1)
    mean = (seen * there).sum(1) / there.sum(1).clamp_min(1)
    return torch.cat([highest, mean], 1)


class Finder(nn.Module):
    """Estimates where a block is from its outline in a picture (see `pov_senses.outlines`)."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.place = nn.Sequential(
            nn.Linear(OUTLINE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4)
        )

    def forward(self, outlines: Tensor) -> tuple[Tensor, Tensor]:
        """Return the centre in cells, [..., 3]: along the bearing, right of it, above the eye; log width [...]."""
        far, aside, up, width = self.place(outlines).unbind(-1)
        return torch.stack([far.clamp(-4, 3).exp(), aside, up], -1), width.clamp(-4, 2)


class Belief(NamedTuple):
    """A mixture of normal densities of x and of z, a cell apart: log shares and middles in cells, each [..., 2, PEAKS],
    and the log of their common width in cells, [..., 2, 1].
    """

    share: Tensor
    middle: Tensor
    width: Tensor


class Localiser(nn.Module):
    """Estimates the starting position from remembered pictures of the ground (see `pov_senses.seen_ground`)."""

    def __init__(self, width: int = 192) -> None:
        super().__init__()
        inputs = 2 * REACHES + 5
        self.place = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 8)
        )
        self.straight = nn.Linear(inputs, 8)

    def forward(self, memory: Tensor) -> Belief:
        """Map float32 [..., GROUND] to a rough position, by the extent of the ground, and an exact one, by lines."""
        reach, (sine_x, cosine_x, sine_z, cosine_z, near) = (
            memory[..., :REACHES],
            memory[..., REACHES:].unbind(-1),
        )
        seen = reach > 0
        far = torch.where(seen, (reach - NONE) / 4, -3.0)
        sine, cosine = torch.stack([sine_x, sine_z], -1), torch.stack([cosine_x, cosine_z], -1)
        clear = torch.cat([sine, cosine], -1) / (near[..., None] + 1e-3)
        known = torch.cat([far, seen, clear, near[..., None].log1p()], -1)
        made = (self.place(known) + self.straight(known)).unflatten(-1, (4, 2)).unsqueeze(-1)
        rough, spread, shift, width = made.unbind(-3)
        lines = 0.5 - torch.atan2(sine, cosine + 1e-6)[..., None] / (2 * math.pi) + 0.2 * shift.tanh()
        middle = lines + torch.arange(PEAKS) - PEAKS // 2
        off = (middle - REACH * rough) / spread.clamp(-3, 3).exp()
        return Belief((-0.5 * off**2).log_softmax(-1), middle, width.clamp(-4, 3) - 1)


def best_places(belief: Belief) -> tuple[Tensor, Tensor]:
    """Return the most probable peak in cells [..., 2], and its uncertainty [...]: weight of other peaks, and its
    width.
    """
    share, best = belief.share.max(-1, keepdim=True)
    sure, width = share[..., 0].exp().prod(-1), belief.width[..., 0].exp().sum(-1)
    return belief.middle.gather(-1, best)[..., 0], (1 - sure + width).clamp(0, 2)


def _shown() -> Tensor:
    """What a palette index is, float32 [NOWHERE + 1, LOOKS]: sky, white, line, grey, outside; a block, its border,
    its upper side, a side to north or south.
    """
    table = torch.zeros(NOWHERE + 1, LOOKS)
    table[palette.SKY, 0] = table[[palette.WHITE_FILL, palette.WHITE_LINE], 1] = 1.0
    table[[palette.WHITE_LINE, palette.GREY_LINE], 2] = table[[palette.GREY_FILL, palette.GREY_LINE], 3] = 1.0
    table[NOWHERE, 4] = 1.0
    blocks = torch.arange(palette.FIRST_BLOCK, NOWHERE)
    part = (blocks - palette.FIRST_BLOCK) % palette.ENTRIES_PER_COLOR
    table[blocks, 5] = 1.0
    table[blocks, 6] = (part % 2 == palette.BORDER).float()
    table[blocks, 7] = (part // 2 == palette.SHADE_TOP).float()
    table[blocks, 8] = (part // 2 == palette.SHADE_Z).float()
    return table


LOOKS = 9


class Policy(nn.Module):
    """Maps features float32 [n, FEATURES] and glimpses uint8 [n, GLIMPSES] to logits of actions [n, ACTIONS + 1]."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.register_buffer("shown", _shown(), persistent=False)
        self.net = nn.Sequential(
            nn.Linear(FEATURES + GLIMPSES * (LOOKS + 1), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, ACTIONS + 1),
        )

    def forward(self, features: Tensor, glimpses: Tensor, color: Tensor) -> Tensor:
        """Return the logits. color: the requested one, int64 [n]."""
        index = glimpses.long()
        mine = (index - palette.FIRST_BLOCK).div(palette.ENTRIES_PER_COLOR, rounding_mode="floor")
        same = (mine + 1 == color[:, None]) & (index < NOWHERE)
        looks = torch.cat([self.shown[index], same[..., None]], -1)
        return self.net(torch.cat([features, looks.flatten(1)], 1))


class PovModel(nn.Module):
    """Readers, localiser, finder and policy. words: size of the vocabulary; named: of that of the second reader."""

    def __init__(self, words: int, named: int) -> None:
        super().__init__()
        self.reader, self.localiser, self.policy = SentenceReader(words), Localiser(), Policy()
        self.references, self.finder = ReferenceReader(named), Finder()
