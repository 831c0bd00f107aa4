"""The pair with symbols of the zoo, `symbols-pair-v0`: what its builder sees, and that it builds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import iglu_marl
from iglu_marl import AgentError, Role, Task
from iglu_marl.agents.learned import symbols as arrays
from iglu_marl.agents.learned import zoo


def test_a_quarter_turn_of_everything_changes_no_view() -> None:
    grid, turned = np.zeros((2, 9, 11, 11), np.int8)[:, None]
    (x, z), (further_x, further_z) = arrays.RING[1], arrays.RING[3]
    grid[0, 0, x + 5, z + 5] = turned[0, 0, further_x + 5, further_z + 5] = 4
    wish = np.array([[2, 0, 0, 3, 0, 0, 0, 1]])
    pose, then = np.array([[0.25, 0.0, -0.5, -15.0, 45.0]]), np.array([[0.5, 0.0, 0.25, -15.0, 135.0]])
    first, second = (
        arrays.body_view(pose, grid, wish),
        arrays.body_view(then, turned, np.roll(wish, 2, axis=1)),
    )
    assert first.shape == (1, 82)
    assert np.allclose(first, second, atol=1e-6)
    assert not np.allclose(first, arrays.body_view(then, turned, wish))


@pytest.mark.parametrize("view", [iglu_marl.raw_env, iglu_marl.parallel_env])
def test_the_pair_of_the_zoo_builds_what_it_was_trained_on(view: Any) -> None:
    model = zoo.pretrained("symbols-pair-v0")
    game = {
        name: tuple(part) if isinstance(part, list) else part for name, part in model.card["game"].items()
    }
    pairs = [
        (0, 1, 1, 2),
        (2, 3, 6, 1),
        (3, 2, 4, 3),
        (5, 1, 7, 1),
        (0, 3, 4, 2),
        (1, 2, 5, 1),
        (2, 1, 3, 3),
        (6, 2, 7, 3),
    ]
    completed = []
    for seed, (first, color, second, other) in enumerate(pairs):
        blocks = [
            (arrays.RING[cell][0], -1, arrays.RING[cell][1], hue)
            for cell, hue in ((first, color), (second, other))
        ]
        env = view(tasks=Task("", blocks, invariant=False), max_steps=60, **game)
        agents = {role: model.for_env(env, role) for role in (Role.ARCHITECT, Role.BUILDER)}
        completed.append(iglu_marl.play(env, agents, seed=seed).completed)
    assert np.mean(completed) >= 0.8


def test_the_pair_of_the_zoo_says_which_game_it_knows() -> None:
    model = zoo.pretrained("symbols-pair-v0")
    with pytest.raises(AgentError, match="plays with controls='human-level', the environment has 'walking'"):
        model.for_env(iglu_marl.raw_env(), Role.BUILDER)
