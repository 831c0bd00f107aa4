"""Controls of agents: who does without a sense is as good without it, and who needs it is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from iglu_marl import Role
from iglu_marl.benchmark import find, levels, make, run
from iglu_marl.benchmark.catalog import CONTROLS
from iglu_marl.benchmark.contents import PlacedBlocks, Spawned, Turned
from iglu_marl.benchmark.games import Scheduled, Unsighted
from iglu_marl.benchmark.splits import some_of

ROUND = dataclasses.replace(  # pictures from anywhere, few steps
    find("pictures-ground-v2"), content=Spawned(PlacedBlocks(wordings=1)), max_steps=12
)


def test_each_sense_that_a_level_claims_has_its_control() -> None:
    for level in levels():
        names = level.agent_controls
        assert set(names) <= set(CONTROLS)
        assert ("unsighted" in names) == ("pov" in level.sees), level.name
        assert ("blind" in names) == level.sees_target, level.name
        assert ("alone" in names) == (level.family == "team"), level.name
        assert ("muted" in names) == ("dialog" in level.sees or level.is_repeated), level.name
        assert ("forgetful" in names) == level.is_repeated, level.name


class Walking:
    """A builder that walks about, and keeps the pictures that it gets."""

    def __init__(self, kept: list[Any]) -> None:
        self.kept = kept

    def reset(self, role: Role, seed: int | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.kept.append([])

    def act(self, observation: Any) -> int:
        self.kept[-1].append(observation["pov"].copy())
        return int(self.rng.integers(1, 18))

    def close(self) -> None:
        pass


def test_the_unsighted_see_another_game_that_follows_their_actions() -> None:
    tasks = some_of(ROUND.tasks("test"), 2, 3)
    env, other, control = (make(ROUND, "test") for _ in range(3))
    agent = Unsighted(Walking([]), Scheduled(0, *tasks), lambda: control)
    agent.reset(Role.BUILDER, 0)
    seen, _ = env.reset(seed=0, options={"task": tasks[0]})
    expected, _ = other.reset(seed=0, options={"task": tasks[1]})
    differ = 0
    for _ in range(9):
        differ += not np.array_equal(seen["pov"], expected["pov"])
        action = agent.act(seen)
        assert np.array_equal(agent.agent.kept[-1][-1], expected["pov"])
        seen, expected = env.step(action)[0], other.step(action)[0]
    assert differ >= 8


def test_half_of_the_unsighted_see_nothing() -> None:
    kept: list[Any] = []
    run(ROUND, [lambda env: Walking(kept)], episodes=8)
    usual, unsighted = kept[:8], kept[-8:]
    black = [not np.any(pictures) for pictures in unsighted]
    assert sum(black) == 4
    assert not any(not np.any(pictures) for pictures in usual)
    for shown, own, dark in zip(unsighted, usual, black, strict=True):
        assert len(shown) == len(own)
        assert dark or not np.array_equal(shown[0], own[0])


def test_a_builder_that_never_looks_is_as_good_unsighted() -> None:
    level = dataclasses.replace(
        find("pictures-ground-v2"), content=Turned(PlacedBlocks(wordings=1)), controls="grid", max_steps=6
    )
    found = run(level, ["oracle"], episodes=8)
    assert (found.scores(), found.control("unsighted")) == ([1.0], 1.0)
    assert "unsighted 100.0% above chance 25.0%" in found.flags()
