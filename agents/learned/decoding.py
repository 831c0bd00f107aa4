"""From the probabilities of the next action to actions, step by step or as a set.

Sequences are sampled, action by action: the model looks at the world after each. `"steps"` answers with the one that
agrees best with all of them (minimum Bayes risk). It makes up its mind, so a builder in a game uses it.
`"threshold"` answers with everything that is done in more than a fraction of them. Where the words leave several places
open this names more than one of them, which is what an F1 over actions rewards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from iglu_marl.agents.learned.examples import Example, framed
from iglu_marl.agents.learned.frames import CELLS, INTO, MIRROR, cell_of, frame_of
from iglu_marl.agents.learned.model import EditModel, Scores, batch_of
from iglu_marl.data.mdc.action_sequences import Action

Decoding = Literal["threshold", "steps"]
MOST_STEPS = 40
DONE = 7 * CELLS  # the column of being done
SAMPLES = 12
_AT_ONCE = 128  # states
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Path = tuple[tuple[int, int, int], ...]  # actions: cell, 1 for placing, color


def scored(model: EditModel, batch: dict[str, torch.Tensor], precision: str) -> Scores:
    """The model's scores; precision: "float32", or "bfloat16" where the device is faster with it."""
    with torch.autocast(batch["words"].device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        scores: Scores = model(batch)
    return scores


def next_actions(
    models: Sequence[EditModel],
    examples: Sequence[Example],
    paths: Sequence[tuple[int, Path]],
    *,
    mirrored: bool = True,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> Floats:
    """How likely each action is the next, float32 [n, 7624], in the map's cells.

    Column 7 × cell is taking its block away, 7 × cell + color placing one, the last being done. paths: the number of an
    example, and what was done since it began; the actions of the examples are not looked at. What would undo a part
    of the path is impossible. mirrored: the mean of what is said of the world and of its mirror image.
    """
    found = np.zeros((len(paths), DONE + 1), np.float32)
    for first in range(0, len(paths), _AT_ONCE):
        part = paths[first : first + _AT_ONCE]
        here = sorted({index for index, _ in part})
        for mirror in (0, MIRROR) if mirrored else (0,):
            frames = [frame_of(examples[index].pose[3]) + mirror for index in here]
            views = {
                index: framed(replace(examples[index], actions=np.zeros((0, 3), np.int64)), frame)
                for index, frame in zip(here, frames, strict=True)
            }
            taken = [INTO[frame] for frame in frames]
            where = {index: number for number, index in enumerate(here)}
            made = [_in_frame(path, taken[where[index]]) for index, path in part]
            # examples with their paths as actions share the words of the first
            states = [
                replace(views[index], actions=path) for (index, _), path in zip(part, made, strict=True)
            ]
            batch = batch_of(
                [views[index] for index in here], [np.arange(len(path)) for path in made],
                [where[index] for index, _ in part], states=states, device=device,
            )  # fmt: skip
            order = np.stack([taken[where[index]] for index, _ in part])
            for model in models:
                model.eval()
                with torch.no_grad():
                    scores = scored(model, batch, precision)
                found[first : first + len(part)] += _as_table(scores, batch, order)
    _forbid(found, paths)
    total: Floats = found / np.maximum(found.sum(1, keepdims=True), 1e-9)
    return total


def _in_frame(path: Path, into: Ints) -> Ints:
    actions = np.array(path, np.int64).reshape(-1, 3)
    actions[:, 0] = into[actions[:, 0]]
    return actions


def _as_table(scores: Scores, batch: dict[str, torch.Tensor], into: Ints) -> Floats:
    """Scores of candidates as a table of all actions in the map's cells."""
    action, color = scores.action.exp().float().cpu().numpy(), scores.color.exp().float().cpu().numpy()
    filled, cells = batch["filled"].cpu().numpy(), batch["cells"].cpu().numpy()
    chance = action[:, :-1] * batch["valid"].cpu().numpy()
    local = np.zeros((len(cells), CELLS, 7), np.float32)
    rows = np.arange(len(cells))[:, None]
    local[rows, cells, 0] = np.where(filled, chance, 0)
    local[rows, cells, 1:] = np.where(filled, 0, chance)[..., None] * color
    table = np.take_along_axis(local, into[..., None], 1).reshape(len(cells), DONE)
    return np.concatenate([table, action[:, -1:]], 1)


def _forbid(table: Floats, paths: Sequence[tuple[int, Path]]) -> None:
    """Take away what would undo a part of a path, and everything where a path is long enough."""
    for row, (_, path) in enumerate(paths):
        for cell, placing, color in path:
            table[row, 7 * cell + (0 if placing else color)] = 0
        if len(path) >= MOST_STEPS:
            table[row, :DONE] = 0
            table[row, DONE] = 1


def _after(path: Path, column: int, example: Example) -> Path:
    """A path with one more action."""
    cell, color = divmod(int(column), 7)
    if color:
        return (*path, (cell, 1, color))
    placed = [shade for place, placing, shade in path if place == cell and placing]
    return (*path, (cell, 0, placed[-1] if placed else int(example.grid[cell])))


def sampled(
    models: Sequence[EditModel],
    examples: Sequence[Example],
    count: int = SAMPLES,
    *,
    seed: int = 0,
    mirrored: bool = True,
    device: torch.device | str = "cpu",
    precision: str = "float32",
) -> tuple[list[dict[int, float]], list[list[Path]]]:
    """For each example: how likely each action (a column of `next_actions`) is ever done, and sampled paths.

    Chances are averages over the samples of what each step found probable, not only of what it chose. The chance of a
    sample depends on nothing but its example and the seed.
    """
    chances: list[dict[int, float]] = []
    drawn: list[list[Path]] = []
    for first in range(0, len(examples), 16):
        part = examples[first : first + 16]
        for found, paths in _sampled(models, part, count, seed, mirrored, device, precision):
            chances.append(found)
            drawn.append(paths)
    return chances, drawn


def _sampled(
    models: Sequence[EditModel], examples: Sequence[Example], count: int, seed: int, mirrored: bool,
    device: torch.device | str, precision: str,
) -> Iterator[tuple[dict[int, float], list[Path]]]:  # fmt: skip
    rngs = [np.random.default_rng(seed) for _ in examples]
    chances: list[dict[int, float]] = [{} for _ in examples]
    ended: list[list[Path]] = [[] for _ in examples]
    busy: dict[tuple[int, Path], int] = {(index, ()): count for index in range(len(examples))}
    while busy:
        states = list(busy)
        table = next_actions(models, examples, states, mirrored=mirrored, device=device, precision=precision)
        going: dict[tuple[int, Path], int] = {}
        for (index, path), row in zip(states, table, strict=True):
            times = busy[index, path]
            for column in np.flatnonzero(row[:DONE] > 1e-3).tolist():
                chances[index][column] = chances[index].get(column, 0.0) + times / count * float(row[column])
            chosen = rngs[index].multinomial(times, row.astype(np.float64) / row.astype(np.float64).sum())
            for column in np.flatnonzero(chosen).tolist():
                if column == DONE:
                    ended[index] += [path] * int(chosen[column])
                else:
                    key = index, _after(path, column, examples[index])
                    going[key] = going.get(key, 0) + int(chosen[column])
        busy = going
    yield from zip(chances, ended, strict=True)


def exceeding(chances: dict[int, float], example: Example, threshold: float) -> Path:
    """The actions more likely than a threshold, the most likely first, one colour a cell.

    An occupied cell has to be emptied before something else is placed there.
    """
    likely = {column: chance for column, chance in chances.items() if chance > threshold}
    found: list[tuple[float, int, tuple[int, int, int]]] = []  # with what they are ordered by
    for cell in sorted({column // 7 for column in likely}):
        old, gone = int(example.grid[cell]), likely.get(7 * cell, 0.0)
        chance, color = max((likely.get(7 * cell + color, 0.0), color) for color in range(1, 7))
        if old and gone:
            found.append((-gone, 0, (cell, 0, old)))
        if chance and (not old or (gone and color != old)):
            found.append((-min(chance, gone) if old else -chance, 1, (cell, 1, color)))
    return tuple(row for _, _, row in sorted(found))


def most_agreed(chances: dict[int, float], paths: Sequence[Path], bias: float) -> Path:
    """The path with the highest expected F1, by how likely each action is. A higher bias favours longer paths."""
    total = sum(chances.values()) + bias

    def expected(path: Path) -> float:
        right = sum(chances.get(7 * cell + color * placing, 0.0) for cell, placing, color in path)
        return 2 * right / max(1e-9, len(path) + total)

    return max(sorted(set(paths)), key=expected)


def as_actions(path: Path) -> list[Action]:
    """A path as actions."""
    return [Action(bool(placing), *cell_of(cell), color) for cell, placing, color in path]
