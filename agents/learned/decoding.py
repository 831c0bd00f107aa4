"""From marginal probabilities to actions, in one look or step by step.

`"threshold"`: everything whose probability exceeds a threshold is done at once. Where the words leave several places
open this names more than one of them, which is what an F1 over actions rewards. `"steps"`: the most probable action
is done, then the model looks again, until nothing is probable enough; of several such sequences, which begin
differently, the one counts that agrees best with the first look. It makes up its mind, so a builder in a game uses it.
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
from iglu_marl.data.mdc.action_sequences import Action

Decoding = Literal["threshold", "steps"]
MOST_STEPS = 40
WAYS = 4  # sequences of each member of an ensemble, among which one is chosen
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


class Tried(NamedTuple):
    """A sequence of actions for an example.

    example: its number. actions: int64 [n, 3], (cell, 1 for placing, color). sure: how probable each was when it was
    chosen, [n]. seen: how probable it was at the first look, to the whole model, [n].
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
    """For each example, so many sequences of each member of an ensemble, with different first actions.

    They go on with what is then the most probable action, and end where nothing is more probable than the threshold.
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
    """Add to begun sequences what is then the most probable action, and how probable it is; so many at most."""
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
    """Of the sequences of each of so many examples the one that the first look gives most for, [n, 3].

    A sequence ends where its next action is not more probable than the threshold, and each action counts by how much
    it exceeds that at the first look.
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
    """The actions of each example, one after the other, as [n, 3] (cell, 1 for placing, color).

    how: arguments of `sequences`.
    """
    return settled(sequences(model, examples, threshold, **how), len(examples), threshold)


class _Likely(NamedTuple):
    cell: int
    placing: int
    color: int
    probability: float


def _likely(probabilities: Marginals, made: Example, threshold: float, most: int) -> list[_Likely]:
    """The most probable actions above a threshold that can be done now, and undo none that was; so many at most."""
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


def as_actions(rows: npt.NDArray[np.int64]) -> list[Action]:
    """Rows (cell, 1 for placing, color) as actions."""
    return [Action(bool(placing), *cell_of(cell), int(color)) for cell, placing, color in rows]
