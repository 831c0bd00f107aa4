"""The pairs with symbols of the zoo, `partners-place-…`: they build what they were trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import iglu_marl
from iglu_marl import AgentError, Role
from iglu_marl.agents.learned import zoo
from iglu_marl.benchmark import find
from iglu_marl.benchmark.splits import some_of


@pytest.mark.parametrize("view", [iglu_marl.raw_env, iglu_marl.parallel_env])
def test_the_pair_of_the_zoo_builds_what_it_was_trained_on(view: Any) -> None:
    model = zoo.pretrained("partners-place-ippo-0-v1")
    game = {
        name: tuple(part) if isinstance(part, list) else part for name, part in model.card["game"].items()
    }
    completed = []
    for seed, task in enumerate(some_of(find("partners-place-v1").tasks("train"), 16, 0)):
        env = view(tasks=task, max_steps=20, **game)
        agents = {role: model.for_env(env, role) for role in (Role.ARCHITECT, Role.BUILDER)}
        completed.append(iglu_marl.play(env, agents, seed=seed).completed)
    assert np.mean(completed) >= 0.6


def test_the_pair_of_the_zoo_says_which_game_it_knows() -> None:
    model = zoo.pretrained("partners-place-ippo-0-v1")
    with pytest.raises(AgentError, match="plays with controls='discrete', the environment has 'walking'"):
        model.for_env(iglu_marl.raw_env(), Role.BUILDER)
