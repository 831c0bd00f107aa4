"""What a laptop has not: modules and calls of POSIX alone, forks, a console in UTF-8, line ends without a return."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

import iglu_marl
from iglu_marl import Recorder
from iglu_marl.agents import agents_for
from iglu_marl.data import write_tasks
from iglu_marl.data.task_files import OwnTasks
from iglu_marl.recording import read_recording, repair
from iglu_marl.tasks import BundledTasks

WITHOUT_POSIX = """
import multiprocessing, os, signal, sys
from pathlib import Path

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for place, names in {
    os: ("fork", "mkfifo", "nice", "O_NONBLOCK", "register_at_fork", "sched_getaffinity"),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPROF", "setitimer"),
}.items():
    for name in names:
        vars(place).pop(name, None)

def main():
    multiprocessing.set_start_method("spawn", force=True)
    import iglu_marl
    from iglu_marl.cli import app

    folder = Path(sys.argv[1])
    import gymnasium

    envs = gymnasium.make_vec("IGLUGridworldVector-v0", num_envs=2)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    envs.close()
    for words in (
        ["demo", "--output", folder / "demo"],
        ["record", folder / "a.jsonl", "--episodes", "2"],
        ["replay", folder / "a.jsonl",],
        ["evaluate", "--count", "2", "--processes", "2", "--no-baselines", "--output", folder / "out"],
        ["benchmark", "list"],
        ["tasks"],
        ["data", "list"],
        ["serve", "--help"],
    ):
        code = app([str(word) for word in words], standalone_mode=False)
        assert code in (0, None), (words, code)
    recorder = iglu_marl.Recorder(folder / "a.jsonl")
    try:
        iglu_marl.Recorder(folder / "a.jsonl")
    except iglu_marl.DataError:
        pass
    else:
        raise AssertionError("two writers")
    recorder.close()

if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
def test_nothing_needs_posix(tmp_path: Path) -> None:
    """Playing, recording, evaluating in processes that are spawned, and the help of the server."""
    script = tmp_path / "laptop.py"
    script.write_text(WITHOUT_POSIX, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, tmp_path],
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
    root = Path(iglu_marl.__file__).parents[1]
    paths = [
        str(path.relative_to(root))
        for folder in ("iglu_marl", "agents", "docs", "examples", "tests", "benchmarks")
        for path in (root / folder).rglob("*")
        if "__pycache__" not in path.parts
    ]
    assert len({path.lower() for path in paths}) == len(set(paths))
