"""Supported versions: lowest and newest of every dependency, on every available Python.

For each of `CASES`, uv makes an environment (`pip install uv`), installs the package as users do, compares the hashes
of `tests/trajectories.py`, and runs the tests: all but the slow ones for the core, those that need it for an extra.
The lowest versions that pass are the bounds in pyproject.toml. The amount is a number of environments: the first five
are the core's; the larger extras after them download 20 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.trust.driver import ROOT, Broken, Figures, expect

CORE = "data,parquet,web"
# Extra -> where its tests are.
RL = (
    "tests/agents/test_learned.py",
    "tests/agents/test_pov_builder.py",
    "tests/agents/test_zoo.py",
    "tests/envs/test_frameworks.py",
    "tests/examples",
)
LLM = ("tests/agents/test_llm.py", "tests/agents/test_llm_local.py")
ADAPTERS = ("tests/envs/test_adapters.py",)


class Case(NamedTuple):
    """A Python, extras, versions of dependencies, the tests (default: all), and expected notes."""

    python: str
    extras: str = CORE
    lowest: bool = True
    tests: tuple[str, ...] = ()
    shown: tuple[str, ...] = ("numba", "pettingzoo", "pandas", "typer", "starlette", "sqlalchemy")

    @property
    def name(self) -> str:
        """Name in figures, and for `--name`."""
        what = "" if self.extras == CORE else f" {self.extras}"
        return f"{self.python} {'lowest' if self.lowest else 'newest'}{what}"


def extra(python: str, extras: str, tests: tuple[str, ...], *shown: str) -> Case:
    """Return the lowest versions of a larger extra."""
    return Case(python, extras, tests=tests, shown=shown)


# The newest Pythons have no wheels of the lowest versions.
CASES = (
    Case("3.10"),
    Case("3.13", lowest=False),
    Case("3.12", lowest=False),
    Case("3.11", lowest=False),
    Case("3.10", lowest=False),
    extra(
        "3.10", "rl", RL, "torch", "torchrl", "stable_baselines3", "sb3_contrib", "supersuit", "tensorboard"
    ),
    extra("3.10", "llm", LLM, "torch", "transformers", "jinja2"),
    extra("3.10", "rllib", ("tests/envs/test_rllib.py",), "ray", "torch"),
    extra("3.10", "benchmarl", ADAPTERS, "benchmarl", "torchrl", "torch"),
    extra("3.10", "agilerl", ADAPTERS, "agilerl", "peft", "torch"),
    extra("3.11", "openenv,trl", ADAPTERS, "trl", "openenv", "torch"),
    extra("3.10", "openenv", ADAPTERS, "openenv", "pydantic"),
    extra("3.11", "verifiers", ADAPTERS, "verifiers"),
    extra("3.10", "textarena", ADAPTERS, "textarena"),
    extra("3.10", "docs", ("tests/test_docs_site.py",), "mkdocs", "mkdocs-material", "mkdocstrings"),
    extra(
        "3.10",
        "postgresql,web",
        ("tests/web/test_study.py",),
        "psycopg",
        "sqlalchemy",
        "starlette",
        "uvicorn",
    ),
)
FULL = 5
# As `make test`; what old versions say of each other by warnings is not held against them.
PYTEST = shlex.split(
    "-m pytest -q -n 2 --dist worksteal -p no:cacheprovider -p no:anyio --no-header -W default"
)


def uv(*words: str) -> str:
    """Return the output of uv; raise `Broken` if it fails."""
    found = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    done = subprocess.run([found, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, "uv", *words, done.stderr[-2000:])
    return done.stdout


def python_of(version: str) -> str | None:
    """Return an interpreter of this version, on the path or of pyenv; None if there is none."""
    homes = sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python")
    )
    if homes:
        return str(homes[-1])
    return shutil.which(f"python{version}")


def run(case: Case, folder: Path) -> dict[str, Any]:
    python = python_of(case.python)
    if python is None:
        return {"python": "not here"}
    uv("venv", "-q", "--python", python, str(folder))
    inside = str(folder / "bin" / "python")
    install = ("pip", "install", "-q", "--python", inside, "--reinstall-package", "iglu_marl")
    uv(*install, *(["--resolution", "lowest-direct"] if case.lowest else []), f".[{case.extras}]")
    listed = json.loads(uv("pip", "list", "--python", inside, "--format", "json"))
    versions = {package["name"].replace("-", "_"): package["version"] for package in listed}
    shown = ("numpy", "gymnasium", *(name.replace("-", "_") for name in case.shown))
    found: dict[str, Any] = {"versions": " ".join(f"{name} {versions[name]}" for name in shown)}

    def within(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        # Tests of libraries that need environments of their own ask here which Python has them.
        own = {f"IGLU_MARL_{library.upper()}_PYTHON": inside for library in case.extras.split(",")}
        environment |= {"HYPOTHESIS_PROFILE": "fast", **own}
        return subprocess.run(
            [inside, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    done = within("tests/trajectories.py", "3000")
    expect(done.returncode == 0, case.name, done.stderr[-2000:])
    found["hashes"] = json.loads(done.stdout) == json.loads((ROOT / "tests/golden/hashes.json").read_text())
    # The tools come without changing what is there. Old versions of Starlette test with httpx, new ones with httpx2.
    del versions["iglu_marl"]
    if not case.lowest:
        del versions["pillow"]  # MoviePy, a tool, wants an older one
    kept = folder / "kept.txt"
    kept.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
    brought = (
        case.extras if case.tests is ADAPTERS else f"{case.extras},dev"
    )  # not all of those go with `dev`
    tools = ("httpx", "hypothesis", "pip", "pytest", "pytest-xdist")
    uv(*install, "--constraint", str(kept), "-e", f".[{brought}]", *tools)
    done = within(*PYTEST, *(case.tests or ("-m", "not slow")))
    found["tests"] = done.stdout.strip().rpartition("\n")[2].strip("= ")
    expect(done.returncode in (0, 1), case.name, done.stdout[-1000:], done.stderr[-1000:])
    expect(" passed" in found["tests"], case.name, "ran no test:", found["tests"])
    found["failed"] = [line[:160] for line in done.stdout.split("\n") if line.startswith(("FAILED", "ERROR"))]
    if found["failed"]:
        print(done.stdout, file=sys.stderr)
    return found


def drive(cases: Sequence[Case]) -> Figures:
    """Run some cases, each in a temporary environment."""
    figures: Figures = {}
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="versions-") as folder:
            figures[case.name] = run(case, Path(folder))
        print(f"{case.name}: {json.dumps(figures[case.name])}", file=sys.stderr, flush=True)
    broken = [name for name, found in figures.items() if found.get("failed") or found.get("hashes") is False]
    if broken:
        raise Broken(f"{', '.join(broken)}: {json.dumps(figures, indent=1)}")
    return figures


def main() -> None:
    cases = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--amount", type=int, default=FULL, help=f"how many of {', '.join(cases)}")
    parser.add_argument("--name", action="append", choices=list(cases), help="one of them, by name")
    given = parser.parse_args()
    print(json.dumps(drive([cases[name] for name in given.name] if given.name else CASES[: given.amount])))


if __name__ == "__main__":
    main()
