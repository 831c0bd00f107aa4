"""Splits by content.

A `HeldOut` rule decides from a task's content in which splits it may be. A task is in a
split if all rules of the level agree; in neither, if they do not. Rules treat targets as equal up to the rotations and
shifts that the task allows (`content_key`), so the splits are disjoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.contents import Content
from iglu_marl.core.arguments import as_rng
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import ConfigError, TaskError
from iglu_marl.core.grid import canonical
from iglu_marl.core.task import Task
from iglu_marl.data.splits import Split, hash_fraction
from iglu_marl.tasks import TaskSource
from iglu_marl.tasks.source import FiniteSource

SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
MOST_TRIES = 10_000  # samples per task of a split
_SALT = "iglu_marl benchmark "


def content_key(task: Task) -> bytes:
    """Return start and target as a key, equal up to shifts and quarter turns if the task allows them."""
    if not task.is_invariant:
        return task.start_grid.tobytes() + task.target_grid.tobytes()
    return canonical(
        7 * task.start_grid + task.target_grid
    )  # a value for each pair of ids: both move together


def content_digest(task: Task) -> str:
    """Return a hash of `content_key`, 12 hexadecimal digits, for tasks that count as the same.

    The hash of a whole task is `evaluation.selection.digest`.
    """
    return hashlib.blake2b(content_key(task), digest_size=6).hexdigest()


def _mirrored(grid: npt.NDArray[Any], shifts: bool = True) -> bytes:
    """Return a grid as a key, equal up to mirror images and quarter turns about the centre, and up to shifts."""
    images = (grid, grid[:, ::-1])
    if shifts:
        return min(map(canonical, images))
    return min(np.rot90(image, turns, axes=(1, 2)).tobytes() for image in images for turns in range(4))


def _squares(task: Task, size: int) -> list[int]:
    changed = net_actions(task.start_grid, task.target_grid)
    return [(color + x + 3 * y + 2 * z) % size for _, x, y, z, color in changed]


def _pairs(task: Task, size: int) -> list[int]:
    changed = net_actions(task.start_grid, task.target_grid)
    keys = (repr((x, y, z, color)).encode() for _, x, y, z, color in changed)
    digests = (hashlib.blake2b(key, digest_size=4).digest() for key in keys)
    return [int.from_bytes(digest, "big") * size >> 32 for digest in digests]


def _hashed(key: bytes, size: int) -> list[int]:
    return [int(size * hash_fraction(_SALT + key.hex()))]


def _targets(task: Task, size: int) -> list[int]:
    return _hashed(_mirrored(7 * task.start_grid + task.target_grid, task.is_invariant), size)


def _corpora(task: Task, size: int) -> list[int]:
    return [(Split.TEST, Split.VAL, Split.TRAIN).index(Split.of(task.task_id or ""))]


# Of each rule, the text for `HeldOut.value`, and the parts of a task, of which the lowest counts: 0 is the test, 1 the
# validation, others are the training. "codes" and "sentences" have no parts.
_RULES: dict[str, tuple[str, Callable[[Task, int], list[int]] | None]] = {
    "squares": ("1 in {:g} colour-cell pairs", _squares),
    "pairs": ("1 in {:g} pairs of colour and cell, by hash", _pairs),
    "targets": ("1 in {:g} targets", _targets),
    "forms": ("1 in {:g} shapes", lambda task, size: _hashed(_mirrored(task.target_grid != 0), size)),
    "larger": ("structures of {:g} blocks or more", lambda task, size: [max(0, size - task.target_size)]),
    "corpora": ("structures of the corpora's test split", _corpora),
    "codes": ("1 in {:g} pairs of codes of cells and colours", None),
    "sentences": ("instructions of {:g} words or more", None),
}
_ROTATING = ("squares", "targets", "forms")  # whose parts turn by one with each fold


@dataclass(frozen=True)
class HeldOut:
    """A rule that holds tasks out of training.

    | rule | value |
    |---|---|
    | squares | k: 1 in k combinations of colour and cell, another one in each of k folds |
    | pairs | k: 1 in k such combinations by a hash; the same for all runs |
    | targets, forms | k: 1 in k targets or shapes up to mirror images, others in each of k folds |
    | larger | number of blocks of the test split; validation has one less |
    | corpora | unused: the splits of the corpora |
    | codes | k: 1 in k pairs of codes (see `iglu_marl.benchmark.strangers`); tasks are in all splits |
    | sentences | smallest number of words |

    fold: number of the fold.

    Raises `ConfigError` if the rule is unknown.
    """

    rule: str
    value: float = 0.0
    fold: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        if self.rule not in _RULES:
            raise ConfigError(f"rule is {self.rule!r}, expected one of {', '.join(_RULES)}")

    @property
    def folds(self) -> int:
        """Number of folds; 1 if the rule is the same for all runs."""
        return int(self.value) if self.rule in _ROTATING else 1

    def splits(self, task: Task) -> tuple[SplitName, ...]:
        """Return the splits that a task may be in; of several parts of a ring, the lowest counts."""
        parts = _RULES[self.rule][1]
        if parts is None:
            if self.rule == "codes":
                return SPLITS
            return ("validation", "test") if len(task.instruction.split()) >= self.value else ("train",)
        numbers = parts(task, int(self.value))
        if self.rule in _ROTATING:
            numbers = [(number + self.fold) % int(self.value) for number in numbers]
        return (("test", "validation", "train")[min(*numbers, 2)],)

    def __str__(self) -> str:
        return _RULES[self.rule][0].format(self.value)


@lru_cache(maxsize=64)
def split_tasks(content: Content, held_out: tuple[HeldOut, ...], split: SplitName) -> TaskSource:
    """Return the tasks of a split, as a `FiniteSource` if `content` can be enumerated.

    A finite test split has no task with the same content as one in training.

    Raises `ConfigError` if the split is unknown.
    """
    if split not in SPLITS:
        raise ConfigError(f"split is {split!r}, expected one of {', '.join(SPLITS)}")
    tasks = content.all()
    if tasks is None:
        return HeldOutTasks(content, held_out, split)
    trained = [task for task in tasks if in_split(task, held_out, "train")]
    if split == "train":
        return FiniteSource(trained, "the training split")
    known = set(map(content_key, trained))
    held = [task for task in tasks if in_split(task, held_out, split) and content_key(task) not in known]
    return FiniteSource(held, f"the {split} split")


def in_split(task: Task, held_out: tuple[HeldOut, ...], split: SplitName) -> bool:
    """Whether a task is in a split."""
    return all(split in rule.splits(task) for rule in held_out)


class HeldOutTasks(TaskSource):
    """The tasks of one split of a content that cannot be enumerated."""

    def __init__(self, content: Content, held_out: tuple[HeldOut, ...], split: SplitName) -> None:
        self.content, self.held_out, self.split = content, held_out, split

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a task. Raises `TaskError` if none of `MOST_TRIES` samples is in the split."""
        generator = self.rng if rng is None else rng
        for _ in range(MOST_TRIES):
            task = self.content.sample(generator)
            if in_split(task, self.held_out, self.split):
                return task
        raise TaskError(f"{MOST_TRIES} tasks of {self.content} had none of the split {self.split!r}")


def some_of(source: TaskSource, count: int, seed: int = 0) -> list[Task]:
    """Return `count` tasks of a source; of a finite one, different tasks and at most all, contents by turns."""
    rng = as_rng("seed", seed)
    if not isinstance(source, FiniteSource):
        return [source.sample(rng) for _ in range(count)]
    if len(source) <= count:
        return list(source)
    tasks = [source[int(number)] for number in rng.permutation(len(source))]
    keys = [content_key(task) for task in tasks]
    rounds = [keys[:number].count(key) for number, key in enumerate(keys)]  # equal ones before
    return [tasks[number] for number in np.argsort(rounds, kind="stable")[:count]]


def others(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return for each task the tasks with different content, from the next one on; if there are none, itself."""
    keys, count = [content_key(task) for task in tasks], len(tasks)
    orders = ([(number + step) % count for step in range(count)] for number in range(count))
    return [
        [tasks[other] for other in order if keys[other] != keys[order[0]]] or [tasks[order[0]]]
        for order in orders
    ]
