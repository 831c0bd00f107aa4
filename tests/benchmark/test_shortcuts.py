"""What is held out: folds, mirror images, squares; and what a player that ignores its task gets."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from iglu_marl.benchmark import find
from iglu_marl.benchmark.splits import some_of

# ---------------------------------------------------------------------------------------------------------- folds


def images(grid: np.ndarray, invariant: bool) -> set[bytes]:
    """Mirror images and quarter turns of a target; of one that may be shifted, in the corner of the zone."""
    found = set()
    for turns, flipped in itertools.product(range(4), (False, True)):
        image = np.rot90(grid[:, ::-1] if flipped else grid, turns, axes=(1, 2))
        if invariant:
            for axis in (1, 2):
                filled = np.flatnonzero(image.any(axis=tuple({0, 1, 2} - {axis})))
                image = np.roll(image, -int(filled[0]), axis=axis)
        found.add(image.tobytes())
    return found


@pytest.mark.parametrize("name", ["see-few-v2", "pictures-structures-v2", "symbols-two-v2"])
def test_no_mirror_image_is_in_another_split(name: str) -> None:
    level, rng, owner = find(name), np.random.default_rng(0), {}
    for split in ("train", "validation", "test"):
        source = level.tasks(split)
        for task in [source.sample(rng) for _ in range(150)]:
            shape = task.target_grid if name == "symbols-two-v2" else (task.target_grid != 0).astype(np.int8)
            for image in images(shape, task.is_invariant):
                assert owner.setdefault(image, split) == split
    assert len(owner) > 100


def test_each_combination_is_tested_in_one_fold_and_validated_in_another() -> None:
    level = find("symbols-two-v2")
    for split, times in (("test", 1), ("validation", 1), ("train", level.folds - 2)):
        seen = Counter(
            task.target_grid.tobytes()
            for fold in range(level.folds)
            for task in level.fold(fold).tasks(split)
        )
        assert len(seen) == 252
        assert set(seen.values()) == {4 * times}  # directions
    assert level.fold(level.folds + 1) == level.fold(1) != level.fold(2)


def test_squares_are_latin() -> None:
    """Each cell of the ground has one colour in the test of a fold."""
    level = find("see-ground-v2")
    for fold in range(level.folds):
        tasks = some_of(level.fold(fold).tasks("test"), 400)
        colors: dict[bytes, set[int]] = {}
        for task in tasks:
            colors.setdefault((task.target_grid != 0).tobytes(), set()).add(int(task.target_grid.max()))
        assert {len(found) for found in colors.values()} == {1}
