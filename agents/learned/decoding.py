"""From marginal probabilities to actions, in one look or step by step.

`"threshold"`: everything whose probability exceeds a threshold is done at once. Where the words leave several places
open this names more than one of them, which is what an F1 over actions rewards. `"steps"`: the most probable action
is done, then the model looks again, until nothing is probable enough. It makes up its mind, so a builder in a
game uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl.agents.learned.examples import Example, ExampleBatch, batch_of
from iglu_marl.agents.learned.frames import CELLS, INTO, MIRROR, cell_of, frame_of
from iglu_marl.agents.learned.model import EditModel, Ensemble, Scores, tensors
from iglu_marl.data.mdc.action_sequences import Action

Decoding = Literal["threshold", "steps"]
MOST_STEPS = 40
_AT_ONCE = 64
Marginals = npt.NDArray[np.float32]


def scored(model: EditModel | Ensemble, batch: dict[str, torch.Tensor], precision: str) -> Scores:
    """The model's logits as float32; precision: "float32", or "bfloat16" where the device is faster with it."""
    with torch.autocast(batch["words"].device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        scores = model(batch)
    return Scores(*(part.float() for part in scores))


def marginals(
    model: EditModel | Ensemble,
    examples: Sequence[Example],
    *,
    done: bool = False,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> Marginals:
    """How likely each action is, float32 [n, 1089, 7] in the map's cells: 0 to remove, 1..6 to place that colour.

    The mean of what the model says of the world and of its mirror image. done: the actions of the examples are done
    already, in their order; otherwise they are not looked at.
    """
    found = [np.zeros((0, CELLS, 7), np.float32)]
    model.eval()
    for first in range(0, len(examples), _AT_ONCE):
        part = [
            example if done else replace(example, actions=example.actions[:0])
            for example in examples[first : first + _AT_ONCE]
        ]
        prefixes = [np.arange(len(example.actions)) for example in part]
        own = [frame_of(example.pose[3]) for example in part]
        views = [batch_of(part, prefixes, frames) for frames in (own, [frame + MIRROR for frame in own])]
        found.append(np.mean([_looked_at(model, view, device, precision) for view in views], axis=0))
    return np.concatenate(found)


def _looked_at(
    model: EditModel | Ensemble, batch: ExampleBatch, device: torch.device | str, precision: str
) -> Marginals:
    with torch.no_grad():
        scores = scored(model, tensors(batch, device), precision)
        remove = scores.remove.sigmoid()[..., None]
        place = scores.place.sigmoid()[..., None] * scores.color.softmax(2)
        both: Marginals = torch.cat([remove, place], 2).cpu().numpy()
    return np.take_along_axis(both, INTO[batch.frames][..., None], 1)


def chosen(probabilities: Marginals, grid: npt.NDArray[Any], threshold: float) -> npt.NDArray[np.int64]:
    """The actions (cell, 1 for placing, color) that exceed a threshold, [n, 3]: removals, then placements.

    probabilities: [1089, 7]. grid: [1089]. At most one colour a cell; an occupied cell has to be emptied for it.
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
    """The actions of each example, see `chosen`."""
    return [
        chosen(part, example.grid, threshold) for part, example in zip(probabilities, examples, strict=True)
    ]


def step_by_step(
    model: EditModel | Ensemble,
    examples: Sequence[Example],
    threshold: float,
    *,
    most: int = MOST_STEPS,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> list[npt.NDArray[np.int64]]:
    """The actions of each example, one after the other, as [n, 3] (cell, 1 for placing, color)."""
    made = [replace(example, actions=example.actions[:0]) for example in examples]
    busy = list(range(len(examples)))
    for _ in range(most):
        if not busy:
            break
        found = marginals(
            model, [made[index] for index in busy], done=True, device=device, precision=precision
        )
        going = []
        for index, probabilities in zip(busy, found, strict=True):
            action = _next(probabilities, made[index], threshold)
            if action is not None:
                made[index] = replace(made[index], actions=np.concatenate([made[index].actions, [action]]))
                going.append(index)
        busy = going
    return [example.actions for example in made]


def _next(probabilities: Marginals, made: Example, threshold: float) -> tuple[int, int, int] | None:
    """The most probable action that can be done now, and undoes none that was; None below the threshold."""
    grid = made.grid.copy()
    for cell, placing, color in made.actions:
        grid[cell] = color if placing else 0
    allowed = np.zeros((CELLS, 7), np.bool_)
    allowed[:, 0], allowed[:, 1:] = grid != 0, (grid == 0)[:, None]
    placed = made.actions[made.actions[:, 1] == 1]
    removed = made.actions[made.actions[:, 1] == 0]
    allowed[placed[:, 0], 0] = False
    allowed[removed[:, 0], removed[:, 2]] = False
    cell, color = divmod(int(np.where(allowed, probabilities, 0.0).argmax()), 7)
    if probabilities[cell, color] <= threshold:
        return None
    return cell, int(color > 0), color or int(grid[cell])


def as_actions(rows: npt.NDArray[np.int64]) -> list[Action]:
    """Rows (cell, 1 for placing, color) as actions."""
    return [Action(bool(placing), *cell_of(cell), int(color)) for cell, placing, color in rows]
