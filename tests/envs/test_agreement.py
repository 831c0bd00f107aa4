"""Completion is paid alike in every view, and worlds do not depend on their number."""

from __future__ import annotations

from typing import Any

import pytest
from probing import LONE_VIEWS, PAIR_VIEWS, driven

from iglu_marl import Controls, Task, Worlds
from iglu_marl.game.config import GameConfig

# ---------------------------------------------------------------------------------------------------------- completion

ONE_BLOCK = {"task": Task("", [(0, -1, -2, 6)]), "pose": (0.0, -0.25, 0.0, 0.0, -40.0)}
WRONG_THEN_RIGHT = (6, 17, 16, 11, 17)  # blue: place, break; red: place
VIEWS = ("worlds", *LONE_VIEWS, *PAIR_VIEWS)


def steps_of(view: str, **options: Any) -> tuple[Any, Any]:
    """An environment, reset, and a function that lets the builder act: reward and whether the target is completed."""
    if view == "worlds":
        worlds, controls = Worlds(1), Controls("walking")
        worlds.spawn(0, ONE_BLOCK["task"], GameConfig(**options).rules(), ONE_BLOCK["pose"])

        def act(action: int) -> tuple[Any, Any]:
            worlds.step(controls.encode_batch([action]))
            return worlds.reward[0], worlds.terminated[0]

        return worlds, act
    env, step = driven(view, ONE_BLOCK, **options)

    def act(action: int) -> tuple[Any, Any]:
        _, paid, terminated, *_ = step(action)
        assert len(set(paid.values())) == 1, "both are paid alike"
        return paid["builder_0"], terminated

    return env, act


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("options", "rewards"),
    [
        ({}, [0, -1, 1, 0, 2]),
        ({"right_scale": 5, "wrong_scale": 0.25, "step_cost": 0.125}, [-0.125, -0.375, 0.125, -0.125, 4.875]),
        ({"completion_reward": 10}, [0, -1, 1, 0, 12]),
        ({"completion_reward": 10, "size_reward": True}, [0, 0, 0, 0, 11]),
        ({"completion_reward": 0.5, "step_cost": 0.25}, [-0.25, -1.25, 0.75, -0.25, 2.25]),
        ({"sparse_reward": True}, [0, 0, 0, 0, 1]),
        ({"sparse_reward": True, "step_cost": 0.25}, [-0.25, -0.25, -0.25, -0.25, 0.75]),
    ],
    ids=str,
)
def test_completion_is_paid_alike_everywhere(
    view: str, options: dict[str, Any], rewards: list[float]
) -> None:
    _, act = steps_of(view, **options)
    done = [False] * 4 + [True]
    assert [act(action) for action in WRONG_THEN_RIGHT] == list(zip(rewards, done, strict=True))
