"""Exact success rates of ideal agents with strangers, see `iglu_marl.benchmark.strangers`."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from iglu_marl.benchmark.codes import Kind, language
from iglu_marl.benchmark.strangers import GAMES

Array = npt.NDArray[Any]


def ideal_curve(kind: Kind, games: int = GAMES) -> list[float]:
    """Return the exact success rate of an ideal agent in each game of a sitting.

    It knows all codes of the kind, which are equally probable, and remembers all games. The listener chooses the most
    probable meaning of each symbol; the speaker maximises the number of successes in the sitting.
    """
    if kind == "listen":
        return list(_best_plan(games, 0, 0))
    own = language(kind)
    return [
        place * color for place, color in zip(*(_part_curve(part, games) for part in own[:2]), strict=True)
    ]


def _part_curve(table: Array, games: int) -> list[float]:
    """Return how often the meaning of a symbol is found, by game, with a random choice among the most probable.

    table: the symbol of each meaning, int [codes, meanings]. All codes are alike up to the names of the meanings, so
    that the first one stands for all. Chances are by the set of meanings that were seen.
    """
    own, meanings = table[0], table.shape[1]
    right = np.zeros(2**meanings)
    for seen in range(2**meanings):
        met = np.array([bool(seen >> meaning & 1) for meaning in range(meanings)])
        likely = table[(table[:, met] == own[met]).all(axis=1)]
        for meaning in range(meanings):
            counts = (likely == own[meaning]).sum(axis=0)
            best = counts == counts.max()
            right[seen] += best[meaning] / best.sum() / meanings
    curve, chances = [], np.eye(2**meanings)[0]
    for _ in range(games):
        curve.append(float(chances @ right))
        later = np.zeros_like(chances)
        for meaning in range(meanings):
            np.add.at(later, np.arange(2**meanings) | 1 << meaning, chances / meanings)
        chances = later
    return curve


@lru_cache
def _best_plan(games: int, places: int, colors: int) -> tuple[float, ...]:
    """Return the success rate of each of the next games under the best plan of a speaker.

    places, colors: how many symbols it knows. In each part of a message it can say a known symbol, or try another one,
    which shows the meaning of that one; the meaning of the last symbol follows from the others.
    """
    if not games:
        return ()
    curve = np.zeros(games)
    for is_known in product((True, False), repeat=2):  # whether it knows the symbols of the block
        parts = list(zip((places, colors), (4, 6), is_known, strict=True))
        weight = np.prod([count / size if known else 1 - count / size for count, size, known in parts])
        plans = []
        for tries in product((False, True), repeat=2) if weight else ():
            chance, later = 1.0, []
            for (count, size, known), is_try in zip(parts, tries, strict=True):
                chance *= (not known) / (size - count or 1) if is_try else known
                later.append(size if count + is_try >= size - 1 else count + is_try)
            plans.append((chance, *_best_plan(games - 1, *later)))
        if plans:
            curve += weight * np.array(max(plans, key=lambda plan: round(sum(plan), 9)))
    return tuple(curve.tolist())
