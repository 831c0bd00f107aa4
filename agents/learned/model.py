"""The model: which action is next, of all that can be done in a state, or whether all is done.

Convolutions read the words. Queries that depend on the state look at them, so that after the first half of a request
the second is read. Each candidate (see `features`) is scored by a network that the words steer (FiLM: Perez et al.
2018), and by pointers: the words choose a block, and how far from it, in which direction, they mean. Colours are
equivariant: a colour is known by what was said of it and by how it was used, never by its name.

The outputs are the probabilities of the next action. To act, see `decoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from iglu_marl.agents.learned.examples import Example, Ints, states_of
from iglu_marl.agents.learned.features import FEATURES, PLACES, candidates
from iglu_marl.agents.learned.text import COLOR, MANNERS
from iglu_marl.core.grid import COLORS

COLOR_COUNT = len(COLORS)
COUNTED = 8  # actions done in the sequence that are told apart
ANCHORS = 16  # blocks that can be pointed at, those changed last
KEPT = 1 / 3  # of the empty candidates in training
_REACH = (5, 4, 5)  # cells from an anchor, along x, y, z
_SPAN = tuple(2 * reach + 1 for reach in _REACH)
_COLOR_FEATURES = 6
_OUTLOOK = 7


@dataclass(frozen=True)
class ModelConfig:
    """The size of a model. words: of its vocabulary. The others are widths; pointers: how many."""

    words: int
    length: int = 256  # words that are read
    in_line: bool = False  # whether what the builder did is told between the words
    embedding: int = 64
    layers: int = 3
    queries: int = 4
    text: int = 128
    mention: int = 16
    hidden: int = 64
    pointers: int = 2
    reach: int = 16
    dropout: float = 0.3

    def to_json(self) -> dict[str, Any]:
        """As a dict."""
        return asdict(self)


class Scores(NamedTuple):
    """Logarithms of probabilities: action [n, C + 1], of a cell, the last for being done; color [n, C, 6], of colours
    1..6, given that a block is placed there.
    """

    action: Tensor
    color: Tensor


Batch = dict[str, Tensor]


def batch_of(
    examples: Sequence[Example],
    prefixes: Sequence[Ints],
    owners: Sequence[int],
    *,
    states: Sequence[Example] | None = None,
    thin: np.random.Generator | None = None,
    device: torch.device | str = "cpu",
) -> Batch:
    """A batch of states: of framed examples, after rows of their actions.

    owners: for each prefix, the number of its example, whose words it shares. states: for each prefix an example of its
    own, if that has other actions. thin: where probabilities are to be learned, of the empty cells in which nothing is
    done a part by chance stands for all.
    """
    owner = np.asarray(owners, np.int64)
    begun = [examples[index] for index in owner.tolist()] if states is None else states
    followed = states_of(begun, prefixes)
    text = np.stack([example.text for example in examples])
    length = max(1, int((text[:, 2] > 0).sum(1).max()))
    kept, share = None, 1.0
    if thin is not None:
        share = KEPT
        kept = thin.random(followed.grid.shape) < share
        asked = np.zeros_like(kept)
        for row, example in enumerate(begun):
            asked[row, example.actions[:, 0]] = True
        kept |= asked
    found = candidates(followed, kept)
    chance = np.zeros(found.cells.shape, np.float32)
    if thin is not None:
        one_of = ~found.filled & ~asked[np.arange(len(owner))[:, None], found.cells]
        chance[one_of] = -np.log(share)
    arrays: dict[str, Any] = {
        **dict(zip(("words", "colors", "manner"), text[:, :, -length:].transpose(1, 0, 2), strict=True)),
        "owner": owner,
        **{name: getattr(followed, name) for name in ("grid", "since", "kind", "done", "progress", "pose")},
        "recent": followed.latest.sum(1),
        **found._asdict(),
        "stands_for": chance,
    }
    return {name: torch.from_numpy(np.ascontiguousarray(part)).to(device) for name, part in arrays.items()}


def targets_of(batch: Batch, examples: Sequence[Example], prefixes: Sequence[Ints]) -> Tensor:
    """What is still to be done at each candidate, int64 [n, C + 1]: 1..6 a colour to be placed, 7 taken away, else 0.

    The last column is 7 where all is done.
    """
    cells = batch["cells"].cpu().numpy()
    table = np.zeros((len(cells), len(PLACES), 2), np.int64)
    ended = np.zeros(len(cells), np.bool_)
    for row, (index, prefix) in enumerate(zip(batch["owner"].tolist(), prefixes, strict=True)):
        left = np.delete(examples[index].actions, prefix, 0)
        table[row, left[:, 0], left[:, 1]] = np.where(left[:, 1] == 1, left[:, 2], 7)
        ended[row] = len(left) == 0
    filled = batch["filled"].cpu().numpy()
    rows = np.arange(len(cells))[:, None]
    found = np.where(filled, table[rows, cells, 0], table[rows, cells, 1]) * batch["valid"].cpu().numpy()
    return torch.from_numpy(np.concatenate([found, 7 * ended[:, None]], 1)).to(batch["cells"].device)


class _Reader(nn.Module):
    """Words to states [B, length, embedding]."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.embedding
        self.word = nn.Embedding(config.words, width, padding_idx=0)
        self.manner = nn.Embedding(MANNERS, width, padding_idx=0)
        self.layers = nn.ModuleList(
            nn.Conv1d(width, width, 3, padding=2**number, dilation=2**number)
            for number in range(config.layers)
        )
        self.drop = nn.Dropout(config.dropout)

    def forward(self, words: Tensor, manner: Tensor) -> tuple[Tensor, Tensor]:
        said = self.manner(manner)
        states = self.drop(self.word(words) + said)
        states = states.transpose(1, 2)
        for layer in self.layers:
            states = states + functional.relu(layer(states))
        return states.transpose(1, 2) * (manner > 0)[..., None], said


class EditModel(nn.Module):
    """See the module's description."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.reader = _Reader(config)
        width, text, hidden = config.embedding, config.text, config.hidden
        self.keys = nn.Linear(2 * width, 32)
        self.queries = nn.Linear(COUNTED + 1 + _OUTLOOK, 32 * config.queries)
        self.summary = nn.Linear(width * config.queries + COUNTED + 1 + _OUTLOOK, text)
        self.said = nn.Linear(width, config.mention)
        self.gate = nn.Linear(width, 1)
        self.color = nn.Linear(config.mention + _COLOR_FEATURES, config.mention)
        self.first = nn.Linear(FEATURES, hidden)
        self.colored = nn.Linear(4 * config.mention, hidden)
        self.first_steer = nn.Linear(text, 2 * hidden)
        self.second = nn.Linear(hidden, hidden)
        self.second_steer = nn.Linear(text, 2 * hidden)
        self.last = nn.Linear(hidden, 1)
        self.drop = nn.Dropout(config.dropout)
        if config.pointers:
            self.pointed = nn.Linear(hidden, 24)
            self.point = nn.Linear(text, 25 * config.pointers)
            self.aim = nn.Linear(text, config.reach * config.pointers)
            self.weigh = nn.Linear(text, config.pointers)
            self.along = nn.ParameterList(
                nn.Parameter(0.3 * torch.randn(size, config.reach)) for size in _SPAN
            )
            self.away = nn.Parameter(0.1 * torch.randn(int(np.prod(_SPAN)) + 1, config.reach))
        self.color_own = nn.Sequential(nn.Linear(config.mention + text, 32), nn.ReLU(), nn.Linear(32, 1))
        self.color_here = nn.Linear(hidden, config.mention)
        self.stop = nn.Sequential(nn.Linear(text + 2 * hidden, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("places", torch.from_numpy(PLACES.astype(np.int64)), persistent=False)

    def forward(self, batch: Batch) -> Scores:
        """Scores for a batch (see `batch_of`)."""
        read = {name: batch[name][:, -self.config.length :] for name in ("words", "colors", "manner")}
        batch = {**batch, **read}
        words, said = self.reader(batch["words"], batch["manner"])
        outlook = self._outlook(batch)
        text = self._read(batch, words, said, outlook)
        colors = self._colors(batch, words)  # [n, 7, mention], air first
        near = torch.einsum("ncks,nsm->nckm", batch["around"].to(colors.dtype), colors).flatten(2)
        filled = batch["filled"][..., None]
        near = torch.cat([near * filled, near * ~filled], 2)
        world = self.first(batch["features"].to(text.dtype).permute(1, 2, 0)) + self.colored(near)
        world = _steered(world, self.first_steer(text))
        world = world + _steered(self.second(world), self.second_steer(text))
        action = self.last(world)[..., 0]
        if self.config.pointers:
            action = action + self._pointing(batch, world, text)
        action = (action.float() + batch["stands_for"]).masked_fill(~batch["valid"], -1e4)
        seen = world * filled
        whole = torch.cat([text, seen.sum(1) / filled.sum(1).clamp(min=1), seen.amax(1)], 1)
        action = torch.cat([action, self.stop(whole).float()], 1)
        own = self.color_own(torch.cat([colors[:, 1:], text[:, None].expand(-1, COLOR_COUNT, -1)], 2))
        color = own.transpose(1, 2) + self.color_here(world) @ colors[:, 1:].transpose(1, 2)
        return Scores(action.log_softmax(1), color.float().log_softmax(2))

    def _read(self, batch: Batch, words: Tensor, said: Tensor, outlook: Tensor) -> Tensor:
        """What the words come to in each state, [n, text]."""
        owner, count = batch["owner"], self.config.queries
        keys = self.keys(torch.cat([words, said], 2))[owner]
        asked = self.queries(outlook).unflatten(1, (count, 32))
        scores = (asked @ keys.transpose(1, 2) / 32**0.5).masked_fill(
            (batch["manner"] == 0)[owner][:, None], -1e4
        )
        seen = (scores.softmax(2) @ words[owner]).flatten(1)
        return self.drop(functional.relu(self.summary(torch.cat([seen, outlook], 1))))

    def _outlook(self, batch: Batch) -> Tensor:
        """What is known of builder, world and progress as a whole."""
        pose, grid = batch["pose"], batch["grid"]
        size = (grid != 0).sum(1).float()
        known = torch.stack(
            [
                pose[:, 3] / 45, pose[:, 4] / 45, pose[:, 1] / 4, (size == 0).float(), (size + 1).log() / 3,
                (batch["recent"].float() + 1).log(), (batch["progress"].float() + 1).log(),
            ], 1,
        )  # fmt: skip
        counted = functional.one_hot(batch["progress"].clamp(max=COUNTED), COUNTED + 1)
        return torch.cat([counted.float(), known], 1)

    def _colors(self, batch: Batch, words: Tensor) -> Tensor:
        """What is known of each colour, [n, 7, mention]; zeros for air."""
        owner = batch["owner"]
        is_color = (batch["words"] == COLOR)[..., None]
        names = functional.one_hot(batch["colors"], COLOR_COUNT + 1).float() * is_color  # [B, length, 7]
        told = torch.tanh(self.said(words)) * torch.sigmoid(self.gate(words))
        meant = (names.transpose(1, 2) @ told.float())[owner]
        spoken = names * ((batch["manner"] - 1) % 3 < 2)[..., None]
        order = torch.arange(1, names.shape[1] + 1, device=names.device, dtype=names.dtype) / names.shape[1]
        latest = (spoken * order[:, None]).amax(1)[owner]  # how late it was named
        new = ((batch["manner"] - 1) // 3 % 2 == 1) & (batch["manner"] > 0)
        fresh = (spoken * new[..., None]).sum(1).clamp(max=2)[owner]
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

    def _pointing(self, batch: Batch, world: Tensor, text: Tensor) -> Tensor:
        """Scores of candidates by blocks that the words choose and by how they lie to them, [n, C]."""
        config = self.config
        some = min(ANCHORS, world.shape[1])
        point = self.point(text).unflatten(1, (config.pointers, 25))
        keys = self.pointed(world[:, :some])
        chosen = torch.einsum("nad,nhd->nha", keys, point[..., :24]).float() / 24**0.5
        chosen = chosen.masked_fill(~batch["filled"][:, None, :some], -1e4)
        nowhere = point[..., 24:].float()  # a share that points at nothing
        chosen = torch.cat([chosen, nowhere], 2).softmax(2)
        spans = [part.reshape([-1 if axis == own else 1 for axis in range(3)] + [config.reach])
                 for own, part in enumerate(self.along)]  # fmt: skip
        table = torch.cat([(spans[0] + spans[1] + spans[2]).flatten(0, 2) + self.away[:-1], self.away[-1:]])
        meant = self.aim(text).unflatten(1, (config.pointers, config.reach)) @ table.T / config.reach**0.5
        meant = meant.float().clamp(-10, 10).exp()
        at = self.places[batch["cells"]].short()
        away = at[:, None] - at[:, :some, None]  # [n, A, C, 3]
        reach = torch.tensor(_REACH, dtype=torch.int16, device=at.device)
        flat = (away + reach).clamp(min=0).minimum(2 * reach)
        within = (flat == away + reach).all(3)
        flat = (flat[..., 0] * _SPAN[1] + flat[..., 1]) * _SPAN[2] + flat[..., 2]
        index = torch.where(within, flat, len(table) - 1).long().flatten(1)
        found = [
            torch.bmm(chosen[:, head, None, :-1], part.gather(1, index).unflatten(1, within.shape[1:]))[:, 0]
            for head, part in enumerate(meant.unbind(1))
        ]
        scores = (torch.stack(found, 1) + chosen[:, :, -1:]).log()
        return (scores * functional.softplus(self.weigh(text).float())[..., None]).sum(1)


def _steered(world: Tensor, steering: Tensor) -> Tensor:
    scale, shift = steering[:, None].chunk(2, 2)
    return functional.relu(world * (1 + scale) + shift)


def loss_of(scores: Scores, targets: Tensor) -> Tensor:
    """The cross-entropy of doing any of what is still to be done, [n]; zero where no candidate is among it."""
    here = targets[:, :-1]
    color = scores.color.gather(2, (here.clamp(1, 6) - 1)[..., None])[..., 0]
    found = scores.action.clone()
    found[:, :-1] += torch.where((here > 0) & (here < 7), color, 0.0)
    right = torch.logsumexp(found.masked_fill(targets == 0, -1e9), 1)
    return torch.where((targets > 0).any(1), -right, 0.0)
