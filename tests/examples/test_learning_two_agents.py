"""`examples/ppo_two_agents.py` and `benchmarks/two_agents.py`: few meanings are learned, and only by talking."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, require

from benchmarks import two_agents
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
    measured = two_agents.measure(example, pair.settings, pair)
    assert measured["success"] == 1.0
    assert measured["muted"] <= 1 / 3 + 1e-6
    assert 0.2 < measured["scrambled"] < 0.45
    code = two_agents.look_at_code(example, pair)
    assert code["distinct"] == 3
    assert code["information"]["message"]["colour"] > 1.3  # of log2(3) = 1.58 bits
    assert code["information"]["message"]["place"] == pytest.approx(0.0, abs=1e-6)  # there is only one


@pytest.mark.parametrize("channel", ["mute", "scrambled"])
def test_nothing_is_learned_without_the_others_words(example: ModuleType, channel: str) -> None:
    options = {**TINY, "total_steps": 20 * 64 * 8}
    pair, curve = example.train(example.Settings(**options, channel=channel), report=False)
    assert two_agents.measure(example, pair.settings, pair)["success"] < 0.45
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


def test_runs_and_controls_are_measured_and_drawn(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(two_agents, "REPEATS", 2)
    monkeypatch.setattr(two_agents, "SAMPLES", 10)
    result = two_agents.run(seeds=2, workers=1, total_steps=256 * 8)
    assert result["best without chat"] == pytest.approx(2 / 24, abs=1e-4)
    assert {name: len(seeds) for name, seeds in result["runs"].items()} == dict.fromkeys(two_agents.RUNS, 2)
    for name in two_agents.TALKING:
        own = [one["success"] for one in result["runs"][name]]
        assert np.diag(result["cross-play"][name]).tolist() == own
    require("matplotlib", importlib.util.find_spec("matplotlib") is not None, "matplotlib is not installed")
    monkeypatch.syspath_prepend(str(ROOT))
    two_agents.show(result, tmp_path)
    assert (tmp_path / "learning_two_agents.svg").stat().st_size > 1000
    assert "| scrambled chat |" in capsys.readouterr().out


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


@pytest.mark.parametrize(("limit", "tries"), [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_guesses_without_chat(example: ModuleType, limit: int, tries: int) -> None:
    """A wrong block has to go before the next may come, so every second step is a guess."""
    settings = example.Settings(colors=4, places=2, limit=limit)
    best, actions = two_agents.best_without_chat(example, settings)
    assert best == pytest.approx(tries / 8)
    assert len(actions) == limit
    if limit == 1:
        assert actions[0] >= example.PLACE


# -------------------------------------------------------------------------------------------- measures


def test_information_is_that_of_the_measures_of_languages() -> None:
    # joint (0, 0) x 2, (1, 1) x 1, (1, 0) x 1: H(x) = 1, H(y) = 0.8113, H(x, y) = 1.5; corrections 1 + 1 - 2
    assert two_agents.information([0, 0, 1, 1], [0, 0, 1, 0]) == pytest.approx(1 + 0.811278 - 1.5, abs=1e-5)


# -------------------------------------------------------------------------------------------- the page


def test_the_page_shows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    text = (ROOT / "docs" / "learning" / "two_agents.json").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "emergent_chat.md").read_text(encoding="utf-8")
    result = json.loads(text)
    assert set(result["runs"]) == set(two_agents.RUNS)
    for title, table in two_agents.tables(result).items():
        assert table in page or title == "messages, independent critics", title
    for name in two_agents.TALKING:  # well above what is possible without chat
        assert min(one["success"] for one in result["runs"][name]) > 0.9 > 10 * result["best without chat"]


def test_the_measured_settings_are_those_of_the_example(example: ModuleType) -> None:
    text = (ROOT / "docs" / "learning" / "two_agents.json").read_text(encoding="utf-8")
    assert json.loads(text)["settings"] == example.Settings()._asdict()
