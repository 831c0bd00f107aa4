"""Random tasks: a few blocks near each other, without dialogue."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from iglu_marl.core.errors import DataError, TaskError
from iglu_marl.core.files import atomic_write, usable_path
from iglu_marl.core.grid import BLOCKS_PER_COLOR, ZONE_SHAPE, BlockGrid
from iglu_marl.core.parsing import MIB, parse_json, read_file, wrap_errors
from iglu_marl.core.task import Task
from iglu_marl.tasks.source import TaskSource

_HEIGHT, _WIDTH, _ = ZONE_SHAPE
_FORMAT = 1


def _checked(name: str, value: Any, low: int, high: int | None = None) -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"{low}..{high}"
        raise TaskError(f"RandomTasks got {name}={value!r}, expected an integer, {bounds}")
    return int(value)


class RandomTasks(TaskSource):
    """Random structures without dialogue.

    Args:
        max_blocks: the number of blocks is uniform in 1..max_blocks, limited by the other arguments and by 20 blocks
            per color.
        height_levels: layers with blocks, counted from the ground, 1..9.
        allow_float: whether blocks may have air below them.
        max_dist: largest Chebyshev distance between two blocks.
        num_colors: largest number of colors in a task, 1..6.
        max_cache: 0: each task is new. Otherwise tasks come from a fixed set of this size, which depends only on the
            parameters and `seed`.
        invariant: whether a structure counts anywhere in the zone, in any rotation; False: only at its place. None:
            only at its place with `max_blocks=1`, else anywhere.

    Raises:
        TaskError: if an argument is out of range.

    """

    def __init__(
        self,
        max_blocks: int = 4,
        height_levels: int = 1,
        allow_float: bool = False,
        max_dist: int = 2,
        num_colors: int = 1,
        max_cache: int = 0,
        *,
        invariant: bool | None = None,
    ) -> None:
        self.max_blocks = _checked("max_blocks", max_blocks, 1)
        self.height_levels = _checked("height_levels", height_levels, 1, _HEIGHT)
        if not isinstance(allow_float, (bool, np.bool_)):
            raise TaskError(f"RandomTasks got allow_float={allow_float!r}, expected True or False")
        self.allow_float = bool(allow_float)
        self.max_dist = _checked("max_dist", max_dist, 0)
        self.num_colors = _checked("num_colors", num_colors, 1, 6)
        self.max_cache = _checked("max_cache", max_cache, 0)
        if invariant is not None and not isinstance(invariant, (bool, np.bool_)):
            raise TaskError(f"RandomTasks got invariant={invariant!r}, expected True, False or None")
        self.invariant = None if invariant is None else bool(invariant)
        self._cache: dict[int, Task] = {}
        self._cache_seed = 0
        self._loaded = False

    def seed(self, rng: np.random.Generator | int | None) -> None:
        """Set the generator for calls without one, and select a new set of tasks (unless it was loaded)."""
        super().seed(rng)
        if self.max_cache and not self._loaded:
            self._cache_seed = int(self.rng.integers(2**63))
            self._cache.clear()

    def sample(self, rng: np.random.Generator | None = None) -> Task:
        """Sample a new task, or one of the fixed set."""
        generator = self.rng if rng is None else rng
        if self.max_cache:
            return self._cached_task(int(generator.integers(self.max_cache)))
        return self._new_task(generator)

    def _cached_task(self, number: int) -> Task:
        if number not in self._cache:
            self._cache[number] = self._new_task(np.random.default_rng((self._cache_seed, number)))
        return self._cache[number]

    def _new_task(self, rng: np.random.Generator) -> Task:
        return self._task(self._structure(rng), "iglu")

    def _task(self, grid: BlockGrid, ids: str) -> Task:
        placed = (
            False if self.max_blocks == 1 else None
        )  # one block, placed anywhere, would complete every task
        return Task("", grid, ids=ids, invariant=placed if self.invariant is None else self.invariant)

    @property
    def largest(self) -> int:
        """Number of blocks of the largest structures."""
        width = min(self.max_dist + 1, _WIDTH)
        volume = width * width * min(self.max_dist + 1, self.height_levels)
        return min(self.max_blocks, volume, BLOCKS_PER_COLOR * self.num_colors)

    def _structure(self, rng: np.random.Generator) -> BlockGrid:
        """Sample a box that keeps the distance, a number of blocks, their cells and their colors."""
        width = min(self.max_dist + 1, _WIDTH)
        height = min(self.max_dist + 1, self.height_levels)
        volume = width * width * height
        count = int(rng.integers(1, self.largest + 1))
        x, z = rng.integers(0, _WIDTH - width + 1, size=2)
        slots = rng.choice(volume, size=count, replace=False, shuffle=False)
        if self.allow_float:
            y = int(rng.integers(0, self.height_levels - height + 1))
            cells = np.unravel_index(slots, (height, width, width))
        else:  # slots give the height of each column; columns stand on the ground
            y = 0
            heights = np.bincount(slots % (width * width), minlength=width * width).reshape(width, width)
            cells = np.nonzero(np.arange(height)[:, None, None] < heights)
        grid = np.zeros(ZONE_SHAPE, dtype=np.int8)
        grid[cells[0] + y, cells[1] + x, cells[2] + z] = self._colors(count, rng)
        return grid

    def _colors(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Sample colors, int8 [count], at most `num_colors` different ones and BLOCKS_PER_COLOR of each."""
        fewest = -(-count // BLOCKS_PER_COLOR)
        kinds = int(rng.integers(fewest, max(fewest, min(self.num_colors, count)) + 1))
        palette = rng.permutation(6)[:kinds] + 1
        available = np.repeat(palette, min(BLOCKS_PER_COLOR, count))
        return rng.permutation(available)[:count].astype(np.int8)

    def __len__(self) -> int:
        if not self.max_cache:
            raise TypeError("RandomTasks with max_cache=0 has no length, expected max_cache of at least 1")
        return self.max_cache

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Task]:
        """Yield the fixed set, or without `max_cache` an endless sequence of new tasks."""
        if self.max_cache:
            yield from (self._cached_task(number) for number in range(self.max_cache))
            return
        while True:
            yield self.sample()

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"RandomTasks({arguments})"

    @property
    def parameters(self) -> dict[str, int | bool | None]:
        """Arguments of the constructor."""
        return {
            "max_blocks": self.max_blocks,
            "height_levels": self.height_levels,
            "allow_float": self.allow_float,
            "max_dist": self.max_dist,
            "num_colors": self.num_colors,
            "max_cache": self.max_cache,
            "invariant": self.invariant,
        }

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write the fixed set and the parameters to an npz file, atomically.

        Raises `TaskError` if max_cache is 0, and `DataError` if the file cannot be written.
        """
        if not self.max_cache:
            raise TaskError(
                "RandomTasks with max_cache=0 keeps no tasks to dump; expected max_cache of at least 1"
            )
        grids = np.stack([task.target_grid for task in self])
        about = json.dumps({"format": _FORMAT, "ids": "iglu", "parameters": self.parameters})
        with atomic_write(path) as partial, partial.open("wb") as file:
            np.savez_compressed(file, grids=grids, about=np.array(about))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RandomTasks:
        """Return the source that `dump` wrote, with the same tasks in the same order.

        Raises `DataError` if the file is missing, damaged or something else.
        """
        if not usable_path(path, named=False).exists():
            raise DataError(f"{path} does not exist; expected a file written by RandomTasks.dump")
        place = f"{path} is not a file of RandomTasks.dump"
        with wrap_errors(place):
            with np.load(io.BytesIO(read_file(Path(path), 1024 * MIB)), allow_pickle=False) as file:
                about = parse_json(str(file["about"]), place)
                grids = file["grids"]
            if about["format"] != _FORMAT:
                raise DataError(f"format is {about['format']!r:.60}, expected {_FORMAT}")
            source = cls(**about["parameters"])
            source._cache = {i: source._task(grid, about["ids"]) for i, grid in enumerate(grids)}
        if len(source._cache) != source.max_cache or not source._cache:
            raise DataError(f"{path} has {len(source._cache)} tasks, expected {source.max_cache}")
        source._loaded = True
        return source
