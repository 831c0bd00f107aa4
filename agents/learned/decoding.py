"""From marginal probabilities to actions: all above a threshold.

If several places are possible, it names several, as F1 rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl.agents.learned.examples import Example, ExampleBatch, batch_of
from iglu_marl.agents.learned.frames import CELLS, INTO, MIRROR, cell_of, frame_of
from iglu_marl.agents.learned.model import EditModel, Ensemble, tensors
from iglu_marl.core.grid import NetAction

_AT_ONCE = 64
Marginals = npt.NDArray[np.float32]


def marginals(model: EditModel | Ensemble, examples: Sequence[Example]) -> Marginals:
    """Return the probability of each action, float32 [n, 1089, 7] in the map's cells: 0 removes, 1..6 place that
    colour.

    Predictions for the world and its mirror image are averaged. The examples' own actions are ignored.
    """
    found = [np.zeros((0, CELLS, 7), np.float32)]
    model.eval()
    for first in range(0, len(examples), _AT_ONCE):
        part = [
            replace(example, actions=example.actions[:0]) for example in examples[first : first + _AT_ONCE]
        ]
        own = [frame_of(example.pose[3]) for example in part]
        views = [batch_of(part, frames=frames) for frames in (own, [frame + MIRROR for frame in own])]
        found.append(np.mean([_looked_at(model, view) for view in views], axis=0))
    return np.concatenate(found)


@torch.no_grad()
def _looked_at(model: EditModel | Ensemble, batch: ExampleBatch) -> Marginals:
    scores = model(tensors(batch))
    remove = scores.remove.sigmoid()[..., None]
    place = scores.place.sigmoid()[..., None] * scores.color.softmax(2)
    both: Marginals = torch.cat([remove, place], 2).numpy()
    return np.take_along_axis(both, INTO[batch.frames][..., None], 1)


def chosen(probabilities: Marginals, grid: npt.NDArray[Any], threshold: float) -> npt.NDArray[np.int64]:
    """Return the actions (cell, 1 for placing, color) above a threshold, [n, 3]: removals, then placements.

    probabilities: [1089, 7]. grid: [1089]. Each cell gets one colour; an occupied cell must be emptied before.
    """
    removed = (probabilities[:, 0] > threshold) & (grid != 0)
    best = probabilities[:, 1:].max(1)
    placed = (best > threshold) & ((grid == 0) | removed)
    out, into = np.flatnonzero(removed), np.flatnonzero(placed)
    rows = [(cell, 0, grid[cell]) for cell in out]
    rows += [(cell, 1, 1 + probabilities[cell, 1:].argmax()) for cell in into]
    return np.array(rows, np.int64).reshape(-1, 3)


def in_one_look(
    probabilities: Marginals, examples: Sequence[Example], threshold: float
) -> list[npt.NDArray[np.int64]]:
    """Return the actions of each example, see `chosen`."""
    return [
        chosen(part, example.grid, threshold) for part, example in zip(probabilities, examples, strict=True)
    ]


def as_actions(rows: npt.NDArray[np.int64]) -> list[NetAction]:
    """Return rows (cell, 1 for placing, color) as actions."""
    return [NetAction(bool(placing), *cell_of(cell), int(color)) for cell, placing, color in rows]
