"""From marginal probabilities to actions, at once or step by step.

| decoding | |
|---|---|
| `threshold` | all actions above a threshold. If several places are possible, it names several, as F1 rewards |
| `steps` | the most probable action, then another evaluation, until none exceeds the threshold |

`steps` tries several first actions, and takes the sequence that fits the first evaluation best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl.agents.learned.examples import Example, ExampleBatch, batch_of
from iglu_marl.agents.learned.frames import CELLS, INTO, MIRROR, cell_of, frame_of
from iglu_marl.agents.learned.model import EditModel, Ensemble, Scores, tensors
from iglu_marl.core.grid import NetAction

Decoding = Literal["threshold", "steps"]
MOST_STEPS = 40
WAYS = 4  # sequences of each member of an ensemble, among which one is chosen
_AT_ONCE = 64
Marginals = npt.NDArray[np.float32]


def scored(model: EditModel | Ensemble, batch: dict[str, torch.Tensor], precision: str) -> Scores:
    """Return the logits as float32. precision: "float32" or "bfloat16"."""
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
    """Return the probability of each action, float32 [n, 1089, 7] in the map's cells: 0 removes, 1..6 place that
    colour.

    Predictions for the world and its mirror image are averaged. done: whether the examples' own actions count as done.
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


class Tried(NamedTuple):
    """A sequence of actions for an example.

    example: its number. actions: int64 [n, 3], (cell, 1 for placing, color). sure: probability of each action when it
    was chosen, [n]. seen: its probability in the first evaluation by the whole model, [n].
    """

    example: int
    actions: npt.NDArray[np.int64]
    sure: npt.NDArray[np.float32]
    seen: npt.NDArray[np.float32]


def sequences(
    model: EditModel | Ensemble,
    examples: Sequence[Example],
    threshold: float,
    *,
    ways: int = WAYS,
    most: int = MOST_STEPS,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> list[Tried]:
    """Return n sequences per example and ensemble member, with different first actions.

    Each continues with the most probable action, until none exceeds the threshold.
    """
    where: dict[str, Any] = {"device": device, "precision": precision}
    empty = [replace(example, actions=example.actions[:0]) for example in examples]
    members = list(model) if isinstance(model, Ensemble) else [model]
    looks = [marginals(member, empty, **where) for member in members]
    seen = np.mean(looks, axis=0)
    found = []
    for member, first in zip(members, looks, strict=True):
        begun = [
            (number, action)
            for number, example in enumerate(empty)
            for action in _likely(first[number], example, threshold, ways)
        ]
        made = [replace(empty[number], actions=np.array([action[:3]], np.int64)) for number, action in begun]
        sure = [[action.probability] for _, action in begun]
        _go_on(member, made, sure, threshold, most - 1, where)
        for (number, _), example, chances in zip(begun, made, sure, strict=True):
            cells, placing, colors = example.actions.T
            agreed = seen[number][cells, placing * colors]
            found.append(Tried(number, example.actions, np.array(chances, np.float32), agreed))
    return found


def _go_on(
    model: EditModel,
    made: list[Example],
    sure: list[list[float]],
    threshold: float,
    most: int,
    where: dict[str, Any],
) -> None:
    """Append the most probable action to sequences, up to a maximum length."""
    busy = list(range(len(made)))
    for _ in range(most):
        if not busy:
            return
        then = marginals(model, [made[index] for index in busy], done=True, **where)
        going = []
        for index, probabilities in zip(busy, then, strict=True):
            for action in _likely(probabilities, made[index], threshold, 1):
                actions = np.concatenate([made[index].actions, [action[:3]]])
                made[index] = replace(made[index], actions=actions)
                sure[index].append(action.probability)
                going.append(index)
        busy = going


def settled(tried: Iterable[Tried], count: int, threshold: float) -> list[npt.NDArray[np.int64]]:
    """Return for each example the sequence with the highest score, [n, 3].

    The score is the sum over actions of the probability in the first evaluation minus the threshold. A sequence ends
    at the first action that is not above the threshold.
    """
    best = [(-np.inf, np.empty((0, 3), np.int64))] * count
    for sequence in tried:
        length = int(np.cumprod(sequence.sure > threshold).sum())
        gained = float((sequence.seen[:length] - threshold).sum())
        if length and gained > best[sequence.example][0]:
            best[sequence.example] = gained, sequence.actions[:length]
    return [actions for _, actions in best]


def step_by_step(
    model: EditModel | Ensemble, examples: Sequence[Example], threshold: float, **how: Any
) -> list[npt.NDArray[np.int64]]:
    """Return the actions of each example in order, as rows (cell, 1 for placing, color). how: of `sequences`."""
    return settled(sequences(model, examples, threshold, **how), len(examples), threshold)


class _Likely(NamedTuple):
    cell: int
    placing: int
    color: int
    probability: float


def _likely(probabilities: Marginals, made: Example, threshold: float, most: int) -> list[_Likely]:
    """Return the `most` most probable valid actions above a threshold that undo no earlier one."""
    grid = made.grid.copy()
    for cell, placing, color in made.actions:
        grid[cell] = color if placing else 0
    allowed = np.zeros((CELLS, 7), np.bool_)
    allowed[:, 0], allowed[:, 1:] = grid != 0, (grid == 0)[:, None]
    placed = made.actions[made.actions[:, 1] == 1]
    removed = made.actions[made.actions[:, 1] == 0]
    allowed[placed[:, 0], 0] = False
    allowed[removed[:, 0], removed[:, 2]] = False
    left = np.where(allowed, probabilities, 0.0).ravel()
    best = left.argsort()[::-1][:most]
    found = []
    for number in best[left[best] > threshold]:
        cell, color = divmod(int(number), 7)
        found.append(_Likely(cell, int(color > 0), color or int(grid[cell]), float(left[number])))
    return found


def as_actions(rows: npt.NDArray[np.int64]) -> list[NetAction]:
    """Return rows (cell, 1 for placing, color) as actions."""
    return [NetAction(bool(placing), *cell_of(cell), int(color)) for cell, placing, color in rows]
