"""The programs that train, as somebody runs them: `examples/ppo.py`, `marl_ppo.py` and `strangers.py`."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from requirements import ROOT, require

from iglu_marl import Task
from iglu_marl.benchmark import read_result, verify

pytestmark = pytest.mark.system

PROGRAMS = {"ppo": "--game see-place --games 32", "marl_ppo": "--game each --memory gru --games 32"}


def run(name: str, arguments: str, folder: Path, fails: bool = False) -> str:
    """Run a program in a folder; return what it prints."""
    require("rl", importlib.util.find_spec("torch"), "torch is not installed")
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments.split()]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=environment)
    assert (done.returncode != 0) == fails, done.stderr[-3000:]
    return done.stdout + done.stderr


def curve(folder: Path) -> list[dict[str, str]]:
    """Return the rows of a curve without the time."""
    with (folder / "curve.csv").open(encoding="utf-8") as file:
        return [{key: value for key, value in row.items() if key != "cpu_s"} for row in csv.DictReader(file)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_was_stopped_gets_the_same_curve(name: str, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(name, f"{PROGRAMS[name]} --seed 1 --save whole --steps 1", tmp_path)
    updates = len(curve(whole))
    steps = updates * int(curve(whole)[0]["steps"])
    run(name, f"--resume whole --steps {2 * steps}", tmp_path)
    run(name, f"{PROGRAMS[name]} --seed 1 --save stopped --steps {2 * steps}", tmp_path)
    assert curve(whole) == curve(stopped)
    assert len(curve(whole)) == 2 * updates
    result = json.loads((whole / "result.json").read_text(encoding="utf-8"))
    assert result["model_sha256"] == hashlib.sha256((whole / "model.pt").read_bytes()).hexdigest()
    assert result["steps"] == 2 * steps
    assert f"--seed 1 --games 32 --steps {2 * steps}" in result["command"]
    again = run(name, f"{PROGRAMS[name]} --save whole", tmp_path, fails=True)
    assert "continue with --resume" in again
    assert "expected one of" in run(name, "--game chess", tmp_path, fails=True)


def program(name: str) -> dict[str, Any]:
    require("rl", importlib.util.find_spec("torch"), "torch is not installed")
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


def test_see_ground_is_the_level_as_it_was() -> None:
    """Tasks, start and limits of `see-ground-v1`, whatever later versions of the benchmark have."""
    ppo = program("ppo")
    splits = [{*ppo["tasks_of"]("see-ground", split, 0)} for split in ("train", "validation", "test")]
    assert [len(tasks) for tasks in splits] == [484, 121, 121]
    assert len(set.union(*splits)) == 726
    every = Task("", [(2, -1, 3, 5)], invariant=False)  # 5 + 2 - 3 + 6 = 10
    assert every in {*ppo["tasks_of"]("see-ground", "test", 2)}
    assert every in {*ppo["tasks_of"]("see-ground", "validation", 3)}
    assert ppo["TASKS"]["see-ground"][0]["max_steps"] == 24


def test_a_builder_learns_in_seconds() -> None:
    ppo = program("ppo")
    settings = {"game": "see-place", "inputs": "egocentric", "reward": "shaped", "terms": "yaw,pitch,aim"}
    trainer = ppo["Trainer"]({**settings, "end": "own", "seed": 0, "games": 256})
    shares = []
    for _ in range(16):
        rollout, completed = trainer.play()
        trainer.learn(rollout)
        shares.append(sum(completed) / len(completed))
    assert shares[0] < 0.02, "by chance"
    assert shares[-1] > 0.08


@pytest.mark.parametrize("memory", ["attention", "gru", "none"])
def test_strangers_are_met_in_training_and_measured(memory: str, tmp_path: Path) -> None:
    level = "strangers-listen-v2" if memory == "gru" else "strangers-words-v2"
    arguments = f"{level} --memory {memory} --games 1 --sittings 2 --output {memory}.json"
    run("strangers", f"{arguments} --seeds 1", tmp_path)
    table = run("strangers", f"{arguments} --seeds 2", tmp_path)  # the first is there
    assert "ideal, without memory" in table
    assert "seed 1: " in table
    result = read_result(tmp_path / f"{memory}.json")
    assert verify(tmp_path / f"{memory}.json") == 2 * 20 * 4
    assert (result.name, result.budget, result.supervision) == (memory, 2560, ("reward",))
    assert result.faults() == []
