"""Robustness drivers: programs that try to break the package. They are test code, in `tests/trust`.

`python -m benchmarks.trust` runs them all, `python -m benchmarks.trust NAME` one. docs/reliability.md has figures.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(module: str) -> int:
    """Run a module of `tests` with this program's arguments, and return its exit code."""
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", module, *sys.argv[1:]]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
