"""Situations as arrays, and batches of them for the model, in the builder's frame.

A batch has a frame for each example (in training also mirrored and shifted ones), and a prefix of the sequence that
counts as done, so that the model learns to continue and to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.frames import CELLS, MIRROR, OUT_OF, cell_number, frame_of, turned
from iglu_marl.agents.learned.text import Vocabulary, facing, turned_words
from iglu_marl.core.grid import NetAction
from iglu_marl.data.situations import Sample, Situation

NEVER = 99  # actions ago
CENTRE = (0.0, 0.25, 0.0, 0.0, -30.0)  # a builder of whom nothing is known: x, y, z, yaw, pitch
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Example:
    """A situation as arrays in the map's frame, and the actions that were done in it.

    text: int64 [3, length], see `EncodedDialogue`. grid: int64 [1089]. since: int64 [1089], how many actions ago a
    cell was last changed (0 the latest, up to NEVER). kind: int64 [1089], 1 where that was a placement, -1 a removal.
    latest: bool [1089], cells of the sequence before. pose: eye and gaze. actions: int64 [n, 3]: cell, 1 for
    placing or 0 for removing, color.
    """

    text: Ints
    grid: Ints
    since: Ints
    kind: Ints
    latest: npt.NDArray[np.bool_]
    pose: tuple[float, float, float, float, float]
    actions: Ints


def example_of(situation: Situation, vocabulary: Vocabulary, actions: Iterable[NetAction] = ()) -> Example:
    """Return a situation and its actions as arrays."""
    since, kind = np.full(CELLS, NEVER), np.zeros(CELLS, np.int64)
    latest = np.zeros(CELLS, np.bool_)
    done = [(action, number) for number, part in enumerate(situation.history) for action in part]
    for back, (action, number) in enumerate(reversed(done)):
        cell = cell_number(*action.cell)
        if since[cell] == NEVER:
            since[cell], kind[cell] = min(back, NEVER), 1 if action.place else -1
            latest[cell] = number == len(situation.history) - 1
    pose = situation.pose
    if pose is None:
        yaw = facing(situation.dialogue)
        pose = CENTRE if yaw is None else (*CENTRE[:3], yaw, CENTRE[4])
    table = [(cell_number(*action.cell), int(action.place), action.color) for action in actions]
    return Example(
        np.stack(vocabulary.encode(situation.dialogue, situation.new_from)),
        situation.grid.astype(np.int64).ravel(),
        since,
        kind,
        latest,
        pose,
        np.array(table, np.int64).reshape(-1, 3),
    )


def examples_of(samples: Iterable[Sample], vocabulary: Vocabulary) -> list[Example]:
    """Return samples as examples."""
    return [example_of(sample.situation, vocabulary, sample.actions) for sample in samples]


@dataclass(frozen=True)
class ExampleBatch:
    """Examples in their frames; n of them.

    words, colors, manner: int64 [n, length]. grid, since, kind: int64 [n, 1089]. latest: bool [n, 1089]. done: int64
    [n, 1089], 1 for placed and -1 for removed in this sequence. progress: int64 [n], how many actions of it were done.
    pose: float32 [n, 5]: eye x, y, z in the frame, what is left of the yaw after turning, pitch (degrees).
    place: int64 [n, 1089], the color to be placed, or 0. remove: bool [n, 1089]. frames: int64 [n].
    """

    words: Ints
    colors: Ints
    manner: Ints
    grid: Ints
    since: Ints
    kind: Ints
    latest: npt.NDArray[np.bool_]
    done: Ints
    progress: Ints
    pose: Floats
    place: Ints
    remove: npt.NDArray[np.bool_]
    frames: Ints


def batch_of(
    examples: Sequence[Example],
    prefixes: Sequence[Ints] | None = None,
    frames: Sequence[int] | None = None,
) -> ExampleBatch:
    """Return a batch of examples.

    prefixes: for each, the rows of its actions that are done, in order (default none). frames: for each, the frame
    (default: by its yaw).
    """
    rows = []
    for index, example in enumerate(examples):
        x, y, z, yaw, pitch = example.pose
        frame = frame_of(yaw) if frames is None else frames[index]
        grid, since, kind, done = example.grid, example.since, example.kind, np.zeros(CELLS, np.int64)
        place, remove = np.zeros(CELLS, np.int64), np.zeros(CELLS, np.bool_)
        prefix = np.empty(0, np.int64) if prefixes is None else prefixes[index]
        if len(prefix):
            grid, since, kind = grid.copy(), np.minimum(since + len(prefix), NEVER), kind.copy()
            for ahead, row in enumerate(prefix.tolist(), 1):
                cell, placing, color = example.actions[row]
                grid[cell] = color if placing else 0
                since[cell] = len(prefix) - ahead
                kind[cell] = done[cell] = 2 * placing - 1
        left = np.ones(len(example.actions), np.bool_)
        left[prefix] = False
        for cell, placing, color in example.actions[left]:
            if placing:
                place[cell] = color
            else:
                remove[cell] = True
        order = OUT_OF[frame]
        eye_x, eye_z = turned(x, z, frame)
        rest = (yaw - 90.0 * (frame % 4) + 180.0) % 360.0 - 180.0
        rows.append(
            (
                turned_words(example.text[0], frame), example.text[1], example.text[2], grid[order], since[order],
                kind[order], example.latest[order], done[order], len(prefix),
                np.array([eye_x, y, eye_z, -rest if frame >= MIRROR else rest, pitch], np.float32),
                place[order], remove[order], frame,
            )
        )  # fmt: skip
    return ExampleBatch(*(np.array(column) for column in zip(*rows, strict=True)))


def training_batch(examples: Sequence[Example], rng: np.random.Generator) -> ExampleBatch:
    """Return a batch with random mirror images, shifts, quarter turns near their border, and prefixes."""
    drawn, prefixes, frames = [], [], []
    for example in examples:
        drawn.append(shifted(example, rng))
        yaw = example.pose[3] + rng.normal(0.0, 8.0)
        frames.append(frame_of(yaw) + MIRROR * int(rng.integers(2)))
        count = len(example.actions)
        length = 0 if rng.random() < 0.5 else int(rng.integers(1, count + 1)) if count else 0
        order = np.arange(count) if rng.random() < 0.7 else rng.permutation(count)
        prefixes.append(order[:length])
    return batch_of(drawn, prefixes, frames)


def shifted(example: Example, rng: np.random.Generator, most: int = 2) -> Example:
    """Return the example shifted east or south, unless a block would leave the zone."""
    east, south = (int(step) for step in rng.integers(-most, most + 1, 2))
    if rng.random() < 0.5 or not (east or south):
        return example
    touched = (example.grid != 0) | (example.since < NEVER)
    touched[example.actions[:, 0]] = True
    xs, zs = np.nonzero(touched.reshape(9, 11, 11).any(0))
    if len(xs) and not (
        0 <= xs.min() + east and xs.max() + east < 11 and 0 <= zs.min() + south and zs.max() + south < 11
    ):
        return example

    def rolled(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.roll(values.reshape(9, 11, 11), (east, south), (1, 2)).ravel()

    x, y, z, yaw, pitch = example.pose
    actions = example.actions.copy()
    actions[:, 0] += 11 * east + south
    return replace(
        example,
        grid=rolled(example.grid),
        since=rolled(example.since),
        kind=rolled(example.kind),
        latest=rolled(example.latest),
        pose=(x + east, y, z + south, yaw, pitch),
        actions=actions,
    )
