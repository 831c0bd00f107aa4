"""The networks of a builder that sees pictures: a reader of sentences, a localiser, and a policy."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from iglu_marl.agents.learned.pov_senses import ACTIONS, FEATURES, GLIMPSES, NONE, NOWHERE, REACHES
from iglu_marl.rendering import palette

WORDS = 24  # of a sentence that are read
DONE = ACTIONS  # what a policy does when it is done, beside the walking actions
PEAKS, REACH = 17, 8.0  # of a belief; cells
NOTHING, PLACE, REMOVE, CHANGE = range(4)  # verbs


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
        words = torch.where(words < self.words.num_embeddings, words, 1)  # the vocabulary may have grown
        seen, _ = self.memory(self.words(words))
        there = (words > 0)[..., None]
        highest = seen.masked_fill(~there, -10.0).amax(1)
        mean = (seen * there).sum(1) / there.sum(1).clamp_min(1)
        return ReadRequest(*self.heads(torch.cat([highest, mean], 1)).split(self.SIZES, 1))


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
    """Reader, localiser and policy. words: size of the vocabulary."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.reader, self.localiser, self.policy = SentenceReader(words), Localiser(), Policy()
