"""Every console line of every page runs, each in a process of its own, in an empty folder for each page.

The lines of a page run in order, since the later ones may read what the earlier ones wrote. What is not run stands in
`NOT_RUN`, with its reason and, where there is one, the test that runs it instead.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import ROOT, require
from test_docs import OTHER_PAGES, PAGES, commands, names, read, snippets

from iglu_marl.agents.learned import zoo

pytestmark = [pytest.mark.system, pytest.mark.slow]

# What a line matches first decides; the reason why it is not run here.
NOT_RUN = {
    r"(IGLU_MARL_\w+=\d+ )?make |pip install ": "installs, or runs everything: CI does both",
    r"\.ci/run": "is CI",
    r"docker ": "needs a daemon",
    r"(\.venv-\w+/bin/)?python examples/": "tests/examples/test_examples.py runs it, shortened",
    r"python tests/web/load": "minutes of both cores: tests/web/test_serve.py serves",
    r"(\.venv-\w+/bin/)?python -m benchmarks": "minutes to hours; below, each of them starts",
    r"python tests/": "minutes of both cores",
    r"python docs/assets/": "draws for minutes; tests/test_docs.py draws some",
    r"iglu-marl serve": "serves until it is stopped: tests/web/test_serve.py",
    r"iglu-marl study backup": "reads the reader's study: tests/web/test_study.py",
    r"iglu-marl play": "waits for a person: tests/commands/test_play.py and tests/web/test_human.py",
    r"iglu-marl data fetch": "needs a network: tests/data/test_fetch.py",
    r".*\b(mdc|C7|iglu-singleturn|iglu-multiturn)\b": "reads a corpus: tests/commands/test_data_command.py",
    r".*\bllm\b(?! export)": "asks a language model: tests/commands/test_play.py",
    r".*--trained |IGLU_MARL_MODEL": "wants a trained model: tests/agents/test_learned.py",
    r".*mypackage": "names the reader's own package",
    r"iglu-marl benchmark report ours": "reads others' results: tests/commands/test_benchmark_command.py",
    r"iglu-marl benchmark report attention": "reads what a training writes",
    r".*samples.json": "reads others' samples: tests/data/test_mdc_files.py",
    r".*castle\.": "reads the reader's structure: tests/tasks/test_imported.py",
    r"iglu-marl evaluate --architect scripted --architect vague": "minutes; docs/evaluation.md has shorter ones",
    r"iglu-marl show games.jsonl": "reads the reader's recordings: tests/commands/test_show.py",
    r"iglu-marl replay more.jsonl": "reads others' recordings: tests/recording/test_minari.py",
}
# Options that come after the documented ones, and so win over them.
SHORTER = {
    "iglu-marl evaluate": "--count 1 --max-steps 40 --processes 1",
    "iglu-marl record": "--max-steps 40",
    "iglu-marl benchmark run": "--episodes 1",
    "iglu-marl llm export generated": "--count 4",
}
FAILS_SHORTENED = ("evaluate", "record")  # exit code 1 says that no structure was completed


def reason(line: str) -> str | None:
    """Why a line is not run."""
    return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, line)), None)


def shortened(line: str) -> list[str]:
    """The arguments of a line, and those that make it quick."""
    words = shlex.split(line, comments=True)
    more = max((start for start in SHORTER if line.startswith(start)), key=len, default=None)
    return words[1:] + (shlex.split(SHORTER[more]) if more else [])


def lines_of(name: str) -> list[str]:
    return [line for line in commands(read(ROOT / name)) if reason(line) is None]


RUN = [name for name in names(PAGES + OTHER_PAGES) if lines_of(name)]
BENCHMARKS = sorted(
    {
        module
        for name in names(PAGES)
        for module in re.findall(r"python -m (benchmarks\.\w+)", read(ROOT / name))
    }
)


@pytest.mark.parametrize("module", BENCHMARKS)
def test_a_benchmark_of_the_pages_starts(module: str) -> None:
    """With all that it imports, examples included."""
    require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    command = [sys.executable, "-m", module, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("name", RUN)
def test_the_console_lines_of_a_page_run(name: str, tmp_path: Path) -> None:
    for snippet in snippets(read(ROOT / name)):  # files that a snippet of the page writes, and a line reads
        if '.json").write_text(' in snippet.code and snippet.kind == "python":
            subprocess.run([sys.executable, "-c", snippet.code], cwd=tmp_path, check=True, timeout=120)
    if any("--minari" in line for line in lines_of(name)):
        require("minari", importlib.util.find_spec("minari"), "minari is not installed")
    trained = {*zoo.zoo(), "learned"}
    if any(trained & {*shlex.split(line)} for line in lines_of(name)):
        require("torch", importlib.util.find_spec("torch"), "PyTorch is not installed (the extra `rl`)")
    environment = {
        **os.environ,
        "IGLU_MARL_CACHE": str(tmp_path / "cache"),
        "IGLU_MARL_OFFLINE": "1",
        "MINARI_DATASETS_PATH": str(tmp_path / "datasets"),
    }
    for name_ in ("IGLU_DATA_PATH", "IGLU_HEADLESS"):
        environment.pop(name_, None)
    for line in lines_of(name):
        assert line.startswith(("iglu-marl ", "python -m pytest ")), (
            f"{line!r} is no command of ours; say in NOT_RUN why it is not run"
        )
        ours = ["-m", "iglu_marl"] if line.startswith("iglu-marl") else []
        command = [sys.executable, *ours, *shortened(line)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        allowed = (0, 1) if line.split()[1] in FAILS_SHORTENED else (0,)
        assert done.returncode in allowed, f"{line}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr, f"{line}\n{done.stderr[-2000:]}"
    shutil.rmtree(tmp_path, ignore_errors=True)
