"""RLlib, plain Ray, and the environments under the Gymnasium that RLlib pins.

These run in an environment of their own, whose Python is `.venv-rllib/bin/python` (`make rllib`) or what
`IGLU_MARL_RLLIB_PYTHON` names. What is asked there stands in in_rllib.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from requirements import ROOT, require
from test_examples import documented, shortened

pytestmark = [pytest.mark.slow, pytest.mark.system]


def python() -> Path:
    """The Python that has RLlib; the test is skipped, or fails, without."""
    named = os.environ.get("IGLU_MARL_RLLIB_PYTHON")
    path = Path(named) if named else ROOT / ".venv-rllib" / "bin" / "python"
    require("rllib", path.is_file(), f"there is no {path}; `make rllib` makes it")
    return path


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",  # workers that step back (Ray's default) time out on a busy machine
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.run(
        [str(python()), *arguments], capture_output=True, text=True, timeout=600, cwd=cwd, env=environment
    )


@cache
def answer_of(what: str) -> dict[str, Any]:
    """The answer of in_rllib.py."""
    done = run("tests/in_rllib.py", what)
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_rllib_plays_teams() -> None:
    """Its check of every kind of team, and an iteration of PPO of two architects and two builders."""
    answer = answer_of("teams")
    assert answer["checked"] == ["1x2", "2x1", "2x2", "1x3", "craft", "division", "assistant", "relay"]
    assert answer["agents"] == ["architect_0", "architect_1", "builder_0", "builder_1"]
    assert all(steps >= 120 for steps in answer["learned"].values()), "two agents a policy"


def test_rllib_takes_the_levels_of_teams() -> None:
    """Its check of each level as it is, and a random game."""
    steps = answer_of("levels")["steps"]
    assert set(steps) == {"team-divide-v2", "team-relay-v2", "team-sides-v2", "team-assist-v2"}
    assert all(1 <= count <= 3 for count in steps.values())


@pytest.mark.parametrize(
    ("name", "arguments"), [line for line in documented() if line[0] == "rllib_two_agents"]
)
def test_a_documented_command_line_runs(name: str, arguments: str, tmp_path: Path) -> None:
    done = run(*shortened(name, arguments), cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip()


def test_rllib_pins_a_gymnasium_that_is_supported() -> None:
    """The contracts, wrappers and vector environments under that Gymnasium."""
    chosen = (
        "test_pettingzoo or gymnasium or check_env or test_copies or test_wrapper or vector or flat or alike"
    )
    done = run(
        *("-W", "default", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, "--no-header"),
        *("tests/envs/test_contracts.py", "tests/envs/test_wrappers.py", "tests/envs/test_vector.py"),
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert answer_of("levels")["gymnasium"].startswith("1.2.")
