"""The lowest and the newest versions that pyproject.toml allows, on the oldest and a newer Python.

The lowest versions of each extra are resolved from wheels. The core with `data` and `web` is installed in an
environment of its own, in both: the hashes of trajectories are compared and games are played, also without the modules
of POSIX (tests/without_posix.py). pip-audit looks for known holes in each list of lowest versions. The figures say
which interpreters are missing, and which lists no advisory service knows. Needs uv (`make trust` installs both).
The amount is the number of extras.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from trust.driver import ROOT, Broken, Figures, main, show_progress

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHONS = ("3.10", "3.13")
LOWEST, NEWEST = "lowest-direct", "highest"
INSTALLED = ("data", "web")
QUICK, FULL = 2, 100
RESOLVE_S, INSTALL_S = 120, 900


def tool(name: str) -> str:
    """Return the path of a tool, in the environment of `make trust` or on the path."""
    own = ROOT / ".venv-trust" / "bin" / name
    path = str(own) if own.exists() else shutil.which(name)
    if path is None:
        raise Broken(f"{name} is not installed: `make trust` does it, or pip install {name}")
    return path


def run(*words: str | Path, limit_s: float, cwd: Path = ROOT) -> tuple[str, str]:
    """Run a command; return its output and why it failed, "" if it did not."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    command = list(map(str, words))
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no end in {limit_s:.0f} s"
    return done.stdout, "" if done.returncode == 0 else (done.stderr or done.stdout)[-1500:]


def interpreter(python: str) -> str | None:
    """Return an interpreter of pyenv, or one that uv has or can get; None if there is none."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    own = next((str(path) for path in sorted(versions.glob(f"{python}.*/bin/python"))), None)
    return own or run(tool("uv"), "python", "find", python, limit_s=60)[0].strip() or None


def resolve(extras: tuple[str, ...], python: str, resolution: str, lock: Path) -> str:
    """Write the versions; return why there are none."""
    chosen = [word for extra in extras for word in ("--extra", extra)]
    how = ["--resolution", resolution, "--python-version", python]
    wheels = [
        "--only-binary",
        ":all:",
        "--no-binary",
        "tinyscaler",
    ]  # SuperSuit needs that, which has no wheels
    compiled = (tool("uv"), "pip", "compile", "-q", *how, *wheels, *chosen, "pyproject.toml", "-o", lock)
    return run(*compiled, limit_s=RESOLVE_S)[1]


def smoke(lock: Path, python: str, folder: Path) -> str:
    """Install a list of versions and the package; return why the hashes differ or no game is played."""
    uv, place, played = tool("uv"), folder / "venv", folder / "played"
    inside = place / "bin" / "python"
    played.mkdir(exist_ok=True)
    steps: tuple[tuple[str | Path, ...], ...] = (
        (uv, "venv", "-q", "--clear", "--python", python, place),
        (uv, "pip", "install", "-q", "--python", inside, "-r", lock),
        (uv, "pip", "install", "-q", "--python", inside, "--no-deps", ROOT),
        (inside, "-I", ROOT / "tests" / "trajectories.py", "--check"),
        (inside, "-I", ROOT / "tests" / "without_posix.py", tempfile.mkdtemp(dir=folder), "--traces"),
    )
    faults = (
        f"{step[1:4]}: {why}" for step in steps if (why := run(*step, limit_s=INSTALL_S, cwd=played)[1])
    )
    return next(faults, "")


def audit(lock: Path) -> tuple[str, str]:
    """Return what pip-audit did with a list of versions, and the holes that it knows."""
    asked = ("--disable-pip", "--no-deps", "--progress-spinner=off", "--format=json", "-r", lock)
    output, why = run(tool("pip-audit"), *asked, limit_s=60)
    try:
        entries = json.loads(output)["dependencies"]
    except ValueError:
        return f"not audited: {(why.strip().splitlines() or ['no answer'])[-1]:.120}", ""
    holes = [f"{entry['name']}: {hole['id']}" for entry in entries for hole in entry.get("vulns", ())]
    unknown = sum("skip_reason" in entry for entry in entries)
    return "not audited: unknown to the service" if unknown else "audited", ", ".join(holes)


def drive(amount: int, seed: int) -> Figures:
    """Resolve `amount` extras on each Python, and try the core."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = list(project["optional-dependencies"])[:amount]
    audits: Counter[str] = Counter()
    smoked: dict[str, str] = {}
    resolved, faults = 0, {}
    for python in PYTHONS:
        path = interpreter(python)
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            rows = [(INSTALLED, LOWEST), (INSTALLED, NEWEST), *(((extra,), LOWEST) for extra in extras)]
            for chosen, resolution in rows:
                name = f"{python} {','.join(chosen)} {resolution}"
                lock = folder / f"{name.replace(' ', '-')}.txt"
                show_progress({"resolved": resolved, **smoked, **faults})
                if why := resolve(chosen, python, resolution, lock):
                    faults[name] = why
                    continue
                resolved += 1
                if resolution == LOWEST:
                    answer, holes = audit(lock)
                    audits[answer] += 1
                    faults |= {f"{name}, known holes": holes} if holes else {}
                if chosen == INSTALLED and path is None:
                    smoked[name] = "not run: there is no such interpreter"
                elif chosen == INSTALLED:
                    why = smoke(lock, str(path), folder)
                    smoked[name] = why or "holds"
                    faults |= {f"{name}, smoke test": why} if why else {}
    if faults:
        raise Broken("\n".join(f"{name}: {why}" for name, why in faults.items()))
    return {"resolved": resolved, "smoke tests": smoked, "audits": audits}


if __name__ == "__main__":
    main(drive, (QUICK, FULL))
