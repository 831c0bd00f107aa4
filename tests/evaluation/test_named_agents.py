"""Agents named by module or file, classes as agents, and tasks by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import iglu_marl
from iglu_marl import AgentError, Role, Task, evaluate
from iglu_marl.agents import agents_for
from iglu_marl.agents.registry import partner_for
from iglu_marl.cli import app
from iglu_marl.commands.evaluate import short_names

MINE = '''
import helper_of_mine

class MyBuilder:
    """Stands still, in whatever game."""

    def reset(self, role, seed):
        pass

    def act(self, observation):
        return {"act": 0, "say": helper_of_mine.WORDS}

    def close(self):
        pass

class Numbers(MyBuilder):
    def act(self, observation):
        return 0

def make(env):
    return Numbers() if hasattr(env, "action_space") and not hasattr(env, "agents") else MyBuilder()
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with agents in a file, and a module beside it."""
    (tmp_path / "folder").mkdir()
    for folder in (tmp_path, tmp_path / "folder"):
        (folder / "agents_here.py").write_text(MINE)
        (folder / "helper_of_mine.py").write_text('WORDS = ""\n')
    (tmp_path / "folder" / "random.py").write_text(MINE)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --builder agents_here:MyBuilder --task-source random --count 2 --max-steps 20 --processes 2 --json",
        "benchmark run told-ground-v2 --builder agents_here:make --episodes 1 --no-control-runs --json",
        "record game.jsonl --builder folder/random.py:MyBuilder --max-steps 20 --json",
        "predict --builder agents_here.py:MyBuilder --controls walking --corpus bundled --count 1 --max-steps 5 --json",
    ],
)
def test_agents_of_files_in_the_current_folder(words: str, mine: Path) -> None:
    """By module and by file, wherever a command takes agents, in this process and in others."""
    command = str(Path(sys.executable).with_name("iglu-marl"))  # has no folder of its own on the path
    done = subprocess.run([command, *words.split()], cwd=mine, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == "" or "Error" not in done.stderr
    assert json.loads(done.stdout.splitlines()[0])


def test_names_of_files_are_resolved_in_one_place(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mine)
    monkeypatch.setattr(sys, "path", [part for part in sys.path if part])
    env = iglu_marl.raw_env()
    agent = agents_for(env, builder="folder/random.py:make")[Role.BUILDER]
    assert type(agent).__name__ == "MyBuilder"
    assert partner_for(env, Role.BUILDER, "folder/random.py:MyBuilder").act(None) == agent.act(None)
    for name, said in (
        ("folder/none.py:MyBuilder", "there is no file .*none.py"),
        ("folder/random.py:Nobody", "cannot be imported.*Nobody"),
        ("agents_here:", "expected|not module:attribute"),
    ):
        with pytest.raises(AgentError, match=said):
            agents_for(env, builder=name)


class Plain:
    """A builder without `for_env`."""

    def reset(self, role: Any, seed: int | None) -> None:
        pass

    def act(self, observation: Any) -> Any:
        return {"act": 0, "say": ""}

    def close(self) -> None:
        pass


class OfEnvironment(Plain):
    """One that takes the environment."""

    def __init__(self, env: Any = None) -> None:
        self.controls = env.unwrapped.config.controls


def test_plain_classes_are_agents() -> None:
    """A class that requires nothing is made without arguments; what it makes has to be an agent."""
    game: Any = {"config": {"max_steps": 5}, "progress": False}
    task = Task("", [(0, -1, 0, 1)])
    found = evaluate("scripted", [Plain, OfEnvironment], task, **game)
    assert [row["builder"] for row in found.rows] == ["Plain", "OfEnvironment"]
    with pytest.raises(
        AgentError, match=r"builder_0 is <object.*expected an object with reset, act and close"
    ):
        evaluate("scripted", [object], task, **game)


# ------------------------------------------------------------------------------------ what cannot work, and silence


BESIDE = Task("", [(0, -1, -1, 1), (1, -1, 0, 3)], task_id="beside", invariant=False)
FAR = BESIDE.replace(target_grid=[(0, -1, -1, 1), (4, -1, 0, 3)], task_id="far")


def test_silence_is_said_under_the_tables(tmp_path: Path) -> None:
    """Zeros and hundreds that no message led to do not look like results of a conversation."""
    words: list[str] = []
    for name in ("evaluated_agents:Silent", "scripted"):
        words += ["--architect", name]
    words += ["--builder", "oracle", "--builder", "scripted", "--task-source", "random", "--count", "2"]
    words += ["--controls", "flying", "--max-steps", "60", "-o", str(tmp_path)]
    done = CliRunner().invoke(app, ["evaluate", *words], catch_exceptions=False)
    expected = [
        "evaluated_agents:Silent + oracle: the architect sent no message in 2 of 2 games",
        "evaluated_agents:Silent + scripted: the architect sent no message in 2 of 2 games",
        "scripted + oracle: the builder read no message in 2 of 2 games",
    ]
    assert [line for line in done.output.splitlines() if " + " in line] == expected
    assert json.loads((tmp_path / "evaluation.json").read_text())["silences"] == expected
    text = (tmp_path / "evaluation.md").read_text()
    assert all(line.split(": ")[1] in text for line in expected)
    blind = evaluate(
        "scripted", "random", [FAR], config={"max_steps": 5, "builder_sees": ["grid"]}, progress=False
    )
    assert blind.silences() == ["scripted + random: the builder read no message in 1 of 1 games"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (
            ["scripted", "b.py:Mine", "llm:m@http://host/v1", "a.b:C"],
            ["scripted", "Mine", "llm:m", "C"],
        ),
        (["a.py:Mine", "b.py:Mine"], ["a.py:Mine", "b.py:Mine"]),
    ],
)
def test_names_in_the_console_are_short_where_they_stay_different(names: list[str], shown: list[str]) -> None:
    assert list(short_names(names).values()) == shown
