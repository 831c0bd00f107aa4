"""Players that ignore their task get what the table calls chance, and no more. No code of the audits is used."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from iglu_marl.benchmark import find, levels, make
from iglu_marl.benchmark.audits import read_audits

# Grid actions: turn right, left or round (1, 2, 3), look down (4), place one of six colours (11 to 16).
CONSTANT = [(*turn, 4, color) for turn in ((), (1,), (2,), (3,)) for color in range(11, 17)]
PURPLE = CONSTANT[4]
FOLDS = 6


def solves(env: Any, task: Any, actions: tuple[int, ...]) -> bool:
    """Whether a fixed sequence completes a task; its only block is the last action."""
    env.reset(seed=0, options={"task": task})
    for action in actions:
        if hasattr(env, "possible_agents"):
            quiet = {name: np.zeros_like(env.action_space(name).sample()) for name in env.possible_agents}
            own = env.action_space("builder_0")
            act = action if own.shape == () else np.array([action, *[0] * (own.shape[0] - 1)])
            ended = env.step({**quiet, "builder_0": act})[2]["builder_0"]
        else:
            ended = env.step(action)[2]
    return bool(ended)


def rates(level: str, fold: int, players: list[tuple[int, ...]]) -> list[float]:
    """The success rate of each player on the whole test split of a fold."""
    env = make(level, "test", fold=fold)
    tasks = list(find(level).fold(fold).tasks("test"))
    found = [float(np.mean([solves(env, task, actions) for task in tasks])) for actions in players]
    env.close()
    return found


@pytest.mark.parametrize("name", ["see-place-v1", "told-place-v1", "words-place-v1", "symbols-place-v1"])
def test_the_best_constant_player_of_a_place_level_gets_chance(name: str) -> None:
    assert read_audits()[name].chance == 0.25
    assert max(rates(name, 0, CONSTANT)) == (0.25 if name.startswith("see") else 0.25 / 4)  # directions


def test_a_constant_player_gets_one_in_24_of_all_runs() -> None:
    """Purple to the north is right in one fold of six, and nothing is to be had by choosing another colour."""
    found = np.array([rates("see-place-v1", fold, CONSTANT) for fold in range(FOLDS)])
    assert found.max() <= read_audits()["see-place-v1"].chance
    assert found.mean(axis=0).tolist() == pytest.approx([1 / 24] * 24)
    assert read_audits()["see-place-v1"].constant == pytest.approx(1 / 24)
    assert found[:, CONSTANT.index(PURPLE)].sum() == 0.25


def test_a_constant_player_of_the_ground_levels_gets_chance() -> None:
    env, level = make("see-ground-v1", "test"), find("see-ground-v1")
    rng = np.random.default_rng(0)
    tasks = [level.tasks("test").sample(rng) for _ in range(300)]
    for player in (PURPLE, CONSTANT[9]):
        wins = sum(solves(env, task, player) for task in tasks)
        assert wins / 300 <= read_audits()["see-ground-v1"].chance + 3 * np.sqrt(0.01 / 300)


def test_chance_is_that_of_the_scored_split() -> None:
    """Of splits that can be listed, counted here; of endless ones, no target is frequent."""
    for level in levels():
        chance = read_audits()[level.name].chance
        source = None if "human" in level.name else level.tasks("test")
        if hasattr(source, "__len__"):
            targets = Counter(task.target_grid.tobytes() + task.start_grid.tobytes() for task in source)
            assert chance == max(targets.values()) / len(source), level.name  # type: ignore[arg-type]
        elif "structures" in level.name:
            assert chance < 0.005, level.name


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


@pytest.mark.parametrize("name", ["see-few-v1", "words-structures-v1", "symbols-two-v1"])
def test_no_mirror_image_is_in_another_split(name: str) -> None:
    level, rng, owner = find(name), np.random.default_rng(0), {}
    for split in ("train", "validation", "test"):
        source = level.tasks(split)
        for task in [source.sample(rng) for _ in range(150)]:
            shape = task.target_grid if name == "symbols-two-v1" else (task.target_grid != 0).astype(np.int8)
            for image in images(shape, task.is_invariant):
                assert owner.setdefault(image, split) == split
    assert len(owner) > 100


@pytest.mark.parametrize(("name", "count"), [("see-place-v1", 24), ("symbols-two-v1", 252)])
def test_each_combination_is_tested_in_one_fold_and_validated_in_another(name: str, count: int) -> None:
    level = find(name)
    for split, times in (("test", 1), ("validation", 1), ("train", level.folds - 2)):
        seen = Counter(
            task.target_grid.tobytes()
            for fold in range(level.folds)
            for task in level.fold(fold).tasks(split)
        )
        assert len(seen) == count
        assert set(seen.values()) == {times * (1 if name == "see-place-v1" else 4)}  # directions
    assert level.fold(level.folds + 1) == level.fold(1) != level.fold(2)
    assert level.fold(3).digest == level.digest


def test_squares_are_latin() -> None:
    """Each place has one test colour, and all places have different ones."""
    for fold in range(FOLDS):
        tasks = list(find("see-place-v1").fold(fold).tasks("test"))
        cells = {tuple(np.argwhere(task.target_grid)[0]) for task in tasks}
        assert len(cells) == len({int(task.target_grid.max()) for task in tasks}) == len(tasks) == 4
