"""The examples that learn from data: small runs that have to learn something."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from example_programs import load_example
from requirements import require


def load(name: str) -> ModuleType:
    require(
        "torch", importlib.util.find_spec("torch"), "torch is not installed (pip install 'iglu_marl[rl]')"
    )
    return load_example(name)


def test_behaviour_cloning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    example = load("behaviour_cloning")
    scores = example.main(stride=20, epochs=5)
    assert scores["network"] > 1.5 * scores["most frequent kind"]
    assert "96 games" in capsys.readouterr().out


def test_kinds_of_actions() -> None:
    example = load("behaviour_cloning")
    still = {
        "move_x": 0.0,
        "move_y": 0.0,
        "move_z": 0.0,
        "camera": np.zeros(2),
        "use": 0,
        "attack": 0,
        "hotbar": 0,
    }

    def named(yaw: float = 0.0, **parts: object) -> str:
        return str(example.KINDS[example.kind({**still, **parts}, yaw)])

    assert example.kind(still, 0.0) is None
    assert named(use=1, hotbar=6) == "place red"
    assert named(attack=1) == "break"
    assert named(move_z=-1.0) == "forward", "yaw 0 looks along -z"
    assert named(90.0, move_x=1.0) == "forward", "and 90 along +x"
    assert named(90.0, move_z=1.0) == "right"
    assert named(move_y=1.0, camera=np.array([15.0, 0.0])) == "up"
    assert named(move_y=0.2, camera=np.array([15.0, 0.0])) == "look right"
    assert named(camera=np.array([0.0, -15.0])) == "look down"


def test_offline_minari(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("minari", "h5py"):
        require("minari", importlib.util.find_spec(module), f"{module} is not installed")
    monkeypatch.setenv("MINARI_DATASETS_PATH", "put back at the end")
    example = load("offline_minari")
    scores = example.main(episodes=60, epochs=60, games=20, folder=str(tmp_path))
    assert sum(scores["untrained"].values()) == 0
    assert scores["trained"][1] >= 0.5
    assert os.environ["MINARI_DATASETS_PATH"] == str(tmp_path)
    assert "60 episodes" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"games.jsonl", "iglu"}
