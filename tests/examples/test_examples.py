"""Every example runs, in a small form, and does what it says; and so does every command line that is shown for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from llm_server import llm_server, obedient_to_the_last
from made_packs import write_zip
from requirements import ROOT, require

# Examples and the test modules that run them in a small form.
TESTED: dict[str, str] = {
    "rllib_two_agents": "test_rllib.py",
    "benchmarl_two_agents": "test_adapters.py",
    "trl_builder": "test_adapters.py",
    "ppo": "test_ppo.py",
    "marl_ppo": "test_ppo.py",
    "silent_builder": "test_imitation.py",
    "strangers": "test_ppo.py",
    "train_edits": "test_learned.py",
}


def test_all_examples_are_known(root: Path) -> None:
    assert {path.stem for path in (root / "examples").glob("*.py")} == TESTED.keys()


def test_examples_tested_elsewhere_are(root: Path) -> None:
    for name, module in TESTED.items():
        assert name in next((root / "tests").rglob(module)).read_text(encoding="utf-8"), (
            f"{module} does not run {name}"
        )


# ----------------------------------------------------------------------------------------------- command lines

# Options that come after the documented ones, and so win over them: enough to see that the example runs.
SHORT = {
    "benchmarl_two_agents": "--iterations 1 --batch 200",
    "rllib_two_agents": "--iterations 1 --batch 200 --max-steps 20",
    "marl_ppo": "--steps 1 --games 32",
    "ppo": "--steps 1 --games 32",
    "silent_builder": "--epochs 1 --count 16",
    "strangers": "--games 1 --seeds 1 --sittings 2",
    "trl_builder": "--steps 1 --batch 2 --generations 2 --games 4 --held-out 2",
}
# Run by test_rllib.py and test_adapters.py, in environments of their own, and by two with data.
APART = ("rllib_two_agents", "benchmarl_two_agents", "trl_builder", "train_edits", "silent_builder")
# Example -> the libraries that it imports besides, each with its name for tests/requirements.py.
LIBRARIES = {
    "marl_ppo": {"torch": "rl"},
    "ppo": {"torch": "rl"},
    "strangers": {"torch": "rl"},
}

_LINE = re.compile(r"python examples/(\w+)\.py([^\n`#]*)")


def documented() -> list[tuple[str, str]]:
    """Example and arguments of each command line in README, docs and the examples' own docstrings."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    lines = {line for page in pages for line in _LINE.findall(page.read_text(encoding="utf-8"))}
    return sorted(
        {(name, arguments.strip()) for name, arguments in lines if name != "NAME" and "{" not in arguments}
    )


def shortened(name: str, arguments: str) -> list[str]:
    """The program and the arguments of a short run."""
    return [str(ROOT / "examples" / f"{name}.py"), *shlex.split(f"{arguments} {SHORT[name]}")]


@contextmanager
def at_hand(arguments: str, folder: Path) -> Iterator[str]:
    """Makes what a command line names: data or a model in the folder, and a server in place of the one named."""
    if "iglu-multiturn.zip" in arguments:
        bundled = ROOT / "iglu_marl" / "data" / "bundled"
        games = sorted((bundled / "builder-data").iterdir())[:20]
        files = [file for game in games for file in game.iterdir()]
        contents = {file.relative_to(bundled).as_posix(): file.read_bytes() for file in files}
        write_zip(folder / "iglu-multiturn.zip", contents)
    if "path/to/a/local/chat-model" in arguments:
        require("transformers", importlib.util.find_spec("transformers"), "transformers is not installed")
        from test_llm_local import save_model

        save_model(folder / "path/to/a/local/chat-model")
    if "--resume" in arguments:
        folder_of_run = arguments.split("--resume ")[1].split()[0]
        first = [sys.executable, *shortened("ppo", f"--save {folder_of_run}")]
        subprocess.run(first, check=True, capture_output=True, timeout=600, cwd=folder)
    with llm_server(obedient_to_the_last) as server:
        yield arguments.replace("https://host/v1", server.url)


def test_every_example_has_a_documented_command_line() -> None:
    assert {name for name, _ in documented()} == {*SHORT, "train_edits"} == TESTED.keys()


@pytest.mark.parametrize(
    ("name", "arguments"), [line for line in documented() if line[0] not in APART], ids=str
)
def test_a_documented_command_line_runs(name: str, arguments: str, tmp_path: Path) -> None:
    for library, required in LIBRARIES.get(name, {}).items():
        require(required, importlib.util.find_spec(library), f"{library} is not installed")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "IGLU_MARL_CACHE": str(tmp_path / "cache")}
    with at_hand(arguments, tmp_path) as given:
        command = [sys.executable, *shortened(name, given)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, cwd=tmp_path, env=environment
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip()


BARE = """
import contextlib, io, json, runpy, sys
from pathlib import Path

class NoExtras:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in extras:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

extras = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, NoExtras())
done = {}
for file in sorted(Path("examples").glob("*.py")):
    with_extra = "script=True)" in file.read_text(encoding="utf-8")
    for words in (["--help"], [])[: 1 + with_extra]:
        sys.argv, out, end = [str(file), *words], io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                runpy.run_path(str(file), run_name="__main__")
            except SystemExit as stop:
                end = stop.code
        done[" ".join([file.stem, *words])] = [end, out.getvalue()]
print(json.dumps(done))
"""


def test_examples_show_help_or_name_their_extra_in_a_line(root: Path) -> None:
    used = ("torch", "torchrl", "tensordict", "minari", "stable_baselines3", "sb3_contrib")
    others = ("ray", "benchmarl", "trl", "datasets", "transformers")
    command = [sys.executable, "-c", BARE, json.dumps([*used, *others, "openai", "tokenizers", "h5py"])]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    done = json.loads(run.stdout)
    for name, (end, shown) in done.items():
        source = (root / "examples" / f"{name.split()[0]}.py").read_text(encoding="utf-8")
        wanted = re.search(r'with extra\("(\w+)", script=True\)', source)
        if wanted is None:
            assert end == 0, f"{name}: {end}"
            assert "usage" in shown.lower()
        else:
            assert f"pip install -e '{root}[{wanted[1]}]'" in end, name
            assert "\n" not in end, name
    assert {name for name in done if not name.endswith(" --help")} >= {"trl_builder"}
