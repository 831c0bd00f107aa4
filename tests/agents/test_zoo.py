"""The trained agents that come with the package: names, cards, sizes, and games that they play."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from requirements import ROOT, require
from typer.testing import CliRunner

from iglu_marl import AgentError, ConfigError, DataError, Role
from iglu_marl.agents import RandomBuilder
from iglu_marl.agents.learned import zoo
from iglu_marl.agents.registry import game_options
from iglu_marl.evaluation import evaluate

MOST_BYTES = 5_000_000
CARD = ("kind", "about", "game", "network", "data", "budget", "results", "command", "check", "versions")


@pytest.mark.parametrize("name", zoo.zoo())
def test_cards_are_complete(name: str) -> None:
    card = zoo.pretrained(name).card
    assert set(CARD) == card.keys()
    assert all(card.values())
    assert card["kind"] in zoo.KINDS
    assert all(result.keys() >= {"value", "interval", "games"} for result in card["results"].values())


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(AgentError, match=r"'edits-v7' is unknown.*, expected one of edits-v1"):
        zoo.pretrained("edits-v7")


def test_weights_cannot_run_code(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", w=np.array([{}], object))
    for content in ((tmp_path / "evil.npz").read_bytes(), b"PK", b""):
        (tmp_path / "weights.npz").write_bytes(content)
        with pytest.raises(DataError, match="holds no weights"):
            zoo.read_arrays(tmp_path / "weights.npz")


def test_all_agents_together_are_small() -> None:
    assert sum(path.stat().st_size for path in zoo.FOLDER.glob("*")) <= MOST_BYTES


def test_the_page_of_the_builder_that_sees_quotes_its_card() -> None:
    results = zoo.pretrained("pov-walker-v2").card["results"]
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
    options: dict[str, Any] = {"count": 1, "config": {"max_steps": 30}, "progress": False}
    result = evaluate("random", name, "random", output=tmp_path, **options)
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
        "record game.jsonl --builder pov-walker-v2 --max-steps 20 --json",
        "evaluate --builder pov-walker-v2 --builder scripted --task-source random --count 1 --max-steps 20 --json",
        "predict --corpus bundled --count 1 --builder pov-walker-v2 --max-steps 20 --json",
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
        ("--builder pov-walker-v2 --controls flying", "walks with the 18 actions; controls is 'flying'"),
        ("--builder pov-walker-v2 --sees dialog", "needs 'pov' in its observation and got"),
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
    agents = {Role.ARCHITECT: ["scripted"], Role.BUILDER: ["scripted", "pov-walker-v2", RandomBuilder]}
    sees = ("grid", "dialog", "pov", "inventory", "compass")
    learned = {"controls": "walking", "chat": "text", "builder_sees": sees, "max_turns": 3}
    assert game_options(agents, own, {"controls": None}) == learned
    asked = {"controls": "flying", "builder_sees": ("pov",)}
    assert game_options(agents, own, asked) == {**learned, **asked}
    assert game_options({Role.BUILDER: ["scripted"]}, own, {}) == own
