"""`examples/silent_builder.py` learns from people's single turns, as somebody runs it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import ROOT, require, shared_folder

pytestmark = pytest.mark.system


@pytest.mark.parametrize(
    ("options", "learner"),
    [
        ("vectors --epochs 2 --count 24 --save silent.pt", "imitation"),
        ("pictures --epochs 2 --count 24 --steps 1 --save silent.pt", "imitation, then PPO"),
    ],
)
def test_learners_are_measured_beside_doing_nothing(options: str, learner: str, tmp_path: Path) -> None:
    require("rl", importlib.util.find_spec("stable_baselines3"), "stable_baselines3 is not installed")
    require(
        "pretrained", importlib.util.find_spec("all_minilm_l6_v2"), "the package of MiniLM is not installed"
    )
    command = [sys.executable, str(ROOT / "examples" / "silent_builder.py"), *options.split()]
    environment = {**os.environ, "IGLU_DATA_PATH": str(shared_folder() / "data")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "nothing: F1 of changes on test 0.000 (0.000–0.000)" in done.stdout
    (learned,) = re.findall(rf"^{learner}: F1 of changes on test (\d\.\d{{3}}) \(", done.stdout, re.MULTILINE)
    assert 0.0 <= float(learned) <= 1.0
    assert (tmp_path / "silent.pt").stat().st_size > 100_000
