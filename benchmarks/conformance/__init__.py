"""Measured conformance with the older tools: `run` runs code of theirs in them or here, `rows` compares the results.

`probes.md` has the code, written for this package in the names of the tools, `samples.json` the files of a small data
set in their layouts, and `answers.json` the results in the tools.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from iglu_marl.core.errors import ConfigError

MARKS = {  # a file by which the checkout of a tool is known
    "gridworld": "gridworld/env.py",
    "iglu_datasets": "iglu_dataset_scripts/task.py",
    "iglu": "iglu/handlers.py",
    "clevr_robot": "mujoco_env.py",
}
NEEDS = (  # what the tools import
    *("gym==0.21.0", "numpy==1.23.5", "numba==0.57.1", "pandas==1.5.3", "pyglet==1.5.27", "PyOpenGL"),
    *("opencv-python-headless<4.9", "filelock", "requests", "scipy<1.12", "pillow", "tqdm", "six", "absl-py"),
    *("mujoco<3.2", "dm_control<1.0.21"),
)
HERE = resources.files("benchmarks.conformance")
_PROBE = re.compile(r"^## ([^\n]*)\n\n(?:([^`\n][^\n]*|`[^`\n][^\n]*)\n\n)?```python\n(.*?)^```", re.M | re.S)
_BLOCK = re.compile(r"^```[Pp]ython\n(.*?)^```|^\.\. code-block:: python\n((?:\n|   [^\n]*\n)+)", re.M | re.S)
_FIRST = {"clevr_robot": "from clevr_robot_env import ClevrEnv\n", "iglu": "import gym\n"}  # left out there
_MINUTES = 10

Code = dict[str, list[str]]
"""Pieces of code by item. The pieces of an item share their names."""
Results = dict[str, list[dict[str, Any]]]
"""Of each piece of code `{"value": …}` of its last expression, or `{"error": …}`, by item."""


class Row(NamedTuple):
    """One item. verdict: "same", "differs", "refused" (here), "fails there", "both fail" or "not measured".

    note: why it is not the same.
    """

    tool: str
    item: str
    verdict: str
    note: str


def probes(tool: str) -> dict[str, tuple[str, str]]:
    """Return the note and the code of each probe of a tool."""
    text = HERE.joinpath("probes.md").read_text(encoding="utf-8")
    section = re.search(rf"^# {tool}\n(.*?)(?=^# \w|\Z)", text, re.M | re.S)
    assert section is not None
    return {item: (note, code) for item, note, code in _PROBE.findall(section[1])}


def examples(tool: str, checkout: Path) -> Code:
    """Return the code in the documents and the examples of a checkout. Its values do not matter, only its errors."""
    found = {f"examples/{file.name}": [file.read_text("utf-8")] for file in checkout.glob("examples/*.py")}
    for file in (checkout / "README.md", *checkout.glob("docs/source/*.rst")):
        blocks = [textwrap.dedent("".join(block)) for block in _BLOCK.findall(file.read_text("utf-8"))]
        if blocks:
            blocks[0] = _FIRST.get(tool, "") + blocks[0]
            found[f"{file.relative_to(checkout).as_posix()}, its code in order"] = blocks
    return {item: [f"{piece}\nNone" for piece in pieces] for item, pieces in sorted(found.items())}


def recorded() -> dict[str, dict[str, Results]]:
    """Return for each tool the results "there" and, of its own documents and examples, "here", as recorded."""
    found: dict[str, dict[str, Results]] = json.loads(HERE.joinpath("answers.json").read_text("utf-8"))
    return found


def tool_of(checkout: Path) -> str:
    """Return the tool of a checkout. Raises `ConfigError` if it is of none."""
    tool = next((tool for tool, mark in MARKS.items() if (checkout / mark).is_file()), None)
    if tool is None:
        raise ConfigError(
            f"{checkout} is no checkout of {', '.join(MARKS)}: expected one of {', '.join(MARKS.values())}"
        )
    return tool


def record(tool: str, checkout: Path, python: str) -> dict[str, Results]:
    """Return the results of a tool, as in `recorded`."""
    own = examples(tool, checkout)
    code = {item: [code] for item, (_, code) in probes(tool).items()}
    return {"there": run(code | own, python, checkout), "here": run(own)}


def environment(folder: Path) -> str:
    """Return the interpreter of an environment in a folder with what the tools import; make it if it is missing."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, "setuptools<60", "wheel<0.38"], check=True)
        subprocess.run([*pip, "--no-build-isolation", *NEEDS], check=True)
    return str(python)


def run(code: Code, python: str = sys.executable, checkout: Path | None = None) -> Results:
    """Run code in a checkout of a tool or, without one, here with changed imports."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in json.loads(HERE.joinpath("samples.json").read_text("utf-8")).items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        of_tool = {"PYTHONPATH": "", "HOME": folder}
        done = subprocess.run(
            [python, str(HERE.joinpath("runner.py")), *([str(checkout.resolve())] if checkout else ())],
            input=json.dumps(list(code.values())),
            env={
                "MUJOCO_GL": "egl",
                **os.environ,  # draws without a display
                "IGLU_DATA_PATH": folder,
                "IGLU_MARL_OFFLINE": "1",
                **(of_tool if checkout else {"PYTHONPATH": str(Path(__file__).parents[2])}),
            },
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60 * _MINUTES,
        )
    if done.returncode:
        raise ConfigError(f"{checkout or 'code'} cannot be run with {python}: {done.stderr.strip()[-600:]}")
    return dict(zip(code, json.loads(done.stdout.splitlines()[-1]), strict=True))


def run_script(name: str, words: list[str]) -> Any:
    """Return the JSON that a script of this folder prints, run with this package."""
    place = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, str(HERE.joinpath(name)), *words],
        env={**os.environ, "IGLU_MARL_OFFLINE": "1", "PYTHONPATH": place, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=60 * _MINUTES,
    )
    if done.returncode:
        raise ConfigError(f"{name} cannot be run: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout.splitlines()[-1])


def rows(tool: str, answers: Mapping[str, Results]) -> list[Row]:
    """Return the rows of a tool from its recorded results. Its probes are run here."""
    known = probes(tool)
    here = answers["here"] | run({item: [code] for item, (_, code) in known.items()})
    found = []
    for item in dict.fromkeys([*known, *answers["there"]]):
        theirs, ours = answers["there"].get(item, []), here.get(item, [])
        failed = [
            one["error"] for one, own in zip(theirs, ours, strict=False) if "error" in one and "value" in own
        ]
        note = known[item][0] if item in known else f"There: {failed[0]}." if failed else ""
        found.append(Row(tool, item, verdict(theirs, ours), note))
    return found


def verdict(there: list[dict[str, Any]], here: list[dict[str, Any]]) -> str:
    """Return the verdict on two results. It is "same" only if both ran, and gave the same."""
    if not there or not here:
        return "not measured"
    ran, runs = ({n for n, one in enumerate(results) if "value" in one} for results in (there, here))
    if not runs:
        return "refused" if ran else "both fail"
    if ran - runs or any(there[n] != here[n] for n in ran):
        return "differs"
    return "same" if ran == runs else "fails there"
