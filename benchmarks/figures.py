"""The figures of the pages: each table stands behind the command that makes it.

In a page, a table that a command makes stands between marks of cog (https://cog.readthedocs.io), which the site does
not show:

    <!-- [[[cog
    figures.table("iglu-marl predict --corpus bundled --format markdown")
    ]]] -->
    | builder | ... |
    <!-- [[[end]]] -->

`make figures` runs all commands, and fails with the differences where a page has other figures; `make figures-write`
writes them into the pages. Data sets are looked for as by `iglu-marl data` (`IGLU_DATA_PATH` names a folder of packs).
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


FOLDER = (
    tempfile.TemporaryDirectory()
)  # where all commands of a page run: a later one can resume what one wrote


@cache
def output_of(command: str) -> str:
    """Return what a command prints.

    Raises:
        SystemExit: if the command fails; the message has the end of its errors.

    """
    scripts = Path(sys.executable).parent
    paths = {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        shlex.split(command),
        cwd=FOLDER.name,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{command}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def table(command: str, names: Mapping[str, str] | None = None, *, head: bool = True) -> None:
    """Print the first Markdown table that a command prints.

    names: other names of rows. head: whether to print its head, too; without it, rows follow those of a table before.
    """
    lines = output_of(command).strip().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|"))
    shown = list(takewhile(lambda line: line.startswith("|"), lines[start:]))
    for line in shown if head else shown[2:]:
        name = line.split("|")[1].strip()
        print(line.replace(name, (names or {}).get(name, name), 1) if name else line)


def values(command: str, rows: Mapping[str, str]) -> None:
    """Print a table of values that a command prints as JSON.

    rows: a template for each label, filled with the values of `summary`, such as "{share_understood:.1%}".
    """
    summary: dict[str, Any] = json.loads(output_of(command))["summary"]
    print("| | |\n|---|---|")
    for label, template in rows.items():
        print(f"| {label} | {template.format(**summary).replace('%', ' %')} |")
