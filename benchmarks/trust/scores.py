"""Scores against a second implementation: random builds and targets, both kinds of shifts, with and without freedom.

The amount is a number of scores.
"""

from __future__ import annotations

import numpy as np

from benchmarks.trust import oracle
from benchmarks.trust.driver import Figures, expect, main, show_progress
from iglu_marl import intersection_scores
from iglu_marl.core.scoring import Target, align

QUICK, FULL = 2_000, 25_000


def drive(amount: int, seed: int) -> Figures:
    rng = np.random.default_rng(seed)
    figures = {"scores": 0, "alignments": 0, "exact": 0}
    while figures["scores"] < amount:
        show_progress(figures)
        target = drawn(rng)
        grid = changed(rng, target) if rng.random() < 0.6 else drawn(rng)
        full = (
            np.where(rng.random(target.shape) < 0.01, 1, target).astype(np.int8)
            if rng.random() < 0.3
            else None
        )
        counts = oracle.match_counts(grid, target)
        for inside in (False, True):
            for invariant in (False, True):
                shifts = "inside" if inside else "all"
                extent = target if full is None else full
                allowed = oracle.admissible(extent, inside, invariant)
                top = int((counts * allowed).max())
                prepared = Target(target, shifts, invariant, full)
                found, alignment = prepared.alignment(grid)
                place = f"seed {seed}, score {figures['scores']}, shifts {shifts}, invariant {invariant}"
                expect(found == top, f"the intersection is {found}, expected {top} ({place})")
                expect(
                    ((prepared.match_counts(grid) == counts) | ~allowed).all(),
                    f"other match counts ({place})",
                )
                laid = align(target, alignment)
                expect(
                    top == ((laid == grid) & (grid != 0)).sum(), f"the alignment does not attain it ({place})"
                )
                scores = intersection_scores(grid, target, shifts, invariant, full)
                built, wanted = int((grid != 0).sum()), int((target != 0).sum())
                expect(
                    abs(scores.f1 * (built + wanted) - 2 * top) < 1e-9 or not built + wanted, f"f1 ({place})"
                )
                expect(
                    max(scores[:3]) <= 1.0 and min(scores[:3]) >= 0.0, f"{scores} is out of range ({place})"
                )
                figures["scores"] += 1
                figures["alignments"] += int(allowed.sum())
                figures["exact"] += top == built == wanted
    return figures


def drawn(rng: np.random.Generator) -> oracle.Array:
    """Return a random grid, sparse or dense, of few or many colours."""
    filled = rng.random((9, 11, 11)) < rng.choice((0.0, 0.003, 0.02, 0.1))
    return (rng.integers(1, rng.integers(2, 8), filled.shape) * filled).astype(np.int8)


def changed(rng: np.random.Generator, target: oracle.Array) -> oracle.Array:
    """Return a grid similar to the target: rotated, shifted, with a few other blocks."""
    grid = np.rot90(target, rng.integers(4), axes=(1, 2)).copy()
    grid = np.roll(grid, rng.integers(-3, 4, 2), axis=(1, 2))
    for _ in range(int(rng.integers(0, 4))):
        grid[tuple(rng.integers(0, (9, 11, 11)))] = rng.integers(0, 7)
    return grid


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
