"""The versions that the package runs with: lowest and newest of every dependency, on every Python that is there.

For each of `CASES` an environment is made by uv (`pip install uv`), the package installed in it as users have it, the
hashes of `tests/trajectories.py` compared with the frozen ones, and tests run. What passes with the lowest versions is
what pyproject.toml may promise. The amount is a number of environments.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.trust.driver import ROOT, Broken, Figures, main

QUICK, FULL = 1, 5
# Quick tests of every room that needs nothing but the core and the extras named here.
TESTS = (
    "tests/core/test_kernels.py",
    "tests/core/test_controls.py",
    "tests/core/test_jit.py",
    "tests/game/test_turns.py",
    "tests/recording/test_recording.py",
    "tests/evaluation/test_metrics.py",
    "tests/data/test_cache.py",
    "tests/web/test_server.py",
)
EXTRAS = "data,parquet,web"
TOOLS = (
    "pytest",
    "hypothesis",
    "httpx",
    "httpx2",
)  # old and new versions of Starlette test with one of them each
SHOWN = ("numpy", "numba", "gymnasium", "pettingzoo", "pandas", "starlette", "sqlalchemy")


class Case(NamedTuple):
    """A Python, and which versions go with it."""

    python: str
    lowest: bool = False


# The newest Pythons have no wheels of the lowest versions.
CASES = (Case("3.10", lowest=True), Case("3.13"), Case("3.12"), Case("3.11"), Case("3.10"))


def uv(*words: str) -> subprocess.CompletedProcess[str]:
    """Run uv. Raises `Broken` with what it says."""
    found = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    done = subprocess.run([found, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"uv {' '.join(words)}: {done.stderr[-2000:]}")
    return done


def python_of(version: str) -> str | None:
    """An interpreter of this version: on the path, or among those of pyenv; None without one."""
    homes = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
    )
    if homes:
        return str(homes[-1])
    return shutil.which(f"python{version}")


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Make the environment, and run hashes and tests in it."""
    python = python_of(case.python)
    if python is None:
        return {"python": "not here"}
    inside = str(folder / "bin" / "python")
    if not Path(inside).exists():
        uv("venv", "-q", "--python", python, str(folder))
    wanted = ["--resolution", "lowest-direct"] if case.lowest else []
    uv(
        "pip",
        "install",
        "-q",
        "--python",
        inside,
        "--reinstall-package",
        "iglu_marl",
        *wanted,
        f".[{EXTRAS}]",
    )
    kept = json.loads(uv("pip", "list", "--python", inside, "--format", "json").stdout)
    pinned = [f"{package['name']}=={package['version']}" for package in kept if package["name"] in SHOWN]
    uv("pip", "install", "-q", "--python", inside, *TOOLS, *pinned)
    found: dict[str, Any] = {"versions": " ".join(pinned)}
    outside = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [inside, "tests/trajectories.py", "3000"],
        cwd=ROOT,
        env=outside,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Broken(f"{case}: {done.stderr[-2000:]}")
    found["hashes"] = json.loads(done.stdout) == json.loads((ROOT / "tests/golden/hashes.json").read_text())
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:anyio",
        "--no-header",
        "-W",
        "ignore:'click.:DeprecationWarning",  # what the lowest Typer uses of the newest Click
        "-m",
        "not slow and not system",
    ]
    outside["HYPOTHESIS_PROFILE"] = "fast"
    done = subprocess.run(
        [str(folder / "bin" / "pytest"), *options, *TESTS],
        cwd=ROOT,
        env=outside,
        capture_output=True,
        text=True,
        check=False,
    )
    found["tests"] = done.stdout.strip().rpartition("\n")[2]
    if done.returncode not in (0, 1):
        raise Broken(f"{case}: {(done.stdout + done.stderr)[-2000:]}")
    found["failed"] = [line[:160] for line in done.stdout.split("\n") if line.startswith(("FAILED", "ERROR"))]
    return found


def drive(amount: int, seed: int) -> Figures:
    """Run the first `amount` cases."""
    kept = os.environ.get("TRUST_VERSIONS")  # a folder in which environments are kept from run to run
    folder = Path(kept) if kept else Path(tempfile.mkdtemp(prefix="versions-"))
    figures: Figures = {}
    try:
        for case in CASES[:amount]:
            name = f"{case.python} {'lowest' if case.lowest else 'newest'}"
            figures[name] = run(case, folder / name.replace(" ", "-"))
            print(f"{name}: {json.dumps(figures[name])}", file=sys.stderr, flush=True)
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)
    broken = [name for name, found in figures.items() if found.get("failed") or found.get("hashes") is False]
    if broken:
        raise Broken(f"{', '.join(broken)}: {json.dumps(figures, indent=1)}")
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
