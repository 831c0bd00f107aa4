"""`iglu-marl benchmark`: its commands one after the other, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import ROOT
from typer.testing import CliRunner

from iglu_marl.benchmark import levels
from iglu_marl.cli import app

pytestmark = pytest.mark.system


def shell(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iglu_marl", "benchmark", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_levels_are_listed() -> None:
    done = CliRunner().invoke(app, ["benchmark", "list", "--json"])
    assert [row["level"] for row in json.loads(done.output)] == [level.name for level in levels()]
    done = CliRunner().invoke(app, ["benchmark", "list", "pictures"], env={"COLUMNS": "200"})
    assert "pictures-layers-v2" in done.output
    assert "told-ground-v2" not in done.output
    done = CliRunner().invoke(app, ["benchmark", "list"], env={"COLUMNS": "80"})
    lines = done.output.splitlines()
    assert len(lines) < len(levels()) + 10, "a row is a line"
    assert max(map(len, lines)) <= 80
    done = CliRunner().invoke(app, ["benchmark", "list", "see-ground-v2"])
    assert "Held out: 1 in 6 colour-cell pairs." in done.output


@pytest.mark.slow
def test_from_a_run_to_a_report(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    done = shell(
        "run", "see-ground-v2", "--builder", "oracle", "--episodes", "4", "--keep-games", "-o", str(first)
    )
    assert done.returncode == 0, done.stderr
    done = shell("verify", str(first))
    assert f"{first}: 4 episodes fit see-ground-v2; 8 games replayed" in done.stdout.replace("\n", " "), (
        done.stderr
    )
    done = shell(
        "run", "see-ground-v2", "--builder", "random", "--episodes", "4", "-o", str(second), "--json"
    )
    assert json.loads(done.stdout)["level"] == "see-ground-v2", done.stderr
    folder = tmp_path / "report"
    done = shell("report", str(first), str(second), "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert "| `see-ground-v2` | oracle | target | 1 | 4 | 0 | 100.0 (51.0–100.0) |" in done.stdout
    assert "| `see-ground-v2` | random | nothing |" in done.stdout
    assert (folder / "benchmark.md").read_text() in done.stdout
