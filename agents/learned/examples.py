"""Situations as arrays, and the states that lead through what was done in them.

An `Example` is in the map's frame; `framed` turns it until the builder looks ahead, or mirrors it. A state is an
example after some of its actions: `states_of` collects many for the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.agents.learned.features import States
from iglu_marl.agents.learned.frames import CELLS, INTO, MIRROR, OUT_OF, cell_number, frame_of, turned
from iglu_marl.agents.learned.text import Vocabulary, facing, turned_words
from iglu_marl.data.mdc.action_sequences import Action
from iglu_marl.evaluation.action_prediction import Sample, Situation

NEVER = 99  # actions ago
CENTRE = (0.0, 0.25, 0.0, 0.0, -30.0)  # a builder of whom nothing is known: x, y, z, yaw, pitch
LONG = 12  # actions: longer sequences count as this
Ints = npt.NDArray[np.int64]
State = tuple[Ints, float]
"""Rows of an example's actions that are done already, and how many states it stands for."""


@dataclass(frozen=True)
class Example:
    """A situation as arrays, and the actions that were done in it.

    text: int64 [3, length], see `EncodedDialogue`. grid: int64 [1089]. since: int64 [1089], how many actions ago a
    cell was last changed (0 the latest, up to NEVER). kind: int64 [1089], 1 where that was a placement, -1 a removal.
    latest: bool [1089], cells of the sequence before. trail: int64 [2], the cells of the last action and of the one
    before, or -1. pose: eye and gaze. actions: int64 [n, 3]: cell, 1 for placing or 0 for removing, color.
    """

    text: Ints
    grid: Ints
    since: Ints
    kind: Ints
    latest: npt.NDArray[np.bool_]
    trail: Ints
    pose: tuple[float, float, float, float, float]
    actions: Ints


def example_of(
    situation: Situation, vocabulary: Vocabulary, actions: Iterable[Action] = (), *, in_line: bool = False
) -> Example:
    """A situation, and what was done in it, as arrays. in_line: see `ModelConfig`."""
    since, kind = np.full(CELLS, NEVER), np.zeros(CELLS, np.int64)
    latest = np.zeros(CELLS, np.bool_)
    done = [(action, number) for number, part in enumerate(situation.history) for action in part]
    for back, (action, number) in enumerate(reversed(done)):
        cell = cell_number(*action.cell)
        if since[cell] == NEVER:
            since[cell], kind[cell] = min(back, NEVER), 1 if action.place else -1
            latest[cell] = number == len(situation.history) - 1
    trail = [cell_number(*action.cell) for action, _ in done[:-3:-1]]
    pose = situation.pose
    if pose is None:
        yaw = facing(situation.dialogue)
        pose = CENTRE if yaw is None else (*CENTRE[:3], yaw, CENTRE[4])
    table = [(cell_number(*action.cell), int(action.place), action.color) for action in actions]
    acted = zip(situation.heard if in_line else (), situation.history, strict=False)
    return Example(
        np.stack(vocabulary.encode(situation.dialogue, situation.new_from, acted)),
        situation.grid.astype(np.int64).ravel(),
        since,
        kind,
        latest,
        np.array([*trail, -1, -1][:2]),
        pose,
        np.array(table, np.int64).reshape(-1, 3),
    )


def examples_of(samples: Iterable[Sample], vocabulary: Vocabulary, *, in_line: bool = False) -> list[Example]:
    """Samples as examples, with their actions."""
    return [example_of(one.situation, vocabulary, one.actions, in_line=in_line) for one in samples]


def framed(example: Example, frame: int) -> Example:
    """The same in a frame; the yaw becomes what is left of it."""
    order, into = OUT_OF[frame], INTO[frame]
    x, y, z, yaw, pitch = example.pose
    eye_x, eye_z = turned(x, z, frame)
    rest = (yaw - 90.0 * (frame % 4) + 180.0) % 360.0 - 180.0
    actions = example.actions.copy()
    actions[:, 0] = into[actions[:, 0]]
    return Example(
        np.stack([turned_words(example.text[0], frame), *example.text[1:]]),
        example.grid[order],
        example.since[order],
        example.kind[order],
        example.latest[order],
        np.where(example.trail < 0, -1, into[example.trail]),
        (eye_x, y, eye_z, -rest if frame >= MIRROR else rest, pitch),
        actions,
    )


def states_of(examples: Sequence[Example], prefixes: Sequence[Ints]) -> States:
    """The states of framed examples after rows of their actions, in that order."""
    rows = []
    for example, prefix in zip(examples, prefixes, strict=True):
        grid, since, kind, done = example.grid, example.since, example.kind, np.zeros(CELLS, np.int64)
        trail = [*example.trail.tolist(), -1, example.trail[0]]
        if len(prefix):
            grid, since, kind = grid.copy(), np.minimum(since + len(prefix), NEVER), kind.copy()
            made = example.actions[prefix].tolist()
            for ahead, (cell, placing, color) in enumerate(made, 1):
                grid[cell] = color if placing else 0
                since[cell] = len(prefix) - ahead
                kind[cell] = done[cell] = 2 * placing - 1
            trail[2] = made[0][0]
            trail[:2] = [row[0] for row in made[:-3:-1]] if len(made) > 1 else [made[0][0], trail[0]]
        pose = np.array(example.pose, np.float32)
        rows.append((grid, since, kind, done, example.latest, np.array(trail), len(prefix), pose))
    return States(*(np.array(column) for column in zip(*rows, strict=True)))


def training_view(example: Example, rng: np.random.Generator) -> Example:
    """An example with chance in it: a mirror image, a shift, and another quarter turn near its border."""
    drawn = shifted(example, rng)
    return framed(drawn, frame_of(example.pose[3] + rng.normal(0.0, 8.0)) + MIRROR * int(rng.integers(2)))


def training_states(example: Example, rng: np.random.Generator) -> list[State]:
    """The start of an example, and one to three of the states after it, mostly in the person's order.

    Together they stand for all: who does n things goes through n states after the start.
    """
    count = len(example.actions)
    some = 0 if not count else 1 if count <= 2 else 2 if count <= 6 else 3
    found: list[State] = [(np.arange(0), 1.0)]
    for _ in range(some):
        order = np.arange(count) if rng.random() < 0.7 else rng.permutation(count)
        found.append((order[: rng.integers(1, count + 1)], min(count, LONG) / some))
    return found


def judged_states(example: Example) -> list[State]:
    """Its start, middle and end, standing for all of its states."""
    count = len(example.actions)
    found: list[State] = [(np.arange(0), 1.0), (np.arange(count), 1.0)]
    if count > 1:
        found.append((np.arange(count // 2), min(count, LONG) - 1.0))
    return found


def shifted(example: Example, rng: np.random.Generator, most: int = 2) -> Example:
    """The same a little further east or south, if nothing falls out of the zone."""
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
    actions, step = example.actions.copy(), 11 * east + south
    actions[:, 0] += step
    return replace(
        example,
        grid=rolled(example.grid),
        since=rolled(example.since),
        kind=rolled(example.kind),
        latest=rolled(example.latest),
        trail=np.where(example.trail < 0, -1, example.trail + step),
        pose=(x + east, y, z + south, yaw, pitch),
        actions=actions,
    )
