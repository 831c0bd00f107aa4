"""Trajectories are what they were, to the last bit, pictures included: hashes that were frozen once.

Wherever this runs: each version of Python, NumPy and Numba, compiled or interpreted, with any number of threads. They
change only with the rules of the world; then `python tests/trajectories.py --freeze`, and a line in the CHANGELOG.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

import pytest
from requirements import ROOT, require
from trajectories import FROZEN, NAMES, all_hashes, hashes, of_batch

FOUND: dict[str, Any] = json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _same_kind_of_machine() -> None:
    # Sines are those of the C library; on other processors they differ in the last bit.
    require(
        "x86-64", platform.machine() == "x86_64" and sys.platform == "linux", "hashes are of Linux on x86-64"
    )


@pytest.mark.parametrize("name", NAMES)
def test_trajectories_are_what_they_were(name: str) -> None:
    found = hashes(name, 300)
    assert found == {length: FOUND[name][length] for length in found}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_are_what_they_were(threads: int) -> None:
    assert of_batch(threads) == FOUND["batch"][str(threads)]


@pytest.mark.slow
def test_interpreted_trajectories_are_what_they_were() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    words = [sys.executable, str(ROOT / "tests" / "trajectories.py"), "30"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {name: {"30": FOUND[name]["30"]} for name in NAMES}


def test_another_rule_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    import trajectories

    monkeypatch.setattr(trajectories, "POSES", ((0.3, -0.25, 0.6, 350.0001, -40.0),) * 2)
    assert all_hashes(30) != {name: {"30": FOUND[name]["30"]} for name in NAMES}
