"""`iglu-marl new`: what it writes runs, passes its own test, and can be scored, in an empty folder."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import ROOT
from shell import run as invoked

from iglu_marl import ConfigError
from iglu_marl.commands.new import SCORED


def run(*words: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.system
@pytest.mark.parametrize("kind", SCORED)
def test_what_it_writes_runs_and_is_scored(kind: str, tmp_path: Path) -> None:
    shown = run("iglu_marl", "new", kind, "my_own", folder=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"my_own.py", "test_my_own.py"}
    assert len((tmp_path / "my_own.py").read_text().splitlines()) <= 40
    (score,) = [
        line.split(maxsplit=3)[3] for line in shown.splitlines() if line.startswith("Score it:  iglu-marl")
    ]
    assert "1 passed" in run("pytest", "-q", "-p", "no:cacheprovider", "test_my_own.py", folder=tmp_path)
    scored = run("iglu_marl", *shlex.split(score), "--count", "1", folder=tmp_path)
    assert "100.0%" in scored
    assert all(len(line) <= 80 for line in scored.splitlines()[:-1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("new robot x", "kind is 'robot', expected one of builder, architect, task-source"),
        ("new builder MyBuilder", "NAME is 'MyBuilder', expected a Python name in lower case"),
        ("new builder taken", "taken.py exists; choose another NAME"),
        ("new builder class", "NAME is 'class'"),
        ("new builder none", "NAME is 'none'"),  # the class None
        ("new builder ñandu", "NAME is 'ñandu'"),
        ("new builder ../mine", "NAME is '../mine'"),
        (f"new builder {'x' * 300}", "cannot be used as a path"),
        ("new builder numpy", "NAME is 'numpy', which would hide the module numpy"),
        ("new task-source random", "would hide the module random"),
        ("new builder conftest", "would hide the module conftest"),
    ],
)  # fmt: skip
def test_bad_names(words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.py").touch()
    with pytest.raises(ConfigError) as caught:
        invoked(*words.split())
    assert said in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"taken.py"}
