"""The trained agents that come with the package: names, cards, sizes, and games that they play."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, require
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import AgentError, ConfigError, DataError, Role
from iglu_marl.agents import LearnedBuilder, RandomBuilder
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.registry import ARCHITECTS, BUILDERS, game_options
from iglu_marl.evaluation import evaluate

MOST_BYTES = 5_000_000
CARD: dict[str, Any] = {
    "kind": "stand-in",
    "about": "For tests.",
    "roles": ["builder"],
    "game": {"controls": "walking"},
    "network": {"width": 3},
    "data": "Nothing.",
    "budget": "No time.",
    "results": {"completed": {"value": 0.0, "interval": [0.0, 0.1], "games": 30}},
    "command": "python -c ''",
    "check": "python -c ''",
    "versions": {"iglu_marl": iglu_marl.__version__},
}


class StandIn(RandomBuilder):
    """Plays at random, but holds what it was given."""

    def __init__(self, *, model: zoo.Pretrained, **options: Any) -> None:
        super().__init__(**options)
        self.weights = model.tensors["w"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A zoo with one agent in it, besides that of the package."""
    monkeypatch.setitem(zoo.KINDS, "stand-in", {Role.BUILDER: "test_zoo:StandIn"})
    zoo.save("stand-in-v0", CARD, {"w": np.arange(3.0)}, tmp_path)
    yield tmp_path
    zoo.pretrained.cache_clear()


def test_what_is_saved_is_an_agent_by_name(folder: Path) -> None:
    assert zoo.zoo(folder) == ["stand-in-v0"]
    found = zoo.pretrained("stand-in-v0", folder)
    assert found.roles == (Role.BUILDER,)
    env = iglu_marl.raw_env()
    agent: Any = found.for_env(env)
    assert agent.weights.tolist() == [0, 1, 2]
    with pytest.raises(AgentError, match="stand-in-v0 cannot play the architect, expected builder"):
        found.for_env(env, Role.ARCHITECT)


def test_unknown_names_list_the_known_ones(folder: Path) -> None:
    with pytest.raises(AgentError, match="'nobody-v0' is unknown, expected one of stand-in-v0"):
        zoo.pretrained("nobody-v0", folder)
    with pytest.raises(AgentError, match="'nobody-v0' is unknown"):
        LearnedBuilder.pretrained("nobody-v0")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": ""}, "lacks data"),
        ({"kind": "no-kind"}, "kind is 'no-kind', expected one of"),
        ({"roles": ["architect"]}, r"roles is \['architect'\], expected some of \['builder'\]"),
        ({"results": {"completed": {"value": 1}}}, "expected value, interval, games"),
    ],
)
def test_incomplete_cards_are_refused(folder: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        zoo.save("other-v0", {**CARD, **change}, {}, folder)
    (folder / "other-v0.json").write_text(json.dumps({**CARD, **change}), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        zoo.pretrained("other-v0", folder)


def test_weights_cannot_run_code(folder: Path) -> None:
    np.savez(folder / "stand-in-v0.npz", w=np.array([{}], object))
    with pytest.raises(DataError, match="holds no weights"):
        zoo.pretrained("stand-in-v0", folder).for_env(iglu_marl.raw_env())


def test_all_agents_together_are_small() -> None:
    assert sum(path.stat().st_size for path in zoo.FOLDER.glob("*")) <= MOST_BYTES


def test_the_page_of_the_builder_that_sees_quotes_its_card() -> None:
    results = zoo.pretrained("pov-walker-v1").card["results"]
    page = (ROOT / "docs" / "pov_builder.md").read_text(encoding="utf-8")
    told = {
        name: "{:.2f} ({:.2f} to {:.2f})".format(found["value"], *found["interval"])
        for name, found in results.items()
    }
    assert f"exact {told['single requests, exact']}" in page
    assert f"without needless changes {told['single requests, first try']}" in page
    f1 = next(name for name in told if name.endswith("F1"))
    assert f"F1 {told[f1]}, complete {told['whole structures, complete']}" in page


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.zoo())
def test_every_agent_of_the_package_plays_by_name(name: str, tmp_path: Path) -> None:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    agent = zoo.pretrained(name)
    known = {Role.ARCHITECT: ARCHITECTS, Role.BUILDER: BUILDERS}
    assert all(name in known[role] for role in agent.roles)
    result = evaluate(
        name if Role.ARCHITECT in agent.roles else "random",
        name if Role.BUILDER in agent.roles else "random",
        "random",
        count=1,
        output=tmp_path,
        config={"max_steps": 30},
        progress=False,
    )
    assert [row["error"] for row in result.rows] == [""]


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own, in an empty folder."""
    return subprocess.run(
        [sys.executable, "-m", "iglu_marl", *line.split()],
        cwd=folder,
        env={**os.environ, "SDL_VIDEODRIVER": "dummy", "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "record game.jsonl --builder pov-walker-v1 --max-steps 20 --json",
        "evaluate --builder pov-walker-v1 --builder scripted --task-source random --count 1 --max-steps 20 --json",
        "predict --corpus bundled --count 1 --builder pov-walker-v1 --max-steps 20 --json",
    ],
)
def test_trained_agents_need_no_option(tmp_path: Path, line: str) -> None:
    """What a trained agent sees, and how it acts and speaks, stands on its card; a command line does not repeat it."""
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    done = run(tmp_path, line)
    assert "Error" not in done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--builder pov-walker-v1 --controls flying", "walks with the 18 actions; controls is 'flying'"),
        ("--builder pov-walker-v1 --sees dialog", "needs 'pov' in its observation and got"),
    ],
)
def test_what_is_asked_for_is_done_or_refused(tmp_path: Path, words: str, said: str) -> None:
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    from iglu_marl.cli import app

    line = ["evaluate", "--task-source", "random", "--count", "1", *words.split(), "--output", str(tmp_path)]
    with pytest.raises((AgentError, ConfigError), match=re.escape(said)):
        CliRunner().invoke(app, line, catch_exceptions=False)


def test_the_game_in_which_agents_can_play() -> None:
    own = {"controls": "discrete", "builder_sees": ("grid", "dialog"), "max_turns": 3}
    agents = {Role.ARCHITECT: ["scripted"], Role.BUILDER: ["scripted", "pov-walker-v1", RandomBuilder]}
    sees = ("grid", "dialog", "pov", "inventory", "compass")
    learned = {"controls": "walking", "chat": "text", "builder_sees": sees, "max_turns": 3}
    assert game_options(agents, own, {"controls": None}) == learned
    asked = {"controls": "flying", "builder_sees": ("pov",)}
    assert game_options(agents, own, asked) == {**learned, **asked}
    assert game_options({Role.BUILDER: ["scripted"]}, own, {}) == own
