"""Baseline builders that ignore the instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from iglu_marl.core.grid import MAX_Y, color_at
from iglu_marl.planning import Edit
from iglu_marl.text.game import TextGame

Player = Callable[[TextGame, np.random.Generator], list[Edit]]


def nothing(game: TextGame, rng: np.random.Generator) -> list[Edit]:
    """Return no edits."""
    return []


def random_block(game: TextGame, rng: np.random.Generator) -> list[Edit]:
    """Place a random block at a random place."""
    x, z = (int(value) for value in rng.integers(-5, 6, size=2))
    return [Edit(x, int(rng.integers(-1, MAX_Y + 1)), z, int(rng.integers(1, 7)))]


def pile(game: TextGame, rng: np.random.Generator) -> list[Edit]:
    """Place a block of a missing colour on a pile at the centre."""
    missing = game.target[game.target != game.grid]
    colors = missing[missing > 0]
    free = [y for y in range(-1, MAX_Y + 1) if not color_at(game.grid, (0, y, 0))]
    return [Edit(0, free[0], 0, int(colors[0]))] if len(colors) and free else []


BASELINES: dict[str, Player] = {"nothing": nothing, "random block": random_block, "pile": pile}


def baseline_scores(seeds: Iterable[int], **options: Any) -> dict[str, float]:
    """Return the mean final score of each of `BASELINES`. options: those of `TextGame`, for a builder."""
    seeds, found = list(seeds), {}
    for name, player in BASELINES.items():
        game, scores = TextGame(**{**options, "role": "builder"}), []
        for seed in seeds:
            game.reset(seed)
            rng, done, info = np.random.default_rng(seed), False, {"score": 0.0}
            while not done:
                _, _, done, info = game.step(player(game, rng))
            scores.append(info["score"])
        found[name] = float(np.mean(scores))
    return found
