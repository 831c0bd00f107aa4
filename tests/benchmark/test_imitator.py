"""The learner of the shortcut baselines: gradients, what it learns, and how time is encoded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.baselines import HIDDEN, TIMES, Imitator, times


def small_imitator() -> Imitator:
    rng = np.random.default_rng(5)
    shapes = ((4, HIDDEN), (HIDDEN,), (HIDDEN, 3), (3,))
    return Imitator(None, None, [rng.normal(size=shape) for shape in shapes])  # type: ignore[arg-type]


def test_gradients_are_those_of_the_log_likelihood() -> None:
    """Against differences of the mean log likelihood, weight by weight."""
    imitator, rng = small_imitator(), np.random.default_rng(1)
    inputs, actions = rng.normal(size=(6, 4)), rng.integers(3, size=6)

    def likelihood() -> float:
        logits = imitator._forward(inputs)[1]
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return float(np.log(chances[np.arange(6), actions]).mean())

    for weight, gradient in zip(imitator.weights, imitator._gradients(inputs, actions), strict=True):
        assert weight.shape == gradient.shape
        for place in rng.choice(weight.size, min(weight.size, 25), replace=False):
            before, changed = weight.flat[place], []
            for step in (-1e-6, 1e-6):
                weight.flat[place] = before + step
                changed.append(likelihood())
            weight.flat[place] = before
            assert gradient.flat[place] == pytest.approx((changed[1] - changed[0]) / 2e-6, abs=1e-6)


def test_an_imitator_learns_what_the_inputs_say() -> None:
    """Three actions, one for each one-hot input: all right after 200 updates, and by chance before."""
    imitator = small_imitator()
    imitator.weights = [weight.astype(np.float32) * 0.1 for weight in imitator.weights]
    inputs = np.eye(4, dtype=np.float32)[:3]
    imitator.fit(inputs, np.array([2, 0, 1]), 200, 0)
    logits = imitator._forward(inputs)[1]
    assert logits.argmax(1).tolist() == [2, 0, 1]
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert chances.max(axis=1).min() > 0.95


@pytest.mark.parametrize(("most", "steps", "bins"), [(500, [0, 1, 499], None), (10, [0, 3, 9], [0, 3, 9])])
def test_the_time_is_the_part_of_an_episode(most: int, steps: list[int], bins: list[int] | None) -> None:
    """Steps by themselves in short episodes, else as many equal parts of `max_steps`."""
    level: Any = SimpleNamespace(max_steps=most)
    coded = times(level, steps)
    assert coded.shape == (len(steps), TIMES)
    assert (coded.sum(axis=1) == 1).all()
    assert coded.argmax(1).tolist() == (bins or [step * TIMES // most for step in steps])
