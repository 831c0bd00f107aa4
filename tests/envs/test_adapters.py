"""The examples of libraries that need environments of their own, which `make adapters` makes: each learns a little.

examples/agilerl_two_agents.py and examples/benchmarl_two_agents.py.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from requirements import ROOT, require
from test_examples import SHORT, documented

LIBRARIES = ("agilerl", "benchmarl")


@pytest.mark.system
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_documented_command_line_learns(library: str, tmp_path: Path) -> None:
    python = ROOT / f".venv-{library}" / "bin" / "python"
    require("adapters", python.exists(), f"{library} is not installed: make adapters")
    name = f"{library}_two_agents"
    lines = [arguments for example, arguments in documented() if example == name]
    assert lines
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for arguments in lines:
        command = [python, ROOT / "examples" / f"{name}.py", *arguments.split(), *SHORT[name].split()]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=900, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert re.search(r"mean return -?\d", done.stdout)
