"""What a laptop has not: modules and calls of POSIX alone, forks, a console in UTF-8, line ends without a return."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from requirements import ROOT

import iglu_marl
from iglu_marl import Recorder
from iglu_marl.agents import agents_for
from iglu_marl.data import write_tasks
from iglu_marl.data.task_files import OwnTasks
from iglu_marl.recording import read_recording, repair
from iglu_marl.tasks import BundledTasks


@pytest.mark.slow
def test_nothing_needs_posix(tmp_path: Path) -> None:
    """Playing, recording, evaluating in processes that are spawned, and the help of the server."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "without_posix.py", tmp_path],
        env={**os.environ, "PYTHONIOENCODING": "cp1252:replace", "PYTHONUTF8": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("cp1252")[-2000:]
    assert len(read_recording(tmp_path / "a.jsonl")) == 2
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 1


def test_lines_that_end_with_a_return(tmp_path: Path) -> None:
    """Git and editors of Windows write them: task files are read, and a recording is repaired."""
    tasks = list(islice(BundledTasks(), 3))
    path = tmp_path / "tasks.jsonl"
    write_tasks(path, tasks)
    assert b"\r" not in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(list(OwnTasks(path))) == len(tasks)

    path = tmp_path / "a.jsonl"
    env = iglu_marl.raw_env(max_steps=20, builder_sees=("dialog", "inventory", "pose", "grid"))
    with Recorder(path) as recorder:
        iglu_marl.play(env, agents_for(env), seed=0, on_step=recorder)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"\n", b"\r\n"))
    assert len(read_recording(path)[0].moves) == len(content.splitlines()) - 2
    assert repair(path).lost == []


def test_no_two_files_differ_in_case_alone() -> None:
    """They would be one file."""
    paths = [
        str(path.relative_to(ROOT))
        for folder in ("iglu_marl", "agents", "docs", "examples", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    ]
    assert len({path.lower() for path in paths}) == len(set(paths))
