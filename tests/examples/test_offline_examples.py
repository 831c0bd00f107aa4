"""The examples that learn from data: small runs that have to learn something."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest
from example_programs import load_example
from requirements import require


def load(name: str) -> ModuleType:
    require(
        "torch", importlib.util.find_spec("torch"), "torch is not installed (pip install 'iglu_marl[rl]')"
    )
    return load_example(name)


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
