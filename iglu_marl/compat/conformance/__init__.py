"""Measured conformance with the older tools: `measure` runs code beside them, `rows` compares the answers.

`probes.md` has the code, written for this package in the names of the tools, `samples.json` the files of a small data
set in their layouts, and `answers.json` what each tool answered.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
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
NEEDS = ("gym==0.21.0", "numpy==1.23.5", "numba==0.57.1", "pandas==1.5.3", "pyglet==1.5.27", "PyOpenGL") + (
    *("opencv-python-headless<4.9", "filelock", "requests", "scipy<1.12", "pillow", "tqdm", "six", "absl-py"),
    *("mujoco<3.2", "dm_control<1.0.21"),
)  # what the tools import
_HERE = resources.files("iglu_marl.compat.conformance")
_HEADING = re.compile(
    r"^(#{1,2}) ([^\n]*)\n\n(?:((?!```)[^#\n][^\n]*)\n\n)?(?:```python\n(.*?)^```)?", re.MULTILINE | re.DOTALL
)
_BLOCK = re.compile(r"^```[Pp]ython\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RST_BLOCK = re.compile(r"^\.\. code-block:: python\n((?:\n|   .*\n)+)", re.MULTILINE)
_FIRST = {"clevr_robot": ["from clevr_robot_env import ClevrEnv"], "iglu": ["import gym"]}  # left out there
_MINUTES = 10


class Probe(NamedTuple):
    """Code of a tool, what it is about, and a note for where the answers differ."""

    tool: str
    item: str
    note: str
    code: str


class Row(NamedTuple):
    """One item with both answers. verdict: "same", "differs", "refused" (here), "fails there" or "not measured"."""

    tool: str
    item: str
    verdict: str
    there: Any
    here: Any
    note: str


@functools.lru_cache(maxsize=1)
def probes() -> tuple[Probe, ...]:
    """Return all probes, in order."""
    found, tool = [], ""
    for level, title, note, code in _HEADING.findall(_HERE.joinpath("probes.md").read_text(encoding="utf-8")):
        if level == "#":
            tool = title
        else:
            found.append(Probe(tool, title, note, code))
    return tuple(found)


def recorded() -> dict[str, Any]:
    """Return the answers of the tools that were recorded, by tool and item."""
    answers: dict[str, Any] = json.loads(_HERE.joinpath("answers.json").read_text(encoding="utf-8"))
    return answers


def tool_of(checkout: Path) -> str:
    """Return the tool of a checkout. Raises `ConfigError` if it is of none."""
    for tool, mark in MARKS.items():
        if (checkout / mark).is_file():
            return tool
    raise ConfigError(
        f"{checkout} is no checkout of {', '.join(MARKS)}: expected one of {', '.join(MARKS.values())}"
    )


def environment(folder: Path) -> str:
    """Return the interpreter of an environment in a folder with what the tools import; make it if it is missing."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        pip = [str(python), "-m", "pip", "install", "--quiet"]
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, "setuptools<60", "wheel<0.38"], check=True)
        subprocess.run([*pip, "--no-build-isolation", *NEEDS], check=True)
    return str(python)


def measure(tool: str, checkout: Path | None = None, python: str = sys.executable) -> dict[str, Any]:
    """Return the answers of a tool by item; without a checkout, those of this package.

    With a checkout, the items include the code in its README and its examples, whose answers here come with them.
    """
    code = {probe.item: [probe.code] for probe in probes() if probe.tool == tool}
    answers = _run(code, checkout, python)
    if checkout is not None:
        examples = {
            f"examples/{file.name}": [file.read_text("utf-8")]
            for file in sorted(checkout.glob("examples/*.py"))
        }
        for file in (checkout / "README.md", *sorted(checkout.glob("docs/source/*.rst"))):
            text = file.read_text("utf-8")
            blocks = [*_BLOCK.findall(text), *map(textwrap.dedent, _RST_BLOCK.findall(text))]
            if blocks:
                examples[f"{file.relative_to(checkout)}, its code in order"] = [
                    *_FIRST.get(tool, ()),
                    *blocks,
                ]
        there, here = _run(examples, checkout, python, True), _run(examples, None, sys.executable, True)
        answers |= {item: [there[item], here[item]] for item in examples}
    return answers


def _run(
    code: dict[str, list[str]], checkout: Path | None, python: str, only_errors: bool = False
) -> dict[str, Any]:
    runner = str(_HERE.joinpath("runner.py"))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in json.loads(_HERE.joinpath("samples.json").read_text("utf-8")).items():
            file = Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        env = {**os.environ, "IGLU_DATA_PATH": folder, "IGLU_MARL_OFFLINE": "1"}
        env |= (
            {"PYTHONPATH": "", "HOME": folder} if checkout else {"PYTHONPATH": str(Path(__file__).parents[3])}
        )
        command = [python, runner] if checkout is None else [python, runner, str(checkout.resolve())]
        done = subprocess.run(
            command,
            input=json.dumps(list(code.values())),
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60 * _MINUTES,
        )
    if done.returncode:
        raise ConfigError(
            f"{checkout or 'this package'} cannot be run with {python}: {done.stderr.strip()[-600:]}"
        )
    results = json.loads(done.stdout.splitlines()[-1])
    if only_errors:
        return {
            item: [one.get("error", "runs") for one in found]
            for item, found in zip(code, results, strict=True)
        }
    return {item: found[0] for item, found in zip(code, results, strict=True)}


def rows(tool: str, there: dict[str, Any], here: dict[str, Any]) -> list[Row]:
    """Return the rows of a tool. An item is "same" only if both answered, and alike."""
    notes = {probe.item: probe.note for probe in probes() if probe.tool == tool}
    found = []
    for item, note in notes.items():
        theirs, ours = there.get(item), here.get(item)
        if theirs is None or ours is None:
            verdict = "not measured"
        elif "error" in theirs or "error" in ours:
            verdict = (
                "fails there" if "error" not in ours else "refused" if "error" not in theirs else "both fail"
            )
        else:
            verdict = "same" if theirs == ours else "differs"
        found.append(Row(tool, item, verdict, theirs, ours, note))
    for item in sorted(there.keys() - notes.keys()):
        theirs, ours = there[item]
        runs = [(its == "runs", mine == "runs") for its, mine in zip(theirs, ours, strict=True)]
        if not any(mine for _, mine in runs):
            verdict = "refused" if "runs" in theirs else "both fail"
        elif all(its == mine for its, mine in runs):
            verdict = "same"
        else:
            verdict = "differs" if (True, False) in runs else "fails there"
        found.append(Row(tool, item, verdict, theirs, ours, ""))
    return found
