"""Task generators and splits by content.

A `Content` samples tasks. A `HeldOut` rule decides from a task's content in which splits it may be. A task is in a
split if all rules of the level agree; in neither, if they do not. Rules treat targets as equal up to the rotations and
shifts that the task allows (`content_key`), so the splits are disjoint.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from math import comb
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from iglu_marl.core.arguments import as_rng
from iglu_marl.core.edits import net_actions
from iglu_marl.core.errors import ConfigError, DataError, TaskError
from iglu_marl.core.grid import Cell, canonical
from iglu_marl.core.pose import Pose
from iglu_marl.core.task import Task
from iglu_marl.data.splits import Split, hash_fraction
from iglu_marl.evaluation.selection import digest
from iglu_marl.language import At, Build, CellEdit, Instruction, Shape, render
from iglu_marl.language.meaning.blocks import MAX_WORDS, EditKind
from iglu_marl.language.meaning.shapes import COMPASS
from iglu_marl.tasks import RandomTasks, SpawnPoses, TaskSource
from iglu_marl.tasks.source import FiniteSource

T = TypeVar("T")
SplitName = Literal["train", "validation", "test"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
MOST_TRIES = 10_000  # samples per task of a split
MOST_LISTED = 512  # largest content that is enumerated
_QUARTERS = tuple(Pose(yaw_deg=float(yaw)) for yaw in (0, 90, 180, 270))

_SALT = "iglu_marl benchmark "
NEAR: tuple[Cell, ...] = ((0, -1, -1), (1, -1, 0), (0, -1, 1), (-1, -1, 0))  # north, east, south, west
AROUND: tuple[Cell, ...] = tuple((x, -1, z) for x, z in product((-1, 0, 1), repeat=2) if x or z)
GROUND: tuple[Cell, ...] = tuple((x, -1, z) for x, z in product(range(-5, 6), repeat=2))
COLORS = tuple(range(1, 7))


# -------------------------------------------------------------------------------------------------------- content


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


# ---------------------------------------------------------------------------------------------------------- rules


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


# ------------------------------------------------------------------------------------------------------- contents


class Content(ABC):
    """Generator of a level's tasks, of all splits."""

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Task:
        """Sample a task of any split."""

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks, which are equally likely; None if there are too many."""
        return None


def _dialog(text: str) -> str:
    return f"<Architect> {text}" if text else ""


def draw(options: Sequence[T], rng: np.random.Generator) -> T:
    """Return one of the options, all of which are equally likely."""
    return options[int(rng.integers(len(options)))]


@dataclass(frozen=True)
class PlacedBlocks(Content):
    """`count` blocks in any cells and colours, at fixed positions.

    cells: possible cells. colors: possible colours. count: blocks per task. wordings: number of paraphrased
    instructions per task of one block; 0: no instruction.
    """

    cells: tuple[Cell, ...] = NEAR
    colors: tuple[int, ...] = COLORS
    count: int = 1
    wordings: int = 0

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        chosen = sorted(rng.choice(len(self.cells), self.count, replace=False).tolist())
        colors = tuple(rng.choice(self.colors, self.count).tolist())
        cells = tuple(self.cells[number] for number in chosen)
        wording = int(rng.integers(self.wordings)) if self.wordings else None
        return _blocks(cells, colors, wording)

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks; None if there are too many."""
        meanings = comb(len(self.cells), self.count) * len(self.colors) ** self.count
        if meanings * max(1, self.wordings) > MOST_LISTED:
            return None
        return tuple(
            _blocks(cells, colors, wording)
            for cells in combinations(self.cells, self.count)
            for colors in product(self.colors, repeat=self.count)
            for wording in (range(self.wordings) if self.wordings else (None,))
        )


@lru_cache(maxsize=8192)
def _blocks(cells: tuple[Cell, ...], colors: tuple[int, ...], wording: int | None) -> Task:
    """Return the task of these blocks, with a numbered paraphrase of the instruction."""
    text = ""
    if wording is not None:
        text = render(CellEdit(EditKind.PLACE, cells[0], color=colors[0]), np.random.default_rng(wording))
    blocks = [(*cell, color) for cell, color in zip(cells, colors, strict=True)]
    return Task(_dialog(text), blocks, invariant=False, ids="iglu")


@dataclass(frozen=True)
class Structures(Content):
    """Random structures of `least` to `most` blocks on the ground, up to a shift and quarter turns.

    least: smallest number of blocks. most: largest number of blocks. levels: number of layers. distance: largest
    distance between two blocks. colors: largest number of colours.
    """

    least: int = 12
    most: int = 20
    levels: int = 4
    distance: int = 4
    colors: int = 3

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        source = RandomTasks(self.most, self.levels, max_dist=self.distance, num_colors=self.colors)
        while True:
            task = source.sample(rng)
            if task.target_size >= self.least:
                return task


@dataclass(frozen=True)
class Shapes(Content):
    """Rows, towers, walls and squares of one colour on the ground, each described in one sentence."""

    longest: int = 6

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        while True:
            shape, color = self._shape(rng), int(rng.integers(1, 7))
            cell, wording = draw(GROUND, rng), int(rng.integers(2**32))
            build = Build(shape, (color,), At(cell))
            try:
                target = [(*where, color) for where, color in build.blocks(cell, None)]
                task = Task("", target, invariant=False, ids="iglu")
            except (TaskError, ValueError):  # outside the zone
                continue
            return task.replace(dialog=described([build], wording))

    def _shape(self, rng: np.random.Generator) -> Shape:
        kind = int(rng.integers(4))
        way = int(rng.integers(4))
        side = (way + (1 if rng.random() < 0.5 else 3)) % 4
        length = int(rng.integers(2, self.longest + 1))
        name, sizes, ways = (
            ("row", (length,), (way,)),
            ("tower", (min(length, 4),), ()),
            ("wall", (min(length, 4), 2), (way,)),
            ("square", (min(length, 3),), (way, side)),
        )[kind]
        return Shape(name, sizes, tuple(COMPASS[number] for number in ways))  # type: ignore[arg-type]


def described(instructions: Sequence[Instruction], seed: int) -> str:
    """Return the dialogue of an architect who says these instructions, worded by a seed."""
    rng = np.random.default_rng(seed)
    return _dialog(" ".join(render(step, rng, max_words=MAX_WORDS) for step in instructions))


@dataclass(frozen=True)
class PinnedInstructions(Content):
    """Instructions written by people: one version of the IGLU single-turn corpus.

    checksum: hash of the tasks that are read, 12 hexadecimal digits.

    Raises `DataError` if the corpus has other tasks, `MissingPackError` if it is not downloaded.
    """

    checksum: str

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return draw(self.all(), rng)

    def all(self) -> tuple[Task, ...]:
        """Return all instructions that change something; `task_id` is the name of the structure."""
        tasks = _human_instructions()
        if (found := digest_of(tasks)) != self.checksum:
            raise DataError(
                f"the checksum of the IGLU single-turn tasks is {found}, expected {self.checksum}: the level needs the "
                "version of the corpus that `iglu-marl data fetch iglu-singleturn` downloads"
            )
        return tasks


def digest_of(tasks: Sequence[Task]) -> str:
    """Return a hash of tasks without their start poses, as result files have it, 12 hexadecimal digits."""
    digests = (digest(task.replace(pose=None)) for task in tasks)
    return hashlib.blake2b("".join(digests).encode(), digest_size=6).hexdigest()


@lru_cache(maxsize=1)
def _human_instructions() -> tuple[Task, ...]:
    from iglu_marl.data import SingleturnDataset

    data = SingleturnDataset()
    return tuple(
        task.replace(task_id=data.structure_of(name, task), invariant=False)
        for name, tasks in data.tasks.items()
        for task in tasks
        if not task.is_complete_at_start
    )


@dataclass(frozen=True)
class Spawned(Content):
    """The tasks of another content, starting at a random position and view direction."""

    content: Content

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return SpawnPoses([self.content.sample(rng)]).sample(rng)


@dataclass(frozen=True)
class Turned(Content):
    """The tasks of another content, starting in the centre, in one of the four directions of the compass."""

    content: Content

    def sample(self, rng: np.random.Generator) -> Task:
        """Any task."""
        return self.content.sample(rng).replace(pose=draw(_QUARTERS, rng))

    def all(self) -> tuple[Task, ...] | None:
        """Return all tasks; None if there are too many."""
        tasks = self.content.all()
        return tasks and tuple(task.replace(pose=pose) for pose in _QUARTERS for task in tasks)


# --------------------------------------------------------------------------------------------------------- splits


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
