"""Every example runs, in a small form, and does what it says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SMALL = {
    "aec_loop": {"steps": 60},
    "parallel_loop": {"steps": 60},
    "silent_builder": {"episodes": 1, "steps": 20},
    "custom_tasks": {},
    "hindsight_goals": {"episodes": 300, "every": 100, "tests": 40, "seeds": 2},
    "your_own_agent": {},
    "scripted_pair": {},
}

# Examples that need an extra are run by test modules of their own.
ELSEWHERE: dict[str, str] = {
    "ppo_builder": "test_learning_builder.py",
    "ppo_two_agents": "test_learning_two_agents.py",
    "ray_rollouts": "test_rllib.py",
    "rllib_two_agents": "test_rllib.py",
    "sb3_silent_builder": "test_frameworks.py",
    "torchrl_two_agents": "test_frameworks.py",
    "llm_architect": "test_llm_endpoint.py",
    "behaviour_cloning": "test_offline_examples.py",
    "offline_minari": "test_offline_examples.py",
}


def load(root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", root / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_examples_are_known(root: Path) -> None:
    assert {path.stem for path in (root / "examples").glob("*.py")} == SMALL.keys() | ELSEWHERE.keys()


def test_examples_tested_elsewhere_are(root: Path) -> None:
    for name, module in ELSEWHERE.items():
        assert name in (root / "tests" / module).read_text(encoding="utf-8"), f"{module} does not run {name}"


@pytest.mark.parametrize("name", SMALL)
def test_example(root: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = load(root, name)
    first = example.main(**SMALL[name])
    assert capsys.readouterr().out.strip()
    if name in ("aec_loop", "parallel_loop", "silent_builder"):
        assert example.main(**SMALL[name]) == first, "the same seed gives the same game"
    elif name == "custom_tasks":
        assert first == [True] * 4
    elif name == "hindsight_goals":
        (with_hindsight, without) = (runs[:, 1:].mean(axis=1) for runs in first.values())
        assert with_hindsight.min() > 1.2 * without.max(), "hindsight learns faster, with either seed"
    elif name == "your_own_agent":
        assert first is True
    else:
        assert first.completed
        assert first.dialogue[-2].text == "Done."


def test_scripted_pair_names_the_structures(root: Path) -> None:
    with pytest.raises(SystemExit, match="lighthouse"):
        load(root, "scripted_pair").main(task="no such thing")


def test_an_example_runs_as_a_script(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, root / "examples" / "your_own_agent.py", "--seed", "3"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "<Architect>" in done.stdout
    assert "completed: True" in done.stdout
