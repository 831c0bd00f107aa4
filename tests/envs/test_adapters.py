"""The examples of libraries that need environments of their own, which `make adapters` makes.

examples/benchmarl_two_agents.py and examples/trl_builder.py learn a little; tests/trl_toy.py plays the game as strings,
which `iglu-marl serve-openenv` serves.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from requirements import ROOT, TEST_FOLDERS, require
from test_examples import SHORT, at_hand, documented

from iglu_marl.cli import app

# Example -> what it prints.
EXAMPLES = {
    "benchmarl_two_agents": r"mean return -?\d",
    "trl_builder": r"success after \d",
}


def python_of(library: str) -> Path:
    """The Python of a library's environment: what `IGLU_MARL_<LIBRARY>_PYTHON` names, or that of `make adapters`."""
    named = os.environ.get(f"IGLU_MARL_{library.upper()}_PYTHON")
    python = Path(named or ROOT / f".venv-{library}" / "bin" / "python")
    require("adapters", python.exists(), f"{library} is not installed: make adapters")
    return python


def run(library: str, folder: Path, *command: str | Path) -> str:
    """What a program prints that is run in a library's environment."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": TEST_FOLDERS}
    done = subprocess.run(
        [python_of(library), *command],
        capture_output=True,
        text=True,
        timeout=900,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.system
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_documented_command_line_does_what_it_says(name: str, tmp_path: Path) -> None:
    library = name.partition("_")[0]
    python_of(library)
    lines = [arguments for example, arguments in documented() if example == name]
    assert lines
    for arguments in lines:
        with at_hand(arguments, tmp_path) as given:
            said = run(
                library, tmp_path, ROOT / "examples" / f"{name}.py", *given.split(), *SHORT[name].split()
            )
        assert re.search(EXAMPLES[name], said)


@pytest.mark.system
def test_games_are_served_to_the_clients_of_openenv(tmp_path: Path) -> None:
    assert run("openenv", tmp_path, ROOT / "tests" / "in_openenv.py").endswith("played\n")


@pytest.mark.system
def test_a_trainer_plays(tmp_path: Path) -> None:
    toy = ROOT / "tests" / "trl_toy.py"
    said = run("trl", tmp_path, toy, "--both", "--steps", "1", "--generations", "2")
    assert re.findall(r"(\w+): 1 steps", said) == ["BuilderEnvironment", "ArchitectEnvironment"]
    assert len(re.findall(r"mean reward -?\d", said)) == 2


def test_the_image_installs_and_starts_what_there_is() -> None:
    lines = (ROOT / "examples" / "openenv.Dockerfile").read_text(encoding="utf-8")
    (extra,) = re.findall(r'pip install .*"\.\[(\w+)\]"', lines)
    assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (command,) = re.findall(r'ENTRYPOINT \["iglu-marl", "([\w-]+)"', lines)
    assert command in {one.name or one.callback.__name__.replace("_", "-") for one in app.registered_commands}
