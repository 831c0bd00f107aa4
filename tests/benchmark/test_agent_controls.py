"""Controls of agents: who does without a sense is as good without it, and who needs it is not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from iglu_marl import Role
from iglu_marl.benchmark import find, levels, make, run
from iglu_marl.benchmark.catalog import CONTROLS, Level
from iglu_marl.benchmark.controls import OtherPictures, Scheduled
from iglu_marl.benchmark.splits import PlacedBlocks, Spawned, Turned, some_of

ROUND = dataclasses.replace(  # pictures from anywhere, few steps
    find("pictures-ground-v2"), content=Spawned(PlacedBlocks(wordings=1)), max_steps=12
)


def test_each_sense_that_a_level_claims_has_its_control() -> None:
    for level in levels():
        names = level.agent_controls
        assert set(names) <= set(CONTROLS)
        assert ("unsighted" in names) == ("pov" in level.sees), level.name
        assert ("blind" in names) == level.sees_target, level.name
        assert ("alone" in names) == level.is_team, level.name
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


def scheduled(level: Level, dark: Sequence[bool]) -> list[Scheduled]:
    tasks = some_of(level.tasks("test"), 2 * len(dark), 3)
    return [
        Scheduled(number, tasks[2 * number], tasks[2 * number + 1], black)
        for number, black in enumerate(dark)
    ]


def test_the_unsighted_see_another_game_that_follows_their_actions() -> None:
    (game,) = scheduled(ROUND, [False])
    env, other, control = (make(ROUND, "test") for _ in range(3))
    change = OtherPictures(game, ["builder_0"], lambda: control).change("builder_0")
    seen, _ = env.reset(seed=0, options={"task": game.task})
    expected, _ = other.reset(seed=0, options={"task": game.other})
    differ = 0
    for action in (6, 6, 12, 8, 15, 15, 6):
        shown = change.see(seen)
        assert np.array_equal(shown["pov"], expected["pov"])
        assert {key for key in seen if not np.array_equal(shown[key], seen[key])} <= {"pov"}
        differ += not np.array_equal(seen["pov"], expected["pov"])
        change.did(action)
        seen, expected = env.step(action)[0], other.step(action)[0]
    assert differ >= 6


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
