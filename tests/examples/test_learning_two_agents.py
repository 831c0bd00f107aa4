"""`examples/ppo_two_agents.py`: few meanings are learned, and only by talking."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchmarks.examples import load_example

# Three colours in one place, and two steps: a builder that hears nothing has one guess, and is right in one of three.
TINY: dict[str, Any] = {
    "colors": 3,
    "places": 1,
    "symbols": 4,
    "words": 1,
    "limit": 2,
    "games": 64,
    "total_steps": 60 * 64 * 8,
}


@pytest.fixture(scope="module")
def example(torch: Any) -> ModuleType:
    return load_example("ppo_two_agents")


# -------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("critic", ["shared", "independent"])
def test_meanings_are_learned_by_talking(example: ModuleType, critic: str) -> None:
    pair, curve = example.train(example.Settings(**TINY, critic=critic), report=False)
    assert curve[0][1] <= 1 / 3
    assert curve[-1] == (TINY["total_steps"], 1.0)
    mute, scrambled = (pair.settings._replace(channel=channel) for channel in ("mute", "scrambled"))
    assert example.success(pair, mute, 100, seed=1) <= 1 / 3 + 1e-6
    assert 0.2 < example.success(pair, scrambled, 100, seed=1) < 0.45


@pytest.mark.parametrize("channel", ["mute", "scrambled"])
def test_nothing_is_learned_without_the_others_words(example: ModuleType, channel: str) -> None:
    options = {**TINY, "total_steps": 20 * 64 * 8}
    pair, curve = example.train(example.Settings(**options, channel=channel), report=False)
    assert example.success(pair, pair.settings, 100, seed=1) < 0.45
    assert len(curve) == 2


def test_the_same_seed_gives_the_same_pair(example: ModuleType, torch: Any) -> None:
    options = {**TINY, "total_steps": 4 * 64 * 8}
    first, second, other = (
        example.train(example.Settings(**options, seed=seed), report=False) for seed in (3, 3, 4)
    )
    weights = [
        [value.flatten() for value in pair.state_dict().values()] for pair, _ in (first, second, other)
    ]
    assert first[1] == second[1]
    assert torch.equal(torch.cat(weights[0]), torch.cat(weights[1]))
    assert not torch.equal(torch.cat(weights[0]), torch.cat(weights[2]))


def test_the_example_reports_its_success(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 <= example.main(**{**TINY, "total_steps": 64 * 8}) <= 1
    assert "critic shared, channel open, seed 0: success" in capsys.readouterr().out


# -------------------------------------------------------------------------------------------- the game


def test_the_builder_sees_the_message_and_nothing_of_the_target(example: ModuleType, torch: Any) -> None:
    settings = example.Settings()
    tasks = example.meanings(settings)
    games = example.Games(settings, len(tasks), 0)
    views = games.reset(0, tasks)
    assert len({tuple(row) for row in views.architect.tolist()}) == len(tasks) == 24
    assert len({tuple(row) for row in views.builder.tolist()}) == 1
    said = torch.arange(24)[:, None] // torch.tensor([[8, 1]]) % 8
    views, *_ = games.step(said, torch.zeros(24, dtype=torch.long))
    assert len({tuple(row) for row in views.builder.tolist()}) == 24
    again, *_ = games.step((said + 1) % 8, torch.zeros(24, dtype=torch.long))
    assert torch.equal(views.builder, again.builder), "it is said once"


@pytest.mark.parametrize("channel", ["open", "mute", "scrambled"])
def test_channels(example: ModuleType, torch: Any, channel: str) -> None:
    games = example.Games(example.Settings(channel=channel), 24, 0)
    games.reset(0)
    said = np.stack([np.arange(24) // 8, np.arange(24) % 8], axis=1)
    carried = games.carried(said)
    if channel == "mute":
        assert not carried.any()
    else:
        moved = (np.array_equal(row, token) for row, token in zip(said + 1, carried, strict=True))
        assert all(moved) if channel == "open" else not any(moved)
        assert sorted(map(tuple, carried.tolist())) == sorted(map(tuple, (said + 1).tolist()))
