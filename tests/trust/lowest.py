"""The lowest versions that pyproject.toml allows, of every extra, on the oldest and a newest Python.

Each extra is resolved from wheels. The core with `data` and `web` is installed in an environment of its own, where the
hashes of trajectories are compared and a game is played. pip-audit looks for known holes in each list of versions; it
needs a network, and without one the figures say that it was not asked. Needs uv (`make trust` installs both).
The amount is the number of extras.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from trust.driver import ROOT, Broken, Figures, main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHONS = ("3.10", "3.13")
INSTALLED = ("data", "web")
QUICK, FULL = 2, 100
RESOLVE_S, INSTALL_S = 120, 900
PLAYED = "import iglu_marl.cli; iglu_marl.cli.app(['demo', '--output', 'demo'])"


def tool(name: str) -> str:
    """Return the path of a tool, in the environment of `make trust` or on the path."""
    own = ROOT / ".venv-trust" / "bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        raise Broken(f"{name} is not installed: `make trust` does it, or pip install {name}")
    return found


def run(*words: str | Path, limit_s: float, cwd: Path = ROOT) -> str:
    """Run a command; return why it failed, "" if it did not."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    try:
        done = subprocess.run(
            list(map(str, words)),
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end in {limit_s:.0f} s"
    return "" if done.returncode == 0 else (done.stderr or done.stdout)[-1500:]


def interpreter(python: str) -> str:
    """Return an interpreter of pyenv, or else the version, for uv to find."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    return next((str(path) for path in sorted(versions.glob(f"{python}.*/bin/python"))), python)


def resolve(extras: tuple[str, ...], python: str, lock: Path) -> str:
    """Write the lowest versions; return why there are none."""
    chosen = [word for extra in extras for word in ("--extra", extra)]
    low = ["--resolution", "lowest-direct", "--python-version", python]
    low += [
        "--only-binary",
        ":all:",
        "--no-binary",
        "tinyscaler",
    ]  # SuperSuit needs that, which has no wheels
    return run(
        tool("uv"), "pip", "compile", "-q", *low, *chosen, "pyproject.toml", "-o", lock, limit_s=RESOLVE_S
    )


def smoke(lock: Path, python: str, folder: Path) -> str:
    """Install a list of versions and the package; return why the hashes differ or no game is played."""
    uv, place = tool("uv"), folder / "venv"
    inside = place / "bin" / "python"
    steps: tuple[tuple[str | Path, ...], ...] = (
        (uv, "venv", "-q", "--clear", "--python", interpreter(python), place),
        (uv, "pip", "install", "-q", "--python", inside, "-r", lock),
        (uv, "pip", "install", "-q", "--python", inside, "--no-deps", ROOT),
        (inside, "-I", ROOT / "tests" / "trajectories.py", "--check"),
        (inside, "-I", "-c", PLAYED),
    )
    return next(
        (f"{step[1]}: {why}" for step in steps if (why := run(*step, limit_s=INSTALL_S, cwd=folder))), ""
    )


def audit(lock: Path) -> str:
    """Return what pip-audit says of a list of versions: "clean", "not asked: …", or the holes."""
    why = run(
        tool("pip-audit"), "--disable-pip", "--no-deps", "--progress-spinner=off", "-r", lock, limit_s=60
    )
    if not why:
        return "clean"
    lines = why.strip().splitlines()
    return f"not asked: {lines[-1]:.120}" if "Error" in lines[-1] or "no end" in why else why


def drive(amount: int, seed: int) -> Figures:
    """Resolve `amount` extras on each Python, and try the core."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = list(project["optional-dependencies"])[:amount]
    figures: Figures = {"resolved": 0, "smoke tests": 0, "audits": {}}
    faults = {}
    for python in PYTHONS:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for chosen in [INSTALLED, *((extra,) for extra in extras)]:
                name, lock = f"{python} {','.join(chosen)}", folder / f"{chosen[0]}-{len(chosen)}.txt"
                if why := resolve(chosen, python, lock):
                    faults[name] = why
                    continue
                figures["resolved"] += 1
                found = audit(lock)
                figures["audits"].setdefault(found, []).append(name)
                if found != "clean" and not found.startswith("not asked"):
                    faults[f"{name}, known holes"] = found
                if chosen == INSTALLED:
                    if why := smoke(lock, python, folder):
                        faults[f"{name}, smoke test"] = why
                    figures["smoke tests"] += not why
    figures["audits"] = {found: len(names) for found, names in figures["audits"].items()}
    if faults:
        raise Broken("\n".join(f"{name}: {why}" for name, why in faults.items()))
    return figures


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
